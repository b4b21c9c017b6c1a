"""The short version of `scripts/hurt inputs` and `scripts/hurt hostile`, and what they found."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from hurting import hostile, inputs

from kb import reading
from kb.candidates import GROWTH_BYTES, hash_file
from kb.types import Block, Document

LIGHT = ("markdown", "text", "data", "code", "transcript", "notebook")


def test_damaged_files_of_every_light_type_are_read_or_refused_in_a_line(capsys):
    words = [word for kind in LIGHT for word in ("--type", kind)]
    assert inputs.main(["--inputs", "60", "--seed", "short", *words]) == 0, capsys.readouterr().out


@pytest.mark.heavy
def test_damaged_files_of_every_type_are_read_or_refused_in_a_line(capsys):
    assert inputs.main(["--inputs", "2000", "--seed", "heavy"]) == 0, capsys.readouterr().out


def test_files_made_to_hurt_are_refused_or_read_and_fetch_nothing(capsys):
    wanted = (
        "zeros.docx", "members.xlsx", "laughs.docx", "fetches.docx", "laughs.epub", "fetches.epub", "deep.json", "deep.ipynb", "deep.jsonl",
        "deep.yaml", "deep.toml", "deep.md", "aliases.yaml", "wide.png", "endless.png", "loop.pdf",
    )  # fmt: skip
    words = [word for name in wanted for word in ("--case", name)]
    assert hostile.main(words) == 0, capsys.readouterr().out
    assert f"{len(wanted)} hostile files; 0 faults" in capsys.readouterr().out


def test_whatever_lies_in_a_folder_files_are_added_and_the_rest_is_passed_over(kb, tmp_path, tiny_folder):
    """Pipes, sockets, devices, loops, names of 255 bytes, with line ends, quotes, escapes, and one that is no UTF-8."""
    tree = hostile.odd_tree(tmp_path / "odd")
    added = kb("add", tree, "-r", "-j", "--follow-symlinks", KB_MODEL=tiny_folder)
    answer = added.json
    assert (answer["added"], answer["failed"]) == (14, 1)  # two begin with a dot, which hides them
    [reason] = [file["reason"] for file in answer["documents"] if file["status"] == "failed"]
    assert reason.endswith("(rename the file)")
    listed = kb("list", "--all", "-j").json["documents"]
    assert all(kb("show", document["document_id"], "-j").code == 0 for document in listed[:3])
    shown = kb("list", "--all")
    assert not set("\x1b\u202e") & set(shown.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit")
def test_a_worker_has_no_more_memory_than_its_limit():
    """As a MemoryError, at once: nothing of the machine's is taken."""
    with reading.Pool.started(1) as pool:
        wanted = pool.schedule(eval, f"len(bytearray({reading.WORKER_BYTES + 1}))", 60)
        with pytest.raises(MemoryError):
            wanted.result()


def test_a_large_light_file_is_read_where_there_is_a_time_limit(tmp_path):
    """Small ones are read in this process, which nothing bounds."""
    path = tmp_path / "long.txt"
    path.write_text("word " * 2_000_000)
    [(_, outcome)] = reading.read_all([inputs.job_of(path, None)], workers=1, timeout_s=0.3)
    assert "took longer than 0.3 s" in outcome.reason


def test_a_nul_and_half_a_pair_are_stored_as_nothing_and_as_a_sign():
    """HTML and JSON can hold both; SQLite's functions end a text at the one, and no answer can hold the other."""
    read = Document(blocks=(Block(text="a\0b\ud800c"),), extractor="x", metadata={"k\0": ["\0"]})
    stored = reading.storable(read)
    assert (stored.blocks[0].text, stored.metadata) == ("ab\ufffdc", {"k": [""]})
    assert reading.storable(Document(blocks=(Block(text=r"\u0000"),), extractor="x")).blocks[0].text == r"\u0000"
    msgspec.json.encode(stored)


def test_much_white_space_between_sentences_is_not_stored(tmp_path):
    """It costs no tokens, so nothing else would bound it."""
    path = tmp_path / "wide.txt"
    path.write_text(("One sentence." + " " * 2000) * 30)
    outcome = reading.read_and_chunk(inputs.job_of(path, None))
    assert max(len(chunk.text) for chunk in outcome.chunks) < 2 * 16 * inputs.MODEL_SEES


def test_a_file_that_grows_for_ever_is_read_to_an_end(tmp_path):
    endless = tmp_path / "endless"
    os.mkfifo(endless)

    def feed() -> None:
        try:
            with endless.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 20))
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=feed)
    thread.start()
    _, size = hash_file(Path(endless))
    thread.join()
    assert size == GROWTH_BYTES
