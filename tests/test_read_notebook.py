"""Notebooks: prose under its headings, code as code, short output, and nothing in base64."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kb.errors import NoText, UnreadableFile
from kb.read import notebook
from kb.types import Document, ReadOptions, Source


def read(path: Path) -> Document:
    return notebook.read(Source(path=str(path), doc_type="notebook"), ReadOptions())


def made(tmp_path: Path, *cells: dict, **metadata) -> Document:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "metadata": metadata, "cells": list(cells)}))
    return read(path)


def prose(text: str) -> dict:
    return {"cell_type": "markdown", "source": text.splitlines(keepends=True)}


def code(text: str, *outputs: dict) -> dict:
    return {"cell_type": "code", "source": text, "outputs": list(outputs)}


def stream(text: str) -> dict:
    return {"output_type": "stream", "name": "stdout", "text": text}


def rows(document: Document) -> list[tuple]:
    return [(block.kind, block.heading, block.text) for block in document.blocks]


def test_headings_hold_for_the_cells_below(tmp_path):
    document = made(
        tmp_path,
        prose("# Study\n\nWhy."),
        code("x = 1"),
        prose("## Data\n"),
        code("load()"),
        prose("More.\n\n# End\n\nBye."),
    )
    assert rows(document) == [
        ("text", ("Study",), "# Study\n\nWhy."),
        ("code", ("Study", "cell 2"), "x = 1"),
        ("text", ("Study", "Data"), "## Data"),
        ("code", ("Study", "Data", "cell 4"), "load()"),
        ("text", ("Study", "Data"), "More."),
        ("text", ("End",), "# End\n\nBye."),
    ]
    assert document.title == "Study"


def test_the_language_is_the_kernels(tmp_path):
    assert made(tmp_path, code("1"), kernelspec={"language": "R"}).language == "R"
    assert made(tmp_path, code("1"), language_info={"name": "julia"}).language == "julia"


def test_output_is_kept_short(tmp_path):
    document = made(tmp_path, code("run()", stream("".join(f"epoch {n}\n" for n in range(500)))))
    output = document.blocks[1].text
    assert output.startswith("Output:\nepoch 0\n")
    assert output.endswith("… (500 lines in all)")
    assert output.count("\n") == notebook.OUTPUT_LINES + 1


def test_an_error_is_its_name_and_message_without_colours(tmp_path):
    error = {
        "output_type": "error",
        "ename": "KeyError",
        "evalue": "\x1b[31m'x'\x1b[0m",
        "traceback": ["\x1b[0;31mlong"],
    }
    assert made(tmp_path, code("d['x']", error)).blocks[1].text == "Output:\nKeyError: 'x'"


def test_pictures_are_never_text(tmp_path):
    picture = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": ["<Figure size 1>"]}}
    document = made(tmp_path, prose("![a](data:image/png;base64,iVBORw0KGgo=) after"), code("plot()", picture))
    text = "\n".join(block.text for block in document.blocks)
    assert "iVBOR" not in text
    assert "after" in text
    assert "<Figure size 1>" in text


def test_format_3_is_read(tmp_path):
    path = tmp_path / "old.ipynb"
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old part"},
        {"cell_type": "code", "language": "python", "input": ["print(1)"], "outputs": [stream("1")]},
    ]
    path.write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    document = read(path)
    assert rows(document) == [
        ("text", ("Old part",), "## Old part"),
        ("code", ("Old part", "cell 2"), "print(1)"),
        ("text", ("Old part", "cell 2"), "Output:\n1"),
    ]
    assert document.language == "python"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"cells": [', "broken JSON at line 1"),
        ("[1, 2]", "not a notebook"),
        ('{"a": 1}', "not a notebook"),
        ("[" * 100_000, "nested too deeply"),
        ('{"cells": [{"cell_type": "code", "source": "a", "outputs": 5}]}', "damaged"),
        ('{"cells": 7}', "damaged"),
    ],
)
def test_what_is_no_notebook_is_said_in_one_line(tmp_path, content, message):
    path = tmp_path / "a.ipynb"
    path.write_text(content)
    with pytest.raises(UnreadableFile, match=message) as caught:
        read(path)
    assert "\n" not in caught.value.message


def test_an_empty_notebook_holds_no_text(tmp_path):
    with pytest.raises(NoText):
        made(tmp_path, code(""), prose("  "))
