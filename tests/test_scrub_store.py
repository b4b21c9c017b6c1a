"""Nothing of a secret is left anywhere in the store: planted in files of every kind, looked for byte by byte. Sources are not written to."""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from pathlib import Path

import pytest
import running
from planted import Planter
from test_scrub import pieces

PROSE = "Heat flows from the warm body to the cold one until both are equally warm. "


@pytest.fixture
def kb(tmp_path, roomy_folder):
    return partial(running.here, tmp_path, KB_MODEL=roomy_folder)


@pytest.fixture
def planter():
    return Planter(7)


ONE_LINE = 100
"""Characters of a token that fit on a line of the wide pages."""
BROKEN = ("ghp_{a36}", "AKIA{u16}", "AIza{b35}", "npm_{a36}", "hf_{a34}", "sk-or-v1-{h64}")
"""Tokens of known lengths: they are found whatever line end goes through them."""


def bytes_of(folder: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def left(folder: Path, secrets: list[str]) -> list[str]:
    content = bytes_of(folder)
    return [piece for secret in secrets for piece in pieces(secret) if piece.encode() in content]


def rows(tmp_path: Path, query: str) -> list[tuple]:
    with sqlite3.connect(tmp_path / "store" / "kb.db") as connection:
        return connection.execute(query).fetchall()


def notebook(lines: list[str]) -> str:
    cells = [
        {
            "cell_type": "code",
            "metadata": {},
            "source": [f'x = r"""{line}"""\n'],
            "outputs": [],
            "execution_count": None,
        }
        for line in lines
    ]
    return json.dumps(
        {"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    )


def pdf(path: Path, lines: list[str], width: float) -> None:
    import pymupdf

    document = pymupdf.open()
    for start in range(0, len(lines), 8):
        page = document.new_page(width=width, height=842)
        page.insert_textbox((36, 36, width - 36, 806), "\n\n".join(lines[start : start + 8]), fontsize=8)
    document.save(path)


def docx(path: Path, lines: list[str]) -> None:
    import docx as word

    document = word.Document()
    for line in lines:
        document.add_paragraph(line)
    document.save(path)


def planted_files(folder: Path, planter: Planter) -> list[str]:
    """Files of every kind, each with secrets of its own; returns the secrets."""
    secrets: list[str] = []

    def lines() -> list[str]:
        found = [planted for planted in planter.every() if "\n" not in planted.line]
        secrets.extend(planted.secret for planted in found)
        return [planted.line for planted in found]

    def tokens() -> list[str]:
        found = planter.of_shape()
        secrets.extend(planted.secret for planted in found)
        return [planted.secret for planted in found]

    def planted_token(template: str) -> str:
        secrets.append(planter.made(template))
        return secrets[-1]

    def key() -> str:
        made = planter.private_key()
        secrets.extend(made.split("\n")[1:-2])
        return made

    running.write(folder, {
        "prose.txt": "\n\n".join(lines()),
        "page.md": f"---\ntitle: Access\ndb: {{password: {tokens()[3]}}}\n---\n# Keys\n\n" + "\n\n".join([*lines(), key()]),
        "code.py": "\n\n".join(f'def use_{number}():\n    return call("{token}")' for number, token in enumerate(tokens())) + f'\n\nKEY = """{key()}"""\n',
        "conf.yaml": "\n".join(f"service_{number}:\n  token: {token}" for number, token in enumerate(tokens())),
        "conf.json": json.dumps({"keys": [{"id": number, "value": token} for number, token in enumerate(tokens())], "private_key": key()}, indent=1),
        "small.json": json.dumps({"a": tokens(), "private_key": key()}),
        "conf.toml": "\n".join(f'[part{number}]\ntoken = "{token}"' for number, token in enumerate(tokens())),
        "table.csv": "name,token\n" + "\n".join(f"n{number},{token}" for number, token in enumerate(tokens()) if "," not in token),
        "page.html": "<html><body>" + "".join(f"<p>{token}</p>" for token in tokens()) + f"<pre>{key()}</pre></body></html>",
        "book.ipynb": notebook(tokens()),
        "env.conf": "\n".join(f"NAME_{number}={token}" for number, token in enumerate(tokens())),
    })  # fmt: skip
    pdf(folder / "wide.pdf", [token for token in tokens() if len(token) <= ONE_LINE], width=595)
    pdf(folder / "narrow.pdf", [*map(planted_token, BROKEN), key()], width=220)
    docx(folder / "letter.docx", tokens())
    return secrets


def test_no_secret_of_any_kind_is_left_of_files_of_any_kind(kb, tmp_path, planter):
    docs = tmp_path / "docs"
    secrets = planted_files(docs, planter)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in docs.rglob("*") if path.is_file()}

    answer = kb("add", "-r", docs, "-j").json

    assert (answer["failed"], answer["no_text"], answer["added"]) == (0, 0, len(before))
    assert left(tmp_path / "store", secrets) == []
    assert answer["redacted"] == sum(file["redacted"] for file in answer["documents"]) > 800
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before


def test_notes_and_standard_input_are_scrubbed_and_their_titles(kb, tmp_path, planter):
    first, second = planter.made("ghp_{a36}"), planter.made("{a40}{d2}")

    note = kb("add", "--note", f"the api_key: {second} is for staging", "-j").json
    stream = kb("add", "-", "-j", stdin=f"use {first} please".encode()).json

    assert note["documents"][0]["title"] == "the api_key: [redacted: api key] is for staging"
    assert stream["documents"][0]["title"] == "use [redacted: github token] please"
    assert (note["redacted"], stream["redacted"]) == (1, 1)
    assert left(tmp_path / "store", [first, second]) == []


def test_title_and_meta_of_a_request_are_scrubbed(kb, tmp_path, planter):
    secret = planter.made("{a12}{d2}")

    kb("add", "--note", PROSE, "--title", f"password: {secret}", "--meta", f"db_password={secret}")

    assert left(tmp_path / "store", [secret]) == []


def test_what_was_redacted_is_said_and_kept_in_the_metadata(kb, tmp_path, planter):
    path = (
        running.write(
            tmp_path / "docs",
            {"a.txt": f"{PROSE}\npassword: hunter2x\n{planter.made('ghp_{a36}')}\npassword: hunter3x"},
        )
        / "a.txt"
    )

    ran = kb("add", path)

    assert ran.stdout.startswith("Added: a.txt (1 chunk, 3 redacted)\n")
    assert ran.stdout.endswith("3 secrets redacted.\n")
    assert kb("show", 1, "-j").json["metadata"]["redacted"] == {"password": 2, "github token": 1}


def test_chunks_keep_their_line_numbers(kb, tmp_path, planter):
    text = f"# A\n\n{planter.private_key()}\n\n# B\n\n{PROSE * 4}\n"
    path = running.write(tmp_path / "docs", {"a.md": text}) / "a.md"
    kb("add", path)

    chunks = kb("show", 1, "-j").json["chunks"]

    assert max(chunk["lines"][1] for chunk in chunks) == text.count("\n")


@pytest.mark.parametrize("turned_off", [{"arguments": ["--no-scrub"]}, {"KB_SCRUB_ENABLED": "false"}])
def test_secrets_are_kept_where_that_is_wanted(kb, tmp_path, turned_off):
    arguments = turned_off.pop("arguments", [])

    kb("add", "--note", "password: hunter2x", *arguments, **turned_off)

    assert kb("get", 1).stdout == "password: hunter2x\n"


def test_addresses_are_kept_unless_the_settings_say_otherwise(kb, tmp_path):
    kb("add", "--note", "write to anna@example.org")
    kb("add", "--note", "or write to berta@example.org", KB_EMAILS="true")

    assert [kb("get", number).stdout for number in (1, 2)] == [
        "write to anna@example.org\n",
        "or write to [redacted: e-mail address]\n",
    ]


def test_reasons_of_failures_and_the_log_hold_no_secret(kb, tmp_path, planter):
    secret = planter.made("ghp_{a36}")
    path = running.write(tmp_path / "docs", {f"a {secret}.pdf": "no PDF"})

    kb("add", "-r", path)

    [(reason,)] = rows(tmp_path, "SELECT reason FROM failures")
    assert secret not in reason
    last = (tmp_path / "store" / "ingest-errors.log").read_text().rpartition("\t")[2]
    assert "[redacted: github token]" in last
    assert secret not in last


def test_an_original_with_secrets_is_not_kept(kb, tmp_path):
    docs = running.write(tmp_path / "docs", {"a.txt": f"{PROSE} password: hunter2x", "b.txt": PROSE})

    ran = kb("add", "-r", docs, "--keep-original", "-j").json

    assert ran["originals"] == 1
    assert any("a.txt is not kept: it holds secrets" in warning for warning in ran["warnings"])
    assert rows(tmp_path, "SELECT name FROM originals") == [("b.txt",)]


# kb scrub


@pytest.fixture
def unscrubbed(kb, tmp_path, planter):
    """A store in which secrets lie bare, of which some have been removed since; returns them."""
    secrets = [
        planter.made("ghp_{a36}"),
        planter.made("{a20}{d2}"),
        planter.made("sk-ant-api03-{b93}AA"),
        planter.made("AKIA{u16}"),
    ]
    key = planter.private_key(length=2400)
    docs = running.write(tmp_path / "docs", {
        "a.md": f"---\npassword: {secrets[1]}\n---\n# About {secrets[0]}\n\n{PROSE * 30}\n\nUse {secrets[0]}.\n\n{key}\n",
        "b.txt": PROSE * 3,
        "gone.txt": f"{PROSE} {secrets[3]}",
    })  # fmt: skip
    kb("add", "-r", docs, "--no-scrub", "--keep-original")
    kb("add", "--note", f"{secrets[2]} is a key", "--no-scrub")
    kb("remove", docs / "gone.txt")
    return [*secrets, *key.split("\n")[1:-2]]


def test_scrub_leaves_nothing_of_what_was_stored(kb, tmp_path, unscrubbed):
    store = tmp_path / "store"
    assert left(store, unscrubbed)

    answer = kb("scrub", "-j").json

    assert left(store, unscrubbed) == []
    assert {kind for document in answer["documents"] for kind in document["redacted"]} == {
        "github token", "password", "private key", "anthropic key",
    }  # fmt: skip
    assert (answer["originals"], answer["dry_run"]) == (1, False)
    assert kb("search", "ghp_", "--mode", "keyword", "-j").json["total_matches"] == 0
    assert kb("doctor").code == 0


def test_scrub_embeds_the_changed_texts_and_no_others(kb, tmp_path, unscrubbed):
    kept = rows(tmp_path, "SELECT id, text FROM chunks WHERE document_id = 2")

    answer = kb("scrub", "-j").json

    assert answer["embedded"] == len(
        {
            text
            for (text,) in rows(
                tmp_path, "SELECT text_hash FROM chunks WHERE text LIKE '%[redacted%' OR context LIKE '%[redacted%'"
            )
        }
    )
    assert rows(tmp_path, "SELECT id, text FROM chunks WHERE document_id = 2") == kept
    assert rows(
        tmp_path,
        "SELECT count(*) FROM chunks c WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.text_hash = c.text_hash)",
    ) == [(0,)]
    assert rows(
        tmp_path,
        "SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE v.text_hash = c.text_hash)",
    ) == [(0,)]


def test_scrubbing_again_finds_nothing(kb, unscrubbed):
    kb("scrub")
    counts = kb("show", 1, "-j").json["metadata"]["redacted"]

    again = kb("scrub", "-j").json

    assert (again["documents"], again["redacted"], again["chunks"]) == ([], 0, 0)
    assert kb("show", 1, "-j").json["metadata"]["redacted"] == counts


def test_a_dry_run_says_it_and_changes_nothing(kb, tmp_path, unscrubbed):
    before = rows(tmp_path, "SELECT id, text FROM chunks")

    ran = kb("scrub", "--dry-run")

    assert "Would redact: " in ran.stdout
    assert not any(secret in ran.stdout for secret in unscrubbed)
    assert rows(tmp_path, "SELECT id, text FROM chunks") == before


def test_all_is_replaced_or_nothing(kb, tmp_path, unscrubbed):
    rows(
        tmp_path,
        "CREATE TRIGGER no_more BEFORE INSERT ON chunks WHEN new.text LIKE '%anthropic%' BEGIN SELECT raise(ABORT, 'stopped'); END",
    )
    before = rows(tmp_path, "SELECT id, text FROM chunks"), rows(tmp_path, "SELECT title, metadata FROM documents")

    assert kb("scrub").code == 1

    assert (
        rows(tmp_path, "SELECT id, text FROM chunks"),
        rows(tmp_path, "SELECT title, metadata FROM documents"),
    ) == before


def test_scrub_cleans_the_log_of_an_earlier_version(kb, tmp_path, planter, unscrubbed):
    log = tmp_path / "store" / "ingest-errors.log"
    log.write_text(f"2026-01-01\t/x\tbad line: password: {planter.made('{a12}{d2}')}\n")

    kb("scrub")

    assert log.read_text() == "2026-01-01\t/x\tbad line: password: [redacted: password]\n"


def test_sources_that_are_not_to_be_scrubbed_are_left_unless_all_is_said(kb, tmp_path):
    docs = running.write(tmp_path / "docs", {"a.txt": f"{PROSE} password: hunter2x"})
    kb("source", "add", docs, "--name", "mine")
    kb("add", "-r", docs, "--no-scrub")
    with sqlite3.connect(tmp_path / "store" / "kb.db") as connection:
        connection.execute("UPDATE sources SET rules = json_set(rules, '$.scrub', json('false'))")

    assert kb("scrub", "-j").json["left"] == 1
    assert kb("scrub", "--all", "-j").json["redacted"] == 1


def test_a_backup_holds_no_secret(kb, tmp_path, planter):
    docs = tmp_path / "docs"
    secrets = planted_files(docs, planter)
    kb("add", "-r", docs / "page.md", docs / "conf.yaml", docs / "prose.txt")

    assert kb("backup", tmp_path / "saved.kb").code == 0
    kb("remove", docs / "page.md")
    assert kb("restore", tmp_path / "saved.kb", "--yes").code == 0

    assert len(kb("list", "-j", "--all").json["documents"]) == 3
    assert left(tmp_path / "store", secrets) == []
    assert not any(
        piece.encode() in (tmp_path / "saved.kb").read_bytes() for secret in secrets for piece in pieces(secret)
    )
