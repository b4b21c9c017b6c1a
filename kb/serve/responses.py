"""What an operation answers, as it goes out."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from typing import IO, Any
from urllib.parse import quote

import msgspec
from anyio import to_thread
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kb.serve.arguments import JSON
from kb.serve.operations import Original, Png, PrometheusText

PIECE_BYTES = 1 << 18


def response_to(answer: Any, status: int) -> ASGIApp:
    if isinstance(answer, Png):
        return Response(answer.content, status, media_type="image/png")
    if isinstance(answer, PrometheusText):
        return Response(answer.text, status, media_type=answer.media_type)
    if isinstance(answer, Original):
        return Download(answer.name, _copied(answer), status)
    return Response(msgspec.json.encode(answer), status, media_type=JSON)


def _copied(original: Original) -> IO[bytes]:
    """In a file without a name: a client that takes it slowly holds no snapshot of the store."""
    copy = tempfile.TemporaryFile(prefix="kb-")  # noqa: SIM115  `Download` closes it
    try:
        for piece in original.pieces:
            copy.write(piece)
        copy.flush()
    except BaseException:
        copy.close()
        raise
    return copy


class Download:
    """A file to be saved, and not to be looked at as a page of this server."""

    def __init__(self, name: str, file: IO[bytes], status: int) -> None:
        self.file = file
        self.status = status
        self.headers = [
            (b"content-type", b"application/octet-stream"),
            (b"content-disposition", f"attachment; filename*=UTF-8''{quote(name, safe='')}".encode()),
        ]

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        with self.file:
            size = os.fstat(self.file.fileno()).st_size
            headers = [*self.headers, (b"content-length", str(size).encode())]
            await send({"type": "http.response.start", "status": self.status, "headers": headers})
            for start in range(0, size, PIECE_BYTES) if scope["method"] != "HEAD" else ():
                piece = await to_thread.run_sync(partial(os.pread, self.file.fileno(), PIECE_BYTES, start))
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
