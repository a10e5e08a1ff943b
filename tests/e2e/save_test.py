"""Saving while training goes on: what lies on the disk, requests from outside, ticks left out, disks that fail."""

import json
import os
import time

from harness import Case, KILL, TERM, main

ENDLESS = "updates = 100000000"


class Save(Case):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "runs/digits"

    def endless(self, more="", hidden=32, *arguments, home="runs/digits"):
        recipe = self.recipe(target=ENDLESS, eval_every="1000000 updates", hidden=hidden, more=more)
        self.home = self.folder / home
        process = self.start("run", recipe, "--output", self.home, *arguments)
        self.wait_for_event(self.home, "start", process)
        return process

    def test_checkpoints_written_behind_are_those_of_the_same_run_written_between_windows(self):
        ends = {}
        for background in ("true", "false"):
            home = self.folder / background
            self.holdfast("run", self.recipe(target="updates = 60", dropout=0.2, more='[hook.periodic_checkpoint]\nevery = "5 updates"'),
                          "--output", home, "--set", f"checkpoint.async={background}", "--set", "checkpoint.keep=100")
            ends[background] = {e["update"]: self.inspect(home / f"current/checkpoints/update-{e['update']:09}")["digest"]
                                for e in self.events(home) if e["event"] == "checkpoint"}
        self.assertIn(60, ends["true"])
        self.assertGreater(len(ends["true"]), 1)
        for update, digest in ends["true"].items():
            self.assertEqual(digest, ends["false"][update])

    def test_C52_four_saves_behind_with_offloaded_moments_differ_and_each_equals_its_digest(self):
        recipe = self.recipe(target="updates = 40", hidden=256, more="[checkpoint]\nkeep = 100\n[strategy.optimizer_offload]\n"
                             '[hook.fault]\naction = "sleep"\nsleep = "0.05 s"\ntimes = 1000\n'
                             '[hook.periodic_checkpoint]\nevery = "10 updates"')
        self.holdfast("run", recipe)
        found = [self.inspect(self.home / f"current/checkpoints/update-{update:09}") for update in (10, 20, 30, 40)]
        self.assertEqual(len({one["digest"] for one in found}), 4)
        for name in ("model.safetensors", "optimizer.safetensors"):
            digests = [tuple(t["digest"] for t in one["tensors"] if t["file"] == name) for one in found]
            self.assertEqual(len(set(digests)), 4)

    def test_C58_ticks_that_fall_into_a_save_are_left_out_and_counted_and_updates_go_on(self):
        process = self.endless('[hook.periodic_checkpoint]\nevery = "1 updates"', 1024)
        self.wait_for(lambda: self.saved_update(self.home) >= 3, process)
        process.send_signal(TERM)
        done = self.finish(process)
        self.assertEqual(done.returncode, 75, done.stderr)
        events = self.events(self.home)
        saves = [e for e in events if e["event"] == "checkpoint"]
        self.assertEqual(sorted(e["update"] for e in saves), [e["update"] for e in saves])
        missed = [e for e in events if e["event"] == "skip" and e["what"] == "checkpoint"]
        self.assertGreater(len(missed), 0)
        self.assertGreaterEqual(min(e["seconds"] for e in saves), 0)
        self.assertIn("is left out: the one before is still being written", done.stderr)
        text = (self.home / "current/metrics.prom").read_text()
        counted = next(line for line in text.splitlines() if line.startswith("holdfast_checkpoint_missed_total"))
        self.assertEqual(float(counted.split()[-1]), missed[-1]["missed"])

    def test_a_request_is_answered_with_the_checkpoint(self):
        for background in ("true", "false"):
            with self.subTest(background=background):
                process = self.endless("", 32, "--set", f"checkpoint.async={background}", home=background)
                done = self.holdfast("checkpoint", self.home)
                self.assertRegex(done.stdout, r"^checkpoint of update \d+: .*/checkpoints/update-\d+\n$")
                answer = json.loads(self.holdfast("checkpoint", self.home, "--json").stdout)
                self.assertFalse(answer["pending"])
                self.assertEqual(self.inspect(answer["path"])["update"], answer["update"])
                self.assertEqual(os.listdir(self.home / "current/requests"), [])
                self.assertIn("request", [e["reason"] for e in self.events(self.home) if e["event"] == "checkpoint"])
                process.send_signal(TERM)
                self.assertEqual(self.finish(process).returncode, 75)

    def test_a_request_that_nobody_can_answer_is_said(self):
        done = self.holdfast("checkpoint", self.folder / "nowhere", code=66)
        self.assertIn("error[checkpoint.absent]: there is no such run folder", done.stderr)
        process = self.endless('[hook.fault]\naction = "sleep"\nat = 5\nsleep = "1000 s"')
        self.wait_for_event(self.home, "update", process)
        time.sleep(1)
        done = self.holdfast("checkpoint", self.home, "--timeout", "1", code=75)
        self.assertEqual(done.stdout, "the request is pending after 1 s: the process saves at the edge of the window that it is "
                                      "working on\n")
        self.assertEqual(self.holdfast("checkpoint", self.home, "--timeout", "0").stdout,
                         "the request is pending: the process saves at the edge of the window that it is working on\n")
        self.assertEqual(len(os.listdir(self.home / "current/requests")), 2)
        asking = self.start("checkpoint", self.home)
        self.wait_for(lambda: len(os.listdir(self.home / "current/requests")) == 3)
        process.send_signal(KILL)
        process.wait()
        done = self.finish(asking)
        self.assertEqual(done.returncode, 66)
        self.assertEqual(done.stderr, f"{self.home}: error[checkpoint.no_process]: the process ended before it reached the edge of a "
                                      "window\n  hint: no checkpoint has been saved here yet: `holdfast run` starts or continues the run\n")
        done = self.holdfast("checkpoint", self.home, code=66)
        self.assertIn("error[checkpoint.no_process]: no process works in this run home", done.stderr)

    def test_a_disk_that_fails_for_a_while_is_tried_again_and_the_run_goes_on(self):
        process = self.endless('[hook.periodic_checkpoint]\nevery = "20 updates"')
        self.wait_for(lambda: self.saved_update(self.home) >= 20, process)
        real = os.path.realpath(self.home / "current/checkpoints")
        os.rename(real, self.folder / "aside")
        open(real, "w").close()
        failed = lambda: [e for e in self.events(self.home) if e["event"] == "checkpoint" and not e["ok"]]
        self.wait_for(lambda: len(failed()) >= 1, process)
        os.unlink(real)
        os.rename(self.folder / "aside", real)
        last = self.saved_update(self.home)
        self.wait_for(lambda: self.saved_update(self.home) > last, process)
        process.send_signal(TERM)
        done = self.finish(process)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("could not be written and the run goes on; it is tried again in 1 s: ", done.stderr)
        text = (self.home / "current/metrics.prom").read_text()
        self.assertRegex(text, r'holdfast_checkpoint_failures_total\{[^}]*reason="[a-z]+"[^}]*\} [1-9]')

    def test_where_the_recipe_says_so_a_failed_save_ends_the_run_with_74(self):
        for background in ("true", "false"):
            with self.subTest(background=background):
                process = self.endless('[hook.periodic_checkpoint]\nevery = "20 updates"', 32, "--set", "checkpoint.on_error=stop",
                                       "--set", f"checkpoint.async={background}", home=background)
                self.wait_for(lambda: self.saved_update(self.home) >= 20, process)
                real = os.path.realpath(self.home / "current/checkpoints")
                os.rename(real, self.folder / "aside")
                open(real, "w").close()
                done = self.finish(process)
                self.assertIn(done.returncode, (73, 74), done.stderr)
                os.unlink(real)
                os.rename(self.folder / "aside", real)
                self.assertGreaterEqual(self.inspect(self.home)["update"], 20)

    def test_without_host_memory_for_a_copy_saves_lie_between_windows_and_log_and_plan_say_so(self):
        recipe = self.recipe(target="updates = 4", hidden=4096)
        narrow = ["--set", "memory.host_budget=3MiB"]
        done = self.holdfast("run", recipe, *narrow)
        self.assertRegex(done.stderr, r"checkpoints are written between two windows: a copy of the state takes .* of host memory, and "
                                      r".* are left of memory.host_budget")
        self.assertRegex(self.holdfast("plan", recipe, *narrow).stdout, r"checkpoints +between two windows: a copy of the state takes")
        self.assertRegex(self.holdfast("plan", recipe).stdout, r"checkpoints +in the background +checkpoint.async")
        self.assertRegex(self.holdfast("plan", recipe, "--set", "checkpoint.async=false").stdout,
                         r"checkpoints +between two windows +checkpoint.async")


if __name__ == "__main__":
    main()
