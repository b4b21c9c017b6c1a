"""Read again what a better engine can improve: documents whose complex pages were read without Docling.

Each one is replaced in one transaction and keeps its title and tags. Files that have changed since are left to `kb add`.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from index import documents, store
from index.rows import DocumentRow
from kb.add import Adding, Progress
from kb.candidates import Candidate, Request
from kb.citing import is_stale
from kb.errors import BadRequest
from kb.read.pdf.docling import ENGINE, engine_status
from kb.readjobs import read_options
from kb.settings import Settings
from kb.wire import AddAnswer


def reread(data_dir: Path, settings: Settings, request: Request, progress: Progress) -> AddAnswer:
    """Read again the improvable documents, those below `request.paths` where paths are named.

    Raises BadRequest where no better engine is at hand, StoreMissing where there is no store.
    """
    check_engine(data_dir, settings, request)
    with store.reading(data_dir, settings.storage.lock_timeout_s) as reader:
        rows = [row for row in documents.improvable(reader.connection) if _is_wanted(row, request)]
    adding = Adding.prepare(data_dir, settings, msgspec.structs.replace(request, replace=True), progress)
    for row in rows:
        if is_stale(row):
            adding.warnings.append(f"{row.source_path}: has changed or is gone; kb add --replace reads the new version")
    adding.run(_candidate(row) for row in rows if not is_stale(row))
    return adding.answer()


def check_engine(data_dir: Path, settings: Settings, request: Request) -> None:
    """Raises BadRequest where no better engine is at hand."""
    engine, reason = engine_status(read_options(data_dir, settings, request))
    if engine != ENGINE:
        raise BadRequest(
            f"nothing can be read better: {reason}", "kb init --docling fetches the models of the better engine"
        )


def _is_wanted(row: DocumentRow, request: Request) -> bool:
    if not request.paths:
        return True
    roots = [os.path.abspath(path.expanduser()) for path in request.paths]  # noqa: PTH100  paths are kept verbatim
    return any(row.source_path == root or (row.source_path or "").startswith(f"{root}/") for root in roots)


def _candidate(row: DocumentRow) -> Candidate:
    return Candidate(
        path=row.source_path or "",
        content_hash=row.content_hash,
        mtime_ns=row.mtime_ns or 0,
        size=row.size,
        doc_type=row.doc_type,
        earlier=(row,),
    )
