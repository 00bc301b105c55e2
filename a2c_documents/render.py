"""Pages and elements as JSON, Markdown and plain text.

An element's id consists of the page, the category and the position among the elements of that category on the page
(`p3-table-1`): the same file gives the same ids, and a change on one page leaves the ids of other pages alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, cast

from a2c_documents.model import MAX_SUMMARY, Element, Page
from a2c_documents.wording import counted

# Nine digits at most: numbers come from addresses, and `int` takes quadratic time for long ones.
_START = re.compile(r"p(0|[1-9][0-9]{0,8})(-.*)?")
_ID = re.compile(r"p(0|[1-9][0-9]{0,8})-([a-z_]+)-([1-9][0-9]{0,8})")


def page_shape(page: Page, index: int) -> dict[str, Any]:
    """A page with all that is known about its elements.

    `detail`, `metadata`, `has_picture` and `has_file` are for level 3.
    """
    # Counted for each category: a new paragraph does not change the ids of the tables on its page.
    counted: Counter[str] = Counter()
    elements: list[dict[str, Any]] = []
    for element in page.elements:
        counted[element.category] += 1
        elements.append(_element_shape(element, f"p{index}-{element.category}-{counted[element.category]}"))
    return {"title": page.title, "elements": elements}


def _element_shape(element: Element, element_id: str) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "element_id": element_id,
        "category": element.category,
        "summary": element.summary or summary_of(element.category, element.content),
        "content": element.content,
        "metadata": element.metadata,
    }
    if element.detail is not None:
        shape["detail"] = element.detail
    # The bytes are decoded when they are requested, so only their existence is part of a page.
    if element.picture is not None:
        shape["has_picture"] = True
    if element.file is not None:
        shape["has_file"] = True
    return shape


def page_of_element(element_id: str) -> int | None:
    """The page in an element id; None if the id is invalid."""
    found = _ID.fullmatch(element_id)
    return int(found[1]) if found else None


def pages_of_elements(start: str, page_count: int) -> list[int]:
    """The pages that may have an element whose id begins with `start`."""
    if not start or start == "p":
        return list(range(page_count))
    found = _START.fullmatch(start)
    if found is None:
        return []
    number, rest = found[1], found[2]
    if rest:
        return [int(number)] if int(number) < page_count else []
    # `p1` may be completed to the elements of pages 1, 10, 11 and so on.
    return [page for page in range(page_count) if str(page).startswith(number)]


# ------------------------------------------------------------------------------------------------------- Markdown, text


Item = dict[str, Any]
"""An element as it is sent: `category`, `content`, `summary`."""


def markdown(items: Iterable[Item]) -> str:
    """A page, as markdown."""
    return "\n\n".join(rendered for item in items if (rendered := as_markdown(item)))


def plain(items: Iterable[Item]) -> str:
    """A page, as text."""
    return "\n\n".join(rendered for item in items if (rendered := as_text(item)))


def as_markdown(item: Item) -> str:
    """One element. Without the content that its category needs, it is `[category: summary]`."""
    content = item["content"]
    match item["category"]:
        case "heading" if content.get("text"):
            return f"{'#' * _level(content.get('level'))} {_one_line(content['text'])}"
        case "text" if content.get("text"):
            return str(content["text"])
        case "table" if content.get("headers"):
            return _table(content["headers"], content.get("rows") or [])
        case "list" if content.get("items"):
            return "\n".join(_list(item))
        case "code" if isinstance(content.get("code"), str):
            fence = _fence(content["code"])
            return f"{fence}{_one_line(content.get('language'))}\n{content['code'].rstrip(chr(10))}\n{fence}"
        case "chart" if content.get("title") or content.get("data_summary"):
            return f"[chart: {_one_line(content.get('title'))}] {_one_line(content.get('data_summary'))}".rstrip()
        case "image" if content.get("url"):
            return f"![{_label(content.get('alt'))}]({content['url']})"
        case "image" if content.get("description") or content.get("alt"):
            return f"[picture: {_one_line(content.get('description') or content['alt'])}]"
        case "link" if content.get("url"):
            return f"[{_label(content.get('text') or content['url'])}]({content['url']})"
        case "formula" if content.get("expression"):
            return f"$ {content['expression']} $"
        case category:
            return f"[{category}: {_one_line(item.get('summary') or summary_of(category, content))}]"


def as_text(item: Item) -> str:
    """One element without markup."""
    content = item["content"]
    match item["category"]:
        case "table" if content.get("headers"):
            rows: list[list[Any]] = [content["headers"], *(content.get("rows") or [])]
            return "\n".join("\t".join(_words(cell) for cell in row) for row in rows)
        case "list":
            return "\n".join(_list(item))
        case "code":
            return _words(content.get("code"))
        case "link":
            return f"{_words(content.get('text'))} {_words(content.get('url'))}".strip()
        case "formula":
            value = f" = {content['value']}" if content.get("value") else ""
            return f"{_words(content.get('expression'))}{value}"
        case "chart":
            return f"{_words(content.get('title'))} {_words(content.get('data_summary'))}".strip()
        case "image":
            return f"{_words(content.get('alt'))} {_words(content.get('description'))}".strip()
        case category:
            return str(content.get("text") or item.get("summary") or summary_of(category, content))


def summary_of(category: str, content: dict[str, Any]) -> str:
    """A short description of an element's content."""
    match category:
        case "table" | "pivot_table" if "headers" in content:
            rows, columns = len(content.get("rows") or ()), len(content["headers"])
            names = ", ".join(str(name) for name in content["headers"] if name)
            return _shorten(f"{rows} × {columns}: {names}" if names else f"{rows} × {columns}")
        case "list":
            items: list[Any] = content.get("items") or []
            return _shorten(f"{len(items)}: " + "; ".join(map(_item_text, items[:5])))
        case "code":
            lines = _words(content.get("code")).splitlines()
            # The first line is often a brace, or the frame of a comment.
            telling = next((line for line in lines if any(map(str.isalnum, line))), "".join(lines[:1]))
            size = f"{content.get('language') or 'code'}, {counted(len(lines), 'line')}"
            return _shorten(f"{size}: {telling.strip().rstrip(',')}" if telling.strip() else size)
        case "image":
            return _shorten(content.get("alt") or content.get("description") or "picture")
        case "link":
            return _shorten(content.get("text") or content.get("url") or "")
        case "formula":
            return _shorten(content.get("expression") or "")
        case "form":
            fields = cast("list[Any]", content.get("fields") or [])
            return counted(len(fields), "field")
        case _:
            return _shorten(str(content.get("text") or content.get("title") or ""))


def _table(headers: list[Any], rows: list[list[Any]]) -> str:
    lines = [_row(headers), "|" + " --- |" * len(headers)]
    return "\n".join(lines + [_row(row) for row in rows])


def _row(cells: list[Any]) -> str:
    # Backslashes first: those that escape bars must not be doubled.
    escaped = (_one_line(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(escaped) + " |"


def _list(element: Item) -> list[str]:
    """Lines of a list and the lists in it. A stack instead of recursion: files may nest lists to any depth."""
    lines: list[str] = []
    metadata: dict[str, Any] = element.get("metadata") or {}
    stack = [_Level({**element["content"], "start": metadata.get("start")})]
    while stack:
        level = stack[-1]
        if level.place >= len(level.items):
            stack.pop()
            continue
        item = level.items[level.place]
        mark = f"{level.start + level.place}." if level.is_ordered else "-"
        level.place += 1
        lines.append(f"{'  ' * (len(stack) - 1)}{mark} {_one_line(_item_text(item))}")
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


def _item_text(item: Any) -> str:
    return _words(cast("dict[str, Any]", item).get("text") if isinstance(item, dict) else item)


def _fence(source: str) -> str:
    # A fence inside of the code would end it.
    fence = "```"
    while fence in source:
        fence += "`"
    return fence


def _words(value: Any) -> str:
    return "" if value is None else str(value)


def _one_line(value: Any) -> str:
    return " ".join(_words(value).split())


def _label(value: Any) -> str:
    """The text of a link or picture, with brackets escaped: they would end it."""
    return _one_line(value).replace("[", "\\[").replace("]", "\\]")


def _level(value: Any) -> int:
    return max(1, min(value, 6)) if isinstance(value, int) else 1


def _shorten(words: Any) -> str:
    line = _one_line(words)
    return line if len(line) <= MAX_SUMMARY else line[: MAX_SUMMARY - 1].rstrip() + "…"
