#!/usr/bin/env python3
"""Stall of the training thread by a save in the background: against a plain copy of the state and against torch.save.

Limits: from the second save on at most 1.2 times a plain memcpy and a quarter of torch.save of the same bytes in the same
folder; the writer reaches at least 0.8 of a plain write + fsync (reading back not counted). Rounds of both sides are
interleaved. Needs a Python with torch for the peer (--python).
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

PEER = """
import os, sys, time, torch
folder, megabytes, threads, rounds = sys.argv[1], *map(int, sys.argv[2:5])
torch.set_num_threads(threads)
state = {f"t{i}": torch.randn(megabytes * 2**18 // 24) for i in range(24)}
for i in range(rounds + 1):
    began = time.perf_counter()
    torch.save(state, folder + "/peer.pt")
    if i:
        print(time.perf_counter() - began)
os.unlink(folder + "/peer.pt")
"""


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--build", default="build/release", type=pathlib.Path)
    options.add_argument("--folder", help="where checkpoints go (default: a folder below the build)")
    options.add_argument("--megabytes", default=1024, type=int)
    options.add_argument("--threads", default=2, type=int)
    options.add_argument("--rounds", default=5, type=int)
    options.add_argument("--times", default=3, type=int, help="how often both sides are started")
    options.add_argument("--python", help="a Python with torch, for the peer")
    options.add_argument("--check", action="store_true", help="end with 1 when a limit is missed")
    given = options.parse_args()
    ours, peer = [], []
    with tempfile.TemporaryDirectory(dir=given.folder or given.build) as folder:
        figures = [folder, given.megabytes, given.threads, given.rounds]
        for _ in range(given.times):
            with tempfile.TemporaryDirectory(dir=folder) as own:
                ours.append(json.loads(run([given.build / "tests/bench/save_stall", own, *figures[1:]])))
            if given.python:
                peer += map(float, run([given.python, "-c", PEER, *figures]).split())
    stall = statistics.median(s for one in ours for s in one["stall"])
    rows = [("stall / memcpy", statistics.median(one["stall_to_memcpy"] for one in ours), 1.2),
            ("plain write + fsync / background", -statistics.median(one["write_to_background"] for one in ours), -0.8)]
    if peer:
        rows.append(("stall / torch.save", stall / statistics.median(peer), 0.25))
    print(f"{given.megabytes} MB, {given.threads} threads: the training thread waits {stall * 1000:.0f} ms")
    missed = False
    for name, value, limit in rows:
        missed = missed or value > limit
        print(f"{name:34} {abs(value):7.3f}   limit {'at least' if limit < 0 else 'at most'} {abs(limit)}"
              f"{'   MISSED' if value > limit else ''}")
    sys.exit(1 if missed and given.check else 0)


if __name__ == "__main__":
    main()
