"""Web pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.html.web_page import html_elements, open_html
from tests.support.documents.reading import Read, read


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "page.html"


def shown(file: Path, markup: str) -> Read:
    return read(open_html, file, markup)


def brief(markup: str) -> list[tuple[str, Any]]:
    return [(one.category, one.content.get("text", one.content)) for one in html_elements(markup)]


def table_in(markup: str) -> dict[str, Any]:
    return next(one.content for one in html_elements(markup) if one.category == "table")


# ---------------------------------------------------------------------------------------------------------------- words


def test_blocks_are_elements_and_words_run_together(file: Path) -> None:
    assert brief(
        "<h2 id=x>A <i>b</i></h2><div>one<p>two\n <b>three</b><br>four</p>five</div><hr><blockquote>q</blockquote>"
    ) == [
        ("heading", "A b"),
        ("text", "one"),
        ("text", "two three\nfour"),
        ("text", "five"),
        ("separator", ""),
        ("text", "q"),
    ]
    found = html_elements("<h2 id=x>A</h2><blockquote><p>q</blockquote>")
    assert (found[0].content, found[0].metadata) == ({"level": 2, "text": "A"}, {"anchor": "x"})
    assert found[1].metadata == {"quote": True}


def test_code_keeps_its_lines_and_language() -> None:
    found = html_elements(
        '<pre><code class="language-python">def a():\n    return 1 &lt; 2\n</code></pre>'
        '<div class="highlight-python3 notranslate"><pre><span>x</span> = <span>1</span></pre></div>'
        '<pre class="x"><span class="line">a<br></span><span class="line">b<br></span></pre>'
    )
    assert [one.content for one in found] == [
        {"code": "def a():\n    return 1 < 2", "language": "python"},
        {"code": "x = 1", "language": "python"},
        {"code": "a\nb", "language": ""},
    ]


@pytest.mark.parametrize(
    "markup",
    [
        '<span class="lineno">1</span>x = <b>1</b>\n<span class="lineno">2</span>y',
        '<span class="lineno"><a>1</a></span>x = <b>1</b>\n<a><span class="linenos special"><b>2</b> </span></a>y',
        '<div class="lineno"><p>1</p></div>x = <b>1</b><div class="lineno"><p>2</p></div>y',
        '<code class="linenos">x = <b>1</b>\ny</code>',
        '<code><a href="#1" data-nosnippet>1</a>x = <b>1</b>\n<a href="#2" data-nosnippet>2</a>y</code>',
    ],
)
def test_line_numbers_are_not_part_of_code(markup: str) -> None:
    assert brief(f"<pre>{markup}</pre>") == [("code", {"code": "x = 1\ny", "language": ""})]


def test_links_are_noted_and_a_link_alone_is_one() -> None:
    found = html_elements('<p><a href="u">All</a></p><p>See <a href="v">it</a> <a href="javascript:x()">no</a></p>')
    assert (found[0].category, found[0].content) == ("link", {"text": "All", "url": "u"})
    assert (found[1].content, found[1].metadata) == ({"text": "See it no"}, {"links": [{"text": "it", "url": "v"}]})


def test_a_base_address_makes_others_whole() -> None:
    found = html_elements('<base href="https://a.example/b/"><p><a href="c">x</a></p><img src="d.png" alt=e>')
    assert [one.content["url"] for one in found] == ["https://a.example/b/c", "https://a.example/b/d.png"]


def test_formulas_are_tex_where_it_is_given() -> None:
    math = "<math{}><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></math>"
    assert brief(math.format(" display=block")) == [("formula", {"expression": "x^2"})]
    assert brief(f"<p>so {math.format('')} is") == [("text", "so x^2 is")]


# ---------------------------------------------------------------------------------------------------------------- lists


def test_lists_are_nested() -> None:
    found = html_elements("<ol start=4><li>a<ul><li>b<li>c</ul><li><p>d<p>e</ol>")
    items = [{"text": "a", "items": ["b", "c"], "ordered": False}, "d\ne"]
    assert (found[0].content, found[0].metadata) == ({"items": items, "ordered": True}, {"start": 4})


def test_definitions_are_lists_below_their_terms() -> None:
    assert html_elements("<dl><dt>a<dd>one<dd>two<dt>b<dd>three</dl>")[0].content["items"] == [
        {"text": "a", "items": ["one", "two"], "ordered": False},
        {"text": "b", "items": ["three"], "ordered": False},
    ]


def test_other_things_in_a_list_keep_their_places() -> None:
    found = brief("<ul><li>a<pre>x</pre>after<li>b<ul><li>c<img src=i alt=j><li>d</ul><li>e</ul>")
    assert [category for category, _ in found] == ["list", "code", "text", "list", "image", "list"]
    assert [content["items"] for category, content in found if category == "list"] == [
        ["a"],
        [{"text": "b", "items": ["c"], "ordered": False}],
        ["d", "e"],
    ]


def test_boxes_in_a_list_are_tasks() -> None:
    assert brief("<ul><li><input type=checkbox checked> a<li><input type=checkbox> b</ul>")[0][1]["items"] == [
        "[x] a",
        "[ ] b",
    ]


# --------------------------------------------------------------------------------------------------------------- tables


def test_tables_have_headers_and_spanning_cells() -> None:
    found = table_in(
        "<table><thead><tr><th rowspan=2>Name<th colspan=2>2024</tr><tr><th>Q1<th>Q2</tr></thead>"
        "<tr><td rowspan=2>A<td>1<td>2<tr><td colspan=2>3</table>"
    )
    assert found == {"headers": ["Name", "2024 / Q1", "2024 / Q2"], "rows": [["A", "1", "2"], ["A", "3", "3"]]}


@pytest.mark.parametrize(
    ("rows", "headers"),
    [
        ("<tr><td><b>N</b><td><b>V</b><tr><td>a<td>b", ["N", "V"]),
        ("<tr><td>Name<td>Value<tr><td>a<td>1,200.50", ["Name", "Value"]),
        ("<tr><td>a<td>b<tr><td>c<td>d", ["", ""]),
        ("<tr><th>a<td>1<tr><th>b<td>2", ["", ""]),
    ],
)
def test_headers_are_found_where_nothing_names_them(rows: str, headers: list[str]) -> None:
    assert table_in(f"<table>{rows}</table>")["headers"] == headers


def test_cells_hold_text_whatever_is_in_them() -> None:
    found = html_elements(
        "<table><caption>Cap</caption><tr><th>A<th>B<tr><td><ul><li>x<li>y</ul><td>"
        "<table><tr><th>K<th>V</tr>\n<tr><td>k<td>v</table><tr><td><img src=p.png alt=Pic><td><a href=u>l</a></table>"
    )
    assert [one.category for one in found] == ["text", "table", "image"]
    assert found[1].content["rows"] == [["- x\n- y", "K | V\nk | v"], ["Pic", "l"]]
    assert found[1].metadata == {"caption": "Cap", "links": [{"text": "l", "url": "u"}]}
    assert found[1].summary == "Cap"


def test_tables_for_layout_are_no_tables() -> None:
    markup = "<table><tr><td><h1>T</h1><p>words</p><td><table><tr><th>a<tr><td>1</table></table>"
    assert [category for category, _ in brief(markup)] == ["heading", "text", "table"]
    assert brief('<table role="presentation"><tr><td>a<td>b</table>') == [("text", "a"), ("text", "b")]


def test_spans_do_not_fill_the_memory() -> None:
    markup = "<table border=1>" + "<tr><td colspan=1000 rowspan=60000>x</td><td>y" * 2_000
    found = table_in(markup)
    assert len(found["rows"]) * len(found["headers"]) <= 1_000_000


# --------------------------------------------------------------------------------------------- pictures, players, forms


def test_pictures_say_what_they_show(file: Path) -> None:
    (file.parent / "a.png").write_bytes(b"bytes")
    found = shown(
        file,
        '<p>Before <img src="a.png" alt="A" title="T" width=30 height=20> after</p><img src="x.gif" width=1 height=1>'
        '<img src="data:image/gif;base64,AA" data-src="lazy.jpg" alt="L"><svg><title>Drawing</title></svg><svg></svg>',
    )
    assert [one.category for one in found.elements] == ["text", "image", "image", "image"]
    first = found.elements[1]
    assert (first.content, first.metadata) == ({"alt": "A", "url": "a.png", "description": "T"}, {"size": [30, 20]})
    assert first.picture is not None
    assert first.picture() == ("image/png", b"bytes")
    assert found.elements[2].content["url"] == "lazy.jpg"
    assert found.elements[3].content["alt"] == "Drawing"


def test_players_and_frames_are_elements() -> None:
    found = html_elements(
        '<video title="V"><source src="v.mp4"></video><audio src="a.mp3"></audio>'
        '<iframe src="https://m.example" title="Map"></iframe><iframe src="https://www.youtube.com/embed/1"></iframe>'
    )
    assert [(one.category, one.content["text"], one.content["url"]) for one in found] == [
        ("video", "V", "v.mp4"),
        ("audio", "a.mp3", "a.mp3"),
        ("widget", "Map", "https://m.example"),
        ("video", "https://www.youtube.com/embed/1", "https://www.youtube.com/embed/1"),
    ]


def test_forms_have_fields_with_labels_and_keep_secrets() -> None:
    found = html_elements(
        '<form action="/go"><h2>Order</h2><label for=n>Name</label><input id=n name=name value=Ada>'
        "<input type=hidden name=t><label><input type=checkbox name=ok checked> Agreed</label>"
        "<input type=password name=p value=secret>"
        "<select name=s><option>One<option selected>Two</select><textarea name=m>Hi\nyou</textarea>"
        "<button>Send</button></form>"
    )
    assert [one.category for one in found] == ["heading", "form"]
    form = found[1].content
    assert form["action"] == "/go"
    assert [(field["name"], field["type"], field["label"], field["value"]) for field in form["fields"]] == [
        ("name", "text", "Name", "Ada"),
        ("ok", "checkbox", "Agreed", ""),
        ("p", "password", "", ""),
        ("s", "select", "", "Two"),
        ("m", "textarea", "", "Hi\nyou"),
        ("", "button", "Send", ""),
    ]
    assert form["fields"][1]["checked"] is True
    assert form["fields"][3]["options"] == ["One", "Two"]
    assert "secret" not in str(form)


# ------------------------------------------------------------------------------------------------------------ furniture


def test_what_is_not_content_is_left_out() -> None:
    markup = (
        "<nav><a href=/>Home</a></nav><div id=cookie-banner>We use cookies <button>OK</button></div><script>x</script>"
        "<style>y</style><p hidden>h1</p><p style='display: none'>h2</p><span aria-hidden=true>h3</span>"
        "<template>t</template><p class=sr-only>h4</p><ul class=breadcrumbs><li><a href=a>A</a></ul>"
        "<aside><a href=x>Other story</a></aside>"
        "<article><h1>Title<a class=headerlink href=#t>¶</a></h1><p>Words.</p>"
        "<aside>A note that matters.</aside></article>"
    )
    assert brief(markup) == [("heading", "Title"), ("text", "Words."), ("text", "A note that matters.")]


def test_recipes_for_cookies_are_content() -> None:
    assert brief("<div class='cookie-recipe post'><p>Mix flour and sugar.</p></div>") == [
        ("text", "Mix flour and sugar.")
    ]


def test_the_main_part_is_preferred_if_it_is_one() -> None:
    words = "<p>Many words of the article itself. </p>" * 5
    assert len(brief(f"<div>Promotion</div><main>{words}</main><div>More</div>")) == 5
    assert len(brief(f"<h1>Title</h1><main>{words}</main>")) == 6
    assert len(brief(f"<main>Loading</main>{words}")) == 6


def test_headers_and_footers_of_the_page_are_one_element_each() -> None:
    article = "<article><header><h1>T</h1></header><p>w</p></article>"
    markup = f"<header><p>Site</p><p>Tagline</p></header>{article}<footer>© me</footer>"
    assert brief(markup) == [("header", "Site\nTagline"), ("heading", "T"), ("text", "w"), ("footer", "© me")]


def test_a_page_of_nothing_but_navigation_shows_it() -> None:
    assert brief("<nav><p>Index</p></nav>") == [("text", "Index")]


# --------------------------------------------------------------------------------------------------- the page as a file


def test_facts_come_from_the_head(file: Path) -> None:
    found = shown(
        file,
        '<html lang=de><head><title> My\n Page </title><meta name=author content="Ada">'
        '<meta name=keywords content="a, b"><meta name=description content="About">'
        '<meta property="article:published_time" content="2024-01-02"></head><p>x',
    )
    facts = found.facts
    assert (facts.title, facts.author, facts.keywords, facts.summary) == ("My Page", "Ada", ["a", "b"], "About")
    assert (facts.created, facts.details["language"]) == ("2024-01-02", "de")


def test_sections_are_pages(file: Path) -> None:
    found = shown(file, "<h1>T</h1><p>intro<h2>A</h2><p>a<h3>a1</h3><p>x<h2>B</h2><p>b")
    assert (found.titles, found.facts.title) == (["T", "A", "B"], "T")
    assert [len(page) for page in found.pages] == [2, 4, 2]


@pytest.mark.parametrize("encoding", ["windows-1251", "shift_jis", "utf-8"])
def test_the_declared_encoding_counts(file: Path, encoding: str) -> None:
    words = {"windows-1251": "Привет, мир", "shift_jis": "日本語の文書", "utf-8": "größer"}[encoding]
    markup = f'<html><head><meta http-equiv="Content-Type" content="text/html; charset={encoding}"></head><p>{words}'
    assert read(open_html, file, markup.encode(encoding)).of("text") == [{"text": words}]


def test_xhtml_may_close_what_html_would_leave_open() -> None:
    head = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/></head>'
    assert brief(f'{head}<body><a id="p1"/><p>one<br/>two</p><div/><p>three</p></body></html>') == [
        ("text", "one\ntwo"),
        ("text", "three"),
    ]


@pytest.mark.parametrize(
    ("tag", "depth"),
    [("b", 20_000), ("div", 10_000), *((tag, 5_000) for tag in ("blockquote", "section", "table><tr><td"))],
)
def test_elements_are_read_however_deep_they_are_nested(file: Path, tag: str, depth: int) -> None:
    found = shown(file, f"<{tag}>" * depth + "The sentence at the bottom.")
    assert found.brief == [("text", "The sentence at the bottom.")]


@pytest.mark.parametrize("noise", ["<a ", "<a/", "<" + "a" * 1_000, "a" * 1_000, "< ", "<a b='"])
def test_noise_takes_no_time(noise: str) -> None:
    assert isinstance(html_elements("<?xml version='1.0'?>" + noise * (500_000 // len(noise))), list)


def test_endless_lists_in_lists_stay_readable() -> None:
    found = html_elements("<ul><li>a" * 3_000)
    assert str(found[0].content).count("'a'") == 3_000
    assert str(found[0].content).count("items") < 50


@pytest.mark.parametrize("content", [b"", b"<html></html>", b"<script>render()</script>", b"\x00\x01\x02\x03" * 50])
def test_a_page_without_words_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(UnreadableFileError):
        open_html(file)


def test_broken_markup_is_read_as_far_as_it_goes() -> None:
    assert brief("<p>one<b>two</p><td>three</div></ul><li>four<!-- five")[:1] == [("text", "onetwo")]
