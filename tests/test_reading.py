"""Reading in processes: what a hung, dead or chattering reader costs. Real processes, with real kills."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from running import environment

BAD_READERS = Path(__file__).with_name("bad_readers")
"""On PYTHONPATH it adds its kinds to every Python: worker processes load nothing of the program that starts them."""
KB = "import sys; from kb.cli.door import run; sys.exit(run(sys.argv[1:]))"
"""Not `python -m kb`, which begins anew without PYTHONPATH."""
KINDS = {
    ".md": "# Note {0}\n\nThe red one is number {0}.\n",
    ".txt": "A plain line about number {0}.\n",
    ".py": "def number_{0}():\n    return {0}\n",
    ".json": '{{"number": {0}, "name": "entry {0}"}}',
    ".csv": "number,name\n{0},entry {0}\n",
    ".yaml": "number: {0}\nname: entry {0}\n",
}


def add(folder: Path, store: Path, tiny_folder: Path, *arguments: object, **variables: object):
    done = subprocess.run(
        [sys.executable, "-c", KB, "add", str(folder), "-r", "-j", *map(str, arguments)],
        env=environment(store, KB_MODEL=tiny_folder, KB_FILE_TIMEOUT_S=4, PYTHONPATH=BAD_READERS, **variables),
        capture_output=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout), done.stderr.decode()


@pytest.fixture
def mixed(tmp_path):
    """300 files of several kinds, one of which hangs its reader and one that kills it."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    for number in range(298):
        suffix, text = list(KINDS.items())[number % len(KINDS)]
        (folder / f"{number:03}{suffix}").write_text(text.format(number))
    (folder / "100-bad.hang").write_text("hangs")
    (folder / "200-bad.die").write_text("dies")
    return folder


def test_a_hung_and_a_dead_reader_lose_their_files_alone(mixed, data_dir, tiny_folder):
    """All others are in, the two are in the error log with their reasons, and the exit code says partial."""
    code, answer, _ = add(mixed, data_dir, tiny_folder, "--workers", 2)
    assert code == 7
    assert (answer["added"], answer["failed"]) == (298, 2)
    reasons = {Path(file["path"]).name: file["reason"] for file in answer["documents"] if file["status"] == "failed"}
    assert "took longer than 4 s" in reasons["100-bad.hang"]
    assert "crashed" in reasons["200-bad.die"]
    log = (data_dir / "ingest-errors.log").read_text().splitlines()
    assert [line.split("\t")[1].rpartition("/")[2] for line in log] == ["100-bad.hang", "200-bad.die"]


def test_a_crashing_file_is_not_tried_again_until_it_changes(tmp_path, data_dir, tiny_folder):
    """The second run does not start its reader, and says what failed before; the log has it once."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bad.die").write_text("dies")
    add(tmp_path / "docs", data_dir, tiny_folder)
    _, again, _ = add(tmp_path / "docs", data_dir, tiny_folder)
    assert "failed before and has not changed" in again["documents"][0]["reason"]
    assert len((data_dir / "ingest-errors.log").read_text().splitlines()) == 1


def test_what_a_reader_prints_does_not_get_into_the_answer(tmp_path, data_dir, tiny_folder):
    """Libraries print; standard output holds one JSON value and nothing else."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "loud.chatter").write_text("loud")
    code, answer, error = add(tmp_path / "docs", data_dir, tiny_folder)
    assert (code, answer["added"], error) == (0, 1, "")


def test_documents_are_in_the_order_of_the_walk_however_many_workers(mixed, data_dir, tiny_folder):
    """Outcomes are taken in the order of the files, so that two stores of the same files are the same."""
    for name in ("100-bad.hang", "200-bad.die"):
        (mixed / name).unlink()
    _, answer, _ = add(mixed, data_dir, tiny_folder, "--workers", 2)
    names = [Path(file["path"]).name for file in sorted(answer["documents"], key=lambda file: file["document_id"])]
    assert names == sorted(names)


def test_reading_again_needs_a_better_engine(kb, tmp_path, tiny_folder):
    """Without Docling there is nothing to improve: one line that says why, and nothing is changed."""
    (tmp_path / "note.md").write_text("# Note\n\nThe red one.\n")
    assert kb("add", "note.md", KB_MODEL=tiny_folder).code == 0
    refused = kb("add", "--reread", "-j", KB_MODEL=tiny_folder, KB_PDF_ENGINE="pymupdf")
    assert (refused.code, refused.json["error"]["code"]) == (2, "BadRequest")
    assert "pdf_engine is pymupdf" in refused.json["error"]["message"]
