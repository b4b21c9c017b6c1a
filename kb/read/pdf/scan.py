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


def too_large(page: Any) -> str | None:
    """How large the page, or an image on it, is, if larger than may be unpacked. Allocates nothing."""
    for _xref, _mask, width, height, *_ in page.get_images():
        if width * height > MAX_SOURCE_PIXELS:
            return f"an image of {width} x {height} pixels"
    if _pixels(page, DPI_STEPS[-1]) > MAX_PAGE_PIXELS:
        return f"a page of {page.rect.width:.0f} x {page.rect.height:.0f} points"
    return None


def read_page(page: Any) -> tuple[Part, ...]:
    """Ask `too_large` first."""
    return parts_of_picture(_render(page))


def parts_of_picture(picture: Any) -> tuple[Part, ...]:
    """The parts of a picture of a page: (height, width, 3), uint8, RGB."""
    lines = ocr.read(picture)
    rtl = 2 * sum(line.is_rtl for line in lines) > len(lines)
    return tuple(parts_of(reading_order(lines, rtl=rtl), style_of(lines)))


def _render(page: Any) -> Any:
    import numpy as np

    dpi = next(dpi for dpi in DPI_STEPS if _pixels(page, dpi) <= MAX_PAGE_PIXELS)
    pixmap = page.get_pixmap(dpi=dpi, colorspace=import_pymupdf().csRGB, alpha=False)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)


def _pixels(page: Any, dpi: int) -> float:
    return float(page.rect.width * page.rect.height * (dpi / 72) ** 2)
