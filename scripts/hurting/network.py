"""Run the tests, or any command, with every way off this machine shut, and say who tried one: `scripts/hurt network [WORDS]`.

WORDS go to pytest; none: the whole suite. After `--` they are a command of their own. Each process that is started is watched, through
`network.c`, whoever starts it; what would leave the machine fails as without a network and is noted. A fault is every such try, since
nothing of kb but `kb init` and the services that its user names may look beyond this machine, and a test that fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from hurting.syscalls import why_not

SOURCE = Path(__file__).with_name("network.c")
ROOT = Path(__file__).parents[2]


def watched(command: list[str], folder: Path) -> tuple[int, list[str]]:
    """The exit code of a command, and each try to leave the machine. Its output goes where ours goes."""
    library, log = folder / "network.so", folder / "tries"
    if not library.exists():
        notes = f'-DNOTES="{log}"'
        subprocess.run(["cc", "-O2", "-fPIC", "-shared", notes, "-o", library, SOURCE, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    code = subprocess.run(command, env=environment, check=False).returncode
    return code, log.read_text(errors="replace").splitlines() if log.exists() else []


def main(words: list[str]) -> int:
    if words and words[0] in {"-h", "--help"}:
        print(__doc__)
        return 0
    if reason := why_not():
        print(f"network: {reason}")
        return 1
    command = (
        words[1:] if words[:1] == ["--"] else [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    )
    os.chdir(ROOT)
    with TemporaryDirectory() as folder:
        code, tries = watched(command, Path(folder))
    for line, number in Counter(tries).most_common():
        print(f"  FAULT {number} times: {line}")
    print(f"{' '.join(command[1:3])}: exit code {code}; {len(tries)} tries to leave this machine")
    return 1 if code or tries else 0
