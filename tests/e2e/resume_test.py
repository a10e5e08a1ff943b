"""Which run goes on from where: resume rules, targets, generations, changed recipes, moved homes."""

import fcntl
import json
import os
import shutil

from harness import Case, KILL, dies_at, main, snapshot


class Resume(Case):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "runs/digits"

    def generations(self):
        return sorted(name for name in os.listdir(self.home) if name not in ("lock", "current", "failures.json", "outcomes.json"))

    def test_C33_an_absent_or_bad_requested_checkpoint_is_66_and_touches_nothing(self):
        recipe = self.stopped_at(10)
        before = snapshot(self.folder)
        done = self.holdfast("run", recipe, "--resume", "absent/update-000000500", code=66)
        self.assertIn(str(self.folder / "absent/update-000000500"), done.stderr)
        self.assertEqual(snapshot(self.folder), before)
        broken = self.folder / "broken"
        shutil.copytree(self.home / "current/checkpoints/update-000000010", broken)
        with open(broken / "model.safetensors", "r+b") as file:
            file.truncate(100)
        before = snapshot(self.folder)
        done = self.holdfast("run", recipe, "--resume", broken, code=66)
        self.assertIn("model.safetensors", done.stderr)
        self.assertEqual(snapshot(self.folder), before)

    def test_C33_only_unreadable_checkpoints_are_66_never_a_fresh_start(self):
        recipe = self.stopped_at(10)
        for name in os.listdir(self.home / "current/checkpoints"):
            if name.startswith("update-"):
                (self.home / "current/checkpoints" / name / "manifest.json").write_text("{}")
        inside = snapshot(self.home / "current/")
        self.holdfast("run", recipe, code=66)
        self.assertEqual(snapshot(self.home / "current/"), inside)
        self.assertEqual(len(self.generations()), 1)

    def test_C33_an_interrupted_start_without_a_checkpoint_begins_again_with_a_message(self):
        recipe = self.recipe(target="updates = 20")
        self.holdfast("run", recipe, *dies_at(1), code=-KILL)
        done = self.holdfast("run", recipe)
        self.assertIn("no checkpoint was saved yet; starting from the beginning", done.stderr)
        self.assertEqual(len(self.generations()), 1)
        self.assertEqual(self.status(self.home)["attempt"], 2)

    def test_C40_the_target_means_the_same_after_a_resume(self):
        recipe = self.stopped_at(100, target="updates = 123")
        self.holdfast("run", recipe)
        self.assertEqual([e["update"] for e in self.events(self.home) if e["event"] == "resume"], [100])
        self.assertEqual(self.inspect(self.home)["update"], 123)
        before = snapshot(self.home)
        done = self.holdfast("run", recipe)
        self.assertIn("digits: nothing to do", done.stdout)
        self.assertEqual(snapshot(self.home), before)
        self.assertEqual(self.holdfast("run", recipe, "--quiet").stdout, "")
        done = self.holdfast("run", recipe, "--set", "train.updates=150")
        self.assertIn("going on from update 123; the recipe's target was raised", done.stderr)
        self.assertEqual(self.inspect(self.home)["update"], 150)
        self.assertEqual(len(self.generations()), 1)

    def test_when_done_new_starts_the_next_generation_and_keep_runs_removes_old_ones(self):
        recipe = self.recipe(target="updates = 2")
        for _ in range(3):
            self.holdfast("run", recipe, "--set", "run.when_done=new", "--set", "run.keep_runs=2")
        self.assertEqual(len(self.generations()), 2)
        self.assertEqual(os.readlink(self.home / "current"), self.generations()[-1])

    def test_new_and_never_leave_an_unfinished_generation_behind(self):
        recipe = self.stopped_at(10)
        for option in (["--new"], ["--resume", "never"]):
            self.holdfast("run", recipe, *option, *dies_at(11), code=-KILL)
        self.assertEqual(len(self.generations()), 3)
        done = self.holdfast("run", recipe)
        self.assertIn("going on from update 10", done.stderr)
        states = [self.status_of(name)["state"] for name in self.generations()]
        self.assertEqual(states, ["abandoned", "abandoned", "finished"])

    def status_of(self, generation):
        return json.loads((self.home / generation / "status.json").read_text())

    def test_a_requested_older_checkpoint_begins_a_generation_of_its_own(self):
        recipe = self.stopped_at(30)
        self.holdfast("run", recipe, "--resume", self.home / "current/checkpoints/update-000000020")
        self.assertEqual(len(self.generations()), 2)
        resumed = self.inspect(self.home)["digest"]
        self.holdfast("run", recipe, "--output", self.folder / "whole")
        self.assertEqual(resumed, self.inspect(self.folder / "whole")["digest"])

    def test_C26_a_changed_learning_rate_wins_and_both_values_are_told(self):
        recipe = self.stopped_at(20)
        done = self.holdfast("run", recipe, "--set", "optimizer.lr=1e-4")
        for text in (done.stderr, (self.home / "current/run.log").read_text()):
            self.assertIn("resume: optimizer.lr: 0.002 -> 1e-04 (the recipe wins)", text)

    def test_C26_every_option_that_may_change_is_told_and_nothing_else(self):
        recipe = self.stopped_at(20, dropout=0.1)
        changes = ("model.dropout=0.2", "optimizer.eps=1e-6", "optimizer.no_decay=none", "train.eval_every=5 updates",
                   "loader.prefetch=2", "dataset.eval.shuffle=true", "train.clip_grad_norm=1", "checkpoint.keep=9",
                   "strategy.accumulate.micro_batch_size=16", "hook.fault.enabled=false")
        done = self.holdfast("run", recipe, *[part for text in changes for part in ("--set", text)])
        told = [line.split("resume: ", 1)[1] for line in done.stderr.splitlines() if "resume: " in line]
        self.assertEqual(sorted(told), sorted([
            "model.dropout: 0.1 -> 0.2 (the recipe wins)", "optimizer.eps: 1e-08 -> 1e-06 (the recipe wins)",
            'optimizer.no_decay: "1d" -> "none" (the recipe wins)',
            'train.eval_every: "10 updates" -> "5 updates" (the recipe wins)',
            "loader.prefetch: 4 -> 2 (the recipe wins)", "dataset.eval.shuffle: false -> true (the recipe wins)",
            "train.clip_grad_norm: not set -> 1.0 (the recipe wins)", "checkpoint.keep: 100 -> 9 (the recipe wins)",
            "[strategy.accumulate] was added (the recipe wins)", "[hook.fault] was removed (the recipe wins)",
            "micro-batch: 32 -> 16", "the bits may differ from those of a run that was not interrupted"]))
        self.assertNotIn("resume: ", self.holdfast("run", recipe, "--new").stderr)

    def test_another_seed_or_batch_is_refused_with_the_differing_keys(self):
        recipe = self.stopped_at(20)
        done = self.holdfast("run", recipe, "--set", "train.batch_size=16", "--set", "run.seed=7", code=78)
        self.assertIn("error[resume.identity]", done.stderr)
        self.assertIn("seed", done.stderr)
        self.assertIn("batch", done.stderr)
        self.assertEqual(self.saved_update(self.home), 20)

    def test_a_run_folder_is_continued_also_after_it_was_moved(self):
        self.stopped_at(20)
        moved = self.folder / "moved"
        shutil.move(self.home, moved)
        self.holdfast("run", moved, "--set", "hook.fault.enabled=false", cwd="/")
        self.assertEqual(self.status(moved)["update"], 40)
        self.assertFalse(self.home.exists())
        self.recipe()
        self.holdfast("run", self.folder / "r.toml", "--set", "train.updates=40", "--output", self.folder / "whole")
        self.assertEqual(self.inspect(moved)["digest"], self.inspect(self.folder / "whole")["digest"])

    def test_a_generation_from_elsewhere_holds_the_restored_state_before_it_trains(self):
        recipe = self.stopped_at(20)
        start = self.home / "current/checkpoints/update-000000020"
        other = self.folder / "other"
        self.holdfast("run", recipe, "--output", other, "--resume", start, *dies_at(21), code=-KILL)
        self.assertEqual(self.inspect(other)["digest"], self.inspect(start)["digest"])
        self.assertEqual(self.inspect(other)["reason"], "start")
        done = self.holdfast("run", recipe, "--output", other)
        self.assertIn("going on from update 20", done.stderr)
        self.holdfast("run", recipe, "--output", self.folder / "whole")
        self.assertEqual(self.inspect(other)["digest"], self.inspect(self.folder / "whole")["digest"])

    def test_a_checkpoint_that_already_reached_the_target_ends_in_a_home_that_says_so(self):
        recipe = self.recipe(target="updates = 20")
        self.holdfast("run", recipe)
        end = self.inspect(self.home)
        other = self.folder / "other"
        self.holdfast("run", recipe, "--output", other, "--resume", self.home / "current/checkpoints/latest")
        self.assertEqual(self.inspect(other)["digest"], end["digest"])
        self.assertEqual(self.status(other)["scores"], self.status(self.home)["scores"])
        self.assertIn("nothing to do", self.holdfast("run", recipe, "--output", other).stdout)

    def test_resume_takes_a_home_or_a_generation_as_its_newest_good_checkpoint(self):
        recipe = self.stopped_at(20)
        for number, place in enumerate((self.home, self.home / "current", self.home / "current/checkpoints")):
            other = self.folder / f"other-{number}"
            done = self.holdfast("run", recipe, "--output", other, "--resume", place)
            self.assertRegex(done.stderr, "going on from update 20 of .*/checkpoints/update-000000020 in a new gen")
        done = self.holdfast("run", recipe, "--resume", self.folder, code=66)
        self.assertIn(f"{self.folder}: error[resume.no_checkpoint]: this is neither a checkpoint (there is no "
                      "manifest.json) nor a run folder", done.stderr)
        empty = self.folder / "empty"
        self.holdfast("run", recipe, "--output", empty, *dies_at(1), code=-KILL)
        done = self.holdfast("run", recipe, "--resume", empty, code=66)
        self.assertIn("no checkpoint was saved in this run's generation", done.stderr)

    def test_an_older_checkpoint_or_generation_as_SPEC_is_refused_and_resume_is_named(self):
        recipe = self.stopped_at(30)
        checkpoints = self.home / "current/checkpoints"
        before = snapshot(self.home)
        done = self.holdfast("run", checkpoints / "update-000000020", code=64)
        self.assertIn("error[run.not_newest]: the run goes on from the newest checkpoint, which is update-000000030 and "
                      "not the one named", done.stderr)
        self.assertIn(f"`holdfast run {self.home} --resume {checkpoints / 'update-000000020'}`", done.stderr)
        self.assertEqual(snapshot(self.home), before)
        self.holdfast("run", checkpoints / "latest", "--set", "hook.fault.enabled=false")
        first = self.home / self.generations()[0]
        done = self.holdfast("run", checkpoints / "latest")
        self.assertIn(f"holdfast run {self.home} --new    trains once more; a higher train.updates goes on", done.stdout)
        self.holdfast("run", recipe, "--new")
        done = self.holdfast("run", first, code=64)
        self.assertIn("the run goes on from the newest generation, which is " + self.generations()[1], done.stderr)

    def test_who_waited_for_the_lock_finds_the_run_finished_and_does_not_train_again(self):
        recipe = self.recipe()
        self.holdfast("run", recipe, "--output", self.folder / "done")
        self.home.mkdir(parents=True)
        with open(self.home / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start("run", recipe, "--on-locked", "wait")
            while "waiting" not in process.stderr.readline():
                self.assertIsNone(process.poll())
            shutil.copytree(self.folder / "done", self.home, symlinks=True, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("lock"))
        done = self.finish(process)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("nothing to do", done.stdout)
        self.assertEqual(len(self.generations()), 1)
        self.assertEqual(self.status(self.home)["attempt"], 1)

    def test_a_home_without_current_is_continued_and_its_link_put_right(self):
        recipe = self.stopped_at(20)
        os.unlink(self.home / "current")
        os.symlink("x", self.home / ".current.tmp-1-2")
        self.holdfast("run", self.home, "--set", "hook.fault.enabled=false")
        self.assertEqual(os.listdir(self.home / "current/checkpoints").count("latest"), 1)
        self.assertEqual(sorted(os.listdir(self.home)), sorted({"lock", "current", "failures.json", "outcomes.json", *self.generations()}))
        os.unlink(self.home / "current")
        self.assertIn("nothing to do", self.holdfast("run", recipe).stdout)
        self.assertEqual(len(self.generations()), 1)

    def test_killed_between_the_last_checkpoint_and_the_end_nothing_is_lost(self):
        recipe = self.recipe(more='[checkpoint]\nkeep = 2\n[hook.periodic_checkpoint]\nevery = "5 updates"')
        self.holdfast("run", recipe)
        whole = self.status(self.home)
        status = self.home / "current/status.json"
        status.write_text(json.dumps(whole | {"state": "running", "scores": {}, "best_update": 0, "best_metric": None}))
        self.holdfast("run", recipe, "--set", "checkpoint.keep=1", "--set", "checkpoint.best=eval.loss:min", "--set",
                      "train.updates=20")
        after = self.status(self.home)
        for key in ("scores", "best_update", "best_metric", "state", "update"):
            self.assertEqual(after[key], whole[key], key)

    def test_an_output_inside_another_runs_generation_is_refused(self):
        recipe = self.stopped_at(10)
        before = snapshot(self.home)
        for place in ("current", "current/checkpoints", "current/checkpoints/x/y"):
            done = self.holdfast("run", recipe, "--output", self.home / place, code=73)
            self.assertIn(f"error[home.nested]: lies inside the run home {self.home}", done.stderr)
        self.assertEqual(snapshot(self.home), before)


if __name__ == "__main__":
    main()
