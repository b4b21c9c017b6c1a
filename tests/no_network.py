"""Nothing in this process leaves the machine: a test that would fails where it tries (an audit hook, which cannot be taken off).

Only of the process that calls `forbid`; `scripts/hurt network` watches those that it starts as well.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import Any

LOCAL = {"", "localhost", "localhost.localdomain", socket.gethostname()}
NOWHERE = (".invalid", ".test", ".example")  # RFC 2606: names that stand for nothing, for tests


class LeavesTheMachine(Exception):
    """A socket was to go beyond this machine."""


def forbid() -> None:
    sys.addaudithook(_look)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        address = arguments[1]
        if isinstance(address, tuple) and not _is_here(address[0]):
            raise LeavesTheMachine(f"{event} {address}")
    elif event in {"socket.getaddrinfo", "socket.gethostbyname"}:
        name = arguments[0]
        name = name.decode() if isinstance(name, bytes) else name
        if name is not None and not _is_here(name) and not name.endswith(NOWHERE):
            raise LeavesTheMachine(f"{event} {name}")


def _is_here(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host in LOCAL
    return address.is_loopback or address.is_unspecified
