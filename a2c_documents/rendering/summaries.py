"""A short description of an element, for lists of elements and for those without a form of their own."""

from __future__ import annotations

from typing import Any

from a2c_documents.loose import as_list
from a2c_documents.model import MAX_SUMMARY
from a2c_documents.rendering.blocks import item_text, one_line, words_of
from a2c_documents.wording import counted


def summary_of(category: str, content: dict[str, Any]) -> str:
    """A short description of an element's content."""
    match category:
        case "table" | "pivot_table" if "headers" in content:
            rows, columns = len(content.get("rows") or ()), len(content["headers"])
            names = ", ".join(str(name) for name in content["headers"] if name)
            return shorten(f"{rows} × {columns}: {names}" if names else f"{rows} × {columns}")
        case "list":
            items: list[Any] = content.get("items") or []
            return shorten(f"{len(items)}: " + "; ".join(map(item_text, items[:5])))
        case "code":
            lines = words_of(content.get("code")).splitlines()
            # The first line is often a brace, or the frame of a comment.
            telling = next((line for line in lines if any(map(str.isalnum, line))), "".join(lines[:1]))
            size = f"{content.get('language') or 'code'}, {counted(len(lines), 'line')}"
            return shorten(f"{size}: {telling.strip().rstrip(',')}" if telling.strip() else size)
        case "image":
            return shorten(content.get("alt") or content.get("description") or "picture")
        case "link":
            return shorten(content.get("text") or content.get("url") or "")
        case "formula":
            return shorten(content.get("expression") or "")
        case "form":
            return counted(len(as_list(content.get("fields"))), "field")
        case _:
            return shorten(str(content.get("text") or content.get("title") or ""))


def shorten(words: Any) -> str:
    """The beginning of a text, on one line."""
    line = one_line(words)
    return line if len(line) <= MAX_SUMMARY else line[: MAX_SUMMARY - 1].rstrip() + "…"
