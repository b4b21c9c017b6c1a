"""`kb serve` as a process, and a client of it that shows everything that came back."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from running import environment

TOKEN = "a-token-of-these-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
TIMEOUT_S = 60


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Their names in lower case."""
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def refused(self):
        """The status and the error's code; nothing of an error is said without both."""
        error = self.json["error"]
        assert set(error) == {"code", "message", "hint", "exit_code"}
        assert error["message"]
        return self.status, error["code"]


class Server(NamedTuple):
    process: subprocess.Popen
    host: str
    port: int
    log: Path

    def ask(self, method, path, body=None, headers=BEARER, **query) -> Answer:
        """`body`: bytes as they are, anything else as JSON; a query's value may be a list."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        said = dict(headers)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            said["Content-Type"] = "application/json"
        try:
            connection.request(method, path + (f"?{urlencode(query, doseq=True)}" if query else ""), body, said)
            return read(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, headers=BEARER, **query):
        return self.ask("GET", path, headers=headers, **query)

    def upload(self, name, content, **query):
        return self.ask("POST", "/documents", content, name=name, **query)

    def done(self, job_id):
        """The job, when it has ended."""
        until = time.monotonic() + TIMEOUT_S
        while time.monotonic() < until:
            job = self.get(f"/jobs/{job_id}").json
            if job["job"]["ended_at"]:
                return job
            time.sleep(0.05)
        raise AssertionError(job)

    def added(self, name, content, **query):
        """The id of the document that an upload became."""
        [file] = self.done(self.upload(name, content, **query).json["job"]["job_id"])["files"]
        assert file["status"] == "added", file
        return file["document_id"]

    def raw(self, *pieces: bytes, pause_s=0.0) -> Answer:
        """Send bytes as they are, and read what comes until it is whole."""
        with socket.create_connection((self.host, self.port), timeout=TIMEOUT_S) as client:
            for piece in pieces:
                client.sendall(piece)
                time.sleep(pause_s)
            return read_from(client)

    def stop(self, number=signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT_S)


def read(response) -> Answer:
    return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())


def read_from(client: socket.socket) -> Answer:
    response = http.client.HTTPResponse(client)
    response.begin()
    return read(response)


@contextmanager
def serving(data_dir: Path, *arguments: object, cwd: Path, **variables: object) -> Iterator[Server]:
    """A server at a free port, until the `with` ends."""
    log = cwd / f"serve-{time.monotonic_ns()}.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "kb", "serve", "--port", "0", *map(str, arguments)],
            env=environment(data_dir, **{"KB_SERVE_TOKEN": TOKEN, **variables}),
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), log.read_text()
        yield Server(process, "127.0.0.1", int(address.rpartition(":")[2]), log)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
