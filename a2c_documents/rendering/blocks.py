"""Tables, lists, code and numbers as lines of Markdown and text."""

from __future__ import annotations

from typing import Any, cast

from a2c_documents.loose import as_dict, as_list


def words_of(value: Any) -> str:
    """A value of an untrusted page as text."""
    return "" if value is None else str(value)


def one_line(value: Any) -> str:
    """The same without line breaks."""
    return " ".join(words_of(value).split())


def table_lines(headers: list[Any], rows: list[list[Any]]) -> list[str]:
    """A pipe table. A row may have more cells than there are headers."""
    width = max(map(len, (headers, *rows)), default=0)
    headers = [*headers, *[""] * (width - len(headers))]
    return [_row(headers), "|" + " --- |" * width, *map(_row, rows)]


def tabbed_lines(headers: list[Any], rows: list[list[Any]]) -> list[str]:
    """A table with tabs between its cells."""
    lines = [headers, *rows] if headers else rows
    return ["\t".join(words_of(cell) for cell in line) for line in lines]


def _row(cells: list[Any]) -> str:
    # Backslashes first: those that escape bars must not be doubled.
    escaped = (one_line(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(escaped) + " |"


def list_lines(holder: dict[str, Any], start: Any = None) -> list[str]:
    """A list and the lists in it. A stack instead of recursion: files may nest lists to any depth."""
    lines: list[str] = []
    stack = [_Level({**holder, "start": start})]
    while stack:
        level = stack[-1]
        if level.place >= len(level.items):
            stack.pop()
            continue
        item = level.items[level.place]
        mark = f"{level.start + level.place}." if level.is_ordered else "-"
        level.place += 1
        lines.append(f"{'  ' * (len(stack) - 1)}{mark} {one_line(item_text(item))}")
        if isinstance(item, dict):
            stack.append(_Level(cast("dict[str, Any]", item)))
    return lines


class _Level:
    """A list and the position in it. `start` is the number of its first item."""

    __slots__ = ("is_ordered", "items", "place", "start")

    def __init__(self, holder: dict[str, Any]) -> None:
        self.items: list[Any] = holder.get("items") or []
        self.is_ordered = bool(holder.get("ordered"))
        self.start: int = holder["start"] if isinstance(holder.get("start"), int) else 1
        self.place = 0


def item_text(item: Any) -> str:
    """The text of an item, without the list in it."""
    return words_of(cast("dict[str, Any]", item).get("text") if isinstance(item, dict) else item)


def fenced(source: str, language: Any) -> str:
    """Code between fences."""
    # A fence inside of the code would end it.
    fence = "```"
    while fence in source:
        fence += "`"
    return f"{fence}{one_line(language)}\n{source.rstrip(chr(10))}\n{fence}"


def series_table(content: dict[str, Any]) -> tuple[list[Any], list[list[Any]]]:
    """The numbers of a chart as a table: a column for each series. Only level 3 has them."""
    series = [as_dict(one) for one in as_list(content.get("series"))]
    if not any(as_list(one.get("values")) for one in series):
        return [], []
    shared = as_list(content.get("categories"))
    own = [as_list(one.get("categories")) for one in series]
    columns: list[tuple[Any, list[Any]]] = [("", shared)] if shared else []
    for one, categories in zip(series, own, strict=True):
        columns += [("", categories)] if categories else []
        columns.append((one.get("name"), as_list(one.get("values"))))
    length = max(len(values) for _, values in columns)
    rows = [[values[place] if place < len(values) else "" for _, values in columns] for place in range(length)]
    return [name for name, _ in columns], rows
