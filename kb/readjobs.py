"""Candidates to what a reading process needs of them, and nothing more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from kb.candidates import Candidate, Request
from kb.chunk import plan_for
from kb.model import Model
from kb.reading import Job
from kb.scrub.documents import Scrubber, leaves
from kb.scrub.documents import without_secrets as scrubbed_tree
from kb.settings import Scrub, Settings
from kb.types import ReadOptions, Source


def jobs_of(
    candidates: Iterable[Candidate], data_dir: Path, settings: Settings, request: Request, model: Model
) -> Iterator[Job]:
    """A job for each candidate, in order, drawn as they are taken."""
    options = read_options(data_dir, settings, request)
    scrub = scrub_rules(settings, request)
    room = model.room()
    for candidate in candidates:
        yield Job(
            source=Source(
                path=candidate.path,
                doc_type=candidate.doc_type,
                language=request.language,
                resume=candidate.grown.resume if candidate.grown else None,
            ),
            options=options,
            plan=plan_for(candidate.doc_type, settings.chunking),
            tokenizer_path=str(model.tokenizer),
            model_sees=room,
            scrub=scrub,
            content_hash=candidate.content_hash,
        )


def scrub_rules(settings: Settings, request: Request) -> Scrub:
    """Whether secrets are put out of what is read, and which."""
    enabled = settings.scrub.enabled if request.scrub is None else request.scrub
    return msgspec.structs.replace(settings.scrub, enabled=enabled)


def without_secrets(settings: Settings, request: Request) -> Request:
    """The request, its title and meta scrubbed as documents are. Tags stay: they are names to filter by."""
    rules = scrub_rules(settings, request)
    if not rules.enabled or not (request.title or request.meta):
        return request
    said = (request.title or "", *leaves(request.meta))
    clean = Scrubber(rules).strings(said)
    title = request.title and clean[request.title]
    return msgspec.structs.replace(request, title=title, meta=scrubbed_tree(request.meta, clean))


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
