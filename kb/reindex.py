"""Reindex: make the vectors that are missing, of the store's model or of another one, and then switch to it.

Vectors are committed a batch at a time, so an interruption costs one batch. The old model's vectors serve until the last
new one is there; then one transaction switches, and `config.yaml` follows (`kb.switch`). The old ones stay until
`kb compact`. A text that cannot be embedded is marked and holds nothing up (`kb.newvectors`).

Other windows (`embedding.windows`) are another switch: their texts are cut first, in a transaction that also ends what rows there
are of windows of another length, then they wait for their vectors like all others, and the transaction that switches lets all
their rows in at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np

from index import cutting, database, matrixwriter, projections, unembedded, vectors
from index.builtwith import UNKNOWN_DIM, BuiltWith, built_with, set_built_with
from index.store import reading, writing
from index.vectors import WaitingText
from index.writer import Writer
from kb import preferences, switch
from kb.model import Embedder, Model, as_written, choose, means
from kb.newvectors import Made, make, refusal, write_down
from kb.settings import Settings
from kb.wire import ReindexAnswer
from models.errors import ModelMissing

BATCHES_A_COMMIT = 8
"""Calls of the model between two commits: some seconds of work that an interruption may cost."""


class Progress(Protocol):
    def start(self, total: int) -> None: ...

    def advance(self, count: int) -> None: ...


def reindex(
    data_dir: Path, settings: Settings, name: str | None, progress: Progress, environ: Mapping[str, str],
    *, retry: bool = False,
) -> ReindexAnswer:  # fmt: skip
    """`retry`: also the texts that this model could not embed.

    Raises ModelMissing where the model's files are not here, before anything is changed; EmbedderFailed where a service
    fails: what it made until then is kept.
    """
    timeout_s = settings.storage.lock_timeout_s
    with reading(data_dir, timeout_s) as reader:
        before = built_with(reader.connection)
        target = _sized(reader.connection, choose(settings.embedding, before, name, data_dir=data_dir))
    if target.missing:
        raise ModelMissing(target.missing)
    with writing(data_dir, timeout_s) as writer:
        _cut(writer, target.built_with.windows)
        if retry:
            with writer.transaction():
                unembedded.forget(writer.connection, target.spec.key)
    made = _make_vectors(data_dir, settings, target, progress)
    with writing(data_dir, timeout_s) as writer:
        target = _sized(writer.connection, target)
        _cut(writer, target.built_with.windows)  # where another process has cut others meanwhile
        if built_with(writer.connection) != target.built_with:
            made += _fill(writer, data_dir, settings, target)
            _switch(writer, target.built_with)
        else:
            with writer.transaction():
                switch.end(writer, target.spec.name)
        over = _over_limit(writer, target.room())
        refused = unembedded.count(writer.connection, target.spec.key)
        texts = vectors.text_count(writer.connection)
        warnings = switch.finish(writer) + _still_named(environ, target.spec.name)
    return ReindexAnswer(
        model=target.spec.name,
        previous_model=before.model_name,
        embedded=made,
        reused=max(0, texts - made - refused),
        windows=target.built_with.windows,
        previous_windows=before.windows,
        chunks_over_limit=over,
        unembedded=refused,
        warnings=(*warnings, *([refusal(refused)] if refused else [])),
    )


def _sized(connection: sqlite3.Connection, target: Model) -> Model:
    """The model with the size of its vectors, where only they know it: a service is asked for the first time."""
    if target.spec.dim != UNKNOWN_DIM:
        return target
    dim = vectors.dim_of(connection, target.spec.key) or UNKNOWN_DIM
    return msgspec.structs.replace(target, spec=msgspec.structs.replace(target.spec, dim=dim))


def _cut(writer: Writer, words: int) -> None:
    """The windows that are wanted, where the store has others."""
    if cutting.words_of(writer.connection) != words:
        with writer.transaction():
            cutting.cut_all(writer.connection, words)


def _make_vectors(data_dir: Path, settings: Settings, target: Model, progress: Progress) -> int:
    """Embed what waits, a commit at a time; returns how many texts that were."""
    count, embedder = 0, None
    with reading(data_dir) as reader:
        total = vectors.waiting_count(reader.connection, target.spec.key)
    progress.start(total)
    while True:
        with reading(data_dir) as reader:
            limit = settings.embedding.batch_size * BATCHES_A_COMMIT
            waiting = vectors.waiting(reader.connection, target.spec.key, limit) if total else []
        if not waiting:
            return count
        embedder = embedder or target.load(data_dir)
        made = _made(target, embedder, waiting, settings)
        with writing(data_dir, settings.storage.lock_timeout_s) as writer:
            _keep(writer, target, made)
        if made.failure:
            raise made.failure
        count += len(made.vectors)
        progress.advance(len(waiting))


def _fill(writer: Writer, data_dir: Path, settings: Settings, target: Model) -> int:
    """Under the lock: what another process added since the last look, so that the switch leaves nothing behind."""
    late = vectors.waiting(writer.connection, target.spec.key, limit=-1)
    if not late:
        return 0
    made = _made(target, target.load(data_dir), late, settings)
    _keep(writer, target, made)
    if made.failure:
        raise made.failure
    return len(made.vectors)


def _made(target: Model, embedder: Embedder, waiting: list[WaitingText], settings: Settings) -> Made:
    texts = {text.text_hash: text.embedded_text for text in waiting}
    return make(target, embedder, texts, settings.embedding.batch_size)


def _keep(writer: Writer, target: Model, made: Made) -> None:
    write_down(writer, target, made)
    if made.vectors:
        with writer.transaction() as seq:
            rows = np.stack(list(made.vectors.values()))
            vectors.insert(writer.connection, list(made.vectors), rows, target.spec.key, seq=seq)
            switch.begin(writer, target.spec.key)


def _switch(writer: Writer, built: BuiltWith) -> None:
    """The new matrix beside the old one, then the commit that makes it the right one, then its header."""
    folder = projections.matrix_folder(writer.folder)
    with database.snapshot(writer.connection):
        batches = vectors.of_chunks(
            writer.connection, built.model_key, built.embedding_dim, after_seq=projections.WHOLE_HISTORY,
            with_windows=built.windows > 0,
        )  # fmt: skip
        header = matrixwriter.prepare(
            folder, batches, dim=built.embedding_dim, model=built.model_key, watermark=database.head(writer.connection),
            windows=built.windows,
        )  # fmt: skip
    with writer.transaction():
        set_built_with(writer.connection, built)
        switch.end(writer, built.model_name)
    mark = database.head(writer.connection)
    matrixwriter.publish(folder, msgspec.structs.replace(header, seq=mark.seq, token=mark.token))


def _over_limit(writer: Writer, room: int) -> int:
    row = writer.connection.execute("SELECT count(*) FROM chunks WHERE token_count > ?", (room,)).fetchone()
    return int(row[0])


def _still_named(environ: Mapping[str, str], model_name: str) -> list[str]:
    """What is to be said of a variable that names another model: it is not ours to change."""
    variables = preferences.variables()["embedding.model"]
    variable = next((variable for variable in variables if environ.get(variable)), None)
    if variable is None or means(environ[variable], model_name):
        return []
    return [f"{variable} still says {environ[variable]}: unset it, or set it to {as_written(model_name)}"]
