"""The knowledge base for Python programs: it does what the commands do, warm, from several threads, and as it is documented."""

from __future__ import annotations

import ast
import doctest
import inspect
import math
import os
import shutil
import subprocess
import sys
import textwrap
import typing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
import python_page
from running import environment, write

import kb
from index import lexical, owners, projections, store, watermark
from index.filters import Filter
from index.kept import kept_of
from kb import KnowledgeBase, add, knowledgebase
from kb.knowledgebase import SearchOptions
from kb.search import Request, search
from kb.settings import Settings

NOTES = {
    "apples.md": "# Apples\n\nApples are a sweet red fruit.\n",
    "keys.md": "# Keys\n\nRotate the API keys every month with the vault tool.\n",
    "pears.md": "# Pears\n\nPears are a sweet green fruit.\n",
}
DOCUMENTED = [test for test in doctest.DocTestFinder().find(knowledgebase) if test.examples]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With three notes, and a store of them in `pristine`."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "notes").mkdir()
    for name, text in NOTES.items():
        (folder / "notes" / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch, KnowledgeBase.open(folder / "pristine") as made:
        alone(folder, patch)
        made.add("notes", recursive=True)
    return folder


def alone(folder, patch):
    """Work in this folder; nothing of the user's own settings holds."""
    for name in [name for name in os.environ if name.startswith("KB_")]:
        patch.delenv(name)
    patch.setenv("HOME", str(folder))
    patch.chdir(folder)


@pytest.fixture
def here(folder, monkeypatch):
    """The working directory, with the notes and nothing that another test left."""
    for path in folder.iterdir():
        if path.name not in {"notes", "pristine"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    alone(folder, monkeypatch)
    return folder


@pytest.fixture
def filled(here):
    """Open, with the three notes."""
    shutil.copytree(here / "pristine", here / "filled")
    with KnowledgeBase.open("filled") as opened:
        yield opened


def run(here, *arguments):
    """`kb` as a process, in the same folder."""
    return subprocess.run(
        [sys.executable, "-m", "kb", *arguments],
        cwd=here,
        env=environment(here / "filled", HOME=here),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda test: test.name.rpartition(".")[2])
def test_what_the_documentation_shows_is_what_happens(documented, filled):
    """Each docstring by itself, on a store of its own."""
    documented.globs = {**documented.globs, "kb": filled}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.REPORT_NDIFF)
    said: list[str] = []

    assert runner.run(documented, out=said.append).failed == 0, "".join(said)


def test_every_method_is_documented_with_an_example():
    shown = {test.name.rpartition(".")[2] for test in DOCUMENTED} | {"close"}

    assert {name for name, _ in python_page.methods()} - shown == set()
    assert "KnowledgeBase" in shown


def test_type_checkers_see_what_is_there():
    """The options of `search` that the overloads name, and the names that can be imported from `kb`."""
    parameters = list(inspect.signature(KnowledgeBase.search).parameters)
    [typed] = [node for node in ast.parse(inspect.getsource(kb)).body if isinstance(node, ast.If)]

    assert [name for name in parameters if name not in {"self", "query", "also"}] == list(SearchOptions.__annotations__)
    assert sorted(alias.name for each in typed.body for alias in each.names) == python_page.importable()
    assert all(getattr(kb, name).__name__ == name for name in python_page.importable())
    assert set(python_page.importable()) <= set(dir(kb))


def test_importing_kb_loads_nothing_more():
    done = subprocess.run(
        [sys.executable, "-c", "import sys; before = set(sys.modules); import kb; print(set(sys.modules) - before)"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "{'kb'}"


def test_the_packages_say_that_they_are_typed():
    """PEP 561; hatchling puts every file of the packages into the wheel."""
    root = Path(kb.__file__).parents[1]

    assert [(root / name / "py.typed").is_file() for name in ("kb", "index", "models")] == [True] * 3


def test_answers_are_those_of_the_command_line(filled, here):
    """The same store, the same question, the same JSON but for the time."""
    mine = {
        ("search", "fruit", "-n", "2", "--explain"): filled.search("fruit", top=2, explain=True),
        ("search", "fruit", "--also", "semantic:keys"): filled.search("fruit", also=["semantic:keys"]),
        ("similar", "notes/keys.md"): filled.similar("notes/keys.md"),
        ("similar", "1", "--elsewhere"): filled.similar(chunk=1, elsewhere=True),
        ("list", "--failed"): filled.failed(),
        ("get", "2", "--around", "1"): filled.get(2, around=1),
        ("list", "--path", "*/a*"): filled.list(path=Path("*/a*")),
        ("status",): filled.status(),
    }

    for arguments, answer in mine.items():
        printed = msgspec.json.decode(run(here, *arguments, "-j").stdout)
        assert _without_times(printed) == _without_times(msgspec.to_builtins(answer)), arguments


def _without_times(value):
    """What took how long, and how large files were at the moment, are no part of an answer's meaning."""
    if isinstance(value, dict):
        return {
            name: _without_times(child)
            for name, child in value.items()
            if name != "took_ms" and not name.endswith("_bytes")
        }
    return [_without_times(child) for child in value] if isinstance(value, list | tuple) else value


def test_a_store_is_found_as_the_command_line_finds_it(here, monkeypatch):
    (here / ".kb").mkdir()
    (here / "deep").mkdir()
    monkeypatch.chdir(here / "deep")
    found = [KnowledgeBase.open(), KnowledgeBase.open("~/other"), KnowledgeBase.open(here / "by-path")]
    monkeypatch.setenv("KB_DATA_DIR", str(here / "said"))
    found.append(KnowledgeBase.open())

    assert [each.data_dir for each in found] == [here / name for name in (".kb", "other", "by-path", "said")]
    for each in found:
        each.close()


def test_settings_hold_as_they_are_at_the_call(filled, monkeypatch):
    assert filled.search("fruit").returned == 3
    (filled.data_dir / "config.yaml").write_text("search:\n  default_top: 1\n")
    assert filled.search("fruit").returned == 1
    monkeypatch.setenv("KB_DEFAULT_TOP", "2")
    assert filled.search("fruit").returned == 2
    monkeypatch.setenv("KB_DEFAULT_TOP", "none")
    with pytest.raises(kb.BadConfig):
        filled.search("fruit")


def test_what_is_opened_stays_open_until_close(filled):
    """A second search opens no file: the connection, the lexical index and the matrix are the first one's."""
    filled.search("fruit")
    kept = kept_of(filled.data_dir)
    before = kept.lexical, kept.matrix, list(kept._idle)

    filled.search("keys")

    assert (kept.lexical, kept.matrix, list(kept._idle)) == before
    assert len(before[2]) == 1
    filled.close()
    assert kept_of(filled.data_dir) is None
    assert not kept._idle


def test_who_owns_which_chunks_is_read_for_the_first_filter_and_kept(filled):
    kept = kept_of(filled.data_dir)
    filled.search("fruit")
    assert kept.owners is None

    first, second, _ = (document.path for document in filled.list().documents)
    filled.search("fruit", path=first)
    before = kept.owners
    filled.search("keys", path=second)

    assert before is not None
    assert kept.owners is before


def test_what_passes_a_filter_is_looked_up_again_only_when_something_changes(filled, monkeypatch):
    asked, looked_up = [], owners.chunk_ids
    monkeypatch.setattr(owners, "chunk_ids", lambda *arguments: asked.append(1) or looked_up(*arguments))
    first, second, _ = (document.path for document in filled.list().documents)

    found = [filled.search("fruit", path=first).results for _ in range(2)]
    assert (len(asked), found[0]) == (1, found[1])
    assert {hit.source.path for hit in filled.search("fruit", path=second).results} == {second}
    assert len(asked) == 2
    filled.add_note("fruit of another kind", title="new")
    filled.search("fruit", path=second)
    assert len(asked) == 3


def test_a_process_for_one_search_by_words_does_not_look_chunks_up(filled, monkeypatch):
    """It would load numpy for that."""
    asked, looked_up = [], owners.chunk_ids
    monkeypatch.setattr(lexical, "MANY", 0)
    monkeypatch.setattr(owners, "chunk_ids", lambda *arguments: asked.append(1) or looked_up(*arguments))
    path = filled.list().documents[0].path
    request = Request(query="fruit", top=3, mode="keyword", filter=Filter(path_glob=path))

    found = filled.search("fruit", mode="keyword", path=path)
    filled.close()
    [again] = search(filled.data_dir, Settings(), [request])

    assert asked == [1]
    assert again.results == found.results


def test_two_of_one_store_share_what_is_open_and_the_last_closes_it(filled):
    with KnowledgeBase.open(filled.data_dir) as other:
        other.search("fruit")
    kept = kept_of(filled.data_dir)

    assert list(kept._idle)
    filled.close()
    filled.close()
    assert kept_of(filled.data_dir) is None


def test_a_connection_that_comes_back_after_close_is_closed(filled):
    with store.reading(filled.data_dir) as reader:
        kept = kept_of(filled.data_dir)
        filled.close()

        assert reader.connection.execute("SELECT count(*) FROM documents").fetchone() == (3,)
    assert not kept._idle


def test_a_closed_one_refuses(filled):
    filled.close()

    with pytest.raises(kb.BadRequest, match="closed"):
        filled.search("fruit")
    assert repr(filled).endswith("(closed)>")


def test_several_threads_search_while_one_adds(filled, here):
    """Each answer is whole and of one moment: what a thread has seen once does not go away again."""
    for number in range(4):
        (here / f"more-{number}.md").write_text(f"# More {number}\n\nAnother sweet fruit, number {number}.\n")

    def searches(_):
        return [filled.search("sweet fruit", top=100).returned for _ in range(8)]

    with ThreadPoolExecutor(4) as threads:
        counts = [threads.submit(searches, None) for _ in range(3)]
        added = [filled.add(f"more-{number}.md").added for number in range(4)]
        seen = [each.result() for each in counts]

    assert added == [1] * 4
    assert all(each == sorted(each) for each in seen)
    assert filled.search("sweet fruit", top=100).returned == 7


@pytest.mark.parametrize(
    ("method", "arguments", "said"),
    [
        ("search", {"query": ""}, "the query is empty"),
        ("search", {"query": "x", "top": 0}, "top=0"),
        ("search", {"query": "x", "top": 1001}, "from 1 to 1000"),
        ("search", {"query": "x", "min_score": 2}, "min_score=2"),
        ("search", {"query": "x", "mode": "magic"}, "hybrid, keyword, semantic"),
        ("search", {"query": "x", "tags": "ops"}, "tags is a list"),
        ("search", {"query": "x", "also": "y"}, "also is a list"),
        ("search", {"query": "x", "types": ["tape"]}, "unknown type"),
        ("search", {"query": "x", "since": "soon"}, "not a date"),
        ("search", {"query": "x", "group": True, "per_document": 2}, "say one of them"),
        ("similar", {}, "a document or a chunk"),
        ("similar", {"reference": 1, "chunk": 1}, "a document or a chunk"),
        ("similar", {"chunk": "1"}, "chunk='1'"),
        ("get", {"reference": 1, "lines": (3, 1)}, "not a range"),
        ("get", {"reference": 1, "page": 1, "around": 1}, "say one of them"),
        ("view", {"chunk": 1, "page": 2}, "its own page"),
        ("list", {"offset": -1}, "offset=-1"),
        ("list", {"meta": {"batch": 7}}, "meta 'batch': 7"),
        ("remove", {}, "nothing to remove"),
        ("add", {}, "nothing to add"),
        ("add_note", {"text": "x", "tags": [" "]}, "a tag needs a name"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(filled, method, arguments, said):
    with pytest.raises(kb.BadRequest) as refused:
        getattr(filled, method)(**arguments)

    assert said in f"{refused.value.message} ({refused.value.hint})"


def test_every_answer_says_how_long_it_took(filled):
    for answer in (
        filled.view(chunk=1).answer,
        filled.search("sweet"),
        filled.show(1),
        filled.failed(),
        filled.status(),
    ):
        assert answer.took_ms > 0


def test_errors_are_those_of_the_command_line(filled, here):
    (here / "empty.md").write_text("")
    (here / "film.mp4").write_bytes(b"\0")

    for wrong, error in (
        (lambda: filled.get(99), kb.NotFound),
        (lambda: filled.remove("absent.md"), kb.NotFound),
        (lambda: filled.add("notes"), kb.BadRequest),
        (lambda: filled.add("film.mp4"), kb.UnsupportedType),
        (lambda: filled.add("notes", recursive=True, title="One"), kb.BadRequest),
        (lambda: filled.add_note(" "), kb.NoText),
        (lambda: filled.add_content("x", doc_type="tape"), kb.UnsupportedType),
        (lambda: next(iter(filled.original(1))), kb.NotFound),
    ):
        with pytest.raises(error):
            wrong()


def test_a_failed_file_among_others_is_in_the_answer(filled, here):
    (here / "bad.docx").write_bytes(b"no archive")
    (here / "good.md").write_text("# Good\n\nA plum.\n")

    answer = filled.add("bad.docx", "good.md", tags=["new"], meta={"batch": "7"})

    assert (answer.added, answer.failed) == (1, 1)
    assert filled.list(tags=["new"], meta={"batch": "7"}).documents[0].title == "Good"


def test_whoever_adds_may_be_told_how_it_goes(filled, here):
    class Counting:
        def __init__(self):
            self.count, self.files = 0, []

        def found(self):
            self.count += 1

        def done(self, file, *, pages):
            self.files.append((file.title, file.status))

    counting = Counting()
    (here / "plums.md").write_text("# Plums\n\nPlums are blue.\n")
    filled.add("notes", "plums.md", recursive=True, progress=counting)

    assert counting.count == 4
    assert ("Plums", "added") in counting.files


def test_what_is_added_is_written_and_found_whenever_enough_chunks_have_come_together(here, filled, monkeypatch):
    """However many files that are, and however fast they are read."""
    write(here / "more", {f"{number}.md": f"red green {number}\n" for number in range(6)})
    monkeypatch.setattr(add, "BATCH_S", math.inf)
    monkeypatch.setattr(add, "BATCH_CHUNKS", 2)
    written = []

    class Watching:
        def found(self):
            pass

        def done(self, file, *, pages):
            written.append(watermark.read(projections.lexical_folder(filled.data_dir)).seq)

    filled.add("more", recursive=True, progress=Watching())

    first = written[0]
    assert written == [first, first, first + 2, first + 2, first + 4, first + 4]


def test_a_script_without_a_guard_adds_files_that_are_read_in_other_processes(here):
    """A spawned process usually runs the script that started it once more."""
    (here / "rotate.py").write_text('def rotate():\n    """Rotate the keys."""\n')
    (here / "script.py").write_text(
        textwrap.dedent(
            """
            from kb import KnowledgeBase

            with open("runs", "a") as file:
                file.write("run\\n")
            with KnowledgeBase.open("store") as kb:
                print(kb.add("rotate.py").added)
            """
        )
    )

    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=here,
        env=environment(here / "store", HOME=here),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("1\n", "")
    assert (here / "runs").read_text() == "run\n"


def test_the_signatures_can_be_read_at_run_time():
    """By tools that make an interface of them."""
    assert typing.get_type_hints(KnowledgeBase.get)["page"] == int | None
