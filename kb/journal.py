"""`ingest-errors.log`: one line a file that could not be read, with time, path and reason. Only ever appended to."""

from __future__ import annotations

from pathlib import Path

from index.store import utc_now

FILE_NAME = "ingest-errors.log"


def write(data_dir: Path, path: str, reason: str) -> None:
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    one_line = " ".join(reason.split())
    with (data_dir / FILE_NAME).open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{utc_now()}\t{path}\t{one_line}\n")
