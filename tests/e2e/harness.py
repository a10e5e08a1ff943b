"""What the end-to-end tests share: the built command, recipes on the bundled digits, runs in folders of their own.

Knows the command line and the files of a run home, nothing of the code. ctest gives HOLDFAST_BUILD (the build tree) and
HOLDFAST_FIXTURES (a folder with fixture plugins).
"""

import gzip
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HOLDFAST_BUILD", ROOT / "build/dev")).resolve()
FIXTURES = pathlib.Path(os.environ.get("HOLDFAST_FIXTURES", BUILD / "tests/plugins")).resolve()
COMMAND = str(BUILD / "holdfast")
DIGITS = ROOT / "configs/data/digits"
PATIENCE = 120  # seconds: only a hang takes so long

GPT = 'plugin = "gpt"\ndepth = 2\nwidth = 32\nheads = 4'
CONVNET = 'plugin = "convnet"\nchannels = [8, 16]\nnorm = "batch"'

DIGITS_TABLES = """[dataset.train]
plugin = "idx"
images = "{data}/train-images-idx3-ubyte.gz"
labels = "{data}/train-labels-idx1-ubyte.gz"
scale = 16
[dataset.eval]
plugin = "idx"
images = "{data}/test-images-idx3-ubyte.gz"
labels = "{data}/test-labels-idx1-ubyte.gz"
scale = 16
"""

TEXT_TABLES = """[dataset.train]
plugin = "text"
files = "{file}"
context = 16
part = "train"
[dataset.eval]
plugin = "text"
files = "{file}"
context = 16
part = "eval"
"""

RECIPE = """
[run]
name = "digits"
threads = 1
[model]
{model}
dropout = {dropout}
{tables}[train]
{target}
batch_size = 32
eval_every = "{eval_every}"
[optimizer]
lr = 2e-3
[schedule]
name = "cosine"
[loader]
threads = {loader_threads}
{more}
"""


def write_idx(path, shape, values):
    """An unsigned-byte IDX file (http://yann.lecun.com/exdb/mnist, "THE IDX FILE FORMAT")."""
    data = struct.pack(">BBBB", 0, 0, 8, len(shape)) + b"".join(struct.pack(">I", size) for size in shape) + bytes(values)
    pathlib.Path(path).write_bytes(data)


def read_idx(path):
    """Shape and bytes of a gzipped IDX file of unsigned bytes."""
    data = gzip.decompress(pathlib.Path(path).read_bytes())
    dims = data[3]
    return struct.unpack(">" + "I" * dims, data[4 : 4 + 4 * dims]), data[4 + 4 * dims :]


def strict_json(text):
    """Refuses NaN and Infinity, which Python would let pass."""

    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


SAVE_OFTEN = '[checkpoint]\nasync = false\nkeep = 100\n[hook.periodic_checkpoint]\nevery = "10 updates"'


def dies_at(update):
    """Options that kill the run (SIGKILL) at the edge of this update's window."""
    sets = ("action=signal", f"signal={KILL.value}", f"at={update}")
    return [part for key in sets for part in ("--set", f"hook.fault.{key}")]


class Case(unittest.TestCase):
    """A test with a folder of its own and every process it started ended."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.started = []
        self.addCleanup(self.end_processes)

    def end_processes(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def environment(self, **more):
        env = {key: value for key, value in os.environ.items() if not key.startswith("HOLDFAST_")}
        env["HOLDFAST_PLUGIN_PATH"] = str(FIXTURES)
        env.update(more)
        return env

    def start(self, *arguments, cwd=None, env=None, **popen):
        process = subprocess.Popen(
            [COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, cwd=cwd or self.folder, env=env or self.environment(), **popen)
        self.started.append(process)
        return process

    def finish(self, process):
        out, err = process.communicate(timeout=PATIENCE)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def holdfast(self, *arguments, code=0, **more):
        """Runs the command to its end and checks the exit code."""
        done = self.finish(self.start(*arguments, **more))
        self.assertEqual(done.returncode, code, f"{done.args}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}")
        return done

    def text_tables(self, words=5000):
        """Data set tables over a text of random words, the same each time: about 25,000 bytes, 1,400 training windows."""
        rng = random.Random(1)
        syllables = "ba be bo da de do ka ke ko la le lo ma me mo".split()
        text = " ".join("".join(rng.choices(syllables, k=rng.randrange(1, 4))) for _ in range(words))
        path = self.folder / "words.txt"
        path.write_text(text)
        return TEXT_TABLES.format(file=path)

    def recipe(self, name="r.toml", *, model=None, tables=None, hidden=32, dropout=0.0, target="updates = 20", eval_every="10 updates",
               loader_threads=1, data=DIGITS, more=""):
        path = self.folder / name
        path.write_text(RECIPE.format(model=model or f'plugin = "mlp"\nhidden = [{hidden}]', dropout=dropout, target=target,
                                      eval_every=eval_every, loader_threads=loader_threads,
                                      tables=tables or DIGITS_TABLES.format(data=data), more=more))
        return path

    def stopped_at(self, update, target="updates = 40", more="", **options):
        """A recipe whose run in runs/digits was killed by a fault right after the checkpoint of `update`."""
        recipe = self.recipe(target=target, more=SAVE_OFTEN + more, **options)
        self.holdfast("run", recipe, *dies_at(update + 1), code=-KILL)
        self.assertEqual(self.saved_update(self.folder / "runs/digits"), update)
        return recipe

    def inspect(self, path):
        return strict_json(self.holdfast("inspect", path, "--json").stdout)

    def status(self, home):
        return strict_json((pathlib.Path(home) / "current/status.json").read_text())

    def events(self, home):
        return [strict_json(line) for line in (pathlib.Path(home) / "current/events.jsonl").read_text().splitlines()]

    def wait_for(self, condition, process=None):
        """Polls until `condition()` is true; a process that ends before fails the test with its words."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if process is not None and process.poll() is not None and not condition():
                out, err = process.communicate()
                self.fail(f"ended with {process.returncode} before the condition held\n{out}\n{err}")
            if time.monotonic() > deadline:
                self.fail("waited too long")
            time.sleep(0.002)

    def saved_update(self, home):
        """Update of the newest checkpoint by the link `latest`; 0 before the first."""
        try:
            return int(os.readlink(pathlib.Path(home) / "current/checkpoints/latest").split("-")[1])
        except (FileNotFoundError, ValueError, IndexError):
            return 0

    def wait_for_event(self, home, name, process):
        events = pathlib.Path(home) / "current/events.jsonl"
        self.wait_for(lambda: events.exists() and f'"event":"{name}"' in events.read_text(), process)


def snapshot(folder):
    """Every path below a folder with size, time of change and link target: equal means untouched."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        info = path.lstat()
        found[str(path)] = (info.st_size, info.st_mtime_ns, os.readlink(path) if path.is_symlink() else None)
    return found


TERM = signal.SIGTERM
KILL = signal.SIGKILL
main = unittest.main
