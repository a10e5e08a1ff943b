"""The row of activation_checkpointing on a gpt: what it costs and saves against the plain run, and against PyTorch's
torch.utils.checkpoint (activation_peer.py), in the same rounds.

Activation peak: the peak of device memory minus weights, moments and gradients. It is taken with two micro-batches, so
that all gradients are there from the second one on and are no part of what is compared; bytes are the same each time, so
once is enough. PyTorch's comes from a pass of its own that counts storages, its time from one without counting.
"""
import dataclasses
import json
import os
import pathlib
import random
import shutil
import statistics

from rows import say, spread
from sides import RECIPE, toml

NAME = "activation"
# Time and activation peak against the plain run, then against PyTorch.
LIMITS = dict(time_ratio=1.33, memory_ratio=0.25, torch_time_ratio=1.02, torch_memory_ratio=1.0)
CHECKPOINTING = "[strategy.activation_checkpointing]\n"


@dataclasses.dataclass(frozen=True)
class Shape:
    depth: int
    width: int
    heads: int
    context: int
    batch: int
    updates: int

    # What the recipe's text asks of a work.
    begin = 1

    @property
    def end(self):
        return self.updates

    @property
    def title(self):
        return f"gpt of {self.depth} blocks, width {self.width}, context {self.context}, batch {self.batch}"


def shape_of(short):
    return Shape(3, 64, 4, 32, 4, 3) if short else Shape(8, 512, 8, 256, 8, 5)


class Sides:
    """The programs of this row; `sides` starts processes."""

    def __init__(self, sides, shape, python, threads):
        self.sides, self.shape, self.python, self.threads = sides, shape, python, threads
        self.text = sides.folder / "activation.bin"
        self.text.write_bytes(random.Random(5).randbytes(shape.context * shape.batch * 64))
        self.environment = dict(os.environ, HOLDFAST_PLUGIN_PATH=str(sides.build / "tests/bench/plugins"))

    def recipe(self, name, strategy, batch):
        s, folder = self.shape, self.sides.folder
        path = folder / f"activation-{name}.toml"
        text = RECIPE.format(
            work=dataclasses.replace(s, batch=batch), threads=self.threads, output=folder / f"activation-{name}",
            stopwatch=folder / f"activation-{name}.json",
            model=toml(dict(plugin="gpt", depth=s.depth, width=s.width, heads=s.heads, tied=False)),
            data=toml(dict(plugin="text", files=str(self.text), context=s.context)),
            optimizer=toml(dict(name="adamw", lr=1e-4)))
        path.write_text(text + strategy)
        return path

    def seconds(self, name, strategy):
        """Of one update of a run."""
        recipe = self.recipe(name, strategy, self.shape.batch)
        self.sides.start([str(self.sides.build / "holdfast"), "run", str(recipe), "--quiet", "--new"], self.environment)
        shutil.rmtree(self.sides.folder / f"activation-{name}")
        told = json.loads((self.sides.folder / f"activation-{name}.json").read_text())
        return told["seconds"] / (self.shape.updates - 1)

    def activations(self, name, strategy):
        """Bytes of the activation peak."""
        split = f"[strategy.accumulate]\nmicro_batch_size = {self.shape.batch}\n"
        recipe = self.recipe(name, strategy + split, 2 * self.shape.batch)
        _, text = self.sides.start([str(self.sides.build / "holdfast"), "plan", str(recipe), "--measure", "--updates", "2",
                                    "--json"], self.environment)
        memory = json.loads(text)["measured"]["memory"]
        return memory["peak_bytes"] - sum(memory[f"{part}_bytes"] for part in ("weights", "moments", "gradients", "other"))

    def pytorch(self):
        """Seconds of one update and bytes of the activation peak."""
        s, script = self.shape, pathlib.Path(__file__).with_name("activation_peer.py")
        arguments = [s.depth, s.width, s.heads, s.context, s.batch, s.updates, self.threads, 1]
        return json.loads(self.sides.start([str(self.python), str(script), *map(str, arguments)])[1])


def take_rounds(programs, rounds):
    """{name: [result]}; every other round in turned order."""
    results = {name: [] for name in programs}
    for number in range(rounds):
        for name in list(programs)[:: -1 if number % 2 else 1]:
            results[name].append(programs[name]())
        say(f"  round {number + 1} of {rounds}")
    return results


def row_of(shape, threads, times, memory, peers):
    """`times` and `memory` of "plain" and "checkpointing": seconds of each round, bytes; `peers`: PyTorch's rounds."""
    low, ratio, high = spread(c / p for p, c in zip(times["plain"], times["checkpointing"]))
    row = dict(work=NAME, title=shape.title, threads=threads, rounds=len(times["plain"]),
               plain_ms=1e3 * statistics.median(times["plain"]),
               checkpointing_ms=1e3 * statistics.median(times["checkpointing"]), time_ratio=ratio, time_ratio_low=low,
               time_ratio_high=high, plain_mib=memory["plain"] / 2**20, checkpointing_mib=memory["checkpointing"] / 2**20,
               memory_ratio=memory["checkpointing"] / memory["plain"])
    if peers:
        low, ratio, high = spread(c / p["seconds"] for p, c in zip(peers, times["checkpointing"]))
        row |= dict(torch_ms=1e3 * statistics.median(p["seconds"] for p in peers), torch_time_ratio=ratio,
                    torch_time_ratio_low=low, torch_time_ratio_high=high, torch_mib=peers[0]["activation"] / 2**20,
                    torch_memory_ratio=memory["checkpointing"] / peers[0]["activation"])
    return row


def activation_rows(sides, python, threads, rounds, short):
    """One row for the largest number of threads; without a Python that has torch it has no figures against PyTorch."""
    shape = shape_of(short)
    mine = Sides(sides, shape, python, max(threads))
    strategies = dict(plain="", checkpointing=CHECKPOINTING)
    say(f"{NAME}: {shape.title}, {mine.threads} thread(s): {rounds} round(s)")
    memory = {name: mine.activations(name, text) for name, text in strategies.items()}
    programs = {name: lambda name=name: mine.seconds(name, strategies[name]) for name in strategies}
    if python:
        programs["pytorch"] = mine.pytorch
    times = take_rounds(programs, rounds)
    row = row_of(shape, mine.threads, times, memory, times.get("pytorch"))
    say(f"  {row['time_ratio']:.3f} of the plain time, {row['memory_ratio']:.3f} of its activations")
    return [row]
