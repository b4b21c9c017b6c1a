"""docs/licences.md: under which licence each locked dependency is, as its own metadata says: scripts/licences.py

The packages must be installed here; of those that only other systems need it keeps what the page says, or NOT_SAID.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
PARTS = {
    "core": "What `pip install kb-search` brings",
    "build": "What builds it",
    "test": "What its tests need besides",
    "check": "What `scripts/check` needs besides",
}
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
EMPTY = "(an empty package that pymupdf requires)"
NOT_SAID = {"pymupdf-layout": EMPTY, "pymupdf4llm": EMPTY, "colorama": "BSD-3-Clause", "pywin32": "PSF-2.0"}
"""Whose metadata says nothing, and what only other systems install."""
LONGEST = 100
"""A longer licence field is the text of the licence, not its name."""
HEAD = """# Licences

kb-search is AGPL-3.0-or-later (LICENSE). Its locked dependencies (`lock/`), each under the licence that its own metadata names. Made by
`python scripts/licences.py`; a test fails where a locked package is missing or has no licence here.
"""


def locked(part: str) -> dict[str, str]:
    """Name -> version, or versions where systems differ."""
    found: dict[str, str] = {}
    for name, version in LOCKED.findall((ROOT / "lock" / f"{part}.txt").read_text()):
        found[name] = f"{found[name]}, {version}" if name in found else version
    return found


def listed() -> dict[str, tuple[str, str]]:
    """Name -> version and licence, as the page says."""
    rows = ROW.findall(PAGE.read_text()) if PAGE.exists() else []
    return {name: (version, licence) for name, version, licence in rows if name not in {"package", "---"}}


def licence_of(name: str, before: str | None) -> str:
    try:
        said = metadata(name)
    except PackageNotFoundError:
        return NOT_SAID.get(name) or before or "unknown"
    if expression := "".join(said.get_all("License-Expression") or ()):
        return expression
    classifiers = [
        line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or () if line.startswith("License ::")
    ]
    names = [licence for licence in classifiers if licence != "OSI Approved"]
    field = " ".join("".join(said.get_all("License") or ()).split())
    if field and len(field) <= LONGEST and field.upper() != "UNKNOWN":
        return field
    return "; ".join(names) or NOT_SAID.get(name) or "unknown"


def page() -> str:
    before, seen, parts = listed(), set[str](), [HEAD]
    for part, title in PARTS.items():
        rows = {name: version for name, version in locked(part).items() if name not in seen}
        seen |= rows.keys()
        parts.append(f"## {title}\n\n| package | version | licence |\n|---|---|---|")
        parts[-1] += "".join(
            f"\n| {name} | {version} | {licence_of(name, before.get(name, ('', None))[1]).replace('|', '/')} |"
            for name, version in sorted(rows.items())
        )
    return "\n\n".join(part.strip() for part in parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
