# pyright: basic, reportMissingImports=false
"""`sales-2026.xlsx`: sheets with tables, formulas and charts. Formulas carry values, as if Excel had saved them."""

from __future__ import annotations

import io
import re
from datetime import date, datetime
from typing import Any, TypeAlias

import xlsxwriter

from library.figures import (
    CHANNELS,
    COMPANY,
    COSTS,
    FINANCE,
    GROWTH,
    MONTHS,
    ORDERS,
    PRODUCTS,
    Q2,
    Q2_COSTS,
    Q2_RESULT,
    Q3,
    Q3_COSTS,
    Q3_KILOGRAMS,
    Q3_RESULT,
    REPORTED,
    quarter,
    sold,
)
from library.packing import rewritten

Book: TypeAlias = Any
Sheet: TypeAlias = Any
Styles: TypeAlias = dict[str, Any]
"""What the library declares is narrower than what it takes."""

BROWN, SAND, COLOURS = "#5B3A29", "#F3E9DC", ("#5B3A29", "#C98B4B", "#7A8F6A")
FIRST, LAST = 4, 3 + len(MONTHS)
"""The rows of the months on their sheet."""
_DATES = re.compile(rb"(<c:cat><c:numRef>.*?<c:formatCode>)General")


def workbook() -> bytes:
    """The workbook."""
    target = io.BytesIO()
    book = xlsxwriter.Workbook(target, {"in_memory": True})
    book.set_properties({
        "title": "Sales 2026",
        "author": FINANCE,
        "company": COMPANY,
        "keywords": "sales, wholesale, online, shop",
        "comments": "Sales by month, product and order, January to September 2026.",
        "created": REPORTED.replace(tzinfo=None),
    })  # fmt: skip
    styles = _styles(book)
    sheets = [book.add_worksheet(name) for name in ("Summary", "Monthly", "Products", "Costs", "Orders September")]
    for sheet, fill in zip(sheets, (_summary, _monthly, _products, _costs, _orders), strict=True):
        sheet.hide_gridlines(2)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.set_column("A:A", 24)
        sheet.set_column("B:G", 14)
        fill(book, sheet, styles)
    book.close()
    return rewritten(target.getvalue(), _as_saved)


def _styles(book: Book) -> Styles:
    money, weight, share = '"€"#,##0', '#,##0" kg"', "0.0%"
    return {
        "title": book.add_format({"bold": True, "font_size": 16, "font_color": "white", "bg_color": BROWN}),
        "subtitle": book.add_format({"italic": True, "font_color": BROWN, "bg_color": SAND}),
        "header": book.add_format({"bold": True, "bg_color": SAND, "bottom": 1, "align": "center"}),
        "label": book.add_format({"bold": True}),
        "month": book.add_format({"num_format": "mmm yyyy", "align": "left"}),
        "day": book.add_format({"num_format": "d mmm yyyy", "align": "left"}),
        "money": book.add_format({"num_format": money}),
        "cents": book.add_format({"num_format": '"€"#,##0.00'}),
        "weight": book.add_format({"num_format": weight}),
        "share": book.add_format({"num_format": share}),
        "total": book.add_format({"num_format": money, "bold": True, "top": 1}),
        "total_weight": book.add_format({"num_format": weight, "bold": True, "top": 1}),
        "total_label": book.add_format({"bold": True, "top": 1}),
        "growth": book.add_format({"num_format": "+0.0%;-0.0%", "font_color": "#2E7D32"}),
    }


def _head(sheet: Sheet, styles: Styles, columns: str, title: str, subtitle: str) -> None:
    sheet.merge_range(f"A1:{columns}1", title, styles["title"])
    sheet.merge_range(f"A2:{columns}2", subtitle, styles["subtitle"])
    sheet.set_row(0, 26)


def _summary(book: Book, sheet: Sheet, styles: Styles) -> None:
    _head(sheet, styles, "F", f"{COMPANY}: sales 2026", "January to September, all amounts in euro")
    sheet.write_row("A4", ["Quarter", *(name.title() for name in CHANNELS), "Total", "Change"], styles["header"])
    totals = [sold(quarter(number)) for number in (1, 2, 3)]
    for number, total in enumerate(totals, 1):
        row, first = 4 + number, FIRST + 3 * (number - 1)
        sheet.write(f"A{row}", f"Q{number}", styles["label"])
        for letter, source, channel in zip("BCD", "CDE", CHANNELS, strict=True):
            value = sold(quarter(number), channel)
            sheet.write_formula(
                f"{letter}{row}", f"=SUM(Monthly!{source}{first}:{source}{first + 2})", styles["money"], value
            )
        sheet.write_formula(f"E{row}", f"=SUM(B{row}:D{row})", styles["money"], total)
        if number > 1:
            change = total / totals[number - 2] - 1
            sheet.write_formula(f"F{row}", f"=E{row}/E{row - 1}-1", styles["growth"], change)
    sheet.write("A8", "Year to date", styles["total_label"])
    for letter, channel in zip("BCDE", (*CHANNELS, "total"), strict=True):
        sheet.write_formula(f"{letter}8", f"=SUM({letter}5:{letter}7)", styles["total"], sold(MONTHS, channel))
    sheet.write("F8", "", styles["total"])
    best = max(MONTHS, key=lambda month: month.total)
    months, amounts = f"Monthly!A{FIRST}:A{LAST}", f"Monthly!F{FIRST}:F{LAST}"
    sheet.write("A10", "Best month", styles["label"])
    sheet.write_formula(
        "B10", f"=INDEX({months},MATCH(MAX({amounts}),{amounts},0))", styles["month"], _serial(best.first)
    )
    sheet.write("A11", "Price per kg in Q3", styles["label"])
    sheet.write_formula("B11", f"=E7/SUM(Monthly!B{LAST - 2}:B{LAST})", styles["cents"], Q3 / Q3_KILOGRAMS)
    sheet.write_comment(
        "F7",
        f"Q3 grew by {GROWTH:.1%}. Two orders of Hotel Marlstone in September helped: see the sheet Orders September.",
        {"author": FINANCE, "x_scale": 2},
    )
    chart = book.add_chart({"type": "pie"})
    chart.add_series({
        "name": "Q3 by channel",
        "categories": "=Summary!$B$4:$D$4",
        "values": "=Summary!$B$7:$D$7",
        "points": [{"fill": {"color": colour}} for colour in COLOURS],
        "data_labels": {"percentage": True, "font": {"color": "white"}},
    })  # fmt: skip
    chart.set_title({"name": "Q3 sales by channel"})
    chart.set_size({"width": 460, "height": 280})
    sheet.insert_chart("A13", chart)


def _monthly(book: Book, sheet: Sheet, styles: Styles) -> None:
    _head(sheet, styles, "G", "Sales by month", "Roasted coffee, before value added tax")
    for row, month in enumerate(MONTHS, FIRST):
        sheet.write_datetime(f"A{row}", _midnight(month.first), styles["month"])
        sheet.write(f"B{row}", month.kilograms, styles["weight"])
        sheet.write_row(f"C{row}", [month.wholesale, month.online, month.shop], styles["money"])
        sheet.write_formula(f"F{row}", f"=SUM(C{row}:E{row})", styles["money"], month.total)
        sheet.write_formula(f"G{row}", f"=F{row}/B{row}", styles["cents"], month.total / month.kilograms)
    columns = [
        {"header": "Month", "total_string": "Total"},
        _summed("Kilograms", sold(MONTHS, "kilograms"), styles["weight"]),
        *(_summed(name.title(), sold(MONTHS, name), styles["money"]) for name in (*CHANNELS, "total")),
        {"header": "Per kg"},
    ]
    _table(sheet, f"A3:G{LAST + 1}", "MonthlySales", columns)
    sheet.freeze_panes(3, 1)
    chart = book.add_chart({"type": "column", "subtype": "stacked"})
    for letter, colour in zip("CDE", COLOURS, strict=True):
        chart.add_series({
            "name": f"=Monthly!${letter}$3",
            "categories": f"=Monthly!$A${FIRST}:$A${LAST}",
            "values": f"=Monthly!${letter}${FIRST}:${letter}${LAST}",
            "fill": {"color": colour},
        })  # fmt: skip
    chart.set_title({"name": "Sales by month and channel"})
    chart.set_y_axis({"num_format": '"€"#,##0', "major_gridlines": {"visible": True, "line": {"color": "#DDDDDD"}}})
    chart.set_x_axis({"num_format": "mmm", "text_axis": True})
    chart.set_size({"width": 640, "height": 300})
    sheet.insert_chart(f"A{LAST + 3}", chart)


def _products(book: Book, sheet: Sheet, styles: Styles) -> None:
    _head(sheet, styles, "F", "Products in Q3", "July to September 2026")
    sheet.write_row("A3", ["Product", "Made of", "Kilograms", "Average price", "Revenue", "Share"], styles["header"])
    sheet.set_column("B:B", 26)
    total = 4 + len(PRODUCTS)
    for row, product in enumerate(PRODUCTS, 4):
        sheet.write_row(f"A{row}", [product.name, product.made_of])
        sheet.write(f"C{row}", product.kilograms, styles["weight"])
        sheet.write(f"D{row}", product.average_price, styles["cents"])
        sheet.write_formula(f"E{row}", f"=C{row}*D{row}", styles["money"], product.revenue)
        sheet.write_formula(f"F{row}", f"=E{row}/E${total}", styles["share"], product.revenue / Q3)
    sheet.write_row(f"A{total}", ["Total", ""], styles["total_label"])
    sheet.write_formula(f"C{total}", f"=SUM(C4:C{total - 1})", styles["total_weight"], Q3_KILOGRAMS)
    sheet.write(f"D{total}", "", styles["total"])
    sheet.write_formula(
        f"E{total}", f"=SUM(E4:E{total - 1})", styles["total"], sum(product.revenue for product in PRODUCTS)
    )


def _costs(book: Book, sheet: Sheet, styles: Styles) -> None:
    _head(sheet, styles, "D", "Costs and result", "Second and third quarter of 2026")
    sheet.write_row("A3", ["", "Q2", "Q3", "Change"], styles["header"])
    last = 4 + len(COSTS)
    rows = {"Sales": (Q2, Q3), **COSTS}
    for row, (name, amounts) in enumerate(rows.items(), 4):
        sheet.write(f"A{row}", name)
        sheet.write_row(f"B{row}", amounts, styles["money"])
        sheet.write_formula(f"D{row}", f"=C{row}/B{row}-1", styles["share"], amounts[1] / amounts[0] - 1)
    sheet.write_formula("B4", "=Summary!E6", styles["money"], Q2)
    sheet.write_formula("C4", "=Summary!E7", styles["money"], Q3)
    for row, name, formula, amounts in (
        (last + 1, "Costs", f"=SUM({{0}}5:{{0}}{last})", (Q2_COSTS, Q3_COSTS)),
        (last + 2, "Result", f"={{0}}4-{{0}}{last + 1}", (Q2_RESULT, Q3_RESULT)),
    ):
        sheet.write(f"A{row}", name, styles["total_label"])
        for letter, amount in zip("BC", amounts, strict=True):
            sheet.write_formula(f"{letter}{row}", formula.format(letter), styles["total"], amount)
        sheet.write_formula(f"D{row}", f"=C{row}/B{row}-1", styles["share"], amounts[1] / amounts[0] - 1)
    margin = last + 3
    sheet.write(f"A{margin}", "Margin")
    for letter, share in zip("BC", (Q2_RESULT / Q2, Q3_RESULT / Q3), strict=True):
        sheet.write_formula(f"{letter}{margin}", f"={letter}{last + 2}/{letter}4", styles["share"], share)


def _orders(book: Book, sheet: Sheet, styles: Styles) -> None:
    _head(sheet, styles, "F", "Wholesale orders, September 2026", "Each as invoiced")
    sheet.set_column("B:C", 22)
    for row, order in enumerate(ORDERS, 4):
        sheet.write_datetime(f"A{row}", _midnight(date(2026, 9, order.day)), styles["day"])
        sheet.write_row(f"B{row}", [order.customer, order.product.name])
        sheet.write(f"D{row}", order.kilograms, styles["weight"])
        sheet.write(f"E{row}", order.product.wholesale_price, styles["cents"])
        sheet.write_formula(f"F{row}", f"=D{row}*E{row}", styles["money"], order.amount)
    columns = [
        {"header": "Date", "total_string": "Total"},
        {"header": "Customer"},
        {"header": "Product"},
        _summed("Kilograms", sum(order.kilograms for order in ORDERS), styles["weight"]),
        {"header": "Price per kg"},
        _summed("Amount", sum(order.amount for order in ORDERS), styles["money"]),
    ]
    _table(sheet, f"A3:F{4 + len(ORDERS)}", "Orders", columns)
    sheet.freeze_panes(3, 0)


def _table(sheet: Sheet, area: str, name: str, columns: list[dict[str, Any]]) -> None:
    """Make a table of cells that are there; its last row has the totals."""
    sheet.add_table(area, {"name": name, "columns": columns, "total_row": True, "style": "Table Style Light 1"})


def _summed(header: str, total: float, style: Any) -> dict[str, Any]:
    """A column with a total."""
    return {"header": header, "total_function": "sum", "total_value": total, "format": style}


def _midnight(when: date) -> datetime:
    return datetime(when.year, when.month, when.day)


def _as_saved(name: str, part: bytes) -> bytes:
    """Charts keep how their dates are written, once Excel has saved them; the library leaves that to Excel."""
    return _DATES.sub(rb"\1mmm yyyy", part) if name.startswith("xl/charts/chart") else part


def _serial(when: date) -> int:
    """A date as Excel counts it."""
    return (when - date(1899, 12, 30)).days
