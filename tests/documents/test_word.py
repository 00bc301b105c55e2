"""Word documents as pages and elements."""

from __future__ import annotations

import importlib
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from a2c_documents.model import UnreadableFileError
from a2c_documents.paging import MAX_PAGE_BYTES, size_of
from a2c_documents.parsers.word.document import open_word
from tests.support.documents.word_files import elements, p, pages, part, relations, shown, word_file

BREAK = '<w:r><w:br w:type="page"/></w:r>'
STYLES = part(
    "w:styles",
    '<w:style w:type="paragraph" w:default="1" w:styleId="a"><w:name w:val="Normal"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:basedOn w:val="a"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="Überschrift 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Kapitel"><w:name w:val="Kapitel"/>'
    '<w:basedOn w:val="berschrift1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Abschnitt"><w:name w:val="Abschnitt"/>'
    '<w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Neu"><w:name w:val="Neu"/><w:pPr><w:pageBreakBefore/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="Source Code"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Nr"><w:name w:val="Nr"/>'
    '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>',
)
LEVELS = "".join(
    f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{pattern}"/></w:lvl>'
    for depth, (kind, pattern) in enumerate((("decimal", "%1."), ("lowerLetter", "%2)"), ("bullet", "•")))
)
NUMBERING = part(
    "w:numbering",
    f'<w:abstractNum w:abstractNumId="0">{LEVELS}</w:abstractNum>'
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="0"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>',
)
RELATED = {"s": ("styles", "styles.xml"), "n": ("numbering", "numbering.xml")}
PARTS: dict[str, str | bytes] = {"word/styles.xml": STYLES, "word/numbering.xml": NUMBERING}
HEADER = '<w:pStyle w:val="berschrift1"/>'


def styled(path: Path, body: str) -> Path:
    return word_file(path / "a.docx", body, PARTS, RELATED)


def item(words: str, list_id: int, depth: int = 0) -> str:
    return p(words, f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{list_id}"/></w:numPr>')


def png() -> bytes:
    pillow: Any = importlib.import_module("PIL.Image")
    file = io.BytesIO()
    pillow.new("RGB", (4, 3), "red").save(file, "PNG")
    return file.getvalue()


# ---------------------------------------------------------------------------------------------------------------- pages


def test_a_hard_page_break_begins_a_page(tmp_path: Path) -> None:
    file = word_file(
        tmp_path / "a.docx", p("one") + p("", more=BREAK) + p("two", more=BREAK + "<w:r><w:t>three</w:t></w:r>")
    )
    assert [page.title for page in pages(file)] == ["one", "two", "three"]


def test_a_style_and_a_paragraph_can_break_the_page_before_them(tmp_path: Path) -> None:
    body = p("one") + p("two", '<w:pStyle w:val="Neu"/>') + p("three", "<w:pageBreakBefore/>")
    body += p("still three", '<w:pStyle w:val="Neu"/><w:pageBreakBefore w:val="0"/>')
    assert [len(page.elements) for page in pages(styled(tmp_path, body))] == [1, 1, 2]


def test_a_section_begins_a_page_unless_it_is_continuous(tmp_path: Path) -> None:
    def end(kind: str) -> str:
        return f'<w:sectPr><w:type w:val="{kind}"/></w:sectPr>'

    body = p("one", end("nextPage")) + p("same page", end("continuous")) + p("two", end("oddPage")) + p("three")
    file = word_file(tmp_path / "a.docx", body + end("nextPage"))
    assert [[e.content["text"] for e in page.elements] for page in pages(file)] == [
        ["one", "same page"],
        ["two"],
        ["three"],
    ]


def test_without_breaks_the_top_headings_divide(tmp_path: Path) -> None:
    body = p("before") + p("A", HEADER) + p("a") + p("A.1", '<w:pStyle w:val="berschrift2"/>') + p("B", HEADER) + p("b")
    assert [page.title for page in pages(styled(tmp_path, body))] == ["before", "A", "B"]


def test_a_single_top_heading_divides_nothing_in_a_short_document(tmp_path: Path) -> None:
    lower = '<w:pStyle w:val="berschrift2"/>'
    body = p("A", HEADER) + p("a") + p("A.1", lower) + p("b") + p("A.2", lower)
    assert [page.title for page in pages(styled(tmp_path, body))] == ["A"]
    long = body + "".join(p("words " * 100) for _ in range(50)) + p("A.3", lower) + p("c")
    assert [page.title for page in pages(styled(tmp_path, long))] == ["A", "A.1", "A.2", "A.3"]


def test_a_long_section_between_breaks_is_divided_at_its_headings(tmp_path: Path) -> None:
    words = "".join(p("words " * 100) for _ in range(40))
    body = p("Cover", more=BREAK) + p("A", HEADER) + words + p("B", HEADER) + p("b")
    assert [page.title for page in pages(styled(tmp_path, body))] == ["Cover", "A", "B"]


def test_a_page_without_words_has_a_number(tmp_path: Path) -> None:
    assert [page.title for page in pages(word_file(tmp_path / "a.docx", ""))] == ["Page 1"]


def test_a_very_long_document_stays_readable(tmp_path: Path) -> None:
    made = pages(word_file(tmp_path / "a.docx", "".join(p(f"{n} " + "words " * 40) for n in range(3_000))))
    assert len(made) > 3
    assert made[1].title.endswith(f"(part 2 of {len(made)})")
    assert all(sum(size_of(element) for element in page.elements) <= MAX_PAGE_BYTES for page in made)
    assert sum(len(page.elements) for page in made) == 3_000


# ----------------------------------------------------------------------------------------------------------- paragraphs


def test_headings_are_known_by_name_by_inheritance_and_by_outline(tmp_path: Path) -> None:
    body = "".join(
        p("x", f'<w:pStyle w:val="{style}"/>') for style in ("berschrift1", "berschrift2", "Kapitel", "Abschnitt")
    )
    body += p("x", '<w:outlineLvl w:val="3"/>') + p("x")
    found = elements(styled(tmp_path, body))
    assert [element.content.get("level") for element in found] == [1, 2, 1, 3, 4, None]


def test_words_are_as_a_person_reads_them(tmp_path: Path) -> None:
    runs = (
        "<w:r><w:t>tab</w:t><w:tab/><w:t>line</w:t><w:br/><w:t>no</w:t><w:noBreakHyphen/><w:t>break</w:t></w:r>"
        '<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>'
        '<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r><w:smartTag><w:r><w:t>!</w:t></w:r></w:smartTag>'
    )
    assert shown(word_file(tmp_path / "a.docx", p("", more=runs))) == [("text", "tab\tline\nno‑break✓α!")]


def test_letters_of_the_symbol_font_are_greek(tmp_path: Path) -> None:
    runs = "".join(f'<w:r><w:sym w:font="Symbol" w:char="F0{ord(one):02X}"/></w:r>' for one in "VJPFvjWS3$")
    assert shown(word_file(tmp_path / "a.docx", p("", more=runs))) == [("text", "ςϑΠΦϖϕΩΣ3∃")]


def test_links_stay_in_the_text_and_alone_they_are_links(tmp_path: Path) -> None:
    linked = '<w:hyperlink r:id="l"><w:r><w:t>there</w:t></w:r></w:hyperlink>'
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        '<w:r><w:instrText> HYPERLINK "http://f.example" </w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>field</w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    file = word_file(
        tmp_path / "a.docx", p("go ", more=linked) + p("", more=linked) + p("", more=field),
        related={"l": ("hyperlink", "http://l.example/")},
    )  # fmt: skip
    first, second, third = elements(file)
    assert first.content == {"text": "go there"}
    assert first.metadata["links"] == [{"text": "there", "url": "http://l.example/"}]
    assert (second.category, second.content["url"]) == ("link", "http://l.example/")
    assert third.content == {"text": "field", "url": "http://f.example"}


def test_code_and_rules(tmp_path: Path) -> None:
    body = p("if x:", '<w:pStyle w:val="Code"/>') + p("    y()", '<w:pStyle w:val="Code"/>')
    body += p("", '<w:pBdr><w:bottom w:val="single"/></w:pBdr>') + p("_____")
    assert shown(styled(tmp_path, body)) == [("code", "if x:\n    y()"), ("separator", "---"), ("separator", "---")]


def test_tracked_insertions_are_text_and_deletions_are_counted(tmp_path: Path) -> None:
    more = "<w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
    moved = "<w:moveFrom><w:r><w:t>gone</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t> here</w:t></w:r></w:moveTo>"
    found = elements(word_file(tmp_path / "a.docx", p("The ", more=more + moved)))
    assert found[0].content["text"] == "The new here"
    assert (found[1].category, "1 deletion" in found[1].content["text"]) == ("annotation", True)


# ---------------------------------------------------------------------------------------------------------------- lists


def test_lists_are_nested_and_keep_their_kind(tmp_path: Path) -> None:
    body = (
        item("a", 1) + item("a1", 1, 1) + item("x", 1, 2) + item("a2", 1, 1) + item("b", 1) + item("dot", 2) + p("end")
    )
    numbered, dotted, _ = elements(styled(tmp_path, body))
    inner = [{"text": "a) a1", "items": ["x"], "ordered": False}, "b) a2"]
    assert numbered.content == {"items": [{"text": "a", "items": inner, "ordered": False}, "b"], "ordered": True}
    assert numbered.metadata["labels"] == ["1.", "a)", "b)", "2."]
    assert dotted.content == {"items": ["dot"], "ordered": False}


def test_an_item_is_called_as_in_the_document_where_counting_would_not_give_that(tmp_path: Path) -> None:
    (clauses,) = elements(styled(tmp_path, item("late", 1, 1) + item("early", 1, 1)))
    assert clauses.content == {"items": ["a) late", "b) early"], "ordered": False}
    assert "start" not in clauses.metadata


def test_a_list_counts_on_after_an_interruption_and_a_new_one_begins_again(tmp_path: Path) -> None:
    body = item("a", 1) + item("b", 1) + p("between") + item("c", 1) + item("new", 3) + p("x", '<w:pStyle w:val="Nr"/>')
    lists = [element for element in elements(styled(tmp_path, body)) if element.category == "list"]
    assert [found.content["items"] for found in lists] == [["a", "b"], ["c"], ["new", "x"]]
    assert [found.metadata.get("start") for found in lists] == [None, 3, None]


def test_a_very_long_list_goes_on_where_it_stopped(tmp_path: Path) -> None:
    found = elements(styled(tmp_path, "".join(item("words " * 10, 1) for _ in range(3_000))))
    assert all(element.category == "list" and size_of(element) < MAX_PAGE_BYTES for element in found)
    starts = [element.metadata.get("start", 1) for element in found]
    assert starts[1] == 1 + len(found[0].content["items"])
    assert sum(len(element.content["items"]) for element in found) == 3_000


def test_numbers_of_headings_are_part_of_them(tmp_path: Path) -> None:
    numbered = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    found = shown(styled(tmp_path, p("Scope", HEADER + numbered) + p("Terms", HEADER + numbered)))
    assert found == [("heading", "1. Scope"), ("heading", "2. Terms")]


# --------------------------------------------------------------------------------------------------------------- tables


def row(*cells: str, properties: str = "") -> str:
    made = "".join(cell if cell.startswith("<w:tc>") else f"<w:tc>{p(cell)}</w:tc>" for cell in cells)
    return f"<w:tr>{f'<w:trPr>{properties}</w:trPr>' if properties else ''}{made}</w:tr>"


def cell(words: str, shape: str, inner: str = "") -> str:
    return f"<w:tc><w:tcPr>{shape}</w:tcPr>{p(words)}{inner}</w:tc>"


def test_merged_cells_stand_where_they_begin(tmp_path: Path) -> None:
    wide, start, more = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    body = row("", cell("Year", wide), properties="<w:tblHeader/>") + row(
        "Name", "2023", "2024", properties="<w:tblHeader/>"
    )
    body += row(cell("A", start), "1", "2") + row(cell("", more), "3", "4")
    (found,) = elements(word_file(tmp_path / "a.docx", f"<w:tbl>{body}</w:tbl>"))
    assert found.content == {
        "headers": ["Name", "Year / 2023", "Year / 2024"],
        "rows": [["A", "1", "2"], ["", "3", "4"]],
    }
    assert found.metadata["merged"] == ["B1:C1", "A3:A4"]
    assert found.detail is not None
    assert (found.detail["total_rows"], found.detail["total_columns"]) == (2, 3)


def test_a_table_in_a_cell_becomes_lines_of_that_cell(tmp_path: Path) -> None:
    inner = f"<w:tbl>{row('a', 'b')}{row('c', 'd')}</w:tbl>"
    body = row("Head", "Two") + row(cell("before", "", inner + p("after")), "x")
    (found,) = elements(word_file(tmp_path / "a.docx", f"<w:tbl>{body}</w:tbl>"))
    assert found.content["rows"] == [["before\na | b\nc | d\nafter", "x"]]


def test_a_row_of_an_inner_table_has_its_own_line_also_if_its_first_cell_is_empty(tmp_path: Path) -> None:
    inner = f"<w:tbl>{row('', 'b')}{row('', '')}{row('c', '', 'e')}{row('', '', 'f')}</w:tbl>"
    body = row("Head", "Two") + row(cell("Intro", "", inner), "x")
    (found,) = elements(word_file(tmp_path / "a.docx", f"<w:tbl>{body}</w:tbl>"))
    assert found.content["rows"] == [["Intro\n| b\nc |  | e\n|  | f", "x"]]


def test_a_table_of_one_cell_is_a_frame_around_its_text(tmp_path: Path) -> None:
    assert shown(word_file(tmp_path / "a.docx", f"<w:tbl>{row('note')}</w:tbl>")) == [("text", "note")]


def test_deleted_rows_are_left_out(tmp_path: Path) -> None:
    body = row("H", "I") + row("gone", "gone", properties="<w:del/>") + row("1", "2")
    found = elements(word_file(tmp_path / "a.docx", f"<w:tbl>{body}</w:tbl>"))
    assert found[0].content["rows"] == [["1", "2"]]


def test_a_hostile_span_does_not_blow_up_the_table(tmp_path: Path) -> None:
    body = row("H", "I") + row(cell("x", '<w:gridSpan w:val="2000000000"/>'))
    (found,) = elements(word_file(tmp_path / "a.docx", f"<w:tbl>{body}</w:tbl>"))
    assert len(found.content["headers"]) < 100


# ------------------------------------------------------------------------------------------------------------ equations

FRACTION = "<m:f><m:num><m:r><m:t>n</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
POWER = "<m:sSup><m:e><m:r><m:t>r</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"


def test_equations_in_a_line_are_text_and_displayed_ones_formulas(tmp_path: Path) -> None:
    inline = f"<m:oMath><m:r><m:t>A=π</m:t></m:r>{POWER}</m:oMath>"
    display = f"<m:oMathPara><m:oMath>{FRACTION}</m:oMath></m:oMathPara>"
    found = shown(word_file(tmp_path / "a.docx", p("area ", more=inline) + p("", more=inline) + p("so", more=display)))
    assert found == [
        ("text", "area $A=\\pi r^{2}$"), ("formula", "A=\\pi r^{2}"), ("text", "so"), ("formula", "\\frac{n}{2}"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("omml", "expected"),
    [
        ("<m:rad><m:radPr><m:degHide/></m:radPr><m:deg/><m:e><m:r><m:t>x</m:t></m:r></m:e></m:rad>", "\\sqrt{x}"),
        (
            '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub><m:r><m:t>i=1</m:t></m:r></m:sub>'
            "<m:sup><m:r><m:t>∞</m:t></m:r></m:sup><m:e><m:r><m:t>x</m:t></m:r></m:e></m:nary>",
            "\\sum_{i=1}^{\\infty} x",
        ),
        (
            "<m:func><m:fName><m:r><m:t>sin</m:t></m:r></m:fName><m:e><m:r><m:t>α</m:t></m:r></m:e></m:func>",
            "\\sin \\alpha",
        ),
        ("<m:d><m:e><m:r><m:t>a+b</m:t></m:r></m:e></m:d>", "(a+b)"),
        ('<m:acc><m:accPr><m:chr m:val="⃗"/></m:accPr><m:e><m:r><m:t>v</m:t></m:r></m:e></m:acc>', "\\vec{v}"),
        (
            "<m:m><m:mr><m:e><m:r><m:t>1</m:t></m:r></m:e><m:e><m:r><m:t>2</m:t></m:r></m:e></m:mr></m:m>",
            "\\begin{matrix} 1 & 2 \\end{matrix}",
        ),
    ],
)
def test_equations_read_like_latex(tmp_path: Path, omml: str, expected: str) -> None:
    file = word_file(tmp_path / "a.docx", p("", more=f"<m:oMathPara><m:oMath>{omml}</m:oMath></m:oMathPara>"))
    assert shown(file) == [("formula", expected)]


# ---------------------------------------------------------------------------------------------------- stability, facts


def test_facts_come_from_the_properties(tmp_path: Path) -> None:
    docx: Any = importlib.import_module("docx")
    document = docx.Document()
    document.core_properties.title = "Report"
    document.core_properties.author = "Ada"
    document.core_properties.keywords = "trade, ships; tea"
    document.core_properties.subject = "The year"
    document.core_properties.comments = "A draft"
    document.save(tmp_path / "a.docx")
    facts = open_word(tmp_path / "a.docx").facts
    assert (facts.title, facts.author, facts.keywords) == ("Report", "Ada", ["trade", "ships", "tea"])
    assert facts.summary == "The year. A draft"
    assert facts.created.startswith("20")


def test_a_document_of_a_library_is_read_whole(tmp_path: Path) -> None:
    docx: Any = importlib.import_module("docx")
    document = docx.Document()
    document.add_heading("Report", 0)
    document.add_heading("First", 1)
    document.add_paragraph("Words.")
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Bullet")
    made = document.add_table(2, 2)
    for index, words in enumerate(("Name", "Size", "A", "1")):
        made.cell(index // 2, index % 2).text = words
    document.add_picture(io.BytesIO(png()))
    document.add_heading("Second", 1)
    document.save(tmp_path / "a.docx")
    first, second = pages(tmp_path / "a.docx")
    assert (first.title, second.title) == ("First", "Second")
    assert [e.category for e in first.elements] == ["heading", "heading", "text", "list", "table", "image"]
    assert first.elements[3].content == {"items": ["one", "two"], "ordered": False}
    assert first.elements[4].content == {"headers": ["Name", "Size"], "rows": [["A", "1"]]}
    assert first.elements[5].picture is not None
    assert first.elements[5].picture() == ("image/png", png())


def test_reading_twice_gives_the_same(tmp_path: Path) -> None:
    file = styled(tmp_path, p("A", HEADER) + item("a", 1) + f"<w:tbl>{row('H', 'I')}{row('1', '2')}</w:tbl>")
    assert pages(file) == pages(file)


# -------------------------------------------------------------------------------------------------------- hostile files


def test_files_that_are_no_documents_say_so(tmp_path: Path) -> None:
    file = tmp_path / "a.docx"
    good = word_file(tmp_path / "good.docx", p("x")).read_bytes()
    for raw in (b"", b"%PDF-1.7", good[: len(good) // 2], b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)):
        file.write_bytes(raw)
        with pytest.raises(UnreadableFileError):
            open_word(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("_rels/.rels", relations({}))
    with pytest.raises(UnreadableFileError):
        open_word(file)
    with pytest.raises(UnreadableFileError):
        open_word(word_file(file, "", document="<w:document"))
    with pytest.raises(UnreadableFileError):
        open_word(word_file(file, "", document="<x/>"))


def test_entities_are_not_followed(tmp_path: Path) -> None:
    nested = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "laugh"}">' for n in range(10))
    document = part("w:document", f"<w:body>{p('before &a9; after')}</w:body>")
    found = elements(word_file(tmp_path / "a.docx", "", document=f"<!DOCTYPE w [{nested}]>{document}"))
    assert found[0].content["text"] == "before  after"
    assert (found[1].category, "entities" in found[1].content["text"]) == ("annotation", True)


def test_deep_nesting_is_no_danger(tmp_path: Path) -> None:
    deep = 60
    boxes = "<w:r><w:pict><v:shape><v:textbox><w:txbxContent><w:p>" * 30
    boxes += "<w:r><w:t>x</w:t></w:r>" + "</w:p></w:txbxContent></v:textbox></v:shape></w:pict></w:r>" * 30
    bodies = [
        "<w:sdt><w:sdtContent>" * deep + p("x") + "</w:sdtContent></w:sdt>" * deep,
        f"<w:p>{'<w:ins>' * deep}<w:r><w:t>x</w:t></w:r>{'</w:ins>' * deep}</w:p>",
        "<w:tbl><w:tr><w:tc>" * deep + p("x") + "</w:tc></w:tr></w:tbl>" * deep,
        "<w:tbl><w:tr><w:tc/><w:tc>" * deep + p("x") + "</w:tc></w:tr></w:tbl>" * deep,
        p("x", more=f"<m:oMath>{'<m:e>' * deep}<m:r><m:t>y</m:t></m:r>{'</m:e>' * deep}</m:oMath>"),
        f"<w:p>{boxes}</w:p>",
    ]
    for body in bodies:
        assert elements(word_file(tmp_path / "a.docx", body))
    with pytest.raises(UnreadableFileError):
        open_word(word_file(tmp_path / "a.docx", "<w:sdt>" * 3_000 + "</w:sdt>" * 3_000))


def test_damaged_parts_beside_the_text_do_not_hide_it(tmp_path: Path) -> None:
    related = RELATED | {
        "c": ("chart", "charts/c.xml"),
        "f": ("footnotes", "footnotes.xml"),
        "x": ("image", "none.png"),
    }
    drawing = (
        '<w:r><w:drawing><wp:inline><a:graphic><a:graphicData><c:chart r:id="c"/></a:graphicData></a:graphic>'
        '</wp:inline></w:drawing></w:r><w:r><w:footnoteReference w:id="1"/></w:r>'
    )
    parts: dict[str, str | bytes] = {
        "word/styles.xml": "<broken",
        "word/charts/c.xml": "?",
        "word/footnotes.xml": b"\x00",
    }
    found = shown(word_file(tmp_path / "a.docx", p("text", more=drawing), parts, related))
    assert found[0] == ("text", "text[^1]")
    assert found[1][0] == "annotation"
