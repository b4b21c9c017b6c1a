"""Who read which pages of a document and why: becomes `Document.extractor`, its metadata and its warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, TypeVar

from kb.read.pdf.page import PageText
from kb.read.pdf.triage import OCR_LAYER, Verdict
from kb.types import OCR_PAGES

T = TypeVar("T")

MOST_WARNINGS = 5
"""A damaged file can give one for each of a thousand pages."""
MOST_RUNS = 10
READERS = ("pymupdf", "layout", "docling", "rapidocr")


class Account:
    """Filled while the pages are read; `engine` is the name of the one meant for complex pages."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self.ocr_pages = 0
        self.first_page: PageText | None = None
        self.missed: dict[str, list[int]] = {}
        """Why a page, or its picture, was not read -> pages."""
        self._verdicts: dict[int, Verdict] = {}
        self._used: set[str] = set()
        self._recognised: list[int] = []
        self._notes: list[str] = []

    def judge(self, text: PageText, verdict: Verdict) -> None:
        self.first_page = self.first_page or text
        self._verdicts[text.number] = verdict

    def use(self, reader: str) -> None:
        self._used.add(reader)

    def recognise(self, page: int) -> None:
        """Its text is what OCR made of a picture of it."""
        self.use("rapidocr")
        self._recognised.append(page)

    def miss(self, page: int, reason: str) -> None:
        self.missed.setdefault(reason, []).append(page)

    def fall_back(self, reason: str) -> None:
        self.engine = "pymupdf"
        self._notes.append(f"Docling failed ({reason}); PyMuPDF read the complex pages.")

    def attempt(self, doing: str, call: Callable[[], Sequence[T]]) -> Sequence[T]:
        """What a library makes of a part of the file; nothing, and a warning, where it fails over damage."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 MuPDF and the models raise anything; the rest of the file is fine
            self._notes.append(f"{doing} failed ({error or type(error).__name__}).")
            return ()

    @property
    def extractor(self) -> str:
        """Such as `pymupdf`, `pymupdf+layout`, `docling`, `pymupdf+docling+rapidocr`."""
        names = [name for name in READERS if name in self._used]
        if names[:1] == ["layout"]:
            names.insert(0, "pymupdf")  # the layout models are PyMuPDF's
        return "+".join(names) or "pymupdf"

    @property
    def is_improvable(self) -> bool:
        """Whether a better engine would read some page better."""
        return "layout" in self._used

    @property
    def warnings(self) -> list[str]:
        missed = {page for pages in self.missed.values() for page in pages}
        garbled = [page for page, v in self._verdicts.items() if not v.keeps_text and page not in missed]
        mended = [f"{_pages(garbled)}: the text layer is garbled; OCR read the page instead."] if garbled else []
        found = self._notes + mended + [f"{_pages(p)} not read: {reason}." for reason, p in self.missed.items()]
        rest = len(found) - MOST_WARNINGS
        return [*found[:MOST_WARNINGS], f"{rest} more of this kind."] if rest > 0 else found

    def metadata(self) -> dict[str, Any]:
        """JSON values: the number of pages, the verdicts with their reasons, who was meant to read complex pages, which pages are
        read from pictures: by us, or by whoever laid invisible text over a scan.
        """
        by_kind: dict[str, Any] = {}
        for number, verdict in sorted(self._verdicts.items()):
            by_kind.setdefault(verdict.kind, {}).setdefault(", ".join(verdict.reasons), []).append(number)
        triage = {
            kind: {reasons or "no remark": ranges(numbers) for reasons, numbers in found.items()}
            for kind, found in by_kind.items()
        }
        layers = [number for number, verdict in self._verdicts.items() if OCR_LAYER in verdict.reasons]
        by_ocr = runs({*self._recognised, *layers})
        return {
            "pages": len(self._verdicts) + sum(len(p) for r, p in self.missed.items() if r.startswith("damaged")),
            "triage": triage,
            "engine": self.engine,
            "improvable": self.is_improvable,
            **({OCR_PAGES: by_ocr} if by_ocr else {}),
        }


def ranges(numbers: Iterable[int]) -> str:
    """Page numbers as people write them.

    >>> ranges([1, 2, 3, 7, 9, 10])
    '1-3, 7, 9-10'
    """
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in runs(numbers))


def runs(numbers: Iterable[int]) -> list[list[int]]:
    """First and last of the numbers that follow each other.

    >>> runs([1, 2, 3, 7])
    [[1, 3], [7, 7]]
    """
    found = []
    for _, group in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        found.append([run[0], run[-1]])
    return found


def _pages(numbers: Sequence[int]) -> str:
    every = ranges(numbers).split(", ")
    shown = ", ".join(every[:MOST_RUNS]) + " and others" * (len(every) > MOST_RUNS)
    return f"Page{'s' * (len(numbers) > 1)} {shown}"
