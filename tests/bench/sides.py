"""Starts the programs that are compared, each in a process of its own, and reads what they measured."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from first_weights import first_weights

RECIPE = """
[run]
name = "bench"
seed = 7
device = "cpu"
threads = {threads}
output = "{output}"
[model]
{model}
[dataset.train]
{data}
drop_last = true
[train]
updates = {work.updates}
batch_size = {work.batch}
[optimizer]
{optimizer}
[hook.stopwatch]
from = {work.begin}
to = {work.end}
output = "{stopwatch}"
"""


def toml(table):
    """Strings, numbers, truth values and lists of numbers are written in TOML as in JSON."""
    return "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items())


class Sides:
    """Every method gives a dictionary with seconds, updates, last_loss, peak_rss_kib and start_seconds."""

    def __init__(self, build, folder):
        self.build = pathlib.Path(build).resolve()
        self.folder = pathlib.Path(folder)
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
        options = {**work.model, **work.data, **work.optimizer, "net": work.net, "batch": work.batch, "order": order,
                   "optimizer": optimizer, "threads": threads, "seed": 7, "updates": work.updates, "from": work.begin,
                   "to": work.end}
        if order == "file":
            options["init"] = first_weights(self.folder, work)
        command = [str(self.build / "tests/bench/bare_loop")]
        for key, value in options.items():
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            command += [f"--{key}", text]
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        began, text = self.start(command, environment)
        return self.judged(json.loads(text), began)

    def holdfast(self, work, threads, order):
        self.runs += 1
        recipe, home = self.folder / f"bench-{self.runs}.toml", self.folder / f"home-{self.runs}"
        stopwatch = self.folder / f"stopwatch-{self.runs}.json"
        init = dict(init=first_weights(self.folder, work)) if order == "file" else {}
        recipe.write_text(RECIPE.format(
            work=work, threads=threads, output=home, stopwatch=stopwatch, model=toml({**work.model, **init}),
            data=toml({**work.data, "shuffle": order == "shuffled"}), optimizer=toml(work.optimizer)))
        environment = dict(os.environ, HOLDFAST_PLUGIN_PATH=str(self.build / "tests/bench/plugins"))
        began, _ = self.start([str(self.build / "holdfast"), "run", str(recipe), "--quiet"], environment)
        shutil.rmtree(home)
        return self.judged(json.loads(stopwatch.read_text()), began)

    def pytorch_start(self, python, work, threads):
        """Seconds from the start of a PyTorch script with the same network and data to its first update."""
        script = str(pathlib.Path(__file__).with_name("pytorch_start.py"))
        hidden = ",".join(map(str, work.model["hidden"]))
        began, text = self.start([python, script, work.data["images"], work.data["labels"], str(work.data["scale"]),
                                  hidden, str(work.batch), str(threads)])
        return json.loads(text)["first_update_at"] - began
