# pyright: basic
"""`contracts/supply-agreement.docx`: numbered clauses, a table of prices, a footnote, a comment, header and footer."""

from __future__ import annotations

import io
from datetime import datetime, time
from typing import Any

from docx import Document
from docx.document import Document as Paper
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Cm, Pt, RGBColor
from docx.text.paragraph import Paragraph

from library.figures import COMPANY, CONTRACT_SIGNED, GREEN, LATE, OWNER, REPORTED, SUPPLIER, day
from library.packing import repacked

NUMBER = "SA-2026-03"
CLAUSES = 42
"""The id of our numbering, free in the default template."""
AREA = "Aldermouth, unloaded"

_NUMBERING = f"""\
<w:abstractNum {nsdecls("w")} w:abstractNumId="{CLAUSES}">
  <w:multiLevelType w:val="multilevel"/>
  <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:pStyle w:val="Heading1"/>
    <w:lvlText w:val="%1."/><w:pPr><w:ind w:left="567" w:hanging="567"/></w:pPr></w:lvl>
  <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/>
    <w:lvlText w:val="%1.%2"/><w:pPr><w:ind w:left="567" w:hanging="567"/></w:pPr></w:lvl>
</w:abstractNum>"""
_FOOTNOTES = f"""\
<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<w:footnotes {nsdecls("w")}>
  <w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>
  <w:footnote w:type="continuationSeparator" w:id="0"><w:p><w:r><w:continuationSeparator/></w:r></w:p></w:footnote>
  <w:footnote w:id="1"><w:p><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteRef/></w:r>
    <w:r><w:t xml:space="preserve"> Delivered to {AREA}; value added tax is not included.</w:t></w:r></w:p></w:footnote>
</w:footnotes>"""


def contract() -> bytes:
    """The agreement."""
    paper = Document()
    facts = paper.core_properties
    facts.title, facts.author, facts.subject = f"Supply Agreement {NUMBER}", OWNER, "Green coffee, 2026/27"
    facts.keywords, facts.comments, facts.last_modified_by = "supply, green coffee, prices, delivery", "", OWNER
    facts.created = datetime.combine(CONTRACT_SIGNED, time(11))
    facts.modified = REPORTED.replace(tzinfo=None)
    _dress(paper)
    paper.add_paragraph("Supply Agreement", "Title")
    parties = paper.add_paragraph("between ")
    parties.add_run(SUPPLIER).bold = True
    parties.add_run(" (the “Supplier”) and ")
    parties.add_run(COMPANY).bold = True
    parties.add_run(f" (the “Buyer”), signed on {day(CONTRACT_SIGNED)}.")
    _clauses(paper)
    target = io.BytesIO()
    paper.save(target)
    return repacked(target.getvalue())


def _dress(paper: Paper) -> None:
    """Fonts, numbering, header and footer."""
    styles: Any = paper.styles
    normal, title, heading = (styles[name] for name in ("Normal", "Title", "Heading 1"))
    normal.font.name, normal.font.size = "Georgia", Pt(10.5)
    normal.paragraph_format.space_after = Pt(6)
    for style in (title, heading):
        style.font.color.rgb = RGBColor(0x5B, 0x3A, 0x29)
    section = paper.sections[0]
    section.left_margin = section.right_margin = Cm(2.5)
    section.header.paragraphs[0].text = f"Supply Agreement {NUMBER}\t\tConfidential"
    footer = section.footer.paragraphs[0]
    footer.alignment = WD_ALIGN_PARAGRAPH.CENTER
    footer.add_run("Page ")
    footer._p.append(parse_xml(f'<w:fldSimple {nsdecls("w")} w:instr="PAGE"><w:r><w:t>1</w:t></w:r></w:fldSimple>'))
    numbering = paper.part.numbering_part.element
    numbering.insert(0, parse_xml(_NUMBERING))  # these come before those that refer to them
    numbering.append(
        parse_xml(f'<w:num {nsdecls("w")} w:numId="{CLAUSES}"><w:abstractNumId w:val="{CLAUSES}"/></w:num>')
    )
    notes = Part(PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, _FOOTNOTES.encode(), paper.part.package)
    paper.part.relate_to(notes, RELATIONSHIP_TYPE.FOOTNOTES)


def _clauses(paper: Paper) -> None:
    _heading(paper, "Subject")
    _clause(paper, "The Supplier sells green coffee to the Buyer from 1 March 2026 to 28 February 2027.")
    _clause(paper, "The Buyer takes at least 24,000 kg in that time, in lots of 20 bags of 60 kg or more.")
    _heading(paper, "Prices")
    prices = _clause(paper, "Prices per kilogram are fixed for the whole time:")
    mark = prices.add_run()
    mark.font.superscript = True
    mark._r.append(parse_xml(f'<w:footnoteReference {nsdecls("w")} w:id="1"/>'))
    _prices(paper)
    _clause(paper, "Invoices are due 30 days after delivery.")
    _heading(paper, "Quality")
    _clause(paper, "Every lot comes with a sample of 300 g, sent before it is shipped.")
    _clause(paper, "A lot that scores below 83 points at the Buyer’s cupping may be refused within 10 days.")
    _heading(paper, "Delivery")
    _clause(paper, "The Supplier names the day of delivery for each lot when it is ordered.")
    late = _clause(
        paper,
        "If a lot comes late, the Supplier credits one percent of its price for each full week, up to five percent.",
    )
    _clause(paper, "Delays are announced in writing as soon as they are known, with a new date.")
    _heading(paper, "End")
    _clause(paper, "Either side may end this agreement with 90 days’ notice.")
    _clause(paper, "After three lots that came more than two weeks late, the Buyer may end it at once.")
    comment = paper.add_comment(
        late.runs, f"Applies to {LATE.number}. Ask for seven percent next year?", author=OWNER, initials="ML"
    )
    comment._comment_elm.set(qn("w:date"), f"{REPORTED:%Y-%m-%dT%H:%M:%SZ}")
    paper.add_paragraph()
    signed = paper.add_table(1, 2)
    for cell, who in zip(signed.rows[0].cells, (SUPPLIER, COMPANY), strict=True):
        cell.text = f"____________________\n{who}"


def _heading(paper: Paper, words: str) -> None:
    _numbered(paper.add_paragraph(words, "Heading 1"), 0)


def _clause(paper: Paper, words: str) -> Paragraph:
    return _numbered(paper.add_paragraph(words), 1)


def _numbered(paragraph: Paragraph, level: int) -> Paragraph:
    properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
    properties.get_or_add_ilvl().val, properties.get_or_add_numId().val = level, CLAUSES
    return paragraph


def _prices(paper: Paper) -> None:
    table = paper.add_table(1, 4, "Light Grid")
    for cell, words in zip(table.rows[0].cells, ("Code", "Coffee", "Origin", "Price per kg"), strict=True):
        cell.text = words
    for coffee in GREEN:
        row = (coffee.code, coffee.name, coffee.origin, f"€{coffee.price:.2f}")
        for cell, words in zip(table.add_row().cells, row, strict=True):
            cell.text = words
    paper.add_paragraph()
