"""What `kb skill install` answers."""

from __future__ import annotations

from typing import Literal

import msgspec

from kb.wire import Answer


class SkillFile(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    status: Literal["written", "replaced", "unchanged"]


class SkillAnswer(Answer, frozen=True):
    files: tuple[SkillFile, ...]
