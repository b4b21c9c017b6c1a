"""Pages without usable text: rendered by MuPDF and read by OCR. Refuses to render what would not fit in memory."""

from __future__ import annotations

from typing import Any

from kb.read import ocr
from kb.read.pdf.opening import import_pymupdf
from kb.read.pdf.order import reading_order
from kb.read.pdf.parts import Part
from kb.read.pdf.prose import parts_of, style_of

DPI = 150  # at 200 dpi the test scans gave up no more phrases and took half as long again
MAX_SOURCE_PIXELS = 200_000_000  # of an image on the page, which MuPDF unpacks whole: 600 MB in colour
MAX_PAGE_PIXELS = 30_000_000  # of the rendered page; A2 at 150 dpi has 9 million
DPI_STEPS = (DPI, 100, 72)


class TooLarge(Exception):
    """The page, or an image on it, is larger than may be unpacked. The message says how large."""


def read_page(page: Any) -> tuple[Part, ...]:
    """Raises TooLarge, before anything is allocated."""
    return parts_of_picture(_render(page))


def parts_of_picture(picture: Any) -> tuple[Part, ...]:
    """The parts of a picture of a page: (height, width, 3), uint8, RGB."""
    lines = ocr.read(picture)
    rtl = 2 * sum(line.is_rtl for line in lines) > len(lines)
    return tuple(parts_of(reading_order(lines, rtl=rtl), style_of(lines)))


def _render(page: Any) -> Any:
    import numpy as np

    pymupdf = import_pymupdf()
    for _xref, _mask, width, height, *_ in page.get_images():
        if width * height > MAX_SOURCE_PIXELS:
            raise TooLarge(f"an image of {width} x {height} pixels")
    dpi = next((dpi for dpi in DPI_STEPS if _pixels(page, dpi) <= MAX_PAGE_PIXELS), None)
    if dpi is None:
        raise TooLarge(f"a page of {page.rect.width:.0f} x {page.rect.height:.0f} points")
    pixmap = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csRGB, alpha=False)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)


def _pixels(page: Any, dpi: int) -> float:
    return float(page.rect.width * page.rect.height * (dpi / 72) ** 2)
