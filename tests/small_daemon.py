"""Something that speaks for the daemon, as kb/protocol.py describes it, and knows no command: it hears a request and says bytes."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from kb.protocol import Address


class Request(NamedTuple):
    version: str
    what: str
    terminals: str
    columns: str
    folder: str
    arguments: list[bytes]
    variables: dict[bytes, bytes]


Respond = Callable[[socket.socket, Request], None]


def says(*parts: bytes) -> Respond:
    """Answer every request with these bytes."""
    return lambda connection, _: connection.sendall(b"".join(parts))


def out(content: bytes) -> bytes:
    return struct.pack("<BI", 1, len(content)) + content


def err(content: bytes) -> bytes:
    return struct.pack("<BI", 2, len(content)) + content


def end(code: int = 0) -> bytes:
    return struct.pack("<BIB", 3, 1, code)


DECLINED = struct.pack("<BI", 4, 0)


@contextmanager
def listening(data_dir: Path, backlog: int = 100) -> Iterator[socket.socket]:
    """A socket at its place that nobody serves yet."""
    run = data_dir / "run"
    run.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as door:
        with Address(str(run)) as address:
            door.bind(address)
        door.listen(backlog)
        yield door


@contextmanager
def small_daemon(data_dir: Path, respond: Respond) -> Iterator[list[Request]]:
    """Serve while the `with` lasts; yields the requests as they come."""
    requests: list[Request] = []
    with listening(data_dir) as door:
        server = threading.Thread(target=_serve, args=(door, respond, requests))
        server.start()
        try:
            yield requests
        finally:
            door.shutdown(socket.SHUT_RDWR)
            server.join()


def _serve(door: socket.socket, respond: Respond, requests: list[Request]) -> None:
    with suppress(OSError):  # how accept() ends when the door is shut, and respond() where the caller has gone
        while True:
            connection, _ = door.accept()
            with connection:
                size = struct.unpack("<I", connection.recv(4, socket.MSG_WAITALL))[0]
                requests.append(decode(connection.recv(size, socket.MSG_WAITALL)))
                respond(connection, requests[-1])


def decode(body: bytes) -> Request:
    *strings, nothing = body.split(b"\0")
    if nothing:
        raise ValueError("the last string is not ended")
    version, what, terminals, columns, folder, count = (string.decode() for string in strings[:6])
    arguments, variables = strings[6 : 6 + int(count)], strings[6 + int(count) :]
    pairs = [variable.partition(b"=")[::2] for variable in variables]
    return Request(version, what, terminals, columns, folder, arguments, dict(pairs))
