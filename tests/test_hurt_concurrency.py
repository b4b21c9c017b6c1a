"""The short version of `scripts/hurt concurrency`, and what it found."""

from __future__ import annotations

import sys
from time import monotonic

import pytest
import small_store
from hurting import concurrency
from small_store import document

from index import store
from index.kept import keep_open, let_go
from index.query import parse


@pytest.mark.usefixtures("put_back")
def test_writers_and_readers_at_once_are_explained_by_one_order(capsys):
    """Programs, commands and the daemon, for some seconds."""
    assert concurrency.main(["--minutes", "0.1", "--writers", "2", "--readers", "3"]) == 0, capsys.readouterr().out
    assert "0 faults" in capsys.readouterr().out


def test_a_party_rests_beyond_its_seconds_of_each_minute(tmp_path):
    steps = []
    for busy_s in (0, concurrency.MINUTE_S):
        party = concurrency.Party(tmp_path, "party", "seed", monotonic() + 0.05, busy_s)
        party.run(lambda busy_s=busy_s: steps.append(busy_s))

    assert set(steps) == {concurrency.MINUTE_S}


def test_words_committed_while_the_index_is_opened_are_not_said_to_be_in_it(data_dir):
    """The watermark is read before what it speaks of; else a kept index misses the newest document until the next commit."""
    small_store.create(data_dir, document("one", "red"))
    fires = WritesMeanwhile(data_dir)
    keep_open(data_dir)
    try:
        for _ in range(2):
            with store.reading(data_dir) as reader:
                found = reader.lexical().search(parse("green"), 10).chunk_ids
        assert fires.has_written
        assert len(found) == 1
    finally:
        fires.is_armed = False
        let_go(data_dir)


class WritesMeanwhile:
    """Adds a document at the moment at which a reader opens the watermark for the second time: to know what it has opened."""

    def __init__(self, folder):
        self.folder, self.seen, self.is_armed, self.has_written = folder, 0, True, False
        sys.addaudithook(self._look)

    def _look(self, event, arguments):
        if not self.is_armed or event != "open" or arguments[0] != str(self.folder / "lexical" / "watermark.json"):
            return
        self.seen += 1
        if self.seen == 2:
            self.is_armed = False
            small_store.add(self.folder, document("two", "green"))
            self.has_written = True
