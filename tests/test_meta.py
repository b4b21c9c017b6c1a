"""`--meta key=value`: what a caller knows of a document, kept apart from what its reader found, and looked for."""

from __future__ import annotations

import sqlite3

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import here, write
from small_store import document
from test_daemon import Daemon

from index import filters, meta, store
from index.filters import Filter
from kb import meta as typed
from kb import standby
from kb.errors import BadRequest

FRONT_MATTER = (
    "---\nauthor: Ann\nyear: 2024\ndraft: true\nkeys: [one, two]\nrate: 1.5\nmeta: {kind: stated}\n---\n# A\n\nred\n"
)


@pytest.fixture
def kb(tmp_path, roomy_folder):
    def run(*arguments, **variables):
        return here(tmp_path, *arguments, KB_MODEL=roomy_folder, **variables)

    return run


@pytest.fixture
def connection(data_dir, make_store):
    make_store(
        document("fact", "one", metadata={"meta": {"kind": "fact", "source": "doc:12"}}),
        document(
            "other", "two", metadata={"meta": {"kind": "guess", "source": "doc:12", "author": "Bob"}, "author": "Ann"}
        ),
        document(
            "read",
            "three",
            metadata={"author": "Ann", "year": 2024, "draft": True, "keys": ["one", "two"], "none": None},
        ),
        document("bare", "four"),
        document("old", "five", metadata={"meta": "not ours"}),
    )
    with store.reading(data_dir) as reader:
        yield reader.connection


# Looked for


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([("kind", "fact")], {1}),
        ([("source", "doc:12")], {1, 2}),
        ([("source", "doc:12"), ("kind", "guess")], {2}),
        ([("kind", "fact"), ("kind", "guess")], set()),
        ([("author", "Ann")], {3}),
        ([("author", "Bob")], {2}),
        ([("year", "2024")], {3}),
        ([("draft", "true")], {3}),
        ([("keys", "two")], {3}),
        ([("keys", "o")], set()),
        ([("none", "null")], set()),
        ([("meta", "not ours")], set()),
        ([("kind", "FACT")], set()),
        ([("no such key", "fact")], set()),
        ([("kind", "")], set()),
        ([('"} OR 1 --', "' OR 1 --")], set()),
    ],
)
def test_every_pair_must_hold_and_what_was_given_hides_what_was_read(connection, wanted, expected):
    """Texts are compared as they are, numbers and truths as JSON has them, one element of a list is enough."""
    assert filters.document_ids(connection, Filter(meta=tuple(wanted))) == expected


def test_other_conditions_hold_too(connection):
    assert filters.document_ids(connection, Filter(meta=(("source", "doc:12"),), path_glob="*/fact")) == {1}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(TEXTS, TEXTS)
def test_whatever_was_given_is_found(key, value):
    """The condition in SQL lets through what `holds`: quotes, backslashes and control characters too."""
    metadata = {"meta": {key: value}}
    condition, values = meta.condition(key, value)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE documents (metadata)")
    connection.execute("INSERT INTO documents VALUES (?)", (msgspec.json.encode(metadata).decode(),))
    assert meta.holds(metadata, key, value)
    assert connection.execute(f"SELECT 1 FROM documents WHERE {condition}", values).fetchall() == [(1,)]
    connection.close()


# Typed


@pytest.mark.parametrize("option", ["kind", "=fact", " = fact", ""])
def test_what_is_no_pair_is_an_error(option):
    with pytest.raises(BadRequest, match="not KEY=VALUE"):
        typed.values([option])


def test_the_value_is_what_follows_the_first_equals_sign():
    assert typed.values(["a=b=c", " key = value ", "empty="]) == {"a": "b=c", "key": "value", "empty": ""}


def test_two_values_of_one_key_are_an_error():
    with pytest.raises(BadRequest, match="--meta kind was given twice"):
        typed.values(["kind=fact", "kind=guess"])
    assert typed.values(["kind=fact", "kind=fact"]) == {"kind": "fact"}


# Given


def test_a_file_a_note_and_standard_input_can_be_given_some(kb, tmp_path):
    write(tmp_path, {"a.md": "# A\n\nred"})
    assert kb("add", "a.md", "--meta", "kind=file", "--meta", "n=1").code == 0
    assert kb("add", "--note", "the sky is blue", "--meta", "kind=note").code == 0
    assert kb("add", "-", "--meta", "kind=stream", stdin=b"# B\n\ngreen").code == 0
    said = [each["meta"] for each in kb("list", "-j").json["documents"]]
    assert said == [{"kind": "file", "n": "1"}, {"kind": "note"}, {"kind": "stream"}]


def test_it_cannot_collide_with_what_the_reader_found(kb, tmp_path):
    write(tmp_path, {"a.md": FRONT_MATTER})
    kb("add", "a.md", "--meta", "author=Bob")
    shown = kb("show", "1", "-j").json
    assert shown["metadata"]["author"] == "Ann"
    assert shown["metadata"]["meta"] == shown["document"]["meta"] == {"author": "Bob"}
    assert shown["metadata"]["stated_meta"] == {"kind": "stated"}


def test_a_note_that_is_there_gets_what_is_new_and_the_answer_says_so(kb):
    note = ("add", "--note", "the sky is blue", "-j")
    kb(*note, "--meta", "kind=fact", "--meta", "source=doc:12", "-t", "facts")
    again = kb(*note, "--meta", "kind=guess", "--meta", "by=me").json
    assert [(each["status"], each["reason"]) for each in again["documents"]] == [
        ("skipped", "meta set: by=me, kind=guess")
    ]
    assert kb("show", "1", "-j").json["metadata"]["meta"] == {"kind": "guess", "source": "doc:12", "by": "me"}
    same = kb(*note, "--meta", "kind=guess").json
    assert same["documents"][0]["reason"] == ""


def test_a_file_that_is_there_gets_what_is_new_without_being_read_again(kb, tmp_path):
    write(tmp_path, {"a.md": "# A\n\nred"})
    kb("add", "a.md")
    done = kb("add", "a.md", "-j", "--meta", "kind=fact").json
    assert (done["skipped"], done["documents"][0]["reason"]) == (1, "meta set: kind=fact")
    assert kb("show", "1", "-j").json["document"]["meta"] == {"kind": "fact"}
    assert kb("add", "a.md", "-j", "--meta", "kind=fact").json["documents"][0]["reason"] == ""


def test_a_dry_run_gives_nothing(kb, tmp_path):
    write(tmp_path, {"a.md": "# A\n\nred"})
    kb("add", "a.md")
    kb("add", "a.md", "--dry-run", "--meta", "kind=fact")
    assert kb("show", "1", "-j").json["document"]["meta"] == {}


def test_a_new_version_of_a_file_keeps_what_the_old_one_was_given(kb, tmp_path):
    """By --replace; what is given anew wins."""
    write(tmp_path, {"a.md": "# A\n\nred"})
    kb("add", "a.md", "--meta", "kind=fact", "--meta", "by=me")
    write(tmp_path, {"a.md": "# A\n\ngreen and more"})
    kb("add", "a.md", "--replace", "--meta", "by=you")
    assert [each["meta"] for each in kb("list", "-j").json["documents"]] == [{"kind": "fact", "by": "you"}]


def test_people_see_it_in_list_and_show(kb):
    kb("add", "--note", "the sky is blue", "--meta", "kind=fact")
    assert "kind=fact" in kb("list").stdout
    assert "meta               kind fact" in kb("show", "1").stdout


def test_what_is_no_pair_is_a_fault_of_usage_that_adds_nothing(kb):
    done = kb("add", "--note", "text", "--meta", "kind", "-j")
    assert (done.code, done.json["error"]["code"]) == (2, "BadRequest")
    assert kb("list").code == 3


# Originals: of `kb add --keep-original`


def test_a_file_is_kept_as_it_is_where_that_was_said(kb, tmp_path):
    write(tmp_path, {"a.md": "# A\n\nred", "b.md": "# B\n\ngreen"})
    done = kb("add", "a.md", "--keep-original", "-j")
    assert (done.json["originals"], done.json["warnings"]) == (1, [])
    assert kb("add", "b.md", "-j").json["originals"] == 0
    assert [kb("show", n, "-j").json["original"] for n in (1, 2)] == ["a.md", None]


def test_the_setting_says_it_for_all_and_the_option_wins(kb, tmp_path):
    write(tmp_path, {"a.md": "# A\n\nred", "b.md": "# B\n\ngreen"})
    assert kb("add", "a.md", "-j", KB_KEEP_ORIGINAL="true").json["originals"] == 1
    assert kb("add", "b.md", "--no-keep-original", "-j", KB_KEEP_ORIGINAL="true").json["originals"] == 0


def test_one_that_is_there_is_kept_when_that_is_said_later(kb, tmp_path):
    write(tmp_path, {"a.md": "# A\n\nred"})
    kb("add", "a.md")
    assert kb("add", "a.md", "--keep-original", "-j").json["documents"][0]["reason"] == "its original is kept now"
    assert kb("add", "a.md", "--keep-original", "-j").json["documents"][0]["reason"] == ""
    assert kb("show", "1", "-j").json["original"] == "a.md"


def test_standard_input_is_kept_too_and_a_note_needs_no_original(kb):
    assert kb("add", "-", "--keep-original", "-j", stdin=b"# B\n\ngreen").json["originals"] == 1
    refused = kb("add", "--note", "text", "--keep-original")
    assert (refused.code, "word for word" in refused.stderr) == (2, True)


def test_it_goes_with_its_document_and_comes_with_the_next_version(kb, tmp_path):
    write(tmp_path, {"a.md": "# A\n\nred"})
    kb("add", "a.md", "--keep-original")
    write(tmp_path, {"a.md": "# A\n\ngreen and more"})
    kb("add", "a.md", "--keep-original", "--replace")
    assert count(tmp_path) == 1
    kb("remove", "a.md")
    assert count(tmp_path) == 0


def count(folder):
    with store.reading(folder / "store") as reader:
        return reader.connection.execute("SELECT count(*) FROM originals").fetchone()[0]


def test_one_that_holds_secrets_is_not_kept_unless_they_are(kb, tmp_path):
    """Its text is stored without them, and its bytes would have them."""
    write(tmp_path, {"a.md": f"# A\n\nghp_{'aB3dE6gH9j' * 3}kL2nP5\n"})
    done = kb("add", "a.md", "--keep-original", "-j").json
    assert (done["added"], done["originals"]) == (1, 0)
    assert "the original of a.md is not kept: it holds secrets" in done["warnings"][0]
    kb("add", "a.md", "--keep-original")
    assert count(tmp_path) == 0
    kb("remove", "a.md")
    assert kb("add", "a.md", "--keep-original", "--no-scrub", "-j").json["originals"] == 1


# Searched and listed


@pytest.fixture
def filled(kb, tmp_path):
    """A file that states its author, a fact and a guess."""
    write(tmp_path, {"a.md": FRONT_MATTER})
    kb("add", "a.md")
    kb("add", "--note", "red is a colour", "--meta", "kind=fact", "--meta", "source=doc:1", "-t", "facts")
    kb("add", "--note", "red may be warm", "--meta", "kind=guess", "--meta", "source=doc:1")
    return kb


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_search_finds_only_what_has_it_and_says_it_with_each_hit(filled, mode):
    """Before anything is ranked, so that none is pushed out by others."""
    found = filled(
        "search", "-j", "--mode", mode, "red", "-n", "1", "--meta", "kind=guess", "--meta", "source=doc:1"
    ).json
    assert [hit["source"]["meta"] for hit in found["results"]] == [{"kind": "guess", "source": "doc:1"}]
    read = filled("search", "-j", "--mode", mode, "red", "--meta", "author=Ann").json
    assert [hit["source"]["title"] for hit in read["results"]] == ["A"]
    none = filled("search", "-j", "--mode", mode, "red", "--meta", "kind=fact", "--meta", "kind=guess").json
    assert (none["results"], none["warnings"]) == ([], ["no document passes the filters"])


def test_a_list_has_only_what_has_it(filled):
    listed = filled("list", "-j", "--meta", "source=doc:1", "-t", "facts").json
    assert (listed["total"], listed["documents"][0]["meta"]) == (1, {"kind": "fact", "source": "doc:1"})
    assert filled("list", "--meta", "kind").code == 2


def test_people_see_it_beside_a_hit(filled):
    assert "kind=fact" in filled("search", "--format", "human", "red", "--meta", "kind=fact").stdout


# Originals: given back by `kb get --original`

BYTES = b"# A\r\n\r\nred caf\xe9\r\n"


def test_the_bytes_come_back_as_they_were_through_the_daemon_too(tmp_path, roomy_folder):
    """Not one is decoded on the way; the daemon leaves it to a process of its own."""
    (tmp_path / "a.txt").write_bytes(BYTES)
    daemon = Daemon(tmp_path, roomy_folder)
    daemon.add("a.txt", "--keep-original", "--type", "text")
    alone = daemon.kb("get", "1", "--original", KB_DAEMON="off")
    daemon.start()
    try:
        through_daemon = daemon.kb("get", "a.txt", "--original")
    finally:
        standby.stop(daemon.data_dir)
    assert alone == through_daemon == (0, BYTES, b"")


def test_what_was_not_kept_or_cannot_be_meant_is_said(kb, tmp_path):
    write(tmp_path, {"a.md": "# A\n\nred"})
    kb("add", "a.md")
    assert "not kept" in kb("get", "1", "--original").stderr
    assert kb("get", "1", "--original").code == 3
    assert kb("get", "1", "--original", "-j").code == 2
    assert kb("get", "1", "--original", "--page", "1").code == 2
