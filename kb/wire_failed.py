"""What `kb list --failed` answers (`kb.wire`)."""

from __future__ import annotations

import msgspec

from kb.wire import Answer


class FailedFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    status: str
    """`failed`: it could not be read. `no_text`: it was read, and holds none."""
    reason: str
    """What is wrong with it, and in brackets what to do, where that is known."""
    failed_at: str


class FailedAnswer(Answer, frozen=True):
    """Files that were to be added and are not in the store. They are tried again when they change, and by `kb add --retry`."""

    files: tuple[FailedFile, ...]
    total: int
    offset: int
    returned: int
