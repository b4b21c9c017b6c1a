"""The Docling engine with its real code and a tiny layout model of random weights.

Runs only where the `docling` extra is installed: `pytest -m docling`. The loading, the worker and its recycling are
proven; what the model says is noise, so QUALITY IS NOT JUDGED here.
"""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec

import pdf_files as files
import pytest
import tiny_docling

from kb.read.pdf import docling, engine_status
from kb.types import ReadOptions

missing = [name for name in docling.EXTRA_MODULES if find_spec(name) is None]
pytestmark = [
    pytest.mark.docling,
    pytest.mark.skipif(bool(missing), reason=f"the docling extra is not installed (no {', '.join(missing)})"),
]

ROWS = (("Port", "Boats", "Crew"), ("Aberdeen", "12", "84"), ("Bergen", "7", "51"), ("Cork", "31", "190"))


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docling")
    tiny_docling.make_layout_model(folder)
    yield folder
    docling.stop_worker()


@pytest.fixture
def mixed(tmp_path):
    """A plain page, then two with a table."""
    document = files.new()
    files.page_of(document, *[files.LOREM] * 3)
    for _ in range(2):
        files.ruled_table(files.page_of(document, *[files.LOREM] * 3), ROWS)
    return files.save(document, tmp_path / "a.pdf")


def test_engine_status_names_docling_and_the_folder(artifacts):
    name, reason = engine_status(ReadOptions(docling_artifacts=str(artifacts)))
    assert name == "docling"
    assert str(artifacts) in reason
    assert "without its table model" in reason


def test_complex_pages_are_read_by_docling_and_plain_ones_are_not(mixed, artifacts):
    read = files.read(mixed, docling_artifacts=str(artifacts))
    assert read.extractor == "pymupdf+docling"
    assert (read.metadata["engine"], read.metadata["improvable"]) == ("docling", False)
    assert {b.page for b in read.blocks} == {1, 2, 3}
    assert "Aberdeen" in " ".join(b.text for b in read.blocks if b.page == 3)
    assert read.warnings == ()


def test_password_reaches_docling(mixed, artifacts, tmp_path):
    pymupdf = files.import_pymupdf()
    document = pymupdf.open(mixed)
    path = files.save(
        document, tmp_path / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o", user_pw="open"
    )
    assert files.read(path, docling_artifacts=str(artifacts), password="open").extractor == "pymupdf+docling"


def test_worker_is_kept_between_documents_and_replaced_after_its_pages(mixed, artifacts):
    options = ReadOptions(docling_artifacts=str(artifacts))
    docling.read_pages(str(mixed), [2], options)
    first = docling._workers[0]
    docling.read_pages(str(mixed), [3], options)
    assert docling._workers[0] is first
    first.pages_left = 0
    docling.read_pages(str(mixed), [2], options)
    assert docling._workers[0] is not first
    assert first.process.poll() is not None


def test_death_of_the_worker_is_reported_and_the_next_one_reads_on(mixed, artifacts):
    options = ReadOptions(docling_artifacts=str(artifacts))
    docling.read_pages(str(mixed), [2], options)
    worker = docling._workers[0]
    os.kill(worker.process.pid, signal.SIGKILL)
    with pytest.raises(docling.DoclingFailed, match="process died"):
        worker.ask(docling.Request(str(mixed), 2, 2))
    assert docling.read_pages(str(mixed), [2], options)[0].blocks


def test_broken_models_fall_back_to_pymupdf_with_a_warning(mixed, tmp_path):
    folder = tmp_path / "broken" / docling.LAYOUT_FOLDER
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    read = files.read(mixed, docling_artifacts=str(folder.parent))
    assert read.extractor == "pymupdf+layout"
    assert (read.metadata["engine"], read.metadata["improvable"]) == ("pymupdf", True)
    assert read.warnings[0].startswith("Docling failed (")


def test_models_are_read_without_the_network(artifacts, mixed):
    """The worker's environment forbids the hub, so a missing file is an error at once and not a download."""
    read = docling.read_pages(str(mixed), [2], ReadOptions(docling_artifacts=str(artifacts)))
    assert read[0].blocks
