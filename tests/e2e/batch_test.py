"""Several recipes in one command: each its own process, a failing one stops no other."""

from harness import Case, TERM, main


class Batch(Case):
    def test_C99_the_third_run_is_done_though_the_second_fails(self):
        first = self.recipe("a.toml", target="updates = 2")
        second = self.recipe("b.toml", target="updates = 2", data="/nonexistent")
        third = self.recipe("c.toml", target="updates = 2")
        for path, name in ((first, "a"), (second, "b"), (third, "c")):
            path.write_text(path.read_text().replace('name = "digits"', f'name = "{name}"'))
        done = self.holdfast("run", first, second, third, code=66)
        table = done.stdout.split("\n\n")[-1].splitlines()
        self.assertEqual(len(table), 3)
        self.assertRegex(table[0], r"a\.toml +done$")
        self.assertRegex(table[1], r"b\.toml +66  recipe, data or requested checkpoint missing or unreadable$")
        self.assertRegex(table[2], r"c\.toml +done$")
        self.assertEqual(self.status(self.folder / "runs/a")["state"], "finished")
        self.assertFalse((self.folder / "runs/b").exists())
        self.assertEqual(self.status(self.folder / "runs/c")["state"], "finished")

    def test_a_crash_in_one_run_is_that_runs_only(self):
        first = self.recipe("a.toml", target="updates = 4")
        second = self.recipe("b.toml", target="updates = 4")
        first.write_text(first.read_text().replace('"digits"', '"a"', 1) +
                         '[hook.fault]\naction = "segfault"\nat = 2\n')
        second.write_text(second.read_text().replace('"digits"', '"b"', 1))
        done = self.holdfast("run", first, second, code=70)
        self.assertIn("plugin 'hook.fault': window_end crashed (SIGSEGV)", done.stderr)
        self.assertEqual(self.status(self.folder / "runs/b")["state"], "finished")

    def test_sigterm_stops_the_running_one_and_starts_no_other(self):
        slow = self.recipe("a.toml", target="updates = 2000", more='[hook.fault]\naction = "sleep"\ntimes = 1000000\nsleep = "0.02 s"')
        slow.write_text(slow.read_text().replace('"digits"', '"a"', 1))
        process = self.start("run", slow, self.recipe("b.toml"))
        self.wait_for_event(self.folder / "runs/a", "update", process)
        process.send_signal(TERM)
        done = self.finish(process)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("b.toml  not started: a stop was asked for", done.stdout)
        self.assertEqual(self.status(self.folder / "runs/a")["state"], "stopped")
        self.assertFalse((self.folder / "runs/digits").exists())

    def test_a_reader_that_has_gone_is_no_failure_of_a_batch(self):
        names = ("a", "b")
        recipes = [self.recipe(f"{name}.toml", target="updates = 2") for name in names]
        for name, recipe in zip(names, recipes):
            recipe.write_text(recipe.read_text().replace('"digits"', f'"{name}"', 1))
        process = self.start("run", *recipes)
        process.stdout.close()
        process.stdout = None
        self.assertEqual(process.wait(timeout=60), 0)


if __name__ == "__main__":
    main()
