"""Sources: register, list, rename and forget the folders that the store is kept in step with. Reads none of their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from index import documents, sources, store, tags
from index.sources import SourceRow
from index.store import Reader
from index.writer import Writer, utc_now
from kb.caller import caller
from kb.detect import known_type
from kb.errors import BadRequest, NotFound
from kb.ignore import is_pattern
from kb.model import choose
from kb.settings import Settings
from kb.sourcerules import SourceRules, is_at_or_below
from kb.wire_sources import SourceAnswer, SourceSummary


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """A source as a person or a file describes it."""

    path: str
    """Absolute."""
    name: str | None = None
    """None: what its folder is called, and a number where that is taken."""
    description: str = ""
    rules: SourceRules = SourceRules()


def add(data_dir: Path, settings: Settings, declared: Declared) -> SourceAnswer:
    """Register a source. Makes the store where there is none. Raises NotFound, BadRequest."""
    _check(declared)
    _make_store(data_dir, settings)
    with store.writing(data_dir, settings.storage.lock_timeout_s) as writer:
        with writer.transaction():
            row = _insert(writer, declared)
        summary = _summary(writer, row)
    return SourceAnswer(sources=(summary,), changed=1)


def declare(data_dir: Path, settings: Settings, wanted: Sequence[Declared]) -> SourceAnswer:
    """Register those that are new, by name, and let the others be as they are declared: all of them, or none on an error.

    Sources that are not declared stay.
    """
    for one in wanted:
        _check(one)
    _make_store(data_dir, settings)
    with store.writing(data_dir, settings.storage.lock_timeout_s) as writer:
        with writer.transaction():
            changed = [_declare(writer, one) for one in wanted]
        rows = {row.name: row for row in sources.every(writer.connection)}
        summaries = tuple(_summary(writer, rows[name]) for name, _ in changed)
    return SourceAnswer(sources=summaries, changed=sum(is_new for _, is_new in changed))


def every(data_dir: Path) -> SourceAnswer:
    with store.reading(data_dir) as reader:
        return SourceAnswer(sources=tuple(_summary(reader, row) for row in sources.every(reader.connection)))


def show(data_dir: Path, name: str) -> SourceAnswer:
    """Raises NotFound."""
    with store.reading(data_dir) as reader:
        return SourceAnswer(sources=(_summary(reader, _named(reader, name)),))


def rename(data_dir: Path, name: str, to: str, *, lock_timeout_s: float) -> SourceAnswer:
    """Raises NotFound, BadRequest."""
    with store.writing(data_dir, lock_timeout_s) as writer:
        row = _named(writer, name)
        _check_name(writer, to, row.id)
        with writer.transaction():
            sources.rename(writer.connection, row.id, to)
        return SourceAnswer(sources=(_summary(writer, _named(writer, to)),), changed=1)


def remove(data_dir: Path, name: str, *, with_documents: bool, lock_timeout_s: float) -> SourceAnswer:
    """Forget a source, its documents with it only where that is said. Raises NotFound. Its files are not touched."""
    with store.writing(data_dir, lock_timeout_s) as writer:
        row = _named(writer, name)
        summary = _summary(writer, row)
        with writer.transaction():
            if with_documents:
                documents.delete(writer.connection, sources.document_ids(writer.connection, row.id))
                tags.forget_unused(writer.connection)
            sources.delete(writer.connection, row)
    return SourceAnswer(sources=(summary,), changed=1, documents_removed=summary.documents if with_documents else 0)


def _make_store(data_dir: Path, settings: Settings) -> None:
    if not store.exists(data_dir):
        model = choose(settings.embedding, store.model_of(data_dir, settings.storage.lock_timeout_s), data_dir=data_dir)
        store.create(data_dir, model.built_with, settings.storage.lock_timeout_s)


def _check(declared: Declared) -> None:
    """Raises NotFound and BadRequest for what cannot be a source, whatever is in the store."""
    if not os.path.exists(declared.path):  # noqa: PTH110  paths are verbatim strings
        raise NotFound(f"{declared.path}: no such file or directory", "check the path")
    rules = declared.rules
    if rules.doc_type is not None:
        known_type(rules.doc_type)
    if not all(tag.strip() for tag in rules.tags):
        raise BadRequest("a tag needs a name", "say --tag NAME")
    for pattern in (*rules.globs, *rules.excludes):
        if not is_pattern(pattern):
            raise BadRequest(f"{pattern!r} is not a pattern", "say it as in .gitignore: '*.log'")


def _declare(writer: Writer, declared: Declared) -> tuple[str, bool]:
    """The name of a source that is now as declared, and whether it was not so before."""
    rows = sources.every(writer.connection)
    # Without a name of its own it is known by its path.
    row = next(
        (row for row in rows if declared.name in {row.name, None} and (declared.name or row.path == declared.path)),
        None,
    )
    if row is None:
        return _insert(writer, declared).name, True
    before, rules = SourceRules.of(row), declared.rules
    if (row.path, row.description, before) == (declared.path, declared.description, rules):
        return row.name, False
    _check_place(writer, declared.path, row.id)
    sources.change(
        writer.connection, row.id, path=declared.path, description=declared.description, rules=rules.encoded()
    )
    _apply(writer, row, before, rules)
    return row.name, True


def _apply(writer: Writer, row: SourceRow, before: SourceRules, rules: SourceRules) -> None:
    """Give a source's documents its new tags, take those away that it has no more, have them read again if they are read otherwise."""
    lost = [tag for tag in before.tags if tag not in rules.tags]
    ids = sources.document_ids(writer.connection, row.id)
    for document_id in ids:
        document = documents.by_id(writer.connection, document_id) if lost else None
        if document:
            tags.detach(writer.connection, document_id, [tag for tag in lost if tag not in document.stated_tags])
        tags.attach(writer.connection, document_id, rules.tags)
        if not rules.reads_as(before):
            sources.outdate(writer.connection, document_id)


def _insert(writer: Writer, declared: Declared) -> SourceRow:
    _check_place(writer, declared.path)
    if declared.name is not None:
        _check_name(writer, declared.name)
    name = declared.name or _free_name(writer, declared.path)
    rules = declared.rules.encoded()
    sources.insert(writer.connection, name, declared.path, declared.description, rules, utc_now())
    return _named(writer, name)


def _check_place(writer: Writer, path: str, own_id: int | None = None) -> None:
    """Sources do not overlap: a file belongs to one of them, and one set of rules holds for it."""
    for row in sources.every(writer.connection):
        if row.id == own_id:
            continue
        if path == row.path:
            raise BadRequest(f"{path} is the source {row.name} already", f"kb sync {row.name} brings it into step")
        if is_at_or_below(path, row.path) or is_at_or_below(row.path, path):
            inside = "lies inside" if is_at_or_below(path, row.path) else "holds"
            raise BadRequest(
                f"{path} {inside} the source {row.name} ({row.path}), and sources do not overlap",
                f"kb source remove {row.name} first: its documents stay, and pass to the new source at its first sync",
            )


def _check_name(writer: Writer, name: str, own_id: int | None = None) -> None:
    if not name.strip() or name != name.strip() or name.startswith("-"):
        raise BadRequest(f"{name!r} cannot be a name", "say a word, such as --name notes")
    if any(row.name == name and row.id != own_id for row in sources.every(writer.connection)):
        raise BadRequest(f"there is a source {name} already", "say another name")


def _free_name(writer: Writer, path: str) -> str:
    taken = {row.name for row in sources.every(writer.connection)}
    name = Path(path).name.strip().lstrip("-") or "root"
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def _named(where: Reader | Writer, name: str) -> SourceRow:
    rows = sources.every(where.connection)
    row = next((row for row in rows if row.name == name), None)
    row = row or next((row for row in rows if row.path == caller().absolute(name)), None)
    if row is None:
        known = ", ".join(row.name for row in rows) or "none"
        raise NotFound(f"no source {name}", f"sources are: {known}")
    return row


def _summary(where: Reader | Writer, row: SourceRow) -> SourceSummary:
    rules = SourceRules.of(row)
    return SourceSummary(
        name=row.name, path=row.path, description=row.description, tags=rules.tags, globs=rules.globs,
        excludes=rules.excludes, type=rules.doc_type, chunker=rules.chunker, follow_symlinks=rules.follow_symlinks,
        scrub=rules.scrub, exists=os.path.exists(row.path),  # noqa: PTH110
        documents=sources.document_counts(where.connection).get(row.id, 0), added_at=row.added_at, synced_at=row.synced_at,
    )  # fmt: skip
