"""Drawings on a PDF page that are no pictures: what is one, what is none, and what becomes of the words in it."""

from __future__ import annotations

import io
import math
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("pypdfium2")
pytest.importorskip("PIL")

from PIL import Image

from a2c_documents.model import Element
from a2c_documents.parsers.pdf.pdf_file import open_pdf
from tests.support.documents.pdf_files import PdfFile, circle, curve, line, paragraph, rule

ABOVE = [
    "What is measured here is the height of the water in the",
    "harbour, hour by hour, over the whole of a long day.",
]
BELOW = [
    "It rises twice a day, as one would expect of a place like",
    "this, and falls as often, which is the end of the story.",
]


def wave(x: float, y: float, width: float, height: float, points: int = 60) -> list[tuple[float, float]]:
    steps = range(points + 1)
    return [(x + width * at / points, y + height * (1 + math.sin(at / 5)) / 2) for at in steps]


def plot(x: float = 150, y: float = 400) -> str:
    """A curve between two axes with a few marks and numbers at each, and a title below."""
    content = rule(x, y, x + 250, y) + rule(x, y, x, y + 150) + curve(wave(x, y + 10, 250, 130))
    for at in range(6):
        content += rule(x + 50 * at, y, x + 50 * at, y - 4) + line(x + 50 * at - 3, y - 14, str(at * 4), 8)
        content += rule(x - 4, y + 30 * at, x, y + 30 * at) + line(x - 14, y + 30 * at - 3, str(at), 8)
    return content + line(x + 110, y - 27, "Hours", 8) + f"BT /F1 8 Tf 0 1 -1 0 {x - 18} {y + 50} Tm (Metres) Tj ET\n"


def elements_of(content: str, folder: Path) -> list[Element]:
    file = PdfFile()
    file.page(content)
    with closing(open_pdf(file.write(folder / "file.pdf"))) as source:
        return source.page(0).elements


def categories(elements: list[Element]) -> list[str]:
    return [element.category for element in elements]


def test_a_plot_is_an_image_with_its_words_and_the_text_around_it_stays(tmp_path: Path) -> None:
    caption = line(150, 350, "Figure 1: Tides", 9)
    content = paragraph(72, 740, ABOVE) + plot() + caption + paragraph(72, 300, BELOW)
    elements = elements_of(content, tmp_path)
    assert categories(elements) == ["text", "image", "text", "text"]
    assert [element.content.get("text") for element in elements] == [
        " ".join(ABOVE), None, "Figure 1: Tides", " ".join(BELOW),
    ]  # fmt: skip
    drawing = elements[1]
    said = drawing.content["description"].split()
    assert {"0", "4", "20", "Hours", "Metres"} <= set(said)
    left, top, right, bottom = drawing.metadata["box"]
    assert left < 150 < 400 <= right
    assert top < 792 - 540 < 792 - 400 < bottom < 792 - 350


def test_a_drawing_can_be_looked_at(tmp_path: Path) -> None:
    file = PdfFile()
    file.page(paragraph(72, 740, ABOVE) + plot() + paragraph(72, 300, BELOW))
    with closing(open_pdf(file.write(tmp_path / "file.pdf"))) as source:
        drawing = source.page(0).elements[1]
        assert drawing.picture is not None
        mime, data = drawing.picture()
    left, top, right, bottom = drawing.metadata["box"]
    shown = Image.open(io.BytesIO(data))
    assert mime == "image/png"
    assert abs(shown.width / shown.height - (right - left) / (bottom - top)) < 0.05
    assert shown.convert("L").getextrema() == (0, 255)


def test_only_what_can_be_seen_of_a_curve_counts(tmp_path: Path) -> None:
    x, y = 150, 400
    outside = "q 150 400 250 150 re W n " + curve(wave(x, y - 250, 250, 700)) + "Q\n"
    elements = elements_of(paragraph(72, 740, ABOVE) + plot(x, y) + outside + paragraph(72, 300, BELOW), tmp_path)
    assert categories(elements) == ["text", "image", "text"]
    assert elements[1].metadata["box"][3] < 792 - 350


def test_shapes_joined_by_arrows_are_a_drawing(tmp_path: Path) -> None:
    content = paragraph(72, 740, ABOVE)
    for at, words in enumerate(["Start", "Look", "Choose", "End"]):
        x, y = 120 + 110 * (at % 2), 560 - 90 * (at // 2)
        content += circle(x, y, 30) + line(x - 14, y - 3, words, 9)
    for x, y in ((150, 560), (150, 470)):
        content += rule(x, y, x + 50, y) + curve([(x + 44, y + 4), (x + 50, y), (x + 44, y - 4)])
    for x, y in ((120, 530), (230, 530)):
        content += rule(x, y, x, y - 30) + curve([(x - 4, y - 24), (x, y - 30), (x + 4, y - 24)])
    elements = elements_of(content + paragraph(72, 380, BELOW), tmp_path)
    assert categories(elements) == ["text", "image", "text"]
    assert elements[1].content["description"] == "Drawing with the words: Start Look Choose End"


def test_a_map_over_the_whole_page_is_shown_and_its_words_are_read(tmp_path: Path) -> None:
    content = "".join(curve(wave(20, 30 + 36 * at, 570, 60)) for at in range(20))
    content += line(100, 600, "North Bay") + line(300, 300, "South Bay")
    elements = elements_of(content, tmp_path)
    assert categories(elements) == ["image", "text", "text"]
    assert elements[0].content["description"] == "The page as it looks"
    assert elements[0].metadata["box"] == [0.0, 0.0, 612.0, 792.0]


# ----------------------------------------------------------------------------------------------------------------- none


def rounded(x: float, y: float, width: float, height: float) -> str:
    """A box with round corners."""
    x1, y1, r = x + width, y + height, 6
    return (
        f"{x + r} {y} m {x1 - r} {y} l {x1} {y} {x1} {y + r} {x1} {y + r} c {x1} {y1 - r} l "
        f"{x1} {y1} {x1 - r} {y1} {x1 - r} {y1} c {x + r} {y1} l {x} {y1} {x} {y1 - r} {x} {y1 - r} c "
        f"{x} {y + r} l {x} {y} {x + r} {y} {x + r} {y} c S\n"
    )


def test_boxes_with_round_corners_are_no_drawing(tmp_path: Path) -> None:
    content = ""
    for at in range(12):
        x, y = 72 + 160 * (at % 3), 660 - 60 * (at // 3)
        content += rounded(x, y, 158, 58) + line(x + 10, y + 35, f"Card {at}") + line(x + 10, y + 15, "in stock")
    assert "image" not in categories(elements_of(content, tmp_path))


def test_a_table_with_a_tick_in_each_row_stays_a_table(tmp_path: Path) -> None:
    rows = [[f"Part number {row}", f"{row * 37} pieces", f"{row}.50 each"] for row in range(1, 13)]
    content = "".join(rule(72, 700 - 18 * row, 472, 700 - 18 * row) for row in range(len(rows) + 1))
    content += "".join(rule(x, 700, x, 700 - 18 * len(rows)) for x in (72, 192, 292, 392, 472))
    for number, row in enumerate(rows):
        y = 687 - 18 * number
        content += "".join(line(76 + 100 * at + (20 if at else 0), y, words, 9) for at, words in enumerate(row))
        content += curve([(424, y + 3), (428, y - 1), (438, y + 9)])
    elements = elements_of(content, tmp_path)
    assert categories(elements) == ["table"]
    assert elements[0].content["rows"][-1][:3] == rows[-1]


def test_a_text_with_an_ornament_around_it_is_read(tmp_path: Path) -> None:
    content = "".join(circle(80 + 20 * at, 600, 8) + circle(80 + 20 * at, 480, 8) for at in range(22))
    content += rule(72, 600, 72, 480) + rule(508, 600, 508, 480)
    content += paragraph(90, 575, [*ABOVE, *BELOW, *ABOVE], 12, 14)
    elements = elements_of(content, tmp_path)
    assert "image" not in categories(elements)
    assert any("height of the water" in str(element.content.get("text")) for element in elements)


@pytest.mark.parametrize("content", [circle(100, 700, 12, "f"), rule(72, 690, 540, 690) * 40], ids=["dot", "rules"])
def test_dots_and_rules_are_no_drawing(tmp_path: Path, content: str) -> None:
    assert categories(elements_of(content + paragraph(72, 600, ABOVE), tmp_path)) == ["text"]
