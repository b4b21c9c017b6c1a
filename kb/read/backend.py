"""Opens one Docling backend for one file, without Docling's converter.

The converter imports every backend and pipeline (2.9 s, 175 MB); a backend alone takes 1.5 s and 135 MB. The file is
read into memory first, as a backend may open it several times. Knows nothing of what the backend makes of it.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from kb.errors import KbError, UnreadableFile


def open_backend(backend: type[Any], input_format: Any, content: bytes, path: str, options: Any = None) -> Any:
    """The backend, loaded. Raises UnreadableFile where Docling cannot read the content."""
    from docling.datamodel.document import InputDocument

    document = InputDocument(BytesIO(content), input_format, backend, options, filename=Path(path).name)
    if not document.valid:
        raise UnreadableFile(f"{path}: damaged", "Open it in the program that made it and save it again.")
    return document._backend  # noqa: SLF001 the only way to a backend that is not through the converter


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Whatever a library raises over a damaged file becomes one line; what it says on stderr is left out."""
    logger = logging.getLogger("docling")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (KbError, MemoryError, ImportError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UnreadableFile(
            f"{path}: damaged ({reason})", "Open it in the program that made it and save it again."
        ) from error
    finally:
        logger.setLevel(level)
