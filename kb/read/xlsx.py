"""Reads Excel workbooks: each sheet a heading and a page, each run of filled rows a markdown table.

By openpyxl's streaming parser and not by Docling, which takes 13.5 s and every cell's rectangle in memory for 10,000
rows of 20 columns (this: 4 s) and does not end on a sheet with one cell in the far corner, as it walks the 17 thousand
million empty ones between. Cells are read as stored, so empty ranges cost nothing. Values, not formulas: what the
spreadsheet program stored with the file. Pictures are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kb.read import sheet_grid, sheet_parts
from kb.read.archive import open_archive
from kb.read.backend import reading
from kb.read.office import core_metadata, require_text
from kb.read.sheet_value import GENERAL, shown
from kb.types import Block, Document, ReadOptions, Source


class Sheet(msgspec.Struct, frozen=True):
    title: str
    blocks: tuple[Block, ...]
    is_hidden: bool
    unknown_formulas: int
    """Formulas whose value no program has ever stored; there is nothing to read."""


def read(source: Source, options: ReadOptions) -> Document:
    """Raises UnreadableFile for damage, bombs and old binary files, EncryptedFile for a password."""
    import openpyxl

    with open_archive(source, options) as archive, reading(source.path):
        workbook = openpyxl.load_workbook(source.path, read_only=True, data_only=True, keep_links=False)
        try:
            parts = sheet_parts.texts(archive)
            sheets = [_sheet(sheet, page, parts) for page, sheet in enumerate(workbook.worksheets, 1)]
            metadata = core_metadata(workbook.properties, archive)
        finally:
            workbook.close()
    blocks = tuple(block for sheet in sheets for block in sheet.blocks)
    require_text(blocks, source.path)
    title = metadata.pop("title", None)
    return Document(
        blocks=blocks,
        extractor="openpyxl",
        title=title,
        metadata={**metadata, "sheets": [sheet.title for sheet in sheets], **_hidden(sheets)},
        warnings=tuple(_warnings(sheets)),
    )


def _hidden(sheets: list[Sheet]) -> dict[str, list[str]]:
    names = [sheet.title for sheet in sheets if sheet.is_hidden]
    return {"hidden_sheets": names} if names else {}


def _warnings(sheets: list[Sheet]) -> Iterator[str]:
    for sheet in sheets:
        if sheet.unknown_formulas:
            yield (
                f"sheet {sheet.title}: {sheet.unknown_formulas:,} formulas hold no stored value; "
                "open and save the file in a spreadsheet program to have them read"
            )


def _sheet(sheet: Any, page: int, parts: sheet_parts.PartTexts) -> Sheet:
    is_hidden = sheet.sheet_state != "visible"
    name = f"{sheet.title} (hidden sheet)" if is_hidden else sheet.title
    rows, merged, unknown = _rows(sheet)
    regions = sheet_grid.regions(rows, merged)
    blocks = [
        Block(text=region.text, kind=region.kind, heading=(name,), page=page, context=region.title)
        for region in regions
    ]
    for heading, texts in parts.get(sheet._worksheet_path, {}).items():  # noqa: SLF001 the sheet's name in the archive
        blocks.append(Block(text="\n\n".join(texts), heading=(name, heading), page=page))
    return Sheet(sheet.title, tuple(blocks), is_hidden, unknown)


def _rows(sheet: Any) -> tuple[sheet_grid.Rows, list[sheet_grid.Span], int]:
    """The filled cells by row and column, the merged ranges, and how many formulas are without a value."""
    # The parser behind read-only sheets: the public iterators pad every row to the widest, 16,384 cells for one.
    from openpyxl.worksheet._reader import WorkSheetParser

    book = sheet.parent
    formats = _number_formats(book)
    unknown = 0

    class Parser(WorkSheetParser):  # type: ignore[misc]
        def parse_cell(self, element: Any) -> dict[str, Any]:
            nonlocal unknown
            cell: dict[str, Any] = super().parse_cell(element)
            if cell["value"] is None and any(child.tag.endswith("}f") for child in element):
                unknown += 1
            return cell

    with sheet._get_source() as stream:  # noqa: SLF001 as above
        parser = Parser(
            stream,
            sheet._shared_strings,  # noqa: SLF001
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,  # noqa: SLF001
            timedelta_formats=book._timedelta_formats,  # noqa: SLF001
        )
        rows = {number: texts for number, cells in parser.parse() if (texts := _texts(cells, formats))}
    return rows, [sheet_grid.Span(r.min_row, r.max_row, r.min_col, r.max_col) for r in _ranges(parser)], unknown


def _ranges(parser: Any) -> Iterable[Any]:
    return parser.merged_cells.mergeCell if parser.merged_cells else ()


def _texts(cells: list[dict[str, Any]], formats: list[str]) -> dict[int, str]:
    filled = [cell for cell in cells if cell["value"] is not None]
    texts = {cell["column"]: shown(cell["value"], formats[cell["style_id"]] if formats else GENERAL) for cell in filled}
    return {column: text for column, text in texts.items() if text}


def _number_formats(book: Any) -> list[str]:
    """The number format of each cell style, as openpyxl's own read-only cell finds it."""
    from openpyxl.styles.numbers import BUILTIN_FORMATS, BUILTIN_FORMATS_MAX_SIZE

    own = dict(enumerate(book._number_formats, BUILTIN_FORMATS_MAX_SIZE))  # noqa: SLF001
    known = {**BUILTIN_FORMATS, **own}
    return [known.get(style.numFmtId, GENERAL) for style in book._cell_styles]  # noqa: SLF001
