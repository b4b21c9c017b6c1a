"""Nothing drifts: what is documented is generated from what there is, and real answers are what the schema says."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import write_docs

from kb import wire
from kb.cli import render

ROOT = Path(__file__).parents[1]

ANSWERS = (
    ("AddAnswer", "add --note apples --title Fruit"),
    ("SearchAnswer", "search apples"),
    ("SearchAnswers", "search apples --mode keyword --also nonsense"),
    ("SimilarAnswer", "similar 1"),
    ("GetAnswer", "get 1"),
    ("ListAnswer", "list"),
    ("FailedAnswer", "list --failed"),
    ("ShowAnswer", "show 1"),
    ("ViewAnswer", "view 1"),
    ("SkillAnswer", "skill install"),
    ("TagAnswer", "tag add 1 fruit"),
    ("TagAnswer", "tag list"),
    ("StatusAnswer", "status"),
    ("DoctorAnswer", "doctor"),
    ("BenchAnswer", "bench fixture.json"),
    ("ConfigAnswer", "config"),
    ("InitAnswer", "init"),
    ("DaemonAnswer", "daemon status"),
    ("ReindexAnswer", "reindex"),
    ("SourceAnswer", "source add notes --tag kept"),
    ("ScanAnswer", "scan"),
    ("SyncAnswer", "sync"),
    ("WorkedAnswer", "jobs run --until-empty"),
    ("JobAnswer", "add notes -r --background"),
    ("JobAnswer", "jobs wait 1"),
    ("JobsAnswer", "jobs list"),
    ("JobsRemovedAnswer", "jobs remove --ended"),
    ("BackupAnswer", "backup saved"),
    ("RestoreAnswer", "restore saved --yes"),
    ("ExportAnswer", "export exported"),
    ("ImportAnswer", "import exported"),
    ("ScrubAnswer", "scrub"),
    ("RemoveAnswer", "remove 1"),
    ("CompactAnswer", "compact"),
    ("Failure", "get 12345"),
    ("Failure", "list --nonsense"),
)
"""One after the other, in one store: the type of the answer, the command."""


def test_the_generated_documents_are_fresh():
    """When this fails: scripts/docs"""
    assert write_docs.stale(ROOT / "docs") == []


def test_a_document_that_was_changed_or_is_missing_is_stale(tmp_path):
    for name, text in write_docs.documents().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "commands.md").write_text("# Commands\n", encoding="utf-8")
    (tmp_path / "schema.json").unlink()

    assert write_docs.stale(tmp_path) == ["commands.md", "schema.json"]


def test_an_option_that_the_docs_script_does_not_know_is_refused():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/write_docs.py", "--chek"], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "--check" in done.stderr


def test_every_command_that_help_lists_is_documented(kb):
    """The commands are read from what `kb --help` prints, not from where the document gets them."""
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    listed = [
        *(f"kb {name}" for name in _listed(kb("--help"))),
        *(f"kb {group} {name}" for group in ("tag", "source", "daemon") for name in _listed(kb(group, "-h"))),
    ]

    assert len(listed) > 15
    assert [name for name in listed if f"## `{name}`\n" not in page] == []


def _listed(help_run):
    lines = help_run.stdout.split("Commands:\n")[1].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and line[2].isalpha() and "  " in line.strip()]


def test_every_exit_code_and_every_error_is_documented():
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    rows = [*(f"| {code.value} | {code.name} |" for code in write_docs.Exit)]
    for module, root in ((write_docs.kb.errors, "KbError"), (write_docs.index.errors, "StoreError")):
        rows += [f"| `{kind.__name__}` |" for kind in _descendants(getattr(module, root))]
    rows += [f"| `{kind.__name__}` |" for kind in _descendants(write_docs.models.errors.ModelError)]

    assert [row for row in rows if row not in page] == []


def _descendants(kind):
    return [each for child in kind.__subclasses__() for each in (child, *_descendants(child))]


def test_the_exit_codes_drawn_beside_the_errors_are_those_they_end_with():
    drawn = [line.split() for line in write_docs.kb.errors.__doc__.splitlines() if "── " in line]

    assert drawn
    for words in drawn:
        name = next(word for word in words if word.isidentifier())
        assert f"exit {getattr(write_docs.kb.errors, name).exit_code.value}" == " ".join(words[-2:]), name


def test_the_schema_has_every_type_that_is_shown_to_people():
    """Whatever `kb.cli.render` can say to a person, `-j` says to a program."""
    definitions = write_docs.schema()["$defs"]
    shown = {name for name, kind in vars(render).items() if getattr(kind, "__module__", "") == wire.__name__} - {
        "Answer"
    }

    assert shown
    assert shown <= set(definitions)
    assert {kind.__name__ for kind in wire.Answer.__subclasses__()} <= set(definitions)


def test_the_meaning_of_a_field_is_in_the_schema():
    source = write_docs.schema()["$defs"]["HitSource"]["properties"]

    assert (
        source["page"]["description"] == "Page, slide or sheet, from 1; the first, where it goes over the end of one."
    )
    assert "description" in write_docs.schema()["$defs"]["SearchAnswer"]["properties"]["took_ms"]


@pytest.mark.parametrize("kind", wire.Answer.__subclasses__())
def test_what_was_asked_for_comes_before_what_every_answer_has(kind):
    """An agent reads from the beginning."""
    assert kind.__struct_fields__[-2:] == wire.Answer.__struct_fields__ == ("took_ms", "warnings")


def test_real_answers_are_what_the_schema_says(kb, tiny_folder, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.md").write_text("pears")
    (tmp_path / "fixture.json").write_text('{"queries": [{"query": "apples", "relevant": [1]}]}')
    definitions = write_docs.schema()["$defs"]
    closed = {name: {**rule, "additionalProperties": False} for name, rule in definitions.items()}

    for name, command in ANSWERS:
        answer = kb(*command.split(), "-j", KB_MODEL=tiny_folder).json
        jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": closed}).validate(answer)

    assert {name for name, _ in ANSWERS} == {kind.__name__ for kind in write_docs.answer_types()}


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json.loads((ROOT / "docs/schema.json").read_text(encoding="utf-8")))
