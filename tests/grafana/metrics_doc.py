"""The catalogue of metrics as runner/docs/metrics.md has it (another test holds that file to the binary), and what a PromQL
expression asks for. Knows neither dashboards nor alerts."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREIGN = {  # of node_exporter, which reads the textfiles
    "node_textfile_mtime_seconds": {"file": None, "instance": None, "job": None},
    "node_textfile_scrape_error": {"instance": None, "job": None},
}
SCRAPED = {"job": None, "instance": None}


def catalogue():
    """Family -> {"type", "labels": {label: set of values, or None when open}}."""
    families = {}
    for line in (ROOT / "runner/docs/metrics.md").read_text().splitlines()[2:]:
        name, kind, _, labels, _, _ = [cell.strip() for cell in line.strip("|").split(" | ")]
        found = re.findall(r"`([a-z_]+)`(?: \(([^)]*)\))?", labels)
        families[name.strip("`")] = {"type": kind, "labels": {label: set(values.split(", ")) if values else None for label, values in found}}
    return families


def family_of(name, families):
    """The family that a sample's name belongs to; None when there is none."""
    if name in families:
        return name
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if base in families and families[base]["type"] == "histogram" else None


SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{([^{}]*)\}")
MATCHER = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def names(expression):
    """Names of metrics in an expression: words that begin like ours, or like recording rules."""
    bare = GROUPING.sub(" ", TEXT.sub('""', expression))
    bare = re.sub(r"\{[^{}]*\}", " ", bare)
    return {word for word in NAME.findall(bare) if word.startswith(("holdfast_", "process_", "node_")) or ":" in word}


def matchers(expression):
    """(metric, label, operator, value) of every selector."""
    return [(metric, *matcher) for metric, inside in SELECTOR.findall(expression) for matcher in MATCHER.findall(inside)]


def grouping_labels(expression):
    return {label.strip() for inside in GROUPING.findall(expression) for label in inside.split(",") if label.strip()}


def faults(expression, families, recorded=frozenset()):
    """Sentences about names, labels and label values that the catalogue does not have."""
    found = []
    known = set(SCRAPED) | {"le"} | {label for family in families.values() for label in family["labels"]}
    known |= {label for labels in FOREIGN.values() for label in labels}
    for name in sorted(names(expression)):
        if not (family_of(name, families) or name in recorded or name in FOREIGN):
            found.append(f"no metric {name}")
    for metric, label, operator, value in matchers(expression):
        if metric in recorded:
            continue
        family = family_of(metric, families)
        labels = FOREIGN.get(metric) or (families[family]["labels"] | SCRAPED | {"le": None} if family else {})
        if label not in labels:
            found.append(f"{metric} has no label {label}")
        elif labels[label] and "$" not in value and operator in ("=", "=~"):
            found += [f"{metric} has no {label} {part}" for part in value.split("|") if part not in labels[label]]
    return found + [f"no metric has a label {label}" for label in sorted(grouping_labels(expression) - known)]
