"""`holdfast doctor`: on this machine, as JSON, and with faults made by limits, mounts and a small fake NVML."""

import os
import resource
import subprocess

from harness import BUILD, COMMAND, Case, main, strict_json

FAKE = BUILD / "tests/fake_nvml"


class Doctor(Case):
    def checks(self, *arguments, code, env=None, **more):
        done = self.finish(self.start("doctor", *arguments, "--json", env=env or self.environment(), **more))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        found = strict_json(done.stdout)
        self.assertEqual(found["fault"], code == 69)
        return {check["name"]: check for check in found["checks"]}

    def test_a_healthy_machine_has_no_fault_and_every_line_says_what_was_found(self):
        found = self.checks(self.recipe(), code=0)
        self.assertEqual(list(found), ["driver", "libtorch", "gpu", "shared memory", "memory", "limits", "disk", "terminal", "clock"])
        for check in found.values():
            self.assertIn(check["grade"], ("ok", "warning"))
            self.assertTrue(check["reason"])
            self.assertEqual(bool(check["remedy"]), check["grade"] != "ok")
        done = self.holdfast("doctor")
        self.assertRegex(done.stdout, r"(?m)^ok       disk           no run was named: nothing to measure$")

    def test_a_fault_ends_with_69_and_a_remedy(self):
        found = self.checks(self.recipe(), "--set", "run.device=cuda", code=69)
        self.assertEqual(found["driver"]["reason"], "the recipe asks for 'cuda', but there is no NVIDIA driver")
        self.assertEqual(found["libtorch"]["grade"], "fault")
        done = self.holdfast("doctor", self.folder / "r.toml", "--set", "run.device=cuda", code=69)
        self.assertIn("fault    driver         the recipe asks for 'cuda', but there is no NVIDIA driver\n"
                      "                        do: install the driver", done.stdout)

    def test_the_driver_rows_with_a_fake_library(self):
        root = self.folder / "root"
        (root / "proc/driver/nvidia").mkdir(parents=True)
        (root / "proc/driver/nvidia/version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n")
        base = {"LD_LIBRARY_PATH": str(FAKE), "HOLDFAST_SYSROOT": str(root)}
        recipe = self.recipe()
        found = self.checks(recipe, code=0, env=self.environment(**base))
        self.assertEqual(found["driver"]["reason"], "driver 550.54.15, for CUDA up to 12.4")
        self.assertEqual(found["gpu"]["reason"], "Fake GPU at 40 C, 20.0 GiB free")
        for variables, name, reason in (
            ({"FAKE_NVML_INIT": "18"}, "driver", "the kernel's driver 550.54.15 and the library have different versions"),
            ({"FAKE_NVML_INIT": "9"}, "driver", "NVML gives status 9"),
            ({"FAKE_NVML_DRIVER": "560.1.1"}, "driver",
             "the kernel's driver 550.54.15 and the library 560.1.1 have different versions"),
            ({"FAKE_NVML_DEVICE": "15"}, "gpu", "a GPU is lost (fallen off the bus)"),
            ({"FAKE_NVML_DEVICE": "16"}, "gpu", "a GPU must be reset"),
        ):
            found = self.checks(recipe, code=69, env=self.environment(**base, **variables))
            self.assertEqual((found[name]["grade"], found[name]["reason"]), ("fault", reason))
        found = self.checks(recipe, code=0, env=self.environment(**base, FAKE_NVML_REASONS="64", FAKE_NVML_TEMPERATURE="93"))
        self.assertEqual(found["gpu"]["reason"], "Fake GPU slows itself at 93 C (clock reasons 64)")

    def test_limits_of_the_shell(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

        found = self.checks(self.recipe(), code=69, preexec_fn=limit)
        self.assertEqual((found["limits"]["reason"], found["limits"]["remedy"]), ("only 100 files may be open", "ulimit -n 4096"))

    def test_a_disk_that_is_too_small_for_the_checkpoints_of_a_run(self):
        if os.geteuid() != 0:
            self.skipTest("mounts need root")
        recipe = self.recipe(target="updates = 4", hidden=256)
        place = self.folder / "small"
        place.mkdir()
        script = (f'mount -t tmpfs -o size=8m tmpfs "{place}" && "{COMMAND}" run "{recipe}" --output "{place}/home" --quiet && '
                  f'head -c 7500000 /dev/zero > "{place}/fill"; "{COMMAND}" doctor "{place}/home"')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, env=self.environment(), check=False)
        self.assertEqual(done.returncode, 69, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^fault    disk .* 3 checkpoints, a new one and the final weights need ")

    def test_a_faulty_recipe_is_told_as_ever(self):
        done = self.holdfast("doctor", self.recipe(more="[run2]\nx = 1"), code=78)
        self.assertIn("error[recipe.unknown_table]", done.stderr)
        done = self.holdfast("doctor", "/nonexistent.toml", code=66)


if __name__ == "__main__":
    main()
