"""Elements without a Markdown form of their own: notes, forms, diagrams, pivot tables, players, headers, footers.

The form of the protocol is `[category: summary]`. Here the summary is completed to the whole text, and the other facts
of the content follow, so that Markdown and text have everything that JSON has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from a2c_documents.loose import as_dict, as_list
from a2c_documents.rendering.blocks import list_lines, one_line, table_lines, words_of
from a2c_documents.rendering.summaries import summary_of

_MAIN = ("text", "fields", "items", "headers", "series", "categories", "mark")
"""Keys of a content that have a place of their own. All others are facts."""
_WORD = re.compile(r"\w+")


def told(category: str, content: dict[str, Any], summary: str, plain: str) -> str:
    """The text of an element with its facts, as `[category: text]`; `plain` is the text without formatting."""
    words = words_of(content.get("text")).strip()
    head = _whole(summary or summary_of(category, content), words, one_line(plain))
    if mark := one_line(content.get("mark")):
        head = f"[^{mark}]: {head}"
    lines = [f"[{category}: {head}]", *_lines(content)]
    if words and not _has(lines, words, anywhere=len(lines) > 1):
        lines.insert(1, words)
    if facts := "; ".join(_facts(content, "\n".join(lines))):
        lines[0] += f" ({facts})"
    return "\n".join(lines)


def untold(category: str, content: dict[str, Any], summary: str) -> str:
    """The same without markup."""
    words = words_of(content.get("text")).strip() or summary or summary_of(category, content)
    lines = _lines(content)
    mark = one_line(content.get("mark"))
    shown = [] if lines and _has(lines, words, anywhere=True) else [f"{mark} {words}" if mark else words]
    facts = "; ".join(_facts(content, "\n".join([*shown, *lines])))
    return "\n".join(filter(None, [*shown, *lines, facts]))


def _whole(summary: str, words: str, line: str) -> str:
    """The summary; with the whole text if the summary has only its beginning."""
    beginning = line[:20]
    place = summary.find(beginning) if beginning else -1
    if place < 0:
        return summary
    # The lines of a note are kept where it has several: they are often a list.
    return summary[:place] + words if line.startswith(summary[place:].rstrip("…")) else summary


def _has(lines: list[str], words: str, *, anywhere: bool) -> bool:
    """Whether lines have some words: as they are or, if a form or diagram repeats them, one by one."""
    shown = " ".join(" ".join(lines).split())
    return one_line(words) in shown or (anywhere and set(_WORD.findall(words)) <= set(_WORD.findall(shown)))


def _lines(content: dict[str, Any]) -> list[str]:
    """The fields of a form, the outline of a diagram, or the cells of a table."""
    fields = [
        _field(as_dict(one)) if isinstance(one, dict) else f"- {one_line(one)}"
        for one in as_list(content.get("fields"))
    ]
    outline = list_lines({"items": as_list(content.get("items")), "ordered": content.get("ordered")})
    headers = as_list(content.get("headers"))
    return [*fields, *outline, *(table_lines(headers, as_list(content.get("rows"))) if headers else [])]


def _field(entry: dict[str, Any]) -> str:
    """`- Full name (full_name, text): Ada Lovelace`."""
    label, name, kind = (one_line(entry.get(key)) for key in ("label", "name", "type"))
    title = label or name or kind
    beside = [word for word in (name, kind) if word and word != title]
    rest = {key: value for key, value in entry.items() if key not in ("label", "name", "type", "value")}
    facts = ", ".join([*beside, *_facts(rest, "")])
    return f"- {title}{f' ({facts})' if facts else ''}: {_value(entry.get('value'))}".rstrip()


def _facts(content: dict[str, Any], shown: str) -> Iterator[str]:
    """Facts as `name: value`, without those that are shown already."""
    for key, value in content.items():
        words = "" if key in _MAIN or (key == "rows" and "headers" in content) else _value(value)
        if words and not (isinstance(value, str) and words in shown):
            yield f"{key.replace('_', ' ')}: {words}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        # Who is answered, and what was said: the names of the keys would say nothing more.
        return ": ".join(filter(None, map(_value, as_dict(value).values())))
    if isinstance(value, list):
        return ", ".join(filter(None, map(_value, as_list(value))))
    return one_line(value)
