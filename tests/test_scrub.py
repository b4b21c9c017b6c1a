"""Which parts of a text are secrets, and what becomes of them. Every secret here is drawn by lot when the test runs."""

from __future__ import annotations

import signal
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from planted import LABELLED, TEMPLATES, Planter

from kb.scrub import find
from kb.scrub.documents import scrub_document, scrub_line
from kb.scrub.found import redacted
from kb.scrub.shapes import SHAPES
from kb.settings import Scrub
from kb.types import Block, Document

PLANTER = Planter(20261130)
KINDS_TOLD_BY_PLACE = {"token", "signed url", "api key", "password", "docker registry password", "putty private key", "dropbox token",
                       "crates.io token"}  # fmt: skip


def clean(text: str, **how: object) -> str:
    return redacted(text, find(text, **how))


def pieces(secret: str) -> list[str]:
    """Parts of a secret of which none may be left; beginnings are kinds of tokens, and no secret."""
    if len(secret) < 16:
        return [secret]
    return [secret[start : start + 8] for start in range(min(40, len(secret) // 2), len(secret) - 7, 4)] + [secret[-8:]]


def left_of(secret: str, text: str) -> list[str]:
    return [piece for piece in pieces(secret) if piece in text]


# What is a secret


@pytest.mark.parametrize("planted", PLANTER.every(), ids=lambda planted: planted.kind)
def test_each_kind_is_found_and_named(planted):
    said = clean(planted.line)

    assert left_of(planted.secret, said) == []
    assert f"[redacted: {planted.kind}]" in said


def test_every_row_of_the_table_is_planted_or_told_by_its_place():
    assert {shape.kind for shape in SHAPES} <= TEMPLATES.keys() | KINDS_TOLD_BY_PLACE | {"json web token"}


@pytest.mark.parametrize("name", ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "", "DSA "])
def test_a_private_key_goes_from_begin_to_end_and_its_lines_stay(name):
    key = PLANTER.private_key(name)

    said = clean(f"before\n{key}\nafter")

    assert said == "before\n[redacted: private key]" + "\n" * key.count("\n") + "\nafter"


def test_a_private_key_in_a_string_of_json_goes_whole():
    key = PLANTER.private_key()

    one_line = key.replace("\n", "\\n")
    said = clean(f'{{"type": "service_account", "private_key": "{one_line}"}}')

    assert said == '{"type": "service_account", "private_key": "[redacted: private key]"}'


def test_a_private_key_whose_end_is_missing_goes_as_far_as_it_looks_like_one():
    key = PLANTER.private_key().rpartition("\n")[0]

    said = clean(f"{key}\n\nThis is prose again.")

    assert said.split() == ["[redacted:", "private", "key]", "This", "is", "prose", "again."]


def test_certificates_public_keys_and_placeholders_of_keys_stay():
    public = PLANTER.private_key().replace("RSA PRIVATE", "PUBLIC")
    certificate = PLANTER.private_key().replace("RSA PRIVATE KEY", "CERTIFICATE")
    placeholder = "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"

    for text in (public, certificate, placeholder):
        assert clean(text) == text


@pytest.mark.parametrize("template", ["ghp_{a36}", "AKIA{u16}", "sk-ant-api03-{b93}AA", "AIza{b35}", "hf_{a34}"])
@pytest.mark.parametrize("gap", [" ", "\n", "\n    "])
def test_a_token_that_a_narrow_column_broke_goes_whole(template, gap):
    secret = PLANTER.made(template)
    cut = len(secret) * 2 // 3

    said = clean(f"It is {secret[:cut]}{gap}{secret[cut:]} and the rest is prose.")

    assert left_of(secret[:cut], said) == left_of(secret[cut:], said) == []
    assert said.endswith("and the rest is prose.")


def test_a_web_token_broken_into_many_lines_goes_whole():
    secret = PLANTER.web_token()
    broken = "\n".join(secret[start : start + 24] for start in range(0, len(secret), 24))

    said = clean(f"It is\n{broken}\n\nand so on.")

    assert said.count("[redacted: json web token]") == 1
    assert not any(line in said for line in broken.split("\n")[:-1])


def test_the_label_and_what_closes_it_stay():
    secret = PLANTER.made("{a12}{d2}")

    assert clean(f'"password": "{secret}",') == '"password": "[redacted: password]",'
    assert clean(f"DB_PASSWORD={secret} # main") == "DB_PASSWORD=[redacted: password] # main"
    assert clean(f"postgres://anna:{secret}@db/shop") == "postgres://anna:[redacted: password]@db/shop"


def test_a_vendors_name_wins_over_the_label():
    secret = PLANTER.made("ghp_{a36}")

    assert clean(f"token: {secret}") == "token: [redacted: github token]"


def test_words_are_passwords_where_a_configuration_says_so():
    assert clean("password: swordfish") == "password: [redacted: password]"
    assert clean("password = 'swordfish'") == "password = '[redacted: password]'"
    assert clean('passphrase: "correct horse battery staple"') == 'passphrase: "[redacted: password]"'


def test_all_strings_of_a_list_below_a_label_go():
    assert (
        clean('passwords: ["hunter22", "swordfish"]') == 'passwords: ["[redacted: password]", "[redacted: password]"]'
    )


def test_addresses_are_found_only_where_they_are_wanted():
    text = "Write to anna.b+kb@example.org, or to @nobody."

    assert clean(text) == text
    assert clean(text, emails=True) == "Write to [redacted: e-mail address], or to @nobody."


# What is none


@pytest.mark.parametrize(
    "text",
    [
        "password: <your password>", "password: $PASSWORD", "PASSWORD=${DB_PASSWORD}", "password: {{ vault.password }}", "password: xxxxxxxx",
        "password: ********", "password = os.environ['X']", 'token = os.environ["GITHUB_TOKEN"]', "token: str", "secret: bool = False",
        "token = tokens[0]", "api_key=api_key", "password: changeme", "keystore_password: cassandra", "password=minioadmin", "api_key: YOUR_API_KEY", "token = get_token(user)",
        "self.password = password", "password: string", "password: required", "Password must be 8 characters long", "max_tokens: 512",
        '"password": "Enter your password"', '"password": "Passwort"', "primary key: id1234567", "tokenizer: bert-base-uncased-v2",
        "secret: my-tls-secret", "secretKeyRef:\n  name: db-credentials-v2\n  key: password", "password: Optional[str] = None",
        "postgres://user:password@localhost/db", "postgres://${USER}:${PASS}@db/x", "http://localhost:8080 write to a@b.org",
        "AKIAIOSFODNN7EXAMPLE", "token: https://example.org/token/1234", "password_file: /run/secrets/db1", "--- PASS: TestLogin/2 (0.1s)",
        "compass: north12", "if token == 'identifier':", "pass: 12 fail: 3", "See key: abc12345 below", "the password is required",
        "password: !vault secret1", "token: *token1", "password: [redacted: password]", "sk-folding-cube", "a risk-based approach to task-12345678901234567890",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "The year 2026! What a year.", "It was in January 2026!",
    ],
)  # fmt: skip
def test_what_only_stands_for_a_secret_stays(text):
    assert clean(text) == text


def test_names_without_quotes_are_no_values_in_code():
    code = "password = hunter22\nlogin(token=token1, api_key=self.key1)\n"

    assert clean(code, language="python") == code
    assert clean(f"```python\n{code}```\n") == f"```python\n{code}```\n"


def test_quoted_values_are_secrets_in_code_too_and_comments_are_prose():
    secret = PLANTER.made("{a12}{d2}")

    assert secret not in clean(f'connect(user, password="{secret}")', language="python")
    assert secret not in clean(f"# password: {secret}", language="python")
    assert secret not in clean(f"export DB_PASSWORD={secret}", language="bash")
    assert secret not in clean(f"```yaml\ndb_password: {secret}\n```\n")


# What becomes of a text


@given(
    st.lists(
        st.sampled_from(
            [
                *(planted.line for planted in PLANTER.every()),
                "prose\n",
                "```python",
                '"',
                "'",
                "|",
                "=",
                "password:",
                "\\",
                " ",
            ]
        )
    )
)
@example(["token:", " ", PLANTER.made("ghp_{a36}")])
def test_lines_keep_their_numbers_and_nothing_is_found_twice(parts):
    text = "\n".join(parts)

    once = clean(text)

    assert once.count("\n") == text.count("\n")
    assert clean(once) == once


@given(st.text())
def test_any_text_is_cut_at_the_places_that_were_found(text):
    founds = find(text, emails=True)

    assert founds == sorted(founds)
    assert all(before.end <= after.start for before, after in pairwise(founds))
    assert all(0 <= found.start < found.end <= len(text) for found in founds)


HOSTILE = (
    "'a' * n", "'-----BEGIN PRIVATE KEY-----' * (n // 27)", "'-----BEGIN ' * (n // 11)", "'eyJ' * (n // 3)", "'eyJ.' * (n // 4)",
    "'password: ' * (n // 10)", "'password' * (n // 8)", "'://' * (n // 3)", "'://a:' * (n // 5)", "'sk-' * (n // 3)", "'| ' * (n // 2)",
    "'|--' * (n // 3) + '|'", "('| password |\\n| --- |\\n') * (n // 21)", "'key=' * (n // 4)", "'A1a' * (n // 3)", "'Company2026' * (n // 11)", "'@' * n",
    "'a@' * (n // 2)", "'\\\\' * n", "'password: \"' + 'x' * n", "'token ' * (n // 6)", "'```\\n' * (n // 4)", "' ' * n", "'\\n' * n",
    "'ghp_ ' * (n // 5)", "'curl ' * (n // 5)", "'secret[' * (n // 7)", "'Private-Lines: 8\\n' * (n // 17)", "'a1B2' * (n // 8) + ' ' + 'a1B2c3D4 ' * (n // 18)",
    "'xoxb-1 ' * (n // 7)", "'?a-sig=' * (n // 7)", "'$6$a$' * (n // 5)",
)  # fmt: skip


@pytest.fixture
def ten_seconds():
    """Of this process's own work, however busy the machine is; looking for a pattern can be interrupted."""

    def is_over(*_: object) -> None:
        raise TimeoutError("a pattern goes back over what it has read")

    before = signal.signal(signal.SIGVTALRM, is_over)
    signal.setitimer(signal.ITIMER_VIRTUAL, 10)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("made", HOSTILE)
@pytest.mark.usefixtures("ten_seconds")
def test_a_long_text_made_to_be_slow_is_not(made):
    """Each takes a third of a second or so, and would take minutes if a pattern went back over what it read."""
    find(eval(made, {"n": 300_000}), emails=True)


# Documents


def scrubbed(**fields: object) -> tuple[Document, dict[str, int]]:
    return scrub_document(Document(extractor="test", **fields), Scrub())


def test_a_key_over_several_blocks_goes_from_all_of_them_and_counts_once():
    lines = PLANTER.private_key().split("\n")
    blocks = tuple(
        Block(text="\n".join(part)) for part in (["Here it is:", *lines[:4]], lines[4:9], [*lines[9:], "That was it."])
    )

    document, counts = scrubbed(blocks=blocks)

    texts = [block.text.strip() for block in document.blocks]
    assert texts == [
        "Here it is:\n[redacted: private key]",
        "[redacted: private key]",
        "[redacted: private key]\n" + texts[2].split("\n", 1)[1],
    ]
    assert [block.text.count("\n") for block in document.blocks] == [block.text.count("\n") for block in blocks]
    assert texts[2].endswith("That was it.")
    assert counts == {"private key": 1}


def test_headings_context_title_tags_warnings_and_metadata_are_scrubbed():
    secrets = [PLANTER.made("ghp_{a36}") for _ in range(7)]
    document, counts = scrubbed(
        blocks=(Block(text="prose", heading=("Setup", secrets[0]), context=f"def f(): {secrets[1]}", metadata={"said": secrets[2]}),),
        title=f"On {secrets[3]}", tags=("a", secrets[4]), warnings=(f"line 3: {secrets[5]}",),
        metadata={"author": {"password": "swordfish", "pin": 1234, "list": [secrets[6]]}, "date": "2026-01-01"},
    )  # fmt: skip

    mark = "[redacted: github token]"
    block = document.blocks[0]
    assert (block.heading, block.context, block.metadata) == (("Setup", mark), f"def f(): {mark}", {"said": mark})
    assert (document.title, document.tags, document.warnings) == (f"On {mark}", ("a", mark), (f"line 3: {mark}",))
    assert document.metadata == {
        "author": {"password": "[redacted: password]", "pin": 1234, "list": [mark]}, "date": "2026-01-01",
    }  # fmt: skip
    assert counts == {"github token": 7, "password": 1}


def test_a_secret_in_a_heading_and_in_its_text_counts_once():
    secret = PLANTER.made("ghp_{a36}")

    _, counts = scrubbed(blocks=(Block(text=f"# Use {secret}", heading=(f"Use {secret}",)),), title=f"Use {secret}")

    assert counts == {"github token": 1}


def test_a_title_cut_in_the_midst_of_a_secret_loses_its_beginning():
    secret = PLANTER.made("{a30}{d2}")

    document, _ = scrubbed(blocks=(Block(text=f"the token: {secret}"),), title=f"the token: {secret[:7]}")

    assert document.title == "the token: [redacted]"


def test_a_document_without_secrets_is_the_same_object():
    document = Document(blocks=(Block(text="prose"),), extractor="test", metadata={"date": "2026-01-01"})

    assert scrub_document(document, Scrub())[0] is document


def test_nothing_is_done_where_scrubbing_is_off():
    document = Document(blocks=(Block(text="password: hunter22"),), extractor="test")

    assert scrub_document(document, Scrub(enabled=False)) == (document, {})


def test_a_line_of_a_log_is_scrubbed():
    assert (
        scrub_line("line 3: expected a number, got password: hunter22")
        == "line 3: expected a number, got password: [redacted: password]"
    )


def test_forms_are_all_different():
    assert max(Counter(LABELLED).values()) == 1
