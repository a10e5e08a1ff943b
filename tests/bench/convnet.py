#!/usr/bin/env python3
"""Measures the convnet of configs/mnist-convnet.toml in holdfast against a plain PyTorch loop over preloaded tensors.

Interleaved pairs in turned order, compared by the median of their ratios; before that, both sides train without dropout
from the same weights in file order and must end at the same loss. Needs a Python with torch and numpy:
    tests/bench/convnet.py --build build/release --python PYTHON --threads 1 --pairs 15
"""
import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

from first_weights import first_weights
from rows import spread
from sides import Sides
from works import works

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 1.10


def pytorch(python, work, threads, dropout, init=None):
    settings = {**work.model, **work.data, **work.optimizer, "threads": threads, "dropout": dropout, "init": init,
                "batch": work.batch, "updates": work.updates, "begin": work.begin, "end": work.end}
    done = subprocess.run([python, pathlib.Path(__file__).with_name("convnet_loop.py")], input=json.dumps(settings),
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: convnet_loop.py ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def check_same_work(sides, python, work, threads, limit=1e-3):
    ours = sides.holdfast(work, threads, "file")["last_loss"]
    theirs = pytorch(python, work, threads, 0.0, first_weights(sides.folder, work))["last_loss"]
    if abs(ours - theirs) > limit * abs(theirs):
        sys.exit(f"bench: not the same work: from the same weights in file order {work.updates} updates end at a loss "
                 f"of {theirs} in PyTorch and {ours} in holdfast")
    return abs(ours - theirs) / abs(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--python", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=15)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        sides = Sides(asked.build, folder)
        work = works(folder, False)["convnet"]
        difference = check_same_work(sides, asked.python, work, asked.threads)
        dropping = dataclasses.replace(work, model={**work.model, "dropout": 0.25})
        ratios = []
        for number in range(asked.pairs + 1):
            run = [lambda: pytorch(asked.python, work, asked.threads, 0.25)["seconds"],
                   lambda: sides.holdfast(dropping, asked.threads, "shuffled")["seconds"]]
            first = number % 2
            done = {first: run[first](), 1 - first: run[1 - first]()}
            if number > 0:  # the first pair warms the machine up
                ratios.append(done[0] / done[1])
                print(f"pair {number}: PyTorch {done[0]:.2f} s, holdfast {done[1]:.2f} s, ratio {ratios[-1]:.3f}", flush=True)
    low, ratio, high = spread(ratios)
    print(f"convnet, {asked.threads} thread(s), {asked.pairs} pairs: {ratio:.2f} x the samples a second of plain PyTorch "
          f"({low:.2f}-{high:.2f}; wanted: {LIMIT}); from the same weights the last losses differ by {difference:.1e}")


if __name__ == "__main__":
    main()
