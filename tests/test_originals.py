"""Originals: bytes as they were, once a hash, for as long as a document has that hash."""

from __future__ import annotations

import hashlib
import io
import random

import pytest
import small_store
from small_store import document

from index import documents, originals, store


def pack(content, name="a.pdf"):
    return originals.pack(io.BytesIO(content), name)


def kept(data_dir):
    """Name and bytes of every original, by hash."""
    with store.reading(data_dir) as reader:
        connection = reader.connection
        hashes = [row[0] for row in connection.execute("SELECT content_hash FROM originals")]
        return {each: (originals.name_of(connection, each), read(connection, each)) for each in hashes}


def read(connection, content_hash):
    return b"".join(originals.pieces(connection, content_hash))


@pytest.fixture
def content():
    """Compresses to more than one piece."""
    return random.Random(1).randbytes(originals.PIECE_BYTES * 2 + 17)


@pytest.fixture
def filled(data_dir, content):
    """Document 1 has `content` as its original, document 2 none."""
    whose = hashlib.sha256(content).hexdigest()
    small_store.create(data_dir, document("a", "red fox", content_hash=whose), document("b", "blue fox"))
    with store.writing(data_dir) as writer, writer.transaction():
        assert originals.keep(writer.connection, pack(content))
    return whose


@pytest.mark.parametrize("content", [b"", b"a", b"a" * 5_000_000], ids=["empty", "short", "repetitive"])
def test_bytes_come_back_as_they_were(data_dir, content):
    whose = hashlib.sha256(content).hexdigest()
    small_store.create(data_dir, document("a", "red fox", content_hash=whose))
    with store.writing(data_dir) as writer, writer.transaction():
        packed = pack(content, "a.txt")
        assert packed.content_hash == whose
        originals.keep(writer.connection, packed)
    assert kept(data_dir) == {whose: ("a.txt", content)}


def test_what_does_not_compress_comes_back_too(data_dir, filled, content):
    assert kept(data_dir) == {filled: ("a.pdf", content)}


def test_a_piece_that_expands_is_given_out_in_pieces_of_bounded_size(data_dir):
    content = bytes(30_000_000)
    whose = hashlib.sha256(content).hexdigest()
    small_store.create(data_dir, document("a", "red fox", content_hash=whose))
    with store.writing(data_dir) as writer, writer.transaction():
        originals.keep(writer.connection, pack(content))
    with store.reading(data_dir) as reader:
        sizes = [len(piece) for piece in originals.pieces(reader.connection, whose)]
    assert max(sizes) <= originals.PIECE_BYTES
    assert sum(sizes) == len(content)


def test_the_same_bytes_are_kept_once_under_their_first_name(data_dir, filled, content):
    with store.writing(data_dir) as writer, writer.transaction():
        assert not originals.keep(writer.connection, pack(content, "copy.pdf"))
    assert kept(data_dir) == {filled: ("a.pdf", content)}


def test_an_original_goes_with_its_document_however_that_is_deleted(data_dir, filled):
    """Here by a plain statement, which no code of ours sees."""
    with store.writing(data_dir) as writer, writer.transaction():
        writer.connection.execute("DELETE FROM documents WHERE title = 'a'")
    assert kept(data_dir) == {}


def test_another_document_going_leaves_it(data_dir, filled):
    with store.writing(data_dir) as writer, writer.transaction():
        documents.delete(writer.connection, [2])
    assert set(kept(data_dir)) == {filled}


def test_a_document_read_again_keeps_it(data_dir, filled):
    """Deleted and inserted with the same hash in one transaction, as a reread does."""
    with store.writing(data_dir) as writer, writer.transaction() as seq:
        documents.delete(writer.connection, [1])
        writer.insert(document("a", "better", content_hash=filled), {}, small_store.BUILT.model_key, seq=seq)
    assert set(kept(data_dir)) == {filled}
    with store.writing(data_dir) as writer, writer.transaction():
        writer.connection.execute("DELETE FROM documents WHERE content_hash = ?", (filled,))
    assert kept(data_dir) == {}


def test_it_goes_when_its_document_gets_another_hash(data_dir, filled):
    """As a log that has grown does."""
    with store.writing(data_dir) as writer, writer.transaction():
        writer.connection.execute("UPDATE documents SET content_hash = 'another' WHERE id = 1")
    assert kept(data_dir) == {}


def test_a_transaction_that_fails_leaves_it(data_dir, filled):
    def fail():
        with store.writing(data_dir) as writer, writer.transaction():
            documents.delete(writer.connection, [1])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert set(kept(data_dir)) == {filled}


def test_it_can_be_forgotten_while_its_document_stays(data_dir, filled):
    with store.writing(data_dir) as writer, writer.transaction():
        assert originals.forget(writer.connection, filled)
        assert not originals.forget(writer.connection, filled)
    assert kept(data_dir) == {}
