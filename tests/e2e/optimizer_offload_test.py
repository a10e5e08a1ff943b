"""The optimizer's state in the host domain: less of the device's memory, the same bits, checkpoints that fit either way."""

import re

from harness import Case, main

OFFLOAD = "[strategy.optimizer_offload]\n"
ACCUMULATE = "[strategy.accumulate]\nmicro_batch_size = 8\n"
PARAMETERS = 64 * 256 + 256 + 256 * 10 + 10  # mlp 64-256-10


class OptimizerOffload(Case):
    def peak_kib(self, done):
        return float(re.search(r"peak device memory (\d+\.\d) KiB", done.stdout).group(1))

    def test_the_peak_falls_by_8_bytes_a_parameter_and_the_digest_stays(self):
        recipe = self.recipe(hidden=256, target="updates = 20", more=ACCUMULATE)
        plain = self.holdfast("run", recipe, "--output", self.folder / "plain")
        recipe = self.recipe(hidden=256, target="updates = 20", more=ACCUMULATE + OFFLOAD)
        offloaded = self.holdfast("run", recipe, "--output", self.folder / "offloaded")
        self.assertAlmostEqual(self.peak_kib(plain) - self.peak_kib(offloaded), (8 * PARAMETERS + 4 * 4) / 1024, delta=0.11)
        self.assertEqual(self.inspect(self.folder / "plain")["digest"], self.inspect(self.folder / "offloaded")["digest"])

    def test_a_run_that_has_no_room_for_moments_trains_with_them_on_the_host(self):
        recipe = self.recipe(hidden=256, target="updates = 4", more=ACCUMULATE)
        self.holdfast("run", recipe, "--output", self.folder / "full", "--set", "memory.device_budget=300KiB", code=81)
        recipe = self.recipe(hidden=256, target="updates = 4", more=ACCUMULATE + OFFLOAD)
        self.holdfast("run", recipe, "--output", self.folder / "fits", "--set", "memory.device_budget=300KiB")

    def test_plan_names_the_owner_and_calls_it_exact(self):
        done = self.holdfast("plan", self.recipe(more=OFFLOAD))
        self.assertRegex(done.stdout, r"optimizer_placement +host +strategy\.optimizer_offload\n")
        self.assertIn("\nexact: the same update as the plain step, up to the order of sums\n", done.stdout)


if __name__ == "__main__":
    main()
