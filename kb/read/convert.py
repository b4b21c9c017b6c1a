"""Turns a DoclingDocument into our Blocks: the one place that knows how Docling says heading, list, table and slide.

Reading order is Docling's. A run of paragraphs and lists under one heading on one page becomes one `text` block; tables
and code become their own. Headings stand in the text as in a markdown file, besides being each block's chain. What
Docling keeps beside the body (footnotes, comments, page headers, speaker notes) comes under a heading that says so. Does not open files, and drops nothing but empty paragraphs and repeated page headers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kb.read import table_data
from kb.read.tables import markdown_table
from kb.types import Block

if TYPE_CHECKING:
    from docling_core.types.doc.document import DoclingDocument

Heading = tuple[int, str]

OPENERS = "([{«“‘¿¡/"  # noqa: RUF001 these signs are meant; no space after these when inline parts are joined
CLOSERS = ".,;:!?)]}»”’/%"  # noqa: RUF001 as above; nor before these
INDENT = "  "
MAX_LEVEL = 6  # of markdown's headings
PAGE_FURNITURE = "Page header or footer"


def blocks(document: DoclingDocument) -> tuple[Block, ...]:
    """All the text of the document, in reading order."""
    walker = _Walker(document)
    walker.visit_children(document.body)
    walker.flush()
    return tuple(walker.blocks)


def title(document: DoclingDocument) -> str | None:
    """The text of the first title in the body, else of its first heading, else None."""
    for kind in ("title", "section_header"):
        for item in document.texts:
            if item.label == kind and item.content_layer == "body" and item.text.strip():
                return item.text.strip()
    return None


class _Walker:
    """The state of one pass through the document."""

    def __init__(self, document: DoclingDocument) -> None:
        self.document = document
        self.blocks: list[Block] = []
        self.root: tuple[str, ...] = ()  # the slide's title
        self.headings: list[Heading] = []
        self.aside: str | None = None  # the heading of what stands beside the body
        self.within_aside = False
        self.page: int | None = None
        self.paragraphs: list[str] = []
        self.in_list = False
        self.counts: dict[str, int] = {}  # items of each numbered list so far
        self.seen_furniture: set[str] = set()
        self.captions = {ref.cref for item in (*document.tables, *document.pictures) for ref in item.captions}

    @property
    def chain(self) -> tuple[str, ...]:
        if self.aside:
            return (*self.root, self.aside)
        return (*self.root, *(text for _, text in self.headings))

    def visit_children(self, item: Any, depth: int = 0) -> None:
        for child in self.children(item):
            self.visit(child, depth)

    def children(self, item: Any) -> Iterator[Any]:
        return (ref.resolve(self.document) for ref in item.children)

    def visit(self, item: Any, depth: int) -> None:
        if item.self_ref in self.captions:
            return
        if self.within_aside:
            self.visit_body(item, depth)
            return
        aside = _aside(item)
        if aside != self.aside:
            self.flush()
            self.aside = aside
        if item.label == "chapter":
            self.slide(item)
        else:
            self.within_aside = aside is not None
            self.visit_body(item, depth)
            self.within_aside = False

    def visit_body(self, item: Any, depth: int) -> None:
        match type(item).__name__:
            case "TitleItem" | "SectionHeaderItem":
                self.heading(item)
                self.visit_children(item)
            case "InlineGroup":
                self.paragraph(self.inline(item))
            case "ListItem":
                self.list_item(item, depth)
            case "CodeItem":
                self.add(item.text, "code")
            case "TableItem":
                self.table(item.data, self.caption(item))
            case "PictureItem":
                self.picture(item)
            case "GroupItem" | "ListGroup" | "OrderedList":
                self.in_list = self.in_list and depth > 0
                self.visit_children(item, depth)
            case _:
                self.paragraph(_text(item))
                self.visit_children(item, depth)

    def slide(self, item: Any) -> None:
        """A slide: its title first, wherever on the slide it stands, and its number as the page."""
        self.flush()
        self.page = (self.page or 0) + 1
        self.root, self.headings = (), []
        shapes = list(self.children(item))
        titles = [shape for shape in shapes if type(shape).__name__ == "TitleItem"]
        name = " ".join(filter(None, (self.inline(shape) for shape in titles)))
        if name:
            self.root = (name,)
            self.paragraph(f"# {name}")
        for shape in shapes:
            if shape not in titles:
                self.visit(shape, 0)
        self.flush()

    def heading(self, item: Any) -> None:
        """Begins a block, and stands in its text as in a markdown file."""
        text = self.inline(item)
        if text and not self.aside:
            self.flush()
            level = getattr(item, "level", 0)
            self.headings = [*((lv, t) for lv, t in self.headings if lv < level), (level, text)]
            text = f"{'#' * min(len(self.chain), MAX_LEVEL)} {text}"
        self.paragraph(text)

    def paragraph(self, text: str) -> None:
        text = text.strip()
        if text and not self.is_furniture_noise(text):
            self.paragraphs.append(text)
        self.in_list = False

    def is_furniture_noise(self, text: str) -> bool:
        """A page number, or a page header that another section or slide has shown already."""
        if self.aside != PAGE_FURNITURE:
            return False
        is_noise = text in self.seen_furniture or not any(map(str.isalpha, text))
        self.seen_furniture.add(text)
        return is_noise

    def list_item(self, item: Any, depth: int) -> None:
        nested = list(self.children(item))
        text = _text(item).strip()
        if not text and nested and type(nested[0]).__name__ == "InlineGroup":
            text = self.inline(nested.pop(0))
        marker = self.marker(item)
        line = f"{INDENT * depth}{marker} {text}" if text else ""
        if line and self.in_list:
            self.paragraphs[-1] += f"\n{line}"
        elif line:
            self.paragraphs.append(line)
        self.in_list = self.in_list or bool(line)
        for child in nested:
            self.visit(child, depth + 1)

    def marker(self, item: Any) -> str:
        """The item's number as the document shows it; counted where Docling leaves that to the one who writes."""
        if not item.enumerated:
            return "-"
        count = self.counts[item.parent.cref] = self.counts.get(item.parent.cref, 0) + 1
        return item.marker or f"{count}."

    def picture(self, item: Any) -> None:
        chart = item.meta.tabular_chart if item.meta else None
        caption = self.caption(item)
        if chart:
            self.table(chart.chart_data, caption or chart.title or "")
        else:
            self.paragraph(caption)
        self.visit_children(item)

    def table(self, data: Any, caption: str) -> None:
        """The table as a block, then the tables and code that its cells hold as blocks of their own."""
        nested: list[Any] = []
        texts = [(cell, self.cell_text(cell, nested)) for cell in data.table_cells]
        rows = table_data.grid(data, texts)
        header_rows = table_data.header_rows(data)
        if len(rows) > 1 and len(rows[0]) > 1 and len(set(rows[0])) == 1 and rows[0][0]:  # a title across the table
            caption = " ".join(filter(None, (caption, rows.pop(0)[0])))
            header_rows -= 1
        self.add(markdown_table(rows, header_rows), "table", caption)
        for item in nested:
            self.visit(item, 0)

    def cell_text(self, cell: Any, nested: list[Any]) -> str:
        ref = getattr(cell, "ref", None)
        if ref is None:
            return str(cell.text)
        own: list[Any] = []
        text = " ".join(filter(None, self.plain(ref.resolve(self.document), own)))
        nested += own
        return text if text or own else str(cell.text)

    def plain(self, item: Any, nested: list[Any]) -> Iterator[str]:
        """The texts below an item, one a paragraph; tables and code of several lines go to `nested`."""
        kind = type(item).__name__
        if kind == "TableItem" or (kind == "CodeItem" and "\n" in item.text):
            nested.append(item)
        elif kind == "InlineGroup":
            yield self.inline(item)
        else:
            yield _text(item).strip()
            for child in self.children(item):
                yield from self.plain(child, nested)

    def inline(self, item: Any) -> str:
        parts = [_text(item), *(self.inline(child) for child in self.children(item) if _is_inline(child, item))]
        return join_inline([part for part in parts if part]).strip()

    def caption(self, item: Any) -> str:
        return " ".join(self.inline(ref.resolve(self.document)) for ref in item.captions)

    def flush(self) -> None:
        text, self.paragraphs, self.in_list = "\n\n".join(self.paragraphs), [], False
        if text:
            self.append(text, "text", "")

    def add(self, text: str, kind: Any, context: str = "") -> None:
        self.flush()
        if text.strip():
            self.append(text, kind, context)
        elif context:
            self.append(context, "text", "")

    def append(self, text: str, kind: Any, context: str) -> None:
        self.blocks.append(Block(text=text, kind=kind, heading=self.chain, page=self.page, context=context))


def join_inline(parts: list[str]) -> str:
    """Runs of one sentence that a format change has cut, with a space only where one belongs."""
    text = ""
    for part in parts:
        glued = not text or text[-1].isspace() or part[0].isspace() or text[-1] in OPENERS or part[0] in CLOSERS
        text += part if glued else f" {part}"
    return text


def _aside(item: Any) -> str | None:
    """The heading for what stands beside the body; None for the body."""
    if item.label == "footnote":
        return "Footnotes"
    if item.label == "comment_section":
        return "Comments"
    if item.content_layer == "notes":
        return "Notes"
    return PAGE_FURNITURE if item.content_layer == "furniture" else None


def _is_inline(child: Any, parent: Any) -> bool:
    """Children of an inline group are its runs; of a heading or title only the runs of its own line."""
    return type(parent).__name__ == "InlineGroup" or type(child).__name__ == "InlineGroup"


def _text(item: Any) -> str:
    text = str(getattr(item, "text", ""))
    if item.label == "formula" and text.strip():
        return f"${text.strip()}$"
    return text
