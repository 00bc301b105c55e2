# pyright: basic
"""`slides/board-meeting.pptx`: six slides for the board, with a chart, a table, a picture and what the speaker says."""

from __future__ import annotations

import io
from typing import Any, TypeAlias

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.enum.text import PP_ALIGN
from pptx.opc.constants import RELATIONSHIP_TYPE
from pptx.util import Inches, Pt

from library.figures import (
    BOARD_MEETS,
    CHANNELS,
    COMPANY,
    FINANCE,
    GROWTH,
    LATE,
    MONTHS,
    OWNER,
    PRODUCTS,
    Q2_RESULT,
    Q3,
    Q3_RESULT,
    Q4_TARGET,
    REPORTED,
    SIDAMA,
    SIDAMA_A_WEEK,
    SIDAMA_WEEKS,
    SUPPLIER,
    WINTER_KILOGRAMS,
    WINTER_START,
    day,
    euro,
    percent,
    quarter,
    sold,
)
from library.packing import repacked
from library.pictures import storefront

Deck: TypeAlias = Any
Slide: TypeAlias = Any
"""The library declares too little of what a slide has."""

WIDE = Inches(40 / 3)
EURO = '"€"#,##0'
TITLE_SLIDE, WITH_CONTENT, TITLE_ONLY = 0, 1, 5
THEME = {
    b"1F497D": b"5B3A29", b"EEECE1": b"F3E9DC", b"4F81BD": b"5B3A29", b"C0504D": b"C98B4B", b"9BBB59": b"7A8F6A",
    b"8064A2": b"C0563D", b"Calibri": b"Georgia",
}  # fmt: skip
"""Colours and typeface of the default theme, and ours in their place."""


def slides() -> bytes:
    """The presentation."""
    deck: Deck = Presentation()
    facts = deck.core_properties
    facts.title, facts.author, facts.subject = "Board meeting, October 2026", OWNER, "The third quarter of 2026"
    facts.keywords, facts.last_modified_by = "board, Q3 2026", OWNER
    facts.comments = "Sales, products, a late shipment, and what the board is asked to decide."
    facts.created = facts.modified = REPORTED.replace(tzinfo=None)
    _dress(deck)
    for make in (_opening, _minute, _channels, _products, _shipment, _decisions):
        make(deck)
    target = io.BytesIO()
    deck.save(target)
    return repacked(target.getvalue())


def _dress(deck: Deck) -> None:
    """The default template, in wide format and in the company's colours."""
    stretch = WIDE / deck.slide_width
    deck.slide_width = WIDE
    for holder in (deck.slide_master, *deck.slide_layouts):
        for shape in holder.placeholders:
            if shape._element.spPr.xfrm is not None:  # the others inherit their place
                shape.left, shape.width = round(shape.left * stretch), round(shape.width * stretch)
    background = deck.slide_master.background.fill
    background.solid()
    background.fore_color.rgb = RGBColor(0xFB, 0xF6, 0xEE)
    theme = deck.slide_master.part.part_related_by(RELATIONSHIP_TYPE.THEME)
    for before, after in THEME.items():
        theme._blob = theme.blob.replace(before, after)


def _slide(deck: Deck, layout: int, title: str, notes: str) -> Slide:
    slide = deck.slides.add_slide(deck.slide_layouts[layout])
    slide.shapes.title.text = title
    words = slide.shapes.title.text_frame.paragraphs[0]
    words.font.bold, words.font.color.theme_color = True, MSO_THEME_COLOR.TEXT_2
    if layout != TITLE_SLIDE:
        words.alignment = PP_ALIGN.LEFT
    slide.notes_slide.notes_text_frame.text = notes
    return slide


def _bullets(slide: Slide, *lines: str | tuple[str, ...]) -> None:
    """Lines; those of a tuple stand below its first."""
    frame = slide.placeholders[1].text_frame
    groups = [(line,) if isinstance(line, str) else line for line in lines]
    for number, (level, words) in enumerate((int(n > 0), words) for group in groups for n, words in enumerate(group)):
        paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
        paragraph.text, paragraph.level = words, level
        paragraph.font.size = Pt(26 - 4 * level)


# --------------------------------------------------------------------------------------------------------------- slides


def _opening(deck: Deck) -> None:
    slide = _slide(deck, TITLE_SLIDE, "The third quarter of 2026", "Welcome. Thirty minutes, then lunch in the shop.")
    slide.placeholders[1].text = f"{COMPANY}\nBoard meeting, {day(BOARD_MEETS)}"
    picture = slide.shapes.add_picture(io.BytesIO(storefront()), Inches(5.17), Inches(0.4), width=Inches(3))
    picture._element.nvPicPr.cNvPr.set("descr", "The shop, with its striped awning")


def _minute(deck: Deck) -> None:
    slide = _slide(
        deck,
        WITH_CONTENT,
        "The quarter in one minute",
        f"The result has doubled: it was {euro(Q2_RESULT)} in the second quarter.",
    )
    _bullets(
        slide,
        (f"Sales of {euro(Q3)}", f"{percent(GROWTH, sign=True)} on the second quarter"),
        (f"Result of {euro(Q3_RESULT)}", f"a margin of {percent(Q3_RESULT / Q3)}"),
        f"September was the best month so far: {euro(MONTHS[-1].total)}",
        f"One worry: shipment {LATE.number} is {LATE.days_late} days late",
    )


def _channels(deck: Deck) -> None:
    slide = _slide(
        deck,
        TITLE_ONLY,
        "All three channels grow",
        f"Wholesale: {euro(sold(quarter(3), 'wholesale'))} in the quarter. The shop peaked in August.",
    )
    data = CategoryChartData(number_format=EURO)
    data.categories = [f"{month.first:%b}" for month in MONTHS]
    for channel in CHANNELS:
        data.add_series(channel.title(), [getattr(month, channel) for month in MONTHS])
    place = Inches(0.7), Inches(1.5), Inches(11.9), Inches(5.5)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_STACKED, *place, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Sales by month and channel, 2026"
    chart.has_legend = True
    chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
    chart.plots[0].gap_width = 60
    labels = chart.value_axis.tick_labels
    labels.number_format, labels.number_format_is_linked = EURO, False
    chart.font.size = Pt(14)


def _products(deck: Deck) -> None:
    slide = _slide(
        deck,
        TITLE_ONLY,
        "What we sold",
        "Harbour Blend first, as ever. Ridgeline is small, but earns the most per kilogram.",
    )
    rows = [["Product", "Kilograms", "Revenue", "Share"]]
    for product in PRODUCTS:
        share = percent(product.revenue / Q3)
        rows.append([product.name, f"{product.kilograms:,}", euro(product.revenue), share])
    rows.append(["Total", f"{sold(quarter(3), 'kilograms'):,}", euro(Q3), "100.0%"])
    place = Inches(0.7), Inches(1.6), Inches(11.9), Inches(4.6)
    table = slide.shapes.add_table(len(rows), len(rows[0]), *place).table
    table.last_row = True
    table.columns[0].width = Inches(5)
    for column in (1, 2, 3):
        table.columns[column].width = Inches(2.3)
    for row, words in enumerate(rows):
        for column, word in enumerate(words):
            cell = table.cell(row, column)
            cell.text = word
            cell.text_frame.paragraphs[0].alignment = PP_ALIGN.RIGHT if column else PP_ALIGN.LEFT


def _shipment(deck: Deck) -> None:
    slide = _slide(
        deck,
        WITH_CONTENT,
        f"Shipment {LATE.number} is late",
        f"{SUPPLIER} wrote on 6 October. By clause 4.2 they credit us {euro(LATE.credit)}.",
    )
    _bullets(
        slide,
        (
            f"{LATE.bags} bags of {SIDAMA.name}, {LATE.kilograms:,} kg",
            f"due on {day(LATE.due)}, expected on {day(LATE.expected)}",
        ),
        (
            f"The stock lasts {SIDAMA_WEEKS} weeks",
            f"{SIDAMA.in_stock} kg there, {SIDAMA_A_WEEK} kg a week",
        ),
        f"The winter blend ({WINTER_KILOGRAMS} kg) starts on {day(WINTER_START)}",
    )


def _decisions(deck: Deck) -> None:
    slide = _slide(deck, WITH_CONTENT, "What we ask of the board", f"{FINANCE} has the figures for the second source.")
    _bullets(
        slide,
        f"Agree to the target for the fourth quarter: {euro(Q4_TARGET)}",
        "Agree to a second source of Sidama from January",
        "Note the credit for the late shipment",
    )
