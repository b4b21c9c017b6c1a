"""A cell's value as a reader would see it, without the spreadsheet's fonts: dates in ISO 8601, percent, TRUE and FALSE.

Knows percent and currency-free numbers only; other number formats are shown as plain numbers, since a search for `1250`
should find what a format shows as `$1,250.00`.
"""

from __future__ import annotations

import datetime as dt
import re

LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
PERCENT_DIGITS = re.compile(r"\.([0#?]+)")
GENERAL = "General"
SIGNIFICANT_DIGITS = 15  # what a spreadsheet keeps; more would show 0.1 + 0.2 as 0.30000000000000004


def shown(value: object, number_format: str = GENERAL) -> str:
    """The text of a value.

    >>> shown(0.125, "0.0%"), shown(0.1 + 0.2), shown(True), shown(dt.datetime(2024, 2, 29))
    ('12.5%', '0.3', 'TRUE', '2024-02-29')
    """
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case dt.datetime():
            at_midnight = value.time() == dt.time()
            return value.date().isoformat() if at_midnight else value.isoformat(sep=" ", timespec="seconds")
        case dt.date() | dt.time():
            return value.isoformat()
        case dt.timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        case int() | float():
            return _number(value, number_format)
        case _:
            return str(value).strip()


def _number(value: float, number_format: str) -> str:
    first = LITERALS.sub("", number_format.split(";", 1)[0])
    if "%" in first:
        digits = PERCENT_DIGITS.search(first)
        return f"{value * 100:.{len(digits[1]) if digits else 0}f}%"
    if isinstance(value, int):
        return str(value)
    return f"{value:.{SIGNIFICANT_DIGITS}g}"
