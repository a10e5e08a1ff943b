"""The last save of a run on a full disk: tried again while there is grace, and what it comes to."""

import os
import subprocess
import unittest

from harness import COMMAND, PATIENCE, Case, main

SCRIPT = """
mount -t tmpfs -o size=8m tmpfs "$PLACE" || exit 99
"$COMMAND" run "$RECIPE" --output "$PLACE/home" 2> "$FOLDER/words" > /dev/null &
run=$!
until [ -e "$PLACE/home/current/checkpoints/latest" ]; do sleep 0.05; done
dd if=/dev/zero of="$PLACE/ballast" bs=4k 2> /dev/null
kill -TERM $run
until grep -q "the last checkpoint could not be written" "$FOLDER/words"; do sleep 0.05; done
[ -n "$MEND" ] && rm "$PLACE/ballast"
wait $run
code=$?
rm -f "$PLACE/ballast"
"$COMMAND" inspect "$PLACE/home" > /dev/null || exit 98
exit $code
"""


@unittest.skipUnless(os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0,
                     "mounts need root")
class LastSave(Case):
    def end_on_a_full_disk(self, mend):
        place = self.folder / ("mended" if mend else "full")
        place.mkdir()
        recipe = self.recipe(target="updates = 100000000", eval_every="1000000 updates",
                             more='[hook.periodic_checkpoint]\nevery = "200 updates"\n')
        recipe.write_text(recipe.read_text().replace("threads = 1\n", 'threads = 1\ngrace = "6 s"\n', 1))
        env = self.environment(PLACE=str(place), COMMAND=COMMAND, RECIPE=str(recipe), FOLDER=str(self.folder), MEND="yes" if mend else "")
        done = subprocess.run(["unshare", "-m", "sh", "-c", SCRIPT], env=env, check=False, timeout=PATIENCE)
        return done.returncode, (self.folder / "words").read_text()

    def test_room_that_comes_back_in_time_saves_the_run(self):
        code, words = self.end_on_a_full_disk(mend=True)
        self.assertEqual(code, 75, words)

    def test_a_disk_that_stays_full_ends_the_run_with_74_and_leaves_the_older_checkpoint(self):
        code, words = self.end_on_a_full_disk(mend=False)
        self.assertEqual(code, 74, words)
        self.assertGreater(words.count("the last checkpoint could not be written; it is tried again in "), 1)
        self.assertIn("(ENOSPC)", words)


if __name__ == "__main__":
    main()
