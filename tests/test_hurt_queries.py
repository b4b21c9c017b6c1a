"""The short version of `scripts/hurt queries`, and what it found."""

from __future__ import annotations

import msgspec
import pytest
from hurting import queries
from hurting.questions import Asked

import kb.hits
import kb.search
import kb.together
from index import bm25, filters, owners, terms
from index.query import MOST_CHARS, MOST_WORDS, parse
from kb import KnowledgeBase, explain, retrieve

HALF = "red \ud800"
"""Of a surrogate pair: JSON that an agent sends can hold it."""


@pytest.fixture
def folder(tmp_path, tiny_folder, monkeypatch):
    monkeypatch.setenv("KB_MODEL", str(tiny_folder))
    texts = ("red and green", "green huge C++ utf-8 snake_case", "red --force .NET max_tokens", "日本語 red")
    with KnowledgeBase.open(tmp_path / "store") as kb:
        for text in texts:
            kb.add_note(text, tags=["new"], meta={"colour": "red"})
    return tmp_path / "store"


@pytest.mark.usefixtures("put_back")
def test_random_and_hostile_queries_are_answered(folder, capsys):
    assert queries.main(["--queries", "400", "--seed", "short", "--store", str(folder), "--any-speed"]) == 0, (
        capsys.readouterr().out
    )


def test_half_of_a_surrogate_pair_is_a_sign_in_whatever_a_program_says(folder):
    """As the command line does with bytes that are no UTF-8; nothing is raised, and every answer can be JSON."""
    with KnowledgeBase.open(folder) as kb:
        added = kb.add_note(HALF, title=HALF, tags=[HALF], meta={HALF: HALF})
        answers = [
            added,
            kb.search(HALF, also=[HALF], explain=True),
            kb.search(HALF, tags=[HALF], roles=[HALF], path=HALF, meta={HALF: HALF}),
            kb.list(tags=[HALF], meta={HALF: HALF}),
            kb.tag(added.documents[0].document_id, HALF + "x"),
            kb.untag(added.documents[0].document_id, HALF),
            kb.describe_tag(HALF, HALF),
            kb.add_content(HALF, title=HALF),
        ]
        assert kb.list(meta={HALF: HALF}).documents[0].title == "red \ufffd"
    for answer in answers:
        msgspec.json.encode(answer)


def test_of_a_query_without_end_only_its_beginning_is_given_to_a_model():
    """A tokenizer reads all that it is given, 0.25 ms a thousand characters, and keeps 256 tokens of it."""
    endless = "scripts/docs." * MOST_CHARS

    assert len(retrieve._meaning(endless, parse(endless))) == MOST_CHARS


def test_a_query_is_compared_with_what_is_as_much_work():
    """A page of hundreds of hits is more than one of ten, also where each is explained; where no document passes the filters there is none."""
    plain, explained = (Asked("", "red", {"mode": "keyword", **more}) for more in ({}, {"explain": True}))

    assert plain.load(0) == plain.load(10) == explained.load(10) == "keyword"
    assert plain.load(0, searched=False) == "keyword, nothing to search"
    assert plain.load(1000) != explained.load(1000) != plain.load(10)
    assert Asked("", "red", {"mode": "keyword", "also": ["green"]}).load(10) == "keyword, 2 queries"


def test_a_query_that_no_document_is_searched_for_is_a_kind_of_its_own(folder):
    with KnowledgeBase.open(folder) as kb:
        asking = queries.Asking(kb)
        asking.ask(Asked("seed", "red", {"mode": "keyword", "tags": ["of nothing"]}))
        asking.ask(Asked("seed", "unheard", {"mode": "keyword"}))

    assert list(asking.times) == ["keyword, nothing to search", "keyword"]


def test_what_was_slow_once_is_asked_again(folder, capsys):
    """A machine that was busy elsewhere is no fault of the query; nobody is told of a time below 20 times what a search may take."""
    with KnowledgeBase.open(folder) as kb:
        asking = queries.Asking(kb)
        asked = Asked("seed", "red", {"mode": "keyword"})
        asking.times["keyword"] = [(0.001, asked)] * 9 + [(60.0, asked)]
        asking.judge_times()

    assert asking.faults == 0
    assert "0 beyond 20 times" in capsys.readouterr().out


def test_what_is_slow_each_time_is_a_fault(folder, capsys):
    with KnowledgeBase.open(folder) as kb:
        asking = queries.Asking(kb, least_median_s=1e-9)
        asked = Asked("seed", "red", {"mode": "keyword"})
        asking.times["keyword"] = [(1e-8, asked)] * 9 + [(60.0, asked)]
        asking.judge_times()

    assert asking.faults == 1
    assert "seed" in capsys.readouterr().out


@pytest.mark.usefixtures("put_back")
def test_without_options_all_are_of_one_kind_whose_median_counts_as_it_is(folder, monkeypatch):
    judged = []
    monkeypatch.setattr(
        queries.Asking, "judge_times", lambda asking: judged.append((set(asking.times), asking.least_median_s))
    )
    assert queries.main(["--queries", "60", "--seed", "short", "--store", str(folder), "--plain"]) == 0
    assert judged == [({"hybrid"}, 0.0)]


# What made queries slow


@pytest.fixture
def calls(monkeypatch):
    """Counts the calls of a function, by where it is called from."""

    def count(place, name):
        made, function = [], getattr(place, name)

        def counted(*arguments, **options):
            made.append(arguments)
            return function(*arguments, **options)

        monkeypatch.setattr(place, name, counted)
        return made

    return count


@pytest.fixture
def book(tmp_path, roomy_folder, monkeypatch):
    """A book of eight passages and a page, all of them of red."""
    monkeypatch.setenv("KB_MODEL", str(roomy_folder))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/book.md").write_text("\n\n".join(f"# Part {number}\n\n{'red ' * 60}" for number in range(8)))
    (tmp_path / "docs/page.md").write_text("a page of red and other colours, which are not told of here")
    with KnowledgeBase.open(tmp_path / "store") as store:
        store.add(tmp_path / "docs", recursive=True, tags=["new"])
        yield store


def test_who_looks_deeper_makes_hits_once(book, calls, monkeypatch):
    """And asks once which chunks may be found."""
    monkeypatch.setattr(kb.search, "CANDIDATES", 2)
    ranked, made = calls(kb.search.Retriever, "rank"), calls(kb.search, "hits_of")
    allowed = calls(owners, "chunk_ids")
    book.add_note("no book", title="other")

    found = book.search("red", top=2, group=True, tags=["new"], explain=True)

    assert len(found.results) == 2
    assert len(ranked) > 1
    assert len(made) == len(allowed) == 1


def test_who_looks_deeper_takes_the_words_of_before_where_no_more_hold_them(book, calls, monkeypatch):
    monkeypatch.setattr(kb.search, "CANDIDATES", 2)
    ranked, searched = calls(kb.search.Retriever, "rank"), calls(bm25, "plan")

    assert len(book.search('"Part 3" -colours', top=2, group=True).results) == 1
    assert len(ranked) > 1
    assert len(searched) == 1


def test_the_file_of_a_document_is_looked_at_once_for_all_of_its_hits(book, calls):
    looks = calls(kb.hits, "is_stale")
    assert len(book.search("red", top=9, per_document=9).results) == 9
    assert len(looks) == 2


def test_who_found_a_hit_is_told_of_hits_that_are_shown(book, calls):
    told = calls(kb.together, "FoundBy")
    assert len(book.search("red", also=["red red"], top=1).fused) == 1
    assert len(told) == 2


def test_a_word_is_looked_for_once_in_what_hits_share(book, calls):
    """Title and path of a document; each hit of the book has a heading and a text of its own, the page's heading is empty."""
    looks = calls(explain.Explainer, "_held")
    hits = book.search("red", top=9, per_document=9, explain=True, mode="keyword").results
    short = {text for hit in hits for text in (hit.source.title, hit.source.heading, hit.source.path)}
    assert len(looks) == len(hits) + len(short)


def test_a_filter_is_decided_once_until_something_changes(book, calls):
    """Also for questions that are asked together, and for what is like another; again for another filter, not for none, and after any change."""
    decided = calls(filters, "admitted")

    def ask(*tags):
        return book.search("red", top=9, per_document=9, mode="keyword", tags=tags).returned

    book.search("red", also=["colours", "part"], tags=["new"])
    assert [ask("new"), book.similar("1", tags=["new"]).returned > 0, len(decided)] == [9, True, 1]
    assert [ask() > 0, ask("new"), len(decided)] == [True, 9, 1]
    assert [ask("old"), len(decided), ask("new"), len(decided)] == [0, 2, 9, 3]
    note = book.add_note("more that is red", title="note", tags=["old"]).documents[0].document_id
    assert [ask("old"), len(decided)] == [1, 4]
    book.untag(note, "old")
    assert [ask("old"), len(decided)] == [0, 5]


def test_words_and_runs_of_a_page_are_looked_for_by_the_words_that_a_field_has(book, monkeypatch):
    """Hundreds of them, in each field of each hit: a field is read through only for a run of which it has the first word."""
    looked_for = set()

    class Run(str):
        __slots__ = ()

        def __contains__(self, part):
            looked_for.add(tuple(part.split()))
            return super().__contains__(part)

    run = explain._run
    monkeypatch.setattr(explain, "_run", lambda tokens: Run(run(tokens)))
    words = " ".join(f"w{chr(97 + number)}rd" for number in range(20))
    [hit, *_] = book.search(f'red {words} "page of red" "green page"', explain=True, mode="keyword").results
    assert looked_for == {("page", "of", "red")}
    assert next(term for term in hit.explain.terms if term.term == "red").fields == ("body",)


def test_what_was_analysed_to_be_searched_is_not_analysed_again_to_be_explained(book, calls):
    analysed = calls(explain, "_tokens")
    book.search("red unheard of", explain=True, mode="keyword")
    assert analysed
    assert not [text for (text,) in analysed if "unheard" in text]


def test_a_word_of_a_text_is_taken_apart_once(calls):
    looks = calls(terms, "is_compound")
    assert terms.identifiers("some_such_word " * 5) == " ".join(["some_such_word"] * 5)
    assert len(looks) == 1


def test_what_is_excluded_is_not_ranked(book, calls):
    """To score it was most of the work of a search by meaning that excludes many words. The one that is left is for the confidence."""
    planned = calls(bm25, "plan")
    assert len(book.search("red -colours", mode="semantic").results) == 8
    assert [plan[0].excluded for plan in planned] == [parse("-colours").excluded]


def test_phrases_beyond_those_that_are_searched_are_not_read(calls):
    reads = calls(terms, "words")
    parsed = parse('"red green" ' * (2 * MOST_WORDS))
    assert len(reads) == MOST_WORDS + 1
    assert parsed.is_cut


def test_a_part_of_many_words_is_one_clause(book, calls):
    """As heavy as all of them."""
    made = calls(bm25, "_sequence")
    assert len(book.search("red red_a red_b red_c", mode="keyword").results) == 9
    assert len(made) == len(set(made))
