"""Rows against what is used in Python instead, as the scripts of a prepared peers folder run it.

The folder's own worker runs each peer (b1_loop_worker.py, with its models.py and common.py); nothing of it is copied.
"""
import importlib
import json
import pathlib
import statistics
import subprocess
import sys

from first_weights import first_weights
from rows import say, spread
from works import Work, gpt_model

# At least so many times the samples a second of each.
LIMITS = dict(plain=1.3, dataloader=2.0, lightning=5.0, accelerate=2.5)
PACKAGES = dict(plain="torch", dataloader="torch", lightning="lightning", accelerate="accelerate")
FILES = ("b1_loop_worker.py", "models.py", "common.py", "data/train-images-idx3-ubyte", "data/train-labels-idx1-ubyte",
         "data/bytes.bin")
# The peers divide by 255, subtract a mean and divide by this; idx has one divisor. The mean is a constant shift of all
# inputs, which costs nothing at either side and which the biases learn away.
DEVIATION = 0.3081
HOW = ("no rows against Python peers: give --peers FOLDER or HOLDFAST_PEERS, a copy of the peers' scripts prepared by "
       "their setup.sh")
# A last loss is that of one batch of 64 images, from first weights and in an order of the program's own. Around the mean
# of about 0.14 after 1600 updates such losses scatter by about 0.07, so two of them lie 0.1 apart, and three times that is
# no chance. This finds only a side that hardly learned; check_peer_arithmetic is the proof.
LOSS_TOLERANCE = 0.3


class PeersFolder:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.python = self.folder / "venv/bin/python"
        missing = [str(path) for path in (self.python, *(self.folder / name for name in FILES)) if not path.exists()]
        if missing:
            sys.exit(f"bench: {self.folder} is not prepared: {missing[0]} is missing; run its setup.sh first")
        sys.path.insert(0, str(self.folder))
        self.common = importlib.import_module("common")

    def has(self, package):
        look = f"import importlib.util as u; raise SystemExit(u.find_spec({package!r}) is None)"
        return subprocess.run([self.python, "-c", look]).returncode == 0

    def run(self, task, peer, threads, work, scratch):
        """As the Sides give it. The worker reports only after its last update, so `updates` is what was asked."""
        command = [self.python, "b1_loop_worker.py", "--task", task, "--peer", peer, "--threads", threads,
                   "--warm", work.begin, "--steps", work.timed()]
        try:
            got = self.common.worker(command, threads, TMPDIR=scratch)
        except (RuntimeError, subprocess.TimeoutExpired) as failure:
            sys.exit(f"bench: peer {peer}: {failure}")
        unit = 128 if task == "gpt" else 1  # the worker counts tokens there
        return dict(seconds=1e-6 * got["us_per_step"] * work.timed(), updates=work.updates, last_loss=got["loss"],
                    batch=round(got["per_s"] / got["steps_per_s"] / unit), start_seconds=got["first_step_s"],
                    peak_rss_kib=got["rss_mb"] * 1e6 / 1024)


def peer_works(folder, short):
    data = pathlib.Path(folder) / "data"
    images = dict(plugin="idx", images=str(data / "train-images-idx3-ubyte"),
                  labels=str(data / "train-labels-idx1-ubyte"), scale=255 * DEVIATION)
    tokens = dict(plugin="text", files=str(data / "bytes.bin"), context=128, stride=1)
    warm, steps = (5, 40) if short else (100, 1500)
    mlp = Work("peers", "mlp 784-128-10, SGD with momentum, batch 64", dict(plugin="mlp", hidden=[128]), images,
               dict(name="sgd", lr=0.01, momentum=0.9), 64, warm + steps, warm, warm + steps, (784, 128, 10))
    warm, steps = (1, 2) if short else (4, 26)
    gpt = Work("peers-gpt", "gpt of 4 blocks, width 128, context 128, batch 8", gpt_model(), tokens,
               dict(name="adamw", lr=3e-4, weight_decay=0.1), 8, warm + steps, warm, warm + steps, ())
    return {"peers": mlp, "peers-gpt": gpt}


def take_rounds(sides, peers, names, task, work, rounds, warm):
    """{program: [result]}, every program once a round, in turned order every other round."""
    runs = {name: lambda name=name: peers.run(task, name, 1, work, str(sides.folder)) for name in names}
    runs["holdfast"] = lambda: sides.holdfast(work, 1, "shuffled")
    if task == "mlp":
        runs["bare"] = lambda: sides.bare(work, 1, "shuffled", "sgd")
    results = {name: [] for name in runs}
    for number in range(warm + rounds):
        for name in list(runs)[:: -1 if number % 2 else 1]:
            results[name].append(runs[name]())
        say(f"  round {number + 1} of {warm + rounds}")
    return {name: found[warm:] for name, found in results.items()}


def row_of(name, work, results):
    peer, ours = results[name], results["holdfast"]
    low, ratio, high = spread(p["seconds"] / h["seconds"] for p, h in zip(peer, ours))

    def per_second(found):
        return statistics.median(work.batch * work.timed() / r["seconds"] for r in found)

    def median(found, key):
        return statistics.median(r[key] for r in found)

    row = dict(work=work.name, title=work.title, peer=name, threads=1, rounds=len(ours), updates=work.updates,
               batch=peer[0].get("batch", work.batch), limit=LIMITS.get(name) if work.name == "peers" else None,
               peer_per_s=per_second(peer), holdfast_per_s=per_second(ours), ratio=ratio, ratio_low=low,
               ratio_high=high, start_peer=median(peer, "start_seconds"), start_holdfast=median(ours, "start_seconds"),
               rss_peer_mib=max(r["peak_rss_kib"] for r in peer) / 1024,
               rss_holdfast_mib=max(r["peak_rss_kib"] for r in ours) / 1024,
               loss_peer=statistics.fmean(r["last_loss"] for r in peer),
               loss_holdfast=statistics.fmean(r["last_loss"] for r in ours))
    say(f"  {name}: {row['peer_per_s']:.0f} samples/s, holdfast {row['holdfast_per_s']:.0f}, ratio {ratio:.2f}")
    wrong = [r["updates"] for r in ours if r["updates"] != work.updates]
    if wrong or row["batch"] != work.batch:
        sys.exit(f"bench: not the same work: {work.updates} updates of {work.batch} asked, {name} did batches of "
                 f"{row['batch']}, holdfast {ours[0]['updates']} updates")
    return row


def peer_rows(sides, peers, work, rounds, warm):
    task = "mlp" if work.name == "peers" else "gpt"
    names = list(LIMITS) if task == "mlp" else ["plain"]
    for name in [name for name in names if not peers.has(PACKAGES[name])]:
        say(f"no row against {name}: {peers.python} has no {PACKAGES[name]}; run the folder's setup.sh")
        names.remove(name)
    say(f"{work.name}: holdfast against {', '.join(names)}: {rounds} round(s)")
    results = take_rounds(sides, peers, names, task, work, rounds, warm)
    return [row_of(name, work, results) for name in results if name != "holdfast"]


def check_peer_loss(rows):
    """Ends the program when the last losses of the mlp are further apart than chance has them."""
    for row in rows:
        if row["work"] == "peers" and abs(row["loss_peer"] - row["loss_holdfast"]) > LOSS_TOLERANCE:
            sys.exit(f"bench: not the same work: after {row['updates']} updates the loss is {row['loss_peer']:.3f} at "
                     f"{row['peer']} and {row['loss_holdfast']:.3f} in holdfast, more than {LOSS_TOLERANCE} apart")


def check_peer_arithmetic(sides, peers, work, limit=1e-4):
    """The peers' own model and optimizer, with our first weights and in file order, must end at holdfast's loss. The
    relative difference; ends the program when it is more than `limit`."""
    script = str(pathlib.Path(__file__).with_name("peer_check.py"))
    _, text = sides.start([str(peers.python), script, str(peers.folder), first_weights(sides.folder, work),
                           str(work.data["scale"]), str(work.updates)])
    theirs, ours = json.loads(text)["last_loss"], sides.holdfast(work, 1, "file")["last_loss"]
    difference = abs(theirs - ours) / theirs
    if difference > limit:
        sys.exit(f"bench: not the same work: from the same weights in file order {work.updates} updates end at a loss "
                 f"of {theirs} with the peers' model and optimizer and {ours} in holdfast")
    return difference
