"""`kb export` and `kb import`: a store as files that people can read, and back again with nothing lost but time."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import subprocess
import unicodedata

import pytest
import small_store
from hypothesis import given
from hypothesis import strategies as st
from running import here, write
from small_store import document

from index import originals, store
from kb.errors import BadRequest
from kb.export import export
from kb.exported import DEVICES, FORBIDDEN, LONGEST_NAME_BYTES, safe_name, stem

QUERIES = ("red house", "green", '"huge tree"', "answer")
LATIN = "# Röt\n\nThe red house.\n\n## Zwei\n\nA huge tree, and green grass."


class Moving:
    """Two machines: `here` with the store that is exported to `there`."""

    def __init__(self, folder, model):
        self.folder = folder
        self.variables = {"KB_MODEL": model, "KB_MIN_TOKENS": 0}

    def here(self, *arguments, **others):
        return here(self.folder, *arguments, **self.variables, **others)

    def there(self, *arguments, **others):
        return here(self.folder, *arguments, **self.variables, KB_DATA_DIR=self.folder / "there", **others)


@pytest.fixture
def moving(tmp_path, roomy_folder, in_this_process):
    made = Moving(tmp_path, roomy_folder)
    write(
        tmp_path,
        {
            "a/read me.md": LATIN,
            "b/read me.md": "---\nauthor: Ann\ntags: [stated]\n---\n# B\n\ngreen",
            "c.py": "def answer():\n    return 42\n",
        },
    )
    for done in (
        made.here("add", "-r", "a", "b", "--keep-original", "-t", "colour", "--meta", "project=x"),
        made.here("add", "c.py"),
        made.here("add", "--note", "the answer is red", "--meta", "source=doc:1", "--meta", "kind=fact"),
        made.here("tag-describe", "colour", "what is seen"),
    ):
        assert done.code == 0, done
    return made


def truth(data_dir):
    """Documents, chunks, tags, vectors and originals, without what only this store calls them."""
    connection = sqlite3.connect(data_dir / "kb.db")
    hidden = {"id", "seq", "document_id", "tag_id", "source_id"}

    def rows(table, order):
        cursor = connection.execute(f"SELECT * FROM {table} ORDER BY {order}")
        names = [column[0] for column in cursor.description]
        return [{name: value for name, value in zip(names, row, strict=True) if name not in hidden} for row in cursor]

    tables = {"documents": "id", "chunks": "id", "tags": "name", "vectors": "text_hash", "originals": "content_hash"}
    found = {table: rows(table, order) for table, order in tables.items()}
    owned = "SELECT d.content_hash, t.name FROM document_tags dt JOIN documents d ON d.id = document_id JOIN tags t ON t.id = tag_id"
    found["document_tags"] = sorted(connection.execute(owned))
    connection.close()
    return found


def test_an_export_imported_into_an_empty_store_is_the_same_store(moving, tmp_path):
    """Documents with their dates, chunks, tags and their meaning, meta, originals; even the vectors, which are made anew."""
    done = moving.here("export", "out", "-j")
    assert (done.code, done.json["documents"], done.json["originals"], done.json["tags"]) == (0, 4, 2, 1)
    done = moving.there("import", "out", "-j")
    assert (done.code, done.json["added"], done.json["originals"], done.json["warnings"]) == (0, 4, 2, [])
    assert done.json["embedded"] == done.json["chunks"]
    assert truth(tmp_path / "there") == truth(tmp_path / "store")
    for mode in ("keyword", "semantic", "hybrid"):
        for query in QUERIES:
            asked = ("search", "-j", "--mode", mode, query)
            assert {**moving.there(*asked).json, "took_ms": 0} == {**moving.here(*asked).json, "took_ms": 0}
    assert moving.there("doctor").code == 0


def test_the_files_themselves_are_not_needed(moving, tmp_path):
    """As on another machine."""
    moving.here("export", "out")
    for name in ("a", "b", "store"):
        shutil.rmtree(tmp_path / name)
    assert moving.there("import", "out", "-j").json["added"] == 4
    assert moving.there("search", "-j", "red house").json["results"][0]["source"]["path"] == str(
        tmp_path / "a/read me.md"
    )


def test_what_people_see_is_text_with_a_file_of_facts_beside_it(moving, tmp_path):
    moving.here("export", "out")
    names = sorted(
        path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()
    )
    assert names == [
        "documents/00001-röt.json", "documents/00001-röt.md", "documents/00002-b.json", "documents/00002-b.md",
        "documents/00003-c.json", "documents/00003-c.txt", "documents/00004-the-answer-is-red.json",
        "documents/00004-the-answer-is-red.md", "kb-export.json", "originals/00001/read me.md", "originals/00002/read me.md",
    ]  # fmt: skip
    text = (tmp_path / "out/documents/00001-röt.md").read_text()
    assert text == moving.here("get", "1").stdout.removesuffix("\n")
    said = json.loads((tmp_path / "out/documents/00002-b.json").read_text())
    assert said["path"] == str(tmp_path / "b/read me.md")
    assert (said["tags"], said["metadata"]["author"], said["metadata"]["meta"]) == (
        ["colour", "stated"],
        "Ann",
        {"project": "x"},
    )
    assert said["chunks"][0]["start_line"] == 5
    assert (tmp_path / "out" / said["original"]).read_bytes() == (tmp_path / "b/read me.md").read_bytes()


def test_importing_twice_adds_nothing(moving, tmp_path):
    moving.here("export", "out")
    moving.there("import", "out")
    before = truth(tmp_path / "there")
    done = moving.there("import", "out", "-j")
    assert (done.json["added"], done.json["skipped"], done.json["embedded"]) == (0, 4, 0)
    assert truth(tmp_path / "there") == before


def test_what_is_there_already_gets_the_tags_and_the_meta_and_keeps_the_rest(moving, tmp_path):
    moving.here("export", "out")
    moving.there("add", "a/read me.md", "-t", "mine", "--title", "Mine", "--meta", "who=me")
    done = moving.there("import", "out", "-j").json
    assert [each["status"] for each in done["documents"]] == ["skipped", "added", "added", "added"]
    assert done["documents"][0]["reason"] == "meta set: project=x"
    shown = moving.there("show", "1", "-j").json
    assert shown["document"]["title"] == "Mine"
    assert shown["document"]["tags"] == ["colour", "mine"]
    assert shown["metadata"]["meta"] == {"who": "me", "project": "x"}


def test_texts_that_have_a_vector_here_are_not_embedded_again(moving):
    moving.here("export", "out")
    moving.there("add", "a/read me.md")
    moving.there("remove", "1")
    done = moving.there("import", "out", "-j").json
    assert 0 < done["embedded"] < done["chunks"]


def test_a_store_without_a_model_takes_it_too_and_its_texts_wait(moving, tmp_path):
    moving.here("export", "out")
    variables = {"KB_DATA_DIR": tmp_path / "there", "KB_MODEL": "bge-small-en-v1.5", "HF_HUB_CACHE": tmp_path / "empty"}
    done = here(tmp_path, "import", "out", "-j", **variables)
    assert (done.code, done.json["added"], done.json["embedded"]) == (0, 4, 0)
    assert "found by words only" in done.json["warnings"][0]
    assert here(tmp_path, "status", "-j", **variables).json["waiting"] == done.json["chunks"]
    found = here(tmp_path, "search", "-j", "--mode", "keyword", "red house", **variables).json
    assert found["results"][0]["source"]["title"] == "Röt"


def test_a_text_that_was_edited_afterwards_is_said_to_be_left_out(moving, tmp_path):
    moving.here("export", "out")
    (tmp_path / "out/documents/00001-röt.md").write_text("edited")
    done = moving.there("import", "out", "-j").json
    assert "was edited after the export" in done["warnings"][0]
    assert moving.there("get", "1").stdout.startswith("# Röt")


def test_an_original_that_is_not_what_it_was_is_not_kept(moving, tmp_path):
    moving.here("export", "out")
    (tmp_path / "out/originals/00001/read me.md").write_text("other")
    (tmp_path / "out/originals/00002/read me.md").unlink()
    done = moving.there("import", "out", "-j").json
    assert (done["added"], done["originals"]) == (4, 0)
    assert [line for line in done["warnings"] if "the original of read me.md is not kept" in line] == done["warnings"]


SECRET = f"ghp_{'aB3dE6gH9j' * 3}kL2nP5"


def test_secrets_of_an_export_stay_out_unless_that_was_said(moving, tmp_path):
    """As those of a file do; the original that has them is left out too."""
    write(tmp_path, {"s.md": f"# S\n\nred {SECRET} green\n"})
    moving.here("add", "s.md", "--no-scrub", "--keep-original", "--meta", f"key={SECRET}")
    moving.here("export", "out")
    done = moving.there("import", "out", "-j").json
    assert (done["redacted"], done["originals"], len(done["warnings"])) == (1, 2, 1)
    assert "not kept: it holds secrets" in done["warnings"][0]
    shown = moving.there("show", "5", "-j").json
    assert shown["chunks"][0]["text"] == "# S\n\nred [redacted: github token] green"
    assert shown["metadata"] == {"meta": {"key": "[redacted: github token]"}, "redacted": {"github token": 1}}
    assert moving.there("doctor").code == 0
    assert not any(SECRET.encode() in path.read_bytes() for path in (tmp_path / "there").rglob("*") if path.is_file())
    wanted = here(
        tmp_path, "import", "out", "--no-scrub", "-j", **moving.variables, KB_DATA_DIR=tmp_path / "other"
    ).json
    assert (wanted["redacted"], wanted["originals"]) == (0, 3)


# Sources and tags


def test_sources_and_descriptions_come_along_and_those_of_this_store_stay(moving, tmp_path):
    with store.writing(tmp_path / "store") as writer, writer.transaction():
        writer.connection.execute(
            "INSERT INTO sources (name, path, description, added_at) VALUES ('a', '/a', 'of a', '2026')"
        )
        writer.connection.execute("INSERT INTO sources (name, path, added_at) VALUES ('b', '/b', '2026')")
        writer.connection.execute("UPDATE documents SET source_id = id WHERE id < 3")
    assert moving.here("export", "out", "-j").json["sources"] == 2
    moving.there("tag-describe", "colour", "mine")
    moving.there("add", "--note", "first")
    moving.there("tag-describe", "colour", "mine")
    with store.writing(tmp_path / "there") as writer, writer.transaction():
        writer.connection.execute("INSERT INTO sources (name, path, added_at) VALUES ('b', '/elsewhere', '2026')")
    done = moving.there("import", "out", "-j")
    assert done.json["warnings"] == ["source b is another one here: its documents belong to none"]
    with store.reading(tmp_path / "there") as reader:
        found = reader.connection.execute(
            "SELECT d.title, s.path, s.description FROM documents d LEFT JOIN sources s ON s.id = source_id ORDER BY d.id"
        )
        assert found.fetchall()[1:3] == [("Röt", "/a", "of a"), ("B", None, None)]
        described = reader.connection.execute("SELECT name, description FROM tags WHERE description != ''")
        assert described.fetchall() == [("colour", "mine")]


# Refused


def test_a_folder_that_holds_something_is_left_alone(make_store, data_dir, tmp_path):
    make_store(document("a", "red fox"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full/precious").write_text("precious")
    (tmp_path / "file").write_text("precious")
    for folder, said in (
        (tmp_path / "full", "not empty"),
        (tmp_path / "file", "is a file"),
        (data_dir / "out", "own folder"),
    ):
        with pytest.raises(BadRequest, match=said):
            export(data_dir, folder)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["precious"]
    (tmp_path / "empty").mkdir()
    assert export(data_dir, tmp_path / "empty").documents == 1
    assert export(data_dir, tmp_path / "new/deep").documents == 1
    assert (tmp_path / "new/deep/documents").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (shutil.rmtree, 3),
        (lambda out: (out / "kb-export.json").unlink(), 4),
        (lambda out: (out / "kb-export.json").write_text("{"), 4),
        (
            lambda out: (out / "kb-export.json").write_text(
                (out / "kb-export.json").read_text().replace('"format": 1', '"format": 2')
            ),
            4,
        ),
        (lambda out: (out / "documents/00002-b.json").unlink(), 4),
    ],
)
def test_what_is_no_whole_export_is_refused_before_anything_is_written(moving, tmp_path, change, code):
    moving.here("export", "out")
    change(tmp_path / "out")
    done = moving.there("import", "out", "-j")
    assert (done.code, "error" in done.json) == (code, True)
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("content", ["{", '{"title": 5}', '{"title": "half"}'])
def test_a_document_that_is_not_what_was_written_is_an_error_that_names_it(moving, tmp_path, content):
    moving.here("export", "out")
    (tmp_path / "out/documents/00002-b.json").write_text(content)
    done = moving.there("import", "out", "-j")
    assert done.code == 4
    assert "00002-b.json" in done.json["error"]["message"]


def test_an_original_outside_of_the_folder_is_never_read(moving, tmp_path):
    """Whoever made the folder may not have been kb."""
    moving.here("export", "out")
    (tmp_path / "secret").write_text("secret")
    said = json.loads((tmp_path / "out/documents/00001-röt.json").read_text())
    said |= {"original": "../secret", "content_hash": hashlib.sha256(b"secret").hexdigest()}
    (tmp_path / "out/documents/00001-röt.json").write_text(json.dumps(said))
    done = moving.there("import", "out", "-j")
    assert (done.code, "lies outside" in done.json["error"]["message"]) == (4, True)


def test_an_export_that_was_interrupted_is_no_export(make_store, data_dir, tmp_path, kb):
    """`kb-export.json` comes last."""
    make_store(*(document(f"{n}", f"red fox {n}") for n in range(3)))
    export(data_dir, tmp_path / "out")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.json")}
    assert max(times, key=times.__getitem__).name == "kb-export.json"


# Names


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_names_of_originals_are_taken_by_every_file_system(name):
    """None longer than some take, none that Windows forbids, no way out of the folder."""
    safe = safe_name(name)
    assert safe == safe.strip("\0")
    assert 0 < len(safe.encode()) <= LONGEST_NAME_BYTES
    assert not FORBIDDEN.search(safe)
    assert not DEVICES.match(safe)
    assert safe[-1] not in ". "
    assert safe not in {".", ".."}


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("Annual Report (final).pdf", "Annual Report (final).pdf"), ("Übersicht.docx", "Übersicht.docx"), ("a/b\\c:d.txt", "a_b_c_d.txt"),
        ("con.txt", "_con.txt"), ("...", "original"), ("x" * 300 + ".pdf", "x" * (LONGEST_NAME_BYTES - 4) + ".pdf"),
    ],
)  # fmt: skip
def test_a_name_is_changed_only_where_it_must_be(name, safe):
    assert safe_name(name) == safe


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 10**9))
def test_stems_are_words_and_never_collide(title, number):
    """Not even where case and accents are told apart by nobody: the number comes first."""
    name = stem(number, title)
    assert name == name.lower() or unicodedata.normalize("NFC", name)
    assert len(name.encode()) <= LONGEST_NAME_BYTES
    assert not FORBIDDEN.search(name)
    assert name.partition("-")[0] == f"{number:05}"


def test_a_thousand_documents_of_one_title_are_a_thousand_files(make_store, data_dir, tmp_path):
    make_store(*(document(f"{n}", f"text {n}", title="The/Same: title?") for n in range(50)))
    export(data_dir, tmp_path / "out")
    assert len(list((tmp_path / "out/documents").glob("*-the-same-title.md"))) == 0
    assert len(list((tmp_path / "out/documents").glob("*-the-same-title.txt"))) == 50


def test_a_large_original_goes_out_and_in_without_being_held(data_dir, tmp_path):
    """In a process whose memory is measured: 60 MB of zeros are 60 kB in the store."""
    content = bytes(60_000_000)
    whose = hashlib.sha256(content).hexdigest()
    small_store.create(data_dir, document("a", "red fox", content_hash=whose))
    (tmp_path / "zeros").write_bytes(content)
    with (tmp_path / "zeros").open("rb") as file, store.writing(data_dir) as writer, writer.transaction():
        originals.keep(writer.connection, originals.pack(file, "zeros"))
    assert (data_dir / "kb.db").stat().st_size < 1_000_000
    program = (
        "import sys, resource; from pathlib import Path; from kb.export import export;"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "export(Path(sys.argv[1]), Path(sys.argv[2]));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    import sys

    done = subprocess.run(
        [sys.executable, "-c", program, data_dir, tmp_path / "out"], capture_output=True, text=True, check=True
    )
    assert (tmp_path / "out/originals/00001/zeros").stat().st_size == len(content)
    assert int(done.stdout) < 30_000
