"""What a request may be refused with: the errors of `kb`, those of HTTP itself, and the status of each.

The body is the one that the command line prints under -j, `kb.wire.Failure`, whose `exit_code` is what `kb` would end with. Not
here: who is refused (`kb.serve.gate`).
"""

from __future__ import annotations

import msgspec

from index.errors import DiskFault, ModelMismatch, StoreDamaged, StoreError, StoreLocked, StoreMissing, StoreTooNew
from kb.errors import BadConfig, BadRequest, Exit, KbError, NotFound, UnreadableFile
from kb.hints import said_at
from kb.wire import ErrorBody, Failure
from models.errors import ModelError


class Refusal(Exception):
    """Something that only HTTP knows. `code` and `status` belong to the class."""

    status = 400

    def __init__(self, message: str, hint: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.headers = headers or {}


class Unauthorized(Refusal):
    """no bearer token where one is needed, or a wrong one"""

    status = 401

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint, {"www-authenticate": 'Bearer realm="kb"'})


class ForeignHost(Refusal):
    """the `Host` header is none of this server's names (a page on the web may have had its name changed to this address)"""

    status = 403


class ForeignOrigin(Refusal):
    """a page of another origin asks"""

    status = 403


class NoSuchPath(Refusal):
    """nothing is at this path"""

    status = 404


class MethodNotAllowed(Refusal):
    """the path is there, and not for this method; the header `Allow` says for which"""

    status = 405


class TooSlow(Refusal):
    """the request came too slowly to be waited for"""

    status = 408


class Conflict(Refusal):
    """it cannot be done to a job in that state, or two parameters contradict each other"""

    status = 409


class TooLarge(Refusal):
    """the body is larger than `serve.max_upload_bytes`, or a body of JSON larger than 1 MB"""

    status = 413


class UnsupportedBody(Refusal):
    """the body is of another media type than this path takes"""

    status = 415


class TooBusy(Refusal):
    """`serve.max_requests` are being answered; the header `Retry-After` says when to come again"""

    status = 503


REFUSALS: tuple[type[Refusal], ...] = (
    Unauthorized, ForeignHost, ForeignOrigin, NoSuchPath, MethodNotAllowed, TooSlow, Conflict,
    TooLarge, UnsupportedBody, TooBusy,
)  # fmt: skip
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (BadRequest, 400),
    (BadConfig, 500),
    (NotFound, 404),
    (UnreadableFile, 422),
    (StoreMissing, 404),
    (StoreLocked, 503),
    (StoreTooNew, 500),
    (StoreDamaged, 500),
    (DiskFault, 507),
    (ModelMismatch, 409),
    (StoreError, 500),
    (ModelError, 503),
    (KbError, 500),
)
"""The first that fits: an error's own class, or one above it."""
TOLD: tuple[type[Exception], ...] = (Refusal, KbError, StoreError, ModelError)
"""What is said as it is; anything else is a fault of our own."""
RETRY_AFTER_S = 1


class Answered(msgspec.Struct, frozen=True):
    """An error as it goes out."""

    status: int
    body: bytes
    headers: dict[str, str]
    code: str


def answer_to(error: Exception) -> Answered:
    """What to say of any error; of a fault of our own only its name, since its message may hold a document's text."""
    code, status = type(error).__name__, status_of(type(error))
    headers: dict[str, str] = {}
    if isinstance(error, Refusal):
        said = ErrorBody(code=code, message=error.message, hint=error.hint, exit_code=Exit.USAGE)
        headers = error.headers
    elif isinstance(error, KbError | StoreError | ModelError):
        hint = said_at("http", error.hint)
        said = ErrorBody(code=code, message=error.message, hint=hint, exit_code=exit_code_of(error))
    else:
        said = ErrorBody(
            code=code, message="a fault of kb itself", hint="its log says where; please report it",
            exit_code=Exit.INTERNAL,
        )  # fmt: skip
    if status == TooBusy.status:
        headers = {"retry-after": str(RETRY_AFTER_S), **headers}
    return Answered(status, msgspec.json.encode(Failure(error=said)), headers, code)


def status_of(kind: type[Exception]) -> int:
    if issubclass(kind, Refusal):
        return kind.status
    return next((status for known, status in STATUSES if issubclass(kind, known)), 500)


def exit_code_of(error: KbError | StoreError | ModelError) -> Exit:
    """What `kb` ends with for this error."""
    if isinstance(error, KbError):
        return error.exit_code
    if isinstance(error, StoreError):
        return Exit.NOT_FOUND if isinstance(error, StoreMissing) else Exit.STORE
    return Exit.MODEL
