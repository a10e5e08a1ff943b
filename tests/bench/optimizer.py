#!/usr/bin/env python3
"""Measures one AdamW step over 67 million parameters: holdfast, LibTorch, PyTorch, DeepSpeed and the memory's bandwidth.

Each program runs in a process of its own, in turn, every other round in turned order; figures are medians over rounds of
medians over steps, so that a machine that slows down slows all. By hand, with a Python that has torch and perhaps deepspeed:
    tests/bench/optimizer.py --build build/release --python PYTHON
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS, HOST, LOOP = "holdfast", "holdfast, moments on the host", "loop of 4 reads and 3 writes"
LIMITS = {"LibTorch optim::AdamW": 4.0, "PyTorch fused AdamW": 1.0, "DeepSpeed CPU Adam": 1.0, LOOP: 0.9}


def measure(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--python", help="a Python with torch, for the peers; none without it")
    parser.add_argument("--millions", type=int, default=67)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    size = [asked.millions, asked.threads]
    program = asked.build.resolve() / "tests/bench/optimizer_bench"
    commands = [[program, *size], [program, *size, "libtorch"]]
    if asked.python:
        commands.append([asked.python, pathlib.Path(__file__).with_name("optimizer_peers.py"), *size])
    rounds = []
    for number in range(asked.rounds):
        found = {}
        for command in commands[:: -1 if number % 2 else 1]:
            found.update(measure(command))
        rounds.append(found)
    print(f"One AdamW step, {asked.millions} million parameters, {asked.threads} thread(s), {asked.rounds} round(s)\n")
    print("| | ms | time against holdfast | wanted |\n|---|---|---|---|")
    for name in sorted(rounds[0], key=lambda name: statistics.median(found[name] for found in rounds)):
        time = statistics.median(found[name] for found in rounds)
        ratio = statistics.median(found[name] / found[OURS] for found in rounds)
        wanted = "≤ 1.03" if name == HOST else f"≥ {LIMITS[name]}" if name in LIMITS else ""
        print(f"| {name} | {time:.1f} | {ratio:.2f} × | {wanted} |")
    bytes_moved = 28e6 * asked.millions
    print(f"\nThe loop moves {bytes_moved / 1e6 / statistics.median(found[LOOP] for found in rounds):.1f} GB a second.")


if __name__ == "__main__":
    main()
