"""What kb is made of and how it is built: `scripts/hurt supply`.

audit      pip-audit over lock/, if it is installed and its database can be reached; else it says that nothing was looked up
licences   each locked package is in docs/licences.md, in the locked version, with a licence
wheels     built twice, from copies of the tree in two folders, the wheel is the same to the byte, the compiled launcher included
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import licences

ROOT = Path(__file__).parents[2]
LOCKS = tuple(sorted((ROOT / "lock").glob("*.txt")))
BUILT_FROM = (
    "kb",
    "index",
    "models",
    "docs",
    "pyproject.toml",
    "hatch_build.py",
    "README.md",
    "LICENSE",
    "SKILL.md",
    ".gitignore",
)


def audit() -> Iterator[str]:
    """What is known to be vulnerable. Prints what could not be looked up."""
    program = shutil.which("pip-audit") or shutil.which("pip-audit", path=str(Path(sys.executable).parent))
    if program is None:
        print("audit: skipped, pip-audit is not installed (pip install pip-audit)")
        return
    for lock in LOCKS:
        command = [program, "--require-hashes", "--disable-pip", "--format", "json", "--requirement", str(lock)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            found = json.loads(done.stdout)["dependencies"]
        except (json.JSONDecodeError, KeyError):
            print(
                f"audit: {lock.name} skipped, pip-audit cannot reach its database: {done.stderr.strip().splitlines()[-1:]}"
            )
            continue
        known = [each for each in found if "skip_reason" not in each]
        said = (
            ""
            if len(known) == len(found)
            else f", {len(found) - len(known)} skipped: its database does not know or cannot be reached for them"
        )
        print(f"audit: {lock.name}: {len(known)} packages looked up{said}")
        yield from (f"{each['name']} {each['version']}: {one['id']}" for each in known for one in each["vulns"])


def unlisted() -> Iterator[str]:
    """Locked packages that docs/licences.md does not have as they are locked."""
    listed = licences.listed()
    for part in licences.PARTS:
        for name, version in licences.locked(part).items():
            there, licence = listed.get(name, ("", "unknown"))
            if licence == "unknown":
                yield f"{name} ({part}) has no licence in docs/licences.md"
            elif not set(version.split(", ")) <= set(there.split(", ")) and part == "core":
                yield f"{name} is locked as {version}, docs/licences.md has {there}: python scripts/licences.py"


def differences(folder: Path) -> Iterator[str]:
    """Of two wheels built from the same files in two places."""
    wheels = [wheel(folder / name) for name in ("one", "another-place")]
    if wheels[0].name != wheels[1].name:
        yield f"{wheels[0].name} and {wheels[1].name}"
    elif wheels[0].read_bytes() != wheels[1].read_bytes():
        yield f"{wheels[0].name} differs when it is built again"


def wheel(place: Path) -> Path:
    place.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
    for name in BUILT_FROM:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=ignored, copy_function=shutil.copyfile)  # times are not kept
        elif source.exists():
            shutil.copyfile(source, place / name)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        "dist",
        ".",
    ]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(command, cwd=place, env=environment, check=True)
    (built,) = (place / "dist").iterdir()
    return built


def main(words: list[str]) -> int:
    if words:
        print(__doc__)
        return 0 if words[0] in {"-h", "--help"} else 2
    with TemporaryDirectory() as folder:
        faults = [*audit(), *unlisted(), *differences(Path(folder))]
    for fault in faults:
        print(f"  FAULT {fault}")
    print(
        f"{sum(len(licences.locked(part)) for part in licences.PARTS)} locked packages, 2 wheels; {len(faults)} faults"
    )
    return 1 if faults else 0
