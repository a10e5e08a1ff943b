"""events.jsonl is strict JSON, and every event and field in it is documented in runner/docs/events.md."""

import re

from harness import ROOT, TERM, Case, main

FRAME = {"time", "event", "attempt"}
SCORES = {"loss", "accuracy"}


def documented():
    """Event -> names of its fields."""
    found = {}
    text = (ROOT / "runner/docs/events.md").read_text()
    for names, section in re.findall(r"^## ([a-z_, ]+)\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S):
        fields = {field for row in re.findall(r"^\| (`[^|]*) \|", section, flags=re.M) for field in re.findall(r"`([a-z_]+)`", row)}
        for name in names.split(", "):
            found[name] = fields
    return found


class Events(Case):
    def check(self, events, wanted):
        fields = documented()
        self.assertLessEqual(wanted, {event["event"] for event in events})
        for event in events:
            extra = SCORES if event["event"] == "eval" else set()
            self.assertLessEqual(set(event) - FRAME - extra, fields[event["event"]], event)
            self.assertLessEqual(FRAME, set(event))

    def home(self):
        return self.folder / "runs/digits"

    def test_every_event_of_a_life_with_kills_and_stops_is_documented(self):
        recipe = self.stopped_at(20, target="updates = 100000", more="\n[memory]\ndevice_budget = \"64MiB\"\n")
        process = self.start("run", recipe, "--set", "hook.fault.action=sleep", "--set", "hook.fault.times=1000000", "--set",
                             'hook.fault.sleep="0.02 s"')
        log = self.home() / "current/events.jsonl"
        self.wait_for(lambda: log.read_text().count('"event":"update"') > 2, process)
        process.send_signal(TERM)
        self.assertEqual(self.finish(process).returncode, 75)
        self.check(self.events(self.home()), {"start", "resume", "update", "eval", "checkpoint", "signal", "end"})

    def test_numbers_that_are_not_finite_are_null(self):
        recipe = self.recipe(model='plugin = "fault"\nplace = "loss"\naction = "nan"\nat = 3\ntimes = 2',
                             tables='[dataset.train]\nplugin = "ids"\n[dataset.eval]\nplugin = "ids"\n')
        recipe.write_text(recipe.read_text().replace("dropout = 0.0\n", ""))
        self.holdfast("run", recipe)
        events = self.events(self.home())  # read by a parser that refuses NaN and Infinity
        self.check(events, {"start", "skip"})
        self.assertTrue(any(event["event"] == "skip" and event["loss"] is None for event in events))

    def test_the_line_that_a_killed_process_left_is_removed(self):
        recipe = self.stopped_at(20)
        log = self.home() / "current/events.jsonl"
        with open(log, "a") as file:
            file.write('{"time":"2026-11-30T10:00:00Z","event":"upd')
        self.holdfast("run", recipe)
        self.check(self.events(self.home()), {"start", "resume", "end"})


if __name__ == "__main__":
    main()
