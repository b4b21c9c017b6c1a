"""Data files: blocks follow the structure, the key path is the heading, nothing that is written gets lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import NoText, UnreadableFile
from kb.read.data import json_, read, toml_, tree, yaml_
from kb.read.data.json_pretty import pretty
from kb.types import ReadOptions, Source

OPEN = Path(__file__).parents[2] / "shared" / "data" / "docs" / "open"


@pytest.fixture
def reading(tmp_path):
    def read_text_as(name, text):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return read(Source(path=str(path), doc_type="data"), ReadOptions())

    return read_text_as


def headings(document):
    return [block.heading for block in document.blocks]


def blocks_with(document, phrase):
    return [block for block in document.blocks if phrase in block.text]


COMPOSE = f"""\
# how the site runs
services:
  web:
    image: nginx  # pinned elsewhere
    ports:
      - "8080:80"
    labels:
      - {"a" * 700}
  db:
    image: postgres
"""


def test_the_key_path_is_the_heading_and_comments_stay(reading):
    document = reading("compose.yaml", COMPOSE)

    assert headings(document) == [
        ("services", "web"),
        ("services", "web", "labels", "[0]"),
        ("services", "db", "image"),
    ]
    assert "# how the site runs" in document.blocks[0].text
    assert "# pinned elsewhere" in document.blocks[0].text
    assert (document.blocks[2].lines.first, document.blocks[2].lines.last) == (9, 10)


def test_a_small_file_is_one_block_under_the_keys_that_have_no_neighbours(reading):
    document = reading("a.yaml", "services:\n  web:\n    ports:\n      - 1\n      - 2\n")

    assert headings(document) == [("services", "web", "ports")]


@pytest.mark.parametrize("name", ["json", "yaml"])
def test_a_path_to_a_big_value_has_all_its_keys(reading, name):
    value = {"services": {"web": {"ports": ["p" * 400, "q" * 400]}, "db": {"image": "r" * 800}}}

    document = reading(f"a.{name}", json.dumps(value, indent=2))

    assert blocks_with(document, "p" * 400)[0].heading == ("services", "web", "ports", "[0]")
    assert blocks_with(document, "r" * 800)[0].heading == ("services", "db", "image")


def test_each_yaml_document_is_its_own_and_named_as_kubernetes_names_it(reading):
    document = reading(
        "all.yaml",
        "kind: Service\nmetadata:\n  name: redis\n---\n# the rest\nkind: Deployment\nmetadata:\n  name: web\n---\na: 1\nb: 2\n",
    )

    assert headings(document) == [("Service redis",), ("Deployment web",), ("document 3",)]
    assert document.blocks[1].text.startswith("---\n# the rest\nkind: Deployment")


def test_yaml_tags_are_not_obeyed(reading, tmp_path):
    document = reading("evil.yaml", f'!!python/object/apply:os.system ["touch {tmp_path}/evil"]\n')

    assert "os.system" in document.blocks[0].text
    assert not (tmp_path / "evil").exists()


def test_anchors_and_merges_stay_as_they_are_written(reading):
    document = reading("a.yaml", "base: &base\n  x: 1\nprod:\n  <<: *base\n  y: 2\n")

    assert "<<: *base" in document.blocks[0].text


def test_unicode_line_separators_do_not_shift_yaml_lines(reading):
    document = reading("a.yaml", f'a: "x\u2028y\x85z"\nb: {"v" * 800}\n')

    assert document.blocks[-1].heading == ("b",)
    assert document.blocks[-1].lines.first == 2


BILLION_LAUGHS = 'a: &a ["lol","lol","lol","lol","lol","lol","lol","lol","lol"]\n' + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("lol.yaml", BILLION_LAUGHS, "bomb"),
        ("deep.yaml", "[" * 100_000, "nested"),
        ("deep.yaml", "[" * 300 + "]" * 300, "nested"),
        ("deep.yaml", "".join(" " * depth + "a:\n" for depth in range(1_500)), "nested"),
        ("deep.json", "[" * 100_000, "nested"),
        ("deep.json", '{"a":' * 100_000, "nested"),
        ("deep.jsonl", '{"a": 1}\n' + "[" * 10_000, "line 2 is nested"),
        ("deep.toml", "a = " + "[" * 10_000, "nested"),
        ("binary.json", "\0" * 100, "binary"),
    ],
)
def test_bombs_are_clear_errors_that_name_the_file(reading, name, text, reason):
    with pytest.raises(UnreadableFile, match=reason) as caught:
        reading(name, text)

    assert name in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("text", ["&a [*a]\n", "a: &a\n  b: *a\n", "&a\n- *a\n- x\n"])
def test_an_alias_to_itself_ends(reading, text):
    assert reading("cycle.yaml", text).blocks[0].text == text.strip()


@pytest.mark.parametrize(
    ("name", "text", "warning"),
    [
        ("bad.json", '{\n "a": 1\n "b": 2\n}', "not valid JSON (line 3: Expecting ',' delimiter): indexed as text"),
        (
            "bad.toml",
            "a = 1\na = 2\n",
            "not valid TOML (Cannot overwrite a value (at line 2, column 6)): indexed as text",
        ),
        (
            "bad.yaml",
            "a:\n\tb: 1\n",
            "not valid YAML (line 2: found character that cannot start any token): indexed as text",
        ),
        ("bad.jsonl", '{"a": 1}\nno\n{"b": 2}\nno\n', "not valid JSON (line 2 and 1 more): indexed as text"),
    ],
)
def test_what_breaks_the_rules_is_indexed_as_text_with_a_warning_that_names_the_line(reading, name, text, warning):
    document = reading(name, text)

    assert document.warnings == (warning,)
    assert "\n".join(block.text for block in document.blocks) == text.strip()


def test_an_empty_file_has_no_text(reading):
    with pytest.raises(NoText, match=r"empty\.json: empty"):
        reading("empty.json", "\n  \n")


def test_comments_and_trailing_commas_in_json_are_no_fault(reading):
    text = '// c\n{\n  /* x */ "a": [1, 2,],\n  "url": "http://x",\n}'

    document = reading("tsconfig.json", text)

    assert (document.warnings, document.blocks[0].text) == ((), text)


def test_minified_json_is_pretty_printed_under_its_own_line_numbers(reading):
    document = reading("min.json", '\n{"a":{"b":[1,2,3],"c":{}},"e":[{"f":"g"}]}')

    assert document.blocks[0].text == (
        '{\n  "a": {\n    "b": [1, 2, 3],\n    "c": {}\n  },\n  "e": [\n    {\n      "f": "g"\n    }\n  ]\n}'
    )
    assert (document.blocks[0].lines.first, document.blocks[0].lines.last) == (2, 2)


def test_escapes_become_what_they_stand_for(reading):
    document = reading(
        "a.json", '\ufeff{"a": "\\u53cb\\ud83d\\ude00 http:\\/\\/x line\\nnext \\"q\\" \\\\n",\n"b": "\\ud800"}'
    )

    assert document.blocks[0].text == '{"a": "友😀 http://x line next \\"q\\" \\\\n",\n"b": "\ufffd"}'


def test_duplicate_keys_huge_numbers_and_nan_survive_pretty_printing(reading):
    document = reading("a.json", f'{{"a":1,"a":2,"n":NaN,"i":-Infinity,"h":{"1" * 5_000}}}')

    text = "\n".join(block.text for block in document.blocks)
    assert '"a": 1,\n  "a": 2,\n  "n": NaN,\n  "i": -Infinity,' in text
    assert "1" * 5_000 in text


def test_a_long_string_is_kept_whole(reading):
    document = reading("a.json", json.dumps({"a": {"long": "text " * 10_000, "short": 1}}))

    assert len(blocks_with(document, "text " * 10_000)) == 1


def test_json_lines_in_a_json_file_are_read_as_such(reading):
    document = reading("rows.json", '{"a": 1}\n{"a": 2}\n')

    assert (document.warnings, document.blocks[0].lines.last) == ((), 2)


def test_a_long_json_line_is_pretty_printed_and_short_ones_are_grouped(reading):
    rows = [json.dumps({"id": number, "text": "t" * 50}) for number in range(100)] + [
        json.dumps({"long": ["x" * 900] * 2})
    ]

    document = reading("rows.jsonl", "\n".join(rows))

    assert 4 < len(document.blocks) < 10
    assert document.blocks[-1].text.startswith('{\n  "long": [')
    assert document.blocks[-1].lines.first == 101


def test_toml_tables_are_found_past_strings_and_lists_that_look_like_them(reading):
    text = (
        '# top\nx = 1\n\n# the tool\n[tool."a.b".lint]\ny = """\n[not]\nz = 1\n"""\nn = [\n  1,\n  [2],\n]\n'
        f'long = "{"w" * 800}"\n\n[[part]]\nname = "p"\n'
    )

    document = reading("a.toml", text)

    assert blocks_with(document, "[not]")[0].heading == ("tool", "a.b", "lint")
    assert blocks_with(document, "w" * 800)[0].heading == ("tool", "a.b", "lint", "long")
    assert blocks_with(document, "[[part]]")[0].heading == ("part", "name")
    assert "# the tool" in blocks_with(document, "[not]")[0].text


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=6),
    max_leaves=30,
)


@given(VALUES, st.sampled_from([None, 2]))
def test_pretty_printed_json_says_the_same(value, indent):
    text = json.dumps(value, indent=indent)

    printed = "\n".join(pretty(text).lines)

    assert json.loads(printed, strict=False) == json.loads(json_.unescaped(text), strict=False)


def check_cover(text, nodes):
    """Every line that is not blank is in exactly one block, in order."""
    lines = text.split("\n")
    covered = [
        number
        for block in tree.blocks(tree.Text(lines), nodes)
        for number in range(block.lines.first, block.lines.last + 1)
        if lines[number - 1].strip()
    ]
    assert covered == [number for number, line in enumerate(lines, start=1) if line.strip()]


@given(VALUES)
def test_blocks_of_json_hold_every_line_once(value):
    text = json.dumps(value, indent=1)

    check_cover(text, json_.nodes(text))


@given(VALUES, st.booleans())
def test_blocks_of_yaml_hold_every_line_once(value, flow):
    text = yaml.safe_dump(value, default_flow_style=flow, width=40)

    check_cover(text, yaml_.nodes(text))


def test_blocks_of_real_toml_hold_every_line_once():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")

    check_cover(text, toml_.nodes(text))


@pytest.mark.data
@pytest.mark.skipif(not OPEN.exists(), reason="the collections at ../shared/data are absent")
@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("json/feed.json", "jsonfeed.org"),
        ("json/longline.json", "ANGLE_instanced_arrays"),
        ("json/twitter.json", "友達おろして迷子"),
        ("toml/httpx-pyproject.toml", "Tom Christie"),
        ("toml/spec-example-1.toml", "TOML Example"),
        ("yaml/cassandra.yaml", "hinted_handoff_enabled"),
        ("yaml/guestbook-all-in-one.yaml", "redis-replica"),
    ],
)
def test_real_files_are_found_by_their_phrases(name, phrase):
    document = read(Source(path=str(OPEN / name), doc_type="data"), ReadOptions())

    assert blocks_with(document, phrase)


@pytest.mark.data
@pytest.mark.skipif(not OPEN.exists(), reason="the collections at ../shared/data are absent")
def test_real_files_that_must_be_reported():
    with pytest.raises(UnreadableFile, match="nested more than 200 levels deep"):
        read(Source(path=str(OPEN / "json/n_structure_100000_opening_arrays.json"), doc_type="data"), ReadOptions())

    invalid = read(Source(path=str(OPEN / "toml/array-implicit.toml"), doc_type="data"), ReadOptions())

    assert "at line 13" in invalid.warnings[0]
