"""A whole run on the real digits: what it reaches, what it leaves behind, what it says."""

import os

from harness import Case, ROOT, main, strict_json


class Training(Case):
    def test_quickstart_reaches_96_percent_and_says_where_everything_lies(self):
        home = self.folder / "home"
        done = self.holdfast("run", ROOT / "configs/digits.toml", "--output", home)
        self.assertGreaterEqual(dict(self.status(home)["scores"])["accuracy"], 0.96)
        generation = os.readlink(home / "current")
        for word in ("evaluation", "best weights", str(home / generation), "model.safetensors", "best.safetensors",
                     "events.jsonl", "run.log", "checkpoints/", f"holdfast eval {home}"):
            self.assertIn(word, done.stdout)
        for name in ("recipe.toml", "status.json", "events.jsonl", "run.log", "model.safetensors", "best.safetensors"):
            self.assertTrue((home / "current" / name).exists(), name)
        final = strict_json(self.holdfast("eval", home, "--json").stdout)
        self.assertAlmostEqual(final["scores"]["accuracy"], self.status(home)["scores"]["accuracy"], places=12)
        best = strict_json(self.holdfast("eval", home, "--checkpoint", "best", "--json").stdout)
        self.assertLessEqual(best["scores"]["loss"], final["scores"]["loss"])

    def test_status_events_and_inspection_agree(self):
        recipe = self.recipe(target="updates = 20", eval_every="10 updates")
        home = self.folder / "runs/digits"
        self.holdfast("run", recipe)
        status = self.status(home)
        self.assertEqual((status["state"], status["exit_code"], status["update"], status["total_updates"]),
                         ("finished", 0, 20, 20))
        self.assertEqual(status["samples_seen"], 640)
        events = self.events(home)
        self.assertEqual(events[0]["event"], "start")
        self.assertEqual(events[-1]["event"], "end")
        self.assertEqual([e["update"] for e in events if e["event"] == "eval"], [10, 20])
        self.assertEqual([e["update"] for e in events if e["event"] == "checkpoint" and e["ok"]][-1], 20)
        found = self.inspect(home)
        self.assertEqual((found["update"], found["samples_seen"]), (20, 640))
        self.assertEqual(set(found["tensors"][0]), {"name", "file", "dtype", "shape", "digest"})
        self.assertEqual(found, self.inspect(home / "current"))
        self.assertEqual(found, self.inspect(home / "current/checkpoints/latest"))

    def test_a_repeated_run_is_bit_equal_whatever_the_loader_threads(self):
        digests = set()
        for number, threads in enumerate((1, 1, 3)):
            recipe = self.recipe(dropout=0.2, loader_threads=threads, target="updates = 60")
            self.holdfast("run", recipe, "--output", self.folder / f"h{number}")
            digests.add(self.inspect(self.folder / f"h{number}")["digest"])
        self.assertEqual(len(digests), 1)

    def test_another_seed_gives_another_model(self):
        recipe = self.recipe(target="updates = 2")
        self.holdfast("run", recipe, "--output", self.folder / "a")
        self.holdfast("run", recipe, "--output", self.folder / "b", "--set", "run.seed=1")
        self.assertNotEqual(self.inspect(self.folder / "a")["digest"], self.inspect(self.folder / "b")["digest"])

    def test_quiet_prints_nothing_on_success(self):
        done = self.holdfast("run", self.recipe(target="updates = 2"), "--quiet")
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_json_log_is_json_on_every_line(self):
        done = self.holdfast("run", self.recipe(target="updates = 2"), "--log-format", "json")
        self.assertTrue(done.stderr)
        for line in done.stderr.splitlines():
            self.assertEqual(set(strict_json(line)), {"time", "level", "text"})
        self.assertEqual(done.stdout, "")

    def test_the_effective_recipe_trains_the_same_run_again(self):
        self.holdfast("run", self.recipe(target="updates = 5"))
        home = self.folder / "runs/digits"
        copy = self.folder / "elsewhere"
        copy.mkdir()
        (copy / "again.toml").write_text((home / "current/recipe.toml").read_text())
        self.holdfast("run", copy / "again.toml", "--output", self.folder / "again")
        self.assertEqual(self.inspect(home)["digest"], self.inspect(self.folder / "again")["digest"])

    def test_early_stopping_ends_with_success(self):
        recipe = self.recipe(target='updates = 2000\nearly_stop = { metric = "loss", mode = "min", patience = 1 }',
                             eval_every="1 updates", more="")
        self.holdfast("run", recipe, "--set", "optimizer.lr=0.5")
        status = self.status(self.folder / "runs/digits")
        self.assertEqual(status["state"], "finished")
        self.assertLess(status["update"], 2000)


if __name__ == "__main__":
    main()
