"""Pages of tables of many kinds whose cells are known: made as HTML, printed by a browser."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parents[2] / "data/tables"
PROSE = (
    "<p>The council approved the report of the finance committee after a short debate, and asked the office to publish "
    "the figures with all explanations before the end of the quarter. Members may request further details in writing."
    "</p>"
)


@dataclass(frozen=True)
class Cell:
    """A cell that spans several columns or rows, or is indented."""

    words: str
    columns: int = 1
    rows: int = 1
    indent: int = 0


Rows = Sequence[Sequence[str | Cell]]
Fact = tuple[str, str, str]
"""The name of a row, the header of a column, and the cell where they meet."""


@dataclass(frozen=True)
class Data:
    """A table: its rows of headers, and its rows."""

    head: Rows
    body: Rows
    rtl: bool = False

    @property
    def headers(self) -> list[str]:
        """One header for each column, with those of the groups that it is in."""
        grid = spread(self.head)
        return (
            [" ".join(dict.fromkeys(row[at] for row in grid if row[at])) for at in range(len(grid[0]))] if grid else []
        )

    def facts(self) -> set[Fact]:
        """What the table says: the meaning of each cell."""
        headers = self.headers
        found: set[Fact] = set()
        for row, whole in zip(spread(self.body, again=False), spread(self.body), strict=True):
            label = next(words for words in whole if words)
            found |= {(label, headers[at] if headers else "", words) for at, words in enumerate(row) if words}
        return found


def spread(rows: Rows, *, again: bool = True) -> list[list[str]]:
    """The rows as a grid. A cell over several places is repeated in them, or in its first one only."""
    places: dict[tuple[int, int], str] = {}
    taken: set[tuple[int, int]] = set()
    for at, row in enumerate(rows):
        column = 0
        for one in row:
            cell = one if isinstance(one, Cell) else Cell(one)
            while (at, column) in taken:
                column += 1
            for down in range(cell.rows):
                for right in range(cell.columns):
                    taken.add((at + down, column + right))
                    places[at + down, column + right] = cell.words if again or down == right == 0 else ""
            column += cell.columns
    width = max((column + 1 for _, column in taken), default=0)
    return [[places.get((at, column), "") for column in range(width)] for at in range(len(rows))]


@dataclass(frozen=True)
class Kind:
    """A page: which tables are on it, and how they look."""

    tables: Sequence[Data]
    look: str
    ruled: bool
    widths: Sequence[int]
    prose: bool
    page: str
    beside: bool = False

    def section(self) -> str:
        """The page as HTML."""
        tables = [_table(data, self.look, self.widths) for data in self.tables]
        body = f"<div class='beside'>{''.join(tables)}</div>" if self.beside else "<h3>Second table</h3>".join(tables)
        return f"<section class='{self.page}'>{PROSE * self.prose}{body}{PROSE * self.prose}</section>"


def _table(data: Data, look: str, widths: Sequence[int]) -> str:
    columns = "".join(f"<col style='width:{width}%'>" for width in widths)
    direction = " dir=rtl" if data.rtl else ""
    head, body = _rows(data.head, "th"), _rows(data.body, "td")
    inner = f"<colgroup>{columns}</colgroup><thead>{head}</thead><tbody>{body}</tbody>"
    return f"<table class='{look}'{direction}>{inner}</table>"


def _rows(rows: Rows, tag: str) -> str:
    made = ""
    for row in rows:
        made += "<tr>"
        for one in row:
            cell = one if isinstance(one, Cell) else Cell(one)
            indent = f" style='padding-left:{8 + cell.indent * 14}px'" if cell.indent else ""
            words = f"<span>{html.escape(cell.words)}</span>"
            made += f"<{tag} colspan={cell.columns} rowspan={cell.rows}{indent}>{words}</{tag}>"
        made += "</tr>"
    return made


def _cells(rows: Any) -> Rows:
    return [[str(cell) if isinstance(cell, str) else Cell(**cell) for cell in row] for row in rows]


def kinds() -> list[Kind]:
    """All pages, as `tests/data/tables` describes them."""
    told: Any = json.loads((_DATA / "pages.json").read_text("utf-8"))
    data = {name: Data(_cells(one["head"]), _cells(one["body"]), one["rtl"]) for name, one in told["tables"].items()}
    return [_kind(page, data) for page in told["pages"]]


def _kind(page: Mapping[str, Any], data: Mapping[str, Data]) -> Kind:
    tables = [data[name] for name in (page["data"], page.get("second")) if name]
    widths, prose = page.get("widths", ()), page.get("prose", False)
    beside = page.get("beside", False)
    return Kind(tables, page["look"], page.get("ruled", False), widths, prose, page.get("page", ""), beside)


def document(pages: Sequence[Kind]) -> str:
    """The pages as HTML."""
    style = (_DATA / "style.css").read_text("utf-8")
    return f"<!doctype html><meta charset=utf-8><style>{style}</style>{''.join(page.section() for page in pages)}"
