"""Visio drawings (vsdx), from the XML of their pages."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

_SPACES = (
    'xmlns="http://schemas.microsoft.com/office/visio/2012/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def shape(
    number: int, words: str | None = None, *, master: int = 0, at: tuple[float, float] = (1, 1), more: str = ""
) -> str:
    """A shape; `at` is its middle in inches, from the lower left corner."""
    text = f"<Text>{words}\n</Text>" if words is not None else ""
    named = f" Master='{master}'" if master else ""
    place = {"PinX": at[0], "PinY": at[1], "Width": 1, "Height": 1}
    cells = "".join(cell(name, value) for name, value in place.items())
    return f"<Shape ID='{number}' Type='Shape'{named}>{cells}{more}{text}</Shape>"


def cell(name: str, value: object) -> str:
    """A value of a shape."""
    return f"<Cell N='{name}' V='{value}'/>"


def connector(number: int, begin: int, end: int, words: str = "", more: str = "") -> tuple[str, str]:
    """A connector, and what says which shapes it connects."""
    ends = f"<Connect FromSheet='{number}' FromCell='BeginX' FromPart='9' ToSheet='{begin}' ToCell='PinX'/>"
    ends += f"<Connect FromSheet='{number}' FromCell='EndX' FromPart='12' ToSheet='{end}' ToCell='PinX'/>"
    return shape(number, words or None, master=9, more=cell("BeginX", 1) + cell("EndX", 2) + more), ends


def page(shapes: str, connects: str = "") -> str:
    """The contents of a page."""
    return f"<PageContents {_SPACES}><Shapes>{shapes}</Shapes><Connects>{connects}</Connects></PageContents>"


def visio_file(
    path: Path, pages: Mapping[str, str], masters: Mapping[int, tuple[str, str]], comments: str = ""
) -> Path:
    """Write a drawing; `masters` have a name and shapes. A page whose name begins with `~` is a background."""
    listed = "".join(
        f"<Page ID='{number}' Name='{name.lstrip('~')}' Background='{int(name[0] == '~')}'>"
        f"<Rel r:id='r{number}'/></Page>"
        for number, name in enumerate(pages)
    )
    named = "".join(
        f"<Master ID='{number}' Name='{name}'><Rel r:id='m{number}'/></Master>" for number, (name, _) in masters.items()
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("visio/document.xml", f"<VisioDocument {_SPACES}/>")
        archive.writestr("visio/pages/pages.xml", f"<Pages {_SPACES}>{listed}</Pages>")
        archive.writestr("visio/masters/masters.xml", f"<Masters {_SPACES}>{named}</Masters>")
        for number, content in enumerate(pages.values()):
            archive.writestr(f"visio/pages/page{number}.xml", content)
        for number, (_, shapes) in masters.items():
            body = f"<MasterContents {_SPACES}><Shapes>{shapes}</Shapes></MasterContents>"
            archive.writestr(f"visio/masters/master{number}.xml", body)
        relations = {"pages": ("r", "page", range(len(pages))), "masters": ("m", "master", masters)}
        for folder, (mark, part, numbers) in relations.items():
            links = "".join(
                f"<Relationship Id='{mark}{one}' Type='x/{part}' Target='{part}{one}.xml'/>" for one in numbers
            )
            archive.writestr(
                f"visio/{folder}/_rels/{folder}.xml.rels",
                f"<Relationships xmlns='{_RELATIONS}'>{links}</Relationships>",
            )
        if comments:
            archive.writestr("visio/comments.xml", f"<Comments {_SPACES}>{comments}</Comments>")
    return path


MASTERS = {
    5: ("Decision", shape(1, "An inherited text")),
    9: ("Dynamic connector", shape(1, more=cell("BeginX", 0) + cell("EndX", 1) + cell("EndArrow", 4))),
}
DATA = (
    f"<Section N='Property'><Row N='owner'>{cell('Label', 'Owner')}{cell('Value', 'Ada')}</Row></Section>"
    f"<Section N='Hyperlink'><Row>{cell('Address', 'https://tea.example/')}"
    f"{cell('Description', 'The shop')}</Row></Section>"
)


def write_vsdx(path: Path) -> None:
    """A flow chart: a start, a decision with two answers, and a page behind it."""
    connectors = [connector(20, 1, 2), connector(21, 2, 3, "yes"), connector(22, 2, 4, "no"), connector(23, 4, 2)]
    shapes = [
        shape(3, "Pour it", at=(1, 5)), shape(4, "Boil it", at=(4, 5)), shape(1, "Start", at=(2, 9)),
        shape(2, "Is the <cp IX='0'/>water hot?", master=5, at=(2, 7), more=DATA),
    ]  # fmt: skip
    content = page("".join([*shapes, *(one for one, _ in connectors)]), "".join(ends for _, ends in connectors))
    comments = (
        "<AuthorList><AuthorEntry ID='1' Name='Grace'/></AuthorList><CommentList><CommentEntry AuthorID='1' PageID='0' "
        "ShapeID='3' Date='2026-01-05T10:00:00'>How much?</CommentEntry></CommentList>"
    )
    visio_file(path, {"Making tea": content, "~Frame": page(shape(1, "Tea company"))}, MASTERS, comments)
