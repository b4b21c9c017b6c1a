"""The short version of `scripts/hurt supply`: licences of what is locked, and wheels that are the same when built again."""

from __future__ import annotations

from importlib.util import find_spec

import licences
import pytest
from hurting import supply


def test_every_locked_package_has_its_licence_in_the_page():
    assert list(supply.unlisted()) == []


def test_a_package_that_the_page_lacks_is_found(tmp_path, monkeypatch):
    page = licences.PAGE.read_text()
    less = tmp_path / "licences.md"
    less.write_text("\n".join(line for line in page.split("\n") if not line.startswith("| msgspec |")))
    monkeypatch.setattr(licences, "PAGE", less)
    assert list(supply.unlisted()) == ["msgspec (core) has no licence in docs/licences.md"]


@pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed (lock/build.txt)")
@pytest.mark.skipif(find_spec("pip") is None, reason="pip is not installed")
def test_a_wheel_built_again_elsewhere_is_the_same_to_the_byte(tmp_path):
    assert list(supply.differences(tmp_path)) == []
