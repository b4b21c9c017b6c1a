"""Small PDFs for the tests, drawn with pymupdf itself; pictures of text with Pillow."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from kb.read import pdf
from kb.read.pdf.opening import import_pymupdf
from kb.types import ReadOptions, Source

LOREM = "The harbour was quiet that morning and the boats lay still upon the grey water."
WIDTH, HEIGHT = 595, 842


def read(path, **options):
    return pdf.read(Source(path=str(path), doc_type="pdf"), ReadOptions(**options))


def text_of(document):
    return "\n\n".join(block.text for block in document.blocks)


def new():
    return import_pymupdf().open()


def page_of(document, *lines, x=72, y=100, size=11, leading=14, font="helv"):
    """A page with one line of text below the other; a line may be (text, size)."""
    page = document.new_page(width=WIDTH, height=HEIGHT)
    for line in lines:
        text, line_size = line if isinstance(line, tuple) else (line, size)
        page.insert_text((x, y), text, fontsize=line_size, fontname=font)
        y += leading * line_size / size
    return page


def save(document, path, **options):
    document.save(path, **options)
    document.close()
    return path


def ruled_table(page, rows, *, x=72, y=300, cell=(110, 22)):
    """A table with lines around each cell."""
    width, height = cell
    for number, row in enumerate(rows):
        for column, text in enumerate(row):
            left, top = x + column * width, y + number * height
            page.draw_rect((left, top, left + width, top + height), color=(0, 0, 0), width=0.7)
            page.insert_text((left + 4, top + 15), text, fontsize=10)


def picture(*lines, size=(900, 420), font_px=34):
    """Black text on white, one line below the other."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((50, 40 + number * 2 * font_px), line, fill="black", font=ImageFont.load_default(font_px))
    return image


def scan(document, image, *, width=WIDTH):
    """A page that is nothing but a picture."""
    page = document.new_page(width=width, height=width * image.height / image.width)
    stream = io.BytesIO()
    image.save(stream, "PNG")
    page.insert_image(page.rect, stream=stream.getvalue())
    return page
