"""Mixed precision as users meet it: the scale in events, skipped windows, a kill in between, what plan and validate say."""

import re

from harness import SAVE_OFTEN, Case, dies_at, main

BF16 = '[strategy.amp]\ndtype = "bf16"\n'
# Begins far above what fp16 holds: the first windows overflow until the scale has fallen far enough.
FP16 = '[strategy.amp]\ndtype = "fp16"\ninit_scale = 1e12\nmax_scale = 1e12\nbackoff_factor = 0.125\ngrowth_interval = 6\n'
ACCUMULATE = "[strategy.accumulate]\nmicro_batch_size = 8\n"
OFFLOAD = "[strategy.optimizer_offload]\n"


class Amp(Case):
    def weights(self, home):
        return [tensor for tensor in self.inspect(home)["tensors"] if tensor["file"] == "model.safetensors"]

    def test_bf16_trains_to_about_the_loss_of_fp32(self):
        losses = []
        for name, more in (("plain", ""), ("bf16", BF16), ("split", BF16 + ACCUMULATE + OFFLOAD)):
            home = self.folder / name
            self.holdfast("run", self.recipe(target="updates = 60", eval_every="60 updates", more=more), "--output", home)
            losses += [event["loss"] for event in self.events(home) if event["event"] == "eval"]
        plain, whole, split = losses
        self.assertNotEqual(plain, whole)
        self.assertLess(abs(whole - plain), 0.02 * plain)
        self.assertLess(abs(split - plain), 0.02 * plain)

    def test_overflows_are_skipped_and_told_with_the_scale_and_the_schedule_waits(self):
        home = self.folder / "home"
        recipe = self.recipe(target="updates = 12", more=FP16 + ACCUMULATE)
        self.holdfast("run", recipe, "--output", home, "--set", "schedule.warmup_updates=3")
        skips = [event for event in self.events(home) if event["event"] == "skip"]
        self.assertGreaterEqual(len(skips), 2)
        scale = 1e12
        for event in skips:
            if event["update"] > 0:
                break
            self.assertEqual(event["loss_scale"], scale)
            scale /= 8
        updates = [event for event in self.events(home) if event["event"] == "update"]
        self.assertIn("loss_scale", updates[-1])
        self.assertEqual(self.status(home)["update"], 12)
        self.assertEqual(self.status(home)["skipped_windows"], len(skips))
        self.assertRegex((home / "current/run.log").read_text(),
                         r"window 1 was dropped: its loss or a gradient is not finite; the loss scale is now 1\.25e\+11")
        self.assertRegex((home / "current/metrics.prom").read_text(), r"(?m)^holdfast_loss_scale\{[^}]*\} \d")

    def test_killed_and_resumed_it_ends_in_the_same_state_as_undisturbed(self):
        recipe = self.recipe(target="updates = 24", more=SAVE_OFTEN.replace("10 updates", "4 updates") + "\n" + FP16 + ACCUMULATE)
        self.holdfast("run", recipe, "--output", self.folder / "whole")
        home = self.folder / "killed"
        for update in (6, 13):
            self.holdfast("run", recipe, "--output", home, *dies_at(update), code=-9)
        self.holdfast("run", recipe, "--output", home)
        self.assertEqual(self.inspect(home)["digest"], self.inspect(self.folder / "whole")["digest"])

    def test_plan_tells_precision_scale_and_that_it_is_not_exact(self):
        more = '[strategy.amp]\ndtype = "fp16"\nfp32_updates = 5\n'
        done = self.holdfast("plan", self.recipe(more=more))
        self.assertRegex(done.stdout, r"precision +fp16 +strategy\.amp\n")
        self.assertRegex(done.stdout, r"loss_scaling +65536 at first, 1 to 16777216 +strategy\.amp\n")
        self.assertRegex(done.stdout, r"full_precision_updates +5 updates in fp32 +strategy\.amp\n")
        self.assertIn("\nnot exact:\n  strategy.amp: forward and loss round to fp16, and windows that overflow are dropped\n",
                      done.stdout)

    def test_a_contradiction_is_refused_by_validate_with_its_table(self):
        done = self.holdfast("validate", self.recipe(more=BF16 + "init_scale = 8\n"), code=78)
        self.assertIn("strategy.amp: error[amp.options]: `init_scale` is of the loss scale, which bf16 does not need", done.stderr)

    def test_the_weights_of_an_evaluation_and_of_a_checkpoint_stay_fp32(self):
        home = self.folder / "home"
        self.holdfast("run", self.recipe(target="updates = 4", more=BF16), "--output", home)
        self.assertEqual({tensor["dtype"] for tensor in self.weights(home)}, {"F32"})
        told = [re.search(r"loss ([\d.]+)", line).group(1)
                for line in (home / "current/run.log").read_text().splitlines() if "evaluated at update 4" in line]
        self.assertRegex(self.holdfast("eval", home).stdout, rf"(?m)^loss +{re.escape(told[0])}$")


if __name__ == "__main__":
    main()
