"""Sinks of metrics from outside: node_exporter's textfile, a Pushgateway, and what a run leaves for the next one.

The real programs of Debian are used where they are installed: prometheus-node-exporter, prometheus-pushgateway.
"""

import http.server
import shutil
import socket
import stat
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

import exposition
from harness import KILL, PATIENCE, SAVE_OFTEN, Case, dies_at, main
from metrics_test import fetch, value

NODE_EXPORTER = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
PUSHGATEWAY = shutil.which("prometheus-pushgateway") or shutil.which("pushgateway")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Gateway(http.server.BaseHTTPRequestHandler):
    """Remembers what is posted; `answer` is the status it gives."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.posted.append((self.path, dict(self.headers), body))
        self.send_response(self.server.answer)
        self.end_headers()

    def log_message(self, *_):
        pass


class Sinks(Case):
    def gateway(self, answer=202):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
        server.posted, server.answer = [], answer
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server, f"http://127.0.0.1:{server.server_port}"

    def daemon(self, *words):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
        self.started.append(process)
        return process

    def wait_for_page(self, url, process):
        def there():
            try:
                return bool(fetch(url)[1])
            except (urllib.error.URLError, ConnectionError):
                return False

        self.wait_for(there, process)

    def test_a_run_posts_its_outcome_and_only_that(self):
        server, url = self.gateway()
        (self.folder / "password").write_text("me:s3cret\nrest\n")
        more = f'[metrics]\npush = "{url}/below"\npassword_file = "password"\n'
        self.holdfast("run", self.recipe(target="updates = 5", more=more))
        path, headers, body = server.posted[-1]
        self.assertEqual(path, "/below/metrics/job/holdfast/run/digits")
        self.assertEqual(headers["Authorization"], "Basic bWU6czNjcmV0")
        families = exposition.read(body)
        self.assertEqual(exposition.promtool_faults(body), "")
        self.assertEqual({name for name in families if not name.startswith("holdfast_run_")}, {"holdfast_build_info"})
        self.assertEqual(value(families, "holdfast_run_state", state="succeeded"), 1)
        self.assertGreater(value(families, "holdfast_run_last_success_timestamp_seconds"), 1.7e9)
        for file in (self.folder / "runs/digits/current").iterdir():
            if file.is_file():
                self.assertNotIn(b"s3cret", file.read_bytes(), file)

    def test_credentials_may_come_from_the_environment(self):
        server, url = self.gateway()
        recipe = self.recipe(target="updates = 5", more=f'[metrics]\npush = "{url}"\n')
        self.holdfast("run", recipe, env=self.environment(HOLDFAST_PUSH_CREDENTIALS="me:s3cret"))
        self.assertEqual(server.posted[-1][1]["Authorization"], "Basic bWU6czNjcmV0")

    def test_a_failed_run_posts_no_success(self):
        server, url = self.gateway()
        more = f'[hook.fault]\naction = "throw"\nat = 3\n[metrics]\npush = "{url}"\n'
        self.holdfast("run", self.recipe(target="updates = 50", more=more), code=70)
        families = exposition.read(server.posted[-1][2])
        self.assertNotIn("holdfast_run_last_success_timestamp_seconds", families)
        self.assertEqual(value(families, "holdfast_run_attempts_total", outcome="failed"), 1)
        self.assertEqual(value(families, "holdfast_run_last_exit_code"), 70)

    def test_a_gateway_that_refuses_hangs_or_is_gone_costs_one_warning(self):
        refusing = self.gateway(answer=503)[1]
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        gone = f"http://127.0.0.1:{free_port()}"
        for name, url in (("refusing", refusing), ("silent", f"http://127.0.0.1:{silent.getsockname()[1]}"), ("gone", gone)):
            recipe = self.recipe(target="updates = 5", more=f'[metrics]\npush = "{url}"\n')
            done = self.holdfast("run", recipe, "--output", self.folder / name)
            self.assertEqual(done.stderr.count(f"warning: metrics cannot be pushed to {url}, training goes on: "), 1, done.stderr)

    def test_credentials_that_cannot_be_read_are_told_before_anything_is_made(self):
        (self.folder / "empty").write_text("s3cret\n")
        for name, code, words in (("absent", 66, "absent"), ("empty", 78, "does not hold USER:PASSWORD on its first line")):
            more = f'[metrics]\npush = "http://127.0.0.1:1"\npassword_file = "{name}"\n'
            done = self.holdfast("run", self.recipe(target="updates = 5", more=more), code=code)
            self.assertIn(words, done.stderr)
            self.assertNotIn("s3cret", done.stderr)
            self.assertFalse((self.folder / "runs").exists())

    def test_the_textfile_is_whole_and_readable_by_all(self):
        recipe = self.recipe(target="updates = 5", more='[metrics]\ntextfile = "holdfast_digits.prom"\n')
        self.holdfast("run", recipe)
        file = self.folder / "holdfast_digits.prom"
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o644)
        self.assertEqual(file.read_text(), (self.folder / "runs/digits/current/metrics.prom").read_text())
        self.assertEqual(exposition.promtool_faults(file.read_text()), "")

    def test_c98_outcomes_go_on_from_attempt_to_attempt(self):
        recipe = self.recipe(target="updates = 40", more=SAVE_OFTEN + '\n[metrics]\ntextfile = "h.prom"\n')
        self.holdfast("run", recipe, *dies_at(21), code=-KILL)
        throwing = ("--set", "hook.fault.action=throw", "--set", "hook.fault.at=33")
        self.holdfast("run", recipe, *throwing, code=70)
        self.holdfast("run", recipe)
        families = exposition.read((self.folder / "h.prom").read_text())
        counts = {outcome: value(families, "holdfast_run_attempts_total", outcome=outcome)
                  for outcome in ("succeeded", "failed", "preempted", "interrupted")}
        self.assertEqual(counts, {"succeeded": 1, "failed": 1, "preempted": 0, "interrupted": 1})
        self.assertEqual(value(families, "holdfast_run_failures_total", cause="killed_unknown"), 1)
        success = value(families, "holdfast_run_last_success_timestamp_seconds")
        self.holdfast("run", recipe, "--new", *throwing, code=70)
        families = exposition.read((self.folder / "h.prom").read_text())
        self.assertAlmostEqual(value(families, "holdfast_run_last_success_timestamp_seconds"), success, delta=1)
        self.assertEqual(value(families, "holdfast_run_attempts_total", outcome="failed"), 2)

    @unittest.skipUnless(NODE_EXPORTER, "node_exporter is not installed")
    def test_a_real_node_exporter_reads_the_textfile(self):
        folder = self.folder / "collect"
        folder.mkdir()
        for name in ("one", "two"):
            more = f'[metrics]\ntextfile = "collect/holdfast_{name}.prom"\n'
            recipe = self.recipe(f"{name}.toml", target="updates = 5", more=more)
            recipe.write_text(recipe.read_text().replace('name = "digits"', f'name = "{name}"', 1))
            self.holdfast("run", recipe)
        port = free_port()
        process = self.daemon(NODE_EXPORTER, "--collector.disable-defaults", "--collector.textfile",
                              f"--collector.textfile.directory={folder}", f"--web.listen-address=127.0.0.1:{port}")
        self.wait_for_page(f"http://127.0.0.1:{port}/metrics", process)
        page = fetch(f"http://127.0.0.1:{port}/metrics")[1]
        self.assertIn("node_textfile_scrape_error 0\n", page)
        for name in ("one", "two"):
            self.assertIn(f'holdfast_run_last_exit_code{{run="{name}"}} 0\n', page)
            self.assertIn(f'node_textfile_mtime_seconds{{file="{folder}/holdfast_{name}.prom"}}', page)

    @unittest.skipUnless(PUSHGATEWAY, "pushgateway is not installed")
    def test_a_real_pushgateway_keeps_the_last_success_over_a_failure(self):
        port = free_port()
        process = self.daemon(PUSHGATEWAY, f"--web.listen-address=127.0.0.1:{port}")
        url = f"http://127.0.0.1:{port}"
        self.wait_for_page(f"{url}/-/ready", process)
        recipe = self.recipe(target="updates = 5", more=f'[metrics]\npush = "{url}"\n')
        recipe.write_text(recipe.read_text().replace('name = "digits"', 'name = "nightly ü"', 1))
        done = self.holdfast("run", recipe)
        self.assertNotIn("cannot be pushed", done.stderr)
        success = self.pushed(url, "holdfast_run_last_success_timestamp_seconds")
        self.assertGreater(success, 1.7e9)
        self.holdfast("run", recipe, "--new", "--set", "hook.fault.action=throw", "--set", "hook.fault.at=3", code=70)
        self.assertEqual(self.pushed(url, "holdfast_run_last_exit_code"), 70)
        self.assertAlmostEqual(self.pushed(url, "holdfast_run_last_success_timestamp_seconds"), success, delta=1)

    def pushed(self, url, name):
        """The one sample of this name in the gateway's group of the run."""
        page = fetch(f"{url}/metrics")[1]
        found = [line for line in page.splitlines() if line.startswith(name + "{")]
        self.assertEqual(len(found), 1, page)
        self.assertIn('job="holdfast"', found[0])
        self.assertIn('run="nightly ü"', found[0])
        return float(found[0].rsplit(" ", 1)[1])


if __name__ == "__main__":
    main()
