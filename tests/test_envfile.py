"""Keys of remote services: a variable, then --env-file, then the setting env_file; read when needed, and shown to nobody."""

from __future__ import annotations

import io
import json
import os

import pytest
import running
from small_embedding_service import embedding_service

from kb import __version__
from kb.caller import Caller, answering_for
from kb.daemon.answering import Request, reply
from kb.envfile import secret, use
from kb.errors import BadConfig, BadRequest
from kb.preferences import load

NAME = "KB_EMBEDDING_KEY"


@pytest.fixture
def say(tmp_path):
    """What `secret` says to a caller in `tmp_path` with these variables, whose settings are in `tmp_path/data`."""
    (tmp_path / "data").mkdir()

    def said(option=None, config="", name=NAME, **environ):
        (tmp_path / "data/config.yaml").write_text(config)
        stream = io.TextIOWrapper(io.BytesIO())
        caller = Caller(
            environ=environ, folder=str(tmp_path), stdout=stream, stderr=stream, on_terminal=False, started=0.0
        )
        with answering_for(caller):
            use(option, load(tmp_path / "data", environ), tmp_path / "data")
            return secret(name)

    return said


def test_a_variable_wins_then_the_option_then_the_setting(say, tmp_path):
    (tmp_path / "option.env").write_text(f"{NAME}=of the option\n")
    (tmp_path / "data/setting.env").write_text(f"{NAME}=of the setting\nKB_RERANK_KEY=only here\n")
    config = "env_file: setting.env\n"

    assert say("option.env", config, KB_EMBEDDING_KEY="of the variable") == "of the variable"
    assert say("option.env", config) == "of the option"
    assert say(None, config) == "of the setting"
    assert say("option.env", config, name="KB_RERANK_KEY") == "only here"
    assert say() == ""
    assert say("option.env", config, KB_EMBEDDING_KEY="") == "of the option"  # an empty variable says nothing


def test_the_setting_is_relative_to_its_file_and_the_variable_to_the_caller(say, tmp_path):
    (tmp_path / "data/.env").write_text(f"{NAME}=beside the settings\n")
    (tmp_path / ".env").write_text(f"{NAME}=beside the caller\n")

    assert say(None, "env_file: .env\n") == "beside the settings"
    assert say(None, "env_file: .env\n", KB_ENV_FILE=".env") == "beside the caller"
    assert say(None, f"env_file: {tmp_path}/.env\n") == "beside the caller"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NAME=abc", "abc"), ("export NAME = abc  # mine", "abc"), ("NAME='a b#c'", "a b#c"), ('NAME="a\\"b"', 'a"b'),
        ("NAME=a$HOME${HOME}$", "a$HOME${HOME}$"), ("\ufeffNAME=abc\r\nB=1\r\n", "abc"), ("NAME=", ""), ("NAME", ""),
        ("# NAME=abc", ""), ("NAME=one\nNAME=two", "two"),
    ],
)  # fmt: skip
def test_a_file_is_read_as_others_read_it_and_nothing_is_put_in_for_a_dollar(say, tmp_path, text, value):
    (tmp_path / ".env").write_text(text.replace("NAME", NAME), newline="")

    assert say(".env") == value


def test_a_key_is_read_anew_each_time(say, tmp_path):
    for value in ("one", "two"):
        (tmp_path / ".env").write_text(f"{NAME}={value}")
        assert say(".env") == value


def test_a_file_is_not_opened_where_a_variable_says_the_key(say, tmp_path):
    assert say(None, "env_file: nowhere\n", KB_EMBEDDING_KEY="abc") == "abc"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"A=1\nthis is no line\n", ".env, line 2: expected NAME=value"),
        (b'KB_EMBEDDING_KEY="unfinished\n', ".env, line 1: expected NAME=value"),
        (b"\xff\xfe\0", ".env cannot be read: it is not UTF-8 text"),
        (b"#" * 1_000_001, ".env is too long"),
        (b"KB_EMBEDDING_KEY='two\nlines'\n", "KB_EMBEDDING_KEY is no key"),
        ("KB_EMBEDDING_KEY=schlüssel\n".encode(), "KB_EMBEDDING_KEY is no key"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_without_what_it_holds(say, tmp_path, content, said):
    (tmp_path / ".env").write_bytes(content)

    with pytest.raises(BadConfig) as refused:
        say(".env")

    assert said in refused.value.message
    assert "\n" not in refused.value.message
    assert not any(part in refused.value.message for part in ("this is", "unfinished", "two", "schl"))
    assert refused.value.hint


def test_a_file_that_is_not_there_is_said_by_its_path(say, tmp_path):
    with pytest.raises(BadRequest, match=f"there is no file {tmp_path}/nowhere"):
        say("nowhere")
    with pytest.raises(BadRequest, match=f"there is no file {tmp_path}/data"):
        say("data")
    with pytest.raises(BadConfig, match=f"there is no file {tmp_path}/data/nowhere"):
        say(None, "env_file: nowhere\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_a_file_that_may_not_be_read_is_said(say, tmp_path):
    (tmp_path / ".env").touch(0o000)

    with pytest.raises(BadConfig, match="cannot be read: Permission denied"):
        say(".env")


# As a user has it


@pytest.fixture
def remote(tmp_path):
    """A folder with a document, a service that wants the key `s3cr3t`, and `kb` that is to ask it."""
    running.write(tmp_path, {"docs/a.txt": "red stone", ".env": f"{NAME}=s3cr3t\n"})
    with embedding_service() as service:
        service.key = "s3cr3t"
        variables = {"KB_PROVIDER": "openai", "KB_MODEL": "m", "KB_EMBEDDING_URL": service.url, "KB_RETRIES": 0}

        def run(*arguments, **others):
            return running.here(tmp_path, *arguments, **{**variables, **others})

        run.service, run.folder = service, tmp_path
        yield run


def test_every_command_that_asks_a_service_takes_the_file(remote):
    fixture = remote.folder / "fixture.json"
    fixture.write_text('{"queries": [{"query": "stone", "relevant": [1]}]}')
    for arguments in (
        ("add", "docs/a.txt"), ("search", "red", "--mode", "semantic"), ("reindex",), ("doctor",),
        ("bench", fixture, "--backend", "semantic"), ("status",), ("init",),
    ):  # fmt: skip
        ran = remote(*arguments, "-j", "--env-file", ".env")
        assert ran.code == 0, ran
        assert "s3cr3t" not in ran.stdout + ran.stderr
    assert {asked.authorization for asked in remote.service.seen} == {"Bearer s3cr3t"}


def test_a_file_named_in_a_command_must_be_there(remote):
    ran = remote("search", "red", "--mode", "keyword", "--env-file", "nowhere")

    assert (ran.code, ran.stderr.count("\n")) == (2, 1)
    assert "there is no file" in ran.stderr


def test_the_setting_serves_every_command_and_no_command_shows_the_key(remote):
    running.write(remote.folder / "store", {"config.yaml": "env_file: ../.env\n"})

    assert remote("add", "docs/a.txt", "-j").json["warnings"] == []
    assert remote("search", "stone", "--mode", "semantic", "-j").json["returned"] == 1
    config = remote("config", "-j")
    assert "s3cr3t" not in config.stdout + config.stderr
    assert {"../.env"} == {row["value"] for row in config.json["settings"] if row["key"] == "env_file"}


def test_a_setting_that_names_no_file_costs_vectors_and_nothing_else(remote):
    """And is said in one line, by the command that would have needed the key."""
    running.write(remote.folder / "store", {"config.yaml": "env_file: nowhere\n"})

    added = remote("add", "docs/a.txt", "-j").json
    found = remote("search", "red", "-j").json
    status = remote("status", "-j").json["embedding"]

    assert (added["added"], added["embedded"], found["mode"], found["returned"]) == (1, 0, "keyword", 1)
    assert "there is no file" in added["warnings"][0]
    assert any("there is no file" in warning for warning in found["warnings"])
    assert (status["available"], remote.service.seen) == (False, [])


def test_the_daemon_reads_the_file_of_each_caller(remote):
    """Where the caller stands, when it asks."""
    remote("add", "docs/a.txt", "--env-file", ".env")
    environ = {
        "KB_PROVIDER": "openai", "KB_MODEL": "m", "KB_EMBEDDING_URL": remote.service.url, "HOME": os.environ["HOME"],
    }  # fmt: skip

    def ask(*arguments):
        whole = ("search", "-j", "--mode", "semantic", "red", *arguments)
        frames = reply(Request(__version__, "run", False, str(remote.folder), whole, environ), remote.folder / "store")
        return json.loads(frames[5 : 5 + int.from_bytes(frames[1:5], "little")])

    assert ask("--env-file", ".env")["returned"] == 1
    assert "wants a key" in ask()["error"]["message"]
    (remote.folder / ".env").write_text(f"{NAME}=another\n")
    assert "does not accept the key" in ask("--env-file", ".env")["error"]["message"]
