#!/usr/bin/env python3
"""Measures `holdfast run` against the same work written by hand in plain LibTorch (bare/), and against Python peers.

Runs are interleaved (bare, holdfast, holdfast, bare, ...) and compared by the median of their ratios, so that a machine
that slows down slows both. Needs only the standard library. Writes results.json and results.md below BUILD/bench; rows
that were not asked for stay there from the run before. On two idle cores about 20 minutes without peers, 8 with
`--works peers,peers-gpt` alone, 10 with `--works activation`.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import activation
import peers as peer_side
from report import figures, markdown
from rows import check_same_work, rows_of, say
from sides import Sides
from works import works

ROOT = pathlib.Path(__file__).resolve().parents[2]
BARE, PEERS, ACTIVATION = ("mlp", "digits", "convnet", "gpt"), ("peers", "peers-gpt"), (activation.NAME,)
ALL = BARE + PEERS + ACTIVATION


def torch_python(asked, build):
    """A Python that has torch: the one asked for, that of the build's tests, or that of the path. None without."""
    cache = pathlib.Path(build) / "CMakeCache.txt"
    known = re.findall(r"^HOLDFAST_PYTHON:\w+=(.+)$", cache.read_text(), re.M) if cache.exists() else []
    for candidate in filter(None, [asked, *known, "python3"]):
        look = "import importlib.util as u; raise SystemExit(u.find_spec('torch') is None)"
        if subprocess.run([candidate, "-c", look]).returncode == 0:
            return candidate
    return None


def arguments_of(command_line):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="\n".join(__doc__.splitlines()[2:]))
    parser.add_argument("--build", default=str(ROOT / "build/release"), help="the build folder (build/release)")
    parser.add_argument("--works", default=",".join(ALL), help="which rows: some of " + ",".join(ALL))
    parser.add_argument("--peers", default=os.environ.get("HOLDFAST_PEERS"),
                        help="a prepared folder of the peers' scripts (HOLDFAST_PEERS)")
    parser.add_argument("--pairs", type=int, help="pairs a row (15)")
    parser.add_argument("--rounds", type=int, help="rounds of the peers and of activation (7)")
    parser.add_argument("--threads", help="thread counts of the rows against the bare loop (1,2)")
    parser.add_argument("--short", action="store_true",
                        help="few updates, one pair, no figure worth reading, in BUILD/bench/short: does it work at all?")
    parser.add_argument("--python", help="a Python with torch, for the start-up and activation comparisons")
    parser.add_argument("--check", action="store_true", help="end with 1 when a figure is missed")
    arguments = parser.parse_args(command_line)
    arguments.works = arguments.works.split(",")
    for name in arguments.works:
        if name not in ALL:
            parser.error(f"--works: no rows '{name}'; there are {', '.join(ALL)}")
    arguments.pairs = arguments.pairs or (1 if arguments.short else 15)
    arguments.rounds = arguments.rounds or (1 if arguments.short else 7)
    arguments.threads = [int(n) for n in (arguments.threads or ("1" if arguments.short else "1,2")).split(",")]
    return arguments


def stamped(rows, load):
    """Rows say when and on how busy a machine they were taken, since a later run may replace only some."""
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return [dict(row, measured=when, load=load) for row in rows]


def measure_bare(sides, arguments):
    python, rows, known = torch_python(arguments.python, sides.build), [], works(sides.folder, arguments.short)
    for name in BARE:
        for threads in arguments.threads if name in arguments.works else []:
            load = os.getloadavg()[0]
            rows += stamped(rows_of(sides, known[name], threads, arguments.pairs, python), load)
    check_same_work(rows)
    return rows


def measure_peers(sides, arguments, folder):
    rows = []
    for name, work in peer_side.peer_works(folder.folder, arguments.short).items():
        if name not in arguments.works:
            continue
        load = os.getloadavg()[0]
        found = peer_side.peer_rows(sides, folder, work, arguments.rounds, 0 if arguments.rounds == 1 else 1)
        if name == "peers":
            difference = peer_side.check_peer_arithmetic(sides, folder, work)
            found = [dict(row, arithmetic=difference) for row in found]
        rows += stamped(found, load)
    if not arguments.short:  # a few updates from other first weights leave losses that chance decides
        peer_side.check_peer_loss(rows)
    return rows


def measure_activation(sides, arguments):
    if activation.NAME not in arguments.works:
        return []
    load = os.getloadavg()[0]
    python = torch_python(arguments.python, sides.build)
    return stamped(activation.activation_rows(sides, python, arguments.threads, arguments.rounds, arguments.short), load)


def merged(old, new, key, order):
    """The new rows, and those old ones that were not measured anew, in the order of the works."""
    taken = {key(row) for row in new}
    rows = [row for row in old if key(row) not in taken] + new
    return sorted(rows, key=lambda row: order.index(row["work"]))


def keep(output, bare, peers, short=False, activations=()):
    output.mkdir(parents=True, exist_ok=True)
    path = output / "results.json"
    old = json.loads(path.read_text()) if path.exists() else {}
    results = dict(
        cpus=os.cpu_count(), short=short,
        bare=merged(old.get("bare", []), bare, lambda r: (r["work"], r["threads"], r["order"], r["optimizer"]), BARE),
        peers=merged(old.get("peers", []), peers, lambda r: (r["work"], r["peer"]), PEERS),
        activation=merged(old.get("activation", []), list(activations), lambda r: (r["title"], r["threads"]), ACTIVATION))
    results["figures"] = figures(results["bare"], results["peers"], results["activation"])
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    (output / "results.md").write_text(markdown(results))
    print(markdown(results), end="")
    print(f"written: {path}, {output / 'results.md'}", file=sys.stderr)
    return results


def main(command_line=None):
    arguments = arguments_of(command_line)
    wants_peers = any(name in PEERS for name in arguments.works)
    folder = peer_side.PeersFolder(arguments.peers) if wants_peers and arguments.peers else None
    if wants_peers and not folder:
        print(peer_side.HOW, file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as scratch:
        sides = Sides(arguments.build, scratch)
        bare = measure_bare(sides, arguments)
        peers = measure_peers(sides, arguments, folder) if folder else []
        activations = measure_activation(sides, arguments)
    if not bare and not peers and not activations:
        sys.exit("bench: nothing was measured")
    results = keep(sides.build / "bench" / ("short" if arguments.short else ""), bare, peers,
                   arguments.short, activations)
    say("done")
    if arguments.check and not all(f["met"] for f in results["figures"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
