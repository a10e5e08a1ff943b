"""Reads every #include of the tree and fails when one breaks the layers that ARCHITECTURE.md draws.

layering.py ROOT prints one sentence a violation and exits 1 when there is any. Knows text only: no compiler, no CMake.
"""

import pathlib
import re
import sys

MAX_LINES = 350
FORBIDDEN_WORDS = {"util", "utils", "helper", "helpers", "common", "manager", "managers"}
SOURCES = {".cpp", ".hpp", ".h", ".cc", ".inl"}

SIBLINGS = ["spec", "plan", "host", "telemetry", "report", "supervise", "checkpoint", "data", "device", "optim"]
# Folder of runner/ -> the folders it may include besides itself and the SDK.
ARROWS = {"sdk": set(), "base": set()}
ARROWS |= {folder: {"base"} for folder in SIBLINGS}
ARROWS["engine"] = {"base", "plan", "device", "optim", "data"}
ARROWS["app"] = {"base", "engine", *SIBLINGS}
TORCH_FREE = {"base", "spec", "plan", "host", "telemetry", "report", "supervise", "checkpoint", "data"}
TORCH_FOLDERS = {"device", "optim", "engine"}
# Files of those folders that are built without LibTorch all the same.
TORCH_FREE_FILES = re.compile(
    r"runner/device/(arena|domain|domain_pool|memory_meter|pages|phase_memory|pool|size_class)\.[ch]pp$")

TORCH_HEADER = re.compile(r"(torch|ATen|c10)/")
# Who may include a third party: pattern of the header, its name, pattern of the files allowed.
OWNERS = [
    (r"toml\+\+/|toml\.hpp", "toml++", r"runner/spec/"),
    (r"boost/dll", "Boost.DLL", r"runner/host/"),
    (r"spdlog/", "spdlog", r"runner/base/log\.cpp$"),
    (r"prometheus/", "prometheus-cpp", r"runner/telemetry/"),
    (r"microhttpd\.h", "libmicrohttpd", r"runner/telemetry/"),
    (r"curl/", "libcurl", r"(runner/telemetry|plugins/preemption_notice)/"),
    (r"CLI/", "CLI11", r"runner/app/"),
    (r"c10/core/.*Allocator\.h|c10/cuda/|ATen/cuda/|cuda", "an allocator or CUDA header", r"runner/device/"),
    (r"ATen/record_function\.h", "LibTorch's operator callbacks", r"runner/device/"),
    (r"torch/csrc/autograd/(engine|saved_variable_hooks|graph_task)\.h", "an autograd-engine header", r"runner/device/"),
]
OWNERS = [(re.compile(header), name, re.compile(allowed)) for header, name, allowed in OWNERS]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
GETENV = re.compile(r"\b(secure_)?getenv\s*\(")
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def includes_of(text):
    """Pairs of line number and included name."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := INCLUDE.match(line):
            found.append((number, match.group(1)))
    return found


def without_comments_and_texts(text):
    """The code alone, lines kept."""
    return COMMENT_OR_TEXT.sub(lambda match: "\n" * match.group().count("\n"), text)


class Tree:
    """The files below one root; `files` maps a relative name to its text."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = {}
        for top in ("runner", "plugins", "tests", "examples"):
            for path in sorted((self.root / top).rglob("*")):
                if path.is_file() and path.suffix in SOURCES:
                    self.files[path.relative_to(self.root).as_posix()] = path.read_text(encoding="utf-8")
        self.torch_sdk = self._sdk_headers_with_torch()

    def _sdk_headers_with_torch(self):
        """SDK headers that reach a LibTorch header, directly or through each other."""
        base = "runner/sdk/include/"
        graph = {name[len(base):]: [i for _, i in includes_of(text)] for name, text in self.files.items() if name.startswith(base)}
        reached = {name for name, included in graph.items() if any(TORCH_HEADER.match(i) for i in included)}
        while more := {name for name, included in graph.items() if reached & set(included)} - reached:
            reached |= more
        return reached


def owner_of(name):
    """('runner', 'engine') for runner/engine/..., ('plugins', 'mlp') for plugins/mlp/..."""
    parts = name.split("/")
    return (parts[0], parts[1] if len(parts) > 2 else "")


def arrow_fault(name, included, tree):
    top, folder = owner_of(name)
    target = included.split("/")[0]
    if included.startswith("holdfast/"):
        return None
    if "/" not in included or target not in ARROWS:
        inside = f"{pathlib.PurePosixPath(name).parent}/{included}"
        if "../" in included:
            return f"includes '{included}': write the path from runner/ instead of climbing with '..'"
        return None if inside in tree.files or target not in ARROWS else f"includes '{included}', which does not exist"
    if top == "plugins":
        return f"includes '{included}': a plugin sees only the SDK (holdfast/...)"
    if target == folder or target in ARROWS.get(folder, set()):
        return None
    allowed = ", ".join(["sdk", *sorted(ARROWS.get(folder, set()))])
    return f"includes '{included}': the arrow from {folder} to {target} is not drawn; {folder} may include {allowed}"


def torch_fault(name, included, tree):
    folder = owner_of(name)[1] if name.startswith("runner/") else ""
    front = name.startswith("runner/app/front/")
    free_file = TORCH_FREE_FILES.match(name)
    if folder in TORCH_FREE or front or free_file:
        where = "app/front" if front else name if free_file else folder
        if TORCH_HEADER.match(included):
            return f"includes '{included}': {where} is free of LibTorch"
        if free_file and included.startswith("device/") and not TORCH_FREE_FILES.match(f"runner/{included}"):
            return f"includes '{included}', which may reach LibTorch: {where} is free of LibTorch"
        if included in tree.torch_sdk:
            return f"includes '{included}', which reaches LibTorch: {where} is free of LibTorch"
        if front and included.split("/")[0] in TORCH_FOLDERS:
            return f"includes '{included}': {where} is free of LibTorch"
    if included == "torch/torch.h" and name.endswith((".hpp", ".h")):
        return "includes 'torch/torch.h': it costs half a minute a file; no header may, include what is used"
    return None


def owner_fault(name, included):
    for header, third_party, allowed in OWNERS:
        if header.match(included) and not allowed.match(name):
            return f"includes '{included}': {third_party} belongs to {allowed.pattern.rstrip('$/').replace(chr(92), '')} alone"
    return None


def file_faults(name, text):
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    if lines > MAX_LINES:
        yield f"{name}: has {lines} lines; split it, {MAX_LINES} is the limit"
    for part in name.split("/"):
        if words := FORBIDDEN_WORDS & set(re.split(r"[_.\-]", part.lower())):
            yield f"{name}: '{words.pop()}' says nothing; name the thing that '{part}' holds"


def faults(root):
    """Every violation below root, as sentences `file:line: what`."""
    tree = Tree(root)
    for name, text in tree.files.items():
        yield from file_faults(name, text)
        if not name.startswith(("runner/", "plugins/")):
            continue
        for line, included in includes_of(text):
            for fault in (arrow_fault(name, included, tree), torch_fault(name, included, tree), owner_fault(name, included)):
                if fault:
                    yield f"{name}:{line}: {fault}"
        if not name.startswith("runner/app/"):
            for line, code in enumerate(without_comments_and_texts(text).splitlines(), 1):
                if GETENV.search(code):
                    yield f"{name}:{line}: calls getenv: the environment is read in runner/app alone and handed down"


def main():
    root = pathlib.Path(sys.argv[1])
    if not (root / "runner").is_dir():
        print(f"layering: {root} has no folder runner; give the root of the source tree")
        return 1
    found = list(faults(root))
    for fault in found:
        print(fault)
    print(f"layering: {len(Tree(root).files)} files read, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
