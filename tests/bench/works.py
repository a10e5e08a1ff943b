"""The pieces of training that are measured: network, data, optimizer and how many updates. Knows no program."""
import dataclasses
import pathlib
import random

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "configs/data/digits"


@dataclasses.dataclass(frozen=True)
class Work:
    """The same for both sides; the clock runs from the end of update `begin` to the end of update `end`.

    `model`, `data` and `optimizer` are tables of the recipe and options of the bare program at once.
    """

    name: str
    title: str
    model: dict
    data: dict
    optimizer: dict
    batch: int
    updates: int
    begin: int
    end: int
    widths: tuple  # of an mlp: what its first weights need; otherwise ()

    @property
    def net(self):
        return self.model["plugin"]

    def timed(self):
        return self.end - self.begin


ADAMW = dict(name="adamw", lr=1e-3, weight_decay=0.01)


def synthetic_images(folder, samples=12800):
    """28x28 noise with labels: what the pixels are does not change the time, and nothing is downloaded."""
    noise = random.Random(1)
    images, labels = folder / "images-idx3-ubyte", folder / "labels-idx1-ubyte"
    shape = samples.to_bytes(4, "big") + (28).to_bytes(4, "big") * 2
    images.write_bytes(b"\0\0\x08\x03" + shape + noise.randbytes(samples * 784))
    digits = bytes(noise.randrange(10) for _ in range(samples))
    labels.write_bytes(b"\0\0\x08\x01" + samples.to_bytes(4, "big") + digits)
    return dict(plugin="idx", images=str(images), labels=str(labels), scale=255)


def synthetic_tokens(folder, tokens=512 * 1024):
    path = folder / "tokens.bin"
    path.write_bytes(random.Random(3).randbytes(tokens))
    return dict(plugin="text", files=str(path), context=128)


def gpt_model():
    """0.86 M parameters: the shape of the peers' gpt, whose output layer is its own."""
    return dict(plugin="gpt", depth=4, heads=4, width=128, tied=False)


def works(folder, short):
    """All works against the bare loop, by name. A short one only shows that everything runs."""
    folder = pathlib.Path(folder)
    images = synthetic_images(folder)
    digits = dict(plugin="idx", images=str(DIGITS / "train-images-idx3-ubyte.gz"),
                  labels=str(DIGITS / "train-labels-idx1-ubyte.gz"), scale=16)
    found = [
        Work("mlp", "mlp 784-512-512-10, batch 64", dict(plugin="mlp", hidden=[512, 512]), images, ADAMW, 64,
             *((60, 10, 55) if short else (420, 20, 415)), (784, 512, 512, 10)),
        Work("digits", "digits, mlp 64-128-10, batch 32", dict(plugin="mlp", hidden=[128]), digits, ADAMW, 32,
             *((400, 50, 390) if short else (4000, 200, 3900)), (64, 128, 10)),
        Work("convnet", "convnet of 32 and 64 channels, batch 64",
             dict(plugin="convnet", channels=[32, 64], hidden=[128]), images, ADAMW, 64,
             *((6, 2, 5) if short else (60, 8, 58)), ()),
        Work("gpt", "gpt of 4 blocks, width 128, context 128, batch 8", gpt_model(), synthetic_tokens(folder),
             dict(name="adamw", lr=3e-4, weight_decay=0.1), 8, *((6, 2, 5) if short else (26, 4, 25)), ()),
    ]
    return {work.name: work for work in found}
