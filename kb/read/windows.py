"""Runs of lines without known boundaries, cut at blank lines into windows of moderate size.

Does not look at what the lines say, and never cuts a line: the chunker cuts to the model's size.
"""

from __future__ import annotations

from collections.abc import Iterator

WINDOW_LINES = 40  # a screen: about as long as the longest functions of well-kept code
MAX_WINDOW_LINES = 60  # without a blank line in reach


def split(lines: list[str], first: int, last: int) -> Iterator[tuple[int, int]]:
    """(first, last) of each window of the given lines, counted from 1; lines that are blank are in none or inside one.

    A window ends at the last blank line within WINDOW_LINES, else at the first within MAX_WINDOW_LINES.
    """
    first, last = without_blank_ends(lines, first, last)
    while last - first >= WINDOW_LINES:
        end = _end(lines, first, last)
        yield without_blank_ends(lines, first, end)
        first, last = without_blank_ends(lines, end + 1, last)
    if first <= last:
        yield first, last


def without_blank_ends(lines: list[str], first: int, last: int) -> tuple[int, int]:
    """The range without blank lines at its ends; first > last if all are blank."""
    while first <= last and not lines[first - 1].strip():
        first += 1
    while last >= first and not lines[last - 1].strip():
        last -= 1
    return first, last


def _end(lines: list[str], first: int, last: int) -> int:
    """The line after which the window that begins at `first` ends."""
    furthest = min(first + MAX_WINDOW_LINES - 1, last)
    blank = [number for number in range(first + 1, furthest + 1) if not lines[number - 1].strip()]
    near = [number for number in blank if number - first < WINDOW_LINES]
    if near:
        return near[-1]
    return blank[0] if blank else furthest
