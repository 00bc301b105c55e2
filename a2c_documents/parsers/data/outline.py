"""The structure of data: an outline of their keys, and the tables in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any, cast

from a2c_documents.loose import as_dict, as_list
from a2c_documents.model import Element, list_of, table
from a2c_documents.parsers.common.decoding import clean
from a2c_documents.wording import counted, shortened

MAX_DEPTH = 4
MAX_KEYS = 40
MAX_VALUE = 60
MAX_COLUMNS = 100
_SAMPLED = 200


def outline(data: Any) -> Element:
    """Keys, types and counts, as a list; deeper levels and further keys are only counted."""
    items = _children(data, MAX_DEPTH) or [describe(data)]
    if isinstance(data, list) and items != [describe(data)]:
        items = [{"text": describe(cast("Any", data)), "items": items, "ordered": False}]
    shown = list_of(items)
    shown.summary = f"Structure: {describe(data)}"
    return shown


def describe(value: Any) -> str:
    """A value's type and size, or the value itself if it is short."""
    if isinstance(value, dict):
        return f"object with {counted(len(cast('dict[str, Any]', value)), 'key')}"
    if isinstance(value, list):
        return _describe_list(cast("list[Any]", value))
    words = scalar(value)
    words = words if len(words) <= MAX_VALUE else words[: MAX_VALUE - 1] + "…"
    # Texts are in quotes, so that "1" and 1 are different.
    return json.dumps(words, ensure_ascii=False) if isinstance(value, str) else words


def tell(data: Any) -> str:
    """A sentence that describes the data."""
    words = describe(data)
    parts = [_part(key, value) for key, value in islice(as_dict(data).items(), MAX_KEYS)]
    return shortened(words[:1].upper() + words[1:] + (f": {', '.join(parts)}" if parts else ""))


def _part(key: Any, value: Any) -> str:
    return clean(f"{key} ({len(cast('list[Any]', value)):,})" if isinstance(value, list) else str(key))


def scalar(value: Any) -> str:
    """A value that is neither list nor object, as a person writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return clean(value if isinstance(value, str) else value.isoformat() if hasattr(value, "isoformat") else str(value))


def records(data: Any) -> list[str] | None:
    """The columns, if the data are a list of similar flat objects."""
    if not isinstance(data, list):
        return None
    rows = cast("list[Any]", data)
    # All rows must be objects, but only a sample is measured: a file may have a million of them.
    sample = rows[:_SAMPLED]
    if len(rows) < 2 or not all(isinstance(row, dict) for row in rows):
        return None
    columns: dict[str, int] = {}
    for row in cast("list[dict[Any, Any]]", sample):
        if sum(not _flat(value) for value in row.values()) * 2 > len(row):
            return None
        for key in row:
            columns[str(key)] = columns.get(str(key), 0) + 1
    if not columns or len(columns) > MAX_COLUMNS:
        return None
    # Similar means that the average column has a value in more than half of the rows.
    return list(columns) if sum(columns.values()) * 2 > len(columns) * len(sample) else None


def table_of(rows: Sequence[dict[Any, Any]], columns: Sequence[str], **metadata: Any) -> Element:
    """Objects as rows. Keys that only later rows have are columns at the end."""
    # Later rows may add columns, but not without end: an object that is used as a dictionary has new keys in each row.
    every = list(dict.fromkeys([*columns, *(str(key) for row in rows for key in row)]))[: MAX_COLUMNS * 2]
    shown = [{str(key): value for key, value in row.items()} for row in rows]
    lines = [[cell(row[column]) if column in row else "" for column in every] for row in shown]
    return table([clean(column) for column in every], lines, **metadata)


def cell(value: Any) -> str:
    """A value in a cell; lists and objects are written as JSON."""
    if isinstance(value, dict | list):
        return compact(value)
    return "" if value is None else scalar(value)


def compact(value: Any) -> str:
    """A value as JSON in one line."""
    try:
        return clean(json.dumps(value, ensure_ascii=False, default=scalar))
    except (RecursionError, ValueError, TypeError):
        return describe(value)


def _describe_list(values: list[Any]) -> str:
    if not values:
        return "empty list"
    kinds = list(dict.fromkeys(_kind(value) for value in values[:_SAMPLED]))
    what = f"{kinds[0]}" if len(kinds) == 1 else "value"
    words = f"list of {counted(len(values), what)}"
    if kinds == ["object"]:
        keys = list(dict.fromkeys(str(key) for value in values[:20] for key in value))
        named = ", ".join(keys[:8]) + (" …" if len(keys) > 8 else "")
        return f"{words} ({clean(named)})"
    return words


def _children(data: Any, depth: int) -> list[Any]:
    if isinstance(data, list):
        # A list is described by its first object: an outline of every item would be as long as the data.
        data = next((value for value in as_list(cast("Any", data)) if as_dict(value)), None)
    pairs = list(as_dict(data).items()) if depth else []
    found: list[Any] = []
    for key, value in pairs[:MAX_KEYS]:
        words = f"{clean(str(key))}: {describe(value)}"
        below = _children(value, depth - 1)
        found.append({"text": words, "items": below, "ordered": False} if below else words)
    if len(pairs) > MAX_KEYS:
        found.append(f"… and {len(pairs) - MAX_KEYS} more")
    return found


def _kind(value: Any) -> str:
    if isinstance(value, dict | list):
        return "object" if isinstance(value, dict) else "list"
    if isinstance(value, str) or value is None:
        return "text" if value is not None else "null"
    return "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "date"


def _flat(value: Any) -> bool:
    if isinstance(value, list):  # a short list of words still reads well in a cell
        values = cast("list[Any]", value)
        return len(values) <= 8 and not any(isinstance(part, dict | list) for part in values)
    return not isinstance(value, dict)
