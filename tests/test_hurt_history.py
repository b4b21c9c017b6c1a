"""The judge of `scripts/hurt concurrency`: which reads a history of changes explains."""

from __future__ import annotations

import pytest
from hurting.history import Change, Read, unexplained

ADDED = Change("a", "there", 10, 20)
REMOVED = Change("a", "absent", 30, 40)


@pytest.mark.parametrize(
    ("seen", "called", "answered"),
    [
        ("absent", 1, 5),
        ("absent", 12, 15),  # while it is being added: either
        ("there", 12, 15),
        ("there", 21, 29),
        ("there", 35, 38),
        ("absent", 35, 38),
        ("absent", 41, 50),
        ("there", 1, 60),
    ],
)
def test_a_read_that_some_moment_explains_is_no_fault(seen, called, answered):
    assert unexplained([ADDED, REMOVED], [Read("a", seen, called, answered)]) == []


@pytest.mark.parametrize(
    ("seen", "called", "answered"), [("there", 1, 5), ("absent", 21, 29), ("there", 41, 50), ("odd", 1, 60)]
)
def test_a_read_that_no_moment_explains_is_a_fault(seen, called, answered):
    assert len(unexplained([ADDED, REMOVED], [Read("a", seen, called, answered)])) == 1


def test_nobody_may_see_an_older_state_than_somebody_who_was_answered_before():
    """Both are during the change, and each alone is explained."""
    reads = [Read("a", "there", 11, 12), Read("a", "absent", 14, 15)]
    assert len(unexplained([ADDED], reads)) == 1
    assert unexplained([ADDED], reads[1:]) == []


def test_reads_at_once_may_differ():
    assert unexplained([ADDED], [Read("a", "there", 11, 15), Read("a", "absent", 14, 16)]) == []


def test_documents_do_not_explain_each_other():
    assert len(unexplained([ADDED], [Read("b", "there", 21, 22)])) == 1
