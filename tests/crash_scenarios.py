"""What `crash_driver` and `scripts/hurt` kill: a store in some state, and a command that changes it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import tiny_model
from crash_process import command_in, in_child

import kb.compact
from index import leads, schema, store
from kb import preferences, queue
from kb.candidates import Request

SECRET = "AKIAQ7RTM4XLD2KWPZ3N"
"""Shaped like the key of a cloud, and nobody's."""


class Scenario(NamedTuple):
    """`before` is done in peace; `command` is killed, and repeated."""

    before: tuple[tuple[str, ...], ...]
    change: Callable[[Path, Path], None]
    """What happens to the documents and the data folder in between."""
    command: tuple[str, ...]
    is_of_many_rows: bool = False
    """With what only a large store has: a first look at leading dimensions, rows that are copied."""


def nothing(_documents: Path, _data: Path) -> None:
    pass


def edit(documents: Path, _data: Path) -> None:
    (documents / "a.md").write_text("# One\n\nred changed alpha\n\n# Three\n\ngreen green red alpha\n")
    (documents / "e.md").write_text("# Nine\n\ngreen red epsilon\n")


def grow(documents: Path, data: Path) -> None:
    """A log is added in peace, and somebody writes on in it: its last exchange goes on, and others follow."""
    log = documents / "log.jsonl"
    log.write_text(says("user", "red alpha") + says("assistant", "red red beta") + says("user", "green green delta"))
    in_child(lambda: command_in(data, ADD))
    with log.open("a") as file:
        file.write(says("assistant", "green changed") + says("user", "red green beta") + says("assistant", "alpha"))


def says(role: str, text: str) -> str:
    return json.dumps({"type": role, "sessionId": "s", "message": {"role": role, "content": text * 9}}) + "\n"


def drop_projections(_documents: Path, data: Path) -> None:
    shutil.rmtree(data / "matrix")
    shutil.rmtree(data / "lexical")


def rearrange(documents: Path, data: Path) -> None:
    """What a sync has to do with: changed, new, gone, renamed, a copy."""
    edit(documents, data)
    (documents / "b.md").unlink()
    (documents / "c.md").rename(documents / "f.md")
    shutil.copy(documents / "d.md", documents / "g.md")


def let_a_secret_in(documents: Path, data: Path) -> None:
    (documents / "s.md").write_text(f"# Ten\n\nred aws_access_key_id = {SECRET} green\n\n# Eleven\n\nred alpha\n")
    in_child(lambda: command_in(data, (*ADD, "--no-scrub")))


def go_back_to_the_first_schema(_documents: Path, data: Path) -> None:
    """The store as the first version of the program would have made it."""
    old, now = data / "old.db", store.database_path(data)
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        schema.migrate(connection, schema.MIGRATIONS[:1])
        connection.execute("ATTACH ? AS now", (str(now),))
        for (table,) in connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'").fetchall():
            if not table.startswith("sqlite_"):
                columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
                connection.execute(f"INSERT OR REPLACE INTO {table} ({columns}) SELECT {columns} FROM now.{table}")
        connection.execute("UPDATE config SET value = '1' WHERE key = 'schema_version'")
        connection.execute("DETACH now")
        connection.execute("PRAGMA journal_mode = WAL")
    for path in data.glob("kb.db*"):
        path.unlink()
    old.rename(now)


def queue_a_job(documents: Path, data: Path) -> None:
    edit(documents, data)
    request = Request(paths=(documents,), recursive=True, replace=True, tags=("new",))
    in_child(lambda: queue.submit(data, preferences.load(data).settings, request).job.job_id)


def want_windows(_documents: Path, data: Path) -> None:
    config = data / "config.yaml"
    config.write_text(config.read_text().replace("batch_size: 1,", "batch_size: 1, windows: 3,"))


def edit_with_windows(documents: Path, data: Path) -> None:
    """A store is made with windows in peace, and then its documents change."""
    want_windows(documents, data)
    in_child(lambda: command_in(data, ADD))
    edit(documents, data)


ADD = ("add", "documents", "-r", "-j")
SCENARIOS = {
    "first-add": Scenario((), nothing, ("add", "documents/a.md", "-j")),
    "add": Scenario((ADD,), edit, (*ADD, "--replace", "--tag", "new")),
    "append": Scenario((), grow, ADD),
    "remove": Scenario((ADD,), nothing, ("remove", "documents/a.md", "documents/c.md", "-j")),
    "sync": Scenario((("source", "add", "documents", "-j"), ("sync", "-j")), rearrange, ("sync", "-j")),
    "compact": Scenario((ADD, ("remove", "documents/b.md", "-j")), nothing, ("compact", "--vacuum", "-j")),
    "compact-many": Scenario(
        (ADD, ("remove", "documents/b.md", "-j")), nothing, ("compact", "--vacuum", "-j"), is_of_many_rows=True
    ),
    "add-to-many": Scenario((ADD,), edit, (*ADD, "--replace"), is_of_many_rows=True),
    "reindex": Scenario((ADD,), nothing, ("reindex", "--model", "other-model", "-j")),
    "windows": Scenario((ADD,), want_windows, ("reindex", "-j")),
    "add-with-windows": Scenario((), edit_with_windows, (*ADD, "--replace")),
    "scrub": Scenario((ADD,), let_a_secret_in, ("scrub", "-j")),
    "restore": Scenario(
        (ADD, ("backup", "saved", "-j"), ("remove", "documents/b.md", "-j")), edit, ("restore", "saved", "--yes", "-j")
    ),
    "migrate": Scenario((ADD,), go_back_to_the_first_schema, ("status", "-j")),
    "jobs": Scenario((ADD,), queue_a_job, ("jobs", "run", "--until-empty", "-j")),
    "heal": Scenario((ADD,), drop_projections, ("status", "-j")),
}


def prepare(folder: Path, scenario: Scenario, data: Path) -> list[str]:
    """Documents, models and the store as the command finds it; returns the command. What is forked from here on knows how many are many."""
    if scenario.is_of_many_rows:
        kb.compact.FEW_CHUNKS, leads.LEAST_ROWS = 0, 1
    texts = {
        "a": "# One\n\nred alpha\n\n# Two\n\nred red green alpha beta\n",
        "b": "# Three\n\ngreen beta\n\n# Four\n\ngreen green red beta\n",
        "c": "# Five\n\nred red red gamma\n\n# Six\n\ngreen gamma\n\n# Seven\n\nred red red green gamma\n",
        "d": "# Eight\n\ngreen green green delta\n\n# Nine\n\nred delta delta\n",
    }
    (folder / "documents").mkdir()
    for name, text in texts.items():
        (folder / "documents" / f"{name}.md").write_text(text)
    model = tiny_model.write_model(folder / "model")
    tiny_model.write_model(folder / "other-model", onnx_file="model.onnx", dim=6)
    data.mkdir()
    (data / "config.yaml").write_text(
        f"embedding: {{model: {model}, batch_size: 1, threads: 1}}\n"
        "chunking: {markdown: {min_tokens: 0}}\ningestion: {batch_size: 2}\n"
    )
    for command in scenario.before:
        if in_child(lambda words=command: command_in(data, words)):
            raise RuntimeError(f"{command} failed")
    scenario.change(folder / "documents", data)
    return [str(folder / word) if word == "other-model" else word for word in scenario.command]
