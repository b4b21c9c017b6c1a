"""What the resources of a page name: its images' sizes, and fonts whose codes mean nothing.

Asks MuPDF itself, which takes a tenth of the time of PyMuPDF's lists. Does not say where on the page anything stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kb.read.pdf.opening import import_pymupdf


def image_pixels(pdf_page: Any) -> int:
    """Of all the images that a `mupdf.PdfPage` may show, except those that stand within its content stream."""
    mupdf = import_pymupdf().mupdf
    return sum(
        mupdf.pdf_dict_get_int(shown, mupdf.PDF_ENUM_NAME_Width)
        * mupdf.pdf_dict_get_int(shown, mupdf.PDF_ENUM_NAME_Height)
        for _, objects in _resources(pdf_page)
        for shown in objects
    )


def has_glyph_numbers(document: Any, number: int) -> bool:
    """Whether a simple font of a page, counted from 1, has neither ToUnicode nor a named encoding."""
    mupdf = import_pymupdf().mupdf
    page = mupdf.pdf_page_from_fz_page(mupdf.fz_load_page(document.this, number - 1))
    return any(
        mupdf.pdf_to_name(mupdf.pdf_dict_get(font, mupdf.PDF_ENUM_NAME_Subtype)) == "TrueType"
        and not _encoding(font)
        and not mupdf.pdf_dict_get(font, mupdf.PDF_ENUM_NAME_ToUnicode).m_internal
        for resources, _ in _resources(page)
        for font in _values(resources, mupdf.PDF_ENUM_NAME_Font)
    )


def _encoding(font: Any) -> str:
    mupdf = import_pymupdf().mupdf
    encoding = mupdf.pdf_dict_get(font, mupdf.PDF_ENUM_NAME_Encoding)
    if mupdf.pdf_is_dict(encoding):
        encoding = mupdf.pdf_dict_get(encoding, mupdf.PDF_ENUM_NAME_BaseEncoding)
    return str(mupdf.pdf_to_name(encoding))


def _resources(pdf_page: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Those of the page and of each form that it may draw, with the images and forms that they name."""
    mupdf = import_pymupdf().mupdf
    found = [mupdf.pdf_page_resources(pdf_page)]
    seen: set[int] = set()  # a form may draw itself
    for resources in found:
        objects = _values(resources, mupdf.PDF_ENUM_NAME_XObject)
        yield resources, objects
        for shown in objects:
            inner = mupdf.pdf_dict_get(shown, mupdf.PDF_ENUM_NAME_Resources)
            if inner.m_internal and (number := mupdf.pdf_to_num(shown)) not in seen:  # images have none
                seen.add(number)
                found.append(inner)


def _values(resources: Any, kind: int) -> list[Any]:
    mupdf = import_pymupdf().mupdf
    named = mupdf.pdf_dict_get(resources, kind)
    return [mupdf.pdf_dict_get_val(named, index) for index in range(mupdf.pdf_dict_len(named))]
