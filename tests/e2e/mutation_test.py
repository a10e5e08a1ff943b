"""A run home damaged in random ways is continued to the same end or refused in one sentence; it never begins anew.

Everything below a generation that holds three checkpoints may be changed, cut, emptied, removed, renamed, swapped,
copied or replaced by a link, folder or pipe. HOLDFAST_MUTATIONS sets the number of homes (8); HOLDFAST_SEED repeats
other ones.
"""

import os
import pathlib
import random
import shutil

from harness import Case, KILL, dies_at, main

MUTATIONS = int(os.environ.get("HOLDFAST_MUTATIONS", "8"))
SEED = int(os.environ.get("HOLDFAST_SEED", "3"))
MARKS = ("events.jsonl", "best.safetensors")  # what tells that a checkpoint was ever saved


class Mutation(Case):
    def setUp(self):
        super().setUp()
        self.recipe_path = self.recipe(target="updates = 60", dropout=0.2, more='[checkpoint]\nasync = false\nkeep = 3\n'
                                       '[hook.periodic_checkpoint]\nevery = "10 updates"')
        self.whole = self.folder / "whole"
        self.holdfast("run", self.recipe_path, "--output", self.whole)
        self.end = self.inspect(self.whole)["digest"]
        self.sound = self.folder / "sound"
        self.holdfast("run", self.recipe_path, "--output", self.sound, *dies_at(51), code=-KILL)
        self.assertGreaterEqual(len(list((self.sound / "current/checkpoints").glob("update-*"))), 3)

    def places(self, generation):
        """Everything below the generation but its recipe; what links lead to is not below it."""
        found = []
        for folder, folders, files in os.walk(generation, followlinks=False):
            found += [pathlib.Path(folder) / name for name in folders + files if name != "recipe.toml"]
        return sorted(found)

    def mutate(self, rng, home, generation):
        """Damages one thing of the home; returns what was done."""
        places = self.places(generation) + [home / "current"]
        place = rng.choice(places)
        kind = rng.choice(("flip", "flip", "cut", "zero", "grow", "empty", "remove", "rename", "swap", "copy", "link",
                           "folder", "pipe"))
        done = f"{kind} {place.relative_to(home)}"
        if kind in ("flip", "cut", "zero", "grow", "empty"):
            if place.is_symlink() or not place.is_file():
                return None
            data = bytearray(place.read_bytes())
            at = rng.randrange(len(data)) if data else 0
            if kind == "flip" and data:
                data[at] ^= 1 << rng.randrange(8)
            if kind == "zero":
                data[at:at + 64] = bytes(len(data[at:at + 64]))
            data = {"cut": data[:at], "empty": b"", "grow": data + rng.randbytes(9)}.get(kind, data)
            place.unlink()  # a second name of the same file (best.safetensors) stays as it is
            place.write_bytes(data)
            return done
        if kind == "copy":
            target = place.parent / rng.choice(("update-000000099", "update-7", "stray", ".tmp-x"))
            if os.path.lexists(target) or place == home / "current" or place.is_symlink():
                return None
            try:
                if place.is_dir():
                    shutil.copytree(place, target, symlinks=True)
                else:
                    shutil.copy(place, target)
            except shutil.Error:  # a pipe
                pass
            return f"{done} to {target.name}"
        if kind in ("rename", "swap"):
            other = rng.choice(places[:-1]) if kind == "swap" else place.parent / f"renamed-{rng.randrange(9)}"
            if place == home / "current" or other in place.parents or place in other.parents or other == place:
                return None
            aside = generation / "aside"
            if kind == "swap":
                os.rename(other, aside)
            os.rename(place, other)
            if kind == "swap":
                os.rename(aside, place)
            return f"{done} with {other.relative_to(home)}"
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()
        if kind == "link":
            os.symlink(rng.choice(("/etc", "nowhere", str(self.whole), "..")), place)
        if kind == "folder":
            place.mkdir()
        if kind == "pipe":
            os.mkfifo(place)
        return done

    def judge(self, done):
        """A failure is one sentence with a code that says whose fault it is."""
        codes = (0, 66, 77, 78)
        if "Is a directory (EISDIR)" in done.stderr:  # where a file is to be written
            codes += (73, 74)
        self.assertIn(done.returncode, codes, f"{done.returncode}\n{done.stderr}")
        self.assertEqual(done.stderr.count("error["), 0 if done.returncode == 0 else 1, done.stderr)
        self.assertNotIn("starting from the beginning", done.stderr)

    def test_a_damaged_home_goes_on_to_the_same_end_or_is_refused(self):
        rng = random.Random(SEED)
        ends = {"same": 0, "refused": 0}
        for number in range(MUTATIONS):
            home = self.folder / f"home-{number}"
            shutil.copytree(self.sound, home, symlinks=True)
            name = os.readlink(home / "current")
            told = []
            while len(told) < 1 + number % 3:
                what = self.mutate(rng, home, home / name)
                told += [what] if what else []
            with self.subTest(number=number, told=told):
                self.assertIn(self.finish(self.start("inspect", home)).returncode, (0, 66, 77))
                self.assertEqual(self.finish(self.start("status", home)).returncode, 0)
                marked = any((home / name / mark).is_file() for mark in MARKS)
                target = [home] if number % 2 else [self.recipe_path, "--output", home]
                done = self.finish(self.start("run", *target, "--set", "hook.fault.enabled=false"))
                if marked or done.returncode != 0:
                    self.judge(done)
                if done.returncode == 0:
                    self.assertEqual(self.inspect(home)["digest"], self.end)
                    self.assertEqual(os.readlink(home / "current"), name)
                ends["same" if done.returncode == 0 else "refused"] += 1
            shutil.rmtree(home)
        self.assertGreater(ends["same"], 0)


if __name__ == "__main__":
    main()
