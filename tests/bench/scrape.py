#!/usr/bin/env python3
"""Measures what the endpoint costs a run: training with a scrape each second against training without an endpoint.

Interleaved pairs (plain, scraped, scraped, plain, ...) of configs/digits.toml, compared by the median of their ratios of time an
update as the run itself measured it; then a run with 25 stalled clients, the time of a good scrape beside them and of the stop.
Needs only the standard library. `ninja bench_scrape`, or by hand: tests/bench/scrape.py --build build/release --pairs 5
"""
import argparse
import json
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]


def start(build, output, updates, *sets):
    command = [build / "holdfast", "run", ROOT / "configs/digits.toml", "--output", output, "--quiet",
               "--set", f"train.updates={updates}", "--set", "train.eval_every=1000000 updates", *sets]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def url_of(output, process):
    status = output / "current/status.json"
    while process.poll() is None:
        if status.exists() and (url := json.loads(status.read_text())["metrics_url"]):
            return url
        time.sleep(0.01)
    raise SystemExit("the run ended before its endpoint was there")


def fetch(url):
    begin = time.perf_counter()
    with urllib.request.urlopen(url, timeout=60) as answer:
        answer.read()
    return time.perf_counter() - begin


def seconds_an_update(output):
    """From metrics.prom: waiting for data and computing, by the number of windows."""
    text = (output / "current/metrics.prom").read_text()
    total = sum(map(float, re.findall(r"^holdfast_update_duration_seconds_sum\S* (\S+)$", text, re.M)))
    return total / float(re.search(r"^holdfast_updates_total\S* (\S+)$", text, re.M).group(1))


def plain(build, folder, updates):
    start(build, folder, updates).wait()
    return seconds_an_update(folder)


def scraped(build, folder, updates):
    process = start(build, folder, updates, "--set", "metrics.listen=127.0.0.1:0")
    url, over = url_of(folder, process), threading.Event()

    def scrape():
        while not over.wait(1):
            try:
                fetch(url)
            except OSError:
                return

    scraper = threading.Thread(target=scrape)
    scraper.start()
    process.wait()
    over.set()
    scraper.join()
    return seconds_an_update(folder)


def stalled(build, folder):
    process = start(build, folder, 10_000_000, "--set", "metrics.listen=127.0.0.1:0")
    url = url_of(folder, process)
    port = int(url.split(":")[2].split("/")[0])
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(25)]
    for client in clients[::2]:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHo")
    scrapes = [fetch(url) for _ in range(20)]
    begin = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    process.wait()
    return {"scrape_median_ms": 1e3 * statistics.median(scrapes), "scrape_worst_ms": 1e3 * max(scrapes),
            "stop_and_save_ms": 1e3 * (time.perf_counter() - begin)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--updates", type=int, default=20000)
    given = parser.parse_args()
    build = given.build.resolve()
    ratios = []
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as top:
        top = pathlib.Path(top)
        for pair in range(given.pairs):
            order = (plain, scraped) if pair % 2 == 0 else (scraped, plain)
            took = {side: side(build, top / f"{pair}-{side.__name__}", given.updates) for side in order}
            ratios.append(took[scraped] / took[plain])
            print(f"pair {pair + 1}: plain {1e6 * took[plain]:.1f} us, scraped {1e6 * took[scraped]:.1f} us an update, "
                  f"ratio {ratios[-1]:.4f}", flush=True)
        beside = stalled(build, top / "stalled")
    print(f"scraped each second against no endpoint: {statistics.median(ratios):.4f} (limit 1.01)")
    print(f"beside 25 stalled clients: a scrape takes {beside['scrape_median_ms']:.1f} ms, at worst "
          f"{beside['scrape_worst_ms']:.1f} ms (limit 1000); stop and save {beside['stop_and_save_ms']:.0f} ms")
    meter = build / "tests/bench/meter"
    if meter.exists():
        print(f"without a run: {subprocess.run([meter], capture_output=True, text=True, check=True).stdout.strip()}")


if __name__ == "__main__":
    main()
