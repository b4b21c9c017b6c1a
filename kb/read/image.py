"""Pictures of text (png, jpg, jpeg, tiff, bmp, webp) by OCR, each page of a TIFF as a page.

A picture is turned as its EXIF data says, then as its text stands (`kb.read.ocr`). One without text raises NoText: there
is nothing to index, and nothing is wrong. Refuses pictures that would not fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kb.errors import KbError, NoText, NotFound, UnreadableFile
from kb.read import ocr
from kb.read.pdf.assemble import blocks_of
from kb.read.pdf.parts import PageParts
from kb.read.pdf.scan import parts_of_picture
from kb.read.picture import Picture, Size, encoded
from kb.types import OCR_PAGES, Document, ReadOptions, Source

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 200_000_000  # of one page: 600 MB unpacked; a 600 dpi scan of A3 has 70 million


def read(source: Source, options: ReadOptions) -> Document:
    """Raises NoText where OCR finds nothing or is off, UnreadableFile for what is no picture."""
    if options.enable_ocr == "never":
        raise NoText(f"{source.path}: a picture, and OCR is off", "Set ingestion.enable_ocr to auto.")
    if not ocr.is_available():
        raise UnreadableFile(f"{source.path}: a picture, and RapidOCR is not installed", "pip install rapidocr")
    pages: list[PageParts] = []
    warnings: list[str] = []
    for number, picture in enumerate(pages_of(source.path), start=1):
        if number > options.max_ocr_pages:
            warnings.append(f"Pages from {number} on not read: OCR may read {options.max_ocr_pages} pages a document.")
            break
        pages.append(PageParts(number, parts_of_picture(picture)))
    blocks = blocks_of(pages)
    if not blocks:
        raise NoText(f"{source.path}: a picture without text", "There is nothing to index in it.")
    return Document(
        blocks=tuple(blocks),
        extractor=ocr.EXTRACTOR,
        metadata={"pages": len(pages), OCR_PAGES: [[1, len(pages)]]},
        warnings=tuple(warnings),
    )


def picture(path: str, number: int, size: Size) -> Picture:
    """The picture in a file, or its page `number`, from 1. Raises NotFound for a page that is not there, UnreadableFile."""
    from PIL import Image

    image = Image.fromarray(_page(path, number))
    image.thumbnail((size.longest_side, size.longest_side))
    return Picture(png=encoded(image), number=number, width=image.width, height=image.height)


def _page(path: str, number: int) -> ocr.Picture:
    count = 0
    for count, pixels in enumerate(pages_of(path), start=1):
        if count == number:
            return pixels
    raise NotFound(f"no page {number} in {path}", f"it has {count}")


def pages_of(path: str) -> Iterator[ocr.Picture]:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            for frame in range(getattr(image, "n_frames", 1) if image.format == "TIFF" else 1):
                image.seek(frame)
                _refuse_too_large(image, path)
                yield _upright(image)
    except FileNotFoundError as error:
        raise NotFound(f"{path}: no such file") from error
    except UnidentifiedImageError as error:
        raise UnreadableFile(f"{path}: not a picture, or damaged", "Open it in a viewer and save it again.") from error
    except Image.DecompressionBombError as error:
        raise UnreadableFile(f"{path}: too large to unpack ({error})", "Scale it down.") from error
    except (KbError, MemoryError):
        raise
    except Exception as error:  # Pillow's plug-ins raise anything over damage
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UnreadableFile(f"{path}: damaged picture ({reason})", "Open it in a viewer and save it again.") from error


def _refuse_too_large(image: Image, path: str) -> None:
    if image.width * image.height > MAX_PIXELS:
        raise UnreadableFile(f"{path}: {image.width} x {image.height} pixels, too large to unpack", "Scale it down.")


def _upright(image: Image) -> Any:
    """(height, width, 3), uint8, RGB; turned as EXIF says, what is transparent as white."""
    import numpy as np
    from PIL import Image as Pictures
    from PIL import ImageOps

    turned = ImageOps.exif_transpose(image)
    if turned.mode.startswith(("I", "F")):
        turned = ImageOps.autocontrast(turned.convert("F").point(lambda value: value / 256).convert("L"))
    if "A" in turned.mode or "transparency" in turned.info:
        layer = turned.convert("RGBA")
        turned = Pictures.alpha_composite(Pictures.new("RGBA", layer.size, "white"), layer)
    return np.asarray(turned.convert("RGB"))
