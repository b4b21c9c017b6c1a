"""PDF pages without text, and pictures, by OCR."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pdf_files as files
import pytest
from PIL import Image

from kb.errors import NoText
from kb.read import ocr

DATA = Path(__file__).parents[2] / "shared" / "data" / "docs" / "open"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the real documents are not at {DATA}")
pytest.importorskip("rapidocr", reason="RapidOCR is not installed")

LINES = ("The harbour master counted", "seventeen boats at anchor", "before the storm arrived")


def scanned(tmp_path, image):
    document = files.new()
    files.scan(document, image)
    return files.save(document, tmp_path / "scan.pdf")


def test_scan_is_read_by_ocr_and_says_so(tmp_path):
    read = files.read(scanned(tmp_path, files.picture(*LINES)))
    assert "seventeen boats at anchor" in files.text_of(read)
    assert (read.extractor, read.blocks[0].page) == ("rapidocr", 1)
    assert read.metadata["triage"] == {"scan": {"no text": "1"}}


def test_only_the_page_without_text_goes_through_ocr(tmp_path):
    document = files.new()
    files.page_of(document, files.LOREM)
    files.scan(document, files.picture(*LINES))
    read = files.read(files.save(document, tmp_path / "a.pdf"))
    assert read.extractor == "pymupdf+rapidocr"
    assert [b.page for b in read.blocks] == [1, 2]
    assert read.metadata["ocr_pages"] == [[2, 2]]


def test_no_page_is_said_to_be_read_by_ocr_that_was_not(tmp_path):
    document = files.new()
    files.page_of(document, files.LOREM)
    files.scan(document, Image.new("RGB", (900, 420), "white"))
    read = files.read(files.save(document, tmp_path / "a.pdf"))
    assert "ocr_pages" not in read.metadata


@pytest.mark.parametrize("quarter_turns", [1, 2, 3])
def test_picture_scanned_sideways_or_upside_down_is_turned_first(quarter_turns):
    turned = np.rot90(np.asarray(files.picture(*LINES)), quarter_turns)
    lines = sorted(ocr.read(np.ascontiguousarray(turned)), key=lambda line: line.y0)
    assert [line.text for line in lines] == list(LINES)


def test_skewed_picture_is_straightened_first():
    skewed = files.picture(*LINES, *LINES, size=(900, 560)).rotate(4, expand=True, fillcolor="white")
    upright = ocr.straightened(np.asarray(skewed))
    assert upright.shape != np.asarray(skewed).shape
    heights = {round(line.y1 - line.y0) for line in ocr.read(np.asarray(skewed))}
    assert max(heights) < 60  # a line of 850 pixels that still fell by 4 degrees would be 60 higher


def test_two_column_scan_is_read_column_by_column(tmp_path):
    left = [f"left {n} tells of boats upon" for n in ("one", "two", "three", "four")]
    right = [f"right {n} tells of birds above" for n in ("one", "two", "three", "four")]
    image = files.picture(*left, size=(1300, 420))
    image.paste(files.picture(*right, size=(620, 420)), (680, 0))
    text = files.text_of(files.read(scanned(tmp_path, image)))
    assert text.index("left four") < text.index("right one")


def test_ocr_never_leaves_a_scan_and_says_so(tmp_path):
    with pytest.raises(NoText, match="OCR is off") as error:
        files.read(scanned(tmp_path, files.picture(*LINES)), enable_ocr="never")
    assert "enable_ocr" in error.value.hint


def test_ocr_always_reads_a_page_that_has_text_too(tmp_path):
    document = files.new()
    files.page_of(document, ("The harbour was quiet", 20))
    read = files.read(files.save(document, tmp_path / "a.pdf"), enable_ocr="always")
    assert (read.extractor, files.text_of(read)) == ("rapidocr", "The harbour was quiet")


def test_page_budget_leaves_out_the_rest_with_a_warning(tmp_path):
    document = files.new()
    for _ in range(3):
        files.scan(document, files.picture(*LINES))
    read = files.read(files.save(document, tmp_path / "a.pdf"), max_ocr_pages=1)
    assert {b.page for b in read.blocks} == {1}
    assert read.warnings == ("Pages 2-3 not read: a scan beyond the 1 pages a document that OCR may read.",)


def test_image_too_large_to_unpack_is_refused_before_it_is(tmp_path):
    document = files.new()
    page = document.new_page()
    page.insert_image(page.rect, stream=png(Image.new("1", (20_000, 20_000))))
    with pytest.raises(NoText, match="20000 x 20000 pixels"):
        files.read(files.save(document, tmp_path / "a.pdf"))


def png(image):
    import io

    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


@needs_data
@pytest.mark.data
def test_real_decompression_bomb_is_refused():
    with pytest.raises(NoText, match="35000 x 35000"):
        files.read(DATA / "pdf_scan" / "hugemono.pdf")


@needs_data
@pytest.mark.data
def test_garbled_text_layer_is_not_indexed():
    read = files.read(DATA / "pdf_odd" / "truetype_font_nomapping.pdf")
    assert '"7+%-' not in files.text_of(read)
    assert any("garbled" in warning for warning in read.warnings)


@needs_data
@pytest.mark.data
def test_real_scan_keeps_its_accents():
    text = " ".join(files.text_of(files.read(DATA / "pdf_scan" / "francais.pdf")).split())
    assert "vieux whisky au juge blond" in text
    assert "à côté de l'alcôve" in text


def test_cells_of_a_scanned_table_become_a_markdown_table(tmp_path):
    image = files.picture("", size=(1100, 500))
    columns = (("Port", "Aberdeen", "Bergen", "Cork"), ("Boats", "12", "75", "31"), ("Crew", "84", "512", "190"))
    for number, column in enumerate(columns):
        image.paste(files.picture(*column, size=(330, 420)), (40 + 340 * number, 60))
    read = files.read(scanned(tmp_path, image))
    (table,) = [b for b in read.blocks if b.kind == "table"]
    assert table.text.splitlines()[2:] == ["| Aberdeen | 12 | 84 |", "| Bergen | 75 | 512 |", "| Cork | 31 | 190 |"]
