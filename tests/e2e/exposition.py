"""A strict reader of Prometheus' text format 0.0.4, and promtool where the machine has it.

https://prometheus.io/docs/instrumenting/exposition_formats: one HELP and one TYPE before the samples of a family, samples of
a family together, no series twice. read() gives {family: {"type", "help", "samples": {(name, labels): value}}}.
"""

import re
import shutil
import subprocess

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"')
SAMPLE = re.compile(rf"({NAME})(\{{.*\}})? (\S+)")
NUMBER = re.compile(r"[+-]?Inf|N[aA]N|Nan|[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
PARTS = {"counter": {""}, "gauge": {""}, "histogram": {"_bucket", "_sum", "_count"}}


def labels_of(text):
    found, rest = [], text[1:-1] if text else ""
    while rest:
        match = LABEL.match(rest)
        if not match:
            raise ValueError(f"no label: {rest}")
        value = re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), match.group(2))
        found.append((match.group(1), value))
        rest = rest[match.end():]
        if rest and not rest.startswith(","):
            raise ValueError(f"no comma: {rest}")
        rest = rest[1:]
    if len({name for name, _ in found}) != len(found):
        raise ValueError(f"a label twice: {text}")
    return tuple(sorted(found))


def read(text):
    families, current = {}, None
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    for line in text[:-1].split("\n"):
        if comment := re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line):
            kind, current, words = comment.groups()
            family = families.setdefault(current, {"samples": {}})
            if kind.lower() in family or family["samples"]:
                raise ValueError(f"twice or too late: {line}")
            family[kind.lower()] = words
            continue
        sample = SAMPLE.fullmatch(line)
        if not sample or not NUMBER.fullmatch(sample.group(3)):
            raise ValueError(f"no sample: {line}")
        name, labels, value = sample.groups()
        family = families[current]
        if not name.startswith(current) or name[len(current):] not in PARTS[family["type"]]:
            raise ValueError(f"outside its family: {line}")
        key = (name, labels_of(labels))
        if key in family["samples"]:
            raise ValueError(f"a series twice: {line}")
        family["samples"][key] = float(value.replace("Inf", "inf"))
    return families


def promtool_faults(text):
    """What `promtool check metrics` says against the text; empty where the tool is not installed."""
    if not shutil.which("promtool"):
        return ""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr
