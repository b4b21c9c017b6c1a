"""The lexical index, against real tantivy in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tantivy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ir_collections import by_names

from index import bm25, lexical, passing, watermark
from index.bm25 import LONGEST_RUN, MOST_ERROR_LETTERS, MOST_SIMILAR
from index.lexical import NO_HITS, Lexical, LexicalDamaged, LexicalDocument
from index.query import parse
from index.watermark import Watermark

ROOT = Path(__file__).parents[1]
[NOTES] = by_names(["qmd_eval"])


def chunk(chunk_id, body, **others):
    defaults = {"document_id": chunk_id, "title": "", "heading": "", "path": ""}
    return LexicalDocument(chunk_id=chunk_id, body=body, **{**defaults, **others})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "lexical"


@pytest.fixture
def index_of(folder):
    def make(*documents):
        index = Lexical.open_or_create(folder)
        index.apply(documents, (), Watermark(1, 7))
        return index

    return make


def found(index, raw, **options):
    return index.search(parse(raw), 10, **options).chunk_ids


IDENTIFIERS = {
    1: "Set max_tokens before you call.",
    2: "raise HTTPServer2Error from None",
    3: "It lives in src/utils/io_helpers.py today.",
    4: "Write to foo@bar.com instead.",
    5: "Fixed in 3.14.1 of the runtime.",
    6: "Templates in C++ are hard.",
    7: "Properties in C# are easy.",
    8: "Pointers in C are sharp.",
    9: "Built on .NET alone.",
    10: "Clean up with rm -rf build.",
    11: "Push with git push --force once.",
    12: "A std::vector of things.",
    13: "The config.max_tokens_limit key.",
    14: "Send a user-agent header.",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("max_tokens", 1),
        ("maxTokens", 1),
        ("HTTPServer2Error", 2),
        ("httpserver2error", 2),
        ("server", 2),
        ("http error", 2),
        ("http_server_2_error", 2),
        ("src/utils/io_helpers.py", 3),
        ("io_helpers.py", 3),
        ("io_helpers", 3),
        ("helpers", 3),
        ("foo@bar.com", 4),
        ("bar.com", 4),
        ("3.14.1", 5),
        ("3.14", 5),
        ("C++", 6),
        ("c++", 6),
        ("C#", 7),
        ("C", 8),
        (".NET", 9),
        (".net", 9),
        ("rm -rf", 10),
        ("-rf", 10),
        ("--force", 11),
        ("force", 11),
        ("std::vector", 12),
        ("vector", 12),
        ("config.max_tokens_limit", 13),
        ("limit", 13),
        ("user-agent", 14),
        ("user agent", 14),
        ("useragent", None),
    ],
)
def test_an_identifier_is_found_whole_and_in_parts(index_of, query, expected):
    index = index_of(*(chunk(chunk_id, body) for chunk_id, body in IDENTIFIERS.items()))
    assert found(index, query)[:1] == ([expected] if expected else [])


@pytest.mark.parametrize(("query", "expected"), [("C", [8]), ("C++", [6]), ("C#", [7])])
def test_languages_that_differ_by_a_symbol_are_different_words(index_of, query, expected):
    assert found(index_of(*(chunk(i, IDENTIFIERS[i]) for i in (6, 7, 8))), query) == expected


def test_an_option_ranks_over_the_same_letters_without_their_dashes(index_of):
    index = index_of(
        chunk(1, "the force of force"), chunk(2, "git push --force"), chunk(3, "tar -rf"), chunk(4, "rf rf")
    )
    assert found(index, "--force") == [2, 1]
    assert found(index, "-rf") == [3, 4]


def test_camel_case_and_snake_case_find_each_other(index_of):
    index = index_of(chunk(1, "call maxTokens"), chunk(2, "call max_tokens"), chunk(3, "max of many tokens"))
    assert set(found(index, "max_tokens")[:2]) == {1, 2}
    assert set(found(index, "maxTokens")[:2]) == {1, 2}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("检索", [1]),
        ("全文检索", [1]),
        ("索文", []),
        ("検索エンジン", [2]),
        ("エンジン", [2]),
        ("사용", [3]),
        ("데이터베이스", [3]),
        ("หน้า", [4]),
        ("東", [5]),
        ('"東京"', [5]),
        ("хранилище", [6]),
        ("हिन्दी", [7]),
    ],
)
def test_a_part_of_a_text_without_spaces_is_found(index_of, query, expected):
    index = index_of(
        chunk(1, "本系统支持全文检索功能。"),
        chunk(2, "高速な検索エンジンを作る"),
        chunk(3, "데이터베이스는 사용하기 쉽다"),
        chunk(4, "หน้าแรกของระบบ"),
        chunk(5, "東京タワー"),
        chunk(6, "Хранилище документов"),
        chunk(7, "यह हिन्दी में है"),
    )
    assert found(index, query) == expected


def test_accents_ligatures_and_case_are_folded(index_of):
    index = index_of(chunk(1, "Ein naïves Café"), chunk(2, "the oﬃce Übersicht"))
    assert found(index, "CAFE naive") == [1]
    assert found(index, "cafe\u0301") == [1]
    assert found(index, "office ubersicht") == [2]


def test_english_words_are_found_in_other_forms(index_of):
    assert found(index_of(chunk(1, "indexing the documents")), "indexed document") == [1]


def test_a_phrase_must_stand_as_it_is(index_of):
    index = index_of(chunk(1, "fusion of rank"), chunk(2, "reciprocal rank fusion"), chunk(3, "rank, then fusion"))
    assert found(index, '"rank fusion"') == [2]
    assert found(index, '"rank of fusion"') == []


def test_of_a_phrase_of_hundreds_of_words_the_beginning_must_stand_as_it_is(index_of):
    """tantivy took 4 s for one of 20,000."""
    words = [f"w{number}" for number in range(200)]
    index = index_of(*(chunk(length, " ".join(words[:length])) for length in (LONGEST_RUN - 1, LONGEST_RUN)))
    assert found(index, f'"{" ".join(words)}"') == [LONGEST_RUN]


def test_typing_errors_are_looked_for_in_so_many_words_of_such_a_length(index_of):
    """Each costs an automaton: a page in another language, or 80 letters at random, took hundreds of milliseconds."""
    long = "x" * MOST_ERROR_LETTERS
    index = index_of(chunk(1, "mountain"), chunk(2, long), chunk(3, f"{long}yy"))
    others = [f"{letter}qzqzq" for letter in "abcdefghijklmnop"[:MOST_SIMILAR]]
    assert found(index, " ".join((*others[1:], "mountbin"))) == [1]
    assert found(index, " ".join((*others, "mountbin"))) == []
    assert found(index, f"z{long[1:]}") == [2]
    assert found(index, f"z{long}y") == []


def test_a_phrase_does_not_reach_from_the_title_into_the_text(index_of):
    index = index_of(chunk(1, "fusion explained", title="rank"), chunk(2, "x", title="rank fusion"))
    assert found(index, '"rank fusion"') == [2]


def test_a_phrase_holds_its_symbols(index_of):
    index = index_of(
        chunk(1, "net runtime"), chunk(2, ".NET runtime"), chunk(3, "C templates"), chunk(4, "C++ templates")
    )
    assert found(index, '".NET runtime"') == [2]
    assert found(index, '"C++ templates"') == [4]


def test_words_are_alternatives_and_more_of_them_rank_higher(index_of):
    index = index_of(chunk(1, "red apple"), chunk(2, "red green apple"), chunk(3, "blue pear"))
    assert found(index, "red green") == [2, 1]


@pytest.mark.parametrize("field", ["title", "heading", "path", "symbols", "body"])
def test_every_text_field_is_searched_and_excluded(index_of, field):
    fields = {"body": "common", field: "common zebra"}
    index = index_of(chunk(1, **fields), chunk(2, "common", path="common"))
    assert found(index, "zebra") == [1]
    assert found(index, "common -zebra") == [2]


def test_exclusion_holds_for_words_phrases_and_identifiers(index_of):
    index = index_of(
        chunk(1, "cat red dog"),
        chunk(2, "cat dog red"),
        chunk(3, "cat C++"),
        chunk(4, "cat ServerError"),
        chunk(5, "cat C"),
    )
    assert set(found(index, "cat -red")) == {3, 4, 5}
    assert set(found(index, 'cat -"red dog"')) == {2, 3, 4, 5}
    assert set(found(index, "cat -C++")) == {1, 2, 4, 5}
    assert set(found(index, "cat -server")) == {1, 2, 3, 5}
    assert index.search(parse("-red"), 10) == NO_HITS


def test_what_a_phrase_finds_in_any_field_is_what_it_excludes(index_of):
    """Also where it reaches from one heading to the next, which the body holds apart."""
    index = index_of(
        chunk(1, "cat", heading="red > dog"),
        chunk(2, "cat", title="red dog"),
        chunk(3, "cat", path="red/dog.md"),
        chunk(4, "cat red dog"),
        chunk(5, "cat dog red"),
    )
    assert set(found(index, '"red dog"')) == {1, 2, 3, 4}
    assert found(index, 'cat -"red dog"') == [5]


@pytest.mark.parametrize("excluded", ['-"red dog"', "-red", "-C++", '-server -"red dog"', '-"!"'])
def test_what_holds_a_phrase_is_what_is_left_out(index_of, excluded):
    """And among the same documents and chunks."""
    index = index_of(chunk(1, "cat red dog"), chunk(2, "cat C++"), chunk(3, "cat ServerError"), chunk(4, "cat dog red"))
    phrases = parse(excluded).excluded

    for among in ((None, ()), (frozenset({1}), ()), (frozenset(), (2, 4))):
        there = set(index.search(parse("cat"), 10, *among).chunk_ids)
        left = set(index.search(parse(f"cat {excluded}"), 10, *among).chunk_ids)
        assert set(index.holding(phrases, *among)) == there - left


@pytest.fixture(scope="module")
def small_index(tmp_path_factory):
    index = Lexical.open_or_create(tmp_path_factory.mktemp("any") / "lexical")
    index.apply((chunk(i, body) for i, body in IDENTIFIERS.items()), (), Watermark())
    return index


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.text(st.characters()) | st.text('"-+#. Cmaxtokens_é検ก\n'))
def test_no_query_is_an_error(small_index, raw):
    hits = small_index.search(parse(raw), 5, document_ids=[1, 2, 3])
    assert all(0 <= share <= 1 for share in hits.shares)
    assert hits.shares == pytest.approx(sorted(hits.shares, reverse=True), rel=1e-4)


@settings(max_examples=25, deadline=None)
@given(bodies=st.lists(st.text(st.characters()), max_size=5))
def test_no_document_is_an_error(tmp_path_factory, bodies):
    index = Lexical.open_or_create(tmp_path_factory.mktemp("doc") / "lexical")
    index.apply((chunk(i, body, title=body, symbols=body) for i, body in enumerate(bodies)), (), Watermark())
    assert index.count() == len(bodies)


def test_filters_hold_before_ranking(index_of):
    index = index_of(*(chunk(i, "apple " * (i + 1), document_id=i // 10) for i in range(100)))
    assert set(found(index, "apple", document_ids={3})) == set(range(30, 40))
    assert index.search(parse("apple"), 10, document_ids=frozenset()) == NO_HITS
    assert index.search(parse("apple"), 1, document_ids={3, 4}).total == 20


def test_single_chunks_can_be_asked_for_beside_documents(index_of):
    index = index_of(*(chunk(i, "apple " * (i + 1), document_id=i // 10) for i in range(100)))
    hits = index.search(parse("apple"), 99, document_ids={3}, chunk_ids={7, 35, 99})
    assert set(hits.chunk_ids) == {7, 99, *range(30, 40)}
    assert found(index, "apple", document_ids=frozenset(), chunk_ids={7}) == [7]
    assert found(index, "apple -apple", document_ids=frozenset(), chunk_ids={7}) == []


@pytest.mark.parametrize("query", ["apple", "apple pear", "apple -pear", '"pear apple"', "plum", "aple"])
@pytest.mark.parametrize("limit", [1, 7, 1000])
@pytest.mark.parametrize("admitted", [frozenset(range(0, 30, 2)), frozenset()])
def test_of_many_all_hits_are_read_and_those_that_pass_are_kept(index_of, monkeypatch, query, limit, admitted):
    """The same as by a set of these documents and chunks, equal scores and the total too; and not where the hits are too many."""
    bodies = ("apple", "apple pear", "pear apple apple", "plum", "apple pear plum")
    index = index_of(*(chunk(i, bodies[i % 5], document_id=i // 10) for i in range(300)))
    others = (11, 13, *range(200, 260, 3), 299)
    allowed = np.array(sorted({*others, *(i for i in range(300) if i // 10 in admitted)}), np.int64)
    as_a_set = index.search(parse(query), limit, admitted, others)
    count = len(admitted) + len(others)
    for many, read_most in ((count - 1, 1000), (count - 1, 1), (count, 1000)):
        monkeypatch.setattr(lexical, "MANY", many)
        monkeypatch.setattr(passing, "HITS_A_DOCUMENT", read_most)
        asked = []
        found = index.search(parse(query), limit, admitted, others, lambda: asked.append(1) or allowed)  # noqa: B023  called here
        assert found.chunk_ids == as_a_set.chunk_ids
        assert found.total == as_a_set.total
        assert found.scores == pytest.approx(as_a_set.scores, rel=1e-5)
        assert bool(asked) is (many < count)


def test_hits_are_not_all_read_where_too_many_are_expected(index_of, monkeypatch):
    """Nor counted, which takes as long as to search."""
    index = index_of(*(chunk(i, "apple" if i % 2 else "pear") for i in range(20)))
    asked, best = [], passing.best
    monkeypatch.setattr(lexical, "MANY", 0)
    monkeypatch.setattr(passing, "best", lambda *arguments: asked.append(arguments[2]) or best(*arguments))

    def among_three(query):
        asked.clear()
        allowed = np.array([1, 2, 3], np.int64)
        return found(index, query, chunk_ids={1, 2, 3}, document_ids=frozenset(), allowed=lambda: allowed)

    all_hits, by_a_set = [3 * passing.HITS_A_DOCUMENT], [10 + lexical.TIES_READ]
    assert (among_three("apple"), asked) == ([1, 3], by_a_set)
    assert (among_three("plum"), asked) == ([], all_hits)


def test_the_set_of_what_a_filter_admits_is_made_once(index_of):
    """Of 50,000 documents it takes longer than the search."""
    index = index_of(chunk(1, "apple", document_id=1), chunk(2, "apple", document_id=2))
    bm25._admitted.cache_clear()
    assert found(index, "apple", document_ids=frozenset({2})) == [2]
    assert found(index, "apple", document_ids=frozenset({2})) == [2]
    assert found(index, "apple", document_ids=frozenset({1})) == [1]
    assert found(index, "apple", document_ids=frozenset({1}), chunk_ids=frozenset({2})) == [1, 2]
    assert bm25._admitted.cache_info()[:2] == (1, 3)


def test_a_deleted_chunk_is_gone(index_of):
    index = index_of(chunk(1, "apple"), chunk(2, "apple"), chunk(3, "apple"))
    index.apply((), [2], Watermark(2, 7))
    assert found(index, "apple") == [1, 3]
    assert index.count() == 2
    assert index.chunk_ids() == [1, 3]


def test_a_chunk_added_again_replaces_itself(index_of):
    index = index_of(chunk(1, "apple"))
    index.apply([chunk(1, "pear")], (), Watermark(2, 7))
    assert found(index, "apple") == []
    assert found(index, "pear") == [1]


def test_replay_after_a_death_between_commit_and_watermark_changes_nothing(index_of, folder):
    index = index_of(chunk(1, "apple"), chunk(2, "apple pie"))
    before = (folder / watermark.FILE_NAME).read_bytes()
    change = ([chunk(3, "apple tart")], [1], Watermark(2, 7))
    index.apply(*change)
    expected = index.search(parse("apple"), 10).chunk_ids
    (folder / watermark.FILE_NAME).write_bytes(before)  # what a process killed there leaves
    again = Lexical.open_or_create(folder)
    again.apply(*change)
    assert again.search(parse("apple"), 10).chunk_ids == expected
    assert again.chunk_ids() == [2, 3]
    assert watermark.read(folder) == Watermark(2, 7)


CHILD = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from index.lexical import Lexical, LexicalDocument
from index.watermark import Watermark
def documents():
    yield LexicalDocument(chunk_id=9, document_id=9, title="", heading="", path="", body="apple from a child")
    if sys.argv[3] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
Lexical.open_or_create(Path(sys.argv[2])).apply(documents(), [1], Watermark(5, 5))
"""


def run_child(folder, how):
    command = [sys.executable, "-I", "-c", CHILD, str(ROOT), str(folder), how]
    return subprocess.run(command, check=False, timeout=60).returncode


def test_a_reader_stays_at_what_it_opened_and_the_next_sees_the_commit_of_another_process(index_of, folder):
    index_of(chunk(1, "apple"))
    reader = Lexical.open_reader(folder)
    assert found(reader, "apple") == [1]
    assert run_child(folder, "finishes") == 0
    assert found(reader, "apple") == [1]
    assert found(Lexical.open_reader(folder), "apple") == [9]
    assert watermark.read(folder) == Watermark(5, 5)


def test_a_writer_killed_before_its_commit_leaves_the_last_one_and_no_lock(index_of, folder):
    index_of(chunk(1, "apple"))
    assert run_child(folder, "killed") == -signal.SIGKILL
    index = Lexical.open_or_create(folder)
    assert found(index, "apple") == [1]
    assert watermark.read(folder) == Watermark(1, 7)
    index.apply([chunk(2, "apple")], (), Watermark(2, 7))
    assert index.chunk_ids() == [1, 2]


def failing():
    yield chunk(5, "apple")
    raise RuntimeError("the source of chunks broke")


@pytest.mark.parametrize(
    "write",
    [
        lambda index: index.apply(failing(), [1], Watermark(2, 7)),
        lambda index: index.rebuild(failing(), Watermark(2, 7)),
    ],
)
def test_an_error_while_writing_leaves_the_last_commit_and_no_lock(index_of, folder, write):
    index = index_of(chunk(1, "apple"))
    with pytest.raises(RuntimeError, match="broke"):
        write(index)
    assert watermark.read(folder) == Watermark(1, 7)
    index.apply([chunk(2, "pear")], (), Watermark(3, 7))
    assert index.chunk_ids() == [1, 2]


def test_a_rebuild_replaces_everything_and_takes_no_more_room(index_of, folder):
    index = index_of(*(chunk(i, f"apple {i} " * 50) for i in range(500)))
    size_bytes = sum(file.stat().st_size for file in folder.iterdir())
    index.rebuild([chunk(3, "pear")], Watermark(4, 7))
    assert index.chunk_ids() == [3]
    assert found(index, "apple") == []
    assert sum(file.stat().st_size for file in folder.iterdir()) < size_bytes
    assert watermark.read(folder) == Watermark(4, 7)


def test_a_missing_index_is_damage_to_a_reader_and_made_by_a_writer(folder):
    with pytest.raises(LexicalDamaged, match="no lexical index"):
        Lexical.open_reader(folder)
    assert Lexical.open_or_create(folder).count() == 0
    assert watermark.read(folder) == watermark.BEGINNING


def test_a_damaged_index_is_made_anew_at_the_beginning_of_history(index_of, folder):
    index_of(chunk(1, "apple"))
    (folder / "meta.json").write_text("{")
    with pytest.raises(LexicalDamaged):
        Lexical.open_reader(folder)
    assert Lexical.open_or_create(folder).count() == 0
    assert watermark.read(folder) == watermark.BEGINNING


@pytest.mark.parametrize("fate", ["deleted", "cut"])
def test_a_damaged_segment_is_damage_and_no_crash(index_of, folder, fate):
    index_of(chunk(1, "apple"))
    for file in folder.glob("*.term"):
        if fate == "deleted":
            file.unlink()
        else:
            os.truncate(file, 3)
    with pytest.raises(LexicalDamaged):
        Lexical.open_reader(folder).search(parse("apple"), 10)


def test_an_index_of_other_fields_is_made_anew(folder):
    folder.mkdir()
    older = tantivy.SchemaBuilder().add_text_field("body", tokenizer_name="kb_text_0").build()
    tantivy.Index(older, path=str(folder))
    with pytest.raises(LexicalDamaged, match="another version"):
        Lexical.open_reader(folder)
    assert Lexical.open_or_create(folder).count() == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"seq": "x"}'])
def test_an_unreadable_watermark_is_the_beginning_of_history(tmp_path, content):
    (tmp_path / watermark.FILE_NAME).write_bytes(content)
    assert watermark.read(tmp_path) == watermark.BEGINNING


@pytest.mark.parametrize(
    ("query", "expected"),
    [("serch", [1]), ("recirpocal", [1]), ("fusoin", [1]), ("fus", []), ("retrieval", []), ("a1b2c3d5", [])],
)
def test_a_word_that_no_chunk_holds_is_named_and_a_similar_one_stands_in(index_of, query, expected):
    index = index_of(chunk(1, "search by reciprocal fusion a1b2c3d4"), chunk(2, "other"))
    hits = index.search(parse(query), 10)
    assert hits.chunk_ids == expected
    assert hits.unknown == (query,)


def test_what_unknown_names_weigh_is_told_as_a_part_of_the_query(index_of):
    """Any other word may be none of its matter."""
    index = index_of(*(chunk(number, "search by reciprocal fusion") for number in range(5)), chunk(9, "other"))
    missing = [
        index.search(parse(query), 10).missing
        for query in ("search safely", "search fusion Oraclase", "search Oraclase", "Oraclase", '"oraclase server"')
    ]

    assert missing == sorted(missing)
    assert (missing[0], missing[-2:]) == (0.0, [1.0, 1.0])


def test_known_words_are_not_fuzzy(index_of):
    index = index_of(chunk(1, "form"), chunk(2, "from the farm"))
    hits = index.search(parse("farm"), 10)
    assert hits.chunk_ids == [2]
    assert hits.unknown == ()


def test_a_share_is_high_for_a_full_match_and_low_for_nonsense(index_of):
    index = index_of(
        chunk(0, "rank fusion " * 5, title="rank fusion"), *(chunk(i, f"other text {i}") for i in range(1, 20))
    )
    full = index.search(parse("rank fusion"), 1).shares[0]
    partly = index.search(parse("rank zzyzx qwrtpsd xkcdvbn"), 1).shares[0]
    assert 0.4 < full < 1
    assert partly < 0.3


def test_equal_chunks_come_in_the_order_of_their_ids(folder):
    index = Lexical.open_or_create(folder)
    for chunk_id in (5, 3, 9, 1):
        index.apply([chunk(chunk_id, "the same text")], (), Watermark())
    assert found(index, "same text") == [1, 3, 5, 9]
    assert index.search(parse("same"), 2).chunk_ids == [1, 3]


def test_many_equal_chunks_in_several_segments_come_in_the_order_of_their_ids(folder):
    """More of them than are read at first, the later ids committed first: which are the best ten is not left to chance."""
    index = Lexical.open_or_create(folder)
    for seq, ids in enumerate((range(150, 200), range(100, 150), range(1, 100)), start=1):
        index.apply([chunk(chunk_id, "the same words") for chunk_id in ids], (), Watermark(seq, 7))
    assert found(index, "same words") == list(range(1, 11))


def test_an_index_that_is_made_anew_is_one_segment(folder):
    """Of more than fits into what a writer that adds has: each segment costs every search the same again."""
    many = [chunk(number, " ".join(f"w{number}x{word}" for word in range(300))) for number in range(1, 1500)]
    index = Lexical.open_or_create(folder)
    index.apply(many, (), Watermark(1, 7))
    assert index._index.searcher().num_segments > 1

    index.rebuild(many, Watermark(2, 7))

    assert index._index.searcher().num_segments == 1


def test_nothing_is_asked_for_and_nothing_comes(index_of):
    index = index_of(chunk(1, "apple"))
    assert index.search(parse(""), 10) == NO_HITS
    assert index.search(parse("apple"), 0) == NO_HITS


@pytest.mark.data
@pytest.mark.skipif(not NOTES.path.is_dir(), reason=f"no collection at {NOTES.path}")
def test_the_right_file_of_qmds_notes_comes_first(index_of):
    """For all 24 questions of qmd's tests, each file one chunk; qmd's own keyword search finds 16."""
    names = [name for _, name, _ in NOTES.files()]
    index = index_of(*(chunk(number, text, title=name) for number, (_, name, text) in enumerate(NOTES.files(), 1)))
    judged = NOTES.judgements()

    asked = {query: text for query, text in NOTES.queries().items() if query.startswith("e")}
    wrong = [query for query, text in asked.items() if names[found(index, text)[0] - 1] not in judged[query]]

    assert (len(asked), wrong) == (24, [])


def test_a_chunk_with_both_words_is_before_one_that_only_repeats_one_of_them(index_of):
    """By BM25 alone the repetition wins: thirty times in a text of nothing else."""
    others = [chunk(number, "other words here") for number in range(3, 8)]
    index = index_of(
        chunk(1, "river " * 30), chunk(2, "river stone " + "filler " * 10), chunk(8, "stone " * 30), *others
    )
    assert found(index, "river stone")[0] == 2
