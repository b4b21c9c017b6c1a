"""The life of `kb serve`: a socket, a token, the application, the worker of the queue, and a gentle end.

On SIGTERM or Ctrl-C what is being answered is answered, and the worker ends at its next file; a job that is cut off goes on at the next
start. The log is standard error: a line a request, without anything that was asked or answered.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
from contextvars import copy_context
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Thread

import msgspec
import uvicorn

from kb import KnowledgeBase, worker
from kb.errors import BadConfig, CannotListen
from kb.serve import token as tokens
from kb.serve.connection import Connection
from kb.serve.door import routes
from kb.serve.gate import Gate, Rules
from kb.serve.log import say
from kb.serve.metrics import Metrics
from kb.serve.naming import EVERYWHERE, Names, bracketed
from kb.serve.openapi import schema
from kb.serve.operations import Served
from kb.serve.table import OPERATIONS
from kb.serve.token import Token
from kb.settings import SERVE_TOKEN, Settings

BACKLOG = 128
IDLE_S = 5
"""For which a connection is kept for the client's next request."""
LAST_ANSWERS_S = 10
"""For requests that are being answered when the server is to end."""
LAST_FILE_S = 15.0
"""For the file that the worker is at then; it is read again at the next start where that is not enough."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    host: str
    port: int
    """0: any that is free."""
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()


def serve(data_dir: Path, settings: Settings, wanted: Wanted) -> None:
    """Serve until the process is told to end. Raises CannotListen, BadConfig."""
    with listener(wanted) as door, KnowledgeBase.open(data_dir) as knowledge:
        host, port = door.getsockname()[:2]
        is_local = ip_address(host).is_loopback
        token = _token(data_dir, is_local=is_local)
        names = Names.of(wanted.host, port, wanted.allowed_hosts, wanted.allowed_origins)
        app = _application(knowledge, settings, names, token, is_local=is_local)
        server = _server(app, settings)
        ending = Event()
        working = _start_worker(data_dir, settings, ending)
        _greet(wanted, port, token)
        gc.freeze()  # what is loaded stays: collections need not look at it again
        server.run([door])
        ending.set()
        working.join(LAST_FILE_S)
        if working.is_alive():
            say("a file is still being read: the next start goes on with it")
            os._exit(0)


def listener(wanted: Wanted) -> socket.socket:
    """A socket that listens already. Raises CannotListen."""
    where = f"{bracketed(wanted.host)}:{wanted.port}"
    try:
        found = socket.getaddrinfo(wanted.host, wanted.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except (socket.gaierror, UnicodeError):
        raise CannotListen(
            f"there is no host {wanted.host!r}", "say --host 127.0.0.1, or an address of this machine"
        ) from None
    except OSError as error:
        raise CannotListen(
            f"cannot listen at {where}: {os.strerror(error.errno or 0)}", "say another --host or --port"
        ) from None


def _token(data_dir: Path, *, is_local: bool) -> Token | None:
    """None: none can be made, and only this machine asks. Raises BadConfig."""
    try:
        return tokens.of(data_dir)
    except OSError as error:
        reason = f"no token can be made in {data_dir}: {error.strerror}"
        if not is_local:
            raise BadConfig(reason, f"set {SERVE_TOKEN}; beyond this machine nothing is served without") from error
        say(f"{reason}; nothing can be changed (set {SERVE_TOKEN})")
        return None


def _application(
    knowledge: KnowledgeBase, settings: Settings, names: Names, token: Token | None, *, is_local: bool
) -> Gate:
    metrics = Metrics()
    served = Served(knowledge=knowledge, settings=settings, metrics=metrics, describe=schema)
    rules = Rules(
        names=names, token=token, is_local=is_local, max_requests=settings.serve.max_requests,
        slow_client_s=settings.serve.slow_client_s,
        reading_posts=frozenset(one.path for one in OPERATIONS if one.method == "POST" and not one.changes),
    )  # fmt: skip
    return Gate(routes(OPERATIONS, served), rules, metrics)


def _server(app: Gate, settings: Settings) -> uvicorn.Server:
    """One that SIGTERM and SIGINT end from now on, not only once it runs."""
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())  # it would print errors, and texts in them
    logging.getLogger("uvicorn").propagate = False
    Connection.slow_client_s = settings.serve.slow_client_s
    config = uvicorn.Config(
        app, http=Connection, ws="none", loop="asyncio", lifespan="off", log_config=None, access_log=False,
        proxy_headers=False, server_header=False, backlog=BACKLOG, timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=LAST_ANSWERS_S,
    )  # fmt: skip
    server = uvicorn.Server(config)
    for number in (
        signal.SIGTERM,
        signal.SIGINT,
    ):  # uvicorn raises them once more at its end: nothing is left to do then
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    return server


def _start_worker(data_dir: Path, settings: Settings, ending: Event) -> Thread:
    def work() -> None:
        worker.run(data_dir, settings, until="told", ending=ending, patient=True)

    thread = Thread(target=copy_context().run, args=(work,), name="jobs", daemon=True)
    thread.start()
    return thread


def _greet(wanted: Wanted, port: int, token: Token | None) -> None:
    """The address on standard output, for whoever started it; the rest is talk."""
    host = bracketed(wanted.host)
    print(f"http://{host}:{port}", flush=True)
    if token is not None:
        say(f"the token is in {token.place}")
    if host in EVERYWHERE and not wanted.allowed_hosts:
        say("only asked as localhost it answers: say --allow-host NAME for a name that others call it by")
