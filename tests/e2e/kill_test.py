"""Killed with SIGKILL at random instants and resumed each time: the end is bit-equal to the uninterrupted run.

Every update is saved (or, in the background, as often as the disk allows) and every second one evaluated, so that most
instants lie inside a save or an evaluation; every fourth kill comes while the process starts. HOLDFAST_KILLS sets the
number of kills of each test (6); HOLDFAST_SEED repeats a sequence. `make soak` makes 200.
"""

import json
import os
import random
import time

from harness import CONVNET, GPT, Case, main

KILLS = int(os.environ.get("HOLDFAST_KILLS", "6"))
SEED = int(os.environ.get("HOLDFAST_SEED", time.time_ns() % 1_000_000))
UPDATES = 10 * KILLS + 70  # past one epoch of 47 updates, ending in the middle of one
SAVE_OFTEN = '[hook.periodic_checkpoint]\nevery = "1 updates"'


class Kill(Case):
    def kill_once(self, recipe, home, rng, early, *options):
        """Kills at a random instant, of the start or after some more checkpoints; true when it was still running."""
        after = self.saved_update(home) + rng.randrange(1, 9)
        process = self.start("run", recipe, "--output", home, *options)
        if early:
            time.sleep(rng.random() * 1.5)
        else:
            self.wait_for(lambda: self.saved_update(home) >= after or process.poll() is not None)
            time.sleep(rng.random() * 0.02)
        running = process.poll() is None
        process.kill()
        process.communicate()
        return running

    def told(self, home):
        """Update of the newest checkpoint that was told as saved."""
        path = home / "current/events.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        events = [json.loads(line) for line in lines if line.endswith("}\n")]
        return max([e["update"] for e in events if e["event"] == "checkpoint" and e["ok"]], default=0)

    def twin(self, loader_threads, background, model=None, tables=None):
        rng = random.Random(SEED + loader_threads)
        recipe = self.recipe(model=model, tables=tables, dropout=0.3, target=f"updates = {UPDATES}", eval_every="2 updates",
                             loader_threads=loader_threads, more=SAVE_OFTEN)
        options = ("--set", f"checkpoint.async={str(background).lower()}")
        self.holdfast("run", recipe, "--output", self.folder / "whole", *options)
        home = self.folder / "killed"
        kills, tries = 0, 0
        while kills < KILLS:
            tries += 1
            if self.kill_once(recipe, home, rng, tries % 4 == 0, *options):
                kills += 1
            # What was told as saved is there, whatever instant the process died.
            if told := self.told(home):
                self.assertGreaterEqual(self.inspect(home)["update"], told, f"HOLDFAST_SEED={SEED}")
        self.holdfast("run", recipe, "--output", home, *options)
        whole, killed = self.inspect(self.folder / "whole"), self.inspect(home)
        self.assertEqual(whole["update"], UPDATES)
        self.assertEqual(killed["digest"], whole["digest"], f"HOLDFAST_SEED={SEED}")
        self.assertEqual((self.folder / "whole/current/model.safetensors").read_bytes(),
                         (home / "current/model.safetensors").read_bytes())
        self.assertEqual(len(set(os.listdir(self.folder / "killed")) - {"failures.json"}), 4)  # lock, current, outcomes.json, one generation
        resumed = [e["attempt"] for e in self.events(home) if e["event"] in ("start", "resume")]
        self.assertEqual(resumed, sorted(set(resumed)))
        left = [name for name in os.listdir(home / "current/checkpoints") if not name.startswith(("update-", "latest"))]
        self.assertEqual(left, [])

    def test_an_mlp(self):
        self.twin(1, False)

    def test_an_mlp_saved_in_the_background(self):
        self.twin(3, True)

    def test_a_convnet_with_batch_norm_saved_in_the_background(self):
        self.twin(2, True, CONVNET)

    def test_a_gpt_with_dropout(self):
        self.twin(2, False, GPT, self.text_tables())

    def test_a_gpt_with_dropout_saved_in_the_background(self):
        self.twin(1, True, GPT, self.text_tables())


if __name__ == "__main__":
    main()
