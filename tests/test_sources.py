"""`kb source`: folders registered, shown, renamed, declared in a file and forgotten."""

from __future__ import annotations

from functools import partial

import pytest
import running

PROSE = "Heat flows from the warm body to the cold one until both are equally warm. "


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def docs(tmp_path):
    return partial(running.write, tmp_path / "docs")


def listed(kb) -> dict[str, dict]:
    return {document["path"].rpartition("/")[2]: document for document in kb("list", "-j", "--all").json["documents"]}


def sources(kb) -> list[dict]:
    return kb("source", "list", "-j").json["sources"]


def test_a_source_is_registered_under_its_folders_name_and_nothing_is_read(kb, docs):
    folder = docs({"a.md": PROSE})

    ran = kb("source", "add", "docs")

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "Nothing was read yet: kb sync docs"
    [source] = sources(kb)
    assert (source["name"], source["path"], source["documents"], source["synced_at"]) == ("docs", str(folder), 0, None)


def test_all_that_is_said_of_a_source_is_kept(kb, docs):
    docs({})

    kb(
        "source", "add", "docs", "--name", "n", "--tag", "x", "--tag", " y ", "--glob", "*.md", "--exclude", "old/", "--type",
        "markdown", "--chunker", "fixed", "--describe", "What it is", "--follow-symlinks", "--no-scrub",
    )  # fmt: skip

    [source] = kb("source", "show", "n", "-j").json["sources"]
    assert {name: source[name] for name in ("tags", "globs", "excludes", "type", "chunker", "description")} == {
        "tags": ["x", "y"], "globs": ["*.md"], "excludes": ["old/"], "type": "markdown", "chunker": "fixed",
        "description": "What it is",
    }  # fmt: skip
    assert (source["follow_symlinks"], source["scrub"]) == (True, False)
    assert "What it is" in kb("source", "show", "n").stdout


def test_a_name_that_is_taken_gets_a_number_unless_it_was_said(kb, docs, tmp_path):
    docs({})
    running.write(tmp_path / "other/docs", {})
    kb("source", "add", "docs")

    assert kb("source", "add", "other/docs", "--name", "docs").code == 2
    kb("source", "add", "other/docs")

    assert [source["name"] for source in sources(kb)] == ["docs", "docs-2"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["gone"], 3, "no such file or directory"),
        (["docs", "--type", "nonsense"], 4, "unknown type"),
        (["docs", "--glob", "!"], 2, "not a pattern"),
        (["docs", "--tag", " "], 2, "a tag needs a name"),
        (["docs", "--name", " "], 2, "cannot be a name"),
        (["docs", "--chunker", "other"], 2, "--chunker"),
    ],
)
def test_what_cannot_be_a_source_is_refused_and_makes_no_store(kb, docs, tmp_path, arguments, code, said):
    docs({})

    ran = kb("source", "add", *arguments)

    assert (ran.code, ran.stdout) == (code, "")
    assert said in ran.stderr
    if code != 2 or "--name" not in arguments:
        assert not (tmp_path / "store/kb.db").exists()


@pytest.mark.parametrize(("first", "second", "said"), [
    ("docs", "docs", "is the source docs already"), ("docs", "docs/sub", "lies inside"), ("docs/sub", "docs", "holds"),
])  # fmt: skip
def test_sources_do_not_overlap(kb, docs, first, second, said):
    docs({"sub/a.md": PROSE})
    kb("source", "add", first)

    ran = kb("source", "add", second)

    assert ran.code == 2
    assert said in ran.stderr
    assert len(sources(kb)) == 1


def test_a_folder_whose_name_begins_like_a_sources_is_another(kb, docs, tmp_path):
    docs({})
    running.write(tmp_path / "docs2", {})

    assert [kb("source", "add", name).code for name in ("docs", "docs2")] == [0, 0]


def test_a_source_may_be_one_file(kb, docs):
    docs({"a.md": PROSE, "b.md": PROSE})
    kb("source", "add", "docs/a.md")

    kb("sync")

    assert list(listed(kb)) == ["a.md"]


def test_a_source_is_renamed_and_its_documents_stay(kb, docs):
    docs({"a.md": PROSE})
    kb("source", "add", "docs")
    kb("sync")

    ran = kb("source", "rename", "docs", "papers", "-j")

    assert [(source["name"], source["documents"]) for source in ran.json["sources"]] == [("papers", 1)]
    assert kb("scan", "papers").code == 0
    assert kb("source", "rename", "nothing", "other").code == 3


def test_a_source_is_known_by_its_path_too(kb, docs):
    docs({})
    kb("source", "add", "docs", "--name", "n")

    assert kb("source", "show", "docs", "-j").json["sources"][0]["name"] == "n"
    assert [kb("scan", "docs").code, kb("sync", "docs").code] == [0, 0]


def test_a_forgotten_source_leaves_its_documents(kb, docs):
    docs({"a.md": PROSE})
    kb("source", "add", "docs")
    kb("sync")

    ran = kb("source", "remove", "docs")

    assert ran.stdout == "Forgot the source docs; its 1 document stays.\n"
    assert sources(kb) == []
    assert list(listed(kb)) == ["a.md"]


def test_a_source_is_forgotten_with_its_documents_where_that_is_said(kb, docs):
    folder = docs({"a.md": PROSE, "b.md": PROSE})
    kb("source", "add", "docs")
    kb("sync")
    kb("add", "--note", "a note")

    answer = kb("source", "remove", "docs", "--documents", "-j").json

    assert answer["documents_removed"] == 1
    assert [document["type"] for document in kb("list", "-j").json["documents"]] == ["note"]
    assert (folder / "a.md").exists()


def test_a_source_registered_again_takes_its_documents_back_without_reading_them(kb, docs):
    docs({"a.md": PROSE})
    kb("source", "add", "docs")
    kb("sync")
    kb("source", "remove", "docs")
    kb("source", "add", "docs", "--tag", "x")

    answer = kb("sync", "-j").json

    assert [(file["status"], file["document_id"]) for file in answer["files"]] == [("touched", 1)]
    assert listed(kb)["a.md"]["tags"] == ["x"]


# Declared in a file

DECLARED = """
sources:
  - path: notes
    description: What I write down.
    tags: personal
  - {path: ../papers, name: science, tags: [read, kept], excludes: drafts/, chunker: fixed}
"""


@pytest.fixture
def declared(tmp_path):
    """A file in `conf/`, and the folders that it names."""

    def write(text: str = DECLARED):
        running.write(tmp_path / "conf/notes", {"a.md": PROSE})
        running.write(tmp_path / "papers", {"b.md": PROSE + "b", "drafts/c.md": "c"})
        (tmp_path / "conf/sources.yaml").write_text(text)
        return "conf/sources.yaml"

    return write


def test_sources_are_declared_in_a_file_with_paths_relative_to_it(kb, declared, tmp_path):
    answer = kb("source", "import", declared(), "-j").json

    assert answer["changed"] == 2
    assert [(source["name"], source["path"]) for source in answer["sources"]] == [
        ("notes", f"{tmp_path}/conf/notes"),
        ("science", f"{tmp_path}/papers"),
    ]
    kb("sync")
    assert {name: document["tags"] for name, document in listed(kb).items()} == {
        "a.md": ["personal"],
        "b.md": ["kept", "read"],
    }


def test_the_same_file_again_changes_nothing(kb, declared):
    file = declared()
    kb("source", "import", file)

    assert kb("source", "import", file, "-j").json["changed"] == 0


def test_a_file_that_says_something_else_now_is_followed_at_the_next_sync(kb, declared, tmp_path):
    """Tags at once; what is left out goes, what is cut otherwise is read again."""
    kb("source", "import", declared())
    kb("sync")
    kb("tag", "add", tmp_path / "papers/b.md", "mine")
    text = DECLARED.replace("[read, kept]", "[kept, new]").replace("chunker: fixed", "chunker: structure")
    kb("source", "import", declared(text.replace("tags: personal", "excludes: a.md")))

    assert listed(kb)["b.md"]["tags"] == ["kept", "mine", "new"]
    assert kb("scan", "-j").json["sources"][0]["gone"] == 1
    answer = kb("sync", "--yes", "-j").json

    assert [(file["path"].rpartition("/")[2], file["status"]) for file in answer["files"]] == [
        ("a.md", "removed"),
        ("b.md", "replaced"),
    ]
    assert listed(kb)["b.md"]["tags"] == ["kept", "mine", "new"]
    assert kb("scan").code == 0


def test_sources_that_the_file_does_not_name_stay(kb, declared, docs):
    docs({})
    kb("source", "add", "docs")
    kb("source", "import", declared())

    assert [source["name"] for source in sources(kb)] == ["docs", "notes", "science"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sources: [", "sources.yaml: "),
        ("- notes", "Expected `object`"),
        ("sources:\n  - path: notes\n    glob: x\n", "unknown field `glob` - at `sources[0]`"),
        ("sources:\n  - name: notes\n", "missing required field `path` - at `sources[0]`"),
        ("sources:\n  - path: gone\n", "gone: no such file or directory"),
        ("sources:\n  - path: notes\n  - path: notes\n    name: again\n", "is the source notes already"),
    ],
)
def test_a_file_that_cannot_be_followed_registers_nothing(kb, declared, text, said):
    ran = kb("source", "import", declared(text))

    assert ran.code in {2, 3}
    assert said in ran.stderr
    assert kb("source", "list", "-j").json.get("sources", []) == []


def test_a_declaration_that_is_not_there_is_said(kb):
    assert kb("source", "import", "gone.yaml").code == 3


# What else knows of sources


def test_a_file_added_by_hand_belongs_to_the_source_it_lies_in(kb, docs):
    folder = docs({"a.md": PROSE, ".hidden.md": "hidden"})
    kb("source", "add", "docs", "--tag", "x")

    kb("add", folder / "a.md", folder / ".hidden.md")

    assert kb("scan").code == 0
    assert listed(kb)["a.md"]["tags"] == ["x"]
    assert listed(kb)[".hidden.md"]["tags"] == []
    kb("sync")
    assert set(listed(kb)) == {"a.md", ".hidden.md"}


def test_a_document_that_is_moved_out_of_a_source_by_add_leaves_it(kb, docs, tmp_path):
    folder = docs({"a.md": PROSE})
    kb("source", "add", "docs")
    kb("sync")
    (folder / "a.md").rename(tmp_path / "a.md")

    kb("add", tmp_path / "a.md")
    kb("sync", "--yes")

    assert list(listed(kb)) == ["a.md"]
    assert sources(kb)[0]["documents"] == 0


def test_status_shows_the_sources(kb, docs):
    docs({"a.md": PROSE})
    kb("source", "add", "docs")
    assert kb("status", "-j").json["sources"][0]["synced_at"] is None
    kb("sync")

    [source] = kb("status", "-j").json["sources"]
    assert (source["name"], source["documents"]) == ("docs", 1)
    assert source["synced_at"]
    assert "name docs" in kb("status").stdout
