"""The tables of `kb.db`, as a sequence of migrations.

Each migration is a named function, run once, in one transaction that also records it. The number of the last one is the
schema version (`config.schema_version`). A database with a higher version than this program knows is left alone.

Rows that projections replay carry `seq`, the number of the transaction that wrote them:

    documents.seq       the document and its chunks were added, it has grown, or its title or path changed
    vectors.seq         the vector was added (a chunk may get its vector later than its text)
    deleted_chunks.seq  the chunk was deleted; written by a trigger, so that no delete can be forgotten
    log                 one row a transaction: its seq and a random token, by which a projection knows its own history
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from index import database
from index.errors import StoreTooNew

Migration = Callable[[sqlite3.Connection], None]


def _first_schema(connection: sqlite3.Connection) -> None:
    for statement in _FIRST_SCHEMA.split(";;"):
        connection.execute(statement)


_FIRST_SCHEMA = """
CREATE TABLE config (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID
;;
CREATE TABLE log (
    seq   INTEGER PRIMARY KEY,
    token INTEGER NOT NULL
)
;;
INSERT INTO log VALUES (0, 0)
;;
CREATE TABLE documents (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    title        TEXT NOT NULL,
    source_path  TEXT,              -- absolute, verbatim; NULL for notes and standard input
    content_hash TEXT NOT NULL,     -- sha256 of the file's bytes, hex
    doc_type     TEXT NOT NULL,
    language     TEXT,
    created_at   TEXT NOT NULL,     -- when it entered the store, UTC, ISO 8601
    modified_at  TEXT NOT NULL,     -- the date it states itself, else its file's, UTC, ISO 8601
    mtime_ns     INTEGER,           -- the file's, to tell a changed file by one stat
    size         INTEGER NOT NULL,  -- bytes
    extractor    TEXT NOT NULL,
    metadata     TEXT NOT NULL DEFAULT '{}',
    seq          INTEGER NOT NULL
)
;;
CREATE UNIQUE INDEX documents_by_hash ON documents (content_hash)
;;
CREATE INDEX documents_by_path ON documents (source_path)
;;
CREATE INDEX documents_by_seq ON documents (seq)
;;
CREATE TABLE chunks (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    chunk_index INTEGER NOT NULL,                   -- from 0, in reading order
    text        TEXT NOT NULL,
    heading     TEXT NOT NULL,                      -- 'Config > Advanced', or ''
    context     TEXT NOT NULL,                      -- embedded before the text
    page        INTEGER,
    start_line  INTEGER,
    end_line    INTEGER,
    token_count INTEGER NOT NULL,
    metadata    TEXT NOT NULL DEFAULT '{}',
    text_hash   BLOB NOT NULL,                      -- of context and text: what is embedded
    UNIQUE (document_id, chunk_index)
)
;;
CREATE INDEX chunks_by_text ON chunks (text_hash)
;;
CREATE TABLE deleted_chunks (
    id  INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL
)
;;
CREATE INDEX deleted_chunks_by_seq ON deleted_chunks (seq)
;;
CREATE TRIGGER chunk_deleted AFTER DELETE ON chunks BEGIN
    INSERT INTO deleted_chunks VALUES (old.id, (SELECT max(seq) FROM log));
END
;;
CREATE TABLE vectors (
    id        INTEGER PRIMARY KEY,
    text_hash BLOB NOT NULL,
    model     TEXT NOT NULL,
    vector    BLOB NOT NULL,                        -- float32, little endian, unit length
    seq       INTEGER NOT NULL,
    UNIQUE (text_hash, model)
)
;;
CREATE INDEX vectors_by_seq ON vectors (seq)
;;
CREATE TABLE tags (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    description TEXT NOT NULL DEFAULT ''
)
;;
CREATE TABLE document_tags (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    tag_id      INTEGER NOT NULL REFERENCES tags (id) ON DELETE CASCADE,
    PRIMARY KEY (document_id, tag_id)
) WITHOUT ROWID
;;
CREATE INDEX document_tags_by_tag ON document_tags (tag_id)
;;
CREATE TABLE failures (
    source_path  TEXT PRIMARY KEY,                  -- a file that could not be read
    content_hash TEXT NOT NULL,                     -- is not tried again until this changes
    mtime_ns     INTEGER NOT NULL,
    size         INTEGER NOT NULL,
    kind         TEXT NOT NULL,                     -- 'failed', or 'no_text': read, and nothing in it
    reason       TEXT NOT NULL,
    failed_at    TEXT NOT NULL
) WITHOUT ROWID
"""


def _sources_originals_unembedded(connection: sqlite3.Connection) -> None:
    for statement in _SOURCES_ORIGINALS_UNEMBEDDED.split(";;"):
        connection.execute(statement)
    from index import checksums  # a search migrates nothing

    for trigger in checksums.triggers():
        connection.execute(trigger)
    stored = connection.execute("SELECT id, vector FROM vectors")
    sums = [(checksums.of_vector(vector), number) for number, vector in stored]
    connection.executemany("UPDATE vectors SET crc = ? WHERE id = ?", sums)
    checksums.touch_all(connection)
    checksums.settle(connection)


_SOURCES_ORIGINALS_UNEMBEDDED = """
CREATE TABLE sources (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    path        TEXT NOT NULL UNIQUE,               -- absolute, verbatim: a folder or a file
    description TEXT NOT NULL DEFAULT '',
    rules       TEXT NOT NULL DEFAULT '{}',         -- how its files are chosen and read, JSON
    added_at    TEXT NOT NULL,
    synced_at   TEXT
)
;;
ALTER TABLE documents ADD COLUMN source_id INTEGER REFERENCES sources (id) ON DELETE SET NULL
;;
ALTER TABLE documents ADD COLUMN title_is_name INTEGER /* 1: of the file, for want of another; NULL: not known, from before */
;;
ALTER TABLE documents ADD COLUMN stated_tags TEXT NOT NULL DEFAULT '[]' /* those that the file itself states, JSON */
;;
ALTER TABLE documents ADD COLUMN outdated INTEGER NOT NULL DEFAULT 0 /* 1: the rules of its source have changed since it was read */
;;
CREATE INDEX documents_by_source ON documents (source_id, source_path, mtime_ns, size) -- all that an unchanged file needs
;;
CREATE INDEX documents_outdated ON documents (source_id, source_path) WHERE outdated
;;
CREATE TABLE copies (                               -- files of sources whose content is the document of another file
    source_path  TEXT PRIMARY KEY,
    content_hash TEXT NOT NULL,
    mtime_ns     INTEGER NOT NULL,
    size         INTEGER NOT NULL
) WITHOUT ROWID
;;
CREATE INDEX copies_by_hash ON copies (content_hash)
;;
CREATE TABLE originals (
    content_hash TEXT PRIMARY KEY,                  -- of a document: its bytes as they were, if they were to be kept
    name         TEXT NOT NULL,
    bytes        BLOB NOT NULL                      -- zlib
)
;;
CREATE TABLE loose_originals (                      -- whose document went in this transaction; empty outside of one
    content_hash TEXT PRIMARY KEY
) WITHOUT ROWID
;;
CREATE TRIGGER original_loosened AFTER DELETE ON documents
WHEN EXISTS (SELECT 1 FROM originals WHERE content_hash = old.content_hash) BEGIN
    INSERT OR IGNORE INTO loose_originals VALUES (old.content_hash);
END
;;
CREATE TRIGGER original_outdated AFTER UPDATE OF content_hash ON documents
WHEN new.content_hash != old.content_hash AND EXISTS (SELECT 1 FROM originals WHERE content_hash = old.content_hash)
BEGIN
    INSERT OR IGNORE INTO loose_originals VALUES (old.content_hash);
END
;;
CREATE TABLE unembedded (
    text_hash BLOB NOT NULL,                        -- a text that a model could not embed, and is not shown again
    model     TEXT NOT NULL,
    reason    TEXT NOT NULL,
    failed_at TEXT NOT NULL,
    PRIMARY KEY (text_hash, model)
) WITHOUT ROWID
;;
CREATE TABLE windows (                              -- parts of chunks with rows of their own, if the store has any
    chunk_id  INTEGER NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    number    INTEGER NOT NULL,                     -- from 0, in reading order
    text_hash BLOB NOT NULL,                        -- of what is embedded of it
    PRIMARY KEY (chunk_id, number)
) WITHOUT ROWID
;;
CREATE INDEX windows_by_text ON windows (text_hash)
;;
CREATE TABLE jobs (                                 -- what is to be added in the background (index/jobs.py)
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    kind          TEXT NOT NULL,                    -- 'paths', 'reread', 'note', 'stream' or 'uploads'
    request       TEXT NOT NULL,                    -- what `kb add` was asked to do, JSON, without secrets
    workers       INTEGER,                          -- processes that read; NULL: as the settings say
    note          TEXT,                             -- what was read of a note, JSON; NULL when it is done
    state         TEXT NOT NULL,                    -- 'waiting', 'running', 'done', 'failed' or 'cancelled'
    is_cancelling INTEGER NOT NULL DEFAULT 0,       -- 1: a running one is to end at the next file
    is_listed     INTEGER NOT NULL,                 -- 1: all its files are in job_files
    deaths        INTEGER NOT NULL DEFAULT 0,       -- workers that died of it since a file was done
    error         TEXT NOT NULL DEFAULT '',         -- why it could not be done at all
    warnings      TEXT NOT NULL DEFAULT '[]',       -- JSON
    created_at    TEXT NOT NULL,
    started_at    TEXT,
    ended_at      TEXT
)
;;
CREATE INDEX jobs_by_state ON jobs (state)
;;
CREATE TABLE job_files (
    job_id      INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    path        TEXT NOT NULL,                      -- absolute; of an upload its name, of a note its title
    upload      TEXT,                               -- where its bytes wait below uploads/
    status      TEXT NOT NULL,                      -- 'waiting', or what became of it
    title       TEXT NOT NULL DEFAULT '',
    document_id INTEGER,                            -- no reference: a job remembers what it did
    chunks      INTEGER NOT NULL DEFAULT 0,
    reason      TEXT NOT NULL DEFAULT '',
    redacted    INTEGER NOT NULL DEFAULT 0,
    UNIQUE (job_id, path)
)
;;
CREATE INDEX job_files_by_status ON job_files (job_id, status)
;;
ALTER TABLE vectors ADD COLUMN crc INTEGER          /* of the vector (index/checksums.py) */
;;
CREATE TABLE checksums (                            -- of what else is the truth
    kind TEXT NOT NULL,                             -- 'document', ...
    key  NOT NULL,                                  -- its id, or what else names it
    crc  INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID
;;
CREATE TABLE touched (                              -- what changed in this transaction; empty outside of one
    kind TEXT NOT NULL,
    key  NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID
"""

MIGRATIONS: tuple[Migration, ...] = (_first_schema, _sources_originals_unembedded)
SCHEMA_VERSION = len(MIGRATIONS)


def version(connection: sqlite3.Connection) -> int:
    """The schema version of an open database; 0 for an empty file."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'config'").fetchone():
        return 0
    row = connection.execute("SELECT value FROM config WHERE key = 'schema_version'").fetchone()
    return int(row[0]) if row else 0


def check_version(connection: sqlite3.Connection) -> bool:
    """True if the schema is this program's, False if it is older. Raises StoreTooNew if it is newer."""
    found = version(connection)
    if found > SCHEMA_VERSION:
        raise StoreTooNew(
            f"the store has schema version {found}, this kb knows up to {SCHEMA_VERSION}",
            "upgrade kb-search, or point KB_DATA_DIR at another store",
        )
    return found == SCHEMA_VERSION


def migrate(connection: sqlite3.Connection, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Run the migrations that this database has not seen, each in one transaction. The caller holds the writer lock."""
    for number, migration in enumerate(migrations[version(connection) :], start=version(connection) + 1):
        with database.immediate(connection):
            migration(connection)
            connection.execute("INSERT OR REPLACE INTO config VALUES ('schema_version', ?)", (str(number),))
