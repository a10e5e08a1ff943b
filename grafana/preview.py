"""Draws a preview of a dashboard as SVG: every panel's query is asked of a real Prometheus, and the answers are drawn. It is no
picture of Grafana, only of what its panels would show. Python's standard library only.

preview.py DASHBOARD.json PROMETHEUS_URL --run NAME --from UNIX --to UNIX >preview.svg
"""

import argparse
import html
import json
import math
import sys
import urllib.parse
import urllib.request

WIDTH, CELL_H, GAP, TOP = 1280, 27, 8, 56
COLOURS = ["#2f6fdb", "#e07b1f", "#17967a", "#8e5bd0", "#c23a4a", "#b8a13a", "#5b8fa8", "#7b8898"]
STYLE = """text{font:12px system-ui,sans-serif;fill:#17212e}.t{font-weight:600}.s{fill:#6a7788;font-size:11px}.v{font-size:26px;font-weight:650}
.row{font-size:13px;font-weight:650}.c{fill:#fff;stroke:#dfe4eb}.g{stroke:#e6eaf0;fill:none}path{fill:none;stroke-width:1.6;stroke-linejoin:round}"""


def ask(url, expression, begin, end, step):
    query = urllib.parse.urlencode({"query": expression, "start": begin, "end": end, "step": step})
    with urllib.request.urlopen(f"{url}/api/v1/query_range?{query}", timeout=30) as answer:
        result = json.load(answer)["data"]["result"]
    return [(series["metric"], [(float(t), float(v)) for t, v in series["values"] if math.isfinite(float(v))]) for series in result]


def quantity(value, unit):
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit in ("bytes", "s", "ops"):
        if unit == "ops":
            return f"{value:,.0f}/s" if value >= 100 else f"{value:.3g}/s"
        steps = [(1, "B"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB")] if unit == "bytes" else \
            [(1e-6, "µs"), (1e-3, "ms"), (1, "s"), (60, "min"), (3600, "h"), (86400, "d")]
        size, name = next(((s, n) for s, n in reversed(steps) if abs(value) >= s), steps[0])
        return f"{value / size:.3g} {name}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def legend(metric, pattern):
    for key, value in metric.items():
        pattern = pattern.replace("{{" + key + "}}", value)
    return pattern


class Sheet:
    def __init__(self, board, arguments):
        self.board, self.arguments = board, arguments
        self.step = max(1, (arguments.to - arguments.begin) // 200)
        self.out = []

    def expression(self, text):
        for name, value in {"$__rate_interval": f"{max(10, 4 * self.step)}s", "$job": ".*", "$run": self.arguments.run}.items():
            text = text.replace(name, value)
        return text

    def answers(self, panel):
        found = []
        for target in panel["targets"]:
            for metric, points in ask(self.arguments.url, self.expression(target["expr"]), self.arguments.begin, self.arguments.to, self.step):
                if points:
                    found.append((legend(metric, target["legendFormat"]), points))
        return found

    def text(self, x, y, words, kind=""):
        self.out.append(f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{html.escape(words)}</text>')

    def panel(self, panel, x, y, w, h):
        self.out.append(f'<rect class="c" x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="{h:.0f}" rx="6"/>')
        self.text(x + 10, y + 18, panel["title"], "t")
        answers = self.answers(panel) if panel["targets"] else []
        if not answers:
            return self.text(x + 10, y + h / 2 + 8, "no data", "s")
        unit = panel["fieldConfig"]["defaults"]["unit"]
        if panel["type"] in ("timeseries", "state-timeline"):
            return self.curves(answers, unit, x + 62, y + 30, w - 74, h - 62, panel)
        lines = answers if panel["type"] != "stat" else answers[:1]
        if panel["type"] == "stat":
            value = lines[0][1][-1][1]
            mapped = panel["fieldConfig"]["defaults"].get("mappings")
            words = mapped[0]["options"].get(f"{value:.0f}", {}).get("text") if mapped else None
            return self.text(x + 10, y + h / 2 + 16, words or quantity(value, unit), "v")
        for number, (name, points) in enumerate(lines[: int((h - 34) / 17)]):
            self.text(x + 10, y + 40 + 17 * number, f"{name}   {quantity(points[-1][1], unit)}", "s")

    def curves(self, answers, unit, x, y, w, h, panel):
        values = [value for _, points in answers for _, value in points]
        low, high = min(values), max(values)
        low = min(low, panel["fieldConfig"]["defaults"].get("min", low))
        if high - low < 1e-12 * max(1, abs(high)):
            low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
        begin, end = self.arguments.begin, self.arguments.to
        for part in range(4):
            at = y + h - h * part / 3
            self.out.append(f'<path class="g" d="M{x:.0f} {at:.1f}h{w:.0f}"/>')
            label = quantity(low + (high - low) * part / 3, unit)
            self.out.append(f'<text class="s" text-anchor="end" x="{x - 6:.0f}" y="{at + 4:.0f}">{html.escape(label)}</text>')
        left = x
        for number, (name, points) in enumerate(answers[:8]):
            colour = COLOURS[number % len(COLOURS)]
            line = "L".join(f"{x + (t - begin) / (end - begin) * w:.1f} {y + h - (v - low) / (high - low) * h:.1f}" for t, v in points)
            self.out.append(f'<path stroke="{colour}" d="M{line}"/>')
            if left + 7 * len(name) < x + w:
                self.out.append(f'<rect x="{left:.0f}" y="{y + h + 15:.0f}" width="10" height="3" fill="{colour}"/>')
                self.text(left + 14, y + h + 21, name, "s")
                left += 26 + 6.2 * len(name)

    def draw(self):
        unit = (WIDTH - GAP) / 24
        bottom = 0
        for panel in self.board["panels"]:
            at = panel["gridPos"]
            x, y = GAP + at["x"] * unit, TOP + at["y"] * CELL_H
            bottom = max(bottom, y + at["h"] * CELL_H)
            if panel["type"] == "row":
                self.text(x + 2, y + 19, panel["title"], "row")
            else:
                self.panel(panel, x, y, at["w"] * unit - GAP, at["h"] * CELL_H - GAP)
        title = f'{self.board["title"]}: a preview drawn from a real run by grafana/preview.py, not a picture of Grafana'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom:.0f}" role="img"><title>{html.escape(title)}</title>'
                f'<style>{STYLE}</style><rect width="{WIDTH}" height="{bottom:.0f}" fill="#f3f5f8"/>'
                f'<text x="{GAP + 2}" y="24" class="row">{html.escape(self.board["title"])}</text>'
                f'<text x="{GAP + 2}" y="42" class="s">preview, not Grafana: every panel\'s query asked of Prometheus while a run trained</text>'
                + "".join(self.out) + "</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dashboard")
    parser.add_argument("url")
    parser.add_argument("--run", default=".*")
    parser.add_argument("--from", dest="begin", type=int, required=True)
    parser.add_argument("--to", type=int, required=True)
    arguments = parser.parse_args()
    with open(arguments.dashboard, encoding="utf-8") as file:
        sys.stdout.write(Sheet(json.load(file), arguments).draw())


if __name__ == "__main__":
    main()
