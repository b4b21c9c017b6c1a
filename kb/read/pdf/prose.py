"""Lines in reading order to paragraphs, headings and listings.

Knows font sizes and places, not pages: the same code reads plain pages, the text boxes of a layout model and the lines
of OCR. Tables are not its business.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import groupby, pairwise, zip_longest
from statistics import median

import msgspec

from kb.read.line import Line
from kb.read.pdf.parts import Part
from kb.read.pdf.seams import cleaned, is_clean, seam
from kb.read.pdf.style import Style

SAME_SIZE_PT = 0.6  # 9.96 and 10 are one size, 10 and 11 are two
MAX_HEADING_CHARS = 160
MAX_BOLD_HEADING_CHARS = 90  # a bold line of the body's size has to be short to be a heading
MAX_HEADING_ROWS = 3
MAX_HEADING_RUN = 4
PARAGRAPH_GAP = 0.6  # white space between lines beyond the usual, in line heights
INDENT = 0.8  # in font sizes
SHORT_LINE_SHARE = 0.75  # of the column's width: a line that ends a paragraph
BROKEN_LINE_SHARE = 0.6  # of a full line: a shorter one is a line of an address, a verse, a row of labels
WORD_GAP = 0.08  # in font sizes, between pieces of one row
BOLD_RANK = 0.25  # a bold line stands above a plain one of the same size

BULLET = re.compile(r"\s*([•‣◦▪●○■□–—*·-]|\(?(\d{1,3}|[a-zA-Z]|[ivx]{1,5}|[IVX]{1,5})[.)])\s")  # noqa: RUF001 these signs are meant
SENTENCE_ENDS = frozenset(".!?:;。！？؟…")  # noqa: RUF001 these signs are meant
CLOSERS = " \"'”’)]"  # noqa: RUF001 these signs are meant
LETTER = re.compile(r"[^\W\d_]")


def parts_of(lines: Sequence[Line], style: Style) -> list[Part]:
    """The headings, paragraphs and listings of lines that come in reading order."""
    parts: list[Part] = []
    for group in _groups(_joined_rows(lines), style):
        if group.rows[0].mono and not style.is_mono:
            parts.append(Part(_listing(group.rows), "code" if len(group.rows) > 1 else "text"))
            continue
        text = _paragraph(group, style)
        if text:
            parts.append(Part(text, rank=_rank(group, text, style)))
    return _demoted(parts)


def _paragraph(group: _Group, style: Style) -> str:
    """Lines of one paragraph as one line; items of a list, and lines broken on purpose, stay on lines of their own."""
    lines = [row.text for row in group.rows]
    if not is_clean(" ".join(lines)):  # asked once for all of them
        lines = [cleaned(line) for line in lines]
    narrow = BROKEN_LINE_SHARE * style.line_width
    pieces = lines[:1]
    for last, line in zip(group.rows, lines[1:], strict=False):
        if _is_item(line) or (last.x1 - last.x0 < narrow and _is_broken(last, line)):
            pieces += ("\n", line)
        elif (end := pieces[-1][-1:]).isascii() and end != "-":  # most lines; saves a call for each
            pieces += (" ", line)
        else:
            pieces[-1], space = seam(pieces[-1], line, style.hyphenated)
            pieces += (space, line)
    return "".join(pieces).strip()


def _is_broken(last: Line, line: str) -> bool:
    """Whether a short line was meant to end where it does."""
    return not last.vertical and not line[:1].islower() and LETTER.search(last.text) is not None


def _joined_rows(lines: Sequence[Line]) -> list[Line]:
    """Neighbours that stand on the same row, or in the same vertical column, as one line."""
    rows = list(lines[:1])
    for line in lines[1:]:
        previous = rows[-1]
        if line.y0 >= previous.y1 and not line.vertical:  # most lines are simply below
            rows.append(line)
        elif previous.vertical and line.vertical and abs(previous.x0 - line.x0) < line.size / 2:
            rows[-1] = _merged(previous, line, "")
        elif _same_row(previous, line):
            gap = max(line.x0 - previous.x1, previous.x0 - line.x1)
            rows[-1] = _merged(previous, line, " " if gap > WORD_GAP * line.size else "")
        else:
            rows.append(line)
    return rows


def _same_row(a: Line, b: Line) -> bool:
    overlap = min(a.y1, b.y1) - max(a.y0, b.y0)
    beside = b.x0 >= a.x1 - a.size / 2 or b.x1 <= a.x0 + a.size / 2
    return not b.vertical and overlap > min(a.y1 - a.y0, b.y1 - b.y0) / 2 and beside


def _merged(a: Line, b: Line, space: str) -> Line:
    longer = a if len(a.text) >= len(b.text) else b
    return msgspec.structs.replace(
        longer,
        text=f"{a.text}{space}{b.text}",
        x0=min(a.x0, b.x0),
        y0=min(a.y0, b.y0),
        x1=max(a.x1, b.x1),
        y1=max(a.y1, b.y1),
        bold=a.bold and b.bold,
        mono=a.mono and b.mono,
        block=b.block,
    )


class _Group:
    """Rows that belong together so far: one heading, one paragraph with its list, or one listing."""

    def __init__(self, first: Line) -> None:
        self.rows = [first]
        self.left = first.x0
        self.right = first.x1
        self.is_bold = first.bold

    def add(self, row: Line) -> None:
        self.rows.append(row)
        if row.x0 < self.left:  # noqa: PLR1730 min() takes five times as long, and this is done for each line
            self.left = row.x0
        if row.x1 > self.right:  # noqa: PLR1730
            self.right = row.x1
        if not row.bold:
            self.is_bold = False

    @property
    def is_list(self) -> bool:
        return any(_is_item(row.text) for row in self.rows)


def _groups(rows: Sequence[Line], style: Style) -> list[_Group]:
    if not rows:
        return []
    pitches = [step for a, b in pairwise(rows) if 0 < (step := b.y0 - a.y0) < 3 * (a.y1 - a.y0)]
    largest_step = (1 + PARAGRAPH_GAP) * (median(pitches) if pitches else math.inf)
    group = _Group(rows[0])
    groups = [group]
    for last, row, following in zip_longest(rows[:-1], rows[1:], rows[2:]):
        if not _goes_on(last, row, group, largest_step) and (
            _ends_before(row, group, largest_step, style) or _is_indented(row, following, group)
        ):
            group = _Group(row)
            groups.append(group)
        else:
            group.add(row)
    return groups


def _goes_on(last: Line, row: Line, group: _Group, largest_step: float) -> bool:
    """Whether `row` is simply the next line, of the same type and below a full one: what the rules that follow would find
    for most rows, in a third of the time.
    """
    if row.size != last.size or row.bold is not last.bold or row.mono is not last.mono or row.vertical or last.vertical:
        return False
    step = row.y0 - last.y0
    if step < 0.0 or step > largest_step or row.x0 > group.left + INDENT * row.size:
        return False
    right = group.right if group.right > row.x1 else row.x1  # noqa: FURB136 as in `_Group.add`
    return last.x1 - group.left >= SHORT_LINE_SHARE * (right - group.left)


def _ends_before(  # noqa: PLR0911 one return a rule, the most telling first
    row: Line, group: _Group, largest_step: float, style: Style
) -> bool:
    """Whether a group is complete before `row`: other type, white space, or a last line that ends early."""
    last = group.rows[-1]
    step = row.y0 - last.y0
    if _changes(last, row, style):
        return True
    if row.vertical:
        return False
    if step < -last.size:  # the next column: a sentence may go on there
        return _ends_sentence(last) or not row.text[:1].islower()
    if step > largest_step:
        return True
    if row.mono and not style.is_mono:
        return False
    right = max(row.x1, group.right)
    is_short = last.x1 - group.left < SHORT_LINE_SHARE * (right - group.left)
    if row.bold != last.bold and (row.bold or group.is_bold) and (is_short or _ends_sentence(last)):
        return True
    if not is_short or (row.x0 > group.left and group.is_list):
        return False
    return _ends_sentence(last) and not _is_item(row.text)


def _changes(last: Line, row: Line, style: Style) -> bool:
    """Whether two rows cannot be of one paragraph, by their type."""
    if row.mono != last.mono and not style.is_mono:
        return True
    if row.vertical != last.vertical:
        return True
    if row.size == last.size:
        return False
    return abs(row.size - last.size) > SAME_SIZE_PT and _is_large(row, style) != _is_large(last, style)


def _is_indented(row: Line, following: Line | None, group: _Group) -> bool:
    """Whether `row` is the first line of a paragraph, standing further in than the lines before and after it."""
    step = INDENT * row.size
    if row.x0 <= group.left + step or following is None or following.x0 >= row.x0 - step:
        return False
    return not (row.mono or row.vertical or group.is_list or row.is_rtl)


def _ends_sentence(line: Line) -> bool:
    return line.text.rstrip(CLOSERS)[-1:] in SENTENCE_ENDS


def _is_item(text: str) -> bool:
    """Whether a line begins an item of a list. Most lines begin with two letters, and save the time of a match."""
    if text[:2].isalpha() and text[1:2] not in "ivxIVX":
        return False
    return BULLET.match(text) is not None


def _is_large(line: Line, style: Style) -> bool:
    return line.size > style.heading_size * style.body_size


def _rank(group: _Group, text: str, style: Style) -> float | None:
    """The rank of a heading, or None for a paragraph."""
    if len(group.rows) > MAX_HEADING_ROWS or len(text) > MAX_HEADING_CHARS or "\n" in text:
        return None
    if not LETTER.search(text):
        return None
    size = max(line.size for line in group.rows)
    if size > style.heading_size * style.body_size:
        return size + BOLD_RANK * group.is_bold
    is_short = len(text) <= MAX_BOLD_HEADING_CHARS and not text.endswith((".", ",", ";"))
    if group.is_bold and is_short and size > style.body_size - SAME_SIZE_PT:
        return size + BOLD_RANK
    return None


def _demoted(parts: Sequence[Part]) -> list[Part]:
    """Large type that runs on is text: of more headings in a row than a chain may have, none is one."""
    kept: list[Part] = []
    for is_heading, run in groupby(parts, key=lambda part: part.rank is not None):
        found = list(run)
        too_many = is_heading and len(found) > MAX_HEADING_RUN
        kept += [msgspec.structs.replace(part, rank=None) for part in found] if too_many else found
    return kept


def _listing(group: Sequence[Line]) -> str:
    """Monospaced lines with their indentation, counted in characters of the widest line."""
    left = min(line.x0 for line in group)
    widest = max(group, key=lambda line: len(line.text))
    character = widest.width / len(widest.text) or 1.0
    return "\n".join(" " * round((line.x0 - left) / character) + line.text.rstrip() for line in group)
