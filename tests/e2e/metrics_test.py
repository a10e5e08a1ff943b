"""Metrics from outside: scraped while training, written at the end, listed; ports that cannot be had."""

import concurrent.futures
import pathlib
import shutil
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import exposition
from harness import COMMAND, KILL, PATIENCE, ROOT, TERM, Case, main, strict_json

SLOW = '[hook.fault]\naction = "sleep"\ntimes = 1000000\nsleep = "0.02 s"\n'
LISTEN = '[metrics]\nlisten = "127.0.0.1:{port}"\n'


def fetch(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def value(families, name, /, **labels):
    """The value of the one sample of this name whose labels hold these."""
    family = name
    while family not in families and "_" in family:
        family = family.rsplit("_", 1)[0]
    found = [v for (sample, given), v in families[family]["samples"].items()
             if sample == name and labels.items() <= dict(given).items()]
    assert len(found) == 1, (name, labels, found)
    return found[0]


class Metrics(Case):
    def catalogue(self):
        return {row["name"]: row for row in strict_json(self.holdfast("metrics", "--list", "--json").stdout)}

    def url(self, home, process):
        """Of the endpoint, once status.json tells it."""
        status = home / "current/status.json"
        self.wait_for(lambda: status.exists() and strict_json(status.read_text())["metrics_url"], process)
        return strict_json(status.read_text())["metrics_url"]

    def check(self, text):
        """The text read strictly; names, types and help are those of the catalogue."""
        families = exposition.read(text)
        self.assertEqual(exposition.promtool_faults(text), "")
        catalogue = self.catalogue()
        for name, family in families.items():
            self.assertEqual((family["type"], family["help"]), (catalogue[name]["type"], catalogue[name]["help"]))
            for _, labels in family["samples"]:
                names = {label for label, _ in labels} - {"le"}
                self.assertEqual(names, set(catalogue[name]["labels"]), name)
        return families

    def prom(self, home):
        return (home / "current/metrics.prom").read_text()

    def test_a_run_is_scraped_while_it_trains_and_the_counters_grow(self):
        recipe = self.recipe(target="updates = 400", eval_every="50 updates", more=SLOW + LISTEN.format(port=0))
        process = self.start("run", recipe)
        home = self.folder / "runs/digits"
        url = self.url(home, process)
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/metrics$")
        seen = []
        while process.poll() is None and len(seen) < 4:
            kind, text = fetch(url)
            self.assertEqual(kind, "text/plain; version=0.0.4; charset=utf-8")
            seen.append(self.check(text))
            time.sleep(0.5)
        process.send_signal(TERM)
        done = self.finish(process)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn(f"metrics at {url}", done.stderr)
        updates = [value(families, "holdfast_updates_total") for families in seen]
        self.assertEqual(updates, sorted(updates))
        self.assertGreater(updates[-1], updates[0])
        self.assertEqual(value(seen[-1], "holdfast_run_state", state="running"), 1)
        self.assertGreater(value(seen[-1], "holdfast_memory_resident_bytes"), 1e7)
        self.assertIsNone(self.status(home)["metrics_url"])
        with self.assertRaises(urllib.error.URLError):
            fetch(url)
        last = self.check(self.prom(home))
        self.assertEqual(value(last, "holdfast_run_state", state="preempted"), 1)
        self.assertEqual(value(last, "holdfast_run_last_exit_code"), 75)
        self.assertNotIn("holdfast_run_last_success_timestamp_seconds", last)

    def test_a_finished_run_exports_every_metric_of_the_catalogue(self):
        recipe = self.recipe(target="updates = 30", more='[hook.fault]\naction = "gauge"\nat = 3\n'
                             '[memory]\ndevice_budget = "1GiB"\n')
        self.holdfast("run", recipe)
        home = self.folder / "runs/digits"
        families = self.check(self.prom(home))
        self.assertEqual(value(families, "holdfast_memory_budget_bytes", domain="device"), 1 << 30)
        self.assertGreater(value(families, "holdfast_memory_peak_allocated_bytes", domain="device"), 40_000)
        self.assertGreater(value(families, "holdfast_memory_peak_allocated_bytes", domain="host"), 4_000)
        self.assertEqual(set(self.catalogue()) - set(families), {"holdfast_loss_scale", "holdfast_run_expected_interval_seconds"})
        status = self.status(home)
        self.assertEqual(value(families, "holdfast_run_update"), 30)
        self.assertEqual(value(families, "holdfast_target_updates"), 30)
        self.assertEqual(value(families, "holdfast_updates_total"), 30)
        self.assertEqual(value(families, "holdfast_update_duration_seconds_count", phase="compute"), 30)
        self.assertEqual(value(families, "holdfast_samples_total"), status["samples_seen"])
        self.assertAlmostEqual(value(families, "holdfast_eval_metric", metric="accuracy"), status["scores"]["accuracy"], 12)
        self.assertEqual(value(families, "holdfast_run_info", run_id=status["generation"], device="cpu"), 1)
        self.assertEqual(value(families, "holdfast_component_value", component="hook.fault", name="number"), 3)
        self.assertEqual(value(families, "holdfast_run_last_exit_code"), 0)
        for stage in ("forward", "backward", "optimizer", "evaluation", "checkpoint"):
            self.assertGreater(value(families, "holdfast_stage_seconds_total", stage=stage), 0, stage)

    def test_counters_begin_at_zero_in_each_process_and_gauges_go_on(self):
        recipe = self.recipe(target="updates = 60", more=SLOW + '[hook.periodic_checkpoint]\nevery = "10 updates"\n')
        home = self.folder / "runs/digits"
        process = self.start("run", recipe)
        self.wait_for(lambda: self.saved_update(home) >= 20, process)
        process.send_signal(KILL)
        process.wait()
        begun = self.saved_update(home)
        self.holdfast("run", recipe)
        families = self.check(self.prom(home))
        self.assertEqual(value(families, "holdfast_updates_total"), 60 - begun)
        self.assertEqual(value(families, "holdfast_run_update"), 60)
        self.assertEqual(value(families, "holdfast_run_attempt"), 2)
        self.assertEqual(value(families, "holdfast_checkpoint_duration_seconds_count", op="load"), 1)

    def test_c94_a_taken_port_is_one_warning_and_training_goes_on(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            done = self.holdfast("run", self.recipe(target="updates = 5", more=LISTEN.format(port=port)))
        self.assertEqual(done.stderr.count(
            f"metrics: cannot listen on 127.0.0.1:{port}: Address already in use; training goes on without the endpoint"), 1)
        self.assertEqual(value(exposition.read(self.prom(self.folder / "runs/digits")), "holdfast_updates_total"), 5)

    def test_c94_a_port_that_cannot_be_is_refused_before_training(self):
        recipe = self.recipe(target="updates = 5", more=LISTEN.format(port=70000))
        for command in ("validate", "run"):
            done = self.holdfast(command, recipe, code=78)
            self.assertIn("error[recipe.bad_address]: 'metrics.listen' must be an address and a port", done.stderr)
        self.assertFalse((self.folder / "runs").exists())

    def test_c94_two_runs_of_one_batch_use_the_same_port_one_after_another(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        recipes = []
        for name in ("a", "b"):
            recipe = self.recipe(name + ".toml", target="updates = 20", more=SLOW + LISTEN.format(port=port))
            recipe.write_text(recipe.read_text().replace('name = "digits"', f'name = "{name}"', 1))
            recipes.append(recipe)
        done = self.holdfast("run", *recipes)
        self.assertEqual(done.stderr.count(f"metrics at http://127.0.0.1:{port}/metrics"), 2, done.stderr)
        self.assertNotIn("cannot listen", done.stderr)

    def test_c95_a_hostile_run_name_reads_back(self):
        name = 'a "quoted" \\back\\ ünïcode 🎉'
        recipe = self.recipe(target="updates = 5", more="")
        recipe.write_text(recipe.read_text().replace('name = "digits"', f"name = '{name}'", 1))
        self.holdfast("run", recipe, env=self.environment(LC_ALL="de_DE.UTF-8", LC_NUMERIC="de_DE.UTF-8"))
        families = self.check(self.prom(self.folder / "runs" / name))
        self.assertEqual(value(families, "holdfast_updates_total", run=name), 5)

    def test_c97_stalled_clients_bursts_and_endless_headers_delay_neither_training_nor_scrape_nor_stop(self):
        recipe = self.recipe(target="updates = 100000", more=SLOW + LISTEN.format(port=0))
        process = self.start("run", recipe)
        home = self.folder / "runs/digits"
        url = self.url(home, process)
        port = int(url.split(":")[2].split("/")[0])
        stalled = [socket.create_connection(("127.0.0.1", port)) for _ in range(25)]
        for client in stalled[::2]:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHo")
        for client in stalled[1::2]:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50)  # and never reads
        before = value(self.check(fetch(url)[1]), "holdfast_updates_total")
        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: fetch(url)[1], range(1000)))
        self.assertTrue(all(text.endswith("\n") and "holdfast_updates_total" in text for text in answers))
        self.assertIn(self.endless_header(port), (b"HTTP/1.1 431", b""))
        self.assertLess(len(list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir())), 200)
        self.wait_for(lambda: value(exposition.read(fetch(url)[1]), "holdfast_updates_total") > before, process)
        process.send_signal(TERM)
        self.assertEqual(self.finish(process).returncode, 75)
        for client in stalled:
            client.close()

    def endless_header(self, port):
        """The beginning of the answer to a request whose header has 1 MB."""
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            try:
                client.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 1_000_000)
                return client.recv(12)
            except ConnectionError:
                return b""  # closed before its end was sent

    def test_a_failed_run_tells_its_exit_code(self):
        recipe = self.recipe(target="updates = 50", more='[hook.fault]\naction = "throw"\nat = 3\n')
        process = self.start("run", recipe)
        code = self.finish(process).returncode
        self.assertNotEqual(code, 0)
        families = self.check(self.prom(self.folder / "runs/digits"))
        self.assertEqual(value(families, "holdfast_run_last_exit_code"), code)
        self.assertEqual(value(families, "holdfast_run_state", state="failed"), 1)

    def test_the_documentation_is_the_list_and_the_front_links_no_server(self):
        self.assertEqual((ROOT / "runner/docs/metrics.md").read_text(),
                         self.holdfast("metrics", "--list", "--markdown").stdout)
        self.assertIn("holdfast_updates_total{run}  counter\n", self.holdfast("metrics", "--list").stdout)
        self.assertIn("--list is missing", self.holdfast("metrics", code=64).stderr)
        libraries = subprocess.run(["ldd", COMMAND], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("microhttpd", libraries)

    @unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
    def test_a_real_prometheus_scrapes_a_run(self):
        recipe = self.recipe(target="updates = 100000", more=SLOW + LISTEN.format(port=0))
        process = self.start("run", recipe)
        target = self.url(self.folder / "runs/digits", process).split("/")[2]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        config = self.folder / "prometheus.yml"
        config.write_text("global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: holdfast\n"
                          f"    static_configs: [{{targets: ['{target}']}}]\n")
        server = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={self.folder}/data",
                                   f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.started.append(server)

        def updates():
            try:
                found = fetch(f"http://127.0.0.1:{port}/api/v1/query?query=holdfast_updates_total")[1]
            except (urllib.error.URLError, ConnectionError):
                return 0
            result = strict_json(found)["data"]["result"]
            return float(result[0]["value"][1]) if result else 0

        self.wait_for(lambda: updates() > 0, server)
        process.send_signal(TERM)
        self.assertEqual(self.finish(process).returncode, 75)


if __name__ == "__main__":
    main()
