"""Who is let in: the outermost layer, before anything of a request is read but its head.

A web page that a user of this machine looks at can send requests to every server here. So the request must be meant for this server
(`Host`: else a page's own name could be made to mean this address), must not come from a page of elsewhere (`Origin`), and whoever wants
to change something has to know the token, which no page does. Beyond this machine all need the token.
"""

from __future__ import annotations

import traceback
from collections.abc import Collection
from time import monotonic

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from kb.serve.exchange import Exchange
from kb.serve.faults import TOLD, ForeignHost, ForeignOrigin, TooBusy, Unauthorized
from kb.serve.log import say
from kb.serve.metrics import Metrics
from kb.serve.naming import Names
from kb.serve.token import Token

READING = frozenset({"GET", "HEAD", "OPTIONS"})
LOGGED_METHODS = READING | {"POST", "PUT", "PATCH", "DELETE"}
PREFLIGHT = [
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"600"),
]
GONE = 499
"""As nginx writes down a client that did not wait for its answer."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    names: Names
    token: Token | None
    """None: there is none, and nothing can be changed."""
    is_local: bool
    """Whether only this machine can reach the server."""
    reading_posts: Collection[str]
    """Paths at which POST only asks."""
    max_requests: int
    slow_client_s: float


class Gate:
    def __init__(self, app: ASGIApp, rules: Rules, metrics: Metrics) -> None:
        self.app = app
        self.rules = rules
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send, self.rules.slow_client_s)
        scope["kb.exchange"] = exchange
        self.metrics.running += 1
        try:
            self._check(exchange)
            if _is_preflight(exchange):
                await exchange.send({"type": "http.response.start", "status": 204, "headers": PREFLIGHT})
                await exchange.send({"type": "http.response.body"})
            else:
                await self.app(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            exchange.status = GONE
        except Exception as error:  # noqa: BLE001  a fault of ours is told too, and ends no server
            if not isinstance(error, TOLD):
                # Where, not what: a message may hold a document's text.
                say("\n".join([type(error).__name__, *traceback.format_tb(error.__traceback__)]).rstrip())
            await exchange.answer(error)
        finally:
            self.metrics.running -= 1
            self._record(exchange)

    def _check(self, exchange: Exchange) -> None:
        """Raises Refusal."""
        names = self.rules.names
        host = exchange.headers.get(b"host", b"").decode("latin-1")
        if not names.has_host(host):
            raise ForeignHost(
                f"this server is not {host[:100]!r}", "say kb serve --allow-host NAME for a name that it has"
            )
        origin = exchange.headers.get(b"origin")
        if origin is not None and not names.has_origin(origin.decode("latin-1")):
            raise ForeignOrigin(
                f"pages of {origin.decode('latin-1')[:100]!r} may not ask",
                "say kb serve --allow-origin ORIGIN for a page of yours",
            )
        exchange.origin = origin
        if self.metrics.running > self.rules.max_requests:
            raise TooBusy(f"{self.rules.max_requests} requests are being answered", "come again in a moment")
        if self._needs_token(exchange):
            self._check_token(exchange.headers.get(b"authorization"))

    def _needs_token(self, exchange: Exchange) -> bool:
        if _is_preflight(exchange):  # with which a browser sends none
            return False
        method, path = exchange.scope["method"], exchange.scope["path"]
        is_reading = method in READING or (method == "POST" and path in self.rules.reading_posts)
        return not (is_reading and self.rules.is_local)

    def _check_token(self, authorization: bytes | None) -> None:
        token = self.rules.token
        if token is None:
            raise Unauthorized(
                "nothing can be changed here: the server has no token", "set KB_SERVE_TOKEN where it runs"
            )
        if not token.is_in(authorization):
            what = "a bearer token is needed" if authorization is None else "this is not the token"
            raise Unauthorized(what, "send Authorization: Bearer TOKEN; kb serve says at its start where it is")

    def _record(self, exchange: Exchange) -> None:
        """Count it, and write a line: nothing of a query, of a path that is none of ours, or of a body."""
        seconds = monotonic() - exchange.started
        method = exchange.scope["method"] if exchange.scope["method"] in LOGGED_METHODS else "other"
        path, status = exchange.operation or "other", exchange.status or GONE
        self.metrics.record(method, path, status, seconds, exchange.error)
        said = f" {exchange.error}" if exchange.error else ""
        say(f"{method} {path} {status}{said} {seconds * 1000:.1f} ms")


def _is_preflight(exchange: Exchange) -> bool:
    """A browser's question whether a page of an allowed origin may send a request. It is told the rules and nothing else."""
    asks = b"access-control-request-method" in exchange.headers
    return asks and exchange.scope["method"] == "OPTIONS" and exchange.origin is not None
