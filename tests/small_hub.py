"""A hub on 127.0.0.1 that serves one folder as one repository: as much of the hub's file API as its library asks for.

GET  /api/models/ORG/NAME[/revision/R]     the commit and the list of files
GET  /api/models/ORG/NAME/tree/R           the list of files with their sizes
HEAD /ORG/NAME/resolve/R/FILE              commit, etag and size
GET  /ORG/NAME/resolve/R/FILE              the file
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar
from urllib.parse import unquote, urlsplit

import msgspec

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(msgspec.Struct):
    url: str
    asked_for: list[str]
    """Files whose content was sent, in order."""


@contextmanager
def small_hub(name: str, folder: Path) -> Iterator[Hub]:
    hub = Hub("", [])
    handler = type("Handler", (_Handler,), {"name": name, "folder": folder, "hub": hub})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        hub.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:  # a thread that still serves would keep pytest from ending
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    name: ClassVar[str]
    folder: ClassVar[Path]
    hub: ClassVar[Hub]

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        api, resolve = f"/api/models/{self.name}", f"/{self.name}/resolve/"
        if path.startswith(f"{api}/tree/"):
            self.send(json.dumps(self.tree()).encode())
        elif path == api or path.startswith(f"{api}/revision/"):
            files = [{"rfilename": file["path"], "size": file["size"]} for file in self.tree()]
            self.send(json.dumps({"id": self.name, "sha": COMMIT, "siblings": files}).encode())
        elif path.startswith(resolve) and (self.folder / path.removeprefix(resolve).partition("/")[2]).is_file():
            self.send_file(path.removeprefix(resolve).partition("/")[2])
        else:
            self.send(b"{}", 404, {"X-Error-Code": "RepoNotFound"})

    def tree(self) -> list[dict[str, object]]:
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return [
            {
                "type": "file",
                "path": path.relative_to(self.folder).as_posix(),
                "size": path.stat().st_size,
                "oid": hashlib.sha1(path.read_bytes()).hexdigest(),
            }
            for path in files
        ]

    def send_file(self, name: str) -> None:
        content = (self.folder / name).read_bytes()
        if self.command == "GET":
            self.hub.asked_for.append(name)
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        self.send(content, 200, {"X-Repo-Commit": COMMIT, "ETag": etag})

    def send(self, content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        pass
