"""What office programs write into OpenDocument files beyond plain text: numbers, comments, fields, charts, objects."""

from __future__ import annotations

from pathlib import Path

from tests.support.documents.old_workbooks import packed_file
from tests.support.documents.open_files import XMLNS, elements, h, opened, p, pages, shape, slide, write


def item(inner: str, more: str = "") -> str:
    return f"<text:list-item{more}>{inner}</text:list-item>"


def list_of(inner: str, style: str = "", more: str = "") -> str:
    told = f' text:style-name="{style}"' if style else ""
    return f"<text:list{told}{more}>{inner}</text:list>"


def comment(name: str, author: str, words: str, more: str = "") -> str:
    said = f"<dc:creator>{author}</dc:creator><dc:date>2024-01-0{name[-1]}T10:00:00.5</dc:date>{p(words)}"
    return f'<office:annotation office:name="{name}" {more}>{said}</office:annotation>'


def end(name: str) -> str:
    return f'<office:annotation-end office:name="{name}"/>'


# -------------------------------------------------------------------------------------------------------------- numbers


def test_a_list_goes_on_after_a_paragraph_and_its_numbers_show_the_levels_above(tmp_path: Path) -> None:
    first = list_of(item(p("one") + list_of(item(p("deep")))), "L2")
    second = list_of(item(list_of(item(p("deeper")))) + item(p("two")), "L2", ' text:continue-numbering="true"')
    told = [element for element in elements(write(tmp_path / "a.odt", first + p("between") + second))]
    assert [element.category for element in told] == ["list", "text", "list"]
    assert told[0].metadata["labels"] == ["I)", "I.1"]
    assert told[0].content == {
        "items": [{"text": "I) one", "items": ["I.1 deep"], "ordered": False}], "ordered": False,
    }  # fmt: skip
    assert told[2].content["items"] == ["I.2 deeper", "II) two"]
    assert told[2].metadata["labels"] == ["I.2", "II)"], "an item that holds only a list has no number"


def test_a_list_is_continued_by_its_name(tmp_path: Path) -> None:
    first, other = list_of(item(p("one")), "L1", ' xml:id="a"'), list_of(item(p("x")), "L1", ' xml:id="b"')
    again = list_of(item(p("two")), "L1", ' text:continue-list="a"')
    found = elements(write(tmp_path / "a.odt", first + p("-") + other + p("-") + again))
    assert [element.metadata.get("start", 1) for element in found if element.category == "list"] == [1, 1, 2]


def test_headings_have_the_numbers_of_their_list_or_of_the_outline(tmp_path: Path) -> None:
    levels = "".join(
        f'<text:outline-level-style text:level="{level}" style:num-format="1" text:display-levels="{level}"/>'
        for level in (1, 2)
    )
    outline = f"<office:styles><text:outline-style>{levels}</text:outline-style></office:styles>"
    body = h("First") + h("Inside", 2) + h("Second") + list_of(item(h("In a list")), "L2")
    found = elements(write(tmp_path / "a.odt", body, styles=outline))
    assert [element.content["text"] for element in found] == ["1 First", "1.1 Inside", "2 Second", "I) In a list"]


def test_lists_in_cells_keep_their_marks(tmp_path: Path) -> None:
    marked = list_of(item(p("a") + list_of(item(p("b")))) + item(p("c")), "L1")
    cells = "".join(f"<table:table-cell>{inner}</table:table-cell>" for inner in (p("Name"), marked))
    (found,) = elements(
        write(tmp_path / "a.odt", f"<table:table>{f'<table:table-row>{cells}</table:table-row>' * 2}</table:table>")
    )
    assert found.content["rows"] == [["Name", "1 a\n  • b\n2 c"]]


# ------------------------------------------------------------------------------------------------------- hidden, fields


def test_hidden_words_are_left_out(tmp_path: Path) -> None:
    (found,) = elements(write(tmp_path / "a.odt", p('seen <text:span text:style-name="T1">secret</text:span>.')))
    assert found.content["text"] == "seen ."


def test_fields_to_fill_in_are_forms(tmp_path: Path) -> None:
    choice = (
        '<text:drop-down text:name="Size"><text:label text:value="S"/>'
        '<text:label text:current-selected="true" text:value="L"/>L</text:drop-down>'
    )
    date = '<field:fieldmark-start text:name="Due" field:type="x.FORMDATE"/>1 May<field:fieldmark-end/>'
    tick = (
        '<field:fieldmark field:type="x.FORMCHECKBOX"><field:param field:name="Checkbox_Checked" field:value="true"/>'
        "</field:fieldmark>"
    )
    control = (
        '<loext:content-control loext:checkbox="true" loext:checked="false" loext:alias="Ok">☐</loext:content-control>'
    )
    found = elements(write(tmp_path / "a.odt", p(choice) + p(date) + p(tick) + p(control)))
    assert [element.category for element in found] == ["form"] * 4
    assert [element.content["fields"][0] for element in found] == [
        {"name": "Size", "type": "choice", "value": "L", "options": ["S", "L"]},
        {"name": "Due", "type": "date", "value": "1 May"},
        {"name": "", "type": "checkbox", "value": True},
        {"name": "Ok", "type": "checkbox", "value": False},
    ]
    assert [element.content["text"] for element in found] == ["L", "1 May", "☒", "☐"]


# ------------------------------------------------------------------------------------------------------------- comments


def test_comments_in_one_place_come_in_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    remarks = comment("c3", "Ann", "Thanks") + comment("c2", "Bob", "Yes") + comment("c1", "Ann", "Really?")
    found = elements(write(tmp_path / "a.odt", p(f"Pay {remarks}ten{end('c1')}{end('c2')}{end('c3')}.")))
    assert [(element.content["author"], element.content["text"]) for element in found[1:]] == [
        ("Ann", "Really?"), ("Bob", "Yes"), ("Ann", "Thanks"),
    ]  # fmt: skip
    assert {element.content["about"] for element in found[1:]} == {"ten"}
    assert found[1].content["date"] == "2024-01-01T10:00:00"


def test_replies_and_settled_comments_are_told_as_such(tmp_path: Path) -> None:
    remarks = comment("c2", "Bob", "Yes", 'loext:parent-name="c1"') + comment(
        "c1", "Ann", "Really?", 'loext:resolved="true"'
    )
    _, first, reply = elements(write(tmp_path / "a.odt", p(f"{remarks}ten{end('c1')}{end('c2')}")))
    assert (first.content["kind"], first.content["resolved"], first.summary) == ("comment", True, "Ann: Really?")
    assert (reply.content["kind"], reply.content["reply_to"]) == ("reply", {"author": "Ann", "text": "Really?"})


def test_a_comment_may_be_about_several_paragraphs(tmp_path: Path) -> None:
    found = elements(write(tmp_path / "a.odt", p(f"a {comment('c1', 'Ann', 'Why?')}b") + p(f"c{end('c1')} d")))
    assert next(element.content["about"] for element in found if element.category == "annotation") == "b c"


# ------------------------------------------------------------------------------------------------- headers and contents


def test_headers_say_on_which_pages_they_are_and_are_not_repeated(tmp_path: Path) -> None:
    def master(name: str, more: str, inner: str) -> str:
        return f'<style:master-page style:name="{name}" {more}>{inner}</style:master-page>'

    odd = f"<style:header>{p('odd')}</style:header><style:header-left>{p('even')}</style:header-left>"
    footer = f"<style:footer>{p('foot<text:tab/><text:tab/>end')}</style:footer>"
    masters = master("Standard", 'style:next-style-name="Rest"', f"<style:header>{p('first')}</style:header>{footer}")
    masters += master("Rest", "", odd + footer) + master("Landscape", "", odd + footer)
    body = p("one") + p("two", "P1") + p("three", "P3")
    found = pages(write(tmp_path / "a.odt", body, styles=f"<office:master-styles>{masters}</office:master-styles>"))
    told = [[(each.content["text"], each.content.get("pages")) for each in page.elements] for page in found]
    assert told == [
        [("first", "first page"), ("one", None), ("foot | end", "first page")],
        [("odd", "odd pages"), ("even", "even pages"), ("two", None), ("foot | end", "all pages but the first")],
        [("three", None), ("foot | end", "all pages")],
    ]


def test_lists_of_figures_are_contents(tmp_path: Path) -> None:
    body = f"<text:index-body>{p('Figure 1<text:tab/>3', 'Figure_20_Index_20_1')}</text:index-body>"
    (found,) = elements(write(tmp_path / "a.odt", f"<text:illustration-index>{body}</text:illustration-index>"))
    assert (found.category, found.content["items"]) == ("list", ["Figure 1\t3"])


# ------------------------------------------------------------------------------------------------------ charts, objects


def chart(kind: str, series: str, rows: list[list[str]], style: str = "", categories: str = "") -> str:
    def cell(words: str, source: str) -> str:
        told = f"<draw:g><svg:desc>{source}</svg:desc></draw:g>" if source else ""
        return f'<table:table-cell office:value="{words}">{p(words)}{told}</table:table-cell>'

    sources = ["", "Plan.B2:Plan.B3", "Plan.C2:Plan.C3"]
    made = "".join(
        f"<table:table-row>{''.join(cell(words, sources[at] if row == 1 else '') for at, words in enumerate(line))}"
        "</table:table-row>"
        for row, line in enumerate(rows)
    )
    axis = f'<chart:axis><chart:categories table:cell-range-address="{categories}"/></chart:axis>' if categories else ""
    return (
        f"<office:document-content {XMLNS}><office:automatic-styles>"
        f'<style:style style:name="ch1"><style:chart-properties {style}/></style:style></office:automatic-styles>'
        f'<office:body><office:chart><chart:chart chart:class="chart:{kind}">'
        f'<chart:plot-area chart:style-name="ch1">{axis}{series}</chart:plot-area>'
        f'<table:table table:name="local-table">{made}</table:table></chart:chart></office:chart></office:body>'
        "</office:document-content>"
    )


FRAME = p('<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>')
ROWS = [["", "North", "South"], ["Q1", "3", "5"], ["Q2", "7", "9"]]


def test_a_chart_has_its_kind_and_the_columns_that_its_series_name(tmp_path: Path) -> None:
    series = "".join(
        f'<chart:series chart:values-cell-range-address="Plan.{column}2:Plan.{column}3"/>' for column in "CB"
    )
    made = chart("bar", series, ROWS, 'chart:stacked="true" chart:vertical="true"', "Plan.A2:Plan.A3")
    (found,) = elements(write(tmp_path / "a.odt", FRAME, {"Object 1/content.xml": made}))
    assert found.content["chart_type"] == "stacked bar"
    assert found.content["data_summary"] == "2 categories: Q1, Q2; South: 5, 9; North: 3, 7"
    assert found.detail is not None
    assert found.detail["series"][0] == {"name": "South", "values": [5, 9], "source": "Plan!C2:C3"}


def test_the_points_of_a_scatter_chart_have_their_own_places(tmp_path: Path) -> None:
    series = (
        '<chart:series chart:values-cell-range-address="local-table.$C$2:.$C$3" '
        'loext:label-string="&quot;Points&quot;">'
        '<chart:domain table:cell-range-address="local-table.$B$2:.$B$3"/></chart:series>'
    )
    made = chart("scatter", series, ROWS)
    (found,) = elements(write(tmp_path / "a.odt", FRAME, {"Object 1/content.xml": made}))
    assert found.content["chart_type"] == "scatter"
    assert found.content["data_summary"] == "2 categories: 3, 7; Points: 5, 9"


def test_an_embedded_file_is_called_by_its_name_and_can_be_had(tmp_path: Path) -> None:
    frame = '<draw:frame><draw:object-ole xlink:href="./Object 1"/><draw:image xlink:href="./icon.png"/></draw:frame>'
    parts = {"Object 1": packed_file("plan.txt", b"the plan"), "icon.png": b"icon"}
    icon, found = elements(write(tmp_path / "a.odt", p(frame), parts))
    assert icon.category == "image"
    assert (found.category, found.content["text"]) == ("link", "Embedded file “plan.txt” (8 bytes)")
    assert found.file is not None
    assert found.file() == ("text/plain", b"the plan")


def test_an_embedded_sheet_says_what_it_is(tmp_path: Path) -> None:
    inner = (
        f"<office:document-content {XMLNS}><office:body><office:spreadsheet/></office:body></office:document-content>"
    )
    (found,) = elements(write(tmp_path / "a.odt", FRAME, {"Object 1/content.xml": inner}))
    assert found.content["text"] == "Embedded OpenDocument spreadsheet (Object 1)"


def test_formulas_have_braces_but_no_tables_of_one_line(tmp_path: Path) -> None:
    row = "<math:mtr><math:mtd>{}</math:mtd></math:mtr>"
    brace = "<math:munder><math:mrow><math:mi>a</math:mi></math:mrow><math:mo>⏟</math:mo></math:munder>"
    bound = "<math:munderover><math:mo>∑</math:mo><math:mi>i</math:mi><math:mi>❑</math:mi></math:munderover>"
    inner = f"<math:math {XMLNS}><math:mtable>{row.format(brace + bound)}</math:mtable></math:math>"
    (found,) = elements(write(tmp_path / "a.odt", FRAME, {"Object 1/content.xml": inner}))
    assert found.content["expression"] == "\\underbrace{a}\\sum_{i}"


# --------------------------------------------------------------------------------------------------------------- slides


def test_a_hidden_slide_says_so_and_shows_only_its_own_footers(tmp_path: Path) -> None:
    declared = '<presentation:footer-decl presentation:name="f">Confidential</presentation:footer-decl>'
    shown, hidden = pages(write(tmp_path / "a.odp", declared + slide("") + slide(shape(p("x")), style="dp1")))
    assert [element.category for element in shown.elements] == ["footer"]
    assert [element.content["text"] for element in hidden.elements] == ["This slide is hidden.", "x"]


def test_shapes_of_a_slide_are_read_from_above(tmp_path: Path) -> None:
    made = shape(p("below"), place=(1, 9)) + shape(p("right"), place=(8, 2)) + shape(p("left"), place=(1, 2))
    made += shape(p("The text"), "outline", place=(1, 5)) + shape(p("Title"), "title", place=(1, 1))
    (page,) = pages(write(tmp_path / "a.odp", slide(made)))
    told = [element.content["text"] for element in page.elements]
    assert told == ["Title", "left", "right", "The text", "below"]
    assert page.elements[1].metadata["box"] == [28.3, 56.7, 170.1, 113.4]


def test_a_list_on_a_slide_is_one_list_however_it_is_written(tmp_path: Path) -> None:
    deep = list_of(item(list_of(item(p("deep")))))
    (page,) = pages(write(tmp_path / "a.odp", slide(shape(list_of(item(p("one"))) + deep + list_of(item(p("two")))))))
    assert page.elements[0].content["items"] == [{"text": "one", "items": ["deep"], "ordered": False}, "two"]


def test_comments_on_a_slide_follow_its_notes(tmp_path: Path) -> None:
    notes = f"<presentation:notes>{shape(p('Smile'), 'notes')}</presentation:notes>"
    remark = comment("c1", "Ann", "Too long").replace('office:name="c1"', "")
    (page,) = pages(write(tmp_path / "a.odp", slide(remark * 2 + shape(p("x")) + notes)))
    assert [element.content["kind"] for element in page.elements[1:]] == ["notes", "comment", "comment"]


def test_a_presentation_says_how_many_slides_it_has_and_how_large_they_are(tmp_path: Path) -> None:
    layout = '<style:page-layout-properties fo:page-width="25.4cm" fo:page-height="19.05cm"/>'
    styles = f'<office:automatic-styles><style:page-layout style:name="m">{layout}</style:page-layout>'
    styles += '</office:automatic-styles><office:master-styles><style:master-page style:page-layout-name="m"/>'
    file = write(tmp_path / "a.odp", slide("") * 2, styles=f"{styles}</office:master-styles>")
    source = opened(file)
    assert source.facts.details == {"slides": 2, "size": [720.0, 540.0]}
