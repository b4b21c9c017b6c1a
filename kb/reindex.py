"""Reindex: make the vectors that are missing, of the store's model or of another one, and then switch to it.

Vectors are committed a batch at a time, so an interruption costs one batch. The old model's vectors serve until the last
new one is there; then one transaction switches, and `config.yaml` follows (`kb.switch`). The old ones stay until
`kb compact`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from index import database, matrix, projections, vectors
from index.store import BuiltWith, Writer, built_with, reading, set_built_with, writing
from kb import settings as settings_file
from kb import switch
from kb.model import Model, choose, one_name
from kb.settings import Settings
from kb.wire import ReindexAnswer
from models.errors import ModelMissing

BATCHES_A_COMMIT = 8
"""Calls of the model between two commits: some seconds of work that an interruption may cost."""


class Progress(Protocol):
    def start(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


def reindex(
    data_dir: Path, settings: Settings, name: str | None, progress: Progress, environ: Mapping[str, str]
) -> ReindexAnswer:
    """Raises ModelMissing where the model's files are not here, before anything is changed."""
    timeout_s = settings.storage.lock_timeout_s
    with reading(data_dir, timeout_s) as reader:
        before = built_with(reader.connection)
        target = choose(settings.embedding, before, name, data_dir=data_dir)
        total = vectors.waiting_count(reader.connection, target.spec.key)
        texts = reader.connection.execute("SELECT count(DISTINCT text_hash) FROM chunks").fetchone()[0]
    if target.missing:
        raise ModelMissing(target.missing)
    progress.start(total)
    made = _make_vectors(data_dir, settings, target, progress) if total else 0
    with writing(data_dir, timeout_s) as writer:
        if built_with(writer.connection) != target.built_with:
            made += _fill(writer, data_dir, settings, target)
            _switch(writer, target.built_with)
        else:
            with writer.transaction():
                switch.end(writer, target.spec.name)
        over = _over_limit(writer, target.room())
        warnings = switch.finish(writer) + _still_named(environ, target.spec.name)
    return ReindexAnswer(
        model=target.spec.name,
        previous_model=before.model_name,
        embedded=made,
        reused=max(0, texts - made),
        chunks_over_limit=over,
        warnings=tuple(warnings),
    )


def _make_vectors(data_dir: Path, settings: Settings, target: Model, progress: Progress) -> int:
    """Embed what waits, a commit at a time; returns how many texts that were."""
    made = 0
    size = settings.embedding.batch_size
    embedder = target.load(data_dir)
    while True:
        with reading(data_dir) as reader:
            waiting = vectors.waiting(reader.connection, target.spec.key, size * BATCHES_A_COMMIT)
        if not waiting:
            return made
        rows = embedder.embed_passages([text.embedded_text for text in waiting], size)
        with writing(data_dir, settings.storage.lock_timeout_s) as writer, writer.transaction() as seq:
            hashes = [text.text_hash for text in waiting]
            vectors.insert(writer.connection, hashes, rows, target.spec.key, seq=seq)
            switch.begin(writer, target.spec.key)
        made += len(waiting)
        progress.advance(len(waiting))


def _fill(writer: Writer, data_dir: Path, settings: Settings, target: Model) -> int:
    """Under the lock: what another process added since the last look, so that the switch leaves nothing behind."""
    late = vectors.waiting(writer.connection, target.spec.key, limit=-1)
    if late:
        rows = target.load(data_dir).embed_passages(
            [text.embedded_text for text in late], settings.embedding.batch_size
        )
        with writer.transaction() as seq:
            vectors.insert(writer.connection, [text.text_hash for text in late], rows, target.spec.key, seq=seq)
    return len(late)


def _switch(writer: Writer, built: BuiltWith) -> None:
    """The new matrix beside the old one, then the commit that makes it the right one, then its header."""
    folder = projections.matrix_folder(writer.folder)
    with database.snapshot(writer.connection):
        batches = vectors.of_chunks(
            writer.connection, built.model_key, built.embedding_dim, after_seq=projections.WHOLE_HISTORY
        )
        header = matrix.prepare(
            folder, batches, dim=built.embedding_dim, model=built.model_key, watermark=database.head(writer.connection)
        )
    with writer.transaction():
        set_built_with(writer.connection, built)
        switch.end(writer, built.model_name)
    mark = database.head(writer.connection)
    matrix.publish(folder, msgspec.structs.replace(header, seq=mark.seq, token=mark.token))


def _over_limit(writer: Writer, room: int) -> int:
    row = writer.connection.execute("SELECT count(*) FROM chunks WHERE token_count > ?", (room,)).fetchone()
    return int(row[0])


def _still_named(environ: Mapping[str, str], model_name: str) -> list[str]:
    """What is to be said of a variable that names another model: it is not ours to change."""
    variables = settings_file.variables()["embedding.model"]
    variable = next((variable for variable in variables if environ.get(variable)), None)
    if variable is None or one_name(environ[variable]) == model_name:
        return []
    return [f"{variable} still says {environ[variable]}: unset it, or set it to {model_name}"]
