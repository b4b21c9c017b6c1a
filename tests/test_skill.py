"""SKILL.md: every command line in it runs, every field and option in it exists, and it is put where agents look."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pdf_files
import pytest
import yaml
from running import here, write

from kb.cli.grammar import grammar
from kb.read.kinds import KINDS

ROOT = Path(__file__).parents[1]
SKILL = (ROOT / "SKILL.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", SKILL, re.MULTILINE | re.DOTALL)
SPANS = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", SKILL, flags=re.MULTILINE | re.DOTALL))
LINES = [
    *(line.partition("  #")[0].strip() for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()),
    *(span for span in SPANS if span.startswith("kb ") and span != "kb mcp"),
]
"""Every command line, of blocks and within sentences."""


@pytest.fixture(scope="module")
def user(tmp_path_factory, tiny_folder):
    """Somebody's home, with a store that has what SKILL.md names: chunk 12, a fourth page of document 2, a store `work`."""
    home = tmp_path_factory.mktemp("home")
    handbook = "\n\n".join(
        f"# Part {part}\n\nThe spare key {part} is red.\n\nThe roof is huge." for part in range(1, 15)
    )
    write(home, {"handbook.md": handbook, "projects/plan.md": "# Plan\n\nA green roof."})
    pages = pdf_files.new()
    for colour in ("red", "green", "blue", "brown", "black"):
        pdf_files.page_of(pages, f"All that is {colour} hangs in a {colour} shed.", f"Nothing {colour} is huge.")
    pdf_files.save(pages, home / "manual.pdf")

    def run(*arguments):
        return here(home, *arguments, HOME=home, KB_MODEL=tiny_folder, KB_WORKERS=1)

    assert run("add", "handbook.md", "--tag", "work").code == 0
    assert run("add", "manual.pdf").code == 0
    assert run("add", "--note", "red", "--store", "work").code == 0
    assert run("source", "add", "projects").code == 0
    assert run("sync").code == 0
    return run


@pytest.mark.parametrize("line", dict.fromkeys(LINES))
def test_every_command_line_of_it_runs(line, user):
    _, *arguments = shlex.split(line)

    ran = user(*arguments)

    assert (ran.code, ran.stdout != "") == (0, True), ran.stderr
    if "-j" in arguments:
        assert "error" not in ran.json


def test_there_are_command_lines_of_every_part():
    verbs = {shlex.split(line)[1] for line in LINES}

    assert verbs >= {
        "search",
        "get",
        "similar",
        "view",
        "list",
        "show",
        "add",
        "status",
        "scan",
        "sync",
        "tag",
        "source",
    }


def test_every_option_that_it_names_alone_is_one_of_search_or_add():
    known = {
        name
        for command in grammar().walk()
        for option in command.options
        for name in option.names
        if command.path in {("search",), ("add",)}
    }
    named = [span.split()[0] for span in SPANS if span.startswith("-") and span != "-word"]

    assert named
    assert set(named) <= known


def test_the_answer_that_it_shows_has_the_fields_of_a_real_one(user):
    shown = json.loads(next(block for kind, block in BLOCKS if kind == "json"))
    real = user("search", "-j", "spare key").json

    assert missing(shown, real) == []


def test_it_names_every_type_of_documents():
    (named,) = re.findall(r"`--type` \(([a-z ]+), and data: ([A-Z, ]+)\)", SKILL)

    assert {*named[0].split(), "data"} == {*(kind.doc_type for kind in KINDS), "note"}
    (data,) = [kind.extensions for kind in KINDS if kind.doc_type == "data"]
    assert {f".{form.lower()}" for form in named[1].split(", ")} <= {*data}


@pytest.mark.parametrize(("others", "code"), [((), 4), (("good.md",), 7)])
def test_adding_what_cannot_be_read_is_an_answer(others, code, tmp_path, tiny_folder):
    write(tmp_path, {"torn.pdf": "no more", "good.md": "red"})

    ran = here(tmp_path, "add", "torn.pdf", *others, "-j", KB_MODEL=tiny_folder)

    assert (ran.code, ran.json["failed"], ran.json["documents"][0]["status"]) == (code, 1, "failed")


def test_the_outer_warnings_are_those_of_all(user):
    answer = user("search", "-j", "key xqzvblorp", "--also", "roof wugtev").json

    assert answer["warnings"] == [
        f'"{one["query"]}": {warning}' for one in answer["answers"] for warning in one["warnings"]
    ]
    assert len(answer["warnings"]) > 1


def missing(shown, real, path=""):
    """Keys of `shown` that `real` has not, at whatever depth."""
    if isinstance(shown, dict):
        found = [f"{path}.{key}" for key in shown if key not in real]
        return found + [
            gone for key in shown if key in real for gone in missing(shown[key], real[key], f"{path}.{key}")
        ]
    if isinstance(shown, list) and shown and isinstance(shown[0], dict):
        return missing(shown[0], real[0], f"{path}[0]")
    return []


@pytest.mark.parametrize("field", ["fused", "found_by", "answers"])
def test_the_fields_of_several_queries_are_there(field, user):
    answer = user("search", "-j", "key", "--also", "roof").json

    assert field in {*answer, *answer["fused"][0]}


def test_its_front_matter_is_what_the_specification_wants():
    _, head, _ = SKILL.split("---\n", 2)
    facts = yaml.safe_load(head)

    assert set(facts) == {"name", "description"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", facts["name"])
    assert "when" in facts["description"]
    assert len(facts["description"]) <= 1024


def test_it_is_short():
    """Agents read all of it each time."""
    assert len(SKILL.splitlines()) <= 120
    assert len(SKILL) < 9000


# Where it goes

PLACES = (".claude/skills/kb/SKILL.md", ".agents/skills/kb/SKILL.md")


def test_show_prints_it(tmp_path):
    assert here(tmp_path, "skill", "show").stdout == SKILL


def test_install_puts_it_where_agents_look_in_a_project(tmp_path):
    ran = here(tmp_path, "skill", "install", "-j")

    assert ran.json["files"] == [{"path": str(tmp_path / place), "status": "written"} for place in PLACES]
    assert [(tmp_path / place).read_text() for place in PLACES] == [SKILL, SKILL]
    assert not (tmp_path / "store").exists()


def test_its_folder_has_the_name_that_it_gives_itself(tmp_path):
    here(tmp_path, "skill", "install")

    assert {path.parent.name for path in tmp_path.rglob("SKILL.md")} == {
        yaml.safe_load(SKILL.split("---\n")[1])["name"]
    }


def test_install_global_puts_it_in_the_home_directory(tmp_path):
    (tmp_path / "home").mkdir()

    ran = here(tmp_path, "skill", "install", "--global", HOME=tmp_path / "home")

    assert ran.stdout == "".join(f"Written: {tmp_path / 'home' / place}\n" for place in PLACES)
    assert not (tmp_path / ".claude").exists()


def test_installed_again_it_is_left_alone(tmp_path):
    here(tmp_path, "skill", "install")

    assert [file["status"] for file in here(tmp_path, "skill", "install", "-j").json["files"]] == ["unchanged"] * 2


def test_one_that_somebody_changed_is_kept_and_nothing_written_unless_forced(tmp_path):
    write(tmp_path, {PLACES[0]: "my own"})

    refused = here(tmp_path, "skill", "install")

    assert (refused.code, (tmp_path / PLACES[0]).read_text(), (tmp_path / PLACES[1]).exists()) == (2, "my own", False)
    assert str(tmp_path / PLACES[0]) in refused.stderr
    assert "--force" in refused.stderr
    forced = here(tmp_path, "skill", "install", "--force", "-j").json
    assert [file["status"] for file in forced["files"]] == ["replaced", "written"]
    assert (tmp_path / PLACES[0]).read_text() == SKILL


def test_the_wheel_carries_it_and_the_man_page(tmp_path):
    """What the build would put where, asked of the build itself."""
    ask = "from hatchling.builders.wheel import WheelBuilder as W; b = W('.').config\n"
    ask += "print(b.get_force_include().items() - set(), b.shared_data)"
    done = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True)

    assert f"('{ROOT}/SKILL.md', 'kb/SKILL.md')" in done.stdout
    assert f"'{ROOT}/docs/kb.1': 'share/man/man1/kb.1'" in done.stdout
