"""A plugin that crashes or throws ends its own run with its name, and what was saved goes on later."""

from harness import Case, main


class Crash(Case):
    def fault(self, action):
        return self.recipe(target="updates = 20", more=f'[hook.fault]\n{action}\nat = 11\n'
                           '[checkpoint]\nasync = false\n[hook.periodic_checkpoint]\nevery = "5 updates"')

    def test_a_segfault_in_a_plugin_is_70_with_plugin_and_call(self):
        recipe = self.fault('action = "segfault"')
        done = self.holdfast("run", recipe, code=70)
        self.assertIn("\nholdfast: error[plugin.crashed]: plugin 'hook.fault': window_end crashed (SIGSEGV)\n"
                      "  hint: this is a fault of the plugin, not of the recipe; report it to its author\n", done.stderr)
        home = self.folder / "runs/digits"
        status, last = self.status(home), self.events(home)[-1]
        cause = "plugin 'hook.fault': window_end crashed (SIGSEGV)"
        self.assertEqual((status["state"], status["exit_code"], status["cause"]), ("failed", 70, cause))
        self.assertGreaterEqual(status["ended_at"], status["attempt_at"][:19])
        self.assertEqual((last["event"], last["exit_code"], last["state"], last["reason"]), ("end", 70, "failed", cause))
        self.holdfast("run", recipe, "--set", "hook.fault.enabled=false")
        self.assertEqual([e["update"] for e in self.events(self.folder / "runs/digits") if e["event"] == "resume"], [10])

    def test_an_abort_in_a_plugin_is_70_too(self):
        self.assertIn("window_end crashed (SIGABRT)", self.holdfast("run", self.fault('action = "signal"\nsignal = 6'), code=70).stderr)

    def test_a_trap_or_a_forbidden_system_call_in_a_plugin_is_70_too(self):
        for number, name in ((5, "SIGTRAP"), (31, "SIGSYS")):
            done = self.holdfast("run", self.fault(f'action = "signal"\nsignal = {number}'), "--new", code=70)
            self.assertIn(f"window_end crashed ({name})", done.stderr)

    def test_a_plugin_that_ends_the_process_is_70_with_its_name_whatever_code_it_asked_for(self):
        for function in ("exit", "_exit", "quick_exit"):
            for status in (0, 5):
                with self.subTest(function=function, status=status):
                    recipe = self.fault(f'action = "{function}"\nstatus = {status}')
                    done = self.holdfast("run", recipe, "--new", code=70)
                    self.assertEqual(done.stdout, "")
                    self.assertEqual(self.status(self.folder / "runs/digits")["cause"],
                                     f"plugin 'hook.fault': window_end ended the process with {function}()")
                    self.assertIn("error[plugin.ended_process]: plugin 'hook.fault': window_end ended the process with "
                                  f"{function}()\n", done.stderr)

    def test_a_constructor_that_ends_the_process_does_not_make_a_recipe_valid(self):
        recipe = self.recipe()
        text = recipe.read_text()
        begin, end = text.index("[dataset.eval]"), text.index("[train]")
        recipe.write_text(text[:begin] + '[dataset.eval]\nplugin = "fault"\nplace = "open"\naction = "_exit"\n' + text[end:])
        for command in ("run", "validate", "plan"):
            with self.subTest(command=command):
                done = self.holdfast(command, recipe, code=70)
                self.assertIn("plugin 'fault': construction ended the process with _exit()", done.stderr)

    def test_an_exception_of_a_plugin_is_70_after_an_emergency_save(self):
        home = self.folder / "runs/digits"
        done = self.holdfast("run", self.fault('action = "throw"'), code=70)
        self.assertIn("plugin 'hook.fault': window_end threw: the fault fixture threw in hook.window_end", done.stderr)
        self.assertEqual(done.stderr.count("error["), 1, done.stderr)
        status = self.status(home)
        self.assertEqual((status["state"], status["exit_code"]), ("failed", 70))
        self.assertIn("plugin 'hook.fault': window_end threw: the fault fixture threw in hook.window_end", status["cause"])
        self.assertEqual(self.saved_update(home), 11)

    def test_a_hook_may_end_the_run_with_its_own_code(self):
        self.holdfast("run", self.fault('action = "stop"\ncode = 82'), code=82)
        status = self.status(self.folder / "runs/digits")
        self.assertEqual((status["state"], status["exit_code"], status["cause"]), ("failed", 82, "fault fixture"))


if __name__ == "__main__":
    main()
