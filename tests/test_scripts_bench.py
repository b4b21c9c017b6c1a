"""The rulers of scripts/bench: what they call an error, and what they measure."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from time import process_time

import bench_hurt
import bench_markdown
import bench_store
import pytest
from bench_hurt import Seen, answer_of, look
from bench_process import Run, run, times

from kb.wire_search import Hit, HitSource, ScoreBreakdown, SearchAnswer


def hit(name, generation, document_id=1):
    source = HitSource(
        document_id=document_id, title=name, path=f"/made/up/{name}", type="markdown", page=None, lines=None, heading="",
        chunk_index=0, total_chunks=3, tags=(), stale=False,
    )  # fmt: skip
    return Hit(
        chunk_id=1,
        score=1.0,
        score_breakdown=ScoreBreakdown(fts=None, vector=None),
        text=f"subject generation{generation}",
        source=source,
    )


def judged(*answers):
    seen, newest = Seen(), {}
    for hits in answers:
        look(
            SearchAnswer(
                query="subject",
                mode="hybrid",
                results=tuple(hits),
                total_matches=len(hits),
                returned=len(hits),
                took_ms=1,
            ),
            newest,
            seen,
        )
    return seen


def test_answers_of_one_state_each_are_right():
    seen = judged([hit("a", 1), hit("a", 1), hit("b", 7, 2)], [hit("b", 7, 2)], [hit("a", 2, 3), hit("a", 2, 3)])

    assert (seen.errors, seen.mixed, seen.went_back) == ([], [], [])


@pytest.mark.parametrize("other", [hit("a", 2), hit("a", 1, 2)])
def test_two_generations_or_ids_of_a_document_in_one_answer_are_mixed(other):
    assert len(judged([hit("a", 1), other]).mixed) == 1


def test_an_earlier_generation_than_was_seen_before_went_back():
    assert judged([hit("a", 2)], [hit("b", 1)], [hit("a", 1)]).went_back == ["a: 1 after 2"]


def test_more_hits_than_there_are_chunks_is_an_error():
    with pytest.raises(ValueError, match="hits of"):
        judged([hit("a", 1)] * (bench_hurt.DOCUMENTS * bench_hurt.SECTIONS + 1))


@pytest.mark.parametrize(
    "done", [Run(1.0, 1, b"{}"), Run(1.0, 0, b""), Run(1.0, -9, b"{}"), Run(1.0, 0, b'{"error": "x"}')]
)
def test_what_failed_or_says_nothing_is_no_answer(done):
    with pytest.raises(ValueError):  # noqa: PT011  # exit code or JSON: either is counted
        answer_of(done)


def test_a_run_is_timed_from_start_to_exit_with_its_code_and_output():
    done = run([sys.executable, "-c", "import time; time.sleep(0.05); print('out'); exit(3)"], dict(os.environ))

    assert (done.exit_code, done.output) == (3, b"out\n")
    assert done.took_ms > 50


def test_times_of_what_fails_are_no_times():
    with pytest.raises(SystemExit, match="exit code 1"):
        times([["/bin/false"]], dict(os.environ))


def test_the_generated_store_is_always_the_same():
    """Its name in the cache says how it was made, not what came out."""
    first, second = (list(islice(bench_store.generated(), 3)) for _ in range(2))

    assert first == second
    assert len(set(first)) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, as scripts/bench markdown does")
def test_what_a_process_and_those_below_it_take_is_read():
    with subprocess.Popen(["sleep", "60"]) as child:
        assert child.pid in bench_markdown.below(os.getpid())
        child.kill()
    own, of_children = bench_markdown.cpu_s(os.getpid())
    assert own == pytest.approx(process_time(), rel=0.05, abs=0.1)
    assert of_children >= 0
    assert 1e7 < bench_markdown.own_bytes(os.getpid()) < 1e10


def test_a_run_is_told_in_parts_of_as_many_chunks():
    """Costs are those of each part, not of all that came before: only so it shows whether they grow."""
    samples = [bench_markdown.Sample(float(at), at * 100, at * 0.5, at * 0.2, 1, 1) for at in range(201)]
    parts = list(bench_markdown.steps(samples))

    assert len(parts) == bench_markdown.LINES
    assert {last.chunks - first.chunks for first, last in parts} == {1000}
    writer = bench_markdown.panels_of(samples)[0].lines[0]
    assert [cost for _, cost in writer.points] == pytest.approx([5000.0] * bench_markdown.LINES)
