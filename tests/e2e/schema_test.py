"""An editor and the command agree: taplo with the committed schema accepts and refuses the recipes that validate does.

recipes/good and recipes/bad hold one small recipe a file; recipes/only_validate those that JSON Schema cannot refuse, each
with the reason in its second line. taplo comes with the tools of the tests (runner/setup/requirements.txt).
"""

import pathlib
import subprocess
import sys

from harness import Case, ROOT, main, strict_json

CORPUS = pathlib.Path(__file__).parent / "recipes"
SCHEMA = ROOT / "schemas/run.schema.json"
TAPLO = pathlib.Path(sys.executable).parent / "taplo"
VARIABLES = {"HOLDFAST_CORPUS_NAME": "named", "HOLDFAST_CORPUS_SCHEDULE": "cosine", "HOLDFAST_CORPUS_SECONDS": "2"}


def corpus(folder):
    return sorted((CORPUS / folder).glob("*.toml"))


def shipped():
    """Every recipe that users get."""
    found = [path for folder in ("configs", "examples") for path in sorted((ROOT / folder).rglob("*.toml"))]
    return [path for path in found if not {"runs", "build"} & set(path.relative_to(ROOT).parts)]


class Agreement(Case):
    def taplo(self, recipe):
        """Whether taplo accepts, and its words."""
        self.assertTrue(TAPLO.exists(), f"{TAPLO} is missing: run runner/setup/setup.sh")
        done = subprocess.run([TAPLO, "lint", "--no-auto-config", "--colors", "never", recipe], capture_output=True, text=True,
                              cwd=self.folder)
        return done.returncode == 0, done.stdout + done.stderr

    def validate(self, recipes):
        """What validate says of each: {path: entry}. The corpus knows the built-in plugins only."""
        env = self.environment(HOLDFAST_PLUGIN_PATH="", **VARIABLES)
        out = self.finish(self.start("validate", "--json", *recipes, env=env)).stdout
        return {pathlib.Path(entry["recipe"]): entry for entry in strict_json(out)}

    def check(self, folder, least, taplo_accepts, validate_accepts):
        recipes = corpus(folder)
        self.assertGreaterEqual(len(recipes), least)
        entries = self.validate(recipes)
        for recipe in recipes:
            with self.subTest(recipe=f"{folder}/{recipe.name}"):
                self.assertEqual(entries[recipe]["valid"], validate_accepts, entries[recipe]["faults"])
                accepts, words = self.taplo(recipe)
                self.assertEqual(accepts, taplo_accepts, words)
        return entries

    def test_both_accept_what_is_good(self):
        self.check("good", 12, taplo_accepts=True, validate_accepts=True)

    def test_both_refuse_what_is_bad(self):
        entries = self.check("bad", 40, taplo_accepts=False, validate_accepts=False)
        for recipe, entry in entries.items():
            self.assertIn(entry["exit_code"], (78, 80), recipe)
            self.assertTrue(entry["faults"], recipe)

    def test_only_validate_refuses_what_a_schema_cannot_say(self):
        self.check("only_validate", 10, taplo_accepts=True, validate_accepts=False)

    def test_taplo_accepts_every_recipe_that_is_shipped(self):
        for recipe in shipped():
            with self.subTest(recipe=recipe.name):
                accepts, words = self.taplo(recipe)
                self.assertTrue(accepts, words)


class Lines(Case):
    def test_every_recipe_names_the_schema_in_its_first_line_by_a_path_that_leads_there(self):
        recipes = shipped()
        self.assertIn(ROOT / "examples/plugin_template/waves.toml", recipes)
        for recipe in recipes + [path for folder in ("good", "bad", "only_validate") for path in corpus(folder)]:
            with self.subTest(recipe=recipe):
                word, path = recipe.read_text().splitlines()[0].split(" ")
                self.assertEqual(word, "#:schema")
                self.assertEqual((recipe.parent / path).resolve(), SCHEMA)

    def test_every_recipe_of_the_corpus_says_what_it_is_about(self):
        for folder in ("good", "bad", "only_validate"):
            for recipe in corpus(folder):
                self.assertRegex(recipe.read_text().splitlines()[1], r"^# \S.*\.$", recipe)


class Schema(Case):
    def undescribed(self, schema, path):
        """Keys without a description. A subschema without a type only narrows a key that is described elsewhere."""
        if isinstance(schema, list):
            return [key for item in schema for key in self.undescribed(item, path)]
        if not isinstance(schema, dict):
            return []
        found = []
        for name, value in schema.get("properties", {}).items():
            declares = isinstance(value, dict) and value.keys() & {"type", "anyOf", "not"}
            if declares and not value.get("description"):
                found.append(f"{path}.{name}")
            found += self.undescribed(value, f"{path}.{name}")
        for word in ("items", "additionalProperties", "if", "then", "else", "not", "allOf", "anyOf", "oneOf"):
            found += self.undescribed(schema.get(word), path)
        return found

    def test_it_is_draft_07_and_describes_every_key(self):
        schema = strict_json(SCHEMA.read_text())
        self.assertEqual(schema["$schema"], "http://json-schema.org/draft-07/schema#")
        self.assertEqual(self.undescribed(schema, ""), [])
        del schema["properties"]["optimizer"]["properties"]["lr"]["description"]
        del schema["properties"]["model"]["allOf"][0]["then"]["properties"]["plugin"]["description"]
        self.assertEqual(self.undescribed(schema, ""), [".optimizer.lr", ".model.plugin"])


if __name__ == "__main__":
    main()
