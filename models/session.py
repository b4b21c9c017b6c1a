"""What every model that we run has in common: the session's options, batches of like length, padding.

Does not open a session: what a graph is handed and what it gives differ (`models.embedder`, `models.reranker`).
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from models.errors import ModelUnusable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import SessionOptions

MAX_BATCH_TOKENS = 1024
"""What a batch may hold with its padding; `batch_size` bounds it for short texts only. Larger is slower and takes more memory:
all-MiniLM on 2 busy cores, texts of 8 and 25 words, 1024 against 4096 tokens a batch: 1.3-1.5 times the texts a second; texts of
200 words, peak memory of the process at 256, 1024, 4096 and 16384: 266, 373, 816 and 1555 MB."""
SPIN_US = 100
"""Longer than any wait inside a query on an idle machine, short enough not to take a busy one from those who have work: there
a query took 55 ms with no limit, 47 with this one, 31 asleep (docs/embedding_speed.md)."""

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def usable_cores() -> int:
    """The cores this process may run on, which in a container or under taskset are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def padded(tokens: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids and mask, int64 (texts, tokens of the longest). Padding is masked, so its id does not matter."""
    import numpy as np

    ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask


def batches(lengths: list[int], batch_size: int) -> list[list[int]]:
    """Indices grouped longest first, so that a batch holds texts of like length and little padding is computed."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    found = []
    while order:
        size = max(1, min(batch_size, MAX_BATCH_TOKENS // max(1, lengths[order[0]])))
        found.append(order[:size])
        order = order[size:]
    return found


@contextmanager
def on_first_core() -> Iterator[None]:
    """Hold this thread on the core that `options_for` leaves to it, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def options_for(threads: int, *, spinning: bool) -> SessionOptions:
    """Threads that spin have a core each, the caller has the first (`on_first_core`)."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if spinning and hasattr(os, "sched_getaffinity"):
        others = sorted(os.sched_getaffinity(0))[1:threads]
        if others and len(others) == threads - 1:
            places = ";".join(str(core + 1) for core in others)
            options.add_session_config_entry("session.intra_op_thread_affinities", places)
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only: warnings about other people's graphs help nobody
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
    options.add_session_config_entry("session.force_spinning_stop", "1")  # when a call ends
    options.add_session_config_entry("session.intra_op.spin_duration_us", str(SPIN_US))
    return options


def providers(device: str) -> list[str]:
    """What runs a model, the first that can. `device`: cpu, cuda, or auto, which is cuda where onnxruntime has it.

    Raises ModelUnusable. What CUDA gives was not measured by this project, nor compared.
    """
    import onnxruntime

    has_cuda = CUDA in onnxruntime.get_available_providers()
    if device == "cuda" and not has_cuda:
        raise ModelUnusable(
            "embedding.device is cuda, and the installed onnxruntime cannot use it.",
            "Install onnxruntime-gpu in its place, or set embedding.device to auto.",
        )
    return [CUDA, CPU] if has_cuda and device != "cpu" else [CPU]


def quantises_activations(path: Path) -> bool:
    """Searches the file for the operator's name: 8 ms for 23 MB; onnxruntime does not tell the operators of a session."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"DynamicQuantizeLinear") >= 0
