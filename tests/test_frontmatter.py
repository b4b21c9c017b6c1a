"""Front matter: YAML or TOML at the top of a file, as JSON values; what cannot be parsed is kept and said."""

from __future__ import annotations

import msgspec
import pytest

from kb.read.frontmatter import NONE, parse


def test_yaml_between_dashes():
    found = parse("---\ntitle: T\ndate: 2024-03-01\nn: 3\n---\nbody")

    assert found.metadata == {"title": "T", "date": "2024-03-01", "n": 3}
    assert found.title == "T"
    assert found.line_count == 5


def test_toml_between_pluses():
    found = parse("+++\ntitle = 'T'\ntags = ['a']\ndate = 2024-03-01T10:00:00Z\n+++\nbody")

    assert found.metadata == {"title": "T", "tags": ["a"], "date": "2024-03-01T10:00:00+00:00"}
    assert found.tags == ("a",)


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("tags: [a, b]", ("a", "b")),
        ("tags: a, b", ("a", "b")),
        ("tags:\n  - a\n  - b", ("a", "b")),
        ("keywords: [a]", ("a",)),
        ("tags: [2024, true]", ("2024", "True")),
        ("tags: [a, a, ' a ', '']", ("a",)),
        ("tags:", ()),
        ("tags: 5", ()),
    ],
)
def test_tags_are_given_in_many_ways(line, tags):
    assert parse(f"---\n{line}\n---\n").tags == tags


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no fence",
        "\n---\na: 1\n---\n",
        "---\nonly text\n---\n",
        "---\n- a\n---\n",
        "---\na: 1\nnever closed",
        "----\n",
    ],
)
def test_what_is_no_front_matter_is_left_alone(text):
    assert parse(text) == NONE


def test_an_empty_title_is_none():
    assert parse("---\ntitle: ''\n---\n").title is None


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("---\na: [1\n---", "line 3: expected ',' or ']'"),
        ("---\na: &x 1\nb: *x\n---", "aliases are not allowed here"),
        ("---\na: !!python/object:os.system x\n---", "could not determine a constructor"),
        ("---\nd: 2024-02-30\n---", "day is out of range"),
        ("+++\na = \n+++", "Invalid value (at line 1, column 5)"),
    ],
)
def test_what_cannot_be_parsed_is_kept_with_a_reason(block, reason):
    found = parse(f"{block}\nbody\n")

    assert found.metadata == {}
    assert found.unparsed == block
    assert found.warning.startswith("front matter is kept as text: ")
    assert reason in found.warning
    assert "\n" not in found.warning


def test_a_bomb_of_aliases_is_refused_at_once():
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))

    assert "aliases" in parse(f"---\n{bomb}---\n").warning


def test_deep_nesting_is_refused():
    deep = f"{'[' * 5000}{']' * 5000}"

    assert parse(f"---\na: {deep}\n---\n").warning.endswith("nested too deeply")
    assert parse(f"+++\na = {deep}\n+++\n").warning


def test_values_are_json():
    found = parse(
        "---\nset: !!set {a, b}\nnan: .nan\ninf: .inf\nbin: !!binary aGk=\nat: 2024-01-01 10:00:00\n1: x\n---\n"
    )

    assert msgspec.json.decode(msgspec.json.encode(found.metadata)) == found.metadata
    assert found.metadata["nan"] is None
    assert found.metadata["at"] == "2024-01-01T10:00:00"
    assert found.metadata["1"] == "x"
