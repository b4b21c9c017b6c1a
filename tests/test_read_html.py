"""Web pages: the text of the page, whole and as written, and nothing else; never a request."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kb.errors import NoText, UnreadableFile
from kb.read import html
from kb.types import Document, ReadOptions, Source

OPEN_PAGES = Path(__file__).parents[2] / "shared" / "data" / "docs" / "open" / "html"


def read(path: Path) -> Document:
    return html.read(Source(path=str(path), doc_type="html"), ReadOptions())


def page(tmp_path: Path, text: str | bytes) -> Document:
    path = tmp_path / "page.html"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path)


def body(tmp_path: Path, text: str) -> str:
    return "\n\n".join(block.text for block in page(tmp_path, f"<body>{text}</body>").blocks)


def test_headings_make_the_chain_and_stand_in_the_text(tmp_path):
    document = page(tmp_path, "<h1>Manual</h1><p>a<h2>Config</h2><p>b<h3>Advanced</h3><p>c<h2>Other</h2><p>d")
    assert [(block.heading, block.text) for block in document.blocks] == [
        (("Manual",), "# Manual\n\na"),
        (("Manual", "Config"), "## Config\n\nb"),
        (("Manual", "Config", "Advanced"), "### Advanced\n\nc"),
        (("Manual", "Other"), "## Other\n\nd"),
    ]


def test_what_the_head_says_is_metadata(tmp_path):
    document = page(
        tmp_path,
        '<html lang="de"><head><title> A \n title </title><link rel="canonical" href="https://example.org/a">'
        '<meta name="Description" content="About ducks"><meta property="article:published_time" content="2024-01-02">'
        "</head><body><p>text",
    )
    assert document.title == "A title"
    assert document.metadata == {
        "canonical_url": "https://example.org/a",
        "language": "de",
        "description": "About ducks",
        "published": "2024-01-02",
    }


def test_the_first_heading_is_the_title_of_a_page_without_one(tmp_path):
    assert page(tmp_path, "<svg><title>icon</title></svg><h1>Ducks</h1><p>x").title == "Ducks"


def test_scripts_styles_templates_forms_and_comments_are_not_text(tmp_path):
    text = body(
        tmp_path,
        "<p>kept</p><script>var a</script><style>p{}</style><template><p>inert</p></template><noscript>no js</noscript>"
        "<!-- remark --><form><select><option>Albania</select><button>Send</button><input value=v></form><svg><text>s</text></svg>",
    )
    assert text == "kept"


def test_hidden_elements_are_not_text_but_folded_ones_are(tmp_path):
    text = body(
        tmp_path,
        '<p hidden>a</p><p style="color:red; display : none">b</p><p hidden="until-found">found</p>'
        "<details><summary>More</summary><p>folded</p></details>",
    )
    assert text == "found\n\nMore\n\nfolded"


CHROME = '<header><a href="/">Home</a></header><nav>Menu</nav><div role="navigation">Trail</div>'
LONG = "<p>" + "The text of the page. " * 10 + "</p>"


def test_navigation_goes_and_the_main_text_stays(tmp_path):
    text = body(tmp_path, f"{CHROME}<div>{LONG}</div><aside>Adverts</aside><footer>Imprint</footer>")
    assert text == ("The text of the page. " * 10).strip()


def test_a_main_element_with_most_of_the_text_is_the_page(tmp_path):
    text = body(
        tmp_path, f"{CHROME}<div>Cookies?</div><main><header><h1>Ducks</h1></header>{LONG}<nav>toc</nav></main>"
    )
    assert text == "# Ducks\n\n" + ("The text of the page. " * 10).strip()


def test_a_main_element_with_little_of_the_text_is_not_the_page(tmp_path):
    assert "The text of the page" in body(tmp_path, f"<main><p>Teaser</p></main><div>{LONG}</div>")


def test_several_articles_are_all_read(tmp_path):
    text = body(tmp_path, f"<article><h2>One</h2>{LONG}</article><article><h2>Two</h2>{LONG}</article>")
    assert "One" in text
    assert "Two" in text


def test_a_page_that_is_all_navigation_is_kept(tmp_path):
    assert "Chapter 1" in body(tmp_path, '<nav><ol><li><a href="1">Chapter 1</a></ol></nav>')


def test_formatting_and_links_do_not_cut_a_word_or_a_sentence(tmp_path):
    text = body(
        tmp_path, '<p><b>W</b>ater is H<sub>2</sub>O, see <a href="x">the <i>man</i>ual</a>. Use <code>rm -rf</code>!'
    )
    assert text == "Water is H2O, see the manual. Use rm -rf!"


def test_typographic_characters_stay_as_written(tmp_path):
    line = "“Ducks” – 1987—99 … don’t می‌خواهم 👩‍👧"  # noqa: RUF001 these signs are meant
    assert body(tmp_path, f"<p>{line}</p>") == line


def test_code_keeps_its_lines_and_indentation(tmp_path):
    document = page(tmp_path, "<p>Do:</p><pre><code><span>if</span> x:<br>    return <b>1</b>\n\n# done\n</code></pre>")
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("text", "Do:"),
        ("code", "if x:\n    return 1\n\n# done"),
    ]


def test_code_in_a_list_is_a_block_of_its_own(tmp_path):
    document = page(tmp_path, "<ol><li>Install:<pre>pip install x\n  --user</pre>then<li>Run</ol>")
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("text", "1. Install:"),
        ("code", "pip install x\n  --user"),
        ("text", "then\n2. Run"),
    ]


def test_line_numbers_beside_code_are_left_out(tmp_path):
    document = page(tmp_path, "<table><tr><td><pre>1\n2</pre></td><td><pre>a = 1\nb = 2</pre></td></tr></table>")
    assert [block.text for block in document.blocks] == ["a = 1\nb = 2"]


def test_a_table_is_one_markdown_block_with_its_caption(tmp_path):
    (block,) = page(
        tmp_path,
        "<table><caption>Ducks</caption><thead><tr><th>Kind<th>Size</thead><tr><td rowspan=2>Wild<td>1 | 2"
        "<tr><td><ul><li>x<li>y</ul><tfoot><tr><td>Sum<td>3</tfoot></table>",
    ).blocks
    assert (block.kind, block.context) == ("table", "Ducks")
    assert block.text == "| Kind | Size |\n| --- | --- |\n| Wild | 1 \\| 2 |\n| Wild | x y |\n| Sum | 3 |"


def test_headers_of_two_rows_become_one(tmp_path):
    (block,) = page(
        tmp_path,
        "<table><tr><th>Region<th colspan=2>Q1</tr><tr><th><th>Jan<th>Feb</tr><tr><td>North<td>1<td>2</table>",
    ).blocks
    assert block.text.split("\n")[0] == "| Region | Q1 Jan | Q1 Feb |"


def test_a_layout_table_is_read_as_its_cells(tmp_path):
    document = page(
        tmp_path, "<table><tr><td>menu<td><h2>News</h2><p>today<table><tr><th>a<th>b<tr><td>1<td>2</table></table>"
    )
    assert [(block.kind, block.heading) for block in document.blocks] == [
        ("text", ()),
        ("text", ("News",)),
        ("table", ("News",)),
    ]


@pytest.mark.parametrize("span", ["99999999999", "-1", "x", "²", "0"])
def test_absurd_spans_cost_nothing(tmp_path, span):
    (block,) = page(tmp_path, f'<table><tr><td colspan="{span}" rowspan="{span}">a<td>b<tr><td>c<td>d</table>').blocks
    assert block.text == "| a | b |\n| --- | --- |\n| c | d |"


def test_lists_keep_numbers_start_and_nesting(tmp_path):
    text = body(tmp_path, '<ol start="3"><li>c<li>d<ul><li>inner</ul></ol><ol><li>a</ol><dl><dt>Term<dd>meaning</dl>')
    assert text == "3. c\n4. d\n  - inner\n\n1. a\n\n- Term\n  - meaning"


def test_pictures_give_their_alternative_text_and_never_their_data(tmp_path):
    text = body(tmp_path, '<p>See <img src="data:image/png;base64,AAAABBBB" alt="a duck"> here</p>')
    assert text == "See a duck here"


def test_formulas_are_tex_once(tmp_path):
    math = '<math><semantics><mrow><mi>E</mi></mrow><annotation encoding="application/x-tex">E=mc^2</annotation></semantics></math>'
    assert body(tmp_path, f"<p>so {math} holds</p>") == "so $E=mc^2$ holds"


def test_permalinks_of_headings_are_left_out(tmp_path):
    assert page(tmp_path, '<h2>Set up<a href="#x">¶</a></h2><p>x').blocks[0].heading == ("Set up",)


def test_broken_html_loses_no_text(tmp_path):
    text = body(
        tmp_path,
        "<div><p>one<div>two</p></span><table><tr><td>three<td>four</div><b>five<p>six</b>seven <unknown>eight",
    )
    for word in ("one", "two", "three", "four", "five", "six", "seven", "eight"):
        assert text.count(word) == 1


@pytest.mark.parametrize("element", ["div", "ul><li", "blockquote", "b", "table><tr><td"])
def test_very_deep_nesting_is_read_with_a_warning(tmp_path, element):
    document = page(tmp_path, f"<p>before</p>{f'<{element}>' * 10_000}needle")
    assert "needle" in "".join(block.text for block in document.blocks)


def test_ten_thousand_nested_boxes_are_plain_text_with_a_warning(tmp_path):
    assert "plain text" in page(tmp_path, "<div>" * 10_000 + "needle").warnings[0]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('<meta charset="windows-1251"><p>Привет'.encode("cp1251"), "Привет"),
        (
            '<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS"><p>日本語'.encode("shift_jis"),
            "日本語",
        ),
        ("\ufeff<p>žluťoučký".encode("utf-16-le"), "žluťoučký"),
        ('<?xml version="1.0" encoding="iso-8859-1"?><html><p>café'.encode("latin-1"), "café"),
        (
            '<meta charset="utf-8"><p>Über den Wolken müssen größere Vögel schön grüßen'.encode("cp1252"),
            "Vögel schön grüßen",
        ),
        ('<meta charset="no-such-thing"><p>naïve'.encode(), "naïve"),
    ],
)
def test_the_encoding_is_found(tmp_path, content, expected):
    assert expected in page(tmp_path, content).blocks[0].text


def test_entities_declared_in_the_page_are_never_expanded(tmp_path):
    (tmp_path / "secret.txt").write_text("password")
    text = body(
        tmp_path,
        f'<!DOCTYPE html [<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt"><!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
        "<p>start &x; &b; end</p>",
    )
    assert "password" not in text
    assert "aaaa&a;" not in text
    assert "start" in text


def test_nothing_is_ever_fetched(tmp_path):
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        page(
            tmp_path,
            f'<!DOCTYPE html SYSTEM "{at}/dtd"><html><head><base href="{at}/"><link rel=stylesheet href="{at}/css">'
            f'<script src="{at}/js"></script><meta http-equiv=refresh content="0;{at}/refresh"></head><body background="{at}/bg">'
            f'<img src="{at}/img" srcset="{at}/set 2x" alt="a"><iframe src="{at}/frame"></iframe><object data="{at}/object"></object>'
            f'<video src="{at}/video" poster="{at}/poster"></video><p style="background:url({at}/style)">text'
            f'<table><tr><td><img src="{at}/cell"><td>b<tr><td>c<td>d</table><figure><img src="{at}/figure"><figcaption>f</figure>',
        )
        server.shutdown()
    assert requests == []


@pytest.mark.parametrize(
    "content", ["", "   ", "<html><head><title>Only a title</title></head><body><script>x</script></body>"]
)
def test_a_page_that_says_nothing_is_said_to(tmp_path, content):
    with pytest.raises(NoText):
        page(tmp_path, content)


def test_binary_under_the_wrong_name_is_one_clear_line(tmp_path):
    with pytest.raises(UnreadableFile, match="binary data"):
        page(tmp_path, bytes(range(256)) * 40)


@pytest.mark.data
@pytest.mark.skipif(not OPEN_PAGES.exists(), reason="the open documents are not beside the project")
@pytest.mark.parametrize("name", sorted(path.name for path in OPEN_PAGES.glob("*.html")) if OPEN_PAGES.exists() else [])
def test_no_word_of_a_real_page_is_lost(name):
    """What is left after cleaning is all in the blocks: Docling and the conversion lose no word."""
    import re

    from bs4 import BeautifulSoup

    from kb.read import html_clean

    content = (OPEN_PAGES / name).read_bytes()
    soup = BeautifulSoup(html.html_text(content).text, "html.parser")
    html_clean.clean(soup)
    text = "".join(f"{block.text} {block.context} " for block in html.read_page(content, name).blocks)
    assert set(re.findall(r"\w+", soup.get_text(" "))) <= set(re.findall(r"\w+", text))


def test_soft_hyphens_do_not_part_a_word(tmp_path):
    document = page(tmp_path, "<p>exam&shy;ple and zero&#8203;width")
    assert (document.blocks[0].text, document.warnings) == ("example and zerowidth", ())


def test_text_where_html_allows_none_is_kept_at_the_end_with_a_warning(tmp_path):
    document = page(tmp_path, "<table><tr>stray<td>a<td>b</table>")
    assert document.blocks[-1].text == "stray"
    assert document.warnings == ("passages that could not be placed are at the end: 1",)


def test_the_footer_of_an_article_and_folded_text_in_a_cell_are_read_once(tmp_path):
    text = body(
        tmp_path,
        f"<article>{LONG}<footer>By Ann in 2024</footer>"
        "<table><tr><td>a<td><details><summary>More</summary>inside</details></table></article>",
    )
    assert text.count("By Ann in 2024") == 1
    assert text.count("inside") == 1


def test_a_list_of_definitions_without_terms_loses_nothing(tmp_path):
    assert body(tmp_path, "<dl><dd>one<dl><dd>two</dl></dl>") == "- one\n  - two"


def test_an_unclosed_list_of_thousands_keeps_its_items(tmp_path):
    document = page(tmp_path, "<ul>" + "".join(f"<li>item {at}" for at in range(300)) + "</ul>")
    assert document.warnings == ()
    assert document.blocks[0].text.split("\n")[299] == "- item 299"


def test_what_stands_beside_an_article_is_read_unless_the_article_is_nearly_all(tmp_path):
    assert "beside" in body(tmp_path, f"<article>{LONG}</article><div>{'text beside it ' * 10}</div>")
    assert "beside" not in body(tmp_path, f"<article>{LONG}</article><div>beside</div>")
