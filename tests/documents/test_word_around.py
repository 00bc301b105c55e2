"""What stands in and around the text of Word documents: drawings, notes, comments, headers, forms."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from a2c_documents.model import UnreadableFileError
from tests.support.documents.old_workbooks import compound, packed_file
from tests.support.documents.word_files import elements, p, pages, part, relations, shown, word_file

CHART = part(
    "c:chartSpace",
    "<c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea>"
    '<c:barChart><c:barDir c:val="col"/><c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>North</c:v></c:pt>'
    '</c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>Q1</c:v></c:pt>'
    '<c:pt idx="1"><c:v>Q2</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numRef><c:numCache>'
    '<c:pt idx="0"><c:v>3</c:v></c:pt><c:pt idx="1"><c:v>7</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser>'
    "</c:barChart></c:plotArea></c:chart>",
)
SMART = part(
    "dgm:dataModel",
    '<dgm:ptLst><dgm:pt modelId="0" type="doc"/>'
    + "".join(
        f'<dgm:pt modelId="{point}"><dgm:t><a:p><a:r><a:t>{words}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        for point, words in enumerate(("Boss", "Left", "Right"), 1)
    )
    + "</dgm:ptLst><dgm:cxnLst>"
    + "".join(
        f'<dgm:cxn srcId="{above}" destId="{below}" srcOrd="{order}"/>'
        for above, below, order in ((0, 1, 0), (1, 3, 1), (1, 2, 0))
    )
    + "</dgm:cxnLst>",
)


def drawing(inner: str, described: str = "", extent: str = "") -> str:
    shape = f'<wp:docPr id="1" name="Shape 1" descr="{described}"/>'
    graphic = f"<a:graphic><a:graphicData>{inner}</a:graphicData></a:graphic>"
    return f"<w:r><w:drawing><wp:inline>{extent}{shape}{graphic}</wp:inline></w:drawing></w:r>"


def box(words: str) -> str:
    return f"<wps:wsp><wps:txbx><w:txbxContent>{p(words)}</w:txbxContent></wps:txbx></wps:wsp>"


def test_damaged_styles_are_reported_and_the_text_is_read(tmp_path: Path) -> None:
    file = word_file(
        tmp_path / "a.docx", p("Rice"), {"word/styles.xml": "<w:styles"}, {"s": ("styles", "styles.xml")}
    )  # fmt: skip
    text, remark = elements(file)
    assert text.content == {"text": "Rice"}
    assert remark.category == "annotation"
    assert "may be missing: invalid XML" in remark.content["text"]


# ------------------------------------------------------------------------------------------------------------- drawings


def test_a_picture_has_its_words_its_size_its_caption_and_its_bytes(tmp_path: Path) -> None:
    picture = '<pic:pic><pic:blipFill><a:blip r:embed="i"/></pic:blipFill></pic:pic>'
    shown_as = drawing(picture, "A duck", '<wp:extent cx="952500" cy="476250"/>')
    styles = part("w:styles", '<w:style w:type="paragraph" w:styleId="C"><w:name w:val="caption"/></w:style>')
    file = word_file(
        tmp_path / "a.docx", p("", more=shown_as) + p("Figure 1: A duck", '<w:pStyle w:val="C"/>'),
        {"word/styles.xml": styles, "word/media/duck.png": b"bytes"},
        {"i": ("image", "media/duck.png"), "s": ("styles", "styles.xml")},
    )  # fmt: skip
    (found,) = elements(file)
    assert found.content == {"alt": "A duck", "url": "", "description": "Figure 1: A duck"}
    assert found.metadata == {"shape": "Shape 1", "size": [100, 50], "source": "word/media/duck.png"}
    assert found.picture is not None
    assert found.picture() == ("image/png", b"bytes")


def test_pictures_of_the_older_kind_and_linked_ones(tmp_path: Path) -> None:
    shape = '<v:shape alt="Old" style="width:75pt;height:30pt"><v:imagedata r:id="i"/></v:shape>'
    old = f"<w:r><w:pict>{shape}</w:pict></w:r>"
    linked = drawing('<pic:pic><pic:blipFill><a:blip r:link="l"/></pic:blipFill></pic:pic>')
    related = {"i": ("image", "media/x.gif"), "l": ("image", "http://e.example/p.png")}
    first, second = elements(
        word_file(tmp_path / "a.docx", p("", more=old + linked), {"word/media/x.gif": b"g"}, related)
    )
    assert (first.content["alt"], first.metadata["size"]) == ("Old", [100, 40])
    assert second.content["url"] == "http://e.example/p.png"
    assert second.picture is None


def test_a_chart_says_what_its_numbers_say(tmp_path: Path) -> None:
    (found,) = elements(
        word_file(
            tmp_path / "a.docx", p("", more=drawing('<c:chart r:id="c"/>')), {"word/charts/c.xml": CHART},
            {"c": ("chart", "charts/c.xml")},
        )
    )  # fmt: skip
    assert found.category == "chart"
    assert (found.content["title"], "column" in found.content["chart_type"]) == ("Sales", True)
    assert "North" in found.content["data_summary"]


def test_smart_art_is_a_diagram_of_its_words(tmp_path: Path) -> None:
    file = word_file(
        tmp_path / "a.docx", p("", more=drawing('<dgm:relIds r:dm="d"/>')), {"word/diagrams/d.xml": SMART},
        {"d": ("diagramData", "diagrams/d.xml")},
    )  # fmt: skip
    assert shown(file) == [("diagram", "Boss\n  Left\n  Right")]


def test_text_boxes_are_read_once_and_grouped_ones_are_a_diagram(tmp_path: Path) -> None:
    old = f"<w:pict><v:shape><v:textbox><w:txbxContent>{p('boxed')}</w:txbxContent></v:textbox></v:shape></w:pict>"
    new = drawing(box("boxed")).removeprefix("<w:r>").removesuffix("</w:r>")
    both = "<mc:AlternateContent><mc:Choice>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>"
    group = drawing(f"<wpg:wgp>{box('one')}{box('two')}</wpg:wgp>")
    body = p("text", more=f"<w:r>{both.format(new, old)}</w:r>") + p("", more=group)
    assert shown(word_file(tmp_path / "a.docx", body)) == [("text", "text"), ("text", "boxed"), ("diagram", "one\ntwo")]


def test_embedded_files_are_links_that_name_them(tmp_path: Path) -> None:
    held = '<w:r><w:object><o:OLEObject Type="Embed" ProgID="Excel.Sheet.12" r:id="e"/></w:object></w:r>'
    rule = '<w:r><w:pict><v:rect style="width:0;height:1.5pt" o:hr="t"/></w:pict></w:r>'
    related = {"e": ("package", "embeddings/book.xlsx")}
    found = elements(word_file(tmp_path / "a.docx", p("", more=held) + p("", more=rule), related=related))
    assert (found[0].category, found[0].content["text"]) == ("link", "Embedded Excel worksheet (book.xlsx)")
    assert found[1].category == "separator"


def test_a_file_of_any_kind_that_is_embedded_is_called_by_its_name_and_can_be_had(tmp_path: Path) -> None:
    held = '<w:r><w:object><o:OLEObject Type="Embed" ProgID="Package" r:id="e"/></w:object></w:r>'
    parts = {"word/embeddings/oleObject1.bin": packed_file("plan.txt", b"the plan")}
    related = {"e": ("oleObject", "embeddings/oleObject1.bin")}
    (found,) = elements(word_file(tmp_path / "a.docx", p("", more=held), parts, related))
    assert found.content["text"] == "Embedded file “plan.txt” (8 bytes)"
    assert (found.metadata["name"], found.metadata["program"]) == ("plan.txt", "Package")
    assert found.file is not None
    assert found.file() == ("text/plain", b"the plan")


def test_an_embedded_file_of_a_removed_document_is_unreadable(tmp_path: Path) -> None:
    held = '<w:r><w:object><o:OLEObject Type="Embed" ProgID="Package" r:id="e"/></w:object></w:r>'
    parts = {"word/embeddings/oleObject1.bin": packed_file("plan.txt", b"the plan")}
    file = word_file(tmp_path / "a.docx", p("", more=held), parts, {"e": ("oleObject", "embeddings/oleObject1.bin")})
    (found,) = elements(file)
    file.unlink()
    assert found.file is not None
    with pytest.raises(UnreadableFileError):
        found.file()


def test_a_document_inside_an_object_can_be_had(tmp_path: Path) -> None:
    held = '<w:r><w:object><o:OLEObject Type="Embed" ProgID="AcroExch.Document.11" r:id="e"/></w:object></w:r>'
    parts = {"word/embeddings/oleObject1.bin": compound({"CONTENTS": b"%PDF-1.7 ..."})}
    related = {"e": ("oleObject", "embeddings/oleObject1.bin")}
    (found,) = elements(word_file(tmp_path / "a.docx", p("", more=held), parts, related))
    assert found.content["text"].startswith("Embedded PDF document (oleObject1.bin")
    assert found.file is not None
    assert found.file()[0] == "application/pdf"


def test_an_object_that_is_damaged_or_linked_is_still_told(tmp_path: Path) -> None:
    def held(name: str, program: str) -> str:
        return f'<w:r><w:object><o:OLEObject ProgID="{program}" r:id="{name}"/></w:object></w:r>'

    parts = {"word/embeddings/a.bin": packed_file("plan.txt", b"x")[:900]}
    related = {"a": ("oleObject", "embeddings/a.bin"), "b": ("oleObject", "file:///C:/plan.docx")}
    body = p("", more=held("a", "Package") + held("b", "Word.Document.12") + held("c", "Some.Program"))
    found = elements(word_file(tmp_path / "a.docx", body, parts, related))
    assert [element.content["text"] for element in found] == [
        "Embedded file (a.bin, 900 bytes)", "Linked Word document", "Embedded Some.Program",
    ]  # fmt: skip
    assert found[1].content["url"] == "file:///C:/plan.docx"


# --------------------------------------------------------------------------------------------------------------- asides


def test_notes_stand_at_the_end_of_their_page(tmp_path: Path) -> None:
    def mark(kind: str, number: int) -> str:
        return f'<w:r><w:{kind}Reference w:id="{number}"/></w:r>'

    notes = part("w:footnotes", "".join(f'<w:footnote w:id="{n}">{p(f"note {n}")}</w:footnote>' for n in (1, 2)))
    ends = part("w:endnotes", f'<w:endnote w:id="1">{p("the end")}</w:endnote>')
    file = word_file(
        tmp_path / "a.docx",
        p("first", more=mark("footnote", 1)) + p("more", more='<w:r><w:br w:type="page"/></w:r>')
        + p("second", more=mark("footnote", 2) + mark("endnote", 1)),
        {"word/footnotes.xml": notes, "word/endnotes.xml": ends},
        {"f": ("footnotes", "footnotes.xml"), "e": ("endnotes", "endnotes.xml")},
    )  # fmt: skip
    first, second = pages(file)
    assert [element.content["text"] for element in first.elements] == ["first[^1]", "more", "note 1"]
    assert first.elements[2].content == {"text": "note 1", "kind": "footnote", "mark": "1"}
    assert [element.content["text"] for element in second.elements] == ["second[^2][^i]", "note 2", "the end"]


def test_a_comment_says_who_said_what_about_what(tmp_path: Path) -> None:
    body = p("Pay ", more='<w:commentRangeStart w:id="7"/><w:r><w:t>ten</w:t></w:r><w:commentRangeEnd w:id="7"/>'
             '<w:r><w:commentReference w:id="7"/></w:r><w:r><w:t> pounds</w:t></w:r>')  # fmt: skip
    comments = part("w:comments", f'<w:comment w:id="7" w:author="Ada">{p("Why?")}</w:comment>')
    related = {"c": ("comments", "comments.xml")}
    text, comment = elements(word_file(tmp_path / "a.docx", body, {"word/comments.xml": comments}, related))
    assert text.content["text"] == "Pay ten pounds"
    assert comment.content == {"text": "Why?", "kind": "comment", "author": "Ada", "about": "ten"}


def test_replies_follow_the_comment_that_they_answer(tmp_path: Path) -> None:
    def marked(number: int) -> str:
        return f'<w:commentRangeEnd w:id="{number}"/><w:r><w:commentReference w:id="{number}"/></w:r>'

    def said(number: int, author: str, words: str) -> str:
        body = f'<w:p w14:paraId="0{number}"><w:r><w:t>{words}</w:t></w:r></w:p>'
        return f'<w:comment w:id="{number}" w:author="{author}" w:date="2024-01-0{number}T10:00:00Z">{body}</w:comment>'

    starts = "".join(f'<w:commentRangeStart w:id="{number}"/>' for number in (1, 2))
    body = p("", more=f"{starts}<w:r><w:t>ten</w:t></w:r>{marked(1)}{marked(2)}") + p("after", more=marked(4))
    comments = part("w:comments", said(3, "Ada", "Fine.") + said(1, "Ada", "Why?") + said(2, "Bob", "It is the price.")
                    + said(4, "Eve", "And this?"))  # fmt: skip
    answers = "".join(f'<w15:commentEx w15:paraId="0{number}" w15:paraIdParent="01"/>' for number in (2, 3))
    extended = (
        '<w15:commentsEx xmlns:w15="http://schemas.microsoft.com/office/word/2012/wordml">'
        f'<w15:commentEx w15:paraId="01" w15:done="1"/>{answers}<w15:commentEx w15:paraId="04"/></w15:commentsEx>'
    )
    found = elements(
        word_file(
            tmp_path / "a.docx", body, {"word/comments.xml": comments, "word/commentsExtended.xml": extended},
            {"c": ("comments", "comments.xml"), "e": ("commentsExtended", "commentsExtended.xml")},
        )
    )  # fmt: skip
    first, second, third, other = (element for element in found if element.category == "annotation")
    assert first.content == {
        "text": "Why?", "kind": "comment", "author": "Ada", "date": "2024-01-01T10:00:00Z", "about": "ten",
        "resolved": True,
    }  # fmt: skip
    assert [one.content["reply_to"] for one in (second, third)] == [{"author": "Ada", "text": "Why?"}] * 2
    assert [one.summary for one in (second, third)] == ["Bob to Ada: It is the price.", "Ada to Ada: Fine."]
    assert (other.content["kind"], other.content["text"]) == ("comment", "And this?")


def test_a_comment_may_be_about_several_paragraphs(tmp_path: Path) -> None:
    body = p("one", more='<w:commentRangeStart w:id="7"/><w:r><w:t>two</w:t></w:r>')
    body += p("three", more='<w:commentRangeEnd w:id="7"/><w:r><w:commentReference w:id="7"/></w:r>')
    comments = part("w:comments", f'<w:comment w:id="7" w:author="Ada">{p("Why?")}</w:comment>')
    related = {"c": ("comments", "comments.xml")}
    found = elements(word_file(tmp_path / "a.docx", body, {"word/comments.xml": comments}, related))
    assert found[-1].content["about"] == "two three"


def test_headers_and_footers_are_on_the_pages_that_show_them_first(tmp_path: Path) -> None:
    kinds = (("header", "first"), ("header", "default"), ("footer", "default"), ("header", "even"))
    parts: dict[str, str | bytes] = {f"word/{c}{k}.xml": part(f"w:{c[:3]}", p(f"{k} {c}")) for c, k in kinds}
    related = {f"{c}{k}": (c, f"{c}{k}.xml") for c, k in kinds}
    references = "".join(f'<w:{c}Reference w:type="{k}" r:id="{c}{k}"/>' for c, k in kinds)
    body = p("one", more='<w:r><w:br w:type="page"/></w:r>') + p("two")
    file = word_file(tmp_path / "a.docx", f"{body}<w:sectPr>{references}<w:titlePg/></w:sectPr>", parts, related)
    told = [[(element.category, element.content["text"]) for element in page.elements] for page in pages(file)]
    assert told == [
        [("header", "first header"), ("text", "one")],
        [("header", "default header"), ("text", "two"), ("footer", "default footer")],
    ]
    plain = word_file(tmp_path / "b.docx", f"{p('one')}<w:sectPr>{references}</w:sectPr>", parts, related)
    assert [element.content["text"] for element in elements(plain)] == ["default header", "one", "default footer"]


def test_what_tabs_divide_in_a_header_is_divided_by_bars(tmp_path: Path) -> None:
    tabs = "<w:r><w:tab/><w:tab/><w:t>Confidential</w:t></w:r>"
    parts: dict[str, str | bytes] = {"word/h.xml": part("w:hdr", p("Agreement", more=tabs))}
    body = f'{p("one")}<w:sectPr><w:headerReference w:type="default" r:id="h"/></w:sectPr>'
    header, _ = elements(word_file(tmp_path / "a.docx", body, parts, {"h": ("header", "h.xml")}))
    assert header.content["text"] == "Agreement | Confidential"


def test_a_section_that_has_the_headers_of_the_one_before_does_not_repeat_them(tmp_path: Path) -> None:
    parts: dict[str, str | bytes] = {
        f"word/{name}.xml": part("w:hdr", p(words)) for name, words in (("a", "same"), ("b", "same"), ("c", "other"))
    }
    related = {name: ("header", f"{name}.xml") for name in "abc"}

    def section(name: str) -> str:
        return f'<w:sectPr><w:headerReference w:type="default" r:id="{name}"/></w:sectPr>'

    body = p("one", section("a")) + p("two", section("b")) + p("three") + section("c")
    told = [[element.content["text"] for element in page.elements]
            for page in pages(word_file(tmp_path / "a.docx", body, parts, related))]  # fmt: skip
    assert told == [["same", "one"], ["two"], ["other", "three"]]


# ---------------------------------------------------------------------------------------------------------------- forms


def test_controls_and_fields_are_forms(tmp_path: Path) -> None:
    ticked = (
        '<w:sdt><w:sdtPr><w:alias w:val="Agreed"/><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr>'
        "<w:sdtContent><w:r><w:t>☒</w:t></w:r></w:sdtContent></w:sdt>"
    )
    choice = (
        '<w:sdt><w:sdtPr><w:alias w:val="Size"/><w:dropDownList><w:listItem w:displayText="S" w:value="1"/>'
        '<w:listItem w:displayText="L" w:value="2"/></w:dropDownList></w:sdtPr>'
        f"<w:sdtContent>{p('L')}</w:sdtContent></w:sdt>"
    )
    old = (
        '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:name w:val="Box"/><w:checkBox><w:default w:val="0"/>'
        '</w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:instrText> FORMCHECKBOX </w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )  # fmt: skip
    found = elements(word_file(tmp_path / "a.docx", p("I agree ", more=ticked) + choice + p("", more=old)))
    assert [element.category for element in found] == ["form", "form", "form"]
    assert found[0].content == {"text": "I agree ☒", "fields": [{"name": "Agreed", "type": "checkbox", "value": True}]}
    assert found[1].content["fields"] == [{"name": "Size", "type": "choice", "value": "L", "options": ["S", "L"]}]
    assert found[2].content == {"text": "☐", "fields": [{"name": "Box", "type": "checkbox", "value": False}]}


def field(code: str, *results: str, entry: str = "") -> list[str]:
    """The runs of a field, in one paragraph for each result."""
    mark = '<w:r><w:fldChar w:fldCharType="{}">{}</w:fldChar></w:r>'
    begun = mark.format("begin", entry) + f"<w:r><w:instrText>{code}</w:instrText></w:r>" + mark.format("separate", "")
    return [begun + results[0], *results[1:-1], (results[-1] if results[1:] else "") + mark.format("end", "")]


def test_the_value_of_a_form_field_can_span_paragraphs(tmp_path: Path) -> None:
    entry = '<w:ffData><w:name w:val="Text1"/><w:textInput><w:default w:val="none"/></w:textInput></w:ffData>'
    lines = field(" FORMTEXT ", *(f"<w:r><w:t>{words}</w:t></w:r>" for words in ("one", "two", "three")), entry=entry)
    body = p("Answer: ", more=lines[0]) + "".join(p("", more=line) for line in lines[1:])
    found = elements(word_file(tmp_path / "a.docx", body))
    assert found[-1].content["fields"] == [{"name": "Text1", "type": "text", "value": "one\ntwo\nthree"}]
    assert [element.content["text"] for element in found] == ["Answer: one", "two", "three"]


def test_text_boxes_inside_a_link_do_not_end_it(tmp_path: Path) -> None:
    run = "<w:r><w:t>{}</w:t></w:r>"
    group = drawing(f"<wpg:wgp>{box('one')}{box('two')}</wpg:wgp>")
    first, last = field(' HYPERLINK "http://f.example" ', run.format("there") + group + run.format("fore"))
    found = elements(word_file(tmp_path / "a.docx", p("go ", more=first + last)))
    assert found[0].metadata["links"] == [{"text": "therefore", "url": "http://f.example"}]


def test_a_strict_document_is_read_like_any_other(tmp_path: Path) -> None:
    document = part("w:document", f"<w:body>{p('strict')}</w:body>").replace(
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    assert shown(word_file(tmp_path / "a.docx", "", document=document)) == [("text", "strict")]


def test_a_document_whose_relations_are_lost_says_so(tmp_path: Path) -> None:
    picture = '<pic:pic><pic:blipFill><a:blip r:embed="i"/></pic:blipFill></pic:pic>'
    file = word_file(tmp_path / "a.docx", p("text", more=drawing(picture, "Lost")), {"word/media/x.png": b"x"})
    with zipfile.ZipFile(file) as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, raw in kept.items():
            archive.writestr(name, b"<broken" if name == "word/_rels/document.xml.rels" else raw)
    found = elements(file)
    assert [element.category for element in found] == ["text", "image", "annotation"]
    assert "may be missing" in found[2].content["text"]


def test_relations_that_lead_nowhere_do_no_harm(tmp_path: Path) -> None:
    picture = '<pic:pic><pic:blipFill><a:blip r:embed="none"/></pic:blipFill></pic:pic>'
    (found,) = elements(word_file(tmp_path / "a.docx", p("", more=drawing(picture, "Lost"))))
    assert (found.content["alt"], found.picture, found.metadata["missing"]) == ("Lost", None, True)
    assert relations({})
