"""`holdfast why` after real deaths: kills in every phase, a real OOM kill, limits, a closed terminal, fixture trees.

Each case runs as root and as an unprivileged user, where this machine can do both, and the table cause x verdict is
printed at the end. Cases C99 and C105's kinds stand in batch_test and in the log's tests.
"""

import functools
import os
import pathlib
import pty
import resource
import shutil
import signal
import subprocess
import time

from harness import BUILD, COMMAND, Case, KILL, SAVE_OFTEN, TERM, main, strict_json

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup the runs would never hear of it

NOBODY = 65534
ENDLESS = 'updates = 1000000'
SLOW = '[hook.fault]\naction = "sleep"\ntimes = 1000000\nsleep = "0.005 s"\n'
GROUPS = pathlib.Path("/sys/fs/cgroup/memory")
ROWS = []


def is_root():
    return os.geteuid() == 0


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def users():
    """How to start a process: as we are, and as nobody where we are root."""
    return [("root", None), ("nobody", become_nobody)] if is_root() else [("user", None)]


@functools.lru_cache
def nobody_can_run():
    """Whether nobody may read LibTorch where it lies; otherwise root runs, and nobody asks why."""
    return subprocess.run([COMMAND, "plugins"], preexec_fn=become_nobody, capture_output=True, check=False).returncode == 0


def runner(preexec):
    return preexec if preexec is not become_nobody or nobody_can_run() else None


class Why(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)
        self.home = self.folder / "runs/digits"

    @classmethod
    def tearDownClass(cls):
        print(f"\n{'WHAT':52} {'USER':7} {'CAUSE':16} {'CERTAINTY':12} EXIT")
        for row in ROWS:
            print("{:52} {:7} {:16} {:12} {}".format(*row))

    def why(self, preexec=None, env=None):
        done = self.finish(self.start("why", self.home, "--json", preexec_fn=preexec, env=env or self.environment()))
        self.assertEqual(done.returncode, 0, done.stderr)
        return strict_json(done.stdout)

    def expect(self, what, user, found, cause, certainties, code):
        ROWS.append((what, user, found["cause"], found["certainty"], found["exit_code"]))
        self.assertEqual((found["cause"], found["exit_code"]), (cause, code), found)
        self.assertIn(found["certainty"], certainties, found)

    def run_until(self, event="update", *, more=SLOW, preexec=None, env=None, sets=(), target=ENDLESS, **options):
        """A run that is left alone until it told this event."""
        shutil.rmtree(self.home, ignore_errors=True)
        recipe = self.recipe(target=target, more=SAVE_OFTEN + "\n" + more, **options)
        process = self.start("run", recipe, *sets, preexec_fn=runner(preexec), env=env or self.environment())
        self.wait_for_event(self.home, event, process)
        return process

    def run_to_end(self, code, *, more="", preexec=None, target="updates = 40", **options):
        shutil.rmtree(self.home, ignore_errors=True)
        recipe = self.recipe(target=target, more=SAVE_OFTEN + "\n" + more, **options)
        done = self.finish(self.start("run", recipe, preexec_fn=runner(preexec)))
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_kill_9_is_told_as_unknown_with_the_last_update_of_the_recorder(self):
        for user, preexec in users():
            process = self.run_until("checkpoint", preexec=preexec)
            process.kill()
            process.wait()
            found = self.why(preexec)
            self.expect("kill -9 while training", user, found, "killed_unknown", ["unknown"], 86)
            self.assertEqual(found["phase"], "training")
            self.assertGreaterEqual(found["update"], self.saved_update(self.home))
            self.assertEqual(found["checkpoint"], self.saved_update(self.home))
            if user == "nobody":
                self.assertTrue(any("kernel's log" in line for line in found["unread"]), found)

    def test_kill_9_in_each_phase_tells_the_phase(self):
        for phase, model in (("evaluating", 'plugin = "fault"\nplace = "eval"\naction = "signal"\nsignal = 9'),
                             ("training", 'plugin = "fault"\nplace = "forward"\naction = "signal"\nsignal = 9\nat = 7')):
            shutil.rmtree(self.home, ignore_errors=True)
            tables = ('[dataset.train]\nplugin = "ids"\n[dataset.eval]\nplugin = "ids"\n')
            recipe = self.recipe(model=model, tables=tables, target="updates = 40", more=SAVE_OFTEN)
            text = recipe.read_text().replace("dropout = 0.0\n", "")
            recipe.write_text(text)
            self.holdfast("run", recipe, code=-KILL)
            found = self.why()
            self.expect(f"kill -9 while {phase}", "root", found, "killed_unknown", ["unknown"], 86)
            self.assertEqual(found["phase"], phase)

    def test_the_last_update_survives_kill_9_to_the_very_window(self):
        self.run_to_end(-KILL, more='[hook.fault]\naction = "signal"\nsignal = 9\nat = 37')
        self.assertEqual(self.why()["update"], 37)

    def test_a_real_oom_kill_is_told_by_the_kernel_or_by_the_group(self):
        if not is_root() or not os.access(GROUPS / "cgroup.procs", os.W_OK):
            self.skipTest("no memory control group of version 1 that may be written")
        for user, preexec in users():
            group = GROUPS / f"holdfast-why-{os.getpid()}-{user}"
            group.mkdir()
            self.addCleanup(self.remove_group, group)
            (group / "memory.limit_in_bytes").write_text(str(700 << 20))

            def enter(preexec=preexec, group=group):
                (group / "cgroup.procs").write_text(str(os.getpid()))
                if runner(preexec):
                    preexec()

            shutil.rmtree(self.home, ignore_errors=True)
            recipe = self.recipe(target=ENDLESS, more=SAVE_OFTEN + '\n[hook.fault]\naction = "eat"\nat = 30\n')
            done = self.finish(self.start("run", recipe, preexec_fn=enter))
            self.assertEqual(done.returncode, -KILL, done.stderr)
            found = self.why(preexec)
            sure = ["established"] if user == "root" else ["likely"]
            self.expect("real OOM kill in a control group, next start", user, found, "host_oom", sure, 88)

            shutil.rmtree(self.home, ignore_errors=True)
            done = self.finish(self.start("run", "--supervise", recipe, "--set", "supervise.max_restarts=0",
                                          preexec_fn=enter))
            self.assertEqual(done.returncode, 88, done.stderr)
            self.expect("the same under the supervisor", user, self.why(preexec), "host_oom", ["established", "likely"], 88)

    def remove_group(self, group):
        for _ in range(100):
            try:
                return group.rmdir()
            except OSError:
                time.sleep(0.05)

    def test_limits_of_the_shell(self):
        def limit(what, soft, preexec):
            def apply():
                resource.setrlimit(what, (soft, resource.getrlimit(what)[1]))
                if runner(preexec):
                    preexec()
            return apply

        for user, preexec in users():
            self.run_to_end(88, more='[hook.fault]\naction = "reserve"\nat = 25\n',
                            preexec=limit(resource.RLIMIT_AS, 16 << 30, preexec))
            self.expect("ulimit -v", user, self.why(preexec), "alloc_limit", ["established"], 88)
            self.run_to_end(74, hidden=2048, preexec=limit(resource.RLIMIT_FSIZE, 400 << 10, preexec), target="updates = 4")
            self.expect("ulimit -f", user, self.why(preexec), "file_limit", ["established"], 74)
            self.run_to_end(75, target=ENDLESS,
                            preexec=limit(resource.RLIMIT_CPU, 2, preexec))
            self.expect("ulimit -t", user, self.why(preexec), "cpu_limit", ["established"], 75)

    def test_signals_and_a_closed_terminal(self):
        for user, preexec in users():
            process = self.run_until(preexec=preexec)
            process.send_signal(TERM)
            self.assertEqual(self.finish(process).returncode, 75)
            self.expect("kill -TERM", user, self.why(preexec), "stopped", ["established"], 75)
            process = self.run_until(preexec=preexec)
            process.send_signal(signal.SIGHUP)
            self.assertEqual(self.finish(process).returncode, 75)
            self.expect("kill -HUP", user, self.why(preexec), "sighup", ["established"], 75)
            self.close_terminal(preexec)
            self.expect("terminal closed", user, self.why(preexec), "sighup", ["established"], 75)

    def close_terminal(self, preexec):
        shutil.rmtree(self.home, ignore_errors=True)
        recipe = self.recipe(target=ENDLESS, more=SAVE_OFTEN + "\n" + SLOW)
        pid, master = pty.fork()
        if pid == 0:
            if runner(preexec):
                preexec()
            os.chdir(self.folder)
            os.execve(COMMAND, [COMMAND, "run", str(recipe)], self.environment())
        self.wait_for_event(self.home, "update", None)
        os.close(master)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 75)

    def test_crashes_and_bus_errors(self):
        for user, preexec in users():
            for number, name in ((11, "SIGSEGV"), (4, "SIGILL"), (8, "SIGFPE"), (6, "SIGABRT")):
                self.run_to_end(70, more=f'[hook.fault]\naction = "signal"\nsignal = {number}\nat = 15\n', preexec=preexec)
                found = self.why(preexec)
                self.expect(name, user, found, "crash", ["established"], 70)
                self.assertEqual(found["sentence"], f"plugin 'hook.fault': window_end crashed ({name})")
            shared = f"/dev/shm/holdfast-why-{os.getpid()}-{user}"
            self.addCleanup(lambda path=shared: pathlib.Path(path).unlink(missing_ok=True))
            for path, cause, code in ((shared, "sigbus_shm", 85), (str(self.folder / f"cut-{user}"), "sigbus_file", 74)):
                self.run_to_end(70, more=f'[hook.fault]\naction = "bus"\nat = 15\nfile = "{path}"\n', preexec=preexec)
                self.expect(f"SIGBUS in {os.path.dirname(path)[:20]}", user, self.why(preexec), cause, ["established"], code)

    def test_a_full_disk(self):
        if not is_root():
            self.skipTest("mounts need root")
        place = self.folder / "small"
        place.mkdir()
        for size, cause in (("size=3m", "disk_full"),):
            recipe = self.recipe(target="updates = 4000", hidden=128,
                                 more='[checkpoint]\nasync = false\nkeep = 100\n[hook.periodic_checkpoint]\nevery = "10 updates"')
            script = (f'mount -t tmpfs -o {size} tmpfs "{place}" && "{COMMAND}" run "{recipe}" --output "{place}/home" --quiet; '
                      f'code=$?; "{COMMAND}" why "{place}/home" --json; exit $code')
            done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, env=self.environment(),
                                  check=False)
            self.assertEqual(done.returncode, 74, done.stderr)
            self.expect(f"tmpfs {size}", "root", strict_json(done.stdout[done.stdout.index("{\n"):]), cause,
                        ["established", "likely"], 74)

    def test_outcomes_that_the_run_tells_itself(self):
        for code, cause in ((82, "nan_divergence"), (65, "data"), (81, "vram_oom"), (69, "gpu_missing"), (84, "gpu_fault")):
            self.run_to_end(code, more=f'[hook.fault]\naction = "stop"\ncode = {code}\nat = 15\n')
            self.expect(f"exit code {code}", "root", self.why(), cause, ["established"], code)
        self.run_to_end(70, more='[hook.fault]\naction = "throw"\nat = 15\n')
        self.expect("a plugin throws", "root", self.why(), "plugin_error", ["established"], 70)
        self.run_to_end(0)
        self.assertEqual(self.why()["cause"], "none")

    def tree(self):
        """A root for /proc, /sys and /dev with a control group of version 2, and this boot's id."""
        root = self.folder / "root"
        for path, text in {"proc/self/cgroup": "0::/job\n",
                           "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                           "proc/self/status": "VmRSS: 1000 kB\n", "proc/vmstat": "oom_kill 5\n",
                           "proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n",
                           "proc/sys/kernel/random/boot_id": "one\n", "dev/kmsg": "",
                           "sys/fs/cgroup/job/memory.events": "oom_kill 0\n", "sys/fs/cgroup/job/memory.current": "1000\n",
                           "sys/fs/cgroup/job/memory.max": "2000000\n"}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return root

    def test_fixture_trees_of_version_2_of_the_kernels_log_and_of_another_boot(self):
        root = self.tree()
        env = self.environment(HOLDFAST_SYSROOT=str(root))

        def death():
            (root / "sys/fs/cgroup/job/memory.events").write_text("oom_kill 0\n")
            (root / "proc/sys/kernel/random/boot_id").write_text("one\n")
            (root / "dev/kmsg").write_text("")
            process = self.run_until("checkpoint", env=env)
            pid = self.status(self.home)["pid"]
            process.kill()
            process.wait()
            return pid

        death()
        (root / "sys/fs/cgroup/job/memory.events").write_text("oom_kill 1\n")
        self.expect("cgroup v2 fixture: oom_kill rose", "root", self.why(env=env), "host_oom", ["likely"], 88)
        pid = death()
        later = int(time.monotonic() * 1e6)
        (root / "dev/kmsg").write_text(f"3,1,{later},-;Out of memory: Killed process {pid} (holdfast-worker) total-vm:1kB\n")
        found = self.why(env=env)
        self.expect("kernel line fixture: global OOM", "root", found, "host_oom", ["established"], 88)
        self.assertIn("on the whole machine", found["sentence"])
        pid = death()
        later = int(time.monotonic() * 1e6)
        (root / "dev/kmsg").write_text(f"11,1,{later},-;Out of memory: Killed process {pid} (forged)\n")
        self.expect("kernel line forged by a user", "root", self.why(env=env), "killed_unknown", ["unknown"], 86)
        death()
        (root / "proc/sys/kernel/random/boot_id").write_text("two\n")
        self.expect("another boot id", "root", self.why(env=env), "host_reboot", ["likely"], 75)

    def test_the_gpus_part_of_the_recorder_with_a_small_fake_library(self):
        fake = BUILD / "tests/fake_nvml"
        if not fake.exists():
            self.skipTest("the fake NVML is not built")
        process = self.run_until(env=self.environment(LD_LIBRARY_PATH=str(fake), FAKE_NVML_REASONS="64", FAKE_NVML_TEMPERATURE="93"))
        process.kill()
        process.wait()
        found = self.why()
        self.expect("kill -9 while the GPU is hot", "root", found, "killed_unknown", ["unknown"], 86)
        self.assertIn("recorder: the GPU slowed itself for heat at 93 C", found["evidence"])

    def test_while_the_run_is_up_and_where_nothing_ran(self):
        process = self.run_until()
        found = self.why()
        self.assertEqual((found["cause"], found["sentence"]), ("none", f"still running: process {process.pid}"))
        process.send_signal(TERM)
        self.finish(process)
        done = self.holdfast("why", self.folder / "empty", code=66)
        self.assertIn("No such file or directory (ENOENT)", done.stderr)
        (self.folder / "empty").mkdir()
        done = self.holdfast("why", self.folder / "empty", code=66)
        self.assertIn("this is no run home, generation or checkpoint", done.stderr)

    def test_the_next_attempt_keeps_the_post_mortem_and_counts_it(self):
        process = self.run_until("checkpoint")
        process.kill()
        process.wait()
        recipe = self.folder / "r.toml"
        self.holdfast("run", recipe, "--set", "train.updates=1", "--set", "hook.fault.enabled=false", "--set",
                      "optimizer.lr=1e-3", code=0)
        kept = strict_json((self.home / "current/postmortem.json").read_text())
        self.assertEqual((kept["cause"], kept["attempt"]), ("killed_unknown", 1))
        self.assertEqual(strict_json((self.home / "failures.json").read_text())["failures"], {"killed_unknown": 1})
        prom = (self.home / "current/metrics.prom").read_text()
        self.assertIn('holdfast_run_failures_total{cause="killed_unknown",run="digits"} 1\n', prom)

    def test_text_and_termination_log(self):
        self.run_to_end(82, more='[hook.fault]\naction = "stop"\ncode = 82\nat = 15\n')
        log = self.folder / "termination-log"
        log.write_text("x" * 10000)
        done = self.holdfast("why", self.home, "--termination-log", log)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "nan_divergence (exit 82): fault fixture")
        self.assertIn("status.json: failed with exit code 82", done.stdout)
        self.assertIn("  do         lower the learning rate", done.stdout)
        self.assertEqual(log.read_text(), done.stdout)
        self.assertLessEqual(len(log.read_bytes()), 4096)
        done = self.holdfast("why", self.home, "--termination-log", "/nonexistent/log", code=73)
        self.assertIn("cannot create: No such file or directory (ENOENT)", done.stderr)


if __name__ == "__main__":
    main()
