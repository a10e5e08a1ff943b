#!/usr/bin/env python3
"""Draws runner/docs/killed.svg from two real runs of configs/digits.toml: one left alone, one killed again and again.

Usage: killed.py HOLDFAST OUTPUT.svg [KILLS]. Standard library only. Fails when the two final digests differ.
"""
import json
import math
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 840, 380, 64, 46, 28, 48


def command(holdfast, home):
    sets = ["model.dropout=0.2", "train.epochs=120", "hook.periodic_checkpoint.every=40 updates", "log.every=100 ms"]
    return [holdfast, "run", str(ROOT / "configs/digits.toml"), "--output", str(home), "--quiet"] + [
        word for assignment in sets for word in ("--set", assignment)]


def events(home):
    lines = (home / "current" / "events.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def update_of(home):
    try:
        return max((e.get("update", 0) for e in events(home)), default=0)
    except OSError:
        return 0


def digest(holdfast, home):
    text = subprocess.run([holdfast, "inspect", str(home), "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["digest"]


def run_killed(holdfast, home, kills, total):
    """Kills the run at evenly spread updates; returns the updates at which it died."""
    deaths = []
    for number in range(kills):
        target = total * (number + 1) // (kills + 1)
        process = subprocess.Popen(command(holdfast, home))
        while process.poll() is None and update_of(home) < target:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        deaths.append(update_of(home))
    subprocess.run(command(holdfast, home), check=True)
    return deaths


def curve(home):
    """Means over the updates since the previous event; the loss of a single window, right after a resume, says little."""
    return [(e["update"], e["loss"]) for e in events(home)
            if e["event"] == "update" and e.get("loss") is not None and (e["windows"] > 1 or e["update"] == 1)]


def draw(alone, killed, deaths, total, same):
    def x(update):
        return LEFT + (WIDTH - LEFT - RIGHT) * update / total

    losses = [loss for _, loss in alone + killed if loss > 0]
    low, high = math.floor(math.log10(min(losses))), math.ceil(math.log10(max(losses)))

    def y(loss):
        share = (math.log10(max(loss, 10.0**low)) - low) / (high - low)
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    def path(points):
        return " ".join(f"{'M' if i == 0 else 'L'}{x(u):.1f} {y(v):.1f}" for i, (u, v) in enumerate(points))

    pieces = [[]]  # a resumed run goes back to its checkpoint: each attempt is a line of its own
    for point in killed:
        if pieces[-1] and point[0] < pieces[-1][-1][0]:
            pieces.append([])
        pieces[-1].append(point)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="24" font-size="15" fill="#222">Loss on the digits: left alone, and killed {len(deaths)} times '
           f'with SIGKILL — final digests {"equal" if same else "differ"}</text>']
    for power in range(low, high + 1):
        height = y(10.0**power)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}" stroke="#e4e4e4"/>'
                   f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end" fill="#555">{10.0**power:g}</text>')
    for step in range(6):
        update = total * step // 5
        out.append(f'<text x="{x(update):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle" fill="#555">{update}</text>')
    out.append(f'<text x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 8}" text-anchor="middle" fill="#555">update</text>')
    for death in deaths:
        out.append(f'<line x1="{x(death):.1f}" x2="{x(death):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#c0392b" '
                   'stroke-dasharray="3 3"/>')
    out.append(f'<path d="{path(alone)}" fill="none" stroke="#f0b429" stroke-width="7" stroke-opacity="0.55"/>')
    out.extend(f'<path d="{path(piece)}" fill="none" stroke="#1f4e79" stroke-width="1.6"/>' for piece in pieces)
    out.append(f'<rect x="{WIDTH - 222}" y="{TOP + 2}" width="190" height="68" fill="#ffffff" stroke="#cccccc"/>')
    legend = [("#f0b429", 7, "left alone"), ("#1f4e79", 1.6, "killed and resumed"), ("#c0392b", 1, "SIGKILL")]
    for row, (colour, width, text) in enumerate(legend):
        height = TOP + 16 + 20 * row
        out.append(f'<line x1="{WIDTH - 210}" x2="{WIDTH - 180}" y1="{height}" y2="{height}" stroke="{colour}" '
                   f'stroke-width="{width}"/><text x="{WIDTH - 170}" y="{height + 4}" fill="#333">{text}</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    holdfast, output = sys.argv[1], pathlib.Path(sys.argv[2])
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 6
    with tempfile.TemporaryDirectory() as folder:
        alone, killed = pathlib.Path(folder, "alone"), pathlib.Path(folder, "killed")
        subprocess.run(command(holdfast, alone), check=True)
        total = update_of(alone)
        deaths = run_killed(holdfast, killed, kills, total)
        same = digest(holdfast, alone) == digest(holdfast, killed)
        output.write_text(draw(curve(alone), curve(killed), deaths, total, same))
        print(f"{output}: killed at updates {deaths}; digests {'equal' if same else 'DIFFER'}")
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
