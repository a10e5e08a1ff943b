"""The dashboards: as generated, sound in structure, lint clean, and true to the catalogue of metrics."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import metrics_doc
from metrics_doc import ROOT

sys.path.insert(0, str(ROOT / "grafana"))
import generate  # noqa: E402

BOARDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "grafana/dashboards").glob("*.json"))}
# Families that no dashboard shows, each with its reason.
UNUSED = {
    "process_start_time_seconds": "holdfast_run_start_timestamp_seconds tells what matters",
    "process_virtual_memory_bytes": "LibTorch reserves far more than it uses",
    "holdfast_metrics_last_push_timestamp_seconds": "failures of deliveries are shown instead",
    "holdfast_preemption_notices_total": "the state of the run shows the stop",
}
UNITLESS = {"table", "row", "alertlist", "text", "state-timeline"}
VALUES = {"$__rate_interval": "5m", "$__interval": "1m", "$__range": "6h", "$job": ".*", "$run": ".*"}


def panels(board):
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def targets():
    for name, board in BOARDS.items():
        for panel in panels(board):
            for target in panel["targets"]:
                yield f"{name}: {panel['title']}", target["expr"]
        for mark in board["annotations"]["list"]:
            yield f"{name}: {mark['name']}", mark["expr"]


class Structure(unittest.TestCase):
    def test_the_files_are_what_the_generator_writes(self):
        for name, text in generate.files().items():
            self.assertEqual((ROOT / "grafana/dashboards" / name).read_text(encoding="utf-8"), text,
                             "write them anew: python3 grafana/generate.py")
        self.assertEqual(set(BOARDS), {"overview", "run", "postmortem"})

    def test_a_dashboard_can_be_provisioned_anywhere(self):
        uids = [board["uid"] for board in BOARDS.values()]
        self.assertEqual(len(set(uids)), len(uids))
        for board in BOARDS.values():
            self.assertIsNone(board["id"])
            self.assertFalse(board["editable"])
            self.assertNotIn("__inputs", board)
            self.assertEqual([v["name"] for v in board["templating"]["list"]], ["datasource", "job", "run"])
            for link in board["links"]:
                self.assertIn(link["url"].removeprefix("/d/"), uids)

    def test_panels_do_not_overlap_and_have_numbers_of_their_own(self):
        for name, board in BOARDS.items():
            ids = [panel["id"] for panel in board["panels"]]
            self.assertEqual(len(set(ids)), len(ids))
            taken = set()
            for panel in board["panels"]:
                at = panel["gridPos"]
                self.assertLessEqual(at["x"] + at["w"], 24)
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(cells & taken, f"{name}: {panel['title']} lies on another panel")
                taken |= cells

    def test_panels_say_what_they_show_in_which_unit_and_from_where(self):
        for name, board in BOARDS.items():
            for panel in panels(board):
                where = f"{name}: {panel['title']}"
                self.assertTrue(panel["title"] and panel["description"].endswith("."), where)
                self.assertEqual(panel["datasource"]["uid"], "${datasource}", where)
                if panel["type"] != "alertlist":
                    self.assertTrue(panel["targets"], where)
                if panel["type"] not in UNITLESS:
                    self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], where)
                letters = [target["refId"] for target in panel["targets"]]
                self.assertEqual(letters, sorted(set(letters)), where)


class Expressions(unittest.TestCase):
    def test_every_metric_and_label_is_in_the_catalogue(self):
        families = metrics_doc.catalogue()
        for where, expression in targets():
            self.assertEqual(metrics_doc.faults(expression, families), [], f"{where}: {expression}")

    def test_every_family_is_shown_or_listed_as_not_shown(self):
        families = metrics_doc.catalogue()
        shown = {metrics_doc.family_of(name, families) for _, expression in targets() for name in metrics_doc.names(expression)}
        self.assertEqual(set(families) - shown, set(UNUSED))

    def test_each_asks_for_the_chosen_job_and_run(self):
        for where, expression in targets():
            for metric, inside in metrics_doc.SELECTOR.findall(expression):
                self.assertIn('job=~"$job",run=~"$run"', inside, f"{where}: {metric}")
            selected = [metric for metric, _ in metrics_doc.SELECTOR.findall(expression)]
            self.assertEqual(set(selected), metrics_doc.names(expression), f"{where}: a metric without a selector")

    def test_counters_are_never_shown_as_they_are_and_rates_follow_the_zoom(self):
        families = metrics_doc.catalogue()
        whole = {"holdfast_run_failures_total", "holdfast_epochs_total"}  # small counts that people read
        for where, expression in targets():
            for metric in metrics_doc.names(expression):
                family = families[metrics_doc.family_of(metric, families)]
                if family["type"] == "gauge" or metric in whole:
                    continue
                for match in re.finditer(re.escape(metric) + r"\{[^{}]*\}", expression):
                    before = expression[: match.start()]
                    self.assertRegex(before, r"(rate|increase)\($", f"{where}: {expression}")
            for window in re.findall(r"\brate\([^\[]*\[([^\]]*)\]", expression):
                self.assertEqual(window, "$__rate_interval", where)

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_promtool_parses_every_expression(self):
        rules = []
        for number, (_, expression) in enumerate(targets()):
            for name, value in VALUES.items():
                expression = expression.replace(name, value)
            rules.append({"record": f"panel:number_{number}:value", "expr": expression})
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "panels.yaml"
            file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))  # JSON is YAML
            done = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(len(rules), 50)


class OwnChecks(unittest.TestCase):
    """The checks above see what they are meant to see."""

    def test_faults_name_what_is_wrong(self):
        families = metrics_doc.catalogue()
        self.assertEqual(metrics_doc.faults("rate(holdfast_update_total[5m])", families), ["no metric holdfast_update_total"])
        self.assertEqual(metrics_doc.faults('holdfast_run_state{stat="running"}', families), ["holdfast_run_state has no label stat"])
        self.assertEqual(metrics_doc.faults('holdfast_run_state{state=~"runing|failed"}', families),
                         ["holdfast_run_state has no state runing"])
        self.assertEqual(metrics_doc.faults("sum by (cause, rin) (holdfast_run_failures_total)", families), ["no metric has a label rin"])
        self.assertEqual(metrics_doc.faults('histogram_quantile(0.5, sum by (le) (rate(holdfast_update_duration_seconds_bucket'
                                            '{phase="compute"}[5m])))', families), [])


if __name__ == "__main__":
    unittest.main()
