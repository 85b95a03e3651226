#!/usr/bin/env python3
"""Draws what `sked-bench paper --json FILE` has recorded, as SVG, light and dark.

    build/sked-bench paper --only figures --threads 2 --json paper.jsonl
    bench/figures/paper.py paper.jsonl -o docs/images

Files: paper-correlation.svg, paper-rewards.svg, paper-extrapolation.svg, paper-loss.svg and
paper-temperature.svg; those whose data is in FILE. Models of the stepwise policy have pictures of
their own, paper-loss-stepwise.svg and so on. The pictures have the look of
`sked train -o curve.svg` (tools/cli/chart.c), which has lines only.
"""

import argparse
import collections
import html
import json
import math
import os
import statistics
import sys

WIDTH, HEIGHT = 400, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 58, 46
COLORS = ["#4393c3", "#e08214", "#1b9e77", "#9970ab", "#d6604d", "#7f8c8d", "#c2a5cf", "#5aae61"]
STYLE = (
    "svg{max-width:100%;height:auto}text{font:12px -apple-system,'Segoe UI',Roboto,"
    "'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;fill:#1f2328}"
    ".ti{font-size:14px;font-weight:600}.m{fill:#59636e}.e{text-anchor:end}"
    ".mi{text-anchor:middle}.bg{fill:#fff}.g{stroke:#e3e8ed}"
    "@media (prefers-color-scheme:dark){text{fill:#e6e9ed}.m{fill:#a3adb8}"
    ".bg{fill:#14171c}.g{stroke:#2a3039}}"
)


class Axis:
    """Values on a stretch of pixels."""

    def __init__(self, values, low, high, logarithmic=False, room=0.05):
        self.log = logarithmic
        a, b = (self.map(min(values)), self.map(max(values))) if values else (0, 1)
        spare = room * (b - a) or 0.5
        self.a, self.b, self.low, self.high = a - spare, b + spare, low, high

    def map(self, x):
        return math.log(x) if self.log else x

    def at(self, x):
        return self.low + (self.map(x) - self.a) / (self.b - self.a) * (self.high - self.low)

    def ticks(self):
        """1, 2 or 5 times a power of ten, at most seven of them."""
        span = self.b - self.a
        base = 10 ** math.floor(math.log10(span / 6))
        step = next(k * base for k in (1, 2, 5, 10) if span / (k * base) <= 6)
        first = math.ceil(self.a / step)
        return [k * step for k in range(first, math.floor(self.b / step) + 1)]


class Panel:
    """One plot: marks are added in the order they are drawn, the axes come first."""

    def __init__(self, title, x_label, xs, ys, log_x=False, x_ticks=None):
        self.title, self.x_label, self.x_ticks = title, x_label, x_ticks
        self.x = Axis(xs, LEFT, WIDTH - RIGHT, log_x)
        self.y = Axis(ys, HEIGHT - BOTTOM, TOP)
        self.marks, self.legend = [], []

    def path(self, points):
        return "M" + "L".join(f"{self.x.at(x):.1f} {self.y.at(y):.1f}" for x, y in points)

    def dots(self, points, color, radius, opacity):
        self.marks += [
            f'<circle cx="{self.x.at(x):.1f}" cy="{self.y.at(y):.1f}" r="{radius}" fill="{color}"'
            f' fill-opacity="{opacity}"/>'
            for x, y in points
        ]

    def line(self, name, color, points):
        self.marks.append(
            f'<path fill="none" stroke="{color}" stroke-width="2" stroke-linejoin="round" '
            f'd="{self.path(points)}"/>'
        )
        self.dots(points, color, 3, 1)
        self.legend.append((name, color))

    def area(self, name, color, points):
        closed = [(points[0][0], 0), *points, (points[-1][0], 0)]
        self.marks.append(
            f'<path fill="{color}" fill-opacity=".18" stroke="{color}" stroke-width="1.5" '
            f'd="{self.path(closed)}"/>'
        )
        self.legend.append((name, color))

    def band(self, color, low, high):
        self.marks.append(
            f'<path fill="{color}" fill-opacity=".15" d="{self.path([*low, *reversed(high)])}"/>'
        )

    def upright(self, x):
        self.marks.append(
            f'<path class="g" stroke-width="2" stroke-dasharray="3 3" '
            f'd="M{self.x.at(x):.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
        )

    def axes(self):
        out = []
        for v in self.y.ticks():
            y = self.y.at(v)
            out.append(f'<path class="g" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
            out.append(f'<text class="m e" x="{LEFT - 7}" y="{y + 4:.1f}">{v:.6g}</text>')
        last = -math.inf
        for v in self.x_ticks or self.x.ticks():
            x = self.x.at(v)
            if x < last + 44:  # no room for its label
                continue
            last = x
            out.append(f'<path class="g" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
            out.append(f'<text class="m mi" x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}">{v:.6g}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        out.append(
            f'<text class="m mi" x="{middle}" y="{HEIGHT - 10}">{html.escape(self.x_label)}</text>'
        )
        out.append(f'<text class="ti" x="{LEFT}" y="22">{html.escape(self.title)}</text>')
        return out

    def draw(self):
        out, at = self.axes() + self.marks, LEFT
        for name, color in self.legend:
            out.append(f'<path stroke="{color}" stroke-width="2.5" d="M{at:.1f} 41h14"/>')
            out.append(f'<text x="{at + 18:.1f}" y="45">{html.escape(name)}</text>')
            at += 30 + 6.6 * len(name)
        return out


def write(path, panels):
    width = WIDTH * len(panels)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" '
        f'viewBox="0 0 {width} {HEIGHT}" role="img">',
        f"<style>{STYLE}</style>",
        '<rect class="bg" width="100%" height="100%"/>',
    ]
    for k, panel in enumerate(panels):
        out += [f'<g transform="translate({k * WIDTH} 0)">', *panel.draw(), "</g>"]
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write("\n".join([*out, "</svg>", ""]))
    os.replace(path + ".new", path)
    print(path)


def correlation(rows):
    panels = []
    for row, color in zip(rows, COLORS):
        panel = Panel(
            f"Speedup on {row['target']}: correlation {row['correlation']:.2f}",
            "speedup on the proxy",
            row["proxy"],
            row["measured"],
        )
        panel.dots(zip(row["proxy"], row["measured"]), color, 2, 0.55)
        panels.append(panel)
    return panels


def steps(row):
    """The outline of a histogram, as shares."""
    total, points = sum(row["counts"]) or 1, []
    for k, count in enumerate(row["counts"]):
        at = row["first"] + k * row["width"]
        points += [(at, count / total), (at + row["width"], count / total)]
    return points


def rewards(rows):
    """Trained temperatures on the left, colder ones and the coldest trained on the right."""
    panels = []
    for title, chosen in (
        ("Trained temperatures", [r for r in rows if r["temperature"] >= r["trained_down_to"]]),
        ("Colder than trained", [r for r in rows if r["temperature"] <= r["trained_down_to"]]),
    ):
        outlines = {row["temperature"]: steps(row) for row in chosen}
        low = min(x for outline in outlines.values() for x, y in outline if y > 0)
        outlines = {t: [p for p in o if p[0] > low - 1e-9] for t, o in outlines.items()}
        points = [p for outline in outlines.values() for p in outline]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        panel = Panel(title, "speedup (share of 1000 draws)", xs, ys)
        for (temperature, outline), color in zip(sorted(outlines.items()), COLORS):
            panel.area(f"{temperature:g}", color, outline)
        panels.append(panel)
    return panels


def extrapolation(rows):
    rows = sorted(rows, key=lambda row: row["temperature"])
    at = [row["temperature"] for row in rows]
    values = [row[key] for row in rows for key in ("mean", "top1")]
    label = "temperature (left of the line: colder than trained)"
    panel = Panel("Draws by temperature", label, at, values, True, at)
    panel.upright(rows[0]["trained_down_to"])
    panel.line("mean of 1000", COLORS[0], [(r["temperature"], r["mean"]) for r in rows])
    panel.line("best", COLORS[1], [(r["temperature"], r["top1"]) for r in rows])
    return [panel]


def over_seeds(group, key):
    """Mean and standard deviation of one seed, at each look."""
    looks = list(zip(*(row[key] for row in group)))
    means = [statistics.fmean(look) for look in looks]
    return means, [statistics.stdev(look) if len(look) > 1 else 0 for look in looks]


def curves(rows):
    """One panel for the mean speedup and one for the spread of zeta; bands: the deviation of a seed."""
    series = collections.defaultdict(list)
    for row in rows:
        series[row["series"]].append(row)
    panels = []
    for key, title in (("mean", "Mean speedup of 300 draws"), ("spread", "Spread of zeta")):
        figures = {name: over_seeds(group, key) for name, group in series.items()}
        lows = {name: [m - d for m, d in zip(*f)] for name, f in figures.items()}
        highs = {name: [m + d for m, d in zip(*f)] for name, f in figures.items()}
        xs = [x for row in rows for x in row["updates"]]
        ys = [y for edge in (lows, highs) for values in edge.values() for y in values]
        panel = Panel(title, "updates", xs, ys)
        for name, color in zip(figures, COLORS):
            at = series[name][0]["updates"]
            panel.band(color, list(zip(at, lows[name])), list(zip(at, highs[name])))
        for (name, (mean, _)), color in zip(figures.items(), COLORS):
            panel.line(name, color, list(zip(series[name][0]["updates"], mean)))
        panels.append(panel)
    return panels


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("record", help="file of sked-bench paper --json")
    parser.add_argument("-o", "--output", default=".", help="folder of the pictures")
    a = parser.parse_args()
    kinds = collections.defaultdict(list)
    with open(a.record, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                kinds[row["kind"] + (f"-{row['figure']}" if row["kind"] == "curve" else "")].append(
                    row
                )
            except (ValueError, KeyError, TypeError):
                sys.exit(f"{a.record}:{number}: no record of sked-bench paper")
    pictures = {
        "correlation": ("correlation", correlation),
        "rewards": ("rewards", rewards),
        "extrapolation": ("rewards", extrapolation),
        "loss": ("curve-loss", curves),
        "temperature": ("curve-temperature", curves),
    }
    drawn = {name: draw(kinds[kind]) for name, (kind, draw) in pictures.items() if kinds[kind]}
    if not drawn:
        sys.exit(f"{a.record}: no figures in it (sked-bench paper --only figures --json FILE)")
    suffix = "-stepwise" if any(run.get("stepwise") for run in kinds["run"]) else ""
    for name, panels in drawn.items():
        own = "" if name == "correlation" else suffix  # its schedules are the built-in model's
        write(os.path.join(a.output, f"paper-{name}{own}.svg"), panels)


if __name__ == "__main__":
    main()
