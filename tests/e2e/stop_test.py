"""Stop requests and locks: saved, exit 75, and the next run goes on; a second request leaves at once."""

import os
import signal
import subprocess
import time

from harness import Case, KILL, TERM, main

SLOW = '[hook.fault]\naction = "sleep"\ntimes = 1000000\nsleep = "{}"'


SLOW_TO_OPEN = """
[model]
plugin = "mlp"
[dataset.train]
plugin = "fault"
place = "open"
action = "sleep"
sleep = "100 s"
[train]
updates = 2
batch_size = 8
"""


class Stop(Case):
    def slow_run(self, slow="0.02 s", target="updates = 60", **more):
        recipe = self.recipe(target=target, more=SLOW.format(slow), **more)
        home = self.folder / "runs/digits"
        process = self.start("run", recipe)
        self.wait_for_event(home, "update", process)
        return recipe, home, process

    def test_sigterm_and_sigint_save_and_end_with_75_and_the_next_run_goes_on(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number):
                recipe, home, process = self.slow_run()
                process.send_signal(number)
                done = self.finish(process)
                self.assertEqual(done.returncode, 75, done.stderr)
                status = self.status(home)
                self.assertEqual((status["state"], status["exit_code"]), ("stopped", 75))
                self.assertIn(signal.Signals(number).name, status["cause"])
                self.assertEqual(self.inspect(home)["update"], status["update"])
                self.assertIn("goes on from here", done.stdout)
                self.assertIn(signal.Signals(number).name, [e for e in self.events(home) if e["event"] == "signal"][0]["why"])
                self.holdfast("run", recipe, "--set", "hook.fault.enabled=false")
                events = [e["event"] for e in self.events(home)]
                self.assertIn("resume", events)
                self.assertEqual(self.status(home)["update"], 60)
                subprocess.run(["rm", "-r", home], check=True)

    def test_the_command_is_one_process(self):
        recipe, home, process = self.slow_run()
        self.assertEqual(self.status(home)["pid"], process.pid)
        process.send_signal(TERM)
        self.finish(process)

    def test_a_second_request_leaves_at_once(self):
        recipe, home, process = self.slow_run(slow="100 s")
        process.send_signal(TERM)
        time.sleep(0.3)
        before = time.monotonic()
        process.send_signal(TERM)
        done = self.finish(process)
        self.assertEqual(done.returncode, 87, done.stderr)
        self.assertLess(time.monotonic() - before, 20)
        self.assertIn("the second stop request: leaving at once, without a new checkpoint", done.stderr)
        status = self.status(home)
        self.assertEqual((status["state"], status["exit_code"]), ("failed", 87))
        self.assertRegex(status["cause"], r"^SIGTERM from pid \d+, the second stop request: leaving at once, without a new checkpoint$")
        self.assertEqual([e["exit_code"] for e in self.events(home) if e["event"] == "end"], [87])

    def test_C100_a_request_while_preparing_ends_at_once_and_changes_nothing(self):
        recipe = self.folder / "slow.toml"
        recipe.write_text(SLOW_TO_OPEN)
        process = self.start("run", recipe)
        time.sleep(2)  # LibTorch is loaded in less; then the data set sleeps
        self.assertIsNone(process.poll())
        before = time.monotonic()
        process.send_signal(TERM)
        done = self.finish(process)
        self.assertLess(time.monotonic() - before, 20)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertRegex(done.stderr, r"^holdfast: SIGTERM from pid \d+: stopped before anything was changed\n$")
        self.assertFalse((self.folder / "runs").exists())

    @staticmethod
    def ignored(process):
        with open(f"/proc/{process.pid}/status") as file:
            return int(next(line for line in file if line.startswith("SigIgn")).split()[1], 16)

    def test_C100_a_request_while_libtorch_loads_is_75_and_a_batch_starts_nothing_else(self):
        recipe = self.folder / "slow.toml"
        recipe.write_text(SLOW_TO_OPEN)
        for targets in ([recipe], [recipe, recipe]):
            for delay in (0.02, 0.05, 0.1, 0.2):
                process = self.start("run", *targets)
                # The front ignores SIGPIPE first of all and blocks the stop signals right after.
                self.wait_for(lambda: self.ignored(process) & 1 << signal.SIGPIPE - 1)
                time.sleep(delay)
                process.send_signal(TERM)
                done = self.finish(process)
                self.assertEqual(done.returncode, 75, done.stderr)
                self.assertFalse((self.folder / "runs").exists())


class Lock(Case):
    def test_a_locked_home_is_75_and_names_the_process(self):
        recipe = self.recipe(target="updates = 2000", more=SLOW.format("0.02 s"))
        home = self.folder / "runs/digits"
        holder = self.start("run", recipe)
        self.wait_for_event(home, "update", holder)
        done = self.holdfast("run", recipe, code=75)
        self.assertEqual(done.stderr, f"{home}: error[home.locked]: process {holder.pid} works in this run home\n"
                                      "  hint: wait for it, stop it, or use --on-locked wait or skip\n")
        self.assertEqual(done.stdout, "")
        skipped = self.holdfast("run", recipe, "--on-locked", "skip")
        self.assertIn(f"process {holder.pid} works in this run home; skipped", skipped.stderr)
        waiter = self.start("run", recipe, "--on-locked", "wait", "--set", "train.updates=5", "--new")
        time.sleep(1.5)
        self.assertIsNone(waiter.poll())
        holder.send_signal(KILL)
        holder.wait()
        done = self.finish(waiter)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.status(home)["update"], 5)

    def test_a_lock_file_left_by_a_killed_process_blocks_nobody(self):
        home = self.folder / "runs/digits"
        home.mkdir(parents=True)
        (home / "lock").write_text("1 elsewhere\n")
        self.holdfast("run", self.recipe(target="updates = 2"))

    def test_a_fifo_in_a_run_home_blocks_nothing(self):
        home = self.folder / "runs/digits"
        recipe = self.recipe(target="updates = 20", more='[hook.fault]\naction = "stop"\ncode = 82\nat = 5')
        self.holdfast("run", recipe, code=82)
        for name in ("status.json", "events.jsonl", "run.log"):
            (home / "current" / name).unlink()
            os.mkfifo(home / "current" / name)
        self.holdfast("run", recipe, "--set", "hook.fault.enabled=false")
        self.assertEqual(self.status(home)["state"], "finished")


if __name__ == "__main__":
    main()
