"""Styles and links in a terminal."""

from __future__ import annotations

import msgspec

from kb.caller import caller


class Marks(msgspec.Struct, frozen=True):
    """ANSI styles, or none: for pipes, for TERM=dumb, and where NO_COLOR is set (https://no-color.org)."""

    colored: bool

    @classmethod
    def for_terminal(cls) -> Marks:
        asking = caller()
        plain = bool(asking.environ.get("NO_COLOR")) or asking.environ.get("TERM") == "dumb"
        return cls(asking.on_terminal and not plain)

    def match(self, text: str) -> str:
        return self._styled("1;33", text)

    def bold(self, text: str) -> str:
        return self._styled("1", text)

    def dim(self, text: str) -> str:
        return self._styled("2", text)

    def link(self, text: str, path: str, page: int | None = None) -> str:
        """Text that opens the file at the page where the terminal knows how (OSC 8); it must be made safe by the caller, the path need not."""
        if not self.colored:
            return text
        from urllib.parse import quote

        address = f"file://{quote(path, errors='surrogateescape')}{f'#page={page}' if page else ''}"
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"

    def _styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colored else text
