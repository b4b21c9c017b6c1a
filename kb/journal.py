"""`ingest-errors.log`: one line a file that could not be read, with time, path and reason. Appended to, and rewritten by `kb scrub` alone.

No secrets, whatever the settings say: nobody searches it, and it is shown to others.
"""

from __future__ import annotations

from pathlib import Path

from index.atomic import for_us_alone, replace_file
from index.writer import utc_now
from kb.scrub.documents import scrub_line

FILE_NAME = "ingest-errors.log"


def scrub(data_dir: Path) -> None:
    """Put out of it what an earlier version of kb wrote with a secret in it."""
    path = data_dir / FILE_NAME
    if not path.exists():
        return
    said = path.read_text(encoding="utf-8", errors="surrogateescape")
    clean = scrub_line(said)
    if clean != said:
        replace_file(path, clean.encode("utf-8", "surrogateescape"))


def write(data_dir: Path, path: str, reason: str) -> None:
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    one_line = scrub_line(" ".join(reason.split()))
    with open(data_dir / FILE_NAME, "a", encoding="utf-8", errors="backslashreplace", opener=for_us_alone) as file:
        file.write(f"{utc_now()}\t{path}\t{one_line}\n")
