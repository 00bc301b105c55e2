"""OpenDocument text and slides as pages and elements."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.opendocument.document import open_odp, open_odt
from tests.support.documents.open_files import (
    COMMON,
    XMLNS,
    content,
    elements,
    h,
    opened,
    p,
    pages,
    shape,
    slide,
    write,
)

# ---------------------------------------------------------------------------------------------------------------- texts


def test_pages_begin_at_breaks_else_at_headings(tmp_path: Path) -> None:
    broken = pages(write(tmp_path / "a.odt", p("one") + p("two", "P1") + h("In two")))
    assert [page.title for page in broken] == ["one", "In two"]
    headed = pages(write(tmp_path / "a.odt", p("Book", "P2") + h("A") + p("a") + h("A.1", 2) + h("B"), styles=COMMON))
    assert [page.title for page in headed] == ["A", "B"]
    assert headed[0].elements[1].content == {"level": 1, "text": "Book"}


def test_words_are_as_a_person_reads_them(tmp_path: Path) -> None:
    words = 'a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>\n   d <text:span>e</text:span> &amp; f'
    linked = '<text:a xlink:href="http://l.example">there</text:a>'
    first, second, third = elements(write(tmp_path / "a.odt", p(words) + p(f"go {linked}") + p(linked)))
    assert first.content["text"] == "a   b\tc\n d e & f"
    assert second.metadata["links"] == [{"text": "there", "url": "http://l.example"}]
    assert third.content == {"text": "there", "url": "http://l.example"}


def test_lists_are_nested_and_numbered(tmp_path: Path) -> None:
    def item(inner: str) -> str:
        return f"<text:list-item>{inner}</text:list-item>"

    inner = f"<text:list>{item(p('x'))}</text:list>"
    first = f'<text:list text:style-name="L1">{item(p("a") + p("more") + inner)}{item(p("b"))}</text:list>'
    second = f'<text:list text:style-name="L1" text:continue-numbering="true">{item(p("c"))}</text:list>'
    made, between, counted = elements(write(tmp_path / "a.odt", first + p("between") + second))
    assert made.content == {
        "items": [{"text": "a\nmore", "items": ["x"], "ordered": False}, "b"], "ordered": True,
    }  # fmt: skip
    assert between.category == "text"
    assert (counted.content["items"], counted.metadata["start"]) == (["c"], 3)


def test_tables_have_headers_and_merged_cells(tmp_path: Path) -> None:
    def cell(inner: str, shape: str = "") -> str:
        return f"<table:table-cell {shape}>{inner}</table:table-cell>"

    wide = cell(p("both"), 'table:number-columns-spanned="2"') + "<table:covered-table-cell/>"
    inner = f"<table:table><table:table-row>{cell(p('i'))}{cell(p('j'))}</table:table-row></table:table>"
    table = (
        f"<table:table><table:table-header-rows><table:table-row>{cell(p('Name'))}{cell(p('Size'))}{cell(p('Note'))}"
        f"</table:table-row></table:table-header-rows><table:table-row>"
        f"{wide}{cell(inner)}</table:table-row></table:table>"
    )  # fmt: skip
    (found,) = elements(write(tmp_path / "a.odt", table))
    assert found.content == {"headers": ["Name", "Size", "Note"], "rows": [["both", "", "i | j"]]}
    assert found.metadata["merged"] == ["A2:B2"]


def test_pictures_captions_code_and_rules(tmp_path: Path) -> None:
    frame = (
        '<draw:frame draw:name="Duck" svg:width="2.54cm" svg:height="1in"><draw:image xlink:href="Pictures/d.png"/>'
        "<svg:desc>A duck</svg:desc></draw:frame>"
    )
    body = p(frame) + p("Figure 1", "P5") + p("x = 1", "P4") + p("y = 2", "P4") + p("", "P6")
    image, code, rule = elements(write(tmp_path / "a.odt", body, {"Pictures/d.png": b"bytes"}, COMMON))[1:4]
    assert image.content == {"alt": "A duck", "url": "", "description": "Figure 1"}
    assert image.metadata == {"shape": "Duck", "size": [96, 96], "source": "Pictures/d.png"}
    assert image.picture is not None
    assert image.picture() == ("image/png", b"bytes")
    assert code.content["code"] == "x = 1\ny = 2"
    assert rule.category == "separator"


def test_a_caption_in_one_paragraph_with_its_picture_is_its_description(tmp_path: Path) -> None:
    picture = p("<draw:frame><draw:image/></draw:frame>Figure 1", "P5")
    framed = f"<draw:frame><draw:text-box>{picture}</draw:text-box></draw:frame>"
    (found,) = elements(write(tmp_path / "a.odt", p(framed), styles=COMMON))[1:-1]
    assert (found.category, found.content["description"]) == ("image", "Figure 1")


def test_the_contents_are_a_list(tmp_path: Path) -> None:
    lines = p("Chapter<text:tab/>1", "Contents_20_1") + p("Section<text:tab/>2", "Contents_20_2")
    toc = f"<text:table-of-content><text:index-body>{lines}</text:index-body></text:table-of-content>"
    (found,) = elements(write(tmp_path / "a.odt", toc))
    assert found.content["items"] == [{"text": "Chapter\t1", "items": ["Section\t2"], "ordered": False}]


def test_notes_comments_and_changes(tmp_path: Path) -> None:
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        f"<text:note-body>{p('below')}</text:note-body></text:note>"
    )
    comment = f'<office:annotation office:name="c"><dc:creator>Ada</dc:creator>{p("Why?")}</office:annotation>'
    gone = f"<text:changed-region><text:deletion>{p('old')}</text:deletion></text:changed-region>"
    body = f"<text:tracked-changes>{gone}</text:tracked-changes>"
    body += p(f'Pay {comment}ten<office:annotation-end office:name="c"/> pounds{note}')
    text, said, below, remark = elements(write(tmp_path / "a.odt", body))
    assert text.content["text"] == "Pay ten pounds[^1]"
    assert said.content == {"text": "Why?", "kind": "comment", "author": "Ada", "about": "ten"}
    assert below.content == {"text": "below", "kind": "footnote", "mark": "1"}
    assert "1 deletion" in remark.content["text"]


def test_headers_and_footers_belong_to_page_styles(tmp_path: Path) -> None:
    found = pages(write(tmp_path / "a.odt", p("one") + p("two", "P3"), styles=COMMON))
    told = [[(element.category, element.content["text"]) for element in page.elements] for page in found]
    assert told == [[("header", "Head"), ("text", "one"), ("footer", "Foot")], [("header", "Wide"), ("text", "two")]]


def test_formulas_charts_text_boxes_and_embedded_files(tmp_path: Path) -> None:
    def frame(inner: str) -> str:
        return f"<draw:frame>{inner}</draw:frame>"

    formula = (
        f"<math:math {XMLNS}><math:semantics><math:mrow><math:mi>π</math:mi><math:msup><math:mi>r</math:mi>"
        "<math:mn>2</math:mn></math:msup></math:mrow><math:annotation>pi r^2</math:annotation></math:semantics>"
        "</math:math>"
    )

    def row(*cells: str) -> str:
        made = "".join(f"<table:table-cell>{p(cell)}</table:table-cell>" for cell in cells)
        return f"<table:table-row>{made}</table:table-row>"

    table = f"<table:table>{row('', 'North')}{row('Q1', '3')}{row('Q2', '7')}</table:table>"
    chart = (
        f"<office:document-content {XMLNS}><office:body><office:chart>"
        f'<chart:chart chart:class="chart:bar"><chart:title>{p("Sales")}</chart:title>{table}</chart:chart>'
        "</office:chart></office:body></office:document-content>"
    )
    held = frame('<draw:object xlink:href="./Object 1"/>')
    body = p(f"area {held}") + p(held) + p(frame('<draw:object xlink:href="./Object 2"/>'))
    body += p(frame(f"<draw:text-box>{p('boxed')}</draw:text-box>"))
    body += p(frame('<draw:object-ole xlink:href="./file.bin"/>'))
    parts: dict[str, str | bytes] = {"Object 1/content.xml": formula, "Object 2/content.xml": chart}
    found = elements(write(tmp_path / "a.odt", body, parts))
    assert [element.category for element in found] == ["text", "formula", "chart", "text", "link"]
    assert found[0].content["text"] == "area $\\pi r^{2}$"
    assert found[1].content == {"expression": "\\pi r^{2}"}
    assert (found[2].content["title"], found[2].content["chart_type"]) == ("Sales", "clustered column")
    assert found[2].content["data_summary"] == "2 categories: Q1, Q2; North: 3, 7"
    assert (found[3].content["text"], found[4].metadata["name"]) == ("boxed", "file.bin")


def test_facts_come_from_the_meta_data(tmp_path: Path) -> None:
    meta = (
        f"<office:document-meta {XMLNS}><office:meta><dc:title>Report</dc:title><dc:subject>The year</dc:subject>"
        "<meta:initial-creator>Ada</meta:initial-creator>"
        "<meta:keyword>tea</meta:keyword><meta:keyword>ships</meta:keyword>"
        "<meta:creation-date>2024-05-01T10:00:00</meta:creation-date></office:meta></office:document-meta>"
    )
    facts = opened(write(tmp_path / "a.odt", p("x"), {"meta.xml": meta})).facts
    assert (facts.title, facts.author, facts.keywords, facts.summary) == ("Report", "Ada", ["tea", "ships"], "The year")
    assert facts.created == "2024-05-01T10:00:00"


# --------------------------------------------------------------------------------------------------------------- slides


def test_a_slide_is_a_page_with_its_title_first_and_its_notes_last(tmp_path: Path) -> None:
    points = "".join(f"<text:list-item>{p(words)}</text:list-item>" for words in ("one", "two"))
    points = f"<text:list>{points}</text:list>"
    notes = f"<presentation:notes>{shape(p('Say hello'), 'notes')}</presentation:notes>"
    group = "".join(f"<draw:custom-shape>{p(words)}</draw:custom-shape>" for words in ("Start", "End"))
    body = '<presentation:footer-decl presentation:name="f">Confidential</presentation:footer-decl>'
    body += slide(shape(points, "outline") + shape(p("Welcome"), "title") + notes)
    body += slide(f"<draw:g>{group}</draw:g>", "page2") + slide(shape(p("x")), "Appendix")
    first, second, third = pages(write(tmp_path / "a.odp", body))
    assert [page.title for page in (first, second, third)] == ["Welcome", "Start", "Appendix"]
    assert [element.category for element in first.elements] == ["heading", "list", "footer", "annotation"]
    assert first.elements[1].content["items"] == ["one", "two"]
    assert first.elements[3].content == {"text": "Say hello", "kind": "notes"}
    assert all(element.metadata["slide"] == 1 for element in first.elements)
    assert [element.content["text"] for element in second.elements] == ["Start", "End", "Confidential"]


def test_a_slide_holds_tables_and_pictures(tmp_path: Path) -> None:
    row = "".join(f"<table:table-cell>{p(words)}</table:table-cell>" for words in ("A", "B"))
    table = f"<draw:frame><table:table>{f'<table:table-row>{row}</table:table-row>' * 2}</table:table></draw:frame>"
    picture = '<draw:frame><draw:image xlink:href="Pictures/d.png"/></draw:frame>'
    found = elements(write(tmp_path / "a.odp", slide(table + picture), {"Pictures/d.png": b"x"}))
    assert [element.category for element in found] == ["table", "image"]
    assert found[0].content == {"headers": ["A", "B"], "rows": [["A", "B"]]}


# -------------------------------------------------------------------------------------------------------- hostile files


def test_files_that_are_no_documents_say_so(tmp_path: Path) -> None:
    file = tmp_path / "a.odt"
    for raw in (b"", b"%PDF-1.7", write(file, p("x")).read_bytes()[:300]):
        file.write_bytes(raw)
        with pytest.raises(UnreadableFileError):
            open_odt(file)
    with pytest.raises(UnreadableFileError):
        open_odp(write(file, p("x")))
    entry = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    manifest = f"<manifest:manifest {XMLNS}>{entry}</manifest:manifest>"
    with pytest.raises(UnreadableFileError, match="password"):
        open_odt(write(file, p("x"), {"META-INF/manifest.xml": manifest}))


def test_entities_are_not_followed(tmp_path: Path) -> None:
    nested = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "laugh"}">' for n in range(10))
    file = write(tmp_path / "a.odt", "")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("content.xml", f"<!DOCTYPE x [{nested}]>" + content("text", p("before &a9; after")))
    text, remark = elements(file)
    assert text.content["text"] == "before after"
    assert "entities" in remark.content["text"]


def test_deep_and_wide_documents_are_no_danger(tmp_path: Path) -> None:
    bodies = [
        "<text:section>" * 200 + p("x") + "</text:section>" * 200,
        p("<text:span>" * 200 + "x" + "</text:span>" * 200),
        "<text:list><text:list-item>" * 100 + p("x") + "</text:list-item></text:list>" * 100,
        "<text:p><text:note><text:note-body>" * 70 + p("x") + "</text:note-body></text:note>y</text:p>" * 70,
        '<table:table><table:table-row table:number-rows-repeated="9000000">'
        f'<table:table-cell table:number-columns-repeated="9000000">{p("x")}</table:table-cell>'
        "</table:table-row></table:table>",
        p('<text:s text:c="2000000000"/>x'),
    ]
    for body in bodies:
        assert elements(write(tmp_path / "a.odt", body))


def test_reading_twice_gives_the_same(tmp_path: Path) -> None:
    file = write(tmp_path / "a.odt", h("A") + p("a") + h("B"), styles=COMMON)
    assert pages(file) == pages(file)
