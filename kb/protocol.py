"""What `kb` and its daemon say to each other over `<data dir>/run/daemon.sock`.

    request := u32 length of body, body
    body    := strings, each ended by NUL: program version, what ("run", "status" or "stop"), whether stdin, stdout and stderr
               are terminals (three digits, 0 or 1), the terminal's columns ("0": unknown), working directory, number of
               arguments, the arguments without "kb", then NAME=value for each forwarded variable
    reply   := frames: u8 kind, u32 length, payload

Numbers are little endian. kb/launcher.c speaks the same. This is loaded by every call where no compiler built that one, so it
imports little, and no module of ours. What the answer to a request is, the daemon knows.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Sequence

OUT, ERR, EXIT, DECLINED = 1, 2, 3, 4
"""Kinds of frames: bytes for stdout, for stderr, the exit code (one byte), "ask Python" (empty). The last two end a reply."""
SILENCE_S = 5
"""A daemon that is silent for so long is hung: the caller helps itself. Also the longest wait for a connection."""
FORWARDED_VERBS = frozenset({"search", "get", "list", "show"})
FORWARDED_VARIABLES = frozenset(b"HOME LANG LC_ALL LC_CTYPE TERM COLUMNS LINES NO_COLOR FORCE_COLOR TZ".split())
"""And all that begin with KB_."""
FIRST_BYTES = 1 << 16
HEADER = struct.Struct("<BI")
LENGTH = struct.Struct("<I")

Frame = tuple[int, bytes]
"""Kind and payload."""


class Address:
    """The socket in this folder, as a path that fits into a socket address while the `with` lasts.

    There it has room for 108 bytes on Linux, 104 elsewhere; a longer path goes through an open folder, which only Linux can.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.opened: int | None = None

    def __enter__(self) -> str:
        path = f"{self.folder}/daemon.sock"
        if len(os.fsencode(path)) < (108 if sys.platform == "linux" else 104):
            return path
        if sys.platform != "linux":
            raise OSError(f"too long for a socket: {path}")
        self.opened = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
        return f"/proc/self/fd/{self.opened}/daemon.sock"

    def __exit__(self, *_: object) -> None:
        if self.opened is not None:
            os.close(self.opened)


def ask(folder: str, request: bytes, silence_s: float = SILENCE_S) -> list[Frame] | None:
    """The daemon's whole answer, ended by EXIT; None: it has none, or is not ours, hangs, or talks nonsense."""
    try:
        with Address(folder) as address, socket.socket(socket.AF_UNIX) as daemon:
            limit_silence(daemon, silence_s)
            daemon.connect(address)
            if not same_user(daemon):
                return None
            daemon.sendall(request)
            frames = read_frames(daemon)
    except (OSError, ValueError, EOFError):
        return None
    return frames if frames[-1][0] == EXIT else None


def limit_silence(connection: socket.socket, silence_s: float = SILENCE_S) -> None:
    """Let nothing on this connection block for longer than this; then OSError is raised.

    Not settimeout(): that connects without blocking, and then fails where the daemon has other calls to accept first.
    """
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", int(silence_s), int(silence_s % 1 * 1e6)))


def same_user(connection: socket.socket) -> bool:
    """Whether the process at the other end belongs to the user of this one."""
    if sys.platform == "linux":
        uid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    else:  # SOL_LOCAL, LOCAL_PEERCRED: struct xucred begins with a version and the uid
        uid = struct.unpack_from("II", connection.getsockopt(0, 1, 76))[1]
    return bool(uid == os.geteuid())


def encode_request(version: str, what: str, arguments: Sequence[str]) -> bytes:
    """A request of this process: its terminals, working directory and environment are told too."""
    terminals = "".join("01"[os.isatty(stream)] for stream in (0, 1, 2))
    columns = os.get_terminal_size(1).columns if os.isatty(1) else 0
    head = (version, what, terminals, str(columns), os.getcwd(), str(len(arguments)))  # noqa: PTH109  pathlib is slow to load
    variables = (
        name + b"=" + value
        for name, value in os.environb.items()
        if name.startswith(b"KB_") or name in FORWARDED_VARIABLES
    )
    strings = (*map(os.fsencode, (*head, *arguments)), *variables)
    body = b"".join(string + b"\0" for string in strings)
    return LENGTH.pack(len(body)) + body


def encode_frame(kind: int, payload: bytes) -> bytes:
    return HEADER.pack(kind, len(payload)) + payload


def read_frames(connection: socket.socket) -> list[Frame]:
    """The frames of one reply; the last is EXIT or DECLINED. Raises EOFError, or ValueError for anything else than frames."""
    frames = []
    kind = OUT
    while kind not in {EXIT, DECLINED}:
        kind, size = HEADER.unpack(receive(connection, HEADER.size))
        if kind not in {OUT, ERR} and (kind, size) not in {(EXIT, 1), (DECLINED, 0)}:
            raise ValueError(f"no frame of a reply: kind {kind}, {size} bytes")
        frames.append((kind, receive(connection, size)))
    return frames


def receive_counted(connection: socket.socket, most_bytes: int) -> bytes | None:
    """A body with its length in front, nearly always in one read; None where it is longer than it may be. Raises EOFError."""
    first = connection.recv(FIRST_BYTES)
    first += receive(connection, max(0, LENGTH.size - len(first)))
    (size,) = LENGTH.unpack_from(first)
    body = first[LENGTH.size :]
    return body + receive(connection, size - len(body)) if size <= most_bytes else None


def receive(connection: socket.socket, size: int) -> bytes:
    """Exactly so many bytes. Raises EOFError where the connection ends before."""
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
