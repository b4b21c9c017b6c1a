"""SKILL.md, from which agents learn `kb`: its text, and the folders where they look for such files.

One file: it lies at the root of the project, and the build puts it into the package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from kb.errors import BadRequest
from kb.wire_skill import SkillAnswer, SkillFile

NAME = "kb"
"""Of the folder, and the `name` in the file: the specification (agentskills.io) wants them to be one."""
FOLDERS = (".claude/skills", ".agents/skills")
"""Where agents look, in a project and in the home directory alike: Claude Code in the first; Codex, Cursor, Gemini CLI, Copilot and others
in the second, which that specification names for all."""


def text() -> str:
    packaged = Path(__file__).with_name("SKILL.md")
    return (packaged if packaged.is_file() else Path(__file__).parents[1] / "SKILL.md").read_text(encoding="utf-8")


def install(folder: Path, *, replaces: bool) -> SkillAnswer:
    """Write it below a project or a home directory. Raises BadRequest, and writes nothing, where one is there that differs."""
    targets = [folder / skills / NAME / "SKILL.md" for skills in FOLDERS]
    states = {path: _status(path) for path in targets}
    differing = [str(path) for path, status in states.items() if status == "replaced"]
    if differing and not replaces:
        raise BadRequest(f"{' and '.join(differing)}: there, and not what this kb would write", "--force replaces it")
    for path, status in states.items():
        if status != "unchanged":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(), encoding="utf-8")
    return SkillAnswer(files=tuple(SkillFile(path=str(path), status=status) for path, status in states.items()))


def _status(path: Path) -> Literal["written", "replaced", "unchanged"]:
    """What becomes of a file, if it may be replaced."""
    if not path.exists():
        return "written"
    return "unchanged" if path.read_bytes() == text().encode() else "replaced"
