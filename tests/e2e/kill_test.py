"""Killed with SIGKILL at random instants and resumed each time: the end is bit-equal to the uninterrupted run.

Every update is saved and every second one evaluated, so that most instants lie inside a save or an evaluation.
HOLDFAST_KILLS sets the number of kills (6); HOLDFAST_SEED repeats a sequence.
"""

import os
import random
import time

from harness import CONVNET, GPT, Case, main

KILLS = int(os.environ.get("HOLDFAST_KILLS", "6"))
SEED = int(os.environ.get("HOLDFAST_SEED", time.time_ns() % 1_000_000))
UPDATES = 10 * KILLS + 70  # past one epoch of 47 updates, ending in the middle of one
SAVE_OFTEN = '[hook.periodic_checkpoint]\nevery = "1 updates"'


class Kill(Case):
    def kill_once(self, recipe, home, after, delay):
        """Kills `delay` seconds after the checkpoint of update `after` was in place; true when it was still running."""
        process = self.start("run", recipe, "--output", home)
        self.wait_for(lambda: self.saved_update(home) >= after or process.poll() is not None)
        time.sleep(delay)
        running = process.poll() is None
        process.kill()
        process.communicate()
        return running

    def twin(self, loader_threads, model=None, tables=None):
        rng = random.Random(SEED + loader_threads)
        recipe = self.recipe(model=model, tables=tables, dropout=0.3, target=f"updates = {UPDATES}", eval_every="2 updates",
                             loader_threads=loader_threads, more=SAVE_OFTEN)
        self.holdfast("run", recipe, "--output", self.folder / "whole")
        home = self.folder / "killed"
        kills = 0
        while kills < KILLS:
            after = self.saved_update(home) + rng.randrange(1, 9)
            if self.kill_once(recipe, home, after, rng.random() * 0.02):
                kills += 1
        self.holdfast("run", recipe, "--output", home)
        whole, killed = self.inspect(self.folder / "whole"), self.inspect(home)
        self.assertEqual(whole["update"], UPDATES)
        self.assertEqual(killed["digest"], whole["digest"], f"HOLDFAST_SEED={SEED}")
        self.assertEqual((self.folder / "whole/current/model.safetensors").read_bytes(),
                         (home / "current/model.safetensors").read_bytes())
        self.assertEqual(len(set(os.listdir(self.folder / "killed")) - {"failures.json"}), 3)  # lock, current, one generation
        resumed = [e["attempt"] for e in self.events(home) if e["event"] in ("start", "resume")]
        self.assertEqual(resumed, sorted(set(resumed)))
        left = [name for name in os.listdir(home / "current/checkpoints") if not name.startswith(("update-", "latest"))]
        self.assertEqual(left, [])

    def test_with_one_loader_thread(self):
        self.twin(1)

    def test_with_three_loader_threads(self):
        self.twin(3)

    def test_a_convnet_with_batch_norm(self):
        self.twin(2, CONVNET)

    def test_a_gpt_with_dropout(self):
        self.twin(2, GPT, self.text_tables())


if __name__ == "__main__":
    main()
