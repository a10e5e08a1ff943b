"""`holdfast plan` and `plan --measure`: bytes against those counted by hand, nothing written, faults in words."""

import re

from harness import GPT, Case, main, snapshot, strict_json, write_idx

F32 = 4
CHECKPOINTING = "[strategy.activation_checkpointing]\n"


def by_name(measured):
    return {segment["name"]: segment for segment in measured["segments"]}


class Plan(Case):
    def measured(self, recipe, *more, code=0):
        return strict_json(self.holdfast("plan", recipe, "--measure", "--json", *more, code=code).stdout)["measured"]

    def peak_text(self, recipe, *more):
        home = self.folder / "for-peak"
        done = self.holdfast("run", recipe, "--output", home, *more)
        return re.search(r"peak device memory (\d+\.\d [KM]iB)", done.stdout).group(1)

    def test_the_bytes_of_an_mlp_are_those_counted_by_hand(self):
        # 64 pixels -> 48 -> 24 -> 10 classes, batches of 32: relu saves its result, the loss one number a class.
        m = self.measured(self.recipe(model='plugin = "mlp"\nhidden = [48, 24]'))
        weights = F32 * (64 * 48 + 48 + 48 * 24 + 24 + 24 * 10 + 10)
        memory = m["memory"]
        self.assertEqual(memory["weights_bytes"], weights)
        self.assertEqual(memory["gradients_bytes"], weights)
        self.assertEqual(memory["moments_bytes"], 2 * weights + 6 * F32)  # and the step counts of six tensors
        segments = by_name(m)
        self.assertEqual(list(segments), ["hidden.0", "hidden.1", None])
        self.assertEqual(segments["hidden.0"]["saved_bytes"], F32 * 32 * 48)
        self.assertEqual(segments["hidden.1"]["saved_bytes"], F32 * 32 * 24)
        self.assertEqual(segments[None]["saved_bytes"], F32 * 32 * 10)  # what the loss keeps of the logits
        self.assertEqual(memory["saved_bytes"], F32 * (32 * 48 + 32 * 24 + 32 * 10))
        self.assertEqual(memory["activations_bytes"], memory["saved_bytes"] + F32)  # the loss
        first = m["saved_tensors"][0]
        self.assertEqual({key: first[key] for key in ("operator", "dtype", "shape", "kept", "count", "bytes", "segments")},
                         {"operator": "relu", "dtype": "float32", "shape": [32, 48], "kept": "device", "count": 1,
                          "bytes": F32 * 32 * 48, "segments": ["hidden.0"]})

    def test_the_peak_of_a_gpt_is_that_of_a_run_and_its_activations_are_what_autograd_saved(self):
        tables = self.text_tables().split("[dataset.eval]")[0]  # an evaluation might need more than training
        for more in ("", CHECKPOINTING, '[strategy.activation_offload]\nmin_bytes = "1KiB"\n'):
            with self.subTest(more):
                recipe = self.recipe(model=GPT, tables=tables, target="updates = 4", more=more)
                m = self.measured(recipe)
                memory = m["memory"]
                peak = memory["peak_bytes"] / 2**10
                self.assertEqual(self.peak_text(recipe, "--new"),
                                 f"{peak:.1f} KiB" if peak < 1024 else f"{peak / 1024:.1f} MiB")
                self.assertEqual(memory["activations_bytes"], memory["saved_bytes"] + F32)
                self.assertEqual(sum(segment["saved_bytes"] for segment in m["segments"]), memory["saved_bytes"])
                self.assertEqual(sum(group["bytes"] for group in m["saved_tensors"] if group["kept"] == "device"),
                                 memory["saved_bytes"])
                phases = {phase["name"]: phase["peak_bytes"] for phase in m["phases"]}
                self.assertEqual(list(phases), ["forward", "backward", "prepare", "update"])
                self.assertLessEqual(max(phases.values()), memory["peak_bytes"])

    def test_what_checkpointing_drops_is_what_a_plain_block_saves(self):
        tables = self.text_tables()
        plain = by_name(self.measured(self.recipe(model=GPT, tables=tables)))
        traded = by_name(self.measured(self.recipe(model=GPT, tables=tables, more=CHECKPOINTING)))
        block, kept = plain["block.0"], traded["block.0"]
        self.assertTrue(kept["recomputed"])
        self.assertFalse(traded["block.1"]["recomputed"])  # the last one before the loss
        self.assertEqual(kept["saved_bytes"], block["input_bytes"])
        # The plain block's saves count the block's input too, which the other one keeps.
        self.assertEqual(kept["saved_bytes"] + kept["dropped_bytes"], block["saved_bytes"])
        self.assertGreater(kept["recompute_seconds"], 0)
        self.assertIsNone(traded["block.1"]["recompute_seconds"])

    def test_measuring_writes_nothing_and_gives_the_same_bytes_each_time(self):
        recipe = self.recipe(more="[strategy.accumulate]\nmicro_batch_size = 8\n")
        before = snapshot(self.folder)
        seen = []
        for _ in range(2):
            m = self.measured(recipe)
            self.assertEqual((m["samples"], m["micro_batches"], m["micro_batch_samples"], m["updates"]), (32, 4, 8, 2))
            seen.append([m["memory"], m["saved_tensors"],
                         [{k: v for k, v in s.items() if not k.endswith("_seconds")} for s in m["segments"]]])
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(snapshot(self.folder), before)

    def test_of_a_run_folder_the_newest_checkpoint_is_measured_and_the_folder_left_alone(self):
        self.holdfast("run", self.recipe())
        home = self.folder / "runs/digits"
        before = snapshot(self.folder)
        self.assertGreater(self.measured(home, "--updates", 2)["memory"]["peak_bytes"], 0)
        self.holdfast("plan", home)
        self.assertEqual(snapshot(self.folder), before)
        done = self.holdfast("plan", home, "--measure", "--set", "run.seed=5", code=78)
        self.assertIn("seed: saved 0, now 5", done.stderr)

    def test_the_table_fits_100_columns_and_names_the_parts(self):
        text = self.holdfast("plan", self.recipe(more=CHECKPOINTING), "--measure").stdout
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100, line)
        for words in (r"measured: 2 updates of 32 samples\nan update takes \d+(\.\d+)? [mu]s: \d+ samples a second\n", r"weights +9\.4 KiB",
                      r"prepare +\d", r"hidden\.0 +\d", r"outside of segments +\d", r"largest saved tensors\n"):
            self.assertRegex(text, words)

    def test_a_model_whose_forward_marks_no_segment_is_one_row(self):
        recipe = self.recipe(model='plugin = "mlp"\nhidden = []')
        self.assertEqual([segment["name"] for segment in self.measured(recipe)["segments"]], [None])
        self.assertRegex(self.holdfast("plan", recipe, "--measure").stdout, r"\nwhole model +\d")

    def test_without_room_the_figures_until_then_are_printed_and_the_place_is_told(self):
        recipe = self.recipe(hidden=256)
        options = ["plan", recipe, "--measure", "--set", "memory.device_budget=320KiB"]
        done = self.holdfast(*options, code=81)
        self.assertRegex(done.stderr, r"measuring: (forward|backward) of update 1, micro-batch 0(, segment 'hidden\.0')?: "
                         r"error\[memory\.device\]: device memory: wanted \d.* of the budget of 320\.0 KiB\n  hint: the figures above ")
        self.assertRegex(done.stdout, r"\nweights +75\.0 KiB")
        self.assertRegex(done.stdout, r"\npeak +[23]\d\d\.\d KiB  of the budget of 320\.0 KiB\n")
        told = strict_json(self.holdfast(*options, "--json", code=81).stdout)["measured"]["out_of_memory"]
        self.assertIn("of update 1, micro-batch 0", told["place"])

    def test_amp_is_measured_against_fp32(self):
        m = self.measured(self.recipe(more='[strategy.amp]\ndtype = "bf16"\nfp32_updates = 50\n'))
        self.assertEqual(m["precision"]["name"], "bf16")
        self.assertEqual(m["precision"]["activations_bytes"], m["memory"]["activations_bytes"])
        self.assertEqual(m["precision"]["fp32_activations_bytes"], F32 * (32 * 32 + 32 * 10 + 1))  # and the loss
        self.assertGreater(m["precision"]["fp32_update_seconds"], 0)
        self.assertIn("bfloat16", {group["dtype"] for group in m["saved_tensors"]})

    def test_faults_are_told_in_words(self):
        recipe = self.recipe()
        self.assertIn("--updates: Value 1 not in range 2 to 1000",
                      self.holdfast("plan", recipe, "--measure", "--updates", "1", code=64).stderr)
        self.assertIn("--updates requires --measure", self.holdfast("plan", recipe, "--updates", "4", code=64).stderr)
        write_idx(self.folder / "images", [0, 8, 8], [])
        write_idx(self.folder / "labels", [0], [])
        done = self.holdfast("plan", recipe, "--measure", "--set", f"dataset.train.images={self.folder}/images",
                             "--set", f"dataset.train.labels={self.folder}/labels", code=65)
        self.assertIn("error[", done.stderr)
        text = recipe.read_text()
        recipe.write_text(text[:text.index("[dataset.train]")] + text[text.index("[dataset.eval]"):])
        self.assertIn("dataset.train", self.holdfast("plan", recipe, "--measure", code=78).stderr)

    def test_the_plan_tells_what_happens_in_which_phase_and_the_models_traits(self):
        more = '[strategy.amp]\n[strategy.activation_checkpointing]\n'
        done = self.holdfast("plan", self.recipe(dropout=0.1, more=more))
        self.assertRegex(done.stdout, r"  forward +computes in bf16 +strategy\.amp\n"
                         r"  backward +runs segments again +strategy\.activation_checkpointing\n")
        self.assertIn("the model draws random numbers, marks segments\n", done.stdout)
        plan = strict_json(self.holdfast("plan", self.recipe(more=more), "--json").stdout)
        self.assertEqual(plan["traits"], {"draws_random": False, "batch_coupled": False, "has_segments": True})
        self.assertEqual([scope["phase"] for scope in plan["scopes"]], ["forward", "backward"])
        self.assertNotIn("measured", plan)


if __name__ == "__main__":
    main()
