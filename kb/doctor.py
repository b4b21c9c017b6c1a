"""Doctor: every invariant of the store checked, the model and the readers too; `--fix` mends what can be mended.

Runs under the writer lock, so that nothing moves while it looks; opening heals what any command heals.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from index import builtwith, check, jobs, store
from index.check import Check
from index.errors import ModelMismatch
from kb import uploads
from kb.candidates import Request
from kb.model import choose
from kb.read.pdf.docling import engine_status
from kb.readjobs import read_options
from kb.settings import Settings
from kb.wire import CheckResult, DoctorAnswer
from models.errors import ModelError


def doctor(data_dir: Path, settings: Settings, *, fix: bool) -> DoctorAnswer:
    with store.writing(data_dir, settings.storage.lock_timeout_s) as writer:
        checks = check.every(writer.connection, data_dir)
        mended: set[str] = set()
        if fix and any(found.problems for found in checks):
            check.mend(writer.connection, data_dir, checks)
            after = {found.name: found for found in check.every(writer.connection, data_dir)}
            mended = {found.name for found in checks if found.problems and not after[found.name].problems}
        built = builtwith.built_with(writer.connection)
        sent = _uploads(data_dir, writer.connection, fix=fix)
    results = [*(_result(found, found.name in mended) for found in checks), sent]
    results.append(_model(data_dir, settings, built))
    name, reason = engine_status(read_options(data_dir, settings, Request()))
    engines = {"complex PDF pages": f"{name}: {reason}", "pages and images without text": _ocr(settings)}
    return DoctorAnswer(ok=all(result.ok for result in results), checks=tuple(results), engines=engines)


def _ocr(settings: Settings) -> str:
    if settings.ingestion.enable_ocr == "never":
        return "left out: ingestion.enable_ocr is never"
    return "rapidocr with the models it carries"


def _result(found: Check, mended: bool) -> CheckResult:
    return CheckResult(name=found.name, ok=not found.problems or mended, problems=tuple(found.problems), mended=mended)


def _uploads(data_dir: Path, connection: sqlite3.Connection, *, fix: bool) -> CheckResult:
    """That what was sent to be added waits for a job, and each job that will be done finds what was sent for it."""
    needed = jobs.uploads_needed(connection)
    awaited = jobs.uploads_needed(connection, (jobs.WAITING, jobs.RUNNING))
    problems = [f"uploads/{path.name} belongs to no job" for path in uploads.orphans(data_dir, needed)]
    if fix:
        uploads.remove_orphans(data_dir, needed)
    lost = sorted(place for place in awaited if not uploads.path_of(data_dir, place).is_file())
    missing = [f"uploads/{place} is gone: its job will fail; send it again" for place in lost]
    mended = fix and bool(problems) and not missing
    return CheckResult(
        name="uploads", ok=mended or not (problems or missing), problems=(*problems, *missing), mended=mended
    )


def _model(data_dir: Path, settings: Settings, built: builtwith.BuiltWith) -> CheckResult:
    """That the configured model is the store's, is here, whole, and gives vectors."""
    problems = []
    try:
        model = choose(settings.embedding, built, data_dir=data_dir)
        builtwith.check_model(built, model.spec.name, model.spec.key)
        model.load(data_dir).embed_query("a query")
    except (ModelError, ModelMismatch) as error:
        problems.append(f"{error.message} {error.hint}")
    return CheckResult(name="embedding model", ok=not problems, problems=tuple(problems))
