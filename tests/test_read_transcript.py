"""Transcripts: what each form says, who says it and when; what is a transcript at all; and how one is cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.chunk import chunk, plan_for
from kb.chunk.pack import joined
from kb.detect import detect
from kb.errors import NoText, UnreadableFile
from kb.model import shipped_tokenizer
from kb.read import transcript
from kb.read.transcript import names
from kb.settings import Chunking
from kb.types import Block, Document, Lines, ReadOptions, Source
from models.tokenizer import TokenCounter

COUNTER = TokenCounter.load(shipped_tokenizer())
SEES = 254


def lines(*records):
    return "".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records)


def claude(kind, content, **others):
    return {"type": kind, "sessionId": "s1", "message": {"role": kind, "content": content}, **others}


def codex(kind, **payload):
    return {"timestamp": "2026-10-29T00:59:38.317Z", "type": kind, "payload": payload}


@pytest.fixture
def reading(tmp_path):
    def read(text, name="log.jsonl"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return transcript.read(Source(path=str(path), doc_type="transcript"), ReadOptions())

    return read


@pytest.fixture
def detected(tmp_path):
    def detect_it(name, text):
        path = tmp_path / name
        path.write_text(text)
        return detect(path)

    return detect_it


def said(document):
    return [(block.metadata.get("speaker") or block.metadata.get("role"), block.text) for block in document.blocks]


def cut(document):
    return chunk(document, plan_for("transcript", Chunking()), COUNTER, SEES)


# --- session logs


def test_a_session_of_claude_code_gives_a_turn_a_message(reading):
    """Text as it is, a tool by a marker, its result by its beginning; thinking and what is no message not at all."""
    document = reading(lines(
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        claude("user", "Why does it fail?", timestamp="2026-11-01T11:00:00.5+01:00", cwd="/work"),
        claude("assistant", [{"type": "thinking", "thinking": "hm"}]),
        claude("assistant", [{"type": "text", "text": "I look."}, {"type": "tool_use", "name": "Bash", "input": {"command": "ls -la"}}]),
        claude("user", [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a.py\n  b.py"}]}]),
        claude("assistant", [{"type": "text", "text": "Two files."}], timestamp="2026-11-01T10:00:09Z"),
        {"type": "system", "subtype": "hook", "content": "done"},
    ))  # fmt: skip
    assert said(document) == [
        ("user", "Why does it fail?"),
        ("assistant", "I look.\n[tool: Bash ls -la]"),
        ("tool", "a.py b.py"),
        ("assistant", "Two files."),
    ]
    assert [block.lines for block in document.blocks] == [Lines(n, n) for n in (2, 4, 5, 6)]
    assert document.blocks[0].metadata == {"role": "user", "at": "2026-11-01T10:00:00+00:00"}
    assert (document.extractor, document.title) == ("claude-code", "Why does it fail?")
    assert document.metadata == {
        "session": "s1", "cwd": "/work", "started": "2026-11-01T10:00:00+00:00", "ended": "2026-11-01T10:00:09+00:00",
        "turns": 4,
    }  # fmt: skip


def test_what_programs_write_into_a_users_messages_is_left_out(reading):
    document = reading(lines(
        claude("user", "Caveat: the messages below", isMeta=True),
        claude("user", "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>big</command-args>"),
        claude("user", "<local-command-stdout>Set model</local-command-stdout>"),
        claude("user", "Go on. <system-reminder>Do not\nmention it.</system-reminder>"),
        claude("user", "This session is being continued", isCompactSummary=True),
    ))  # fmt: skip
    assert said(document) == [("user", "/model big"), ("user", "Go on."), ("system", "This session is being continued")]


def test_what_an_assistant_tells_another_one_is_not_a_users(reading):
    document = reading(lines(
        claude("user", "Find it.", isSidechain=True),
        claude("assistant", [{"type": "text", "text": "Found."}], isSidechain=True),
    ))  # fmt: skip
    assert said(document) == [("task", "Find it."), ("subagent", "Found.")]
    assert [block.metadata["role"] for block in document.blocks] == ["task", "assistant"]


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([{"type": "summary", "summary": "One", "leafUuid": "x"}, {"type": "summary", "summary": "Two"}], "Two"),
        ([{"type": "custom-title", "customTitle": "Mine"}, {"type": "ai-title", "aiTitle": "Its"}], "Mine"),
        ([], "word " * 15 + "word"),
    ],
)
def test_the_title_is_what_the_log_states_last_else_the_first_words(records, title, reading):
    """One that a person gave wins; first words are cut at 80 characters."""
    assert reading(lines(claude("user", "word " * 40), *records)).title == title


def test_a_rollout_of_codex_gives_each_message_once(reading):
    """Events say again what response items say; instructions and environment are no one's turn."""
    document = reading(lines(
        codex("session_meta", id="019a", cwd="/p", timestamp="2026-10-29T00:59:38.308Z"),
        codex("response_item", type="message", role="developer", content=[{"type": "input_text", "text": "Be good"}]),
        codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "# AGENTS.md instructions for /p"}]),
        codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "<environment_context>x</environment_context>"}]),
        codex("response_item", type="message", role="user", content=[{"type": "input_text", "text": "List files"}]),
        codex("event_msg", type="user_message", message="List files"),
        codex("response_item", type="reasoning", summary=[], encrypted_content="gAAA"),
        codex("response_item", type="function_call", name="shell", arguments='{"command":["bash","-lc","ls"]}', call_id="c"),
        codex("response_item", type="function_call_output", call_id="c", output='{"output":"file1.txt\\n","metadata":{"exit_code":0}}'),
        codex("response_item", type="custom_tool_call", name="apply_patch", input="*** Begin Patch\n+x", call_id="d"),
        codex("response_item", type="local_shell_call", action={"type": "exec", "command": ["pwd"]}),
        codex("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "One file."}]),
    ))  # fmt: skip
    assert said(document) == [
        ("user", "List files"),
        ("assistant", "[tool: shell bash -lc ls]"),
        ("tool", "file1.txt"),
        ("assistant", "[tool: apply_patch *** Begin Patch +x]"),
        ("assistant", "[tool: local_shell pwd]"),
        ("assistant", "One file."),
    ]
    assert (document.extractor, document.metadata["session"], document.metadata["cwd"]) == ("codex", "019a", "/p")


def test_a_rollout_of_codex_from_before_it_wrapped_its_items_is_read_too(reading, detected):
    text = lines(
        {"id": "019a", "timestamp": "2025-06-01T00:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
    )
    assert said(reading(text)) == [("user", "Hello"), ("assistant", "[tool: shell]")]
    assert detected("old.jsonl", text).doc_type == "transcript"


def test_plain_messages_have_roles_names_and_times(reading):
    document = reading(lines(
        {"role": "system", "content": "You are kind."},
        {"role": "user", "name": "anna", "content": "Hi", "created_at": 1761955200},
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "find", "arguments": '{"query": "x"}'}}]},
        {"role": "tool", "content": "y " * 500},
        {"from": "gpt", "value": "Hello", "timestamp": 1761955200000},
        {"speaker": "Carla", "text": "I am here too"},
    ))  # fmt: skip
    who = ["anna", "assistant", "tool", "assistant", "Carla"]
    assert [speaker for speaker, _ in said(document)] == who
    assert said(document)[1][1] == "[tool: find x]"
    assert document.blocks[2].text == "y " * 100 + "…"
    assert {document.blocks[n].metadata["at"] for n in (0, 3)} == {"2025-11-01T00:00:00+00:00"}
    assert document.extractor == "messages"


def test_what_is_shortened_is_cut_between_words(reading):
    """Half of a password could no longer be told for one, and would be stored."""
    secret = "ghp_" + "a1B2" * 9
    document = reading(lines(
        claude("user", [{"type": "tool_result", "content": "word " * 35 + secret}]),
        claude("assistant", [{"type": "tool_use", "name": "Bash", "input": {"command": "x" * 500}}]),
    ))  # fmt: skip
    assert [text for _, text in said(document)] == ["word " * 35 + "…", "[tool: Bash …]"]


def test_a_line_that_is_no_json_is_a_warning_and_the_last_one_waits(reading):
    """A line without its end is being written: nothing is said of it, and where it is whole it counts already."""
    one, two = claude("user", "First"), claude("assistant", "Second")
    begun = json.dumps(two)
    document = reading(lines(one, "{no json", '"no object"', "") + begun[:-5])
    assert said(document) == [("user", "First")]
    assert document.warnings == ("not a JSON object (line 2 and 1 more): left out",)
    assert said(reading(lines(one) + begun)) == [("user", "First"), ("assistant", "Second")]


def test_odd_records_are_passed_over(reading):
    """Nobody promises these formats: what is not as expected is no reason to lose the rest."""
    document = reading(lines(
        {}, {"type": 3}, {"type": "user"}, {"type": "user", "message": "text"}, {"type": "user", "message": {"content": None}},
        {"type": "assistant", "message": {"content": [None, 3, {}, {"type": "tool_use"}, {"type": "text", "text": None}]}},
        {"type": "response_item", "payload": []}, {"type": "response_item", "payload": {}}, {"type": ["summary"], "summary": 1}, {"type": "message", "role": ["user"]},
        {"role": ["user"], "content": "x"}, {"role": "user", "content": {"a": 1}}, {"role": "user", "timestamp": [], "content": "kept"},
        {"role": "user", "timestamp": 1e300, "content": "lone \ud800 surrogate"},
    ))  # fmt: skip
    assert said(document) == [("assistant", "[tool: None]"), ("user", "kept"), ("user", "lone \ud800 surrogate")]


def test_a_log_in_which_nobody_says_anything_holds_no_text(reading):
    with pytest.raises(NoText, match="nothing is said"):
        reading(
            lines({"type": "summary", "summary": "One"}, claude("assistant", [{"type": "thinking", "thinking": "hm"}]))
        )


# --- subtitles

VTT = """\ufeffWEBVTT - a talk
Kind: captions

STYLE
::cue { color: red }

NOTE not --> this

intro
00:01.000 --> 00:04.5 align:start position:0%
<v Mary Smith>Hello &amp; <i>welcome</i></v>

00:00:05.000 --> 01:00:06.000
<v.loud Bob>Hi.</v> <v Mary Smith>So:
1 <3 2

00:07.xx --> 00:08.000
lost

00:00:08.000 --> 00:00:09.000
Anna Meier: on we go
"""


def test_webvtt_gives_voices_and_times(reading):
    """Settings, identifiers, styles, notes and tags are left out, and a cue whose time is no time, with a warning."""
    document = reading(VTT, "a.vtt")
    assert said(document) == [
        ("Mary Smith", "Hello & welcome"),
        ("Bob", "Hi."),
        ("Mary Smith", "So:\n1 <3 2"),
        ("Anna Meier", "on we go"),
    ]
    assert [(block.lines.first, block.lines.last) for block in document.blocks] == [
        (10, 11),
        (13, 15),
        (13, 15),
        (20, 21),
    ]
    assert document.blocks[0].metadata == {"speaker": "Mary Smith", "start": "00:00:01.000", "end": "00:00:04.500"}
    assert document.warnings == ("a time that cannot be read (line 17): the cue is left out",)
    assert (document.extractor, document.metadata) == ("webvtt", {"length": "00:00:09.000", "turns": 4})


def test_srt_gives_texts_with_blank_lines_in_them_and_cues_without_blanks_between(reading):
    text = (
        "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>We dig</i>\r\na {\\an8}tunnel\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000\r\nJOHN: under\r\n\r\nthe city\r\n3\r\n00:00:05,000 --> 00:00:06,000\r\nYes."
    )
    document = reading(text, "a.srt")
    assert said(document) == [(None, "We dig\na tunnel"), ("JOHN", "under\nthe city"), (None, "Yes.")]
    assert [(block.lines.first, block.lines.last) for block in document.blocks] == [(2, 4), (7, 10), (12, 13)]
    assert document.extractor == "srt"


def test_what_rolling_captions_carry_over_is_said_once(reading):
    """As captions made by machines come: a line is built up word by word, then stands above the next one."""
    document = reading(
        "WEBVTT\n\n00:00.000 --> 00:02.000\n \nhello<00:01.000><c> world</c>\n\n00:02.000 --> 00:02.010\nhello world\n \n\n"
        "00:02.010 --> 00:04.000\nhello world\nthis<00:03.000><c> is</c>\n\n00:09.000 --> 00:10.000\nthis is\n",
        "a.vtt",
    )
    assert said(document) == [(None, "hello world"), (None, "this is"), (None, "this is")]


@pytest.mark.parametrize("text", ["WEBVTT\n", "WEBVTT\n\nNOTE nothing\n"])
def test_subtitles_without_cues_hold_no_text(text, reading):
    with pytest.raises(NoText):
        reading(text, "a.vtt")


# --- text with names

MEETING = """Meeting of 1 March

Anna Meier: Shall we begin?
It is late.

[2026-03-01 10:32] Bob: Yes.
**Carla:** Good: then
Bob (00:12):
  So.
Q: Why?
"""


def test_plain_text_gives_a_turn_a_name(reading):
    """What follows goes on with the turn; what stands above the first name is nobody's."""
    document = reading(MEETING, "a.txt")
    assert said(document) == [
        (None, "Meeting of 1 March"),
        ("Anna Meier", "Shall we begin?\nIt is late."),
        ("Bob", "Yes."),
        ("Carla", "Good: then"),
        ("Bob", "So."),
        ("Q", "Why?"),
    ]
    assert [(block.lines.first, block.lines.last) for block in document.blocks][:2] == [(1, 1), (3, 4)]
    assert document.blocks[2].metadata["at"] == "2026-03-01T10:32:00+00:00"
    assert document.blocks[5].metadata["role"] == "user"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Anna: hi", "Anna"),
        ("Dr. Anna van Meier: hi", "Dr. Anna van Meier"),
        ("SPEAKER 1: hi", "SPEAKER 1"),
        ("user: hi", "user"),
        ("Anna:", "Anna"),
        ("10:32 PM - Anna: hi", "Anna"),
        ("Note: hi", None),
        ("and then: hi", None),
        ("https://example.org", None),
        ("Anna:hi", None),
        ("A name of far more words: hi", None),
        ("10:32", None),
        ("", None),
    ],
)
def test_what_is_a_name_before_a_colon(line, name):
    found = names.label(line)
    assert (found.name if found else None) == name


def test_text_without_names_is_refused_as_a_transcript(reading):
    with pytest.raises(UnreadableFile, match="no conversation"):
        reading("Once upon a time.\n", "a.txt")


# --- what is a transcript

TALK = "Anna: Shall we?\nBob: Yes.\nAnna: Good.\nBob: So.\n"


@pytest.mark.parametrize(
    ("name", "text", "doc_type"),
    [
        ("a.vtt", "WEBVTT\n", "transcript"),
        ("a.srt", "", "transcript"),
        ("a.jsonl", lines(claude("user", "Hi")), "transcript"),
        ("a.ndjson", lines({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}), "transcript"),
        ("a.jsonl", lines(*[{"type": "queue-operation"}] * 40, claude("user", "Hi")), "transcript"),
        ("a.jsonl", json.dumps(claude("user", "Hi")), "transcript"),  # its end is being written
        ("a.jsonl", lines(claude("user", "x" * 300_000)), "transcript"),
        ("a.jsonl", lines({"a": 1}, {"a": 2}), "data"),
        ("a.jsonl", lines({"role": "user", "content": "Hi"}, {"role": "admin", "content": "Ho"}), "data"),
        ("a.jsonl", lines({"type": "click", "sessionId": "s"}, {"type": "view", "sessionId": "s"}), "data"),
        ("a.jsonl", lines({"messages": [{"role": "user", "content": "Hi"}]}), "data"),
        ("a.jsonl", lines(claude("user", "Hi"), *["no json"] * 3), "data"),
        ("a.jsonl", "", "data"),
        ("a.json", json.dumps(claude("user", "Hi")), "data"),
        ("a.txt", TALK, "transcript"),
        ("a.txt", f"Talk of today\n\n{TALK}", "transcript"),
        ("a.md", TALK, "markdown"),
        ("a.log", TALK, "text"),
        ("a.txt", "Anna: Shall we?\nBob: Yes.\n", "text"),
        ("a.txt", "Anna: one\n" * 9, "text"),
        ("a.txt", "Name: x\nStreet: y\nCity: z\nCountry: w\n", "text"),
        ("a.txt", "INFO: a\nERROR: b\nINFO: c\nERROR: d\n", "text"),
        ("a.txt", TALK + "A long text that has little to do with it.\n" * 9, "text"),
    ],
)  # fmt: skip
def test_only_what_looks_like_a_conversation_is_one(name, text, doc_type, detected):
    assert detected(name, text).doc_type == doc_type
    assert detected(name, text).warning is None


# --- chunks


def turn(role, text, number=1, **others):
    return Block(text=text, lines=Lines(number, number), metadata={"role": role, **others})


def document_of(*turns):
    return Document(blocks=turns, extractor="messages")


LONG = "The river is deep and the stone is old. " * 6


def test_an_exchange_is_a_chunk_that_says_who_speaks():
    first, second = cut(
        document_of(
            turn("user", f"Why? {LONG}", 1, at="2026-11-01T10:00:00+00:00"),
            turn("assistant", "So.", 2, at="2026-11-01T10:00:05+00:00"),
            turn("assistant", "And so.", 3),
            turn("user", f"And now? {LONG}", 4),
            turn("assistant", "Now this.", 5, speaker="helper"),
        )
    )
    assert first.text == f"user: Why? {LONG}\n\nassistant: So.\nAnd so."
    assert (first.lines, second.lines) == (Lines(1, 3), Lines(4, 5))
    assert first.metadata == {
        "roles": ["user", "assistant"], "from": "2026-11-01T10:00:00+00:00", "to": "2026-11-01T10:00:05+00:00", "turns": 3,
        "opens": True,
    }  # fmt: skip
    assert second.text.endswith("helper: Now this.")
    assert second.metadata["speakers"] == ["helper"]


def test_tiny_exchanges_share_a_chunk_until_it_is_no_longer_tiny():
    chunks = cut(document_of(*(turn("user" if n % 2 else "assistant", f"word {n}", n) for n in range(1, 41))))
    assert [one.metadata["turns"] for one in chunks] == [14, 14, 12]
    assert all(one.metadata["opens"] for one in chunks)


def test_turns_are_kept_whole_where_they_fit():
    """The answers that do not fit beside the question come in chunks of their own, with the question as context."""
    answers = [turn("assistant", f"{n}. {LONG * 3}", n) for n in range(2, 6)]
    chunks = cut(document_of(turn("user", "What of\nthe river?", 1), *answers))
    assert [one.text.count("deep") for one in chunks] == [18, 18, 18, 18]
    assert [one.context for one in chunks] == ["", *["user: What of the river?"] * 3]
    assert [one.metadata.get("opens", False) for one in chunks] == [True, False, False, False]


def test_a_turn_that_is_too_long_is_cut_and_each_piece_says_who_speaks():
    text = "\n\n".join(f"Paragraph {n}. {LONG}" for n in range(8))
    chunks = cut(document_of(turn("user", "Tell me."), turn("assistant", text, 2)))
    assert all(one.text.startswith("assistant:") for one in chunks[1:])
    assert [one.metadata["turns"] for one in chunks] == [2, *[0] * (len(chunks) - 1)]
    assert joined((one.text, one.metadata) for one in chunks).split() == f"user: Tell me. assistant: {text}".split()


def test_where_nobody_asks_as_many_turns_as_fit_are_a_chunk():
    chunks = cut(document_of(*(Block(text=LONG, metadata={"speaker": f"Person {n % 3}"}) for n in range(12))))
    assert [one.metadata["turns"] for one in chunks] == [4, 4, 4]


roles = st.sampled_from(["user", "assistant", "tool", None])
words = st.lists(
    st.sampled_from(["river", "stone.", "a", "Überfluss", "東京。", "e" * 150, "\n", "\n\n"]), min_size=1, max_size=90
)
talks = st.lists(st.tuples(roles, words.map(" ".join).filter(str.strip)), min_size=1, max_size=12)


@given(talks, st.sampled_from([24, 60, SEES]))
@settings(max_examples=60, deadline=None)
def test_the_chunks_together_say_what_was_said_in_order_and_none_is_too_long(talk, sees):
    """Names are said where they are needed; nothing else is added, lost or doubled."""
    blocks = [Block(text=text, metadata={"role": role} if role else {}) for role, text in talk]
    chunks = chunk(
        Document(blocks=tuple(blocks), extractor="messages"), plan_for("transcript", Chunking()), COUNTER, sees
    )
    assert all(COUNTER.count(one.embedded_text) <= sees for one in chunks)
    assert sum(one.metadata["turns"] for one in chunks) == len(talk)
    names_of = {"user:", "assistant:", "tool:"}
    plain = [word for word in joined((one.text, one.metadata) for one in chunks).split() if word not in names_of]
    assert "".join(plain) == "".join("".join(text.split()) for _, text in talk)
