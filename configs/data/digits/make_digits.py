"""Writes the four files of this folder from the digits that scikit-learn ships; run by hand, never by the build.

    python3 -m venv /tmp/digits && /tmp/digits/bin/pip install scikit-learn==1.9.1
    /tmp/digits/bin/python configs/data/digits/make_digits.py [FOLDER]

The samples are put in an order that depends on nothing but their number in the file and the seed below (SHA-256, so no
generator's future can change it); the first 1,497 are for training, the last 300 for the test.
"""

import gzip
import hashlib
import pathlib
import struct
import sys

from sklearn.datasets import load_digits

SEED = "holdfast digits 1"
TRAIN = 1497


def idx(shape, content):
    """IDX file of unsigned bytes: magic 0, 0, type 8, dimensions; sizes big-endian; rows."""
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + content


def write(path, content):
    with path.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=9, mtime=0) as packed:
        packed.write(content)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    digits = load_digits()
    order = sorted(range(len(digits.target)), key=lambda i: hashlib.sha256(f"{SEED} {i}".encode()).digest())
    for name, part in (("train", order[:TRAIN]), ("test", order[TRAIN:])):
        images = digits.images[part].astype("uint8")
        assert (images == digits.images[part]).all() and images.max() <= 16
        write(folder / f"{name}-images-idx3-ubyte.gz", idx(images.shape, images.tobytes()))
        write(folder / f"{name}-labels-idx1-ubyte.gz", idx((len(part),), digits.target[part].astype("uint8").tobytes()))


if __name__ == "__main__":
    main()
