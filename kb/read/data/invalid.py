"""The error that the formats of data share: the text does not follow the format's grammar."""

from __future__ import annotations


class Invalid(ValueError):
    """Not of the format; the message names the line. The file can still be indexed as plain text."""
