"""What can go wrong, and the exit code each fault ends with.

    KbError                     something the user can act on; always carries a hint
    ├── BadRequest              the request itself is wrong                              exit 2
    ├── BadConfig               config.yaml or a KB_* variable cannot be used            exit 2
    ├── CannotListen            `kb serve` has no such host, or its port is taken        exit 2
    ├── NotFound                no such document, chunk, tag or file                     exit 3
    ├── UnreadableFile          the file cannot be read                                  exit 4
    │   ├── UnsupportedType     no reader for this kind of file                          exit 4
    │   ├── EncryptedFile       needs a password                                         exit 4
    │   └── NoText              was read, and holds no text                              exit 4
    ├── ClusterFailed           the workers of `kb add --cluster` cannot be reached, or none fits  exit 1
    ├── DaemonFailed            the daemon does not start, or does not end               exit 1
    └── PartialFailure          some files failed, the others are in                     exit 7

`index` and `models` raise their own small trees (`index.errors`, `models.errors`), which know nothing of this one. The
command line catches all three in one place.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of `kb`. An empty result is a success."""

    OK = 0
    INTERNAL = 1
    """A fault of kb itself; the traceback is in `ingest-errors.log` or on stderr."""
    USAGE = 2
    """Unknown option, bad value, or a configuration that cannot be used."""
    NOT_FOUND = 3
    """No such document, chunk, tag, file or store."""
    UNREADABLE = 4
    """The one file asked for cannot be read (type, encryption, damage, no text)."""
    STORE = 5
    """The store cannot be used: locked, newer than the program, built with another model; or the disk is full or fails."""
    MODEL = 6
    """The model is missing or damaged."""
    PARTIAL = 7
    """Some files failed, or some checks did; the rest was done."""
    OUT_OF_STEP = 8
    """Files of a source are not what the store remembers (`kb scan`), or `kb sync` left it so, since too much was gone."""
    INTERRUPTED = 130
    """Ctrl-C, or SIGTERM. Everything committed so far is kept."""


class KbError(Exception):
    """One line that says what is wrong, and one that says what to do."""

    exit_code = Exit.INTERNAL

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadRequest(KbError):
    exit_code = Exit.USAGE


class BadConfig(KbError):
    exit_code = Exit.USAGE


class CannotListen(KbError):
    exit_code = Exit.USAGE


class NotFound(KbError):
    exit_code = Exit.NOT_FOUND


class UnreadableFile(KbError):
    exit_code = Exit.UNREADABLE


class UnsupportedType(UnreadableFile):
    pass


class EncryptedFile(UnreadableFile):
    pass


class NoText(UnreadableFile):
    pass


class ClusterFailed(KbError):
    pass


class DaemonFailed(KbError):
    pass


class PartialFailure(KbError):
    exit_code = Exit.PARTIAL
