"""Pictures: formats, EXIF, several pages, no text."""

from __future__ import annotations

import pdf_files as files
import pytest
from PIL import Image

from kb.errors import NoText, NotFound, UnreadableFile
from kb.read import image
from kb.read.kinds import KINDS
from kb.types import ReadOptions, Source

pytest.importorskip("rapidocr", reason="RapidOCR is not installed")

LINES = ("The harbour master counted", "seventeen boats at anchor", "before the storm arrived")


def read(path, **options):
    return image.read(Source(path=str(path), doc_type="image"), ReadOptions(**options))


@pytest.mark.parametrize("suffix", ["png", "jpg", "tiff", "bmp", "webp"])
def test_picture_of_text_is_read(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    files.picture(*LINES[:1], size=(560, 420)).save(path)
    document = read(path)
    assert files.text_of(document) == LINES[0]
    assert (document.extractor, document.blocks[0].page) == ("rapidocr", 1)


def test_every_page_of_a_tiff_is_a_page(tmp_path):
    first, second = (files.picture(line, size=(560, 420)) for line in LINES[:2])
    first.save(tmp_path / "a.tif", save_all=True, append_images=[second])
    document = read(tmp_path / "a.tif")
    assert [(b.page, b.text) for b in document.blocks] == [(1, LINES[0]), (2, LINES[1])]
    assert document.metadata == {"pages": 2, "ocr_pages": [[1, 2]]}


def test_page_budget_holds_for_a_tiff(tmp_path):
    first, second = (files.picture(line, size=(560, 420)) for line in LINES[:2])
    first.save(tmp_path / "a.tif", save_all=True, append_images=[second])
    document = read(tmp_path / "a.tif", max_ocr_pages=1)
    assert len(document.blocks) == 1
    assert "from 2 on not read" in document.warnings[0]


def test_picture_is_turned_as_its_exif_data_says(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # stored on its side, to be shown turned by 90 degrees clockwise
    files.picture(*LINES).rotate(90, expand=True).save(tmp_path / "a.jpg", exif=exif)
    assert "seventeen boats at anchor" in files.text_of(read(tmp_path / "a.jpg"))


def test_transparent_picture_is_read_on_white(tmp_path):
    black_on_nothing = Image.new("RGBA", (560, 420), (0, 0, 0, 0))
    opaque = files.picture(*LINES[:1], size=(560, 420)).convert("L").point(lambda value: 255 - value)
    black_on_nothing.putalpha(opaque)
    black_on_nothing.save(tmp_path / "a.png")
    assert files.text_of(read(tmp_path / "a.png")) == LINES[0]


def test_sixteen_bit_picture_is_read(tmp_path):
    grey = files.picture(*LINES[:1], size=(560, 420)).convert("L")
    grey.convert("I").point(lambda value: value * 256).convert("I;16").save(tmp_path / "a.tiff")
    assert files.text_of(read(tmp_path / "a.tiff")) == LINES[0]


def test_picture_without_text_is_explained(tmp_path):
    Image.linear_gradient("L").save(tmp_path / "a.png")
    with pytest.raises(NoText, match="a picture without text"):
        read(tmp_path / "a.png")


def test_ocr_never_reads_no_picture(tmp_path):
    files.picture(*LINES).save(tmp_path / "a.png")
    with pytest.raises(NoText, match="OCR is off"):
        read(tmp_path / "a.png", enable_ocr="never")


def test_damaged_picture_and_missing_file_are_clear_errors(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"not a picture")
    with pytest.raises(UnreadableFile, match="not a picture"):
        read(path)
    files.picture(*LINES).save(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UnreadableFile, match="damaged"):
        read(path)
    with pytest.raises(NotFound):
        read(tmp_path / "none.png")


def test_picture_too_large_to_unpack_is_refused(tmp_path):
    Image.new("1", (20_000, 20_000)).save(tmp_path / "a.png")
    with pytest.raises(UnreadableFile, match="too large to unpack"):
        read(tmp_path / "a.png")


def test_kinds_know_the_picture_formats():
    extensions = next(kind.extensions for kind in KINDS if kind.doc_type == "image")
    assert {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"} <= set(extensions)
