"""Opens a PDF, or says in one line why it cannot be opened: not a PDF, encrypted, damaged beyond repair.

MuPDF repairs what it can on opening (lost cross references, junk before the header); that becomes a warning. Does not
look at pages.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kb.errors import EncryptedFile, NotFound, UnreadableFile

if TYPE_CHECKING:
    from collections.abc import Iterator

PDF_HEADER = b"%PDF-"
HEADER_WITHIN_BYTES = 64 * 1024  # Acrobat looks at 1 KiB; files saved with their HTTP headers need more
HINT_DAMAGED = "Open it in a PDF viewer and save it again, or fetch it again."


def import_pymupdf() -> Any:
    """PyMuPDF without its layout models.

    `import pymupdf` also imports `pymupdf.layout` and `pymupdf4llm`, which load onnxruntime and two models: 0.7 to 3 s
    and 90 MB that a plain page does not need. Both imports are optional to PyMuPDF, so they are held back here;
    `kb.read.pdf.layout` imports them when the first complex page comes.
    """
    if "pymupdf" not in sys.modules:
        modules: dict[str, Any] = sys.modules  # None under a name makes its import an ImportError
        held_back = [name for name in ("pymupdf.layout", "pymupdf4llm") if name not in modules]
        modules.update(dict.fromkeys(held_back))
        try:
            import pymupdf
        finally:
            for name in held_back:
                del modules[name]
        tools: Any = pymupdf.TOOLS
        tools.mupdf_display_errors(False)  # stderr is for our own talk; errors are raised or reported
        tools.mupdf_display_warnings(False)
    return sys.modules["pymupdf"]


@contextmanager
def opened(path: str, password: str | None) -> Iterator[tuple[Any, list[str]]]:
    """The `pymupdf.Document` of a file and what was repaired. Raises UnreadableFile or EncryptedFile."""
    pymupdf = import_pymupdf()
    _check_header(path)
    pymupdf.TOOLS.reset_mupdf_warnings()
    try:
        document = pymupdf.open(path, filetype="pdf")
    except Exception as error:  # pymupdf raises RuntimeError, ValueError and its own classes alike
        raise UnreadableFile(f"{path}: damaged PDF ({first_line(error)})", HINT_DAMAGED) from error
    try:
        _unlock(document, path, password)
        yield document, _repairs(document, path)
    finally:
        document.close()


def _check_header(path: str) -> None:
    try:
        with Path(path).open("rb") as file:
            head = file.read(HEADER_WITHIN_BYTES)
    except FileNotFoundError as error:
        raise NotFound(f"{path}: no such file") from error
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}", "Check that it is a file that you may read.") from error
    if not head:
        raise UnreadableFile(f"{path}: empty file, 0 bytes", "Fetch it again.")
    if PDF_HEADER not in head:
        raise UnreadableFile(f"{path}: not a PDF (no %PDF- header)", "Give --type if it is another kind of document.")


def _unlock(document: Any, path: str, password: str | None) -> None:
    """An empty user password has opened the file already; else the given one is tried."""
    if not document.needs_pass:
        return
    if password is None:
        raise EncryptedFile(f"{path}: encrypted, needs a password", "Give it with --password.")
    if not document.authenticate(password):
        raise EncryptedFile(f"{path}: the password does not open it", "Give the right one with --password.")


def _repairs(document: Any, path: str) -> list[str]:
    try:
        page_count = document.page_count
        last_page_xref = document.page_xref(page_count - 1) if page_count else 0
    except Exception as error:
        raise UnreadableFile(f"{path}: damaged PDF ({first_line(error)})", HINT_DAMAGED) from error
    if not last_page_xref:
        raise UnreadableFile(f"{path}: damaged PDF (no pages)", HINT_DAMAGED)
    return ["The file was damaged and has been repaired; text may be missing."] if document.is_repaired else []


def first_line(error: Exception) -> str:
    """What MuPDF says, without the number it gives to the kind of error."""
    return str(error).strip().splitlines()[0].removeprefix("code=").lstrip("0123456789: ") if str(error) else "unknown"
