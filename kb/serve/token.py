"""The bearer token: from KB_SERVE_TOKEN or an env file, else from a file in the data directory, made at the first start.

Never from the command line, which every user of the machine can read, and never printed.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

import msgspec

from kb import envfile
from kb.errors import BadConfig
from kb.settings import SERVE_TOKEN

FILE = "serve.token"
SHORTEST = 16
"""Characters; what is shorter can be tried out over a network."""
MADE_OF_BYTES = 32
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Token(msgspec.Struct, frozen=True):
    value: str
    place: str
    """Where it is from, for people: a variable's name or a path."""

    def is_in(self, authorization: bytes | None) -> bool:
        """Whether this header bears it; in the same time however much of it is right."""
        scheme, _, said = (authorization or b"").partition(b" ")
        is_bearer = scheme.lower() == b"bearer"
        return hmac.compare_digest(said.strip(), self.value.encode()) and is_bearer


def of(data_dir: Path) -> Token:
    """The token of the server of this store; makes one where there is none.

    Raises BadConfig for one that is too short or that others can read, OSError where none can be made.
    """
    said = envfile.secret(SERVE_TOKEN)
    if said:
        return Token(_checked(said, SERVE_TOKEN), SERVE_TOKEN)
    path = data_dir / FILE
    try:
        _make(path)
    except FileExistsError:
        return Token(_checked(_read(path), str(path)), str(path))
    return Token(_read(path), str(path))


def _make(path: Path) -> None:
    """Raises FileExistsError. A file that is there is whole: it gets its name when it is written."""
    if os.path.lexists(path):
        raise FileExistsError(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{FILE}.{secrets.token_hex(4)}")
    with open(new, "x", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(secrets.token_urlsafe(MADE_OF_BYTES) + "\n")
    try:
        os.link(new, path)
    finally:
        new.unlink()


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            text = file.read(4096)
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}", "let it be a file that you may read") from error
    if status.st_mode & OTHERS or status.st_uid != os.geteuid():
        raise BadConfig(f"{path} can be read by others", f"chmod 600 {path}, and put another token into it")
    return text.decode("ascii", "replace").strip()


def _checked(value: str, place: str) -> str:
    if len(value) < SHORTEST or not (value.isascii() and value.isprintable()) or " " in value:
        raise BadConfig(
            f"{place} is no token: it takes {SHORTEST} letters, digits or signs, or more",
            "make one: openssl rand -base64 32; or delete the file, and kb serve makes one",
        )
    return value
