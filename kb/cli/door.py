"""The one place where errors become a line and an exit code, and where a broken pipe is a success."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import typer

from index import heap
from index.errors import StoreError, StoreMissing
from kb.caller import caller
from kb.cli import output
from kb.cli.app import COMMANDS, GROUPS, WRITING, command_line, one_command
from kb.cli.safe import one_line
from kb.errors import Exit, KbError
from kb.wire import ErrorBody, Failure
from models.errors import ModelError

JSON_FLAG = re.compile(r"--json|--format=jsonl?|-[a-mo-su-z]*j[a-z]*")
"""-j may stand among other letters (-rj), but not behind one that takes a value (-n, -t)."""
UsageFault = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""ClickException, of the click that typer carries or brings: where it lives depends on typer's version."""


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code (`kb.errors.Exit`)."""
    # What is not UTF-8 in an argument could be neither looked up nor answered in JSON.
    arguments = [argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for argument in arguments]
    sys.stdout, sys.stderr = (stream or Path(os.devnull).open("w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115  for as long as the process
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal that is not UTF-8 shows `?`
    try:
        code = _answer(arguments)
        sys.stdout.flush()
    except OSError as error:  # standard output takes no more
        # What Python still holds must not be flushed there at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # its reader has seen enough
            return Exit.OK
        return _say(_refusal(error))
    return code


def _answer(arguments: Sequence[str]) -> int:
    """Raises OSError where standard output cannot take the answer."""
    try:
        code = perform(arguments)
        sys.stdout.flush()
    except typer.Exit as error:  # --help, --version
        return error.exit_code
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  none may end in a trace without an answer
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error)
            return Exit.USAGE
        body = INTERRUPTED if _was_interrupted(error) else _refusal(error)
        return _refuse(body, arguments)
    except KeyboardInterrupt:
        return _refuse(INTERRUPTED, arguments)
    return code


USAGE: tuple[type[Exception], ...] = (UsageFault, typer.Exit)
"""What typer raises for a wrong option, and for --help."""
REFUSALS = (KbError, StoreError, ModelError)
"""What a command may answer instead of a result."""


def perform(arguments: Sequence[str]) -> int:
    """Run one command for the caller and return its exit code; errors are raised as they are."""
    output.begin()
    if arguments and arguments[0] in WRITING:
        heap.share_one()
    if arguments and (arguments[0] in COMMANDS or arguments[0] in GROUPS):
        command, name, rest = _one(arguments[0]), f"kb {arguments[0]}", arguments[1:]
    else:
        command, name, rest = typer.main.get_command(command_line()), "kb", arguments
    # Not command.main(), which makes its own of a broken pipe and of Ctrl-C.
    with command.make_context(name, list(rest)) as context:
        return int(command.invoke(context) or Exit.OK)


def refuse(error: Exception, arguments: Sequence[str]) -> int:
    """Tell the caller which of the REFUSALS it is; returns the exit code."""
    return _refuse(_refusal(error), arguments)


@cache
def _one(verb: str) -> Any:
    return typer.main.get_command(one_command(verb))


INTERRUPTED = ErrorBody(
    code="Interrupted",
    message="interrupted",
    hint="what was committed is kept; the same command goes on",
    exit_code=Exit.INTERRUPTED,
)


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it: one that comes while a library loads ends as that library's ImportError."""
    if error is None:
        return False
    return isinstance(error, KeyboardInterrupt) or _was_interrupted(error.__cause__ or error.__context__)


def _refusal(error: Exception) -> ErrorBody:
    """What is to be said of an error; for a fault of our own the traceback goes to standard error."""
    name = type(error).__name__
    if isinstance(error, typer.Abort):
        return INTERRUPTED
    if isinstance(error, UsageFault):
        message: str = error.format_message()  # type: ignore[attr-defined]
        return ErrorBody(code=name, message=message, hint=_usage_hint(error), exit_code=Exit.USAGE)
    if isinstance(error, REFUSALS):
        return ErrorBody(code=name, message=error.message, hint=error.hint, exit_code=_exit_code(error))
    if isinstance(error, OSError) or name == "OperationalError":  # of sqlite3: the disk is full, the file read-only
        hint = "check the path, its permissions and the free space"
        return ErrorBody(code=name, message=str(error), hint=hint, exit_code=Exit.INTERNAL)
    import traceback

    traceback.print_exception(error)
    return ErrorBody(code=name, message=f"{name}: {error}", hint="please report it", exit_code=Exit.INTERNAL)


def _exit_code(error: KbError | StoreError | ModelError) -> Exit:
    if isinstance(error, KbError):
        return error.exit_code
    if isinstance(error, StoreError):
        return Exit.NOT_FOUND if isinstance(error, StoreMissing) else Exit.STORE
    return Exit.MODEL


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether -j was said, found without parsing: the arguments may be what is wrong."""
    before_end = arguments[: arguments.index("--")] if "--" in arguments else arguments
    said = " ".join(before_end)
    return "--format json" in said or any(JSON_FLAG.fullmatch(word) for word in before_end)


def _usage_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    if context is None:
        return "kb --help shows the commands"
    if context.info_name == "kb search":
        return "kb search --help shows the options; after -- all is query: kb search -- apple -banana"
    return f"{context.command_path} --help shows the options"


def _refuse(body: ErrorBody, arguments: Sequence[str]) -> int:
    """In place of the answer, or on standard error where one is wanted that is no JSON, or has been printed."""
    if not wants_json(arguments) or output.has_begun():
        return _say(body)
    asking = caller()
    asking.stdout.buffer.write(msgspec.json.encode(Failure(error=body)) + b"\n")
    asking.stdout.flush()
    return body.exit_code


def _say(body: ErrorBody) -> int:
    line = f"kb: {body.message}" + (f" ({body.hint})" if body.hint else "")
    print(one_line(line), file=caller().stderr)
    return body.exit_code
