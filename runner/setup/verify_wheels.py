"""Checks an environment that has no mark of completeness: every file of every package against its recorded digest.

Run with the environment's own Python: verify_wheels.py REQUIREMENT... (or -r FILE). Exit 0: the requirements are all
there and whole. Knows nothing of how they were installed.
"""

import base64
import hashlib
import importlib.metadata
import pathlib
import sys


def wanted(arguments):
    """Pinned requirements, `name==version`, of a pip command line."""
    lines = []
    it = iter(arguments)
    for argument in it:
        lines += pathlib.Path(next(it)).read_text().splitlines() if argument == "-r" else [argument]
    lines = [line.split("#")[0].strip() for line in lines]
    return [line.split("==") for line in lines if line and not line.startswith("-")]


def digest_of(stream, algorithm):
    state = hashlib.new(algorithm)  # hashlib.file_digest needs Python 3.11
    while block := stream.read(1 << 20):
        state.update(block)
    return state.digest()


def damaged(distribution):
    """The first file of a distribution that is absent or differs, or None."""
    files = distribution.files
    if not files:
        return "its list of files"
    for file in files:
        if file.hash is None:
            continue  # RECORD itself, byte code
        path = pathlib.Path(file.locate())
        if not path.is_file() or path.stat().st_size != file.size:
            return path
        with path.open("rb") as stream:
            digest = digest_of(stream, file.hash.mode)
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            return path
    return None


def main():
    for name, version in wanted(sys.argv[1:]):
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"  {name} {version} is not installed")
            return 1
        if found.split("+")[0] != version:
            print(f"  {name} {version} is wanted, {found} is installed")
            return 1
    for distribution in importlib.metadata.distributions():
        if (file := damaged(distribution)) is not None:
            print(f"  {distribution.metadata['Name']} is damaged: {file} is absent or differs")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
