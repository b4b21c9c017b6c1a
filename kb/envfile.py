"""Keys of remote services: the caller's variable wins, then the file of --env-file, then the one that the settings name.

A file is read each time a key is asked for; nothing of it is kept, printed or put into an environment, and only keys are taken from
it. `$` in a value stands for itself.
"""

from __future__ import annotations

from contextvars import ContextVar
from io import StringIO
from pathlib import Path

from kb.caller import caller
from kb.errors import BadConfig, BadRequest
from kb.preferences import Loaded

MOST_BYTES = 1_000_000
"""Of a file that holds a few names and values; more is another file."""

_files: ContextVar[tuple[Path, ...]] = ContextVar("env_files", default=())


def use(option: str | None, loaded: Loaded, data_dir: Path) -> None:
    """Where this command finds keys; `option`: what --env-file says. Raises BadRequest where there is no such file."""
    files = []
    if option is not None:
        files.append(Path(caller().absolute(option)))
        if not files[0].is_file():
            raise BadRequest(f"--env-file: there is no file {files[0]}", "name a file of lines such as NAME=value")
    if loaded.settings.env_file:
        files.append(_configured(loaded, data_dir))
    _files.set(tuple(files))


def secret(name: str) -> str:
    """The key of this name; empty: nobody says it. Raises BadConfig for a file that cannot be used, and for what cannot be a key."""
    value = caller().environ.get(name, "")
    for path in _files.get():
        value = value or _read(path).get(name, "")
    value = value.strip()
    if not (value.isascii() and value.isprintable()):
        raise BadConfig(f"{name} is no key: it holds more than letters, digits and signs", f"correct {name}")
    return value


def _configured(loaded: Loaded, data_dir: Path) -> Path:
    """Relative to `config.yaml`; from a variable to where the caller stands."""
    path = Path(loaded.settings.env_file).expanduser()
    return data_dir / path if loaded.origins["env_file"] == "config.yaml" else Path(caller().absolute(str(path)))


def _read(path: Path) -> dict[str, str]:
    from dotenv.parser import parse_stream

    try:
        if not path.is_file():
            raise BadConfig(f"env_file: there is no file {path}", "correct the setting env_file, or take it out")
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadConfig(f"{path} cannot be read: {reason}", "let it be a text file that you may read") from error
    if len(text) > MOST_BYTES:
        raise BadConfig(f"{path} is too long for a file of keys", "name a file of lines such as NAME=value")
    bindings = list(parse_stream(StringIO(text)))
    wrong = next((binding for binding in bindings if binding.error), None)
    if wrong is not None:  # its text may be half of a key
        raise BadConfig(f"{path}, line {wrong.original.line}: expected NAME=value", "correct the line, or take it out")
    return {binding.key: binding.value for binding in bindings if binding.key and binding.value}
