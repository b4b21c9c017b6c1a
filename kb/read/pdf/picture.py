"""A page of a PDF as a picture, with a passage marked in it. The file is only read: the marks are put on the picture.

MuPDF is not thread-safe, so one thread at a time draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from kb.errors import NotFound, UnreadableFile
from kb.read.pdf.marking import Found, areas, find
from kb.read.pdf.opening import HINT_DAMAGED, import_pymupdf, opened
from kb.read.pdf.scan import too_large
from kb.read.pdf.words import Area, Word, quarters_of, turned, turned_area
from kb.read.picture import Box, Picture, Size, encoded, marked

if TYPE_CHECKING:
    from PIL.Image import Image

POINTS_AN_INCH = 72
MARGIN_PT = 1.0
"""Around a mark, so that it does not cut into letters."""
DRAWING = Lock()


class _Looked(msgspec.Struct, frozen=True):
    """A page in which a passage was looked for."""

    number: int
    found: Found
    areas: list[Area]
    """Of what was found, as the file has the page: before its rotation."""


def of_page(
    path: str, pages: Sequence[int], passage: str, size: Size, password: str | None = None, *, is_as_read: bool = True
) -> Picture:
    """Of `pages`, from 1, the one that holds most of the passage; the first where none does. `is_as_read`: the passage came from this file.

    Raises NotFound for a page that is not there, EncryptedFile, and UnreadableFile for what cannot be drawn.
    """
    with DRAWING, opened(path, password) as (document, _):
        here = [number for number in pages if 1 <= number <= document.page_count]
        if not here:
            raise NotFound(f"no page {pages[0]} in {path}", f"it has pages 1 to {document.page_count}")
        try:
            looked = (_looked(document, number, passage, is_here=is_as_read and len(pages) == 1) for number in here)
            return _drawn(document, max(looked, key=lambda each: each.found.characters), size)  # the first of equals
        except UnreadableFile:
            raise
        except Exception as error:  # pymupdf raises RuntimeError, ValueError and its own classes alike
            reason = str(error).strip().partition("\n")[0]
            raise UnreadableFile(f"{path}: page {here[0]} cannot be drawn ({reason})", HINT_DAMAGED) from error


def words_of_page(document: Any, number: int) -> list[Word]:
    found = document.load_page(number - 1).get_text("words")
    return [Word(text, (x0, y0, x1, y1), (block, line)) for x0, y0, x1, y1, text, block, line, _ in found]


def _looked(document: Any, number: int, passage: str, *, is_here: bool) -> _Looked:
    quarters = quarters_of(_direction(document.load_page(number - 1)) if passage else (1, 0))
    words = turned(words_of_page(document, number), quarters)
    found = find(words, passage, is_here=is_here)
    return _Looked(number, found, [turned_area(area, -quarters) for area in areas(words, found)])


def _direction(page: Any) -> tuple[float, float]:
    """To the right and down, in which most lines run: some programs write tables along the long side of a page."""
    flags = import_pymupdf().TEXTFLAGS_WORDS
    blocks = page.get_text("dict", flags=flags)["blocks"]
    lines = Counter(tuple(map(round, line["dir"])) for block in blocks for line in block["lines"])
    return lines.most_common(1)[0][0] if lines else (1, 0)


def _drawn(document: Any, looked: _Looked, size: Size) -> Picture:
    number, found = looked.number, looked.found
    page = document.load_page(number - 1)
    if reason := too_large(page):
        raise UnreadableFile(f"page {number} holds {reason}, too large to be drawn", "Open the file itself.")
    dpi = _dpi(page, size)
    image = _image(page, dpi)
    marks = _marks(page, looked.areas, image)
    return Picture(
        png=encoded(marked(image, marks)), number=number, width=image.width, height=image.height, dpi=dpi, marks=marks,
        rows=found.rows, rows_marked=found.rows_found,
        page_count=document.page_count, text=page.get_text(),
    )  # fmt: skip


def _dpi(page: Any, size: Size) -> int:
    longest_pt = max(page.rect.width, page.rect.height, 1.0)
    return max(1, min(size.dpi, int(size.longest_side * POINTS_AN_INCH / longest_pt)))


def _image(page: Any, dpi: int) -> Image:
    from PIL import Image

    pixmap = page.get_pixmap(dpi=dpi, colorspace=import_pymupdf().csRGB, alpha=False)
    return Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)


def _marks(page: Any, found: Sequence[Area], image: Image) -> tuple[Box, ...]:
    """In pixels. PyMuPDF gives words in the coordinates of the page before its rotation."""
    pymupdf = import_pymupdf()
    across, down = image.width / page.rect.width, image.height / page.rect.height
    boxes = []
    for area in found:
        shown = pymupdf.Rect(area) * page.rotation_matrix
        left, top = (shown.x0 - MARGIN_PT) * across, (shown.y0 - MARGIN_PT) * down
        right, bottom = (shown.x1 + MARGIN_PT) * across, (shown.y1 + MARGIN_PT) * down
        box = (
            max(0, round(left)), max(0, round(top)), min(image.width, round(right)), min(image.height, round(bottom)),
        )  # fmt: skip
        if box[0] < box[2] and box[1] < box[3]:  # some words stand beside what is shown of the page
            boxes.append(box)
    return tuple(boxes)
