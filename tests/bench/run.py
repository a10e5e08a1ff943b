#!/usr/bin/env python3
"""Measures `holdfast run` against the same work written by hand in plain LibTorch (bare.cpp), side by side.

Pairs are interleaved (bare, holdfast, holdfast, bare, ...) and compared by the median of their ratios, so that a
machine that slows down slows both. Needs only the standard library. Writes BUILD/bench/results.json and results.md.
"""
import argparse
import array
import dataclasses
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Work:
    """One piece of training, the same for both sides; the clock runs from update `begin` to update `end`."""

    name: str
    images: str
    labels: str
    scale: int
    hidden: str
    batch: int
    updates: int
    begin: int
    end: int


RECIPE = """
[run]
name = "bench"
seed = 7
device = "cpu"
threads = {threads}
output = "{output}"
[model]
plugin = "mlp"
{init}
hidden = [{work.hidden}]
[dataset.train]
plugin = "idx"
images = "{work.images}"
labels = "{work.labels}"
scale = {work.scale}
shuffle = {shuffle}
drop_last = true
[train]
updates = {work.updates}
batch_size = {work.batch}
[optimizer]
name = "adamw"
lr = 1e-3
weight_decay = 0.01
[hook.stopwatch]
from = {work.begin}
to = {work.end}
output = "{stopwatch}"
"""


class Bench:
    def __init__(self, arguments, folder):
        self.build = pathlib.Path(arguments.build).resolve()
        self.folder = pathlib.Path(folder)
        self.python = arguments.python
        self.runs = 0

    def start(self, command, environment=None):
        began = time.clock_gettime(time.CLOCK_MONOTONIC)
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=self.folder)
        if done.returncode != 0:
            sys.exit(f"bench: {command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return began, done.stdout

    @staticmethod
    def judged(result, began):
        result["start_seconds"] = result["first_update_at"] - began
        return result

    def bare(self, work, threads, order, optimizer):
        options = dict(images=work.images, labels=work.labels, scale=work.scale, hidden=work.hidden, batch=work.batch,
                       lr=1e-3, weight_decay=0.01, optimizer=optimizer, order=order, threads=threads, seed=7,
                       updates=work.updates, to=work.end)
        options["from"] = work.begin
        if order == "file":
            options["init"] = first_weights(self.folder, work)
        command = [str(self.build / "tests/bench/bare_loop")]
        for key, value in options.items():
            command += [f"--{key}", str(value)]
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        began, text = self.start(command, environment)
        return self.judged(json.loads(text), began)

    def holdfast(self, work, threads, order):
        self.runs += 1
        recipe, home = self.folder / f"bench-{self.runs}.toml", self.folder / f"home-{self.runs}"
        stopwatch = self.folder / f"stopwatch-{self.runs}.json"
        init = f'init = "{first_weights(self.folder, work)}"' if order == "file" else ""
        recipe.write_text(RECIPE.format(work=work, init=init, threads=threads, output=home, stopwatch=stopwatch,
                                        shuffle=str(order == "shuffled").lower()))
        environment = dict(os.environ, HOLDFAST_PLUGIN_PATH=str(self.build / "tests/bench/plugins"))
        began, _ = self.start([str(self.build / "holdfast"), "run", str(recipe), "--quiet"], environment)
        shutil.rmtree(home)
        return self.judged(json.loads(stopwatch.read_text()), began)

    def pytorch(self, work, threads):
        script = str(pathlib.Path(__file__).with_name("pytorch_start.py"))
        began, text = self.start([self.python, script, work.images, work.labels, str(work.scale), work.hidden,
                                  str(work.batch), str(threads)])
        return self.judged(json.loads(text), began)

    def pairs(self, count, work, threads, order, optimizer):
        """Interleaved pairs as [(bare, holdfast)]; the first pair warms the machine up and is thrown away."""
        result = []
        for number in range(count + 1):
            sides = [lambda: self.bare(work, threads, order, optimizer), lambda: self.holdfast(work, threads, order)]
            first = number % 2
            done = {first: sides[first](), 1 - first: sides[1 - first]()}
            result.append((done[0], done[1]))
        return result[1:]


def micros(result, work, key="seconds"):
    return 1e6 * result[key] / (work.end - work.begin)


def compare(bench, count, work, threads, order, optimizer):
    pairs = bench.pairs(count, work, threads, order, optimizer)
    ratios = sorted(h["seconds"] / b["seconds"] for b, h in pairs)
    row = dict(work=work.name, threads=threads, order=order, optimizer=optimizer, pairs=count,
               bare_us=statistics.median(micros(b, work) for b, _ in pairs),
               holdfast_us=statistics.median(micros(h, work) for _, h in pairs),
               ratio=statistics.median(ratios), ratio_low=ratios[len(ratios) // 4],
               ratio_high=ratios[-len(ratios) // 4],
               extra_us=statistics.median(micros(h, work) - micros(b, work) for b, h in pairs),
               extra_cpu_us=statistics.median(micros(h, work, "loop_cpu_seconds") - micros(b, work, "loop_cpu_seconds")
                                              for b, h in pairs),
               start_bare=statistics.median(b["start_seconds"] for b, _ in pairs),
               start_holdfast=statistics.median(h["start_seconds"] for _, h in pairs),
               start_ratio=statistics.median(h["start_seconds"] / b["start_seconds"] for b, h in pairs),
               rss_bare_mib=max(b["peak_rss_kib"] for b, _ in pairs) / 1024,
               rss_holdfast_mib=max(h["peak_rss_kib"] for _, h in pairs) / 1024,
               loss_bare=pairs[0][0]["last_loss"], loss_holdfast=pairs[0][1]["last_loss"],
               updates_bare=pairs[0][0]["updates"], updates_holdfast=pairs[0][1]["updates"])
    print(f"  {work.name:6} {threads} thread(s) {order:10} {optimizer:6} {row['bare_us']:9.1f} us bare "
          f"{row['holdfast_us']:9.1f} us holdfast  ratio {row['ratio']:.4f}", file=sys.stderr, flush=True)
    return row


def same_work(rows):
    """In file order both sides see the same batches and start from the same weights, so the last loss must agree."""
    worst = 0.0
    for row in rows:
        if row["updates_bare"] != row["updates_holdfast"]:
            sys.exit(f"bench: unequal work: {row['updates_bare']} and {row['updates_holdfast']} updates")
        if row["order"] == "file":
            worst = max(worst, abs(row["loss_holdfast"] - row["loss_bare"]) / abs(row["loss_bare"]))
    return worst


def synthetic(folder, samples=12800):
    """28x28 noise with labels: what the pixels are does not change the time, and nothing is downloaded."""
    noise = random.Random(1)
    images, labels = folder / "images-idx3-ubyte", folder / "labels-idx1-ubyte"
    shape = (samples).to_bytes(4, "big") + (28).to_bytes(4, "big") * 2
    images.write_bytes(b"\0\0\x08\x03" + shape + noise.randbytes(samples * 784))
    digits = bytes(noise.randrange(10) for _ in range(samples))
    labels.write_bytes(b"\0\0\x08\x01" + samples.to_bytes(4, "big") + digits)
    return str(images), str(labels)


def first_weights(folder, work):
    """A safetensors file of uniform values as nn.Linear draws them, in the order of the mlp's parameters."""
    path = folder / f"first-{work.name}.safetensors"
    if path.exists():
        return str(path)
    widths = [64 if work.name == "digits" else 784, *map(int, work.hidden.split(",")), 10]
    header, values, noise = {}, array.array("f"), random.Random(2)
    for layer, (width, out) in enumerate(zip(widths, widths[1:])):
        for name, shape in ((f"{2 * layer}.weight", [out, width]), (f"{2 * layer}.bias", [out])):
            begin = 4 * len(values)
            values.extend(noise.uniform(-1, 1) / width ** 0.5 for _ in range(out * (width if len(shape) > 1 else 1)))
            header[name] = dict(dtype="F32", shape=shape, data_offsets=[begin, 4 * len(values)])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + values.tobytes())
    return str(path)


def works(folder, short):
    images, labels = synthetic(folder)
    digits = ROOT / "configs/data/digits"
    mlp = Work("mlp", images, labels, 255, "512,512", 64, *((60, 10, 55) if short else (420, 20, 415)))
    small = Work("digits", str(digits / "train-images-idx3-ubyte.gz"), str(digits / "train-labels-idx1-ubyte.gz"), 16,
                 "128", 32, *((400, 50, 390) if short else (4000, 200, 3900)))
    return mlp, small


def figures(rows, pytorch_start):
    """What issue and README promise, as (text, value, limit)."""
    found = []
    for row in rows:
        if row["optimizer"] != "fused" or row["order"] != "shuffled":
            continue
        if row["work"] == "mlp":
            found.append((f"mlp, {row['threads']} thread(s): time against the bare loop", row["ratio"], 1.02))
        else:
            found.append((f"digits, {row['threads']} thread(s): more us an update", row["extra_us"], 15.0))
            found.append((f"digits, {row['threads']} thread(s): start to first update against the bare program",
                          row["start_ratio"], 1.25))
            if pytorch_start:
                found.append((f"digits, {row['threads']} thread(s): start against a PyTorch script",
                              row["start_holdfast"] / pytorch_start, 0.2))
    return found


def markdown(rows, found, worst_loss, pytorch_start):
    lines = ["| work | threads | order | bare AdamW | bare us | holdfast us | ratio (quartiles) | extra us | "
             "loop CPU extra us | peak MiB bare / holdfast |", "|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r['work']} | {r['threads']} | {r['order']} | {r['optimizer']} | {r['bare_us']:.1f} | "
                     f"{r['holdfast_us']:.1f} | {r['ratio']:.3f} ({r['ratio_low']:.3f}..{r['ratio_high']:.3f}) | "
                     f"{r['extra_us']:.1f} | {r['extra_cpu_us']:.1f} | "
                     f"{r['rss_bare_mib']:.0f} / {r['rss_holdfast_mib']:.0f} |")
    lines += ["", "| figure | measured | limit | |", "|---|---|---|---|"]
    lines += [f"| {text} | {value:.3f} | {limit} | {'met' if value <= limit else 'MISSED'} |"
              for text, value, limit in found]
    lines += ["", f"Same work: the last losses in file order differ by {worst_loss:.1e} (relative)."]
    for r in rows:
        if r["work"] == "digits" and r["order"] == "shuffled" and r["optimizer"] == "fused":
            torch_text = f", PyTorch script {pytorch_start:.2f} s" if pytorch_start else ""
            lines.append(f"Start to first update, {r['threads']} thread(s): bare {r['start_bare']:.2f} s, "
                         f"holdfast {r['start_holdfast']:.2f} s{torch_text}.")
    return "\n".join(lines) + "\n"


def torch_python(asked):
    for candidate in filter(None, [asked, os.environ.get("HOLDFAST_PYTHON"), "python3"]):
        look = "import importlib.util as u; raise SystemExit(u.find_spec('torch') is None)"
        probe = subprocess.run([candidate, "-c", look])
        if probe.returncode == 0:
            return candidate
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/release"), help="the build folder")
    parser.add_argument("--pairs", type=int, default=15, help="pairs a row (15)")
    parser.add_argument("--threads", default="1,2", help="thread counts (1,2)")
    parser.add_argument("--short", action="store_true", help="few updates and rows: does it work at all?")
    parser.add_argument("--python", help="a Python with torch, for the start-up comparison")
    parser.add_argument("--check", action="store_true", help="end with 1 when a figure is missed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        arguments.python = torch_python(arguments.python)
        bench = Bench(arguments, folder)
        mlp, digits = works(pathlib.Path(folder), arguments.short)
        rows = []
        for threads in map(int, arguments.threads.split(",")):
            for work in (mlp, digits):
                rows.append(compare(bench, arguments.pairs, work, threads, "shuffled", "fused"))
                rows.append(compare(bench, max(1, arguments.pairs // 5), work, threads, "file", "fused"))
            rows.append(compare(bench, max(1, arguments.pairs // 5), mlp, threads, "shuffled", "module"))
        starts = [bench.pytorch(digits, 1)["start_seconds"] for _ in range(1 if arguments.short else 5)] \
            if arguments.python else []
    pytorch_start = statistics.median(starts) if starts else None
    worst_loss, found = same_work(rows), figures(rows, pytorch_start)
    text = markdown(rows, found, worst_loss, pytorch_start)
    output = bench.build / "bench"
    output.mkdir(exist_ok=True)
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(
        dict(rows=rows, figures=found, pytorch_start=pytorch_start, worst_loss_difference=worst_loss,
             load=os.getloadavg(), cpus=os.cpu_count()), indent=1) + "\n")
    print(text, end="")
    print(f"written: {output / 'results.json'}, {output / 'results.md'}", file=sys.stderr)
    if worst_loss > 1e-3:
        sys.exit("bench: the two sides did not do the same work")
    if arguments.check and any(value > limit for _, value, limit in found):
        sys.exit(1)


if __name__ == "__main__":
    main()
