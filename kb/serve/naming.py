"""The names that a server goes by, and the pages that may ask it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

EVERYWHERE = frozenset({"0.0.0.0", "[::]", ""})  # noqa: S104  addresses to listen at, and no names of a server
"""What means every address of the machine."""


class Names(msgspec.Struct, frozen=True):
    """Under which names the server may be asked for, and which pages may ask."""

    hosts: frozenset[str]
    """Lower case, without a port; IPv6 addresses in brackets."""
    origins: frozenset[str]

    @classmethod
    def of(cls, host: str, port: int, allowed_hosts: Iterable[str], allowed_origins: Iterable[str]) -> Names:
        own = {"localhost", "127.0.0.1", "[::1]", *(bracketed(name) for name in (host, *allowed_hosts))}
        hosts = frozenset(name.lower() for name in own) - EVERYWHERE
        here = {f"http://{name}:{port}" for name in hosts}
        return cls(hosts, frozenset(here | {origin.lower().rstrip("/") for origin in allowed_origins}))

    def has_host(self, header: str | None) -> bool:
        return header is not None and without_port(header).lower().removesuffix(".") in self.hosts

    def has_origin(self, header: str) -> bool:
        return header.lower() in self.origins


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def without_port(header: str) -> str:
    """`localhost:7700` to `localhost`, `[::1]:7700` to `[::1]`; anything else as it is."""
    return re.sub(r"(?<=[^:]):\d*$", "", header) if not header.endswith("]") else header
