"""What the README shows is what happens: its recipe is the bundled one, its commands run, its error texts are the real ones."""

import re
import tomllib

from harness import Case, ROOT, main

README = (ROOT / "README.md").read_text(encoding="utf-8")
DIGITS = ROOT / "configs/digits.toml"


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.M | re.S)


class Readme(Case):
    def test_its_recipe_is_the_bundled_one(self):
        self.assertEqual(tomllib.loads(blocks("toml")[0]), tomllib.loads(DIGITS.read_text()))

    def test_its_faults_are_what_validate_prints(self):
        shown = next(block for block in blocks("") if block.startswith("$ holdfast validate"))
        bad = DIGITS.read_text().replace("hidden = [128]", "hiden = [128]").replace("lr = 2e-3", 'lr = "2e-3"')
        (self.folder / "bad.toml").write_text(bad)
        done = self.holdfast("validate", "bad.toml", code=78, cwd=self.folder)
        self.assertEqual(shown.split("\n", 1)[1], done.stderr)

    def test_its_two_commands_are_the_ones_of_the_makefile(self):
        makefile = (ROOT / "Makefile").read_text()
        for target in re.findall(r"^make ([a-z-]+)", "\n".join(blocks("sh")), flags=re.M):
            self.assertIn(f"\n{target}:", makefile)

    def test_its_table_of_commands_runs(self):
        home = self.folder / "digits"
        self.holdfast("run", DIGITS, "--output", home, "--set", "train.epochs=2")
        known = {"RECIPE...": DIGITS, "RECIPE": DIGITS, "[RECIPE]": DIGITS, "RUN_DIR": home, "PATH": home, "DIR": self.folder, "[NAME]": "mlp"}
        rows = re.findall(r"^\| `holdfast ([^`]+)` \|", README, flags=re.M)
        self.assertGreaterEqual(len(rows), 8)
        for row in rows:
            words = [str(known.get(word, word)) for word in row.split()]
            if words[0] == "run":
                words += ["--output", str(self.folder / "other"), "--set", "train.epochs=2"]
            self.holdfast(*words, code=66 if words[0] == "checkpoint" else 0)  # no process works there to be asked

    def test_its_links_lead_somewhere(self):
        for target in re.findall(r"\]\(([^)#]+)\)", README):
            if "://" not in target:
                self.assertTrue((ROOT / target).exists(), target)


if __name__ == "__main__":
    main()
