"""One POST of JSON to a service, on this machine or another: bounded in time and in bytes.

No redirect and no proxy: what is sent goes where the address says, or nowhere. No second try, and no judgement of what came
back. A name is looked up without a time limit of ours.
"""

from __future__ import annotations

import http.client
import socket
from contextlib import suppress
from threading import Timer
from time import perf_counter
from urllib.parse import SplitResult, urlsplit

import msgspec

BYTES_A_READ = 65_536
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    reason: str
    content: bytes
    retry_after: str
    """The header as it came; empty: there was none."""


class AnswerTooLong(http.client.HTTPException):
    """More than anybody needs, so reading it was given up."""


def post(url: SplitResult, body: bytes, *, key: str, timeout_s: float, most_bytes: int) -> Reply:
    """`key`: of the bearer, empty: none is sent.

    Raises OSError, TimeoutError among them, and http.client.HTTPException: IncompleteRead where the answer breaks off.
    """
    until = perf_counter() + timeout_s
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=timeout_s)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        connection.connect()
        # The socket's own time limit begins anew with each byte, and a slow sender may send many.
        end = Timer(until - perf_counter(), _hang_up, [connection.sock])
        end.daemon = True
        end.start()
        try:
            connection.request("POST", f"{url.path}?{url.query}" if url.query else url.path, body, headers)
            response = connection.getresponse()
            content = _read(response, most_bytes)
        finally:
            end.cancel()
        if perf_counter() >= until:  # hung up on: this may be a part
            raise TimeoutError
    except (OSError, http.client.HTTPException) as error:
        if perf_counter() >= until:
            raise TimeoutError(f"timed out: its answer takes too long (over {timeout_s:g} s)") from error
        raise
    finally:
        connection.close()
    retry_after = response.headers.get("Retry-After", "")
    return Reply(status=response.status, reason=response.reason, content=content, retry_after=retry_after)


def _read(response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    content = b""
    while part := response.read1(BYTES_A_READ):
        content += part
        if len(content) > most_bytes:
            raise AnswerTooLong(f"its answer is too long (over {most_bytes} bytes)")
    if response.length:
        raise http.client.IncompleteRead(content, response.length)
    return content


def _hang_up(connected: socket.socket) -> None:
    with suppress(OSError):  # it has ended by itself
        socket.socket.shutdown(connected, socket.SHUT_RDWR)  # past TLS, which would wait for the other side


def address(url: str) -> SplitResult | None:
    """The parts of an address of http or https; None where it is none, or carries a name or password of its own."""
    if not (url.isascii() and url.isprintable()) or " " in url:  # what cannot be the line of a request
        return None
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:  # a port that is no number
        return None
    return parts if is_one and "@" not in parts.netloc else None


def is_private(url: SplitResult) -> bool:
    """Whether nobody on the way can read what is sent: it is encrypted, or stays on this machine."""
    return url.scheme == "https" or url.hostname in _LOOPBACK


def shown(url: str) -> str:
    """An address as it may be printed: without a name, a password and whatever follows `?`, which may be a key."""
    start, slashes, rest = url.partition("?")[0].rpartition("//")
    host, slash, path = rest.partition("/")
    return f"{start}{slashes}{host.rpartition('@')[2]}{slash}{path}"
