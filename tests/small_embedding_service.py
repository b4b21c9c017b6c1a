"""A real HTTP server that makes vectors as Ollama's and OpenAI's services do, on this machine, and goes wrong as it is told to.

A text's vector counts its words by a hash of each: texts that share words are near each other, and the same text has the same
vector in every run.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple
from zlib import crc32

DIM = 16
HTML = b"<!doctype html><title>Sign in</title>"
Answer = Callable[["Handler", bytes], None]
"""What is done with the answer that would be right."""


class Asked(NamedTuple):
    path: str
    authorization: str | None
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return self.body["input"]


class Service(ThreadingHTTPServer):
    daemon_threads, block_on_close = True, False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.seen: list[Asked] = []
        self.answers: list[Answer] = []
        """For the next requests, one each; after them `answer`."""
        self.answer: Answer = plainly
        self.poison: dict[str, int] = {}
        """A request is answered with this status where one of its texts holds this word."""
        self.key = ""
        """Without it in the request the answer is 401."""
        self.dim = DIM
        self.changed: Callable[[str, list[float | None]], list[float | None]] = lambda _, vector: vector
        """What becomes of a text's vector."""

    @property
    def texts(self) -> list[str]:
        """All that were sent so far."""
        return [text for asked in self.seen for text in asked.texts]

    def handle_error(self, request, client_address):
        """Callers that went away are what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append(Asked(self.path, self.headers["Authorization"], asked))
        bad = next(
            (status for text in asked["input"] for word, status in self.server.poison.items() if word in text), 0
        )
        if self.server.key and self.headers["Authorization"] != f"Bearer {self.server.key}":
            said = {"error": {"message": f"Incorrect API key provided: {self.headers['Authorization']}"}}
            plainly(self, json.dumps(said).encode(), 401)
        elif bad:
            plainly(self, b'{"error": {"message": "this text\\nis not to my liking"}}', bad)
        else:
            answer = self.server.answers.pop(0) if self.server.answers else self.server.answer
            answer(self, self._content(asked["input"]))

    def _content(self, texts: list[str]) -> bytes:
        vectors = [self.server.changed(text, vector(text, self.server.dim)) for text in texts]
        if self.path == "/api/embed":
            return json.dumps({"embeddings": vectors}).encode()
        data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(vectors)]
        return json.dumps({"object": "list", "data": data[::-1], "usage": {}}).encode()

    def log_message(self, format, *args):  # noqa: A002  the base class's name
        pass


def vector(text: str, dim: int = DIM) -> list[float | None]:
    counts = [0.25] * dim
    for word in text.lower().split():
        counts[crc32(word.encode()) % dim] += 2.0
    return counts


def unit(text: str, dim: int = DIM) -> list[float]:
    row = vector(text, dim)
    return [number / math.hypot(*row) for number in row]


@contextmanager
def embedding_service() -> Iterator[Service]:
    with Service() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


# Answers


def plainly(handler: Handler, content: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(content)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(content)


def status(code: int, **headers: str) -> Answer:
    return lambda handler, _: plainly(handler, b'{"error": "of the test"}', code, **headers)


def saying(content: bytes) -> Answer:
    return lambda handler, _: plainly(handler, content)


def cut_short(handler: Handler, content: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])


def hanging_up(handler: Handler, _: bytes) -> None:
    handler.connection.close()


def silent(handler: Handler, _: bytes) -> None:
    time.sleep(1)


def dripping(handler: Handler, _: bytes) -> None:
    """A header that does not end, a byte at a time."""
    for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 100:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.05)


def redirecting(url: str) -> Answer:
    return lambda handler, _: plainly(handler, b"", 307, Location=url)
