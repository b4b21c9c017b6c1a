"""What a program passes, checked as the command line checks what a person types: a wrong value is a BadRequest that names it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.errors import BadRequest

if TYPE_CHECKING:
    from kb.candidates import Request

LARGEST = 2**63 - 1
"""What SQLite takes as a number."""
HALF = re.compile("[\ud800-\udfff]")


def text(said: object) -> str:
    """U+FFFD for halves of surrogate pairs, which a program's or an agent's JSON can hold, and no answer: as `kb` does with its arguments."""
    return HALF.sub("\ufffd", str(said))


def title(said: str | None) -> str | None:
    return None if said is None else text(said)


def texts(said: Sequence[str]) -> tuple[str, ...]:
    return tuple(text(one).strip() for one in said)


def whole(name: str, value: int | None, least: int, most: int = LARGEST) -> None:
    """None is not said."""
    if value is not None and (not isinstance(value, int) or not least <= value <= most):
        limit = f"from {least} to {most}" if most < LARGEST else f"from {least} on"
        raise BadRequest(f"{name}={value!r} cannot be", f"{name} is a whole number {limit}")


def share(name: str, value: float) -> None:
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadRequest(f"{name}={value!r} cannot be", f"{name} is a number from 0 to 1")


def words(**named: Sequence[str]) -> None:
    """One string is a sequence of letters, which nobody means."""
    for name, values in named.items():
        if isinstance(values, str):
            raise BadRequest(f"{name}={values!r} is one string", f"{name} is a list: [{values!r}]")


def pairs(meta: Mapping[str, str]) -> dict[str, str]:
    """Keys and values as the command line leaves them: without the white space around."""
    for key, value in meta.items():
        if not (isinstance(key, str) and isinstance(value, str) and key.strip()):
            raise BadRequest(f"meta {key!r}: {value!r} cannot be", "keys and values are texts, and a key is not empty")
    return {text(key).strip(): text(value).strip() for key, value in meta.items()}


def one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise BadRequest(f"{name}={value!r} cannot be", f"{name} is one of {', '.join(known)}")


def addable(request: Request) -> None:
    """What `kb add` cannot mean, whoever asks. Raises BadRequest, UnsupportedType."""
    from kb.detect import known_type

    if request.title is not None and (len(request.paths) > 1 or any(path.is_dir() for path in request.paths)):
        raise BadRequest("--title is for one document", "add it on its own")
    if request.doc_type is not None:
        known_type(request.doc_type)
    if not all(tag.strip() for tag in request.tags):
        raise BadRequest("a tag needs a name", "say --tag NAME")
