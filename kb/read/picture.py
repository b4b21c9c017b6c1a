"""A picture as it leaves a reader: PNG, bounded in size, with the places that are marked in it. Does not know where they come from.

`kb.read.pdf.picture` makes one of a page, `kb.read.image` of a picture, `kb.read.excerpt` of lines of text.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels."""
MARKER = (255, 225, 90)
"""Red, green, blue of the pen: what it goes over is multiplied with it, so that black text stays black."""
LONGEST_SIDE = 4096
"""Pixels: a picture of it has at most 50 MB unpacked. A4 has it at 350 dpi."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    png: bytes
    width: int
    height: int
    dpi: int = 0
    marks: tuple[Box, ...] = ()
    rows: int = 0
    """Of tables in the passage, without heads."""
    rows_marked: int = 0
    number: int = 1
    """Which page, from 1."""
    text: str = ""
    """What stands on a page of a PDF, a line a line, as the file has it."""
    page_count: int | None = None


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How large a picture is to be."""

    dpi: int = 110
    """Of a page: A4 is then 909 x 1286 pixels, in which 8-point print can be read, by models too."""
    longest_side: int = LONGEST_SIDE
    """Pixels that neither side may exceed, whatever the dpi."""


def marked(image: Image, marks: Sequence[Box]) -> Image:
    """The image gone over with a text marker, once where marks overlap."""
    from PIL import Image as Pictures
    from PIL import ImageChops

    layer = Pictures.new("RGB", image.size, "white")
    for box in marks:
        layer.paste(MARKER, box)
    return ImageChops.multiply(image, layer) if marks else image


def encoded(image: Image) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
