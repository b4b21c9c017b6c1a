"""The charts of `scripts/bench scale` and `markdown`: time and memory against chunks, drawn with Pillow, which readers of pictures bring anyway."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    from bench_scale import Measured

PANEL = (560, 340)
MARGIN = 56
COLOURS = ("#1f6fb2", "#c2501e", "#3b8a3e", "#7a4fa3", "#555555")


class Line(NamedTuple):
    name: str
    points: list[tuple[float, float]]


class Panel(NamedTuple):
    title: str
    lines: list[Line]


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Panels in two columns; the horizontal axis is chunks, in thousands, from 0."""
    width, height = PANEL
    rows = -(-len(panels) // 2)
    image = Image.new("RGB", (2 * width, rows * height), "white")
    pen = ImageDraw.Draw(image)
    for number, panel in enumerate(panels):
        draw_panel(pen, panel, (number % 2 * width, number // 2 * height))
    image.save(path)


def panels_of(sizes: list[Measured], largest: Measured) -> list[Panel]:
    """Sizes of one dimension make one line; where there are several, each has a name of its own."""
    by_dims: dict[int, list[Measured]] = {}
    for one in sizes:
        by_dims.setdefault(one.dims, []).append(one)

    def line(name: str, field: str, scale: float = 1) -> list[Line]:
        return [
            Line(f"{name}, {dims}", [(one.rows / 1e3, getattr(one, field) * scale) for one in some])
            for dims, some in by_dims.items()
        ]

    many, single = largest.steps[::2], largest.steps[1::2]
    grown = [
        Line(name, [(step.chunks_before / 1e3, getattr(step, field) / step.chunks * 1e6) for step in many])
        for name, field in (
            ("SQLite", "sqlite_s"),
            ("matrix", "matrix_s"),
            ("tantivy", "lexical_s"),
            ("whole", "whole_s"),
        )
    ]
    alone = Line("one document", [(step.chunks_before / 1e3, step.whole_s * 1e3) for step in single])
    return [
        Panel("hybrid search above the embedding, keyword search, ms", [*line("hybrid", "above_ms"), *line("keyword", "keyword_ms")]),
        Panel("product with the top 100, and numpy's float32, ms", [*line("ours", "ours_ms"), *line("numpy", "numpy_ms")]),
        Panel("memory of the daemon, MB", [*line("resident", "resident_bytes", 1e-6), *line("of it shared", "shared_bytes", 1e-6)]),
        Panel("kb compact, a plain copy, s", [*line("compact", "compact_s"), *line("copy", "copy_s")]),
        Panel(f"us a chunk appended, {largest.rows:,} x {largest.dims}", grown),
        Panel("ms to append one document", [alone]),
    ]  # fmt: skip


def draw_panel(pen: ImageDraw.ImageDraw, panel: Panel, corner: tuple[int, int]) -> None:
    font = ImageFont.load_default(13)
    left, top, right, bottom = (
        corner[0] + MARGIN,
        corner[1] + MARGIN,
        corner[0] + PANEL[0] - 24,
        corner[1] + PANEL[1] - 36,
    )
    most_x, most_y = (
        max((point[axis] for line in panel.lines for point in line.points), default=0) or 1 for axis in (0, 1)
    )
    pen.text((left, corner[1] + 10), panel.title, fill="black", font=font)
    for part in range(5):
        y = bottom - (bottom - top) * part / 4
        pen.line((left, y, right, y), fill="#dddddd")
        value = most_y * part / 4
        pen.text(
            (left - 6, y), f"{value:,.0f}" if value >= 100 else f"{value:.3g}", fill="#555555", font=font, anchor="rm"
        )
        x = left + (right - left) * part / 4
        pen.text((x, bottom + 6), f"{most_x * part / 4:,.0f}k", fill="#555555", font=font, anchor="mt")
    for number, line in enumerate(panel.lines):
        colour = COLOURS[number % len(COLOURS)]
        places = [(left + (right - left) * x / most_x, bottom - (bottom - top) * y / most_y) for x, y in line.points]
        pen.line(places, fill=colour, width=2)
        for x, y in places:
            pen.ellipse((x - 3, y - 3, x + 3, y + 3), fill=colour)
        pen.text((left + 8 + number % 2 * 240, top - 22 + number // 2 * 16), line.name, fill=colour, font=font)
