"""Elements as a person reads them: markdown and plain text, and a few words for a summary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from a2c_smcp.documents.model import MAX_SUMMARY

Item = dict[str, Any]
"""An element as it is sent: `category`, `content`, `summary`."""


def markdown(items: Iterable[Item]) -> str:
    """A page, as markdown."""
    return "\n\n".join(rendered for item in items if (rendered := as_markdown(item)))


def plain(items: Iterable[Item]) -> str:
    """A page, as text."""
    return "\n\n".join(rendered for item in items if (rendered := as_text(item)))


def as_markdown(item: Item) -> str:
    """One element; what it lacks makes it `[category: summary]`."""
    content = item["content"]
    match item["category"]:
        case "heading" if content.get("text"):
            return f"{'#' * _level(content.get('level'))} {_one_line(content['text'])}"
        case "text" if content.get("text"):
            return str(content["text"])
        case "table" if content.get("headers"):
            return _table(content["headers"], content.get("rows") or [])
        case "list" if content.get("items"):
            return "\n".join(_list(content["items"], bool(content.get("ordered"))))
        case "code" if isinstance(content.get("code"), str):
            fence = _fence(content["code"])
            return f"{fence}{_one_line(content.get('language'))}\n{content['code'].rstrip(chr(10))}\n{fence}"
        case "chart" if content.get("title") or content.get("data_summary"):
            return f"[图表: {_one_line(content.get('title'))}] {_one_line(content.get('data_summary'))}".rstrip()
        case "image" if content.get("url"):
            return f"![{_label(content.get('alt'))}]({content['url']})"
        case "image" if content.get("description") or content.get("alt"):
            return f"[图片: {_one_line(content.get('description') or content['alt'])}]"
        case "link" if content.get("url"):
            return f"[{_label(content.get('text') or content['url'])}]({content['url']})"
        case "formula" if content.get("expression"):
            return f"$ {content['expression']} $"
        case category:
            return f"[{category}: {_one_line(item.get('summary') or summary_of(category, content))}]"


def as_text(item: Item) -> str:
    """One element without marks."""
    content = item["content"]
    match item["category"]:
        case "table" if content.get("headers"):
            rows: list[list[Any]] = [content["headers"], *(content.get("rows") or [])]
            return "\n".join("\t".join(_words(cell) for cell in row) for row in rows)
        case "list":
            return "\n".join(_list(content.get("items") or [], bool(content.get("ordered"))))
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
    """A few honest words of what an element holds."""
    match category:
        case "table" | "pivot_table" if "headers" in content:
            rows, columns = len(content.get("rows") or ()), len(content["headers"])
            names = ", ".join(str(name) for name in content["headers"] if name)
            return _shorten(f"{rows} × {columns}: {names}" if names else f"{rows} × {columns}")
        case "list":
            items: list[Any] = content.get("items") or []
            return _shorten(f"{len(items)}: " + "; ".join(map(_item_text, items[:5])))
        case "code":
            source = _words(content.get("code"))
            first = next((line for line in source.splitlines() if line.strip()), "")
            lines = source.count("\n") + 1
            return _shorten(f"{content.get('language') or 'code'}, {lines} lines: {first.strip()}")
        case "image":
            return _shorten(content.get("alt") or content.get("description") or "picture")
        case "link":
            return _shorten(content.get("text") or content.get("url") or "")
        case "formula":
            return _shorten(content.get("expression") or "")
        case "form":
            fields = cast("list[Any]", content.get("fields") or [])
            return _shorten(f"{len(fields)} fields")
        case _:
            return _shorten(str(content.get("text") or content.get("title") or ""))


def _table(headers: list[Any], rows: list[list[Any]]) -> str:
    lines = [_row(headers), "|" + " --- |" * len(headers)]
    return "\n".join(lines + [_row(row) for row in rows])


def _row(cells: list[Any]) -> str:
    escaped = (_one_line(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(escaped) + " |"


def _list(items: list[Any], ordered: bool) -> list[str]:
    """Lines of a list and the lists in it; a stack rather than recursion, since files may nest as deep as they like."""
    lines: list[str] = []
    stack: list[tuple[list[Any], bool, int, int]] = [(items, ordered, 0, 0)]
    while stack:
        current, is_ordered, depth, position = stack.pop()
        if position >= len(current):
            continue
        stack.append((current, is_ordered, depth, position + 1))
        item = current[position]
        mark = f"{position + 1}." if is_ordered else "-"
        lines.append(f"{'  ' * depth}{mark} {_one_line(_item_text(item))}")
        if isinstance(item, dict):
            inner = cast("dict[str, Any]", item)
            if inner.get("items"):
                stack.append((inner["items"], bool(inner.get("ordered")), depth + 1, 0))
    return lines


def _item_text(item: Any) -> str:
    return _words(cast("dict[str, Any]", item).get("text") if isinstance(item, dict) else item)


def _fence(source: str) -> str:
    fence = "```"
    while fence in source:
        fence += "`"
    return fence


def _words(value: Any) -> str:
    return "" if value is None else str(value)


def _one_line(value: Any) -> str:
    return " ".join(_words(value).split())


def _label(value: Any) -> str:
    """The text of a link or picture; brackets would end it."""
    return _one_line(value).replace("[", "\\[").replace("]", "\\]")


def _level(value: Any) -> int:
    return max(1, min(value, 6)) if isinstance(value, int) else 1


def _shorten(words: Any) -> str:
    line = _one_line(words)
    return line if len(line) <= MAX_SUMMARY else line[: MAX_SUMMARY - 1].rstrip() + "…"
