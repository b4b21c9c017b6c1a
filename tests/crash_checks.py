"""What is promised of a store whose writer was killed: looked at as it was left, and after the command was given once more."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import small_store
from crash_process import command_in
from crash_scenarios import SECRET

from index import builtwith, columns, database, documents, jobs, store, vectors
from index.epoch import read_header
from index.query import parse
from index.segments import segment_files
from kb import preferences
from kb.doctor import doctor
from kb.switch import SWITCHED_FROM, settled

QUERIES = ("red", "green", "alpha beta", "delta", "changed")
AT_THE_TOP = {
    "kb.db", "kb.db-wal", "kb.db-shm", "config.yaml", "write.lock", "run", "matrix", "lexical", "uploads", "ingest-errors.log",
}  # fmt: skip
OF_TANTIVY = {"meta.json", ".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock", "watermark.json"}


def faults_of(trial: Path, command: list[str], before: Any, whole: Any) -> list[str]:
    """What is wrong after a kill, and after the command was given once more."""
    faults = list(faults_before_repeating(trial, before, whole)) if store.exists(trial) else []
    if before and not store.exists(trial):
        faults.append("the store is gone")
    code = command_in(trial, command)
    if code and command[0] != "remove":  # removing what has gone is an error, and that is well
        faults.append(f"the command, given once more, ended with {code}")
    if (after := contents(trial)) != whole:
        faults.append(f"the command, given once more, left {after} instead of {whole}")
    return [*faults, *sickness(trial), *leftovers(trial, command)]


def faults_before_repeating(trial: Path, before: Any, whole: Any) -> Iterator[str]:
    now = contents(trial)
    was, will_be = (before or {"documents": {}})["documents"], whole["documents"]
    for key in now["documents"].keys() | (was.keys() & will_be.keys()):
        found = now["documents"].get(key)
        if found is None:
            yield f"lost: {was[key]}"
        elif found not in (was.get(key), will_be.get(key)):
            yield f"half a document: {found}"
    copy = rebuilt(trial)
    if now["answers"] != contents(copy)["answers"]:
        yield "the answers differ from those of a rebuilt store"
    if code := command_in(copy, ["search", "red", "-j"]):
        yield f"a search ended with {code}"
    yield from sickness(trial)


def sickness(trial: Path) -> Iterator[str]:
    """What `kb doctor` finds."""
    for check in doctor(trial, settled(trial, preferences.load(trial)).settings, fix=False).checks:
        if not check.ok:
            yield f"{check.name}: {check.problems}"


def leftovers(trial: Path, command: list[str]) -> Iterator[str]:
    """Files of no use to anybody, jobs that nobody does, and a secret that was to go."""
    segments = {path.name for path in segment_files(trial / "lexical")}
    header = read_header(trial / "matrix")
    rows = {"header.json"} | columns.file_names(header.epoch, leading=header.leading is not None)
    for path in sorted(trial.rglob("*")):
        within, *rest = path.relative_to(trial).parts
        if not rest:
            useful = within in AT_THE_TOP
        elif within == "matrix":
            useful = path.name in rows
        elif within == "lexical":
            useful = path.name in OF_TANTIVY or path.name in segments
        else:
            useful = within == "run" and path.suffix != ".new"
        if not useful:
            yield f"left over: {path}"
        if command[0] == "scrub" and path.is_file() and SECRET.encode() in path.read_bytes():
            yield f"a secret is left in {path}"
    with store.reading(trial) as reader:
        for state, count in jobs.count_by_state(reader.connection).items():
            if count and state != "done":
                yield f"{count} jobs are {state}"


def configuration_was_edited(trial: Path) -> bool | None:
    """None but between a switch to another model and its end."""
    if not store.exists(trial):
        return None
    with store.reading(trial) as reader:
        left_behind = database.read_config(reader.connection).get(SWITCHED_FROM)
    return None if left_behind is None else preferences.load(trial).settings.embedding.model != left_behind


def rebuilt(trial: Path) -> Path:
    """A copy of the database alone."""
    copy = trial.with_name("rebuilt")
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for path in (*trial.glob("kb.db*"), trial / "config.yaml"):
        shutil.copy(path, copy)
    return copy


def contents(folder: Path) -> Any:
    """What a store holds and answers, by its texts: the ids depend on what was done before."""
    with store.reading(folder) as reader:
        connection = reader.connection
        built = builtwith.built_with(connection)
        texts = dict(connection.execute("SELECT id, text FROM chunks"))
        rows = documents.page_of(connection, None, limit=None, offset=0)
        lexical, matrix = reader.lexical(), reader.matrix()
        answers = {
            query: {
                "words": sorted(texts[found] for found in lexical.search(parse(query), 100).chunk_ids),
                "vectors": [
                    texts[found]
                    for found in matrix.search(small_store.vector(query, built.embedding_dim), 100).chunk_ids
                ],
            }
            for query in QUERIES
        }
        found = {
            row.content_hash: {
                "path": row.source_path,
                "title": row.title,
                "tags": row.tags,
                "chunks": [chunk.text for chunk in documents.chunks_of(connection, row.id)],
            }
            for row in rows
        }
        waiting = vectors.waiting_count(connection, built.model_key)
    configuration = (folder / "config.yaml").read_text()
    whole = {"documents": found, "answers": answers, "model": built.model_name, "waiting": waiting}
    return json.loads(json.dumps({**whole, "configuration": configuration}))
