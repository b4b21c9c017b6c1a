"""How many planted secrets are found, how many lines of real documentation are wrongly called secrets, and at what speed.

    python scripts/eval_scrub.py            ours, and each of these that is installed beside it: detect-secrets, credsweeper
    python scripts/eval_scrub.py --list     what ours calls a secret in ../shared/data/docs/open, all documents read as `kb add` reads them

The planted secrets are `tests/planted.py`'s: made when this runs, one a line, of every kind. The documentation is the text files of
`../shared/data/docs/open`; none of the others looks into PDF or Office files, which --list does. `docs/secrets.md` has the table.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
OPEN = ROOT.parent / "shared" / "data" / "docs" / "open"
TEXT = {".md", ".txt", ".json", ".yaml", ".toml", ".html"}
SEEDS = range(2)
MAX_BYTES = 2_000_000
Scanner = Callable[[str], Iterable[str]]
"""A text to the secrets found in it."""


def ours() -> Scanner:
    from kb.scrub import find

    return lambda text: [text[found.start : found.end] for found in find(text)]


def detect_secrets() -> Scanner:
    """Without its two entropy plugins: line by line these report nearly every word (134,829 hits, recall 98.9 and 93.5 %)."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    from detect_secrets.core.scan import scan_line
    from detect_secrets.settings import get_settings

    names = [kind.__name__ for kind in get_mapping_from_secret_type_to_class().values()]
    get_settings().configure_plugins([{"name": name} for name in names if "Entropy" not in name])

    def scan(text: str) -> Iterator[str]:
        for line in text.split("\n"):
            yield from (found.secret_value or "" for found in scan_line(line))

    return scan


def credsweeper() -> Scanner:
    from credsweeper import CredSweeper
    from credsweeper.file_handler.string_content_provider import StringContentProvider

    sweeper = CredSweeper()
    return lambda text: [
        data.value or ""
        for found in sweeper.file_scan(StringContentProvider(text.split("\n")))
        for data in found.line_data_list
    ]


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--list"]):
        print(__doc__, file=sys.stderr)
        return 2
    if arguments:
        return listed()
    print(f"{'':<16}{'vendor shapes':>15}{'by place':>12}{'hits in':>10}{'lines':>8}{'ns/char':>10}")
    for name, make in (("kb", ours), ("detect_secrets", detect_secrets), ("credsweeper", credsweeper)):
        if name == "kb" or find_spec(name):
            scan = make()
            shapes, places = recall(scan)
            hits, lines, nanoseconds = documentation(scan)
            said = f"{name:<16}{shapes:>15.1%}{places:>12.1%}{hits:>10}{lines:>8}{nanoseconds:>10.0f}"
            print(said, flush=True)
    return 0


def recall(scan: Scanner) -> tuple[float, float]:
    """Of vendors' tokens in prose, and of labelled values, addresses and phrases."""
    from planted import Planter

    found: dict[bool, list[bool]] = {True: [], False: []}
    for seed in SEEDS:
        planter = Planter(seed)
        for is_shape, planted in ((True, planter.of_shape()), (False, planter.others())):
            for one in planted:
                said = [value for value in scan(one.line) if len(value) > 3]
                found[is_shape].append(
                    any(
                        one.secret in value or (value in one.secret and 2 * len(value) > len(one.secret))
                        for value in said
                    )
                )
    shapes, places = (sum(found[kind]) / len(found[kind]) for kind in (True, False))
    return shapes, places


def documentation(scan: Scanner) -> tuple[int, int, float]:
    """Hits in real documentation, its lines, and nanoseconds a character."""
    hits = lines = characters = 0
    spent = 0.0
    for path in sorted(OPEN.rglob("*")):
        if path.suffix in TEXT and path.stat().st_size <= MAX_BYTES:
            text = path.read_text(encoding="utf-8", errors="replace")
            begun = time.process_time()
            hits += sum(1 for _ in scan(text))
            spent += time.process_time() - begun
            lines += text.count("\n") + 1
            characters += len(text)
    return hits, lines, spent / characters * 1e9


def listed() -> int:
    from kb.detect import detect
    from kb.errors import KbError
    from kb.read.kinds import reader
    from kb.scrub import find
    from kb.types import ReadOptions, Source

    lines = hits = 0
    for path in sorted(path for path in OPEN.rglob("*") if path.is_file() and path.name != "manifest.tsv"):
        try:
            doc_type = detect(path).doc_type
            document = reader(doc_type)(Source(path=str(path), doc_type=doc_type), ReadOptions())
        except KbError:
            continue  # some are there to be refused
        text = "\n".join(block.text for block in document.blocks)
        lines += text.count("\n") + 1
        for found in find(text, language=document.language):
            hits += 1
            before = text[max(0, found.start - 40) : found.start].rpartition("\n")[2]
            print(f"{path.relative_to(OPEN)}: {found.kind}: {before}[{text[found.start : found.end]}]", flush=True)
    print(f"{hits} hits in {lines} lines: {hits / lines * 10_000:.2f} in 10,000")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
