"""Bad input: one sentence with its place, the exact exit code, and a run home that was never touched."""

import os
import re
import resource
import shutil
import subprocess

from harness import COMMAND, Case, DIGITS, FIXTURES, main, read_idx, snapshot, write_idx

TRAIN_IMAGES = "dataset.train.images"
TRAIN_LABELS = "dataset.train.labels"


class BadInput(Case):
    def setUp(self):
        super().setUp()
        self.path = self.recipe()
        self.data = self.folder / "data"
        self.data.mkdir()

    def refused(self, code, place, *words, sets=(), arguments=(), **more):
        """Runs, expects `code`, one error that begins with `place` and holds the words, and no change on disk."""
        before = snapshot(self.folder)
        options = [part for key, value in sets for part in ("--set", f"{key}={value}")]
        done = self.holdfast("run", self.path, *options, *arguments, code=code, **more)
        self.assertEqual(done.stdout, "")
        errors = [line for line in done.stderr.splitlines() if "error[" in line]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertTrue(errors[0].startswith(f"{place}: error["), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(snapshot(self.folder), before)
        return done

    def test_a_missing_recipe_is_66(self):
        done = self.holdfast("run", "absent.toml", code=66)
        self.assertIn("absent.toml", done.stderr)
        self.assertIn("error[", done.stderr)

    def test_a_faulty_recipe_is_78_with_every_fault_and_its_place(self):
        self.path.write_text(self.path.read_text().replace("batch_size = 32", 'batch_sise = 32\nclip_grad_norm = "1"'))
        done = self.holdfast("run", self.path, code=78)
        line = next(n for n, text in enumerate(self.path.read_text().splitlines(), 1) if "batch_sise" in text)
        self.assertIn(f"{self.path}:{line}:1: error[recipe.unknown_key]", done.stderr)
        self.assertIn(f"{self.path}:{line + 1}:", done.stderr)
        self.assertIn("did you mean 'batch_size'?", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_missing_data_is_66_with_the_absolute_path(self):
        self.refused(66, self.data / "no.gz", sets=[(TRAIN_IMAGES, "data/no.gz")])

    def test_C67_truncated_data_is_named_before_the_first_update(self):
        cut = self.data / "cut.gz"
        whole = (DIGITS / "train-images-idx3-ubyte.gz").read_bytes()
        cut.write_bytes(whole[: len(whole) * 7 // 10])
        self.refused(65, cut, sets=[(TRAIN_IMAGES, cut)])

    def test_C67_a_web_page_instead_of_data_is_named(self):
        page = self.data / "page.gz"
        page.write_text("<!DOCTYPE html><html></html>")
        self.refused(65, page, sets=[(TRAIN_IMAGES, page)])

    def test_an_empty_file_is_named(self):
        empty = self.data / "empty.gz"
        empty.write_bytes(b"")
        self.refused(65, empty, sets=[(TRAIN_IMAGES, empty)])

    def test_a_count_mismatch_of_images_and_labels_names_both_numbers(self):
        labels = self.data / "labels"
        write_idx(labels, [1496], bytes(1496))
        self.refused(65, labels, "1497", "1496", sets=[(TRAIN_LABELS, labels)])

    def test_an_empty_data_set_is_refused(self):
        write_idx(self.data / "images", [0, 8, 8], b"")
        write_idx(self.data / "labels", [0], b"")
        before = snapshot(self.folder)
        done = self.holdfast("run", self.path, "--set", f"{TRAIN_IMAGES}={self.data}/images", "--set",
                             f"{TRAIN_LABELS}={self.data}/labels", code=65)
        self.assertEqual(done.stderr.count("error["), 1, done.stderr)
        self.assertEqual(snapshot(self.folder), before)

    def test_C72_a_label_outside_the_classes_is_named_with_sample_and_range(self):
        shape, values = read_idx(DIGITS / "train-labels-idx1-ubyte.gz")
        changed = bytearray(values)
        changed[5] = 12
        write_idx(self.data / "labels", shape, changed)
        done = self.holdfast("run", self.path, "--set", f"{TRAIN_LABELS}={self.data}/labels", "--set",
                             "dataset.train.classes=10", code=65)
        self.assertIn("5", done.stderr)
        self.assertIn("12", done.stderr)
        self.assertEqual(done.stderr.count("error["), 1, done.stderr)

    def test_an_output_that_cannot_be_created_is_73(self):
        (self.folder / "file").write_text("not a folder")
        self.refused(73, self.folder / "file/home", arguments=["--output", "file/home"])

    def test_a_foreign_or_world_writable_home_is_77(self):
        home = self.folder / "home"
        home.mkdir()
        home.chmod(0o777)
        self.refused(77, home, "every user of this machine may write", arguments=["--output", "home"])
        if os.geteuid() != 0:
            self.skipTest("only root can make a folder that belongs to somebody else")
        home.chmod(0o755)
        os.chown(home, 12345, 12345)
        self.refused(77, home, "belongs to user 12345", arguments=["--output", "home"])

    def test_a_plugin_that_is_not_there_is_80_with_the_nearest_name(self):
        self.path.write_text(self.path.read_text().replace('"mlp"', '"mpl"'))
        done = self.holdfast("run", self.path, code=80)
        self.assertRegex(done.stderr, rf"^{self.path}:\d+:\d+: error\[")
        self.assertIn("did you mean 'mlp'?", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_a_mistyped_name_loads_no_plugin_to_suggest_one(self):
        self.path.write_text(self.path.read_text().replace('"mlp"', '"mpl"'))
        trap = self.folder / "plugins"
        trap.mkdir()
        shutil.copy(FIXTURES / "libholdfast_fault.so", trap)  # loading "fault" would note the second file
        done = self.holdfast("run", self.path, "--plugin-dir", trap, code=80)
        self.assertNotIn("comes later in the search", done.stderr)
        self.assertIn("did you mean 'mlp'?", done.stderr)

    def test_a_refused_plugin_keeps_its_hint_and_is_told_once(self):
        odd = self.folder / "libholdfast_other.so"
        stamp = re.compile(rb"2\.(\d+\.\d+)\0")
        odd.write_bytes(stamp.sub(rb"1.\1\0", (FIXTURES / "libholdfast_fault.so").read_bytes()))  # another LibTorch
        done = self.holdfast("plugins", "--check", odd, code=80)
        self.assertEqual((done.stderr.count("error["), done.stderr.count(str(odd))), (1, 1), done.stderr)
        hint = done.stderr[done.stderr.index("  hint: "):]
        recipe = self.recipe(more="[hook.other]")
        self.assertIn(hint, self.holdfast("run", recipe, "--plugin-dir", self.folder, code=80).stderr)

    def test_labels_for_images_and_images_for_labels_are_65_before_anything_is_made(self):
        write_idx(self.data / "wide", [1497, 2], bytes(2 * 1497))
        self.refused(65, self.data / "wide", "has 2 dimensions", sets=[(TRAIN_LABELS, self.data / "wide")])
        labels = DIGITS / "train-labels-idx1-ubyte.gz"
        self.refused(65, labels, "at least one dimension", sets=[(TRAIN_IMAGES, labels)])

    def test_C72_an_eval_label_beyond_the_models_classes_is_65_with_sample_and_range(self):
        shape, values = read_idx(DIGITS / "test-labels-idx1-ubyte.gz")
        changed = bytearray(values)
        changed[7] = 255
        write_idx(self.data / "labels", shape, changed)
        done = self.holdfast("run", self.path, "--set", f"dataset.eval.labels={self.data}/labels", code=65)
        self.assertEqual(done.stderr.count("error["), 1, done.stderr)
        self.assertNotIn("out of bounds", done.stderr)

    def test_a_model_beyond_all_memory_is_88_in_one_sentence_and_an_absurd_width_is_78(self):
        limits = dict(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)))
        done = self.holdfast("run", self.path, "--set", "model.hidden=[65536,65536]", code=88, **limits)
        self.assertEqual(done.stderr.count("error["), 1, done.stderr)
        self.assertIn("[model]: error[memory.host]: plugin 'mlp' needs more memory than there is: ", done.stderr)
        self.assertLess(len(done.stderr), 600)
        self.assertIn("between 1 and 65536", self.holdfast("run", self.path, "--set", "model.hidden=[1000000000]", code=78).stderr)
        self.assertIn("between 1 and 1048576",
                      self.holdfast("run", self.path, "--set", "dataset.train.classes=1000000000", code=78).stderr)

    def test_a_path_that_no_recipe_can_hold_is_refused_in_words(self):
        before = snapshot(self.folder)
        process = subprocess.run([COMMAND.encode(), b"run", os.fsencode(self.path), b"--output", b"o\xfe"], cwd=self.folder,
                                 env=self.environment(), capture_output=True, timeout=120)
        self.assertEqual(process.returncode, 64)
        self.assertIn(b"'o\\xfe' holds bytes that are not UTF-8", process.stderr)
        self.assertEqual(snapshot(self.folder), before)

    def test_C10_illegal_counts_are_refused_with_key_value_and_range(self):
        for value in ("0", "-1", "2.5", '"4"', "9223372036854775807"):
            with self.subTest(value=value):
                done = self.holdfast("run", self.path, "--set", f"checkpoint.keep={value}", code=78)
                self.assertIn("keep", done.stderr)
                self.assertIn(value.strip('"'), done.stderr)
                self.assertFalse((self.folder / "runs").exists())

    def test_a_device_that_is_not_there_is_69(self):
        done = self.holdfast("run", self.path, "--set", "run.device=cuda:7", code=69)
        self.assertIn("cuda:7", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_a_full_disk_at_the_start_is_74_with_the_bytes_needed(self):
        mount = self.folder / "small"
        mount.mkdir()
        script = ('mount -t tmpfs -o size=64k,mode=0755 none "$0" || exit 99; "$1" run "$2" --output "$0/home"; code=$?; '
                  'ls -A "$0"; exit $code')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, mount, COMMAND, self.path], text=True,
                              capture_output=True, env=self.environment(), timeout=120)
        if "unshare" in done.stderr or "mount:" in done.stderr:
            self.skipTest("no private mount namespace here: " + done.stderr.splitlines()[0])
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertRegex(done.stderr, rf"^{mount}/home: error\[output.space\]: a checkpoint and the final weights need "
                                      r"\d+\.\d KiB, but only \d+\.\d KiB are free in ")
        self.assertEqual(done.stdout, "")  # nothing was created there

    def test_C47_a_home_that_is_a_link_to_a_small_disk_is_74_with_the_real_place_before_update_1(self):
        mount, home = self.folder / "small", self.folder / "runs"
        mount.mkdir()
        os.symlink(mount, home)
        script = 'mount -t tmpfs -o size=64k,mode=0755 none "$0" || exit 99; "$1" run "$2"; code=$?; ls -A "$0"; exit $code'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, mount, COMMAND, self.path], text=True,
                              capture_output=True, env=self.environment(), timeout=120)
        if "unshare" in done.stderr or "mount:" in done.stderr:
            self.skipTest("no private mount namespace here: " + done.stderr.splitlines()[0])
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assertRegex(done.stderr, rf"error\[output.space\]: a checkpoint and the final weights need \d+\.\d KiB, but only "
                                      rf"\d+\.\d KiB are free in {os.path.realpath(mount)}\n")
        self.assertEqual(done.stdout, "")

    def test_an_unreadable_home_for_an_ordinary_user_is_77(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become somebody else")
        everyone = self.folder
        everyone.chmod(0o755)
        home = self.folder / "home"
        home.mkdir(mode=0o700)
        probe = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "test", "-r", COMMAND])
        if probe.returncode != 0 or shutil.which("setpriv") is None:
            self.skipTest("an ordinary user cannot read the build tree here")
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", COMMAND, "run", self.path,
                               "--output", home], text=True, capture_output=True, env=self.environment(), timeout=120)
        if done.returncode == 127:
            self.skipTest("an ordinary user cannot read LibTorch here")
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("error[", done.stderr)


if __name__ == "__main__":
    main()
