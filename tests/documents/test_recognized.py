"""Recognized lines become a page: turned upright, in reading order, with tables, headings and confidences."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import pytest
from PIL import Image

from a2c_documents.model import Element, Page, text
from a2c_documents.parsers.common.scans import MAX_PIECE, is_worth_reading, scan_of
from a2c_documents.parsers.recognized import with_recognized
from a2c_documents.recognition.answers import InvalidAnswerError, RefusedError, checked

WIDTH, HEIGHT = 1240, 1754
Line = tuple[str, float, float, float]
"""Text, left, top and height."""


def line(said: str, left: float, top: float, height: float = 28) -> dict[str, Any]:
    """A line as a recognizer answers it, as wide as printed text."""
    right, bottom = left + len(said) * height * 0.37, top + height
    box = [left, top, right, top, right, bottom, left, bottom]
    return {"text": said, "confidence": 0.9, "box": box, "words": []}


def turned(numbers: Sequence[float], degrees: float) -> list[float]:
    """Points turned around the middle of the picture."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    points = [(x - WIDTH / 2, y - HEIGHT / 2) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
    return [side for x, y in points for side in (c * x - s * y + WIDTH / 2, s * x + c * y + HEIGHT / 2)]


def page_of(
    lines: list[dict[str, Any]],
    rules: Sequence[Sequence[float]] = (),
    degrees: float = 0,
    before: Sequence[Element] = (),
) -> list[Element]:
    answer = {
        "left": 0,
        "top": 0,
        "owned": [-WIDTH, -HEIGHT, 2 * WIDTH, 2 * HEIGHT],
        "lines": [{**one, "box": turned(one["box"], degrees)} for one in lines],
        "rules": [turned(rule, degrees) for rule in rules],
    }
    return with_recognized(Page("", [*before]), [answer], (WIDTH, HEIGHT), 2.0).elements


def shown(elements: list[Element]) -> list[tuple[str, Any]]:
    return [(one.category, one.content.get("text") or one.content.get("rows")) for one in elements]


PROSE = [
    "The committee met in the town hall on Monday and heard",
    "the report of its treasurer, who was not content with",
    "the year. Costs had risen, and income had not, so that",
    "the reserve was used up by the end of November.",
]


def prose(left: float, top: float) -> list[dict[str, Any]]:
    return [line(said, left, top + 40 * number) for number, said in enumerate(PROSE)]


@pytest.mark.parametrize("degrees", [0, 1.5, -3, 90, 180, 270, 91])
def test_lines_are_joined_in_reading_order_however_the_page_lies(degrees: float) -> None:
    lines = [*prose(120, 500), line("Annual report", 120, 150, 60), *prose(120, 250)]
    joined = " ".join(PROSE)
    assert shown(page_of(lines, degrees=degrees))[1:] == [
        ("heading", "Annual report"), ("text", joined), ("text", joined),
    ]  # fmt: skip


def test_two_columns_are_read_one_after_the_other() -> None:
    right = [line(said.replace("committee", "council"), 660, 250 + 40 * at, 24) for at, said in enumerate(PROSE * 2)]
    left = [line(said, 80, 250 + 40 * at, 24) for at, said in enumerate(PROSE * 2)]
    mixed = [one for pair in zip(left, right, strict=True) for one in pair]
    words = " ".join(str(said) for _, said in shown(page_of(mixed))[1:])
    assert words.index("council") > words.rindex("committee")


ROWS = [["Region", "Sales", "Costs"], ["North", "120", "80"], ["South", "75", "9"]]
XS, YS = [100.0, 500.0, 800.0, 1100.0], [300.0, 350.0, 400.0, 450.0]


@pytest.mark.parametrize("degrees", [0, 2, 180])
def test_ruling_lines_make_a_table(degrees: float) -> None:
    cells = [line(cell, XS[at] + 15, YS[row] + 12) for row, cells in enumerate(ROWS) for at, cell in enumerate(cells)]
    rules = [[XS[0], y, XS[-1], y] for y in YS] + [[x, YS[0], x, YS[-1]] for x in XS]
    elements = page_of([*cells, *prose(100, 600)], rules, degrees)
    [table] = [one for one in elements if one.category == "table"]
    assert table.content == {"headers": ROWS[0], "rows": ROWS[1:]}
    assert table.metadata["recognized"] is True
    assert [one.category for one in elements] == ["annotation", "table", "text"]


def test_a_line_that_crosses_a_rule_is_divided_between_its_words() -> None:
    whole = line("Number of items 14 15", 115, YS[1] + 12)
    whole["box"] = [115, YS[1] + 12, 900, YS[1] + 12, 900, YS[1] + 40, 115, YS[1] + 40]
    places = [(0, 0.1, "Number"), (0.11, 0.15, "of"), (0.16, 0.3, "items"), (0.55, 0.6, "14"), (0.95, 1, "15")]
    whole["words"] = [list(place) for place in places]
    head = [line(cell, XS[at] + 15, YS[0] + 12) for at, cell in enumerate(ROWS[0])]
    rules = [[XS[0], y, XS[-1], y] for y in YS[:3]] + [[x, YS[0], x, YS[2]] for x in XS]
    [table] = [one for one in page_of([*head, whole], rules) if one.category == "table"]
    assert table.content["rows"] == [["Number of items", "14", "15"]]


def test_each_element_has_its_own_confidence_and_place() -> None:
    good, bad = line("Annual report", 120, 150, 60), line("A line that is hard to read, and was read", 120, 500)
    bad["confidence"] = 0.6
    mark, heading, words = page_of([good, bad])
    assert (heading.metadata["confidence"], words.metadata["confidence"]) == (0.9, 0.6)
    assert 0.6 < mark.content["confidence"] < 0.9
    x0, top, x1, bottom = words.metadata["box"]
    assert (x0, x1) == pytest.approx((62, 270), abs=15), "two pixels in a unit of the page"
    assert (top, bottom) == pytest.approx((250, 264), abs=4)


def test_what_is_hardly_text_is_left_out() -> None:
    noise = line("~;'", 300, 900) | {"confidence": 0.3}
    assert shown(page_of([*prose(120, 250), noise]))[1:] == [("text", " ".join(PROSE))]
    [said] = page_of([noise])
    assert said.category == "annotation"


def test_words_that_the_page_has_itself_are_not_repeated() -> None:
    stamp = text("Received 12 May 2024")
    found = page_of([line("Received 12 May 2024", 700, 60), *prose(120, 250)], before=[stamp])
    assert shown(found) == [shown([stamp])[0], ("annotation", found[1].content["text"]), ("text", " ".join(PROSE))]


def test_text_in_another_direction_comes_last() -> None:
    margin = line("Archive copy 117", 0, 0) | {"box": [60, 900, 60, 600, 88, 600, 88, 900]}
    assert shown(page_of([margin, *prose(120, 250)]))[1:] == [("text", " ".join(PROSE)), ("text", "Archive copy 117")]


# -------------------------------------------------------------------------------------------------------------- pieces


@pytest.mark.parametrize("size", [(1080, 16_000), (9_000, 600), (5_000, 7_000), (600, 800), (700, 28_000)])
def test_pictures_of_any_size_become_pieces_of_a_bounded_size(size: tuple[int, int]) -> None:
    scan = scan_of(Image.new("L", size, 255))
    covered = 0
    for piece in scan.pieces:
        with Image.open(io.BytesIO(piece.data)) as picture:
            assert picture.width * picture.height <= MAX_PIECE * 1.3
            assert max(picture.size) <= 6 * min(picture.size)
        x0, y0, x1, y1 = piece.owned
        covered += (x1 - x0) * (y1 - y0)
    assert covered == scan.size[0] * scan.size[1], "each pixel belongs to one piece"
    assert scan.size[0] / scan.scale == pytest.approx(size[0], rel=0.01)


def test_a_line_in_two_pieces_is_shown_once() -> None:
    picture = scan_of(Image.new("L", (1080, 16_000), 255))
    first, second = picture.pieces[:2]
    at = second.owned[1] + 30
    places = [{"left": each.left, "top": each.top, "owned": each.owned} for each in (first, second)]
    answers = [
        place | {"lines": [line("Only once", 50, at - each.top)], "rules": []}
        for place, each in zip(places, (first, second), strict=True)
    ]
    found = with_recognized(Page(""), answers, picture.size, picture.scale).elements
    assert [one.content["text"] for one in found[1:]] == ["Only once"]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I", "I;16", "F"])
def test_pictures_of_every_mode_are_prepared(mode: str) -> None:
    [piece] = scan_of(Image.new(mode, (200, 100))).pieces
    assert Image.open(io.BytesIO(piece.data)).size == (200, 100)


def test_icons_and_hairlines_are_not_read() -> None:
    assert not is_worth_reading(32, 32)
    assert not is_worth_reading(50_000, 30)
    assert is_worth_reading(300, 40)


# ------------------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"[]", b"{}", b"[" * 100_000, b'{"lines": 1}', b'{"lines": [{"text": 5}]}',
        b'{"lines": [{"text": "a", "box": [1, 2]}]}', b'{"lines": [{"text": "a", "box": [1,2,3,4,5,6,7,1e999]}]}',
        b'{"lines": [{"text": "a", "confidence": 2, "box": [1,2,3,4,5,6,7,8]}]}', b'{"lines": [], "rules": [[1]]}',
        b'{"lines": [{"text": "a", "box": [1,2,3,4,5,6,7,8], "words": [[0, "a"]]}]}',
    ],
)  # fmt: skip
def test_an_invalid_answer_is_rejected(answer: bytes) -> None:
    with pytest.raises(InvalidAnswerError):
        checked(answer)


def test_an_answer_is_completed() -> None:
    answer = checked(b'{"lines": [{"text": "a\\nb", "box": [1,2,3,4,5,6,7,8]}]}')
    [only] = answer["lines"]
    assert (only["text"], only["confidence"], only["words"], answer["rules"]) == ("a b", 1.0, [], [])
    with pytest.raises(RefusedError):
        checked(b'{"problem": "too dark"}')
