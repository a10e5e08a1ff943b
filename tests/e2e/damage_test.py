"""Checkpoints that are damaged, refused, gone, or that others own: what a run does then, and what inspect says."""

import os
import shutil
import subprocess
import tempfile

from harness import COMMAND, Case, KILL, SAVE_OFTEN, dies_at, main, snapshot

NOBODY = 65534


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "runs/digits"
        self.checkpoints = self.home / "current/checkpoints"

    def whole(self, recipe, *more):
        """The digest of the run that nothing interrupts."""
        home = self.folder / "whole"
        self.holdfast("run", recipe, "--output", home, *more)
        return self.inspect(home)["digest"]

    def restore_fails(self, times):
        """Options with which a hook refuses its saved state."""
        sets = ("place=restore", "action=throw", f"times={times}")
        return [part for key in sets for part in ("--set", f"hook.fault.{key}")]

    def test_a_state_that_a_component_refuses_leads_to_the_older_checkpoint_and_to_the_same_end(self):
        recipe = self.stopped_at(30)
        done = self.holdfast("run", recipe, *self.restore_fails(1))
        generation = os.path.realpath(self.home / "current")
        self.assertIn(f"{generation}/checkpoints/update-000000030/state.json: [hook.fault] cannot take its saved state: "
                      "plugin 'hook.fault': restore threw: the fault fixture threw in hook.restore; trying the next "
                      "older checkpoint", done.stderr)
        self.assertIn("going on from update 20", done.stderr)
        self.assertEqual(self.inspect(self.home)["digest"], self.whole(recipe, *self.restore_fails(1)))

    def test_only_refused_states_are_66_and_a_requested_one_is_never_replaced(self):
        recipe = self.stopped_at(20)
        inside = snapshot(self.home / "current/")
        done = self.holdfast("run", recipe, *self.restore_fails(1000), code=66)
        self.assertIn("error[checkpoint.none_readable]: none of 2 checkpoints can be read:", done.stderr)
        self.assertEqual(done.stderr.count("trying the next older"), 1)
        before = snapshot(self.folder)
        done = self.holdfast("run", recipe, "--resume", self.checkpoints / "latest", *self.restore_fails(1), code=66)
        self.assertIn("error[checkpoint.component]: [hook.fault] cannot take", done.stderr)
        done = self.holdfast("run", recipe, "--resume", self.home, *self.restore_fails(1000), code=66)
        self.assertIn("error[checkpoint.none_readable]", done.stderr)
        self.assertEqual(snapshot(self.folder), before)
        self.assertEqual(snapshot(self.home / "current/"), inside)

    def test_a_home_that_is_requested_gives_its_newest_checkpoint_that_can_be_taken(self):
        recipe = self.stopped_at(30)
        other = self.folder / "other"
        done = self.holdfast("run", recipe, "--resume", self.home, "--output", other, *self.restore_fails(1))
        self.assertIn("going on from update 20 of", done.stderr)
        self.assertEqual(self.inspect(other)["digest"], self.whole(recipe, *self.restore_fails(1)))

    def test_another_seed_is_78_from_the_newest_whatever_the_older_ones_say(self):
        recipe = self.stopped_at(20)
        before = snapshot(self.folder)
        done = self.holdfast("run", recipe, "--resume", self.home, "--set", "run.seed=7", code=78)
        self.assertIn("run.seed: saved 0, now 7", done.stderr)
        self.assertEqual(snapshot(self.folder), before)

    def test_C33_checkpoints_that_vanished_are_66_and_never_a_fresh_start(self):
        recipe = self.stopped_at(20)
        shutil.rmtree(self.checkpoints)
        generation = os.path.realpath(self.home / "current")
        where = f"{generation}/checkpoints: error[resume.vanished]: there is no checkpoint, but this run has saved one: "
        hint = "hint: put the folder back from a copy, or start from nothing with --new"
        for _ in range(2):
            done = self.holdfast("run", recipe, code=66)
            self.assertIn(where + "events.jsonl tells of a checkpoint of update 20", done.stderr)
            self.assertIn(hint, done.stderr)
        os.mkdir(self.checkpoints)
        self.holdfast("run", self.home, code=66)
        os.unlink(self.home / "current/events.jsonl")
        self.assertIn(where + "best.safetensors is there", self.holdfast("run", recipe, code=66).stderr)
        self.holdfast("run", recipe, "--new")
        self.assertEqual(self.status(self.home)["state"], "finished")

    def test_C33_a_raised_target_of_a_finished_run_without_checkpoints_is_66(self):
        recipe = self.recipe(target="updates = 20")
        self.holdfast("run", recipe)
        shutil.rmtree(self.checkpoints)
        self.assertIn("nothing to do", self.holdfast("run", recipe).stdout)
        done = self.holdfast("run", recipe, "--set", "train.updates=30", code=66)
        self.assertIn("error[resume.vanished]", done.stderr)
        os.unlink(self.home / "current/events.jsonl")
        os.unlink(self.home / "current/best.safetensors")
        done = self.holdfast("run", recipe, "--set", "train.updates=30", code=66)
        self.assertIn("model.safetensors is there", done.stderr)
        self.holdfast("run", recipe, "--set", "train.updates=30", "--new")

    def test_links_and_foreign_folders_in_the_home_are_77(self):
        recipe = self.stopped_at(20)
        generation = os.path.realpath(self.home / "current")
        aside = self.folder / "aside"
        os.rename(self.checkpoints, aside)
        os.symlink(aside, self.checkpoints)
        before = snapshot(aside)
        for command in (["run", recipe], ["inspect", self.home], ["eval", self.home]):
            done = self.holdfast(*command, code=77)
            self.assertIn(f"{generation}/checkpoints: error[checkpoint.link]: the folder of the checkpoints is a link to "
                          f"'{aside}'", done.stderr)
        self.assertEqual(snapshot(aside), before)
        os.unlink(self.checkpoints)
        os.rename(aside, self.checkpoints)
        os.chmod(self.checkpoints / "update-000000010", 0o777)
        self.assertIn("every user of this machine may write into the checkpoint",
                      self.holdfast("run", recipe, code=77).stderr)
        os.chmod(self.checkpoints / "update-000000010", 0o755)
        if os.geteuid() == 0:
            os.chown(generation, NOBODY, NOBODY)
            self.assertIn(f"the generation belongs to user {NOBODY}", self.holdfast("run", recipe, code=77).stderr)
            os.chown(generation, 0, 0)
        self.holdfast("run", recipe)

    def test_a_current_that_leads_elsewhere_is_put_right_and_elsewhere_is_not_touched(self):
        recipe = self.stopped_at(20)
        other = self.folder / "other"
        self.holdfast("run", recipe, "--output", other, *dies_at(11), code=-KILL)
        name = os.readlink(self.home / "current")
        before = snapshot(other)
        for target in (os.path.realpath(other / "current"), "../../other/current", "/etc"):
            os.unlink(self.home / "current")
            os.symlink(target, self.home / "current")
            self.assertIn("update 20", self.holdfast("inspect", self.home).stdout)
        self.assertIn("going on from update 20", self.holdfast("run", recipe).stderr)
        self.assertEqual(os.readlink(self.home / "current"), name)
        self.assertEqual(snapshot(other), before)

    def test_inspect_says_why_a_damaged_checkpoint_cannot_be_read(self):
        self.stopped_at(10)
        manifest = self.checkpoints / "update-000000010/manifest.json"
        text = manifest.read_text()
        for damage in ("{}", ""):
            manifest.write_text(damage)
            done = self.holdfast("inspect", self.home, code=66)
            self.assertIn("update-000000010/manifest.json: error[checkpoint.manifest]: it does not end with its own hash",
                          done.stderr)
        manifest.write_text(text)
        os.unlink(self.checkpoints / "update-000000010/state.json")
        self.assertIn("state.json", self.holdfast("inspect", self.home, code=66).stderr)

    def test_what_this_user_may_not_read_is_said(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.stopped_at(10)
        os.chmod(self.folder, 0o755)
        tried = subprocess.run([COMMAND, "--version"], user=NOBODY, capture_output=True, cwd="/", check=False)
        if tried.returncode != 0:
            self.skipTest("another user cannot run this build")
        generation = os.path.realpath(self.home / "current")
        for place in (generation, self.home):
            os.chmod(place, 0o700)
            done = self.holdfast("inspect", self.home, code=66, user=NOBODY, cwd="/")
            self.assertIn(f"{place}: error[io.unreadable]: cannot read: Permission denied (EACCES)", done.stderr)
            self.assertNotIn("bug", done.stderr)
            os.chmod(place, 0o755)

    def test_eval_takes_the_older_checkpoint_when_the_newest_is_damaged(self):
        self.stopped_at(20)
        with open(self.checkpoints / "update-000000020/model.safetensors", "r+b") as file:
            file.truncate(100)
        done = self.holdfast("eval", self.home, "--set", "hook.fault.enabled=false")
        self.assertIn("update-000000010/model.safetensors", done.stdout)
        self.assertIn("; trying the next older checkpoint", done.stderr)

    def best_is_the_first(self):
        """A run whose best checkpoint is that of update 10: accuracy only grows."""
        recipe = self.recipe(target="updates = 40", more=SAVE_OFTEN.replace("keep", 'best = "eval.accuracy:min"\nkeep'))
        self.holdfast("run", recipe, *dies_at(31), code=-KILL)
        return recipe

    def test_C39_the_best_checkpoint_goes_along_into_a_generation_that_goes_on_from_a_later_one(self):
        recipe = self.best_is_the_first()
        other = self.folder / "other"
        start = self.checkpoints / "update-000000030"
        self.holdfast("run", recipe, "--output", other, "--resume", start, "--set", "checkpoint.keep=1", *dies_at(31),
                      code=-KILL)
        self.assertEqual(self.inspect(other)["digest"], self.inspect(start)["digest"])
        self.assertEqual(self.inspect(other / "current/checkpoints/update-000000010")["digest"],
                         self.inspect(self.checkpoints / "update-000000010")["digest"])
        self.holdfast("run", recipe, "--output", other, "--set", "checkpoint.keep=1")
        self.assertEqual(self.inspect(other)["digest"], self.whole(recipe))
        self.assertEqual(self.status(other)["best_update"], 10)
        self.assertEqual(sorted(os.listdir(other / "current/checkpoints")),
                         ["latest", "update-000000010", "update-000000040"])
        self.assertEqual((other / "current/best.safetensors").read_bytes(),
                         (self.checkpoints / "update-000000010/model.safetensors").read_bytes())

    def test_C39_a_best_checkpoint_that_is_not_there_is_forgotten_with_a_word(self):
        recipe = self.best_is_the_first()
        with tempfile.TemporaryDirectory(dir=self.folder) as alone:
            start = shutil.copytree(self.checkpoints / "update-000000030", os.path.join(alone, "update-000000030"))
            other = self.folder / "other"
            done = self.holdfast("run", recipe, "--output", other, "--resume", start)
            self.assertIn("the best checkpoint so far, of update 10, cannot be taken along; the best value begins anew: "
                          f"{alone}/update-000000010: cannot read: No such file or directory (ENOENT)", done.stderr)
        self.assertEqual(self.status(other)["best_update"], 40)
        self.assertEqual((other / "current/best.safetensors").read_bytes(),
                         (other / "current/checkpoints/update-000000040/model.safetensors").read_bytes())
        copy = self.folder / "copy"
        os.mkdir(copy)
        shutil.copytree(self.checkpoints / "update-000000030", copy / "update-000000030")
        shutil.copytree(self.checkpoints / "update-000000020", copy / "update-000000010")
        done = self.holdfast("run", recipe, "--output", self.folder / "third", "--resume", copy / "update-000000030")
        self.assertIn(f"begins anew: {copy}/update-000000010: it is a checkpoint of another run", done.stderr)


if __name__ == "__main__":
    main()
