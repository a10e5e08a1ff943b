#!/usr/bin/env python3
"""Measures what activation_checkpointing costs and saves on a gpt, next to the plain run and to torch.utils.checkpoint.

Activation peak: peak device memory minus weights, moments and gradients (four times the weights with AdamW). Rounds are
interleaved and compared by the median of their ratios. PyTorch's memory comes from a pass of its own that counts
storages, its time from one without counting. Needs a Python with torch for the peer (--python).
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

RECIPE = """
[run]
name = "activation"
device = "cpu"
threads = {threads}
output = "{output}"
[model]
plugin = "gpt"
depth = {depth}
width = {width}
heads = {heads}
tied = false
[dataset.train]
plugin = "text"
files = "{text}"
context = {context}
drop_last = true
[train]
updates = {updates}
batch_size = {batch}
[optimizer]
name = "adamw"
lr = 1e-4
[hook.stopwatch]
from = 1
to = {updates}
output = "{stopwatch}"
{strategy}
"""

STRATEGIES = {
    "plain": "",
    "checkpointing": "[strategy.activation_checkpointing]\n",
}


def run(command, environment):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"bench: {command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Bench:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.build = pathlib.Path(arguments.build).resolve()
        self.folder = pathlib.Path(folder)
        self.text = self.folder / "text.txt"
        self.text.write_bytes(bytes((i * i * 31 + i // 7) % 251 for i in range(arguments.context * arguments.batch * 64)))
        self.runs = 0

    def holdfast(self, strategy):
        """Seconds an update and activation peak in bytes."""
        a = self.arguments
        self.runs += 1
        home, stopwatch = self.folder / f"home-{self.runs}", self.folder / f"stopwatch-{self.runs}.json"
        recipe = self.folder / f"{self.runs}.toml"
        recipe.write_text(RECIPE.format(output=home, stopwatch=stopwatch, text=self.text, strategy=STRATEGIES[strategy],
                                        **{k: getattr(a, k) for k in ("threads", "depth", "width", "heads", "context",
                                                                      "updates", "batch")}))
        environment = dict(os.environ, HOLDFAST_PLUGIN_PATH=str(self.build / "tests/bench/plugins"))
        told = run([self.build / "holdfast", "run", recipe], environment)
        peak = re.search(r"peak device memory ([\d.]+) ([KMG]?i?B)", told)
        tensors = json.loads(run([self.build / "holdfast", "inspect", home, "--json"], environment))["tensors"]
        weights = sum(4 * count(tensor["shape"]) for tensor in tensors if tensor["file"].startswith("model"))
        seconds = json.loads(stopwatch.read_text())["seconds"] / (a.updates - 1)
        return dict(seconds=seconds, activation=float(peak[1]) * UNITS[peak[2]] - 4 * weights)

    def pytorch(self, strategy):
        a = self.arguments
        script = pathlib.Path(__file__).with_name("activation_peer.py")
        return json.loads(run([a.python, script, a.depth, a.width, a.heads, a.context, a.batch, a.updates, a.threads,
                               int(strategy == "checkpointing")], dict(os.environ)))


def count(shape):
    product = 1
    for extent in shape:
        product *= extent
    return product


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--python", help="a Python with torch; without it no peer is measured")
    parser.add_argument("--rounds", type=int, default=5)
    for name, value in dict(depth=8, width=512, heads=8, context=256, batch=8, updates=5, threads=2).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        sides = [(bench.holdfast, "plain"), (bench.holdfast, "checkpointing")]
        if arguments.python:
            sides += [(bench.pytorch, "checkpointing")]
        rounds = []
        for number in range(arguments.rounds):
            order = list(range(len(sides)))[:: 1 if number % 2 == 0 else -1]
            measured = {index: sides[index][0](sides[index][1]) for index in order}
            rounds.append([measured[index] for index in range(len(sides))])
    median = lambda values: statistics.median(list(values))
    result = dict(
        plain_ms=1e3 * median(r[0]["seconds"] for r in rounds), checkpointing_ms=1e3 * median(r[1]["seconds"] for r in rounds),
        time_ratio=median(r[1]["seconds"] / r[0]["seconds"] for r in rounds),
        plain_mib=rounds[0][0]["activation"] / 2**20, checkpointing_mib=rounds[0][1]["activation"] / 2**20,
        memory_ratio=rounds[0][1]["activation"] / rounds[0][0]["activation"])
    if arguments.python:
        result |= dict(torch_ms=1e3 * median(r[2]["seconds"] for r in rounds),
                       torch_time_ratio=median(r[1]["seconds"] / r[2]["seconds"] for r in rounds),
                       torch_mib=rounds[0][2]["activation"] / 2**20,
                       torch_memory_ratio=rounds[0][1]["activation"] / rounds[0][2]["activation"])
    print(json.dumps({key: round(value, 3) for key, value in result.items()}, indent=2))


if __name__ == "__main__":
    main()
