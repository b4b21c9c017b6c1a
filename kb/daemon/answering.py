"""One request to the bytes of its reply. What cannot be answered just as `kb` itself would is declined: then `kb` does it.

Declined are other versions, commands that write, usage errors and --help (their text depends on the terminal), another
home, an encoding other than UTF-8, and whatever went wrong here.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from pathlib import Path
from time import perf_counter

import msgspec

from kb import __version__
from kb.caller import Caller, answering_for
from kb.cli import door
from kb.protocol import DECLINED, ERR, EXIT, FORWARDED_VERBS, OUT, encode_frame

DECLINE = encode_frame(DECLINED, b"")


class Request(msgspec.Struct, frozen=True):
    """What a caller sent, as `kb.protocol` describes it."""

    version: str
    what: str
    on_terminal: bool
    folder: str
    arguments: tuple[str, ...]
    environ: dict[str, str]

    @classmethod
    def parse(cls, body: bytes) -> Request:
        """Raises ValueError."""
        version, what, terminals, _columns, folder, count, *rest = body.decode("utf-8", "replace").split("\0")
        arguments, variables = rest[: int(count)], rest[int(count) : -1]
        environ = dict(variable.split("=", 1) for variable in variables)
        return cls(version, what, terminals[1:2] == "1", folder, tuple(arguments), environ)


def is_ours(request: Request) -> bool:
    """Whether this process would answer as one that the caller starts."""
    said = request.environ
    locale = said.get("LC_ALL") or said.get("LC_CTYPE") or said.get("LANG") or ""
    encoding = locale.partition(".")[2].partition("@")[0].lower().replace("-", "")
    return (
        request.version == __version__
        and request.arguments[:1] != ()
        and request.arguments[0] in FORWARDED_VERBS
        and said.get("HOME") == os.environ.get("HOME")
        and encoding in {"", "utf8"}
    )


def reply(request: Request, data_dir: Path) -> bytes:
    """The frames of the answer."""
    if not is_ours(request):
        return DECLINE
    out, err = _stream(), _stream()
    caller = Caller(
        environ={**request.environ, "KB_DATA_DIR": str(data_dir)},
        folder=request.folder,
        stdout=out,
        stderr=err,
        on_terminal=request.on_terminal,
        started=perf_counter(),
        is_this_process=False,
    )
    with answering_for(caller):
        try:
            code = door.perform(request.arguments)
        except door.REFUSALS as error:
            code = door.refuse(error, request.arguments)
        except door.USAGE:
            return DECLINE
        except Exception as error:  # noqa: BLE001  the caller's own process will say what is wrong
            # Where, not what: a message may hold a document's text.
            print(
                f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}",
                file=sys.stderr,
                flush=True,
            )
            return DECLINE
    frames = [encode_frame(kind, _content(stream)) for kind, stream in ((OUT, out), (ERR, err)) if _content(stream)]
    return b"".join([*frames, encode_frame(EXIT, bytes([code]))])


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", newline="\n", write_through=True)


def _content(stream: io.TextIOWrapper) -> bytes:
    assert isinstance(stream.buffer, io.BytesIO)  # `_stream` made it  # noqa: S101
    return stream.buffer.getvalue()
