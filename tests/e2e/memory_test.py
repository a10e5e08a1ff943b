"""Budgets of the two memory domains: to the byte, told in numbers, the same every time, and the state is kept."""

import re

from harness import Case, main

ACCUMULATE = '[strategy.accumulate]\nmicro_batch_size = 8\n'
SENTENCE = r"device memory: wanted \d+(\.\d)? [KM]?i?B, free \d+(\.\d)? [KM]?i?B of the budget of "


class Memory(Case):
    def peak_kib(self, done):
        return float(re.search(r"peak device memory (\d+\.\d) KiB", done.stdout).group(1))

    def budget(self, kib):
        return "--set", f"memory.device_budget={round(kib * 1024)}B"

    def ooms(self, home):
        return [{key: event[key] for key in ("update", "micro_batch", "phase", "action", "text") if key in event}
                for event in self.events(home) if event["event"] == "oom"]

    def test_a_run_fits_in_its_own_peak_and_not_in_less(self):
        recipe = self.recipe(hidden=256, more=ACCUMULATE)
        free = self.holdfast("run", recipe, "--output", self.folder / "free")
        peak = self.peak_kib(free)
        fitting = self.holdfast("run", recipe, "--output", self.folder / "fits", *self.budget(peak + 0.1))
        self.assertIn(f"peak device memory {peak:.1f} KiB of {peak + 0.1:.1f} KiB\n", fitting.stdout)
        self.assertEqual(self.inspect(self.folder / "free")["digest"], self.inspect(self.folder / "fits")["digest"])
        done = self.holdfast("run", recipe, "--output", self.folder / "less", *self.budget(peak - 0.2), code=81)
        self.assertRegex(done.stderr, SENTENCE + re.escape(f"{peak - 0.2:.1f} KiB"))

    def test_the_same_recipe_runs_out_at_the_same_place_every_time(self):
        recipe = self.recipe(hidden=256, target="updates = 4", more=ACCUMULATE)
        peak = self.peak_kib(self.holdfast("run", recipe, "--output", self.folder / "free", "--set", "train.eval_batch_size=8"))
        told = []
        for number in range(3):
            home = self.folder / f"h{number}"
            done = self.holdfast("run", recipe, "--output", home, "--set", "train.eval_batch_size=8",
                                 *self.budget(peak - 40), code=81)
            self.assertRegex(done.stderr, SENTENCE)
            told.append(self.ooms(home))
        self.assertEqual(len(told[0]), 1, told[0])
        self.assertEqual(told[0][0]["update"], 1)
        self.assertEqual(told[1], told[0])
        self.assertEqual(told[2], told[0])

    def test_without_room_for_an_evaluation_the_state_is_saved_and_goes_on_with_a_larger_budget(self):
        recipe = self.recipe(hidden=256, target="updates = 20", eval_every="10 updates")
        self.holdfast("run", recipe, "--output", self.folder / "undisturbed", "--set", "train.eval_batch_size=300")
        home = self.folder / "home"
        arguments = ["run", recipe, "--output", home, "--set", "train.eval_batch_size=300"]
        done = self.holdfast(*arguments, *self.budget(600), code=81)
        self.assertRegex(done.stderr, r"evaluation, batch 0: error\[memory\.device\]: " + SENTENCE + r"600\.0 KiB\n")
        saved = [event for event in self.events(home) if event["event"] == "checkpoint"]
        self.assertEqual([(event["update"], event["reason"]) for event in saved], [(10, "oom")])
        self.assertEqual(self.status(home)["exit_code"], 81)
        self.holdfast(*arguments, *self.budget(4096))
        self.assertEqual(self.inspect(home)["digest"], self.inspect(self.folder / "undisturbed")["digest"])

    def test_a_budget_below_weights_and_one_gradient_is_refused_before_anything_is_written(self):
        recipe = self.recipe(hidden=256)
        for command in ("run", "validate", "plan"):
            with self.subTest(command):
                done = self.holdfast(command, recipe, "--set", "memory.device_budget=150KB", code=78)
                self.assertIn(f"{recipe}: error[memory.budget]: memory.device_budget is 146.5 KiB, but the model's weights "
                              "need 75.0 KiB and their gradients 75.0 KiB\n"
                              "  hint: raise memory.device_budget or make the model smaller", done.stderr)
        done = self.holdfast("run", recipe, "--set", "memory.device_budget=1KiB", code=78)
        self.assertRegex(done.stderr, r"\[model\]: error\[memory\.budget\]: plugin 'mlp' does not fit: " + SENTENCE + r"1\.0 KiB\n"
                         r"  hint: raise memory\.device_budget or make the model smaller")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_budget_without_room_for_the_moments_is_refused_and_is_enough_with_them_on_the_host(self):
        recipe = self.recipe(hidden=256, target="updates = 2", more='[strategy.optimizer_offload]\nenabled = false\n')
        done = self.holdfast("run", recipe, *self.budget(215), "--set", "train.batch_size=8", code=78)
        self.assertRegex(done.stderr, re.escape(f"{recipe}: error[memory.budget]: the optimizer's state does not fit beside the "
                                                "weights: ") + SENTENCE + r"215\.0 KiB\n  hint: raise memory\.device_budget, keep ")
        self.assertFalse((self.folder / "runs").exists())
        self.holdfast("run", recipe, *self.budget(215), "--set", "strategy.optimizer_offload.enabled=true",
                      "--set", "train.batch_size=8")

    def test_evaluating_needs_no_room_for_gradients(self):
        recipe = self.recipe(hidden=256, target="updates = 2")
        home = self.folder / "home"
        self.holdfast("run", recipe, "--output", home)
        self.holdfast("eval", home, "--set", "memory.device_budget=150KB", "--set", "train.eval_batch_size=8")

    def test_a_full_host_domain_is_88_and_names_the_budget(self):
        done = self.holdfast("run", self.recipe(), "--set", "memory.host_budget=4KiB", code=88)
        self.assertRegex(done.stderr, r"error\[memory\.host\]: (.*: )?host memory: wanted \d+(\.\d)? [KM]?i?B, free \d.* of the "
                         r"budget of 4\.0 KiB\n  hint: .*raise memory\.host_budget")
        self.assertEqual(done.stderr.count("error["), 1, done.stderr)


if __name__ == "__main__":
    main()
