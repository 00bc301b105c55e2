# pyright: basic, reportMissingModuleSource=false
"""`reports/q3-report.pdf`: the quarter on five pages, with an outline, ruled tables, charts and a picture."""

from __future__ import annotations

import io
import os
from typing import Any

from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_JUSTIFY
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    Image,
    ListFlowable,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

from library.charts import months_chart, products_chart
from library.figures import (
    BOARD_MEETS,
    CHANNELS,
    COMPANY,
    COSTS,
    GROWTH,
    HARBOUR,
    LATE,
    MONTHS,
    OWNER,
    PRODUCTS,
    Q2,
    Q2_COSTS,
    Q2_RESULT,
    Q3,
    Q3_COSTS,
    Q3_KILOGRAMS,
    Q3_RESULT,
    Q4_TARGET,
    REPORTED,
    RIDGELINE,
    SIDAMA,
    SIDAMA_A_WEEK,
    SIDAMA_WEEKS,
    SUPPLIER,
    WINTER_KILOGRAMS,
    WINTER_START,
    WINTER_START_BEFORE,
    day,
    euro,
    percent,
    quarter,
    sold,
)
from library.pictures import storefront

TITLE = "Report for the third quarter of 2026"
BROWN, SAND = HexColor("#5B3A29"), HexColor("#F3E9DC")
WIDTH = round(A4[0] - 50 * mm)

BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=11.5, leading=16.5, spaceAfter=9, alignment=TA_JUSTIFY)
SMALL = ParagraphStyle("small", BODY, fontName="Times-Italic", fontSize=9.5, leading=12, spaceBefore=4)
COVER = ParagraphStyle("cover", fontName="Helvetica-Bold", fontSize=25, leading=31, textColor=BROWN, spaceAfter=4)
HEADINGS = (
    ParagraphStyle("h1", fontName="Helvetica-Bold", fontSize=17, leading=22, textColor=BROWN, spaceAfter=8),
    ParagraphStyle("h2", fontName="Helvetica-Bold", fontSize=12.5, leading=16, spaceBefore=10, spaceAfter=5),
)


def report() -> bytes:
    """The report."""
    os.environ["SOURCE_DATE_EPOCH"] = str(int(REPORTED.timestamp()))  # the date in the file, which no argument sets
    target = io.BytesIO()
    template = _Template(
        target,
        pagesize=A4,
        title=TITLE,
        author=OWNER,
        subject=f"Sales, costs and outlook of {COMPANY}",
        keywords="Q3 2026, sales, costs, outlook",
        creator=COMPANY,
        invariant=1,
    )
    flowables: list[Flowable] = []
    for part in (_summary(), _sales(), _products(), _costs(), _outlook()):
        flowables += [*part, PageBreak()]
    template.build(flowables[:-1])
    return target.getvalue()


class _Template(BaseDocTemplate):
    """Pages with a header and a footer; headings go into the outline."""

    def __init__(self, target: io.BytesIO, **facts: Any) -> None:
        super().__init__(target, **facts)
        frame = Frame(25 * mm, 22 * mm, WIDTH, A4[1] - 50 * mm, leftPadding=0, rightPadding=0)
        self.addPageTemplates(PageTemplate(frames=[frame], onPage=_around))

    def afterFlowable(self, flowable: Flowable) -> None:
        """Put headings into the outline."""
        if isinstance(flowable, Paragraph) and flowable.style in HEADINGS:
            level, words = HEADINGS.index(flowable.style), flowable.getPlainText()
            self.canv.bookmarkPage(words)
            self.canv.addOutlineEntry(words, words, level, closed=False)


def _around(canvas: Canvas, template: BaseDocTemplate) -> None:
    canvas.saveState()
    canvas.setStrokeColor(BROWN)
    canvas.setFillColor(BROWN)
    canvas.setFont("Helvetica", 8.5)
    canvas.drawString(25 * mm, A4[1] - 17 * mm, f"{COMPANY} · {TITLE}")
    canvas.line(25 * mm, A4[1] - 19 * mm, A4[0] - 25 * mm, A4[1] - 19 * mm)
    canvas.drawString(25 * mm, 13 * mm, "Confidential: for the board")
    canvas.drawRightString(A4[0] - 25 * mm, 13 * mm, f"Page {template.page}")
    canvas.restoreState()


# ---------------------------------------------------------------------------------------------------------------- pages


def _summary() -> list[Flowable]:
    picture = Image(io.BytesIO(storefront()), 105 * mm, 70 * mm, hAlign="LEFT")
    return [
        Paragraph(TITLE, COVER),
        Paragraph(f"{COMPANY} · {OWNER} · {day(REPORTED)}", SMALL),
        Spacer(0, 5 * mm),
        picture,
        Spacer(0, 6 * mm),
        _heading("Summary"),
        _text(
            f"Sales came to <b>{euro(Q3)}</b>, {percent(GROWTH, sign=True)} on the second quarter ({euro(Q2)}), "
            f"on {Q3_KILOGRAMS:,} kg of roasted coffee. After costs of {euro(Q3_COSTS)} the result is "
            f"<b>{euro(Q3_RESULT)}</b>, a margin of {percent(Q3_RESULT / Q3)}."
        ),
        _bullets(
            f"September was the best month so far: {euro(MONTHS[-1].total)}.",
            f"Wholesale carries {percent(sold(quarter(3), 'wholesale') / Q3)} of sales; {HARBOUR.name} alone brings "
            f"{euro(HARBOUR.revenue)}.",
            f"Shipment {LATE.number} of {SIDAMA.name} is {LATE.days_late} days late. The stock lasts, but the winter "
            f"blend starts on {day(WINTER_START)}.",
        ),
    ]


def _sales() -> list[Flowable]:
    rows = [["Month", "Kilograms", *(name.title() for name in CHANNELS), "Total"]]
    for month in quarter(3):
        amounts = [euro(getattr(month, channel)) for channel in (*CHANNELS, "total")]
        rows.append([f"{month.first:%B}", f"{month.kilograms:,}", *amounts])
    totals = [euro(sold(quarter(3), channel)) for channel in (*CHANNELS, "total")]
    rows.append(["Q3", f"{Q3_KILOGRAMS:,}", *totals])
    return [
        _heading("Sales"),
        _text(
            "All three channels grew over the year. The shop peaked in August; online sales rose in September, "
            "when the subscription was offered again after the holidays."
        ),
        _heading("By month and channel", 1),
        _table(rows, 0.2, 0.16, 0.16, 0.16, 0.16, 0.16),
        _heading("The year so far", 1),
        months_chart(WIDTH),
        Paragraph("Figure 1. Sales by month and channel, January to September 2026, in thousand euro.", SMALL),
    ]


def _products() -> list[Flowable]:
    rows = [["Product", "Made of", "Kilograms", "Price per kg", "Revenue", "Share"]]
    for product in PRODUCTS:
        figures = [f"{product.kilograms:,}", f"€{product.average_price:.2f}", euro(product.revenue)]
        rows.append([product.name, product.made_of, *figures, percent(product.revenue / Q3)])
    rows.append(["Total", "", f"{Q3_KILOGRAMS:,}", f"€{Q3 / Q3_KILOGRAMS:.2f}", euro(Q3), "100.0%"])
    return [
        _heading("Products"),
        _text(
            f"{HARBOUR.name} stays the coffee that most customers begin with. {RIDGELINE.name} has the highest price "
            f"and sells best online; it is made of {SIDAMA.name} alone and depends on the late shipment."
        ),
        _table(rows, 0.22, 0.27, 0.13, 0.14, 0.13, 0.11, names=2),
        Spacer(0, 8 * mm),
        products_chart(WIDTH),
        Paragraph("Figure 2. Revenue by product in the third quarter, in thousand euro.", SMALL),
    ]


def _costs() -> list[Flowable]:
    rows = [["", "Q2", "Q3", "Change"], _compared("Sales", Q2, Q3)]
    rows += [_compared(name, *amounts) for name, amounts in COSTS.items()]
    rows += [_compared("Costs", Q2_COSTS, Q3_COSTS), _compared("Result", Q2_RESULT, Q3_RESULT)]
    return [
        _heading("Costs and result"),
        _text(
            f"Costs rose by {percent(Q3_COSTS / Q2_COSTS - 1)}, sales by {percent(GROWTH)}. Staff and rent hardly "
            f"moved: the second roasting machine had room to spare. The margin went from {percent(Q2_RESULT / Q2)} to "
            f"{percent(Q3_RESULT / Q3)}."
        ),
        _table(rows, 0.4, 0.2, 0.2, 0.2),
        _heading("What green coffee costs", 1),
        _text(
            f"Green coffee took {euro(COSTS['Green coffee'][1])}, that is "
            f"{percent(COSTS['Green coffee'][1] / Q3)} of sales. Prices are fixed until the end of February 2027 by "
            f"the agreement with {SUPPLIER}."
        ),
    ]


def _outlook() -> list[Flowable]:
    return [
        _heading("Outlook"),
        _text(f"The target for the fourth quarter is <b>{euro(Q4_TARGET)}</b>."),
        _heading("The late shipment", 1),
        _text(
            f"{LATE.bags} bags ({LATE.kilograms:,} kg) of {SIDAMA.name} were due on {day(LATE.due)} and are now "
            f"expected on {day(LATE.expected)}. We have {SIDAMA.in_stock} kg in stock and roast {SIDAMA_A_WEEK} kg a "
            f"week, so it lasts {SIDAMA_WEEKS} weeks and no product runs out. The {WINTER_KILOGRAMS} kg "
            f"of winter blend, planned for {day(WINTER_START_BEFORE)}, wait until {day(WINTER_START)}. By clause 4.2 "
            f"of the agreement we are credited {euro(LATE.credit)}."
        ),
        _heading("Next steps", 1),
        ListFlowable(
            [
                _text(words)
                for words in (
                    "Tell the winter customers the new date (Aiko, this week).",
                    f"Service machine R1 before {day(WINTER_START)} (Wei).",
                    f"Decide on a second source of Sidama at the board meeting of {day(BOARD_MEETS)}.",
                )
            ],
            bulletFontName="Times-Roman",
            bulletFontSize=11.5,
            bulletFormat="%s.",
        ),
    ]


# ---------------------------------------------------------------------------------------------------------------- parts


def _heading(words: str, level: int = 0) -> Paragraph:
    return Paragraph(words, HEADINGS[level])


def _text(words: str) -> Paragraph:
    return Paragraph(words, BODY)


def _bullets(*items: str) -> ListFlowable:
    return ListFlowable([_text(item) for item in items], bulletType="bullet", start="•", bulletFontSize=11)


def _compared(name: str, before: int, now: int) -> list[str]:
    return [name, euro(before), euro(now), percent(now / before - 1, sign=True)]


def _table(rows: list[list[str]], *widths: float, names: int = 1) -> Table:
    """As wide as the page; the first columns are names, the others figures, the last row is their total."""
    style = [
        ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9.5),
        ("FONT", (0, 1), (-1, -1), "Times-Roman", 10.5),
        ("BACKGROUND", (0, 0), (-1, 0), SAND),
        ("GRID", (0, 0), (-1, -1), 0.5, BROWN),
        ("ALIGN", (names, 0), (-1, -1), "RIGHT"),
        ("TOPPADDING", (0, 0), (-1, -1), 5),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 5),
        ("FONT", (0, -1), (-1, -1), "Times-Bold", 10.5),
    ]
    return Table(rows, [WIDTH * width for width in widths], style=style, spaceBefore=6, spaceAfter=10)
