"""Strategies that keep fewer activations: the same final state as without them, in less memory, and told by `plan`."""

import re

from harness import Case, main

DEEP = 'plugin = "mlp"\nhidden = [32, 32, 32, 32, 32, 32, 32, 32]'
CHECKPOINTING = "[strategy.activation_checkpointing]\n"


class Activation(Case):
    def trained(self, name, more, batch=256, **options):
        """Digest of the final state, and the peak of device memory in KiB."""
        home = self.folder / name
        options = {"model": DEEP, "dropout": 0.2, **options}
        recipe = self.recipe(f"{name}.toml", more=more, **options)
        done = self.holdfast("run", recipe, "--output", home, "--set", f"train.batch_size={batch}")
        peak, unit = re.search(r"peak device memory (\d+\.\d) ([KM]iB)", done.stdout).groups()
        return self.inspect(home)["digest"], float(peak) * (1024 if unit == "MiB" else 1)

    def test_checkpointing_gives_the_same_state_in_less_memory(self):
        plain, peak = self.trained("plain", "")
        for number, policy in enumerate(['"all"', '"every:2"', '"largest:3"', '["hidden.1", "hidden.3*"]']):
            with self.subTest(policy=policy):
                digest, less = self.trained(f"p{number}", f"{CHECKPOINTING}policy = {policy}\n")
                self.assertEqual(digest, plain)
                self.assertLess(less, peak)

    def test_offloading_gives_the_same_state_in_less_device_memory_also_beside_checkpointing(self):
        plain, peak = self.trained("plain", "")
        offload = "[strategy.activation_offload]\nmin_bytes = \"1KiB\"\n"
        for number, more in enumerate([offload, offload + 'policy = "every:2"\n', CHECKPOINTING + offload]):
            with self.subTest(more=more):
                digest, less = self.trained(f"o{number}", more)
                self.assertEqual(digest, plain)
                self.assertLess(less, peak)

    def test_the_plan_names_the_policy_and_its_owner_and_calls_it_exact(self):
        done = self.holdfast("plan", self.recipe(model=DEEP, more=CHECKPOINTING + 'policy = ["every:2", "hidden.1"]\n'))
        self.assertRegex(done.stdout, r"recompute +every:2, hidden\.1 +strategy\.activation_checkpointing\n")
        self.assertIn("exact: the same update as the plain step", done.stdout)
        done = self.holdfast("plan", self.recipe(model=DEEP, more="[strategy.activation_offload]\n"))
        self.assertRegex(done.stdout, r"offload +all, from 64\.0 KiB +strategy\.activation_offload\n")
        self.assertIn("exact: the same update as the plain step", done.stdout)

    def test_a_policy_that_chooses_nothing_is_refused(self):
        for command in ("validate", "plan", "run"):
            done = self.holdfast(command, self.recipe(model=DEEP, more=CHECKPOINTING + 'policy = "every:0"\n'), code=78)
            self.assertIn("strategy.activation_checkpointing: error[plan.segments]: 'every:0' chooses no segments to recompute",
                          done.stderr)
        done = self.holdfast("run", self.recipe(model=DEEP, more=CHECKPOINTING + 'policy = "block.*"\n'), code=78)
        self.assertIn("'block.*' chooses no segment to recompute; those of the model are hidden.0, hidden.1, hidden.2, ",
                      done.stderr)

    def test_killed_and_resumed_it_ends_in_the_state_of_the_plain_run(self):
        plain, _ = self.trained("plain", "", batch=32, target="updates = 40")
        recipe = self.stopped_at(20, more="\n" + CHECKPOINTING, model=DEEP, dropout=0.2)
        self.holdfast("run", recipe)
        self.assertEqual(self.inspect(self.folder / "runs/digits")["digest"], plain)


if __name__ == "__main__":
    main()
