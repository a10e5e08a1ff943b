"""The whole chain on loopback: runs -> Prometheus, node_exporter, Pushgateway -> the shipped rules, with every time at a hundredth.

A run that stalls, one that fails and one that is late each raise their alert; a healthy one raises none. Part of `make check-full`; takes
about a minute. Skipped where one of the three programs is not installed.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e")]
from harness import Case, main, strict_json  # noqa: E402
from metrics_test import fetch  # noqa: E402
from sinks_test import NODE_EXPORTER, PUSHGATEWAY, free_port  # noqa: E402

PROMETHEUS = shutil.which("prometheus")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SLOW = '[hook.fault]\naction = "sleep"\ntimes = 1000000\nsleep = "0.05 s"\n'
STALL = '[hook.fault]\naction = "sleep"\nat = 30\ntimes = 1\nsleep = "1000 s"\n'
FAIL = '[hook.fault]\naction = "throw"\nat = 5\n'


def hundredth(text):
    """A rule file whose windows, waits and ages are a hundred times shorter."""
    def shorter(match):
        return match.group(1) + f"{max(1, round(int(match.group(2)) * SECONDS[match.group(3)] / 100))}s"

    text = re.sub(r"(\[)(\d+)([smhd])(?=\])", shorter, text)
    text = re.sub(r"(for: )(\d+)([smhd])(?=\n)", shorter, text)
    return re.sub(r"> (900|3600|7200)\b", lambda match: f"> {int(match.group(1)) // 100}", text)


CONFIG = """global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules/*.yaml]
scrape_configs:
  - job_name: holdfast
    static_configs: [{{targets: [{runs}]}}]
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{node}"]}}]
  - job_name: pushgateway
    honor_labels: true
    static_configs: [{{targets: ["127.0.0.1:{push}"]}}]
"""


@unittest.skipUnless(PROMETHEUS and NODE_EXPORTER and PUSHGATEWAY, "prometheus, node_exporter or pushgateway is not installed")
class Chain(Case):
    def daemon(self, name, *words):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=(self.folder / f"{name}.log").open("w"), cwd=self.folder)
        self.started.append(process)
        return process

    def ready(self, url, process):
        def there():
            try:
                return bool(fetch(url)[1])
            except (urllib.error.URLError, ConnectionError):
                return False

        self.wait_for(there, process)

    def run_recipe(self, name, more, target="updates = 1000000"):
        more += f'\n[metrics]\nlisten = "127.0.0.1:0"\ntextfile = "collect/holdfast_{name}.prom"\npush = "http://127.0.0.1:{self.push}"\n'
        recipe = self.recipe(f"{name}.toml", target=target, eval_every="1000000 updates", more=more)
        recipe.write_text(recipe.read_text().replace('name = "digits"', f'name = "{name}"\nexpected_interval = "{self.interval[name]}"', 1))
        return recipe

    def alerts(self):
        """(alert, run) of everything that fires."""
        found = json.loads(fetch(f"{self.prometheus}/api/v1/alerts")[1])["data"]["alerts"]
        return {(alert["labels"]["alertname"], alert["labels"].get("run")) for alert in found if alert["state"] == "firing"}

    def ask(self, expression):
        query = urllib.parse.quote(expression)
        return json.loads(fetch(f"{self.prometheus}/api/v1/query?query={query}")[1])["data"]["result"]

    def test_each_sick_run_raises_its_alert_and_the_healthy_one_none(self):
        (self.folder / "collect").mkdir()
        rules = self.folder / "rules"
        rules.mkdir()
        for path in (ROOT / "grafana/alerts").glob("*.yaml"):
            (rules / path.name).write_text(hundredth(path.read_text()))
        node, self.push, port = free_port(), free_port(), free_port()
        self.prometheus = f"http://127.0.0.1:{port}"
        self.interval = {"healthy": "1 d", "stalled": "1 d", "failing": "1 d", "late": "4 s"}
        gateway = self.daemon("gateway", PUSHGATEWAY, f"--web.listen-address=127.0.0.1:{self.push}")
        exporter = self.daemon("node", NODE_EXPORTER, "--collector.disable-defaults", "--collector.textfile",
                               f"--collector.textfile.directory={self.folder}/collect", f"--web.listen-address=127.0.0.1:{node}")
        self.ready(f"http://127.0.0.1:{self.push}/-/ready", gateway)
        self.ready(f"http://127.0.0.1:{node}/metrics", exporter)
        self.holdfast("run", self.run_recipe("late", "", target="updates = 5"))
        targets = []
        for name, more in (("healthy", SLOW), ("stalled", STALL)):
            process = self.start("run", self.run_recipe(name, more))
            status = self.folder / f"runs/{name}/current/status.json"
            self.wait_for(lambda: status.exists() and strict_json(status.read_text())["metrics_url"], process)
            targets.append(strict_json(status.read_text())["metrics_url"].split("/")[2])
        runs = ", ".join(f'"{target}"' for target in targets)
        (self.folder / "prometheus.yml").write_text(CONFIG.format(runs=runs, node=node, push=self.push))
        server = self.daemon("prometheus", PROMETHEUS, f"--config.file={self.folder}/prometheus.yml",
                             f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address=127.0.0.1:{port}")
        self.ready(f"{self.prometheus}/-/ready", server)
        self.wait_for(lambda: self.ask('holdfast_updates_total{job="holdfast",run="healthy"} > 5'), server)
        self.holdfast("run", self.run_recipe("failing", FAIL), code=70)
        wanted = {("HoldfastStalled", "stalled"), ("HoldfastRunFailed", "failing"), ("HoldfastRunNeverSucceeded", "failing"),
                  ("HoldfastRunNotSucceeding", "late"), ("HoldfastRunOverdue", "late")}
        self.wait_for(lambda: wanted <= self.alerts(), server)
        for job in ("node", "holdfast"):  # the file, and what was pushed
            self.assertTrue(self.ask(f'holdfast_run_last_exit_code{{job="{job}",run="failing"}} == 70'), job)
        time.sleep(5)  # whatever else would fire has had its time
        self.assertEqual([alert for alert in self.alerts() if alert[1] == "healthy"], [])
        self.assertNotIn("HoldfastTextfileUnreadable", {alert for alert, _ in self.alerts()})


if __name__ == "__main__":
    main()
