"""What is counted for `/metrics`, and its text, in Prometheus's format 0.0.4.

Labels are names of this program's own: no path, query or text that a client sends becomes one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""As Prometheus's own clients have them."""

Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Written by the one thread that speaks HTTP."""

    def __init__(self) -> None:
        self.running = 0
        """Requests that are being answered now."""
        self.requests: Counter[tuple[str, str, int]] = Counter()
        """By method, path and status."""
        self.errors: Counter[str] = Counter()
        self.seconds: dict[str, list[int]] = {}
        """How many requests of a path took at most each of BOUNDS_S, and how many longer."""
        self.total_seconds: Counter[str] = Counter()

    def record(self, method: str, path: str, status: int, seconds: float, error: str) -> None:
        self.requests[method, path, status] += 1
        self.seconds.setdefault(path, [0] * (len(BOUNDS_S) + 1))[bisect_left(BOUNDS_S, seconds)] += 1
        self.total_seconds[path] += seconds  # type: ignore[assignment]  # a Counter adds what it is given
        if error:
            self.errors[error] += 1

    def text(self, store: Mapping[str, float], store_bytes: Mapping[str, int], jobs: Mapping[str, int]) -> str:
        """All of it; `store`: plain numbers of the store, by what they count."""
        lines = [
            *_family("kb_http_requests_total", "counter", "Requests that were answered.", (
                ((("method", method), ("path", path), ("status", str(status))), count)
                for (method, path, status), count in sorted(self.requests.items())
            )),
            *_family("kb_http_errors_total", "counter", "Requests that were refused or failed, by error.code.", (
                ((("code", code),), count) for code, count in sorted(self.errors.items())
            )),
            *_family("kb_http_requests_running", "gauge", "Requests that are being answered.", [((), self.running)]),
            *self._latencies(),
            *(line for name, count in store.items()
              for line in _family(f"kb_store_{name}", "gauge", f"{name.replace('_', ' ').capitalize()} in the store.", [((), count)])),
            *_family("kb_store_bytes", "gauge", "Size on disk.", (
                ((("part", part),), size) for part, size in store_bytes.items()
            )),
            *_family("kb_jobs", "gauge", "Jobs in each state.", (
                ((("state", state),), count) for state, count in jobs.items()
            )),
        ]  # fmt: skip
        return "\n".join(lines) + "\n"

    def _latencies(self) -> Iterator[str]:
        name = "kb_http_request_seconds"
        yield f"# HELP {name} Seconds from the head of a request to the end of its answer."
        yield f"# TYPE {name} histogram"
        for path, counts in sorted(self.seconds.items()):
            for number, bound in enumerate((*map(str, BOUNDS_S), "+Inf"), start=1):
                yield f'{name}_bucket{{path="{path}",le="{bound}"}} {sum(counts[:number])}'
            yield f'{name}_sum{{path="{path}"}} {self.total_seconds[path]:.6f}'
            yield f'{name}_count{{path="{path}"}} {sum(counts)}'


def _family(name: str, kind: str, said: str, samples: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    yield f"# HELP {name} {said}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        named = ",".join(f'{label}="{text}"' for label, text in labels)
        yield f"{name}{{{named}}} {value}" if named else f"{name} {value}"
