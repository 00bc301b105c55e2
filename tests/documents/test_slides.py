"""Presentations, made with python-pptx; what it cannot make is put into the archive by hand."""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from a2c_documents.model import Element, Source, UnreadableFileError
from a2c_documents.parsers.slides.document import open_slides
from a2c_documents.registry import format_of

pptx: Any = importlib.import_module("pptx")
chart_data: Any = importlib.import_module("pptx.chart.data")
chart_kinds: Any = importlib.import_module("pptx.enum.chart").XL_CHART_TYPE
Inches: Any = importlib.import_module("pptx.util").Inches

PLAIN, BLANK, TITLE_ONLY, COMPARISON = 1, 6, 5, 4
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"


def dot(width: int = 4, height: int = 3) -> io.BytesIO:
    target = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(target, "PNG")
    target.seek(0)
    return target


def saved(deck: Any, tmp_path: Path) -> Path:
    path = tmp_path / "deck.pptx"
    deck.save(path)
    return path


def rewrite(path: Path, changes: dict[str, bytes | Callable[[bytes], bytes]]) -> None:
    """Change parts of an archive, or add some."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, change in changes.items():
        parts[name] = change if isinstance(change, bytes) else change(parts[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)


def related(kind: str, identifier: str, target: str) -> Callable[[bytes], bytes]:
    entry = f'<Relationship Id="{identifier}" Type="{kind}" Target="{target}"/>'
    return lambda raw: raw.replace(b"</Relationships>", f"{entry}</Relationships>".encode())


def page(path: Path, index: int = 0) -> list[Element]:
    source = open_slides(path)
    elements = source.page(index).elements
    source.close()
    return elements


def of(elements: list[Element], category: str) -> list[Element]:
    return [element for element in elements if element.category == category]


def words(elements: list[Element]) -> list[str]:
    return [str(element.content.get("text")) for element in elements]


def content(source: Source) -> list[Any]:
    pages = [source.page(index) for index in range(len(source.page_titles))]
    return [(page.title, [(one.category, one.content, one.metadata) for one in page.elements]) for page in pages]


def box(slide: Any, left: float, top: float, text: str) -> Any:
    shape = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(0.5))
    shape.text_frame.text = text
    return shape


# ---------------------------------------------------------------------------------------------------------------- pages


def test_page_is_a_slide_named_by_its_title_its_first_text_or_its_number(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[PLAIN]).shapes.title.text = "Sales\vin May"
    box(deck.slides.add_slide(deck.slide_layouts[BLANK]), 1, 1, "Only a box\nwith two lines")
    deck.slides.add_slide(deck.slide_layouts[BLANK])
    source = open_slides(saved(deck, tmp_path))
    assert list(source.page_titles) == ["Sales in May", "Only a box", "Slide 3"]
    assert [source.page(index).title for index in range(3)] == list(source.page_titles)
    title = source.page(0).elements[0]
    assert (title.category, title.content) == ("heading", {"level": 1, "text": "Sales in May"})
    assert title.metadata["slide"] == 1
    assert title.metadata["shape"] == "Title 1"
    assert title.metadata["box"] == [36.0, 21.6, 684.0, 111.6]
    source.close()


def test_hidden_slide_is_there_and_says_so(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    slide.shapes.title.text = "Backup"
    slide._element.set("show", "0")
    elements = page(saved(deck, tmp_path))
    assert (elements[0].category, elements[0].content["text"]) == ("annotation", "This slide is hidden.")
    assert elements[1].content["text"] == "Backup"


def test_facts_come_from_the_core_properties(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    core = deck.core_properties
    core.title, core.author, core.keywords, core.comments = "Plan", "Ada", "sales, may; north", "What we do"
    facts = open_slides(saved(deck, tmp_path)).facts
    assert (facts.title, facts.author, facts.summary) == ("Plan", "Ada", "What we do")
    assert facts.keywords == ["sales", "may", "north"]
    assert facts.created.startswith("20")
    assert facts.details == {"slides": 0, "size": [720.0, 540.0]}


def test_title_that_the_program_put_there_is_no_title(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    deck.core_properties.title = "PowerPoint Presentation"
    assert open_slides(saved(deck, tmp_path)).facts.title == ""


def test_very_long_slide_goes_on_on_further_pages(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    slide.shapes.title.text = "Long"
    box(slide, 1, 1, "\n".join(f"Line {number} {'x' * 200}" for number in range(1_500)))
    deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY]).shapes.title.text = "Next"
    source = open_slides(saved(deck, tmp_path))
    titles = list(source.page_titles)
    assert len(titles) > 2
    assert titles[0].startswith("Long (part 1 of")
    assert titles[-1] == "Next"
    assert source.page(len(titles) - 1).elements[0].metadata["slide"] == 2


def test_parsing_twice_gives_the_same(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[PLAIN])
    slide.shapes.title.text = "Same"
    box(slide, 3, 3, "again")
    slide.shapes.add_picture(dot(), Inches(1), Inches(1))
    path = saved(deck, tmp_path)
    source = open_slides(path)
    first = content(source)
    assert first == content(source) == content(open_slides(path))


# ----------------------------------------------------------------------------------------------------------------- text


def test_bullets_are_nested_lists_and_other_paragraphs_texts(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[PLAIN])
    frame = slide.placeholders[1].text_frame
    frame.text = "Fruit"
    for level, text in ((1, "Apples"), (2, "Red"), (1, "Pears"), (0, "Bread")):
        paragraph = frame.add_paragraph()
        paragraph.text, paragraph.level = text, level
    box(slide, 1, 6, "No bullets here")
    elements = page(saved(deck, tmp_path))
    (bullets,) = of(elements, "list")
    fruit = {"text": "Apples", "items": ["Red"], "ordered": False}
    expected = [{"text": "Fruit", "items": [fruit, "Pears"], "ordered": False}, "Bread"]
    assert bullets.content == {"items": expected, "ordered": False}
    assert words(of(elements, "text")) == ["No bullets here"]


def test_numbered_paragraphs_are_ordered_and_bullets_switched_off_are_texts(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[PLAIN])
    frame = slide.placeholders[1].text_frame
    frame.text = "Before"
    for text in ("one", "two"):
        frame.add_paragraph().text = text
    etree: Any = importlib.import_module("lxml.etree")
    for index, mark in enumerate(("buNone", "buAutoNum", "buAutoNum")):
        properties = frame.paragraphs[index]._p.get_or_add_pPr()
        etree.SubElement(properties, f"{{{DRAWING}/main}}{mark}").set("type", "arabicPeriod")
    elements = page(saved(deck, tmp_path))
    assert [(one.category, one.content) for one in elements] == [
        ("text", {"text": "Before"}),
        ("list", {"items": ["one", "two"], "ordered": True}),
    ]


def test_links_follow_their_text(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    run = box(slide, 1, 1, "See ").text_frame.paragraphs[0].add_run()
    run.text = "our site"
    run.hyperlink.address = "https://example.com/"
    elements = page(saved(deck, tmp_path))
    assert elements[0].content == {"text": "See our site"}
    assert elements[1].content == {"text": "our site", "url": "https://example.com/"}


def test_formula_is_read(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    box(deck.slides.add_slide(deck.slide_layouts[BLANK]), 1, 1, "HERE")
    path = saved(deck, tmp_path)
    math = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        '<mc:Choice Requires="a14">'
        '<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main">'
        '<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:f><m:num><m:r><m:t>3</m:t></m:r>'
        "</m:num><m:den><m:r><m:t>4</m:t></m:r></m:den></m:f></m:oMath></a14:m></mc:Choice></mc:AlternateContent>"
    )
    rewrite(path, {"ppt/slides/slide1.xml": lambda raw: raw.replace(b"<a:r><a:t>HERE</a:t></a:r>", math.encode())})
    (element,) = page(path)
    assert (element.category, element.content["expression"]) == ("formula", "\\frac{3}{4}")


def test_dates_and_footers_are_footers_and_numbers_are_left_out(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    path = saved(deck, tmp_path)
    shapes = "".join(
        f'<p:sp><p:nvSpPr><p:cNvPr id="{10 + number}" name="{kind}"/><p:cNvSpPr/>'
        f'<p:nvPr><p:ph type="{kind}" idx="{number}"/>'
        f"</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        for number, (kind, text) in enumerate((("dt", "1 May"), ("ftr", "Secret"), ("sldNum", "7")), 10)
    )
    assert slide is not None
    rewrite(path, {"ppt/slides/slide1.xml": lambda raw: raw.replace(b"</p:spTree>", f"{shapes}</p:spTree>".encode())})
    elements = page(path)
    assert [(one.category, one.content["text"]) for one in elements] == [("footer", "1 May"), ("footer", "Secret")]
    assert open_slides(path).page_titles == ["Slide 1"]


# ---------------------------------------------------------------------------------------------------------------- order


def test_free_shapes_are_read_row_by_row(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[TITLE_ONLY])
    for left, top, text in ((5, 5, "F"), (1, 5.1, "E"), (5, 3, "D"), (1, 3, "C"), (5, 2.05, "B"), (1, 2, "A")):
        box(slide, left, top, text)
    slide.shapes.title.text = "T"
    assert words(page(saved(deck, tmp_path))) == ["T", "A", "B", "C", "D", "E", "F"]


def test_placeholders_keep_the_order_of_the_design(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[COMPARISON])
    for index, text in ((0, "T"), (1, "left head"), (2, "left"), (3, "right head"), (4, "right")):
        slide.placeholders[index].text_frame.text = text
    elements = page(saved(deck, tmp_path))
    said = [one.content["text"] if "text" in one.content else one.content["items"][0] for one in elements]
    assert said == ["T", "left head", "left", "right head", "right"]


def test_groups_are_read_as_one_in_the_order_of_the_tree(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    box(slide, 1, 6, "last")
    group = slide.shapes.add_group_shape()
    inner = group.shapes.add_group_shape()
    for shapes, text, top in ((inner.shapes, "b", 4), (inner.shapes, "a", 3), (group.shapes, "c", 2)):
        shape = shapes.add_textbox(Inches(1), Inches(top), Inches(1), Inches(0.5))
        shape.text_frame.text = text
    elements = page(saved(deck, tmp_path))
    assert words(elements) == ["b", "a", "c", "last"]
    assert elements[0].metadata["box"] == [72.0, 288.0, 144.0, 324.0]


def test_deeply_nested_groups_are_no_danger(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[BLANK])
    path = saved(deck, tmp_path)
    deep = b"<p:grpSp>" * 100_000
    rewrite(path, {"ppt/slides/slide1.xml": lambda raw: raw.replace(b"</p:spTree>", deep + b"</p:spTree>")})
    (remark,) = page(path)
    assert remark.category == "annotation"


# --------------------------------------------------------------------------------------------------------------- frames


def test_table_has_headers_rows_merged_cells_and_links(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    table = slide.shapes.add_table(3, 3, Inches(1), Inches(1), Inches(6), Inches(2)).table
    for row in range(3):
        for column in range(3):
            table.cell(row, column).text = f"{row}{column}"
    table.cell(1, 0).merge(table.cell(2, 1))
    run = table.cell(1, 2).text_frame.paragraphs[0].runs[0]
    run.hyperlink.address = "https://example.com/12"
    element, link = page(saved(deck, tmp_path))
    assert element.content["headers"] == ["00", "01", "02"]
    assert [row[2] for row in element.content["rows"]] == ["12", "22"]
    assert element.content["rows"][1][:2] == ["", ""]
    assert element.metadata["merged"] == ["A2:B3"]
    assert element.detail is not None
    assert element.detail["total_rows"] == 2
    assert link.content == {"text": "12", "url": "https://example.com/12"}


def test_a_header_that_reaches_over_columns_is_the_header_of_each(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    table = slide.shapes.add_table(2, 3, Inches(1), Inches(1), Inches(6), Inches(2)).table
    table.cell(0, 0).merge(table.cell(0, 1))
    for column, words in enumerate(("Both", "", "Last")):
        table.cell(0, column).text = words or table.cell(0, column).text
        table.cell(1, column).text = str(column)
    (element,) = page(saved(deck, tmp_path))
    assert element.content == {"headers": ["Both", "Both", "Last"], "rows": [["0", "1", "2"]]}
    assert element.metadata["merged"] == ["A1:B1"]


def test_a_paragraph_that_is_a_link_is_told_once(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    box = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(3), Inches(1)).text_frame
    for words, beside in (("alone", ""), ("here", "see ")):
        paragraph = box.add_paragraph()
        paragraph.add_run().text = beside
        run = paragraph.add_run()
        run.text, run.hyperlink.address = words, "https://example.com"
    found = [(element.category, element.content["text"]) for element in page(saved(deck, tmp_path))]
    assert found == [("link", "alone"), ("text", "see here"), ("link", "here")]


def test_table_without_a_header_row_has_empty_headers(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    table = slide.shapes.add_table(1, 2, Inches(1), Inches(1), Inches(6), Inches(2)).table
    table.first_row = False
    table.cell(0, 0).text = "x"
    (element,) = page(saved(deck, tmp_path))
    assert element.content == {"headers": ["", ""], "rows": [["x", ""]]}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("COLUMN_CLUSTERED", "clustered column"),
        ("BAR_STACKED", "stacked bar"),
        ("LINE", "line"),
        ("PIE", "pie"),
        ("AREA_STACKED_100", "100% stacked area"),
        ("DOUGHNUT", "doughnut"),
        ("RADAR", "radar"),
    ],
)
def test_chart_tells_its_kind_title_and_data(tmp_path: Path, kind: str, name: str) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    data = chart_data.CategoryChartData()
    data.categories = ["May", "June", "July"]
    data.add_series("North", (1, 2.5, -3))
    data.add_series("South", (4, None, 6))
    place = (Inches(1), Inches(1), Inches(5), Inches(4))
    chart = slide.shapes.add_chart(getattr(chart_kinds, kind), *place, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Sales"
    (element,) = page(saved(deck, tmp_path))
    assert element.category == "chart"
    assert (element.content["chart_type"], element.content["title"]) == (name, "Sales")
    summary = element.content["data_summary"]
    assert summary.startswith("3 categories: May, June, July; North: 1, 2.5, -3")
    assert element.detail is not None
    assert element.detail["series"][0] == {"name": "North", "values": [1, 2.5, -3], "source": "Sheet1!$B$2:$B$4"}
    if kind != "PIE":
        assert summary.endswith("South: 4, –, 6")
        assert element.detail["series"][1]["values"] == [4, None, 6]


def test_scatter_chart_has_its_values(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    data = chart_data.XyChartData()
    series = data.add_series("Points")
    for across, up in ((1, 10), (2, 30)):
        series.add_data_point(across, up)
    slide.shapes.add_chart(chart_kinds.XY_SCATTER, Inches(1), Inches(1), Inches(5), Inches(4), data)
    (element,) = page(saved(deck, tmp_path))
    assert element.content["chart_type"] == "scatter"
    assert element.content["data_summary"] == "2 categories: 1, 2; Points: 10, 30"


def test_a_long_chart_tells_how_far_its_values_reach(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    data = chart_data.CategoryChartData(number_format="0%")
    data.categories = [f"day {number}" for number in range(40)]
    data.add_series("Share", [number / 100 for number in range(40)])
    slide.shapes.add_chart(chart_kinds.LINE, Inches(1), Inches(1), Inches(5), Inches(4), data)
    (element,) = page(saved(deck, tmp_path))
    told = "40 categories: day 0, day 1, day 2, …, day 39; Share: 40 values from 0% to 39%"
    assert element.content["data_summary"] == told


def test_picture_has_alt_text_size_and_bytes(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    shape = slide.shapes.add_picture(dot(), Inches(1), Inches(2), Inches(3), Inches(1))
    shape._element.nvPicPr.cNvPr.set("descr", "A red dot")
    source = open_slides(saved(deck, tmp_path))
    (element,) = source.page(0).elements
    source.close()
    assert element.content["alt"] == "A red dot"
    assert element.metadata["box"] == [72.0, 144.0, 288.0, 216.0]
    assert element.picture is not None
    assert element.picture() == ("image/png", dot().getvalue()), "it can be read after the source is closed"


def test_film_is_a_video_element(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    film, poster = io.BytesIO(b"film" * 10), dot()
    slide.shapes.add_movie(film, 0, 0, Inches(1), Inches(1), poster_frame_image=poster, mime_type="video/mp4")
    (element,) = page(saved(deck, tmp_path))
    assert element.category == "video"
    assert (element.content["mime"], element.content["bytes"]) == ("video/mp4", 40)
    assert element.picture is not None
    assert element.picture()[0] == "image/png"


def test_embedded_object_is_named(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    programs: Any = importlib.import_module("pptx.enum.shapes").PROG_ID
    slide.shapes.add_ole_object(io.BytesIO(b"book"), programs.XLSX, Inches(1), Inches(1), icon_file=dot())
    (element,) = page(saved(deck, tmp_path))
    assert element.category == "link"
    assert element.content["text"].startswith("Embedded Excel worksheet")
    assert element.metadata["name"].endswith(".xlsx")
    assert element.file is not None
    assert element.file()[1] == b"book"


def test_smart_art_is_a_diagram_by_its_text(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[BLANK])
    path = saved(deck, tmp_path)
    frame = (
        f'<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="9" name="Diagram 1"/><p:cNvGraphicFramePr/><p:nvPr/>'
        f'</p:nvGraphicFramePr><p:xfrm><a:off x="0" y="0"/><a:ext cx="12700" cy="12700"/></p:xfrm><a:graphic>'
        f'<a:graphicData uri="{DRAWING}/diagram">'
        f'<dgm:relIds xmlns:dgm="{DRAWING}/diagram" r:dm="rId90"/></a:graphicData>'
        f"</a:graphic></p:graphicFrame>"
    )
    points = "".join(
        f'<dgm:pt modelId="{number}"{kind}><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        for number, kind, text in ((0, ' type="doc"', ""), (1, "", "Boss"), (2, "", "Second"), (3, "", "First"))
    )
    lines = "".join(
        f'<dgm:cxn modelId="{90 + number}" srcId="{above}" destId="{below}" srcOrd="{order}"/>'
        for number, (above, below, order) in enumerate(((0, 1, 0), (1, 2, 1), (1, 3, 0), (3, 1, 0)))
    )
    data = (
        f'<dgm:dataModel xmlns:dgm="{DRAWING}/diagram" xmlns:a="{DRAWING}/main"><dgm:ptLst>{points}</dgm:ptLst>'
        f"<dgm:cxnLst>{lines}</dgm:cxnLst></dgm:dataModel>"
    )
    rewrite(
        path,
        {
            "ppt/slides/slide1.xml": lambda raw: raw.replace(b"</p:spTree>", f"{frame}</p:spTree>".encode()),
            "ppt/slides/_rels/slide1.xml.rels": related(f"{RELATIONS}/diagramData", "rId90", "../diagrams/data1.xml"),
            "ppt/diagrams/data1.xml": data.encode(),
        },
    )
    (element,) = page(path)
    assert element.category == "diagram"
    assert element.content["text"] == "Boss\n  First\n  Second"
    assert element.content["items"] == [{"text": "Boss", "items": ["First", "Second"], "ordered": False}]


# -------------------------------------------------------------------------------------------------------------- remarks


def test_speaker_notes_are_an_annotation(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[BLANK])
    slide.notes_slide.notes_text_frame.text = "Smile.\nWait."
    (element,) = page(saved(deck, tmp_path))
    assert (element.category, element.content) == ("annotation", {"text": "Smile.\nWait.", "kind": "notes"})
    assert element.summary == "Speaker notes: Smile. Wait."


def test_comments_of_both_kinds_have_their_authors(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[BLANK])
    path = saved(deck, tmp_path)
    main, modern = "http://schemas.openxmlformats.org/presentationml/2006/main", "http://schemas.microsoft.com/office"
    old = (
        f'<p:cmLst xmlns:p="{main}"><p:cm authorId="0" dt="2020-01-02T03:04:05"><p:text>Too long</p:text></p:cm>'
        "</p:cmLst>"
    )
    body = f'<p188:txBody><a:p xmlns:a="{DRAWING}/main"><a:r><a:t>%s</a:t></a:r></a:p></p188:txBody>'
    new = (
        f'<p188:cmLst xmlns:p188="{modern}/powerpoint/2018/8/main"><p188:cm id="{{1}}" authorId="{{A}}">'
        f'<p188:replyLst><p188:reply id="{{2}}" authorId="{{B}}">{body % "Yes"}</p188:reply></p188:replyLst>'
        f"{body % 'Agreed?'}</p188:cm></p188:cmLst>"
    )
    authors = f'<p:cmAuthorLst xmlns:p="{main}"><p:cmAuthor id="0" name="Ada"/></p:cmAuthorLst>'
    people = (
        f'<p188:authorLst xmlns:p188="{modern}/powerpoint/2018/8/main"><p188:author id="{{A}}" name="Grace"/>'
        '<p188:author id="{B}" name="Alan"/></p188:authorLst>'
    )
    relations = f"{modern}/2018/10/relationships"
    rewrite(path, {"ppt/slides/_rels/slide1.xml.rels": related(f"{RELATIONS}/comments", "rId80", "../comments/c1.xml")})
    rewrite(
        path,
        {
            "ppt/slides/_rels/slide1.xml.rels": related(f"{relations}/comments", "rId81", "../comments/c2.xml"),
            "ppt/_rels/presentation.xml.rels": related(f"{RELATIONS}/commentAuthors", "rId82", "commentAuthors.xml"),
            "ppt/comments/c1.xml": old.encode(),
            "ppt/comments/c2.xml": new.encode(),
            "ppt/commentAuthors.xml": authors.encode(),
            "ppt/authors.xml": people.encode(),
        },
    )
    rewrite(path, {"ppt/_rels/presentation.xml.rels": related(f"{relations}/authors", "rId83", "authors.xml")})
    found = [(one.content["author"], one.content["text"], one.content["kind"]) for one in page(path)]
    assert found == [("Ada", "Too long", "comment"), ("Grace", "Agreed?", "comment"), ("Alan", "Yes", "reply")]
    reply = page(path)[2]
    assert reply.content["reply_to"] == {"author": "Grace", "text": "Agreed?"}
    assert reply.summary == "Alan to Grace: Yes"


# -------------------------------------------------------------------------------------------------------------- hostile


def three_slides(tmp_path: Path) -> Path:
    deck = pptx.Presentation()
    for name in ("One", "Two", "Three"):
        deck.slides.add_slide(deck.slide_layouts[PLAIN]).shapes.title.text = name
    data = chart_data.CategoryChartData()
    data.categories = ["a"]
    data.add_series("b", (1,))
    place = (Inches(1), Inches(1), Inches(5), Inches(4))
    deck.slides[2].shapes.add_chart(chart_kinds.PIE, *place, data)
    return saved(deck, tmp_path)


def test_damaged_slide_does_not_spoil_the_others(tmp_path: Path) -> None:
    path = three_slides(tmp_path)
    rewrite(path, {"ppt/slides/slide2.xml": b"<p:sld"})
    source = open_slides(path)
    assert list(source.page_titles) == ["One", "Slide 2", "Three"]
    (remark,) = source.page(1).elements
    assert remark.category == "annotation"
    assert source.page(0).elements[0].content["text"] == "One"


def test_damaged_chart_is_said_to_be_so(tmp_path: Path) -> None:
    path = three_slides(tmp_path)
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.startswith("ppt/charts/chart"))
    rewrite(path, {name: b"no XML"})
    elements = page(path, 2)
    assert [one.category for one in elements] == ["heading", "annotation"]


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    path = three_slides(tmp_path)

    def bomb(raw: bytes) -> bytes:
        levels = "".join(f'<!ENTITY l{step} "{f"&l{step - 1};" * 10}">' for step in range(1, 10))
        head, rest = raw.split(b"?>", 1)
        return head + f'?><!DOCTYPE x [<!ENTITY l0 "laugh">{levels}]>'.encode() + rest.replace(b"One", b"One &l9;")

    rewrite(path, {"ppt/slides/slide1.xml": bomb})
    source = open_slides(path)
    assert "laugh" not in str(content(source))
    assert list(source.page_titles)[1:] == ["Two", "Three"]


def test_a_damaged_compound_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "secret.pptx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1_000))
    with pytest.raises(UnreadableFileError, match="damaged, or saved in an old format"):
        open_slides(path)


@pytest.mark.parametrize("damage", ["empty", "cut", "no zip", "other zip", "no slides part"])
def test_what_is_no_presentation_is_refused(tmp_path: Path, damage: str) -> None:
    path = three_slides(tmp_path)
    match damage:
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        case "no zip":
            path.write_bytes(b"%PDF-1.7 and so on")
        case "other zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("hello.txt", "hello")
        case _:
            rewrite(path, {"ppt/presentation.xml": b"<p:presentation"})
    with pytest.raises(UnreadableFileError):
        open_slides(path)


def test_a_presentation_cut_off_behind_an_embedded_workbook_is_damaged(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as workbook:
        workbook.writestr("xl/workbook.xml", "<workbook/>")
    path = tmp_path / "cut.pptx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ppt/presentation.xml", "<presentation/>")
        archive.writestr("ppt/embeddings/book.xlsx", inner.getvalue())
        archive.writestr("ppt/slides/slide1.xml", "<slide/>")
    raw = path.read_bytes()
    path.write_bytes(raw[: raw.index(inner.getvalue()) + len(inner.getvalue())])
    assert format_of(path).module == "slides.document"
    with pytest.raises(UnreadableFileError, match="its end is missing"):
        open_slides(path)
