"""Runs that diverge: what is left out, undone or refused, and that being killed meanwhile changes nothing."""

from harness import Case, KILL, dies_at, main

GUARD = '\n[hook.divergence_guard]\nthen = "{then}"\n'
SAVES = '[checkpoint]\nasync = {behind}\nkeep = 100\n[hook.periodic_checkpoint]\nevery = "10 updates"'


class Divergence(Case):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "runs/digits"

    def nan_recipe(self, then=None, behind="false", more=""):
        """640 samples of which one is NaN: one of the twenty windows of each epoch is not finite."""
        tables = ('[dataset.train]\nplugin = "fault"\nsize = 640\naction = "nan"\nat = 333\n'
                  '[dataset.eval]\nplugin = "fault"\nsize = 64\naction = "nan"\nat = 1000\n')
        return self.recipe(tables=tables, target="epochs = 3", more=SAVES.format(behind=behind) + (GUARD.format(then=then) if then else "") + more)

    def metric(self, home, line):
        lines = (home / "current/metrics.prom").read_text().splitlines()
        return float(next(each for each in lines if each.startswith(line)).split()[-1])

    def end(self, home):
        last = [e for e in self.events(home) if e["event"] == "checkpoint" and e["ok"]][-1]
        return self.inspect(home / f"current/checkpoints/update-{last['update']:09}")

    def test_skipped_windows_are_counted_and_the_run_reaches_its_end(self):
        self.holdfast("run", self.nan_recipe("skip"))
        status = self.status(self.home)
        self.assertEqual((status["update"], status["skipped_windows"], status["state"]), (57, 3, "finished"))
        skips = [e for e in self.events(self.home) if e["event"] == "skip"]
        self.assertEqual([e["what"] for e in skips], ["window"] * 3)
        self.assertEqual(self.metric(self.home, 'holdfast_nonfinite_total{kind="loss"'), 3)

    def test_a_rollback_leaves_out_the_bad_window_and_the_one_before(self):
        done = self.holdfast("run", self.nan_recipe("rollback"))
        backs = [e for e in self.events(self.home) if e["event"] == "rollback"]
        self.assertEqual(len(backs), 3)
        first = backs[0]
        self.assertEqual((first["kind"], first["windows"]), ("nonfinite", 2))
        self.assertEqual(first["first_window"], first["from_update"])
        self.assertEqual(first["to_update"], max(1, (first["from_update"] - 1) // 10 * 10))
        self.assertEqual(first["reason"], f"divergence guard: update {first['from_update'] + 1}: the loss of window "
                                          f"{first['from_update'] + 1} is nan, where a finite number is needed")
        self.assertIn(f"rolled back from update {first['from_update']} to update {first['to_update']}, leaving out 2 windows from "
                      f"{first['from_update']} on: divergence guard: ", done.stderr)
        self.assertEqual(self.status(self.home)["update"], 54)
        self.assertEqual(self.end(self.home)["update"], 54)
        self.assertEqual(self.metric(self.home, 'holdfast_rollbacks_total{reason="nonfinite"'), 3)

    def test_killed_around_a_rollback_and_resumed_the_end_is_that_of_the_uninterrupted_run(self):
        for then in ("skip", "rollback"):
            for behind in ("false", "true"):
                whole = self.folder / f"{then}-{behind}"
                recipe = self.nan_recipe(then, behind, '[hook.fault]\naction = "gauge"\nat = 1000\n')
                self.holdfast("run", recipe, "--output", whole)
                expected = self.end(whole)["digest"]
                backs = [e["from_update"] for e in self.events(whole) if e["event"] == "rollback"] or [11]
                for update in (backs[0] - 1, backs[0], backs[0] + 1, 35):
                    with self.subTest(then=then, behind=behind, update=update):
                        home = self.folder / f"{then}-{behind}-{update}"
                        self.holdfast("run", recipe, "--output", home, *dies_at(update), code=-KILL)
                        self.holdfast("run", recipe, "--output", home)
                        self.assertEqual(self.end(home)["digest"], expected)

    def test_stop_ends_with_82_the_state_before_the_window_is_saved_and_why_names_the_first_bad_update(self):
        done = self.holdfast("run", self.nan_recipe("stop"), "--quiet", code=82)
        status = self.status(self.home)
        bad = status["update"] + 1
        sentence = (f"divergence guard: update {bad}: the loss of window {bad} is nan, where a finite number is needed; the first bad "
                    f"update was {bad}; lower optimizer.lr, set train.clip_grad_norm or look at the samples of that window, then run again")
        self.assertEqual(status["cause"], sentence)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(self.saved_update(self.home), bad - 1)
        told = self.holdfast("why", self.home).stdout
        self.assertTrue(told.startswith("nan_divergence (exit 82): divergence guard: update"), told)
        self.assertIn(f"recorder: the first bad update was {bad}, of 1 in this attempt", told)

    def test_without_the_hook_a_window_that_is_not_finite_is_dropped(self):
        self.holdfast("run", self.nan_recipe())
        self.assertEqual(self.status(self.home)["skipped_windows"], 3)

    def test_a_budget_that_is_used_up_ends_with_82(self):
        done = self.holdfast("run", self.nan_recipe("skip", more="budget = 2\n"), code=82)
        self.assertIn("2 windows skipped, and the budget of 2 interventions in a run is used up", done.stdout + done.stderr)

    def poisoned_recipe(self, behind, more=""):
        """A model whose weight becomes NaN in the 25th update of sixty."""
        recipe = self.recipe(model='plugin = "fault"\nplace = "backward"\naction = "poison"\nat = 25',
                             tables='[dataset.train]\nplugin = "fault"\nsize = 640\nat = 1000\n'
                                    '[dataset.eval]\nplugin = "fault"\nsize = 64\nat = 1000\n',
                             target="epochs = 3", eval_every="1 epoch", more=SAVES.format(behind=behind) + more)
        recipe.write_text(recipe.read_text().replace("dropout = 0.0\n", ""))
        return recipe

    def test_C57_weights_that_are_not_finite_are_never_saved(self):
        for behind in ("false", "true"):
            with self.subTest(behind=behind):
                home = self.folder / behind
                done = self.holdfast("run", self.poisoned_recipe(behind), "--output", home, "--set",
                                     "hook.periodic_checkpoint.every=1 updates", "--set", "checkpoint.on_error=stop", code=82)
                self.assertIn("error[checkpoint.nonfinite]: element 1 of the weight 'weight' is not a finite number, so this state is "
                              "not saved", done.stderr)
                self.assertLessEqual(self.inspect(home / "current/checkpoints/latest")["update"], 24)
                refused = [e for e in self.events(home) if e["event"] == "checkpoint" and not e["ok"]]
                if behind == "false":  # otherwise the one before may still be on its way
                    self.assertEqual(len(refused), 1)
                for event in refused:
                    self.assertEqual(event["update"], 25)
                    self.assertIn("is not a finite number", event["fault"])
                self.assertGreater(self.metric(home, 'holdfast_checkpoint_failures_total{reason="nonfinite"'), 0)
                self.assertLessEqual(self.status(home)["best_update"], 20)
                self.assertEqual(self.saved_update(home), max(e["update"] for e in self.events(home) if e["event"] == "checkpoint" and e["ok"]))

    def test_weights_that_are_not_finite_are_rolled_back(self):
        for behind in ("false", "true"):
            with self.subTest(behind=behind):
                home = self.folder / behind
                self.holdfast("run", self.poisoned_recipe(behind, GUARD.format(then="rollback")), "--output", home, "--set",
                              "hook.periodic_checkpoint.every=1 updates")
                backs = [e for e in self.events(home) if e["event"] == "rollback"]
                self.assertEqual(len(backs), 1)
                self.assertIn(backs[0]["kind"], ("weights", "nonfinite"))
                self.assertEqual(backs[0]["from_update"], 25)
                self.assertEqual(self.status(home)["state"], "finished")


if __name__ == "__main__":
    main()
