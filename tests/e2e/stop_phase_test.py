"""C100: a stop request in every phase of a run: within seconds a valid checkpoint of the current or newest update, and 75."""

import os
import signal
import socket
import time

from harness import Case, TERM, main

BLOCKED = """
[run]
name = "blocked"
[model]
plugin = "mlp"
hidden = [8]
[dataset.train]
plugin = "fault"
size = 256
action = "sleep"
sleep = "1000 s"
at = 70
{eval}[train]
updates = 1000
batch_size = 8
eval_every = "3 updates"
[hook.periodic_checkpoint]
every = "2 updates"
"""

EVAL = """[dataset.eval]
plugin = "fault"
size = 64
action = "sleep"
sleep = "1000 s"
at = 40
"""

QUICK = 15  # seconds: far below the grace time of 25 s, far above what a small model takes on a busy machine


class StopPhase(Case):
    def stop(self, process, number=TERM):
        before = time.monotonic()
        process.send_signal(number)
        done = self.finish(process)
        self.assertLess(time.monotonic() - before, QUICK)
        self.assertEqual(done.returncode, 75, done.stderr)
        return done

    def stopped_well(self, home):
        """The newest checkpoint is valid, and it is that of the update where the run stands."""
        status = self.status(home)
        self.assertEqual((status["state"], status["exit_code"]), ("stopped", 75))
        self.assertEqual(self.inspect(home)["update"], status["update"])
        return status

    def quiet_for(self, path, seconds=1.0):
        """Waits until a file has not grown for so long: the run is blocked."""
        size, since = -1, time.monotonic()
        while time.monotonic() - since < seconds:
            now = path.stat().st_size if path.exists() else -1
            if now != size:
                size, since = now, time.monotonic()
            time.sleep(0.02)

    def blocked(self, eval_table=""):
        recipe = self.folder / "blocked.toml"
        recipe.write_text(BLOCKED.format(eval=eval_table).replace("at = 70", "at = 70\ntimes = 100" if not eval_table else "at = 999"))
        home = self.folder / "runs/blocked"
        process = self.start("run", recipe, "--log-format", "json")
        self.wait_for_event(home, "start", process)
        self.quiet_for(home / "current/events.jsonl")
        return home, process

    def test_C100_in_a_data_set_that_blocks(self):
        home, process = self.blocked()
        self.stop(process)
        self.stopped_well(home)

    def test_C100_in_an_evaluation_whose_data_set_blocks(self):
        home, process = self.blocked(EVAL)
        self.stop(process)
        self.assertEqual(self.stopped_well(home)["update"], 3)

    def test_C100_in_an_evaluation(self):
        slow = 'plugin = "fault"\nplace = "eval"\naction = "sleep"\nsleep = "0.2 s"\ntimes = 100000'
        text = BLOCKED.format(eval=EVAL.replace("at = 40", "at = 999")).replace("at = 70", "at = 999")
        recipe = self.folder / "slow.toml"
        recipe.write_text(text.replace('plugin = "mlp"\nhidden = [8]', slow).replace('"3 updates"', '"1 updates"'))
        home = self.folder / "runs/blocked"
        process = self.start("run", recipe)
        self.wait_for_event(home, "update", process)
        time.sleep(0.5)
        done = self.stop(process)
        self.assertIn("was cut short by the stop", done.stderr)
        self.stopped_well(home)

    def test_C100_while_a_checkpoint_is_written(self):
        for background in ("true", "false"):
            with self.subTest(background=background):
                recipe = self.recipe(name=f"{background}.toml", target="updates = 100000", hidden=2048, eval_every="1000 updates",
                                     more=f'[checkpoint]\nasync = {background}\n[hook.periodic_checkpoint]\nevery = "1 updates"')
                home = self.folder / background
                process = self.start("run", recipe, "--output", home)
                self.wait_for(lambda: self.saved_update(home) >= 2, process)
                self.stop(process)
                self.stopped_well(home)
                left = [name for name in os.listdir(home / "current/checkpoints") if not name.startswith(("update-", "latest"))]
                self.assertEqual(left, [])

    def test_C100_while_a_failed_save_waits_for_its_next_try(self):
        recipe = self.recipe(target="updates = 1000000", eval_every="100000 updates", more='[hook.periodic_checkpoint]\nevery = "5 updates"')
        home = self.folder / "runs/digits"
        process = self.start("run", recipe)
        self.wait_for(lambda: self.saved_update(home) >= 5, process)
        checkpoints = home / "current/checkpoints"
        aside = self.folder / "aside"
        real = os.path.realpath(checkpoints)
        os.rename(real, aside)
        open(real, "w").close()  # a file where the folder was
        self.wait_for(lambda: any(e["event"] == "checkpoint" and not e["ok"] for e in self.events(home)), process)
        os.unlink(real)
        os.rename(aside, real)
        done = self.stop(process)
        self.assertIn("could not be written and the run goes on; it is tried again in ", done.stderr)
        self.stopped_well(home)

    def test_while_waiting_for_a_lock(self):
        holder = self.start("run", self.recipe(target="updates = 1000000", eval_every="100000 updates"))
        self.wait_for_event(self.folder / "runs/digits", "start", holder)
        waiter = self.start("run", self.folder / "r.toml", "--on-locked", "wait")
        time.sleep(2)
        self.assertIsNone(waiter.poll())
        done = self.stop(waiter)
        self.assertIn("stopped before anything was changed", done.stderr)
        self.stop(holder)

    def test_a_second_request_one_second_later_leaves_without_damage(self):
        home, process = self.blocked()
        before = self.saved_update(home)
        process.send_signal(TERM)
        time.sleep(0.3)  # the first one may be carried out by then: both ends are right
        process.send_signal(signal.SIGINT)
        done = self.finish(process)
        self.assertIn(done.returncode, (75, 87), done.stderr)
        self.assertGreaterEqual(self.inspect(home)["update"], before)

    def test_the_grace_time_ends_a_run_that_cannot_stop(self):
        recipe = self.recipe(target="updates = 60", more='[hook.fault]\naction = "sleep"\nat = 4\nsleep = "1000 s"')
        home = self.folder / "runs/digits"
        process = self.start("run", recipe, "--set", "run.grace=2s")
        self.wait_for_event(home, "update", process)
        self.quiet_for(home / "current/events.jsonl")
        before = time.monotonic()
        process.send_signal(TERM)
        done = self.finish(process)
        self.assertLess(time.monotonic() - before, QUICK)
        self.assertEqual(done.returncode, 87, done.stderr)
        self.assertRegex(done.stderr, r"SIGTERM from pid \d+: the grace time of 2 s is over: leaving at once, without a new checkpoint")
        self.assertEqual(self.status(home)["exit_code"], 87)

    def test_max_wall_time_saves_and_ends_with_75_and_its_cause(self):
        recipe = self.recipe(target="updates = 100000000", eval_every="1000000 updates")
        home = self.folder / "runs/digits"
        before = time.monotonic()
        done = self.holdfast("run", recipe, "--set", "run.max_wall_time=4s", code=75)
        self.assertLess(time.monotonic() - before, 60)
        status = self.stopped_well(home)
        self.assertEqual(status["cause"], "run.max_wall_time of 4 s is nearly over")
        self.assertGreater(status["update"], 0)
        self.assertEqual([e["reason"] for e in self.events(home) if e["event"] == "checkpoint"][-1], "max_wall_time")
        self.assertIn("max_wall_time", done.stdout)


class Service(Case):
    def test_systemd_hears_ready_signs_of_life_and_stopping(self):
        path = self.folder / "notify"
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(str(path))
        manager.settimeout(60)
        recipe = self.recipe(target="updates = 100000000", eval_every="1000000 updates")
        process = self.start("run", recipe, env=self.environment(NOTIFY_SOCKET=str(path), WATCHDOG_USEC="400000"))
        first = manager.recv(4096).decode()
        self.assertEqual(first, "READY=1\nSTATUS=update 0 of 100000000")
        heard = [manager.recv(4096).decode() for _ in range(5)]
        self.assertIn("WATCHDOG=1", heard)
        self.assertTrue(any(text.startswith("STATUS=update ") for text in heard), heard)
        process.send_signal(TERM)
        text = ""
        while not text.startswith("STOPPING=1"):
            text = manager.recv(4096).decode()
        self.assertRegex(text, rf"^STOPPING=1\nEXTEND_TIMEOUT_USEC=25000000\nSTATUS=SIGTERM from pid {os.getpid()}$")
        self.assertEqual(self.finish(process).returncode, 75)


if __name__ == "__main__":
    main()
