"""What a page's head says of it: title, canonical address, language, description, author, dates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

META = {  # our name -> the names or properties of <meta> that hold it, best first
    "title": ("og:title", "dc.title"),
    "canonical_url": ("og:url",),
    "language": ("content-language", "og:locale"),
    "description": ("description", "og:description", "dc.description"),
    "author": ("author", "article:author", "dc.creator"),
    "published": ("article:published_time", "date", "dc.date"),
    "modified": ("article:modified_time", "og:updated_time", "dcterms.modified"),
}


def metadata(soup: BeautifulSoup) -> dict[str, str]:
    """Only what is there; white space folded."""
    named = dict(_named(soup))
    found = {ours: next((named[n] for n in names if named.get(n)), "") for ours, names in META.items()}
    found["title"] = _title(soup) or found["title"]
    found["canonical_url"] = _canonical(soup) or found["canonical_url"]
    found["language"] = _language(soup) or found["language"]
    return {name: value for name, value in found.items() if value}


def _named(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    for meta in reversed(soup.find_all("meta")):  # reversed, so that the first of a name wins in a dict
        name = meta.get("name") or meta.get("property") or meta.get("http-equiv")
        yield str(name).lower(), _folded(str(meta.get("content", "")))


def _title(soup: BeautifulSoup) -> str:
    title = soup.find("title")  # not soup.title: that would be the title of an SVG drawing in a page without one
    return "" if title is None or title.find_parent("svg") else _folded(title.get_text(" "))


def _canonical(soup: BeautifulSoup) -> str:
    link = soup.find("link", rel="canonical")
    return "" if link is None else _folded(str(link.get("href", "")))


def _language(soup: BeautifulSoup) -> str:
    root = soup.find("html")
    return "" if root is None else _folded(str(root.get("lang") or root.get("xml:lang") or ""))


def _folded(text: str) -> str:
    return " ".join(text.split())
