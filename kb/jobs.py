"""Candidates to what a reading process needs of them, and nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kb.candidates import Candidate, Request
from kb.chunk import plan_for
from kb.model import Model
from kb.reading import Job
from kb.settings import Settings
from kb.types import ReadOptions, Source


def jobs_of(
    candidates: Iterable[Candidate], data_dir: Path, settings: Settings, request: Request, model: Model
) -> Iterator[Job]:
    """A job for each candidate, in order, drawn as they are taken."""
    options = read_options(data_dir, settings, request)
    room = model.room()
    for candidate in candidates:
        yield Job(
            source=Source(path=candidate.path, doc_type=candidate.doc_type, language=request.language),
            options=options,
            plan=plan_for(candidate.doc_type, settings.chunking),
            tokenizer_path=str(model.tokenizer),
            model_sees=room,
        )


def read_options(data_dir: Path, settings: Settings, request: Request) -> ReadOptions:
    """What readers need to know of the settings and of the request."""
    ingestion = settings.ingestion
    return ReadOptions(
        enable_ocr=ingestion.enable_ocr,
        pdf_engine=request.pdf_engine or ingestion.pdf_engine,
        password=request.password,
        max_ocr_pages=ingestion.max_ocr_pages,
        docling_artifacts=str(docling_folder(data_dir)),
    )


def docling_folder(data_dir: Path) -> Path:
    """Where `kb init --docling` leaves Docling's models."""
    return data_dir / "docling"
