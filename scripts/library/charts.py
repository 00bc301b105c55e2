# pyright: basic, reportMissingModuleSource=false
"""The charts of the report, as drawings."""

from __future__ import annotations

from reportlab.graphics.charts.barcharts import HorizontalBarChart, VerticalBarChart
from reportlab.graphics.charts.legends import Legend
from reportlab.graphics.shapes import Drawing
from reportlab.lib.colors import HexColor

from library.figures import CHANNELS, MONTHS, PRODUCTS

COLOURS = [HexColor("#5B3A29"), HexColor("#C98B4B"), HexColor("#7A8F6A")]


def months_chart(width: int) -> Drawing:
    """Sales by month and channel, in thousand euro."""
    drawing = Drawing(width, 250)
    chart = VerticalBarChart()
    chart.x, chart.y, chart.width, chart.height = 30, 45, width - 50, 195
    chart.data = [[getattr(month, channel) / 1000 for month in MONTHS] for channel in CHANNELS]
    chart.categoryAxis.categoryNames = [f"{month.first:%b}" for month in MONTHS]
    chart.categoryAxis.style = "stacked"
    chart.valueAxis.valueMin, chart.valueAxis.valueMax, chart.valueAxis.valueStep = 0, 60, 20
    for number, colour in enumerate(COLOURS):
        chart.bars[number].fillColor = colour
        chart.bars[number].strokeColor = None
    legend = Legend()
    legend.x, legend.y, legend.alignment, legend.columnMaximum, legend.deltax = 30, 18, "right", 1, 80
    legend.colorNamePairs = list(zip(COLOURS, [name.title() for name in CHANNELS], strict=True))
    drawing.add(chart)
    drawing.add(legend)
    return drawing


def products_chart(width: int) -> Drawing:
    """Revenue by product in the third quarter, in thousand euro."""
    drawing = Drawing(width, 230)
    chart = HorizontalBarChart()
    chart.x, chart.y, chart.width, chart.height = 105, 20, width - 145, 200
    chart.data = [[product.revenue / 1000 for product in reversed(PRODUCTS)]]
    chart.categoryAxis.categoryNames = [product.name for product in reversed(PRODUCTS)]
    chart.valueAxis.valueMin, chart.valueAxis.valueMax, chart.valueAxis.valueStep = 0, 60, 20
    chart.bars[0].fillColor, chart.bars[0].strokeColor = COLOURS[1], None
    chart.barLabelFormat, chart.barLabels.dx, chart.barLabels.boxAnchor = "%.1f", 4, "w"
    drawing.add(chart)
    return drawing
