"""Budgets of the two memory domains: to the byte, told in numbers, the same every time, and the state is kept."""

import os
import pathlib
import re

from harness import GPT, SAVE_OFTEN, Case, dies_at, KILL, main

ONLY_SAVE = ("--set", 'memory.on_oom=["save"]')
ACCUMULATE = '[strategy.accumulate]\nmicro_batch_size = 8\n'
SENTENCE = r"device memory: wanted \d+(\.\d)? [KM]?i?B, free \d+(\.\d)? [KM]?i?B of the budget of "


class Memory(Case):
    def peak_kib(self, done):
        number, unit = re.search(r"peak device memory (\d+\.\d) ([KM])iB", done.stdout).groups()
        return float(number) * (1024 if unit == "M" else 1)

    def budget(self, kib):
        return "--set", f"memory.device_budget={round(kib * 1024)}B"

    def ooms(self, home):
        return [{key: event[key] for key in ("update", "micro_batch", "phase", "rung", "text") if key in event}
                for event in self.events(home) if event["event"] == "oom"]

    def test_a_run_fits_in_its_own_peak_and_not_in_less(self):
        recipe = self.recipe(hidden=256, more=ACCUMULATE)
        free = self.holdfast("run", recipe, "--output", self.folder / "free")
        peak = self.peak_kib(free)
        fitting = self.holdfast("run", recipe, "--output", self.folder / "fits", *self.budget(peak + 0.1))
        self.assertIn(f"peak device memory {peak:.1f} KiB of {peak + 0.1:.1f} KiB\n", fitting.stdout)
        self.assertEqual(self.inspect(self.folder / "free")["digest"], self.inspect(self.folder / "fits")["digest"])
        done = self.holdfast("run", recipe, "--output", self.folder / "less", *ONLY_SAVE, *self.budget(peak - 0.2), code=81)
        self.assertRegex(done.stderr, SENTENCE + re.escape(f"{peak - 0.2:.1f} KiB"))

    def test_the_same_recipe_runs_out_at_the_same_place_every_time(self):
        recipe = self.recipe(hidden=256, target="updates = 4", more=ACCUMULATE)
        peak = self.peak_kib(self.holdfast("run", recipe, "--output", self.folder / "free", "--set", "train.eval_batch_size=8"))
        told = []
        for number in range(3):
            home = self.folder / f"h{number}"
            done = self.holdfast("run", recipe, "--output", home, "--set", "train.eval_batch_size=8",
                                 *ONLY_SAVE, *self.budget(peak - 40), code=81)
            self.assertRegex(done.stderr, SENTENCE)
            told.append(self.ooms(home))
        self.assertEqual(len(told[0]), 1, told[0])
        self.assertEqual(told[0][0]["update"], 1)
        self.assertEqual(told[1], told[0])
        self.assertEqual(told[2], told[0])

    def test_without_room_for_an_evaluation_the_state_is_saved_and_goes_on_with_a_larger_budget(self):
        recipe = self.recipe(hidden=256, target="updates = 20", eval_every="10 updates")
        self.holdfast("run", recipe, "--output", self.folder / "undisturbed", "--set", "train.eval_batch_size=300", *ONLY_SAVE)
        home = self.folder / "home"
        arguments = ["run", recipe, "--output", home, "--set", "train.eval_batch_size=300", *ONLY_SAVE]
        done = self.holdfast(*arguments, *self.budget(600), code=81)
        self.assertRegex(done.stderr, r"evaluation, batch 0: error\[memory\.device\]: " + SENTENCE + r"600\.0 KiB\n")
        saved = [event for event in self.events(home) if event["event"] == "checkpoint"]
        self.assertEqual([(event["update"], event["reason"]) for event in saved], [(10, "oom")])
        self.assertEqual((home / "current/checkpoints/latest").resolve().name, "update-000000010-oom")
        self.assertEqual(self.status(home)["exit_code"], 81)
        without = [argument if argument != home else self.folder / "without" for argument in arguments]
        done = self.holdfast(*without, *self.budget(600), "--set", "hook.oom_checkpoint.enabled=false", code=81)
        self.assertIn("no checkpoint is written: none was asked for ([hook.oom_checkpoint] does)\n", done.stderr)
        self.assertFalse((self.folder / "without/current/checkpoints").exists())
        self.holdfast(*arguments, *self.budget(4096))
        self.assertEqual(self.inspect(home)["digest"], self.inspect(self.folder / "undisturbed")["digest"])

    def tell(self, home, name):
        return [event for event in self.events(home) if event["event"] == name]

    def test_half_of_the_plain_peak_is_enough_with_the_default_ladder(self):
        for name, recipe in (("mlp", self.recipe("mlp.toml", hidden=64, target="updates = 12")),
                             ("gpt", self.recipe("gpt.toml", model=GPT, tables=self.text_tables(), target="updates = 12",
                                                 eval_every="6 updates"))):
            with self.subTest(name):
                batch = ("--set", f"train.batch_size={1024 if name == 'mlp' else 64}")
                free = self.holdfast("run", recipe, "--output", self.folder / name / "free", *batch)
                home = self.folder / name / "half"
                half = self.peak_kib(free) / 2
                done = self.holdfast("run", recipe, "--output", home, *batch, *self.budget(half))
                self.assertLessEqual(self.peak_kib(done), half)
                ooms, changes = self.tell(home, "oom"), self.tell(home, "plan_change")
                self.assertEqual(ooms[0]["rung"], "retry")
                self.assertIn("halve_micro_batch", [oom["rung"] for oom in ooms])
                # The moments are there from the first update on: with them it has settled.
                self.assertLessEqual(max(oom["update"] for oom in ooms if oom["phase"] != "eval"), 2)
                self.assertEqual({change["owner"] for change in changes}, {"memory.on_oom"})
                trained = [change for change in changes if change["field"] == "micro_batch_size"]
                self.assertEqual([int(change["before"]) // 2 for change in trained], [int(change["after"]) for change in trained])
                self.assertAlmostEqual(self.status(home)["loss"], self.status(self.folder / name / "free")["loss"], places=3)
                metrics = (home / "current/metrics.prom").read_text()
                self.assertRegex(metrics, r'oom_events_total\{.*action="retry".*\} [1-9]')
                self.assertRegex(metrics, r'strategy_changes_total\{.*to="micro_batch_size".*\} ' + str(len(trained)))

    def test_events_and_metrics_tell_what_sampled_micro_batches_need(self):
        recipe = self.recipe(hidden=256, target="updates = 20", more=ACCUMULATE)
        home = self.folder / "home"
        done = self.holdfast("run", recipe, "--output", home, "--set", "memory.sample_every=3", "--set", "log.every=\"0.1 s\"")
        update = self.tell(home, "update")[-1]
        self.assertGreater(update["memory_allocated"], 2 * 75 * 1024)  # weights and gradients
        self.assertGreater(update["memory_peak"], update["memory_allocated"])
        self.assertGreaterEqual(update["memory_reserved"], update["memory_peak"])
        self.assertLessEqual(update["memory_peak"], 1024 * (self.peak_kib(done) + 0.1))
        metrics = (home / "current/metrics.prom").read_text()
        for figure in ("allocated", "peak", "reserved"):
            self.assertRegex(metrics, rf"(?m)^holdfast_micro_batch_{figure}_bytes\{{[^}}]*\}} [1-9]")

    def test_keys_of_cuda_say_that_they_have_no_effect_here(self):
        keys = {"run.tf32": "true", "run.cudnn_benchmark": "true", "memory.expandable_segments": "true",
                "memory.max_split_size": "64MiB"}
        given = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
        done = self.holdfast("run", self.recipe(target="updates = 2"), *given, "--set", "run.deterministic=false")
        for key in keys:
            self.assertIn(f"{key} is for CUDA: it has no effect on the device 'cpu'\n", done.stderr)

    def test_rungs_that_keep_the_micro_batch_keep_the_bits_in_half_of_the_plain_peak(self):
        recipe = self.recipe("gpt.toml", model=GPT, tables=self.text_tables(), target="updates = 12", dropout=0.1,
                             eval_every="12 updates")
        narrow = ("--set", "train.batch_size=64", "--set", "train.eval_batch_size=8")
        free = self.holdfast("run", recipe, "--output", self.folder / "free", *narrow)
        home = self.folder / "half"
        half = self.peak_kib(free) / 2
        done = self.holdfast("run", recipe, "--output", home, *narrow, *self.budget(half), "--set",
                             'memory.on_oom=["retry", "recompute", "offload_activations", "offload_optimizer", "save"]')
        self.assertLessEqual(self.peak_kib(done), half)
        self.assertEqual(self.inspect(home)["digest"], self.inspect(self.folder / "free")["digest"])
        ooms, changes = self.tell(home, "oom"), self.tell(home, "plan_change")
        self.assertEqual([oom["rung"] for oom in ooms[:2]], ["retry", "recompute"])
        self.assertEqual(changes[0]["field"], "recompute")
        self.assertEqual(changes[0]["before"], "none")
        # One rung an event, each change told once, and it settles.
        self.assertEqual(len([oom for oom in ooms if oom["rung"] != "retry"]), len(changes))
        self.assertLessEqual(max(oom["update"] for oom in ooms), 6)

    def test_a_killed_run_goes_on_with_the_smaller_plan_to_the_same_bits(self):
        recipe = self.recipe(hidden=64, target="updates = 30", more=SAVE_OFTEN)
        batch = ("--set", "train.batch_size=1024")
        half = self.budget(self.peak_kib(self.holdfast("run", recipe, "--output", self.folder / "free", *batch)) / 2)
        self.holdfast("run", recipe, "--output", self.folder / "whole", *batch, *half)
        home = self.folder / "killed"
        self.holdfast("run", recipe, "--output", home, *batch, *half, *dies_at(15), code=-KILL)
        self.assertTrue(self.tell(home, "oom"))
        done = self.holdfast("run", recipe, "--output", home, *batch, *half)
        self.assertRegex(done.stderr, r"resume: micro_batch_size is \d+, which memory\.on_oom had made of 1024\n")
        self.assertEqual([event for event in self.tell(home, "oom") if event["attempt"] == 2], [])
        self.assertEqual(self.inspect(home)["digest"], self.inspect(self.folder / "whole")["digest"])

    def test_an_evaluation_without_room_shrinks_its_own_batch_only(self):
        recipe = self.recipe(hidden=256, target="updates = 20", eval_every="10 updates")
        wide = ("--set", "train.eval_batch_size=300")
        self.holdfast("run", recipe, "--output", self.folder / "free", *wide)
        home = self.folder / "home"
        self.holdfast("run", recipe, "--output", home, *wide, *self.budget(600))
        self.assertEqual({event["phase"] for event in self.tell(home, "oom")}, {"eval"})
        self.assertEqual({event["field"] for event in self.tell(home, "plan_change")}, {"eval_batch_size"})
        free, tight = self.tell(self.folder / "free", "eval")[-1], self.tell(home, "eval")[-1]
        self.assertEqual(free["accuracy"], tight["accuracy"])
        self.assertAlmostEqual(free["loss"], tight["loss"], places=5)
        for tensor, other in zip(self.inspect(home)["tensors"], self.inspect(self.folder / "free")["tensors"]):
            self.assertEqual(tensor, other)

    def test_c85_saving_and_resuming_again_and_again_makes_nothing_grow(self):
        home, sizes, peaks = self.folder / "home", [], []
        for updates in range(10, 70, 10):
            done = self.holdfast("run", self.recipe(target=f"updates = {updates}"), "--output", home)
            latest = home / "current/checkpoints/latest"
            sizes.append(sum(path.stat().st_size for path in latest.resolve().iterdir() if path.suffix == ".safetensors"))
            peaks.append(self.peak_kib(done))
        self.assertEqual(len(set(sizes)), 1, sizes)
        self.assertLessEqual(max(peaks[1:]), 1.01 * peaks[1], peaks)

    def test_the_guard_saves_once_a_crossing_and_does_what_it_is_told(self):
        recipe = self.recipe(hidden=256, target="updates = 20")
        # Weights and moments: 3 x 75 KiB stay at the edges of windows.
        guarded = ("--set", "hook.memory_guard.at=0.2", *self.budget(1000))
        home = self.folder / "continue"
        done = self.holdfast("run", recipe, "--output", home, *guarded)
        self.assertRegex(done.stderr, r"memory guard: device memory is \d\d\.\d % full: 0\.2 MiB of the 1\.0 MiB of "
                         r"memory\.device_budget")
        saves = [event for event in self.tell(home, "checkpoint") if event["reason"] == "guard"]
        self.assertEqual([event["update"] for event in saves], [1])
        home = self.folder / "escalate"
        self.holdfast("run", recipe, "--output", home, *guarded, "--set", "hook.memory_guard.then=escalate")
        self.assertEqual([(event["before"], event["after"], event["update"]) for event in self.tell(home, "plan_change")],
                         [("32", "16", 1)])
        home = self.folder / "exit"
        done = self.holdfast("run", recipe, "--output", home, *guarded, "--set", "hook.memory_guard.then=exit", code=75)
        self.assertEqual(self.status(home)["update"], 1)
        self.assertRegex(self.status(home)["cause"], r"^memory guard: device memory is \d\d\.\d % full")

    def test_the_guard_sees_the_limit_of_a_control_group(self):
        mine = [line.split(":")[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
                if "memory" in line.split(":")[1].split(",")]
        parent = pathlib.Path("/sys/fs/cgroup/memory" + (mine[0] if mine else ""))
        group = parent / f"holdfast-{os.getpid()}"
        try:
            if not (parent / "memory.limit_in_bytes").exists():
                self.skipTest("no control group v1 for memory at " + str(parent))
            group.mkdir()
        except OSError as error:
            self.skipTest(f"a control group cannot be made here: {error}")
        self.addCleanup(self.remove_group, group)
        limit = 512 << 20
        (group / "memory.limit_in_bytes").write_text(str(limit))
        home = self.folder / "home"
        process = self.start("run", self.recipe(target="updates = 20"), "--output", home, "--set", "hook.memory_guard.at=0.06",
                             "--set", "hook.memory_guard.then=exit",
                             preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
        done = self.finish(process)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertRegex(self.status(home)["cause"], r"^memory guard: memory is \d+\.\d % full: \d+\.\d MiB of the 512\.0 MiB of the control "
                         r"group .*/holdfast-" + str(os.getpid()) + "$")

    @staticmethod
    def remove_group(group):
        try:
            group.rmdir()
        except OSError:
            pass  # a process that is still ending; the group is empty and without effect

    def test_a_model_that_keeps_tensors_is_told_of_as_a_leak(self):
        model = 'plugin = "fault"\naction = "leak"\ntimes = 1000000'
        tables = '[dataset.train]\nplugin = "fault"\nat = 1000000\n'
        text = (f'[run]\nname = "digits"\nthreads = 1\n[model]\n{model}\n{tables}[train]\nupdates = 120\nbatch_size = 8\n'
                '[hook.leak_detector]\nwindows = 100\n')
        recipe = self.folder / "leak.toml"
        recipe.write_text(text)
        done = self.holdfast("run", recipe)
        told = re.findall(r"device memory leaks: .*", done.stderr)
        self.assertEqual(len(told), 1, done.stderr)
        self.assertIn("has grown by 4.0 KiB an update over 90 updates, to ", told[0])
        recipe.write_text(text.replace('"leak"', '"sleep"').replace("times = 1000000", "at = 100000"))
        self.assertNotIn("leak", self.holdfast("run", recipe, "--new").stderr.replace(str(recipe), ""))

    def test_a_budget_below_weights_and_one_gradient_is_refused_before_anything_is_written(self):
        recipe = self.recipe(hidden=256)
        for command in ("run", "validate", "plan"):
            with self.subTest(command):
                done = self.holdfast(command, recipe, "--set", "memory.device_budget=150KB", code=78)
                self.assertIn(f"{recipe}: error[memory.budget]: memory.device_budget is 146.5 KiB, but the model's weights "
                              "need 75.0 KiB and their gradients 75.0 KiB\n"
                              "  hint: raise memory.device_budget or make the model smaller", done.stderr)
        done = self.holdfast("run", recipe, "--set", "memory.device_budget=1KiB", code=78)
        self.assertRegex(done.stderr, r"\[model\]: error\[memory\.budget\]: plugin 'mlp' does not fit: " + SENTENCE + r"1\.0 KiB\n"
                         r"  hint: raise memory\.device_budget or make the model smaller")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_budget_without_room_for_the_moments_moves_them_to_the_host_where_the_ladder_or_the_recipe_may(self):
        recipe = self.recipe(hidden=256, target="updates = 2", more='[strategy.optimizer_offload]\nenabled = false\n')
        for command in ("run", "plan"):
            with self.subTest(command):
                done = self.holdfast(command, recipe, *self.budget(215), *ONLY_SAVE, "--set", "train.batch_size=8", code=78)
                self.assertRegex(done.stderr, re.escape(f"{recipe}: error[memory.budget]: the optimizer's state does not fit beside "
                                                        "the weights: ") + SENTENCE +
                                 r"215\.0 KiB\n  hint: raise memory\.device_budget, keep ")
        self.assertFalse((self.folder / "runs").exists())
        self.holdfast("run", recipe, *self.budget(215), "--set", "strategy.optimizer_offload.enabled=true",
                      "--set", "train.batch_size=8", "--output", self.folder / "chosen")
        home = self.folder / "climbed"
        climbing = ("run", recipe, *self.budget(215), "--set", "train.batch_size=8", "--output", home)
        done = self.holdfast(*climbing)
        self.assertRegex(done.stderr, SENTENCE + r"215\.0 KiB: the optimizer's state goes to the host: optimizer_placement "
                         r"device -> host\n")
        self.assertEqual([(event["field"], event["after"]) for event in self.tell(home, "plan_change")],
                         [("optimizer_placement", "host")])
        self.assertEqual(self.inspect(home)["digest"], self.inspect(self.folder / "chosen")["digest"])
        self.holdfast(*climbing, "--set", "train.updates=4")
        self.assertEqual(self.status(home)["update"], 4)

    def test_evaluating_needs_no_room_for_gradients(self):
        recipe = self.recipe(hidden=256, target="updates = 2")
        home = self.folder / "home"
        self.holdfast("run", recipe, "--output", home)
        self.holdfast("eval", home, "--set", "memory.device_budget=150KB", "--set", "train.eval_batch_size=8")

    def test_a_full_host_domain_is_88_and_names_the_budget(self):
        done = self.holdfast("run", self.recipe(), "--set", "memory.host_budget=4KiB", code=88)
        self.assertRegex(done.stderr, r"error\[memory\.host\]: (.*: )?host memory: wanted \d+(\.\d)? [KM]?i?B, free \d.* of the "
                         r"budget of 4\.0 KiB\n  hint: .*raise memory\.host_budget")
        self.assertEqual(done.stderr.count("error["), 1, done.stderr)


if __name__ == "__main__":
    main()
