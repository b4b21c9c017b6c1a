"""A model from the hub into its default cache. The one module that fetches anything.

Takes the ONNX file, the tokenizer and a few small JSON files of a repository, and nothing else of it. What arrives is found
by `models.locate` and `models.rerankerfiles`; an interrupted fetch continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from models.errors import HubUnreachable, ModelMissing, ModelUnusable
from models.known import DEFAULT_MODEL, KNOWN, resolve
from models.layout import CONFIG_FILES, TOKENIZER_FILE, pick_onnx, read_spec
from models.locate import ModelFiles, hub_cache, is_folder, locate
from models.rerankerfiles import RerankerFiles, full_name, limit_of, locate_reranker

ANSWER_TIMEOUT_S = 10.0  # for the first answer of the hub; with no network this is how long the user waits at most

OnProgress = Callable[[int, int], None]
"""Called with bytes done and bytes in all, from several threads."""


def fetch(name: str, on_progress: OnProgress | None = None) -> ModelFiles:
    """The files of a model, fetched from the hub unless they are local by nature (the default model, a folder).

    Raises HubUnreachable within `ANSWER_TIMEOUT_S` without a network, ModelMissing if the hub has no such repository,
    ModelUnusable if it has no ONNX file or cannot be run here; the latter before anything large is fetched.
    """
    name = resolve(name)
    if name == DEFAULT_MODEL or is_folder(name):
        return locate(name)
    known = KNOWN.get(name)

    def check(folder: Path, onnx_file: str) -> None:
        if known is None:
            read_spec(folder, name, onnx_file)

    _fetch(name, known.onnx_file if known else None, check, on_progress)
    return locate(name)


def fetch_reranker(name: str, on_progress: OnProgress | None = None) -> RerankerFiles:
    """As `fetch`, for a cross-encoder."""
    name = full_name(name)
    if not is_folder(name):
        _fetch(name, None, lambda folder, _: limit_of(folder, name), on_progress)
    return locate_reranker(name)


def _fetch(
    name: str, preferred: str | None, check: Callable[[Path, str], object], on_progress: OnProgress | None
) -> None:
    """The files of a repository. `check` is shown the small ones and the name of the ONNX file before that is fetched."""
    sizes = _list_files(name)
    onnx_file = _choose_onnx(name, sizes, preferred)
    small = [file for file in sizes if file == TOKENIZER_FILE or any(fnmatch(file, each) for each in CONFIG_FILES)]
    weights = [file for file in sizes if file in (onnx_file, f"{onnx_file}_data", f"{onnx_file}.data")]
    report = _Report(on_progress, sum(sizes[file] for file in small + weights))

    check(_download(name, small, report), onnx_file)
    _download(name, weights, report)
    report.finish()


def _list_files(name: str) -> dict[str, int]:
    """The files of a repository and their sizes in bytes."""
    from huggingface_hub import HfApi

    with _hub_errors(name):
        info = HfApi().model_info(name, files_metadata=True, timeout=ANSWER_TIMEOUT_S)
    return {file.rfilename: file.size or 0 for file in info.siblings or []}


def _choose_onnx(name: str, files: dict[str, int], preferred: str | None) -> str:
    onnx_file = pick_onnx(files, preferred)
    if onnx_file is None:
        raise ModelUnusable(
            f"The repository {name} has no ONNX file that could be chosen.",
            f"Name one that has, e.g. BAAI/bge-small-en-v1.5, or export it: optimum-cli export onnx -m {name} FOLDER",
        )
    if TOKENIZER_FILE not in files:
        raise ModelUnusable(
            f"The repository {name} has no {TOKENIZER_FILE}.", "Name a repository with a fast tokenizer."
        )
    return onnx_file


def _download(name: str, files: list[str], report: _Report) -> Path:
    from huggingface_hub import snapshot_download

    with _hub_errors(name):
        # The cache is given, not left to the library's default, so that `locate` looks in the same place.
        folder = snapshot_download(name, cache_dir=hub_cache(), allow_patterns=files, tqdm_class=report.bar())
    return Path(folder)


@contextmanager
def _hub_errors(name: str) -> Iterator[None]:
    """What the hub library raises, in the words of `models.errors`."""
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise ModelUnusable(
            f"The repository {name} is open only to those who accepted its terms.",
            f"Accept them at https://huggingface.co/{name} and set HF_TOKEN.",
        ) from error
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise ModelMissing(f"The hub has no model {name}.", "Check the name; it has the form ORG/NAME.") from error
    except errors.OfflineModeIsEnabled as error:
        raise HubUnreachable("The hub was not asked: HF_HUB_OFFLINE is set.", "Unset it and try again.") from error
    # HTTPError is the root of the HTTP library's own tree, by whichever name the hub library imports that library.
    except (errors.HTTPError, OSError) as error:  # type: ignore[attr-defined]
        raise HubUnreachable(
            f"The model {name} could not be fetched: {_first_line(error)}",
            "Check the network and try again, or name a local folder. Without a network the default model still works.",
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


class _Report:
    """Counts bytes over several downloads and passes them on. Draws nothing."""

    def __init__(self, on_progress: OnProgress | None, total_bytes: int) -> None:
        self._on_progress = on_progress
        self._total_bytes = total_bytes
        self._done_bytes = 0

    def finish(self) -> None:
        """All bytes are here, also those that were in the cache before and were never counted."""
        if self._on_progress is not None:
            self._on_progress(self._total_bytes, self._total_bytes)

    def count(self, size_bytes: int) -> None:
        self._done_bytes = min(self._done_bytes + size_bytes, self._total_bytes)
        if self._on_progress is not None:
            self._on_progress(self._done_bytes, self._total_bytes)

    def bar(self) -> type[Any]:
        """A class that the hub library takes for a tqdm bar: never drawn, its bytes counted here.

        The library opens several bars a download (files; bytes received; since version 2 bytes written); the one that
        is furthest is believed.
        """
        from huggingface_hub.utils.tqdm import tqdm

        report = self
        furthest = 0

        class Bar(tqdm):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                self._counts_bytes = kwargs.get("unit") == "B"
                self._seen_bytes = 0
                super().__init__(*args, **{**kwargs, "disable": True})  # type: ignore[no-untyped-call]

            def update(self, n: float | None = 1) -> None:
                nonlocal furthest
                if not self._counts_bytes:
                    return
                self._seen_bytes += int(n or 0)
                if self._seen_bytes > furthest:
                    report.count(self._seen_bytes - furthest)
                    furthest = self._seen_bytes

        return Bar
