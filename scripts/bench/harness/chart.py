"""Bar charts as SVG, and as PNG where rsvg-convert (librsvg2-bin) is there to draw them."""

import os
import shutil
import subprocess
from xml.sax.saxutils import escape

from . import report

WIDTH, LEFT, BAR, GAP, HEAD = 900, 260, 22, 8, 64
COLOURS = {"perilune": "#2f6f4f", "floor": "#9aa0a6"}
OTHER = "#4a78b5"


def svg(title, metric, subjects):
    """One bar for each subject, with its spread as a thin line."""
    most = max(one["max"] for one in subjects.values()) or 1
    scale = (WIDTH - LEFT - 150) / most
    height = HEAD + len(subjects) * (BAR + GAP) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'font-family="DejaVu Sans, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="16" y="26" font-size="16" font-weight="bold">{escape(title)}</text>',
        f'<text x="16" y="46" fill="#555">{escape(report.label(metric))}: median and spread, '
        f'{"more" if metric in report.MORE_IS_BETTER else "less"} is better</text>',
    ]
    for i, (name, one) in enumerate(subjects.items()):
        y = HEAD + i * (BAR + GAP)
        middle = y + BAR / 2
        colour = COLOURS.get(name.partition(":")[0], OTHER)
        width = max(1, one["median"] * scale)
        parts += [
            f'<text x="{LEFT - 10}" y="{middle + 5}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>',
            f'<line x1="{LEFT + one["min"] * scale:.1f}" x2="{LEFT + one["max"] * scale:.1f}" '
            f'y1="{middle}" y2="{middle}" stroke="black"/>',
            f'<text x="{LEFT + max(width, one["max"] * scale) + 8:.1f}" y="{middle + 5}">'
            f'{escape(report.number(metric, one["median"]))}</text>',
        ]
    return "\n".join(parts + ["</svg>"]) + "\n"


def draw(result, folder):
    """Writes a chart for each cell and returns the names of the files. Prints a message if PNGs can't be made."""
    os.makedirs(folder, exist_ok=True)
    converter, written = shutil.which("rsvg-convert"), []
    for case, cells in result["cases"].items():
        for cell, subjects in cells.items():
            _, main = report.columns(case, subjects)
            bars = {name: values[main] for name, values in subjects.items() if main in values}
            if not bars:
                continue
            base = os.path.join(folder, f"{case}-{cell}".replace(" ", "-").replace(",", ""))
            with open(base + ".svg", "w", encoding="utf-8") as file:
                file.write(svg(f"{case}: {cell}", main, bars))
            written.append(base + ".svg")
            if converter:
                subprocess.run([converter, "--output", base + ".png", base + ".svg"], check=True)
                written.append(base + ".png")
    return written, converter is not None
