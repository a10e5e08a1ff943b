"""`holdfast run --supervise`: restarts by cause, back-off, giving up, hangs, stops, and nothing left behind."""

import fcntl
import os
import shutil
import signal
import socket
import time

from harness import Case, KILL, SAVE_OFTEN, TERM, main, strict_json

QUICK = '[supervise]\nbackoff = "0.05 s"\nmax_restarts = 3\n'
SLOW = '[hook.fault]\naction = "sleep"\ntimes = 1000000\nsleep = "0.005 s"\n'
SAVE_EACH = '[checkpoint]\nasync = false\nkeep = 100\n[hook.periodic_checkpoint]\nevery = "2 updates"\n'


def alive(pid):
    """Runs, or waits to be reaped."""
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


class Supervise(Case):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "runs/digits"

    def supervised(self, more, *, code, target="updates = 20", sets=(), **options):
        shutil.rmtree(self.home, ignore_errors=True)
        recipe = self.recipe(target=target, more=more, **options)
        return self.holdfast("run", "--supervise", recipe, *sets, code=code)

    def starts(self):
        return [event for event in self.events(self.home) if event["event"] in ("start", "resume")]

    def lock_is_free(self):
        with open(self.home / "lock", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False

    def test_C104_a_reached_target_and_a_user_stop_are_not_started_again(self):
        done = self.supervised(QUICK, code=0)
        self.assertEqual(len(self.starts()), 1)
        self.assertEqual([e["event"] for e in self.events(self.home)].count("end"), 1)
        self.assertIn("the target of 20 updates is reached", done.stdout)
        self.supervised(QUICK + '[hook.fault]\naction = "stop"\ncode = 75\nat = 5\n', code=75)
        self.assertEqual(len(self.starts()), 1)
        early = QUICK + SAVE_EACH
        done = self.supervised(early, code=0, target='updates = 400\nearly_stop = {metric = "loss", mode = "min", patience = 1}',
                               eval_every="1 updates", sets=("--set", "optimizer.lr=1e-9"))
        self.assertEqual(len(self.starts()), 1)

    def test_C102_a_crash_after_progress_goes_on_and_one_that_always_comes_is_given_up(self):
        fault = '[hook.fault]\naction = "segfault"\nat = 5\ntimes = 1000\n'
        done = self.supervised(QUICK + SAVE_EACH + fault, code=70)
        self.assertEqual([e["update"] for e in self.starts()], [0, 4, 4, 4])
        self.assertIn("crash (exit 70): plugin 'hook.fault': window_end crashed (SIGSEGV); starting again in 0.05 s "
                      "(restart 1 of 3 without a newer checkpoint)", done.stderr)
        self.assertIn("starting again in 0.20 s (restart 3 of 3 without a newer checkpoint)", done.stderr)
        self.assertIn("not started again: 3 restarts without a newer checkpoint", done.stderr)
        failures = strict_json((self.home / "failures.json").read_text())
        self.assertEqual(failures["failures"], {"crash": 4})
        self.assertEqual(failures["restarts"], {"crash": 3})
        why = strict_json(self.holdfast("why", self.home, "--json").stdout)
        self.assertEqual((why["cause"], why["signal"], why["certainty"]), ("crash", 11, "established"))

    def test_C102_a_crash_two_seconds_after_the_start_is_given_up_without_progress(self):
        tables = '[dataset.train]\nplugin = "fault"\nplace = "open"\naction = "segfault"\n'
        recipe = self.recipe(tables=tables, more=QUICK, model='plugin = "fault"', eval_every="1 epoch")
        recipe.write_text(recipe.read_text().replace("dropout = 0.0\n", "").replace('eval_every = "1 epoch"\n', ""))
        done = self.holdfast("run", "--supervise", recipe, code=70)
        self.assertEqual(done.stderr.count("starting again"), 3)

    def test_C102_a_run_that_heals_at_its_third_try_ends_with_0(self):
        first, second = self.folder / "first", self.folder / "second"
        faults = (f'[hook.fault]\naction = "segfault"\nat = 3\nonce = "{first}"\n'
                  f'[hook.again]\nplugin = "fault"\naction = "segfault"\nat = 2\ntimes = 100\nonce = "{second}"\n')
        self.supervised(QUICK + faults, code=0)
        self.assertEqual(len(self.starts()), 3)
        self.assertEqual(self.status(self.home)["state"], "finished")
        prom = (self.home / "current/metrics.prom").read_text()
        self.assertIn('holdfast_supervisor_restarts_total{cause="crash",run="digits"} 2\n', prom)
        self.assertIn('holdfast_run_failures_total{cause="crash",run="digits"} 2\n', prom)
        self.assertIn('holdfast_run_failures_total{cause="host_oom",run="digits"} 0\n', prom)

    def test_C99_a_death_by_signal_and_a_code_of_its_own_are_told_apart(self):
        done = self.supervised(QUICK + SAVE_EACH + '[hook.fault]\naction = "signal"\nsignal = 9\nat = 5\ntimes = 100\n', code=86)
        self.assertIn("killed by SIGKILL; nothing tells by whom or why", done.stderr)
        self.assertNotIn("host_oom", done.stderr)
        done = self.supervised(QUICK + '[hook.fault]\naction = "throw"\nat = 5\n', code=70)
        self.assertIn("not started again: the same would happen again", done.stderr)
        self.assertEqual(len(self.starts()), 1)

    def test_75_is_started_again_only_when_the_guard_is_its_cause(self):
        self.supervised(QUICK + '[hook.fault]\naction = "stop"\ncode = 82\nat = 5\n', code=82)
        self.assertEqual(len(self.starts()), 1)

    def test_a_hang_in_each_phase_is_ended_with_stacks_and_started_again(self):
        sleep, quick = 'action = "sleep"\nsleep = "1000 s"\n', '[supervise]\nbackoff = "0.05 s"\nhang_timeout = "3 s"\n'
        ids = '[dataset.train]\nplugin = "ids"\n[dataset.eval]\nplugin = "ids"\n'
        for phase, model, tables, hook in (
            ("training", None, None, f'[hook.fault]\n{sleep}at = 5\nonce = "{{once}}"\n'),
            ("training", f'plugin = "fault"\nplace = "forward"\n{sleep}at = 5\nonce = "{{once}}"', ids, ""),
            ("training", 'plugin = "fault"\naction = "nan"\nat = 0', '[dataset.train]\nplugin = "fault"\n' + sleep + 'at = 5\nonce = "{once}"\n'
             '[dataset.eval]\nplugin = "fault"\naction = "nan"\nat = 1000\n', ""),
            ("evaluating", f'plugin = "fault"\nplace = "eval"\n{sleep}at = 1\nonce = "{{once}}"', ids, ""),
            ("training", None, None, f'[hook.fault]\nplace = "save_end"\n{sleep}at = 10\nonce = "{{once}}"\n'),
        ):
            with self.subTest(phase=phase, model=model, tables=tables, hook=hook):
                shutil.rmtree(self.home, ignore_errors=True)
                once = self.folder / "once"
                once.unlink(missing_ok=True)
                fill = lambda text: text and text.replace("{once}", str(once))
                recipe = self.recipe(model=fill(model), tables=fill(tables), more=quick + SAVE_OFTEN + "\n" + fill(hook))
                if model:
                    recipe.write_text(recipe.read_text().replace("dropout = 0.0\n", ""))
                done = self.holdfast("run", "--supervise", recipe, code=0)
                self.assertIn(f"while {phase}: writing down its stacks and ending it", done.stderr)
                self.assertIn("hang (exit 83): no progress for too long", done.stderr)
                self.assertEqual(len(self.starts()), 2)
                stacks = (self.home / "current/stacks.txt").read_text()
                self.assertRegex(stacks, r"^process \d+ no sign of progress")
                self.assertRegex(stacks, r"\nthread \d+ holdfast-worker: S \(sleeping\)")
                self.assertRegex(stacks, r"\nstack of thread \d+( in plugin '[a-z._]+': \w+)?\n")
                kept = strict_json((self.home / "current/postmortem.json").read_text())
                self.assertEqual((kept["cause"], kept["certainty"], kept["exit_code"]), ("hang", "established", 83))

    def test_a_hang_before_the_run_began_is_ended_too(self):
        tables = ('[dataset.train]\nplugin = "fault"\nplace = "open"\naction = "sleep"\nsleep = "1000 s"\n'
                  '[dataset.eval]\nplugin = "ids"\n')
        recipe = self.recipe(model='plugin = "fault"\naction = "nan"\nat = 0', tables=tables,
                             more='[supervise]\nmax_restarts = 1\nbackoff = "0.05 s"\nhang_timeout = "1 s"\n')
        recipe.write_text(recipe.read_text().replace("dropout = 0.0\n", ""))
        done = self.holdfast("run", "--supervise", recipe, code=83)
        self.assertEqual(done.stderr.count("while starting: writing down its stacks and ending it"), 2)
        self.assertIn("hang (exit 83): no progress for too long; not started again: 1 restarts without a newer checkpoint",
                      done.stderr)
        self.assertFalse(self.home.exists())

    def test_a_worker_stopped_by_SIGSTOP_is_a_hang(self):
        recipe = self.recipe(target="updates = 200", more=QUICK + SLOW.replace("1000000", "100"))
        process = self.start("run", "--supervise", recipe, "--set", "supervise.hang_timeout=3 s")
        self.wait_for_event(self.home, "update", process)
        os.kill(self.status(self.home)["pid"], signal.SIGSTOP)
        done = self.finish(process)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("T (stopped)", (self.home / "current/stacks.txt").read_text())

    def test_a_group_signal_causes_one_save(self):
        recipe = self.recipe(target="updates = 1000000", more=QUICK + SAVE_EACH + SLOW)
        process = self.start("run", "--supervise", recipe, start_new_session=True)
        self.wait_for_event(self.home, "checkpoint", process)
        os.killpg(process.pid, TERM)
        done = self.finish(process)
        self.assertEqual(done.returncode, 75, done.stderr)
        saves = [e for e in self.events(self.home) if e["event"] == "checkpoint" and e.get("reason") == "signal"]
        self.assertEqual((len(saves), self.status(self.home)["state"]), (1, "stopped"))
        self.assertEqual(len(self.starts()), 1)

    def test_a_signal_to_the_supervisor_alone_saves_and_ends(self):
        recipe = self.recipe(target="updates = 1000000", more=QUICK + SLOW)
        process = self.start("run", "--supervise", recipe)
        self.wait_for_event(self.home, "update", process)
        process.send_signal(TERM)
        self.assertEqual(self.finish(process).returncode, 75)
        self.assertEqual(self.status(self.home)["state"], "stopped")

    def test_a_killed_supervisor_leaves_no_worker_and_the_lock_is_free_within_five_seconds(self):
        for hook in (SLOW, SLOW.replace("0.005 s", "1000 s")):  # one that can save, one that hangs
            shutil.rmtree(self.home, ignore_errors=True)
            recipe = self.recipe(target="updates = 1000000", more=QUICK + hook + '[metrics]\nlisten = "127.0.0.1:0"\n')
            process = self.start("run", "--supervise", recipe)
            self.wait_for_event(self.home, "start", process)
            self.wait_for(lambda: self.status(self.home)["metrics_url"], process)
            worker = self.status(self.home)["pid"]
            port = int(self.status(self.home)["metrics_url"].split(":")[2].split("/")[0])
            began = time.monotonic()
            process.kill()
            process.wait()
            self.wait_for(lambda: not alive(worker))
            self.assertTrue(self.lock_is_free())
            with socket.socket() as probe:
                self.assertNotEqual(probe.connect_ex(("127.0.0.1", port)), 0)
            self.assertLess(time.monotonic() - began, 15)  # 5 s are promised; a machine that builds beside gets more

    def test_supervisor_and_worker_killed_together_the_next_start_still_knows(self):
        ids = '[dataset.train]\nplugin = "ids"\n[dataset.eval]\nplugin = "ids"\n'
        held = SLOW.replace("times = 1000000", "at = 15").replace("0.005 s", "1000 s")  # in one place, so that the kill meets it there
        for phase, hook, model, tables in (
                ("training", held, None, None),
                ("evaluating", SLOW, 'plugin = "fault"\nplace = "eval"\naction = "sleep"\nsleep = "1000 s"', ids)):
            shutil.rmtree(self.home, ignore_errors=True)
            recipe = self.recipe(model=model, tables=tables, target="updates = 100", more=QUICK + SAVE_OFTEN + "\n" + hook)
            if model:
                recipe.write_text(recipe.read_text().replace("dropout = 0.0\n", ""))
            process = self.start("run", "--supervise", recipe, start_new_session=True)
            why = lambda: strict_json(self.holdfast("why", self.home, "--json").stdout)
            self.wait_for_event(self.home, "start", process)
            self.wait_for(lambda: why()["update"] >= (15 if hook is held else 8) and why()["phase"] == phase, process)
            os.killpg(process.pid, KILL)
            process.wait()
            self.wait_for(self.lock_is_free)
            found = why()
            self.assertEqual((found["cause"], found["certainty"], found["phase"]), ("killed_unknown", "unknown", phase))

    def test_killed_together_while_starting_the_attempt_before_is_still_told(self):
        recipe = self.recipe(target="updates = 100", more=QUICK + SAVE_OFTEN + "\n" + SLOW)
        process = self.start("run", recipe)
        self.wait_for_event(self.home, "update", process)
        process.send_signal(TERM)
        self.assertEqual(self.finish(process).returncode, 75)
        before = self.status(self.home)
        process = self.start("run", "--supervise", recipe, start_new_session=True)
        time.sleep(0.05)  # wherever this falls before the attempt begins, the answer is the same
        os.killpg(process.pid, KILL)
        process.wait()
        self.wait_for(self.lock_is_free)
        found = strict_json(self.holdfast("why", self.home, "--json").stdout)
        if self.status(self.home) == before:
            self.assertEqual((found["cause"], found["exit_code"], found["pid"]), ("stopped", 75, before["pid"]))
        else:
            self.assertEqual((found["cause"], found["certainty"]), ("killed_unknown", "unknown"))

    def test_a_tombstone_gives_the_same_code_at_once_until_something_changes(self):
        fault = '[hook.fault]\naction = "throw"\nat = 5\ntimes = 1000\n'
        recipe = self.recipe(more=fault)
        self.holdfast("run", recipe, code=70)
        again = self.holdfast("run", recipe, code=70)
        self.assertRegex(again.stderr, r"error\[run\.tombstone\]: this run failed [\d.]+ s ago with exit code 70, and recipe, plugins "
                         r"and data are the same: .*window_end threw")
        self.assertIn("hint: mend what it says; `--retry` tries again at once, and after an hour every start does", again.stderr)
        self.assertEqual(len(self.starts()), 1)
        self.holdfast("run", recipe, "--retry", code=70)
        self.assertEqual(len(self.starts()), 2)
        status = self.home / "current/status.json"
        past = time.time() - 3700
        os.utime(status, (past, past))
        self.holdfast("run", recipe, code=70)
        self.assertEqual(len(self.starts()), 3)
        self.holdfast("run", recipe, "--set", "optimizer.lr=1e-4", code=70)
        self.assertEqual(len(self.starts()), 4)

    def test_a_run_that_only_inherits_the_environment_of_a_supervised_one_has_no_supervisor(self):
        recipe = self.recipe(target="updates = 2000", more=SLOW.replace("1000000", "900"))
        self.holdfast("run", recipe, env=self.environment(HOLDFAST_SUPERVISOR="1"))
        self.holdfast("run", recipe, "--new", "--set", "hook.fault.action=segfault", code=70, env=self.environment(HOLDFAST_SUPERVISOR="1"))

    def test_several_recipes_are_supervised_in_turn(self):
        first, second = self.recipe("a.toml", target="updates = 2"), self.recipe("b.toml", target="updates = 2")
        for path, name in ((first, "a"), (second, "b")):
            path.write_text(path.read_text().replace('"digits"', f'"{name}"', 1))
        first.write_text(first.read_text() + '[hook.fault]\naction = "throw"\nat = 1\n')
        done = self.holdfast("run", "--supervise", first, second, code=70)
        self.assertRegex(done.stdout, r"a\.toml  70  .*\n.*b\.toml  done\n$")

    def test_a_faulty_recipe_is_told_once_by_the_worker(self):
        recipe = self.recipe(more="[run2]\nx = 1")
        done = self.holdfast("run", "--supervise", recipe, code=78)
        self.assertEqual(done.stderr.count("recipe.unknown_table"), 1)

    def test_new_is_asked_for_once_only(self):
        self.supervised(QUICK, code=0)
        recipe = self.folder / "r.toml"
        once = self.folder / "once"
        with open(recipe, "a", encoding="utf-8") as file:
            file.write(f'[hook.fault]\naction = "segfault"\nat = 5\nonce = "{once}"\n')
        self.holdfast("run", "--supervise", "--new", recipe, code=0)
        self.assertEqual(len([p for p in self.home.iterdir() if p.is_dir() and not p.is_symlink()]), 2)


if __name__ == "__main__":
    main()
