"""Takes out of a parsed page what is not its text, and makes plain what would cut a sentence into pieces.

Navigation goes only where it is marked as such, by element or role; classes are not guessed at. Where a main or article
element holds most of the rest, the page is that element. Changes the soup in place; never loads anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

NEVER_TEXT = (
    *("script", "style", "noscript", "template", "head", "svg", "canvas", "map", "audio", "video"),
    *("iframe", "frame", "object", "embed", "applet", "button", "input", "select", "datalist", "textarea"),
)
INLINE = (  # what only changes how text looks: a sentence must not be cut where it begins
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins"),
    *(
        "kbd",
        "label",
        "mark",
        "nobr",
        "q",
        "rb",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
    ),
    *("time", "tt", "u", "var"),
)
PREFORMATTED = ("xmp", "listing", "plaintext")
CHROME = ("nav", "aside", "header", "footer")
CHROME_ROLES = ("navigation", "banner", "contentinfo", "complementary", "search")
CHROME_IN_MAIN = ("nav", "navigation", "search")
SECTIONS = ("main", "article", "section")  # a header or footer in one of these is the section's, not the page's
MAIN_SHARE = {"main": 0.5, "article": 0.75}  # of the text that is no chrome; beside an article may stand more content
CHROME_SHARE = 0.5  # more than this of a page marked as navigation: the mark is not believed
INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
PERMALINK = re.compile(r"[¶#§🔗]?")
LAYOUT = ["table", *HEADINGS, "pre", "details"]  # what a table of data does not hold
MAX_SPAN = 1000  # the HTML standard's own limit for columns
LINE_NUMBERS = re.compile(r"[\d\s]+")


def clean(soup: BeautifulSoup) -> None:
    """Leaves a body that holds the text of the page and its structure."""
    drop_what_is_never_text(soup)
    _keep_main(soup)
    _drop(
        link
        for link in soup.find_all("a")
        if link.find_parent(HEADINGS) and PERMALINK.fullmatch(link.get_text().strip())
    )
    for tag in soup.find_all(hidden=True):
        del tag["hidden"]  # Docling would drop what a browser finds and opens
    _write_out(soup)
    _make_tables_plain(soup)
    _make_lists_plain(soup)
    for tag in soup.find_all(INLINE):
        tag.unwrap()
    for tag in soup.find_all(PREFORMATTED):
        tag.name = "pre"
    for tag in soup.find_all(["header", "footer"]):
        tag.name = "div"  # of an article, so text; Docling would put it beside the page
    _merge_strings(soup)


def drop_what_is_never_text(soup: BeautifulSoup) -> None:
    """Scripts, forms, pictures, comments, and what the page itself hides."""
    _drop(soup.find_all(NEVER_TEXT))
    _drop(tag for tag in soup.find_all(hidden=True) if tag.get("hidden") != "until-found")
    _drop(soup.find_all(style=INVISIBLE))
    _drop_comments(soup)


def depth(soup: BeautifulSoup) -> int:
    """The levels of elements, counted without recursion."""
    deepest = 0
    open_tags: list[Tag] = []
    for tag in soup.find_all(True):
        while open_tags and open_tags[-1] is not tag.parent:
            open_tags.pop()
        open_tags.append(tag)
        deepest = max(deepest, len(open_tags))
    return deepest


def _drop(tags: Iterable[Tag]) -> None:
    for tag in [*tags]:
        if not tag.decomposed:
            tag.decompose()


def _drop_comments(soup: BeautifulSoup) -> None:
    from bs4.element import PreformattedString

    for comment in soup.find_all(string=lambda text: isinstance(text, PreformattedString)):
        comment.extract()


def _keep_main(soup: BeautifulSoup) -> None:
    """Leaves the main element alone where it holds most of the page; else takes the marked navigation out."""
    body = soup.body or soup
    tags = body.find_all(True)
    chrome = [tag for tag in tags if _is_chrome(tag)]
    known = {id(tag) for tag in chrome}
    whole = _length(body)
    rest = whole - sum(_length(tag) for tag in chrome if not any(id(parent) in known for parent in tag.parents))
    for kind, share in MAIN_SHARE.items():
        found = [tag for tag in tags if kind in (tag.name, _role(tag))]
        if len(found) == 1 and _length(found[0]) >= share * max(rest, 1):
            main = found[0].extract()
            body.clear()
            body.append(main)
            _drop(tag for tag in main.find_all(True) if tag.name in CHROME_IN_MAIN or _role(tag) in CHROME_IN_MAIN)
            return
    if rest >= CHROME_SHARE * whole:  # a page whose whole text is marked as navigation is kept as it is
        _drop(chrome)


def _is_chrome(tag: Tag) -> bool:
    if tag.name not in CHROME:
        return _role(tag) in CHROME_ROLES
    return tag.name == "nav" or tag.find_parent(SECTIONS) is None


def _role(tag: Tag) -> str:
    return str(tag.get("role", "")).lower()


def _length(tag: Tag) -> int:
    return sum(len(text.strip()) for text in tag.strings)


def _write_out(soup: BeautifulSoup) -> None:
    """Text in the place of what stands for text: pictures, formulas, quotation marks, ruby."""
    for image in soup.find_all("img"):
        image.replace_with(" ".join(str(image.get("alt", "")).split()))
    for formula in soup.find_all("math"):
        tex = formula.find("annotation", encoding="application/x-tex")
        written = tex.get_text() if tex else str(formula.get("alttext", ""))
        formula.replace_with(f"${written.strip()}$" if written.strip() else " ".join(formula.stripped_strings))
    for quotation in soup.find_all("q"):
        quotation.insert(0, "“")
        quotation.append("”")
    _drop(soup.find_all(["rt", "rp", "wbr"]))


def _make_tables_plain(soup: BeautifulSoup) -> None:
    """Layout tables become their cells in order; of data tables the spans are bounded and row groups dissolved."""
    for tag in soup.find_all("pre"):
        if LINE_NUMBERS.fullmatch(tag.get_text()) and tag.find_parent("table"):
            tag.decompose()
    for table in [t for t in soup.find_all("table") if _is_layout(t)]:
        for tag in table.find_all(["thead", "tbody", "tfoot", "tr", "td", "th", "caption"]):
            if tag.find_parent("table") is table:
                tag.name = "div"
        table.name = "div"
    for tag in soup.find_all(["thead", "tbody", "tfoot"]):
        tag.unwrap()
    for cell in soup.find_all(["td", "th"]):
        for span in ("rowspan", "colspan"):
            digits = str(cell.get(span, "1")).strip()
            if not digits.isdecimal() or not 1 <= int(digits[:9]) <= MAX_SPAN:
                del cell[span]


def _make_lists_plain(soup: BeautifulSoup) -> None:
    """A definition list without terms, as discussion pages indent with, is a list; Docling would lose its text."""
    for definitions in soup.find_all("dl"):
        if not any(term.find_parent("dl") is definitions for term in definitions.find_all("dt")):
            definitions.name = "ul"
            for tag in definitions.find_all("dd"):
                if tag.find_parent(["dl", "ul"]) is definitions:
                    tag.name = "li"


def _is_layout(table: Tag) -> bool:
    if _role(table) in ("presentation", "none") or table.find(LAYOUT):
        return True
    return len(table.find_all(["td", "th"], limit=2)) == 1


def _merge_strings(soup: BeautifulSoup) -> None:
    """Neighbouring strings become one, without the recursion of bs4's own `smooth`."""
    from bs4.element import NavigableString

    for text in soup.find_all(string=True):
        if text.parent is None:
            continue  # merged into the one before it
        run = [text]
        while type(following := run[-1].next_sibling) is NavigableString:
            run.append(following)
        if len(run) > 1:
            for later in run[1:]:
                later.extract()
            text.replace_with(NavigableString("".join(run)))
