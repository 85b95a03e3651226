#!/usr/bin/env python3
"""Draws the curves of torch_real.py: the best after so many measurements, by method.

    bench/torch_curves.py torch_real.json -o curves.svg

One panel for each network that was measured with more than one method.
"""

from __future__ import annotations

import argparse
import html
import json
from typing import Any, Dict, Iterator, List, Sequence

WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 180, 46, 26, 34
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


class Panel:
    """The curves of one network: milliseconds over measurements."""

    def __init__(self, result: Dict[str, Any], x: int, y: int) -> None:
        self.name: str = result["name"]
        self.curves = {row: [t / 1e3 for t in curve] for row, curve in result["curve"].items()}
        self.x, self.y = x, y
        self.most = max(map(len, self.curves.values()))
        values = [t for curve in self.curves.values() for t in curve]
        room = 0.05 * (max(values) - min(values)) or 0.01 * max(values)
        self.low, self.high = min(values) - room, max(values) + room

    def at_x(self, count: float) -> float:
        inner = WIDTH - LEFT - 10
        return self.x + LEFT + inner * (count - 1) / max(1, self.most - 1)

    def at_y(self, time: float) -> float:
        inner = HEIGHT - TOP - GAP
        return self.y + TOP + inner * (self.high - time) / (self.high - self.low)

    def path(self, curve: Sequence[float]) -> str:
        """Steps: a value holds until the next measurement."""
        words = [f"M{self.at_x(1):.1f},{self.at_y(curve[0]):.1f}"]
        for k, time in enumerate(curve[1:], 2):
            words.append(f"H{self.at_x(k):.1f}V{self.at_y(time):.1f}")
        return "".join(words)

    def draw(self, colours: Dict[str, str]) -> Iterator[str]:
        bottom = self.y + HEIGHT - GAP
        yield f'<text x="{self.x + LEFT}" y="{self.y + 16}" class="name">{html.escape(self.name)}</text>'
        for k in range(4):
            time = self.low + (self.high - self.low) * (k + 0.5) / 4
            y = self.at_y(time)
            yield f'<path d="M{self.x + LEFT},{y:.1f}H{self.x + WIDTH - 10}" class="grid"/>'
            yield f'<text x="{self.x + LEFT - 4}" y="{y + 4:.1f}" class="y">{time:.3f}</text>'
        for count in sorted({1, self.most // 3, 2 * self.most // 3, self.most} - {0}):
            yield f'<text x="{self.at_x(count):.1f}" y="{bottom + 14}" class="x">{count}</text>'
        for row, curve in self.curves.items():
            yield f'<path d="{self.path(curve)}" class="curve" stroke="{colours[row]}"/>'


STYLE = (
    "text{font:11px sans-serif;fill:#444}.name{font-weight:bold}.y{text-anchor:end}"
    ".x{text-anchor:middle}.grid{stroke:#ddd}.curve{fill:none;stroke-width:1.6}"
)


def picture(results: List[Dict[str, Any]]) -> str:
    chosen = [r for r in results if len(r["curve"]) > 1]
    if not chosen:
        raise SystemExit("no network was measured with more than one method: see --methods")
    panels = [Panel(r, WIDTH * (k % 3), 24 + HEIGHT * (k // 3)) for k, r in enumerate(chosen)]
    rows = list(dict.fromkeys(row for p in panels for row in p.curves))
    colours = {row: COLOURS[k % len(COLOURS)] for k, row in enumerate(rows)}
    width, height = WIDTH * min(3, len(panels)), 24 + HEIGHT * -(-len(panels) // 3)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        "<title>Milliseconds of the best schedule after so many measurements</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for k, row in enumerate(rows):
        x = LEFT + 140 * k
        parts.append(f'<path d="M{x},12h20" class="curve" stroke="{colours[row]}"/>')
        parts.append(f'<text x="{x + 25}" y="16">{html.escape(row)}</text>')
    for panel in panels:
        parts += panel.draw(colours)
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="JSON", help="what torch_real.py --json wrote")
    parser.add_argument("-o", "--output", required=True, metavar="SVG")
    a = parser.parse_args()
    results: List[Dict[str, Any]] = []
    for path in a.files:
        with open(path, encoding="utf-8") as file:
            results += json.load(file)["results"]
    with open(a.output, "w", encoding="utf-8") as file:
        file.write(picture(results))


if __name__ == "__main__":
    main()
