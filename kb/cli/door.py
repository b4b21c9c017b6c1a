"""The one place where errors become a line and an exit code, and where a broken pipe is a success."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import msgspec
import typer

from index.errors import StoreError, StoreMissing
from kb.cli.app import app
from kb.cli.safe import one_line
from kb.errors import Exit, KbError
from kb.wire import ErrorBody, Failure
from models.errors import ModelError

UsageFault = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""ClickException, of the click that typer carries or brings: where it lives depends on typer's version."""


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code (`kb.errors.Exit`)."""
    try:
        command = typer.main.get_command(app)
        code = command.main(args=list(arguments), prog_name="kb", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone; what Python still holds must not be flushed into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error)
            return Exit.USAGE
        refusal = _refusal(error)
        if refusal is None:
            raise
        return _refuse(refusal, as_json=wants_json(arguments))
    except KeyboardInterrupt:
        return _refuse(INTERRUPTED, as_json=wants_json(arguments))
    return int(code or Exit.OK)


INTERRUPTED = ErrorBody(
    code="Interrupted",
    message="interrupted",
    hint="what was committed is kept; the same command goes on",
    exit_code=Exit.INTERRUPTED,
)


def _refusal(error: Exception) -> ErrorBody | None:
    """What is to be said of an error; None for a fault of our own."""
    name = type(error).__name__
    if isinstance(error, typer.Abort):
        return INTERRUPTED
    if isinstance(error, UsageFault):
        message: str = error.format_message()  # type: ignore[attr-defined]
        return ErrorBody(code=name, message=message, hint=_usage_hint(error), exit_code=Exit.USAGE)
    if isinstance(error, KbError):
        return ErrorBody(code=name, message=error.message, hint=error.hint, exit_code=error.exit_code)
    if isinstance(error, StoreError):
        code = Exit.NOT_FOUND if isinstance(error, StoreMissing) else Exit.STORE
        return ErrorBody(code=name, message=error.message, hint=error.hint, exit_code=code)
    if isinstance(error, ModelError):
        return ErrorBody(code=name, message=error.message, hint=error.hint, exit_code=Exit.MODEL)
    return None


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether -j was said, found without parsing: the arguments may be what is wrong."""
    before_end = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return any(word in {"-j", "--json", "--format=json"} for word in before_end)


def _usage_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path} --help shows the options" if context else "kb --help shows the commands"


def _refuse(body: ErrorBody, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(Failure(error=body)) + b"\n")
        sys.stdout.flush()
    else:
        line = f"kb: {body.message}" + (f" ({body.hint})" if body.hint else "")
        print(one_line(line), file=sys.stderr)
    return body.exit_code
