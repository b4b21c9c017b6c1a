"""Complex pages by Docling's StandardPdfPipeline, in a process of its own that is replaced before it grows.

Docling's layout and table models need the `docling` extra (torch) and a folder of models that `kb init --docling`
fetches. Docling keeps memory after each page and may crash, so it runs as `kb.read.pdf.docling_worker`, on ranges of
pages, and this module only talks to it. Nothing here imports Docling, except `prefetch`.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from threading import Timer

import msgspec

from kb.errors import KbError
from kb.read.pdf.parts import PageParts
from kb.types import Block, ReadOptions

ENGINE = "docling"
FALLBACK = "pymupdf"
EXTRA_MODULES = ("docling", "docling_parse", "docling_ibm_models", "torch", "torchvision", "transformers")
LAYOUT_FOLDER = "docling-project--docling-layout-heron"
TABLE_FOLDER = "docling-project--docling-models"
PAGES_A_REQUEST = 8  # a range that Docling holds in memory at once
PAGES_A_WORKER = 100  # before the worker is replaced; Docling's users report gigabytes after some hundred
START_TIMEOUT_S = 120.0  # importing torch and loading the models takes 10-20 s on two cores
PAGE_TIMEOUT_S = 60.0
BOOT = "import sys; sys.path[:0] = [sys.argv[1]]; from kb.read.pdf.docling_worker import main; main(sys.argv[2])"


class DoclingFailed(Exception):
    """Docling could not read the pages; the message says why in a few words. Another engine should."""


class Request(msgspec.Struct, frozen=True):
    """Pages `first` to `last` of a file, counted from 1."""

    path: str
    first: int
    last: int
    password: str | None = None


class Reply(msgspec.Struct, frozen=True):
    blocks: dict[int, list[Block]] = {}
    """Page -> its blocks; a page without text has none."""
    error: str | None = None


def engine_status(options: ReadOptions) -> tuple[str, str]:
    """The engine that will read complex pages, and why; `kb doctor` prints it."""
    if options.pdf_engine == FALLBACK:
        return FALLBACK, "pdf_engine is pymupdf"
    if _missing_modules():
        return FALLBACK, f"the docling extra is not installed (no {', '.join(_missing_modules())})"
    if options.docling_artifacts is None:
        return FALLBACK, "Docling's models have not been fetched"
    folder = Path(options.docling_artifacts)
    if not (folder / LAYOUT_FOLDER / "config.json").is_file():
        return FALLBACK, f"Docling's layout model is not in {folder}"
    if not (folder / TABLE_FOLDER).is_dir():
        return ENGINE, f"its layout model is in {folder}; without its table model, tables are read as text"
    return ENGINE, f"the docling extra is installed and its models are in {folder}"


@cache
def _missing_modules() -> tuple[str, ...]:
    """Asked once: looking through the path takes 0.3 ms, and each document asks."""
    return tuple(name for name in EXTRA_MODULES if find_spec(name) is None)


def prefetch(artifacts_path: Path) -> None:
    """Fetch Docling's layout and table models from the hub: for `kb init --docling`, the only way to the network here."""
    if find_spec("docling") is None or find_spec("torch") is None:
        raise KbError("the docling extra is not installed", "pip install 'kb-search[docling]'")
    from docling.utils.model_downloader import download_models

    try:
        download_models(
            output_dir=artifacts_path,
            progress=True,
            with_code_formula=False,
            with_picture_classifier=False,
            with_rapidocr=False,
        )
    except (OSError, ValueError) as error:  # huggingface_hub's errors are OSErrors or ValueErrors
        raise KbError(f"Docling's models could not be fetched: {error}", "Check the network and try again.") from error


def read_pages(path: str, numbers: Sequence[int], options: ReadOptions) -> list[PageParts]:
    """The given pages, counted from 1 and ascending. Raises DoclingFailed."""
    if options.docling_artifacts is None:
        raise DoclingFailed("its models have not been fetched")
    pages: list[PageParts] = []
    for run in _runs(numbers):
        reply = _worker(options.docling_artifacts).ask(Request(path, run[0], run[-1], options.password))
        pages += [PageParts(number, blocks=tuple(reply.blocks.get(number, ()))) for number in run]
    return pages


def _runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Neighbouring pages together, at most PAGES_A_REQUEST of them."""
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        for start in range(0, len(run), PAGES_A_REQUEST):
            yield run[start : start + PAGES_A_REQUEST]


class Worker:
    """A child process that keeps Docling's models loaded. One question at a time."""

    def __init__(self, artifacts: str, process: subprocess.Popen[bytes]) -> None:
        self.artifacts = artifacts
        self.process = process
        self.pages_left = PAGES_A_WORKER

    @classmethod
    def start(cls, artifacts: str) -> Worker:
        root = str(Path(__file__).parents[3])
        command = [sys.executable, "-I", "-c", BOOT, root, artifacts]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return cls(artifacts, process)

    @property
    def is_usable(self) -> bool:
        return self.process.poll() is None and self.pages_left > 0

    def ask(self, request: Request) -> Reply:
        """Raises DoclingFailed where the worker reports an error, dies, or takes too long."""
        page_count = request.last - request.first + 1
        starting = START_TIMEOUT_S if self.pages_left == PAGES_A_WORKER else 0.0
        self.pages_left -= page_count
        timer = Timer(starting + page_count * PAGE_TIMEOUT_S, self.process.kill)
        timer.start()
        try:
            line = self._exchange(msgspec.json.encode(request))
        finally:
            is_late = not timer.is_alive()
            timer.cancel()
        if not line:
            self.process.wait()
            raise DoclingFailed("it took too long" if is_late else f"its process died, code {self.process.returncode}")
        reply = msgspec.json.decode(line, type=Reply)
        if reply.error:
            raise DoclingFailed(reply.error)
        return reply

    def _exchange(self, request: bytes) -> bytes:
        """The line that answers, empty where the process has died."""
        sink, source = self.process.stdin, self.process.stdout
        if sink is None or source is None:
            return b""
        try:
            sink.write(request + b"\n")
            sink.flush()
        except BrokenPipeError:
            return b""
        return source.readline()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


_workers: list[Worker] = []  # the one of this process, so that documents share the loaded models


def _worker(artifacts: str) -> Worker:
    if _workers and not (_workers[0].is_usable and _workers[0].artifacts == artifacts):
        stop_worker()
    if not _workers:
        _workers.append(Worker.start(artifacts))
    return _workers[0]


@atexit.register
def stop_worker() -> None:
    """End Docling's process, if there is one."""
    while _workers:
        _workers.pop().stop()
