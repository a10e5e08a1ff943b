"""Alerts and recording rules: complete, true to the catalogue, and each fires and stays silent when it should.

promtool does the work: check rules with its lint, and test rules on the cases of alert_cases.py, written to a file of its own
format. Annotations are checked here and left out there, so that a reworded sentence needs no new test.
"""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import metrics_doc
from alert_cases import CASES
from metrics_doc import ROOT

FOLDER = ROOT / "grafana/alerts"
PROMTOOL = shutil.which("promtool")
# The subset of YAML that our rule files use: one key a line, `|` blocks, one inline map of labels.
ALERT = re.compile(r"^      - alert: (\w+)$", re.M)


def parts(text):
    """The rules of a file: (kind, name, fields as text)."""
    found = []
    for chunk in re.split(r"^      - (?=alert:|record:)", text, flags=re.M)[1:]:
        kind, name = re.match(r"(alert|record): (\S+)\n", chunk).groups()
        expression = re.search(r"^        expr: (?:\|\n((?:          .*\n)+)|(.*)\n)", chunk, flags=re.M)
        found.append((kind, name, (expression.group(1) or expression.group(2)).strip(), chunk))
    return found


RULES = {path.name: parts(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}
ALERTS = {name: chunk for rules in RULES.values() for kind, name, _, chunk in rules if kind == "alert"}
RECORDED = {name for rules in RULES.values() for kind, name, _, _ in rules if kind == "record"}


def without_annotations(text):
    return re.sub(r"^        annotations:\n(?:          .*\n)+", "", text, flags=re.M)


def anchor(name):
    return name.lower()


class Rules(unittest.TestCase):
    def test_every_metric_and_label_is_in_the_catalogue(self):
        families = metrics_doc.catalogue()
        for file, rules in RULES.items():
            if file == "gpu.yaml":
                continue  # of other exporters
            for _, name, expression, _ in rules:
                self.assertEqual(metrics_doc.faults(expression, families, RECORDED), [], name)

    def test_every_alert_says_how_bad_it_is_what_it_means_and_where_to_read(self):
        runbooks = (ROOT / "grafana/runbooks.md").read_text()
        boards = [json.loads(path.read_text())["uid"] for path in (ROOT / "grafana/dashboards").glob("*.json")]
        self.assertGreater(len(ALERTS), 20)
        for name, chunk in ALERTS.items():
            self.assertRegex(name, r"^Holdfast[A-Z]\w+$")
            self.assertRegex(chunk, r"\n        labels: \{severity: (critical|warning|info)\}\n", name)
            summary = re.search(r"\n          summary: (.*)\n", chunk).group(1)
            self.assertNotIn("{{", summary, name)
            self.assertTrue(summary.endswith("."), name)
            self.assertIn("{{", re.search(r"\n          description: (.*)\n", chunk).group(1), name)
            self.assertIn(f"\n          runbook_url: runbooks.md#{anchor(name)}\n", chunk)
            self.assertIn(re.search(r"\n          dashboard_url: /d/(\S+)\n", chunk).group(1), boards)
            section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", runbooks, flags=re.M | re.S)
            self.assertTrue(section, f"runbooks.md has no section {name}")
            for word in ("**Meaning**", "**Impact**", "**Diagnosis**", "**Mitigation**"):
                self.assertIn(word, section.group(1), name)
            self.assertIn("`", section.group(1), name)
        self.assertEqual(set(re.findall(r"^## (Holdfast\w+)$", runbooks, flags=re.M)), set(ALERTS))

    def test_every_alert_has_a_case_that_fires_and_one_that_does_not(self):
        for name in ALERTS:
            fires = [case for case in CASES if case["alert"] == name and case["fires"]]
            silent = [case for case in CASES if case["alert"] == name and not case["fires"]]
            self.assertTrue(fires and silent, name)

    @unittest.skipUnless(PROMTOOL, "promtool is not installed")
    def test_promtool_accepts_them(self):
        done = subprocess.run([PROMTOOL, "check", "rules", "--lint=all", "--lint-fatal", *sorted(FOLDER.glob("*.yaml"))],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @unittest.skipUnless(PROMTOOL, "promtool is not installed")
    def test_each_case_ends_as_it_should(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for path in FOLDER.glob("*.yaml"):
                (folder / path.name).write_text(without_annotations(path.read_text()))
            tests = [{"interval": "1m", "input_series": [{"series": series, "values": values} for series, values in case["series"].items()],
                      "alert_rule_test": [{"alertname": case["alert"], "eval_time": case["at"],
                                           "exp_alerts": [{"exp_labels": labels} for labels in case["fires"]]}]}
                     for case in CASES]
            file = folder / "tests.json"
            file.write_text(json.dumps({"rule_files": sorted(path.name for path in FOLDER.glob("*.yaml")), "evaluation_interval": "1m",
                                        "group_eval_order": [], "tests": tests}))
            done = subprocess.run([PROMTOOL, "test", "rules", file], capture_output=True, text=True, cwd=folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
