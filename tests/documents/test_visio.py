"""Visio drawings: shapes, what they state, and where their connectors lead."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from a2c_documents.parsers.visio.document import open_visio
from a2c_documents.registry import VISIO, format_of
from tests.support.documents.reading import Read, read
from tests.support.documents.visio_files import (
    MASTERS,
    cell,
    connector,
    page,
    shape,
    visio_file,
    write_vsdx,
)


def shown(path: Path, shapes: str, connects: str = "") -> Read:
    return read(open_visio, visio_file(path, {"Page": page(shapes, connects)}, MASTERS))


def items_of(found: Read) -> list[Any]:
    return found.of("diagram")[0]["items"]


def test_a_flow_chart_says_what_leads_where(tmp_path: Path) -> None:
    write_vsdx(tmp_path / "tea.vsdx")
    found = read(open_visio, tmp_path / "tea.vsdx")
    assert found.titles == ["Making tea", "Frame (background)"]
    assert items_of(found) == [
        {"text": "Start", "items": ["→ Is the water hot?"], "ordered": False},
        {
            "text": "Is the water hot? (Decision)",
            "items": ["Owner: Ada", "yes → Pour it", "no → Boil it"],
            "ordered": False,
        },
        "Pour it",
        {"text": "Boil it", "items": ["→ Is the water hot?"], "ordered": False},
    ]
    (connection, *_) = found.elements[0].metadata["connections"]
    assert connection == {"from": "Start", "to": "Is the water hot?", "label": "", "arrow": "→"}
    assert found.of("link") == [{"text": "The shop", "url": "https://tea.example/"}]
    assert found.of("annotation")[0]["text"] == "Grace: How much?"


def test_tips_of_lines_are_the_direction(tmp_path: Path) -> None:
    tips = {20: (4, 0), 21: (4, 4), 22: (0, 0), 23: (0, 4)}
    lines = [
        connector(number, 1, 2, f"n{number}", cell("BeginArrow", begin) + cell("EndArrow", end))
        for number, (begin, end) in tips.items()
    ]
    shapes = shape(1, "A", at=(1, 9)) + shape(2, "B", at=(1, 5)) + "".join(one for one, _ in lines)
    found = shown(tmp_path / "a.vsdx", shapes, "".join(ends for _, ends in lines))
    assert items_of(found) == [
        {"text": "A", "items": ["n21 ↔ B", "n22 — B", "n23 → B"], "ordered": False},
        {"text": "B", "items": ["n20 → A"], "ordered": False},
    ]


def test_shapes_without_words_have_the_name_of_their_master_and_a_number(tmp_path: Path) -> None:
    line, ends = connector(20, 1, 2)
    masters = MASTERS | {6: ("Server", shape(1))}
    content = page(
        shape(1, master=6, at=(1, 9)) + shape(2, master=6, at=(1, 5)) + shape(3, master=5, at=(1, 1)) + line, ends
    )
    found = read(open_visio, visio_file(tmp_path / "a.vsdx", {"Net": content}, masters))
    assert items_of(found) == [
        {"text": "Server #1", "items": ["→ Server #2"], "ordered": False},
        "Server #2",
        "An inherited text (Decision)",
    ]


def test_groups_hold_their_shapes_and_what_says_nothing_is_left_out(tmp_path: Path) -> None:
    inner = shape(11, "Left", at=(0, 1)) + shape(12, "Right", at=(3, 1)) + shape(13) + "<Shape ID='14' Del='1'/>"
    group = f"<Shape ID='1' Type='Group'><Shapes>{inner}</Shapes><Text>Kitchen</Text></Shape>"
    lost = shape(30, more=cell("BeginX", 1)) + shape(31, "A note on a line", more=cell("BeginX", 1))
    found = shown(tmp_path / "a.vsdx", group + lost + shape(2))
    assert {"text": "Kitchen", "items": ["Left", "Right"], "ordered": False} in items_of(found)
    assert "A note on a line" in items_of(found)
    assert len(items_of(found)) == 2


def test_groups_in_groups_end_somewhere(tmp_path: Path) -> None:
    deep = shape(0, "deep")
    for number in range(1, 60):
        deep = f"<Shape ID='{number}'><Shapes>{deep}</Shapes><Text>Group {number}</Text></Shape>"
    assert "Group 59" in str(items_of(shown(tmp_path / "a.vsdx", deep)))
    many = page("".join(shape(number, "x") for number in range(20_100)))
    source = open_visio(visio_file(tmp_path / "b.vsdx", {"Page": many}, {}))
    assert len(source.page(0).elements[0].content["items"]) == 20_000
    source.close()


def test_a_damaged_page_says_so_and_the_others_are_read(tmp_path: Path) -> None:
    pages = {"Good": page(shape(1, "Words")), "Bad": "<PageContents><Shapes>"}
    found = read(open_visio, visio_file(tmp_path / "a.vsdx", pages, {}))
    assert found.titles == ["Good", "Bad"]
    assert "cannot be read" in found.of("annotation")[0]["text"]


def test_a_drawing_is_known_by_its_parts(tmp_path: Path) -> None:
    write_vsdx(tmp_path / "tea.zip")
    assert format_of(tmp_path / "tea.zip") is VISIO


def test_pictures_on_a_page_can_be_read(tmp_path: Path) -> None:
    foreign = "<Shape ID='1' Type='Foreign'><ForeignData><Rel r:id='p1'/></ForeignData></Shape>"
    visio_file(tmp_path / "a.vsdx", {"Page": page(foreign)}, {})
    with zipfile.ZipFile(tmp_path / "a.vsdx", "a") as archive:
        archive.writestr("visio/media/image1.png", b"picture")
        link = "<Relationship Id='p1' Type='x/image' Target='../media/image1.png'/>"
        archive.writestr("visio/pages/_rels/page0.xml.rels", f"<Relationships>{link}</Relationships>")
    (element,) = read(open_visio, tmp_path / "a.vsdx").elements
    assert element.picture is not None
    assert element.picture() == ("image/png", b"picture")
