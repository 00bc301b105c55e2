"""Files that have of everything: formatting, links, notes, comments, forms, formulas, alternative texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import openpyxl
import pptx
from openpyxl.comments import Comment

from tests.support.documents.word_files import part, word_file

LINK = "https://tea.example/order?of=1"
_W_RUNS = (
    "<w:r><w:t xml:space='preserve'>Read </w:t></w:r>"
    "<w:r><w:rPr><w:b/></w:rPr><w:t>this</w:t></w:r><w:r><w:t xml:space='preserve"
    "'> and </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>that</w:t></w:r>"
    "<w:r><w:t xml:space='preserve'>, or </w:t></w:r><w:r><w:rPr><w:i/></w:rPr><w:t>those</w:t></w:r>"
    "<w:r><w:t xml:space='preserve'>: </w:t></w:r>"
    "<w:r><w:rPr><w:rFonts w:ascii='Consolas'/></w:rPr><w:t>run --now</w:t></w:r>"
    "<w:hyperlink r:id='l1'><w:r><w:t xml:space='preserve'> the order</w:t></w:r></w:hyperlink><w:r><w:t>.</w:t></w:r>"
)


def write_docx(path: Path) -> None:
    """A Word document."""
    form = (
        "<w:p><w:r><w:t>Name:</w:t></w:r><w:sdt><w:sdtPr><w:alias w:val='Customer'/><w:text/></w:sdtPr><w:sdtContent>"
        "<w:r><w:t>Ada Lovelace</w:t></w:r></w:sdtContent></w:sdt></w:p>"
    )
    cell = f"<w:tc><w:p>{_W_RUNS}</w:p></w:tc><w:tc><w:p><w:r><w:t>12</w:t></w:r></w:p></w:tc>"
    body = (
        f"<w:p>{_W_RUNS}<w:r><w:footnoteReference w:id='1'/></w:r></w:p>{form}"
        "<w:p><w:commentRangeStart w:id='7'/><w:r><w:t>Green tea</w:t></w:r><w:commentRangeEnd w:id='7'/>"
        "<w:r><w:commentReference w:id='7'/></w:r></w:p>"
        f"<w:tbl><w:tr>{cell}</w:tr><w:tr>{cell}</w:tr></w:tbl>"
    )
    long = " ".join(f"Sentence {number} of a long note." for number in range(60))
    parts = {
        "word/footnotes.xml": part(
            "w:footnotes", f"<w:footnote w:id='1'><w:p><w:r><w:t>{long}</w:t></w:r></w:p></w:footnote>"
        ),
        "word/comments.xml": part(
            "w:comments",
            "<w:comment w:id='7' w:author='Grace' w:date='2026-01-02T03:04:05Z'>"
            "<w:p><w:r><w:t>Which harvest?</w:t></w:r></w:p></w:comment>",
        ),
    }
    word_file(
        path, body, parts,
        {"l1": ("hyperlink", LINK), "f": ("footnotes", "footnotes.xml"), "c": ("comments", "comments.xml")},
    )  # fmt: skip


def write_html(path: Path) -> None:
    """A web page."""
    words = (
        "Read <b>this</b> and <strong>that</strong>, or <em>those</em>: <code>run --now</code> "
        f"<a href='{LINK}'>the order</a>."
    )
    path.write_text(
        f"<title>Tea</title><h1>Tea</h1><p>{words}</p><ul><li>{words}<li>plain</ul><table><tr><th>Tea<th>Price</tr>"
        f"<tr><td>{words}<td>12</tr></table><form><label for=n>Full name</label><input name=full id=n value='Ada'>"
        "<select name=kind><option>green<option selected>black</select></form>"
        "<img src='leaf.png' alt='A leaf' title='Camellia sinensis'>",
        "utf-8",
    )


def write_markdown(path: Path) -> None:
    """A Markdown file."""
    words = f"Read **this** and **that**, or *those*: `run --now` [the order]({LINK})."
    path.write_text(f"# Tea\n\n{words}\n\n- {words}\n- plain\n\n| Tea | Price |\n| --- | --- |\n| {words} | 12 |\n")


def write_xlsx(path: Path) -> None:
    """A workbook."""
    book = openpyxl.Workbook()
    sheet = cast("Any", book.active)
    for row in (["Tea", "Price", "Count", "Sum"], ["green", 2, 3, "=B2*C2"], ["black", 4, 5, "=B3*C3"]):
        sheet.append(row)
    sheet["B2"].comment = Comment("The price of last year. " * 20, "Grace")
    sheet["A3"].hyperlink = LINK
    book.save(path)


def write_pptx(path: Path) -> None:
    """A presentation."""
    deck: Any = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Tea"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for words, bold, italic in (("Read ", False, False), ("this", True, False), (" and ", False, False)):
        run = paragraph.add_run()
        run.text, run.font.bold, run.font.italic = words, bold, italic
    run = paragraph.add_run()
    run.text, run.hyperlink.address = "the order", LINK
    slide.notes_slide.notes_text_frame.text = "Say how it is made.\n" + "Then pour a cup for everyone. " * 20
    deck.save(path)


RICH_FILES: dict[str, Callable[[Path], None]] = {
    "tea.docx": write_docx,
    "tea.html": write_html,
    "tea.md": write_markdown,
    "tea.xlsx": write_xlsx,
    "tea.pptx": write_pptx,
}
"""How each is written, by name."""
