"""The commands beside run: validate, plan, plugins, schema, status, inspect, help; and that the front is instant."""

import subprocess

from harness import COMMAND, CONVNET, Case, FIXTURES, ROOT, main, strict_json


class Commands(Case):
    def test_help_exists_for_every_command_and_costs_next_to_nothing(self):
        overview = self.holdfast("--help").stdout
        for name in ("run", "validate", "plan", "eval", "inspect", "checkpoint", "status", "report", "why", "doctor", "plugins", "schema", "metrics"):
            self.assertIn(f"  {name} ", overview)
            self.assertIn("Example", self.holdfast(name, "--help").stdout)
        libraries = subprocess.run(["ldd", COMMAND], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("torch", libraries)

    def test_the_committed_schema_is_what_the_command_prints(self):
        committed = (ROOT / "schemas/run.schema.json").read_text()
        printed = self.holdfast("schema", env=self.environment(HOLDFAST_PLUGIN_PATH="")).stdout
        self.assertEqual(committed, printed, "write it anew: build/release/holdfast schema >schemas/run.schema.json")

    def test_validate_tells_all_faults_and_touches_nothing(self):
        good = self.recipe("good.toml")
        bad = self.recipe("bad.toml")
        bad.write_text(bad.read_text().replace("lr = 2e-3", 'lr = "2e-3"').replace("hidden = [32]", "hidden = [0]"))
        done = self.holdfast("validate", good, bad, code=78)
        self.assertEqual(done.stdout, f"{good}: valid\n")
        self.assertEqual(done.stderr.count("error["), 2, done.stderr)
        report = strict_json(self.holdfast("validate", good, bad, "--json", code=78).stdout)
        self.assertEqual([entry["valid"] for entry in report], [True, False])
        self.assertEqual(len(report[1]["faults"]), 2)
        self.assertTrue(all(fault["line"] > 0 for fault in report[1]["faults"]))
        self.assertFalse((self.folder / "runs").exists())

    def test_validate_data_reads_every_sample(self):
        done = self.holdfast("validate", self.recipe(), "--data")
        self.assertRegex(done.stdout, r"dataset\.train +1497 +0  ")
        self.assertRegex(done.stdout, r"dataset\.eval +300 +0  ")

    def test_validate_without_plugins_runs_no_plugin(self):
        recipe = self.recipe()
        recipe.write_text(recipe.read_text().replace('"mlp"', '"nowhere"'))
        self.holdfast("validate", recipe, code=80)
        self.assertIn("plugin options not checked", self.holdfast("validate", recipe, "--no-plugins").stdout)

    def test_plan_names_the_owner_of_each_choice(self):
        recipe = self.recipe(dropout=0.1, more="[strategy.accumulate]\nmicro_batch_size = 8")
        done = self.holdfast("plan", recipe)
        self.assertRegex(done.stdout, r"micro_batch_size +8 samples, 4 an update +strategy\.accumulate")
        self.assertIn("dropout", done.stdout)
        fields = strict_json(self.holdfast("plan", recipe, "--json").stdout)["fields"]
        self.assertIn({"field": "precision", "value": "fp32", "owner": "default"}, fields)

    def test_plan_shows_the_ladder_with_what_each_rung_changes(self):
        recipe = self.recipe(model=CONVNET, more="[strategy.accumulate]\nmicro_batch_size = 4")
        self.assertIn(
            "when memory runs out (memory.on_oom), one after the other:\n"
            "  retry               caches emptied, the same plan is tried again\n"
            "  halve_micro_batch   the micro-batch is halved: micro_batch_size 4 -> 2\n"
            "  halve_micro_batch   the micro-batch is halved: micro_batch_size 2 -> 1\n"
            "  recompute           activations of more segments are recomputed in backward, of the largest first: recompute "
            "none -> *\n"
            "  offload_activations activations go to the host: offload none -> *\n"
            "  offload_optimizer   the optimizer's state goes to the host: optimizer_placement device -> host\n"
            "  save                nothing left to try: the run ends with exit code 81\n"
            "  halving is not exact: the model couples the samples of a micro-batch (batch norm): another split gives other "
            "results\n", self.holdfast("plan", recipe).stdout)
        ladder = strict_json(self.holdfast("plan", recipe, "--json").stdout)["ladder"]
        self.assertEqual([rung["rung"] for rung in ladder], ["retry", "halve_micro_batch", "halve_micro_batch", "recompute",
                                                            "offload_activations", "offload_optimizer", "save"])
        self.assertEqual(ladder[1]["changes"], [{"field": "micro_batch_size", "before": "4", "after": "2"}])

    def test_plan_labels_a_split_of_what_batch_norm_couples(self):
        words = "not exact:\n  the model couples the samples of a micro-batch (batch norm): another split gives other results"
        split = "[strategy.accumulate]\nmicro_batch_size = 8"
        group = CONVNET.replace('"batch"', '"group"')
        self.assertIn(words, self.holdfast("plan", self.recipe(model=CONVNET, more=split)).stdout)
        self.assertNotIn(words, self.holdfast("plan", self.recipe(model=CONVNET)).stdout)
        self.assertNotIn(words, self.holdfast("plan", self.recipe(model=group, more=split)).stdout)

    def test_plugins_lists_details_and_checks(self):
        table = self.holdfast("plugins").stdout
        for name in ("mlp", "idx", "accumulate", "periodic_checkpoint", "fault"):
            self.assertRegex(table, rf"(?m)^{name} +ok ")
        self.assertIn("hidden", self.holdfast("plugins", "mlp").stdout)
        self.assertIn("did you mean 'mlp'?", self.holdfast("plugins", "mpl", code=80).stderr)
        self.holdfast("plugins", "--check", FIXTURES / "libholdfast_fault.so")
        text = self.folder / "libholdfast_text.so"
        text.write_text("no library")
        self.assertIn(str(text), self.holdfast("plugins", "--check", text, code=80).stderr)
        listed = strict_json(self.holdfast("plugins", "--json").stdout)
        self.assertIn("mlp", [entry["name"] for entry in listed])

    def test_the_committed_recipe_reference_is_what_the_command_prints(self):
        committed = (ROOT / "runner/docs/recipe.md").read_text()
        printed = self.holdfast("schema", "--markdown", env=self.environment(HOLDFAST_PLUGIN_PATH="")).stdout
        self.assertEqual(committed, printed, "write it anew: build/release/holdfast schema --markdown >runner/docs/recipe.md")

    def test_the_options_of_a_plugin_are_told_in_the_words_of_the_reference(self):
        shown = self.holdfast("plugins", "mlp").stdout
        self.assertIn("    dropout  number, at least 0 and below 1; default 0.0\n        share of hidden", shown)
        told = strict_json(self.holdfast("plugins", "mlp", "--json").stdout)["components"][0]["options"]
        self.assertEqual([("hidden", "list of integers")], [(o["name"], o["type"]) for o in told if o["name"] == "hidden"])

    def test_schema_is_json_and_knows_the_plugins(self):
        schema = strict_json(self.holdfast("schema").stdout)
        self.assertIn("properties", schema)
        self.assertIn("mlp", self.holdfast("schema").stdout)
        strict_json(self.holdfast("schema", "--no-plugins").stdout)

    def test_status_lists_all_runs_below_a_folder(self):
        self.holdfast("run", self.recipe(target="updates = 2"))
        self.assertRegex(self.holdfast("status", self.folder).stdout, r"runs/digits +finished +2/2 ")
        rows = strict_json(self.holdfast("status", self.folder / "runs", "--json").stdout)
        self.assertEqual([(row["home"], row["state"]) for row in rows], [("digits", "finished")])

    def test_inspect_says_what_is_wrong_with_a_damaged_checkpoint(self):
        self.holdfast("run", self.recipe(target="updates = 2"))
        newest = self.folder / "runs/digits/current/checkpoints/latest"
        self.assertIn("every checksum is right", self.holdfast("inspect", newest).stdout)
        with open(newest / "model.safetensors", "r+b") as file:
            file.seek(-1, 2)
            last = file.read(1)
            file.seek(-1, 2)
            file.write(bytes([last[0] ^ 1]))
        self.assertIn("model.safetensors", self.holdfast("inspect", newest.resolve(), code=66).stderr)
        self.holdfast("inspect", self.folder / "absent", code=66)

    def test_a_result_that_could_not_be_written_is_74_and_a_gone_reader_is_none(self):
        self.holdfast("run", self.recipe(target="updates = 2"))
        home = self.folder / "runs/digits"
        for words in (["inspect", home, "--json"], ["status", self.folder, "--json"], ["status", self.folder], ["plugins", "--json"],
                      ["schema"], ["plan", self.recipe()], ["validate", self.recipe()], ["eval", home], ["--help"], ["version"]):
            def ends(redirect):
                return subprocess.run(["bash", "-c", f'"$@" {redirect}', "bash", COMMAND, *map(str, words)], capture_output=True,
                                      text=True, cwd=self.folder, env=self.environment())

            with self.subTest(words=words):
                full = ends(">/dev/full")
                self.assertEqual(full.returncode, 74, full.stderr)
                self.assertIn("stdout: error[output.write]: cannot write: No space left on device (ENOSPC)", full.stderr)
                closed = ends(">&-")
                self.assertEqual(closed.returncode, 74, closed.stderr)
                self.assertIn("stdout: error[output.closed]", closed.stderr)
                gone = ends("> >(exec true); exit $?")
                self.assertEqual((gone.returncode, gone.stderr), (0, ""))

    def test_a_run_whose_summary_cannot_be_written_has_reached_its_target_all_the_same(self):
        done = subprocess.run(["bash", "-c", '"$@" >/dev/full', "bash", COMMAND, "run", self.recipe(target="updates = 2")],
                              capture_output=True, text=True, cwd=self.folder, env=self.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("stdout: error[output.write]: cannot write: No space left on device (ENOSPC)", done.stderr)

    def test_the_version_is_also_told_to_programs(self):
        version = strict_json(self.holdfast("version", "--json").stdout)
        self.assertEqual(sorted(version), ["plugin_abi", "torch", "version"])
        self.assertTrue(self.holdfast("version").stdout.startswith(f"holdfast {version['version']} (LibTorch {version['torch']}"))

    def test_a_fault_of_the_command_line_is_a_json_line_when_the_log_is_json(self):
        done = self.holdfast("run", "x.toml", "--nonsense", "--log-format", "json", code=64)
        line = strict_json(done.stderr)
        self.assertEqual(line["level"], "error")
        self.assertIn("there is no option '--nonsense'", line["text"])

    def test_an_empty_value_is_64_and_never_takes_the_next_word(self):
        for words in (["--resume", ""], ["--resume="], ["--output", ""], ["--output="]):
            done = self.holdfast("run", self.recipe(), *words, code=64)
            self.assertIn("needs a value, got an empty one", done.stderr)


if __name__ == "__main__":
    main()
