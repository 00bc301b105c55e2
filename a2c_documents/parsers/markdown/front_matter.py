"""What a text says about itself before it begins, between two lines of dashes (YAML) or plus signs (TOML)."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from typing import Any, cast

from a2c_documents.model import Facts
from a2c_documents.parsers.data.yaml import load_yaml

MAX_FRONT_MATTER = 65_536
_ENDS = {"---": ("---", "..."), "+++": ("+++",)}


def split_front_matter(words: str) -> tuple[dict[str, Any], int]:
    """What stands there, and how many lines it takes; nothing where it is not written as it should be."""
    fence = words[:3]
    if fence not in _ENDS or words[3:].split("\n", 1)[0].strip():
        return {}, 0
    lines = words[:MAX_FRONT_MATTER].split("\n")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in _ENDS[fence]), 0)
    if not end:
        return {}, 0
    block = "\n".join(lines[1:end])
    try:
        if fence == "+++":
            return tomllib.loads(block), end + 1
        documents = load_yaml(block)
    except (ValueError, RecursionError):
        return {}, 0
    # A rule, some text and another rule is no front matter.
    if documents and isinstance(documents[0], dict):
        return cast("dict[str, Any]", documents[0]), end + 1
    return {}, 0 if documents else end + 1


def facts_of(said: dict[str, Any]) -> Facts:
    """The usual names for the usual facts; the rest is kept as details."""
    lower = {str(name).lower(): value for name, value in said.items()}
    used = ("title", "author", "authors", "keywords", "tags", "description", "summary", "abstract", "date", "created")
    others = {name: _plain(value) for name, value in lower.items() if name not in used}
    return Facts(
        title=_words(lower.get("title")),
        author=", ".join(_each(lower.get("author") or lower.get("authors"))),
        keywords=_each(lower.get("keywords") or lower.get("tags")),
        summary=_words(lower.get("description") or lower.get("summary") or lower.get("abstract")),
        created=_date(lower.get("date") or lower.get("created")),
        details=others,
    )


def _words(value: Any) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _each(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, dict):
        return _each(cast("dict[str, Any]", value).get("name"))
    if isinstance(value, list):
        return [name for part in cast("list[Any]", value)[:50] for name in (_each(part) or [_words(part)]) if name]
    return []


def _date(value: Any) -> str:
    if isinstance(value, dt.datetime):
        return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    words = _words(value)
    return words if re.match(r"\d{4}-\d{2}-\d{2}", words) else ""


def _plain(value: Any) -> Any:
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return json.dumps(value, ensure_ascii=False, default=str)[:500]
