"""Kill a `kb` command by SIGKILL, and look at what it leaves. Run by `test_crash`, each scenario a process.

    python crash_driver.py SCENARIO FOLDER              at every step
    python crash_driver.py SCENARIO FOLDER MOMENTS      at so many moments, by the clock

Both print a `Result` as JSON. For the first, the command is watched at each call of C code that can change a file: an SQL statement, a write, a sync, a rename, a commit of
tantivy. A step is such a call that finds the data folder other than the call before it found it. So the command is killed
once in every state that it leaves on disk between two calls, each time in a process of its own. By the clock it is killed
wherever it is, within a call of SQLite or tantivy too, while their threads are at work.

This process only imports and forks, so that its children start in milliseconds and from the same state; one is killed, and
the next one looks.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import math
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import small_store
import tiny_model

import kb.add
from index import database, documents, store, vectors
from index.query import parse
from kb import settings
from kb.cli.door import run
from kb.doctor import doctor
from kb.switch import SWITCHED_FROM, settled

CHANGING = frozenset({
    "execute", "executemany", "open", "write", "truncate", "ftruncate", "pwrite", "flush", "fsync", "close", "replace",
    "unlink", "rmdir", "mkdir", "flock", "writer", "add_document", "delete_documents_by_term", "delete_all_documents",
    "commit", "rollback", "wait_merging_threads", "backup", "rename",
})  # fmt: skip
"""Names of C functions and methods that can change what is on disk, or who may."""
LOADED_ONCE = (
    "onnxruntime", "models.embedder", "models.checksum", "kb.cli.adding", "kb.cli.bars", "kb.cli.render", "kb.compact",
    "kb.read.markdown", "kb.read.transcript", "kb.reindex", "kb.remove", "kb.restore", "kb.search", "kb.status", "yaml", "rich.progress",
)  # fmt: skip
"""Imported before the first fork: each child would do it again."""
QUERIES = ("red", "green", "alpha beta", "delta", "changed")


class Scenario(NamedTuple):
    """`before` is done in peace; `command` is killed, and repeated."""

    before: tuple[tuple[str, ...], ...]
    change: Callable[[Path, Path], None]
    """What happens to the documents and the data folder in between."""
    command: tuple[str, ...]


def nothing(_documents: Path, _data: Path) -> None:
    pass


def edit(documents_folder: Path, _data: Path) -> None:
    (documents_folder / "a.md").write_text("# One\n\nred changed alpha\n\n# Three\n\ngreen green red alpha\n")
    (documents_folder / "e.md").write_text("# Nine\n\ngreen red epsilon\n")


def grow(documents_folder: Path, data: Path) -> None:
    """A log is added in peace, and somebody writes on in it: its last exchange goes on, and others follow."""
    log = documents_folder / "log.jsonl"
    log.write_text(says("user", "red alpha") + says("assistant", "red red beta") + says("user", "green green delta"))
    in_child(lambda: command_in(data, ADD))
    with log.open("a") as file:
        file.write(says("assistant", "green changed") + says("user", "red green beta") + says("assistant", "alpha"))


def says(role: str, text: str) -> str:
    return json.dumps({"type": role, "sessionId": "s", "message": {"role": role, "content": text * 9}}) + "\n"


def drop_projections(_documents: Path, data: Path) -> None:
    shutil.rmtree(data / "matrix")
    shutil.rmtree(data / "lexical")


ADD = ("add", "documents", "-r", "-j")
SCENARIOS = {
    "first-add": Scenario((), nothing, ("add", "documents/a.md", "-j")),
    "add": Scenario((ADD,), edit, (*ADD, "--replace", "--tag", "new")),
    "append": Scenario((), grow, ADD),
    "remove": Scenario((ADD,), nothing, ("remove", "documents/a.md", "documents/c.md", "-j")),
    "compact": Scenario((ADD, ("remove", "documents/b.md", "-j")), nothing, ("compact", "--vacuum", "-j")),
    "reindex": Scenario((ADD,), nothing, ("reindex", "--model", "other-model", "-j")),
    "restore": Scenario(
        (ADD, ("backup", "saved", "-j"), ("remove", "documents/b.md", "-j")), edit, ("restore", "saved", "--yes", "-j")
    ),
    "heal": Scenario((ADD,), drop_projections, ("status", "-j")),
}


class Result(msgspec.Struct):
    tried: int = 0
    killed: int = 0
    """The others were over before."""
    before_edit: int = 0
    """Of those killed: how many had switched to another model while config.yaml still named the old one."""
    after_edit: int = 0
    """Of those killed: how many had edited config.yaml too, and not said so in the store."""
    faults: list[str] = []


def main(name: str, folder: Path, moments: int = 0) -> Result:
    for module in LOADED_ONCE:
        importlib.import_module(module)
    kb.add.BATCH_S = math.inf  # batches by number alone, so that every run has the same steps
    os.environ["KB_DAEMON"] = "off"
    scenario = SCENARIOS[name]
    os.chdir(folder)
    data, trial = folder / "data", folder / "trial"
    prepare(folder, scenario, data)
    command = [str(folder / word) if word == "other-model" else word for word in scenario.command]
    kills = dict(by_the_clock(name, command, data, trial, moments) if moments else at_each_step(command, data, trial))
    whole = in_child(lambda: contents(trial))
    before = in_child(lambda: contents(fresh(data, trial)) if store.exists(data) else None)
    result = Result(tried=len(kills))
    for point, kill in kills.items():
        fresh(data, trial)
        result.killed += kill()
        edited = in_child(lambda: configuration_was_edited(trial))
        result.before_edit += edited is False
        result.after_edit += edited is True
        result.faults += [f"{point}: {fault}" for fault in in_child(lambda: faults_of(trial, command, before, whole))]
    return result


Kills = Iterator[tuple[str, Callable[[], bool]]]
"""Each with what it is called; True where the command was still running."""


def at_each_step(command: list[str], data: Path, trial: Path) -> Kills:
    """And leaves in `trial` what a whole run does."""
    for step in in_child(lambda: steps_of(command, fresh(data, trial))):
        yield f"step {step}", lambda step=step: in_child(lambda: killed_at(step, command, trial)) is None


def by_the_clock(name: str, command: list[str], data: Path, trial: Path, moments: int) -> Kills:
    """And leaves in `trial` what a whole run does."""
    duration_s = min(duration_of(command, fresh(data, trial)) for _ in range(3))
    chances = random.Random(name)
    for _ in range(moments):
        after_s = chances.uniform(0, duration_s)
        yield (
            f"after {after_s * 1000:.2f} ms",
            lambda after_s=after_s: in_child(lambda: command_in(trial, command), kill_after_s=after_s) is None,
        )


def duration_of(command: list[str], trial: Path) -> float:
    began = time.perf_counter()
    in_child(lambda: command_in(trial, command))
    return time.perf_counter() - began


def prepare(folder: Path, scenario: Scenario, data: Path) -> None:
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
        in_child(lambda words=command: command_in(data, words))
    scenario.change(folder / "documents", data)


def fresh(data: Path, trial: Path) -> Path:
    shutil.rmtree(trial, ignore_errors=True)
    return Path(shutil.copytree(data, trial))


def in_child(work: Callable[[], Any], kill_after_s: float | None = None) -> Any:
    """What `work` returns in a process of its own, as JSON has it; None where that process was killed."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        with contextlib.suppress(BaseException), os.fdopen(writing, "w") as pipe:
            pipe.write(json.dumps(work()))
            pipe.flush()
            os._exit(0)
        os._exit(1)
    os.close(writing)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("a process ended with an error of the test itself")
    return json.loads(answer) if answer else None


def command_in(data: Path, words: tuple[str, ...] | list[str]) -> int:
    os.environ["KB_DATA_DIR"] = str(data)
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        return run(list(words))


def steps_of(command: list[str], trial: Path) -> list[int]:
    """The numbers of the calls that find another state on disk than the one before."""
    states: list[bytes] = []

    watch(lambda: states.append(state_on_disk(trial)))
    code = command_in(trial, command)
    sys.setprofile(None)
    if code:
        raise RuntimeError(f"{command} ended with {code}")
    return [n for n, state in enumerate(states, start=1) if n == 1 or state != states[n - 2]]


def state_on_disk(folder: Path) -> bytes:
    """A digest of every file but SQLite's shared memory, which a crash does not survive."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.name != "kb.db-shm":
            digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.digest()


def killed_at(number: int, command: list[str], trial: Path) -> int:
    left = number

    def call() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(call)
    return command_in(trial, command)


def watch(before_call: Callable[[], object]) -> None:
    """Do `before_call` before each changing call of this thread."""

    def profile(_frame: object, event: str, function: Any) -> None:
        if event == "c_call" and function.__name__ in CHANGING and not isinstance(function.__self__, str | bytes):
            before_call()

    sys.setprofile(profile)


def faults_of(trial: Path, command: list[str], before: Any, whole: Any) -> list[str]:
    """What is wrong after a kill, and after the command was given once more."""
    faults = list(faults_before_repeating(trial, before, whole)) if store.exists(trial) else []
    code = command_in(trial, command)
    if code and command[0] != "remove":  # removing what has gone is an error, and that is well
        faults.append(f"the command, given once more, ended with {code}")
    if (after := contents(trial)) != whole:
        faults.append(f"the command, given once more, left {after} instead of {whole}")
    return faults


def faults_before_repeating(trial: Path, before: Any, whole: Any) -> Iterator[str]:
    now = contents(trial)
    known = {**(before["documents"] if before else {}), **whole["documents"]}
    for key, document in now["documents"].items():
        if document["chunks"] != known[key]["chunks"]:
            yield f"half a document: {document}"
    copy = rebuilt(trial)
    if now["answers"] != contents(copy)["answers"]:
        yield "the answers differ from those of a rebuilt store"
    if code := command_in(copy, ["search", "red", "-j"]):
        yield f"a search ended with {code}"
    for check in doctor(trial, settled(trial, settings.load(trial)).settings, fix=False).checks:
        if not check.ok:
            yield f"{check.name}: {check.problems}"


def configuration_was_edited(trial: Path) -> bool | None:
    """None but between a switch to another model and its end."""
    if not store.exists(trial):
        return None
    with store.reading(trial) as reader:
        left_behind = database.read_config(reader.connection).get(SWITCHED_FROM)
    return None if left_behind is None else settings.load(trial).settings.embedding.model != left_behind


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
        built = store.built_with(connection)
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


if __name__ == "__main__":
    print(msgspec.json.encode(main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))).decode())
