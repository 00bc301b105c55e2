"""Formatting inside a line: bold, italics, code and links.

The content of an element is plain text, for search and for programs. A parser that knows the formatting of words gives
a `Styled` text: a string like any other, with its runs. `render.py` shows the runs in Markdown and in text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

from a2c_documents.loose import as_list

BOLD, ITALIC, CODE = "b", "i", "c"
_SPACE = r"\s\u200b\ufeff"
_WORD = re.compile(f"[^{_SPACE}]+")
_GAP = re.compile(f"[{_SPACE}]*")
_TICKS = re.compile("`+")


class Run(NamedTuple):
    """Words with the same formatting. `marks` has the letters of `BOLD`, `ITALIC` and `CODE`."""

    text: str
    marks: str = ""
    url: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether the words have no formatting."""
        return not (self.marks or self.url)


class Styled(str):
    """A text whose words have formatting. Operations on it give plain strings, except those of this module."""

    runs: tuple[Run, ...]
    __slots__ = ("runs",)

    @classmethod
    def of(cls, runs: Sequence[Run]) -> str:
        """A text of some runs; a plain string if none of them has formatting."""
        words = "".join(run.text for run in runs)
        if all(run.is_plain for run in runs):
            return words
        made = cls(words)
        made.runs = tuple(run for run in runs if run.text)
        return made


def runs_of(words: str) -> tuple[Run, ...]:
    """The runs of a text."""
    return words.runs if isinstance(words, Styled) else (Run(words),)


def styled(words: str, runs: Iterable[Run]) -> str:
    """`words` with the formatting of `runs`, which have the same words with other spaces.

    A parser first makes the text that it shows: it joins runs, removes spaces and empty lines. This function puts the
    formatting onto the result. If the words differ, the result is plain.
    """
    known = list(runs)
    if all(run.is_plain for run in known):
        return words
    made: list[Run] = []
    place = 0
    for run in known:
        start = place
        # Mostly only the spaces at the ends of a paragraph differ, so that whole runs can be compared.
        core = run.text.rstrip()
        if words.startswith(core, place):
            place += len(core)
            if words.startswith(run.text, start):
                place = start + len(run.text)
            made.append(run._replace(text=words[start:place]))
            continue
        for found in _WORD.finditer(run.text):
            gap = _GAP.match(words, place)
            place = gap.end() if gap is not None else place
            if not words.startswith(found[0], place):
                return words
            place += len(found[0])
        if place > start:
            made.append(run._replace(text=words[start:place]))
    return Styled.of(_tidied([*made, Run(words[place:])]))


def _tidied(runs: Iterable[Run]) -> list[Run]:
    """Runs without those that are empty; neighbours with the same formatting become one."""
    made: list[Run] = []
    for run in runs:
        if made and made[-1][1:] == run[1:]:
            made[-1] = run._replace(text=made[-1].text + run.text)
        # Programs divide formatted words into many runs, with the spaces in runs of their own.
        elif len(made) > 1 and made[-2][1:] == run[1:] and made[-1].text.isspace() and "\n" not in made[-1].text:
            between = made.pop().text
            made[-1] = run._replace(text=made[-1].text + between + run.text)
        elif run.text:
            made.append(run)
    return made


def joined(parts: Iterable[str], between: str = "") -> str:
    """Texts joined to one, with their formatting."""
    known = list(parts)
    if not any(isinstance(part, Styled) for part in known):
        return between.join(known)
    runs: list[Run] = []
    for number, part in enumerate(known):
        runs += (Run(between if number else ""), *runs_of(part))
    return Styled.of(_tidied(runs))


def piece(words: str, start: int, stop: int) -> str:
    """A part of a text, with its formatting."""
    if not isinstance(words, Styled):
        return words[start:stop]
    found: list[Run] = []
    place = 0
    for run in words.runs:
        found.append(run._replace(text=run.text[max(0, start - place) : max(0, stop - place)]))
        place += len(run.text)
    return Styled.of(found)


# ---------------------------------------------------------------------------------------------------------- all strings


Styles = dict[str, list[list[str]]]
"""The runs of the styled texts of an element, by their positions among its texts. A page is stored with these."""


def styles_of(content: dict[str, Any]) -> Styles:
    """The formatting of all texts in the content of an element."""
    # Most elements are plain texts, and sheets have plain tables with thousands of cells: both are told apart quickly.
    if not content.get("items"):
        rows = [as_list(content.get("headers")), *map(as_list, as_list(content.get("rows"))), [content.get("text")]]
        if not any(type(cell) is Styled for row in rows for cell in row):
            return {}
    found: Styles = {}
    for place, (_, _, words) in enumerate(_slots(content)):
        if isinstance(words, Styled):
            # Most runs have neither a link nor marks: trailing empty fields are left out.
            found[str(place)] = [list(run) if run.url else [text for text in run if text] for run in words.runs]
    return found


def restyled(content: dict[str, Any], styles: Styles, *, as_text: bool = False) -> dict[str, Any]:
    """A copy of the content with its formatting as Markdown, or as text with the addresses of links."""
    copy = _copied(content)
    for place, (holder, key, _) in enumerate(_slots(copy)):
        if (runs := styles.get(str(place))) is not None:
            known = [Run(*run) for run in runs]
            holder[key] = _text(known) if as_text else _markdown(known)
    return copy


def _slots(content: dict[str, Any]) -> Iterable[tuple[Any, Any, str]]:
    """The texts of a content in order: holder, key, text. With a stack: files may nest lists to any depth."""
    keys = [key for key in ("text", "headers", "rows", "items") if key in content]
    stack: list[tuple[Any, Any]] = [(content, key) for key in reversed(keys)]
    while stack:
        holder, key = stack.pop()
        value = holder[key]
        if isinstance(value, str):
            yield holder, key, value
        elif isinstance(value, list):
            held = cast("list[Any]", value)
            stack.extend((held, place) for place in range(len(held) - 1, -1, -1))
        elif isinstance(value, dict):
            item = cast("dict[str, Any]", value)
            stack.extend((item, name) for name in ("items", "text") if name in item)


def _copied(content: dict[str, Any]) -> dict[str, Any]:
    """A copy of a content and of the lists and items in it."""
    top = dict(content)
    stack: list[Any] = [top]
    while stack:
        holder: Any = stack.pop()
        for key in _keys(holder):
            held: Any = holder[key]
            if isinstance(held, list | dict):
                made: Any = cast("dict[str, Any] | list[Any]", held).copy()
                holder[key] = made
                stack.append(made)
    return top


def _keys(holder: Any) -> list[Any]:
    return list(range(len(cast("list[Any]", holder))) if isinstance(holder, list) else cast("dict[str, Any]", holder))


# -------------------------------------------------------------------------------------------------------------- showing


def _markdown(runs: Iterable[Run]) -> str:
    return "".join(_marked(text, marks, url) for text, marks, url in _by_link(runs))


def _by_link(runs: Iterable[Run]) -> Iterable[tuple[str, str, str]]:
    """Runs, with those of the same link as one: an address is shown once, around all its words."""
    words, url = "", ""
    for run in runs:
        if run.url != url and url:
            yield words, "", url
            words = ""
        url = run.url
        if url:
            words += _marked(run.text, run.marks, "")
        else:
            yield run.text, run.marks, ""
    if url:
        yield words, "", url


def _marked(words: str, marks: str, url: str) -> str:
    core = words.strip()
    if not core or not (marks or url):
        return words
    before, after = words[: words.index(core)], words[words.index(core) + len(core) :]
    if CODE in marks:
        fence = "`" * (max((len(found) for found in _TICKS.findall(core)), default=0) + 1)
        core = f"{fence} {core} {fence}" if core.startswith("`") or core.endswith("`") else f"{fence}{core}{fence}"
    stars = ("**" if BOLD in marks else "") + ("*" if ITALIC in marks else "")
    # Emphasis ends with its line in Markdown that is inside a table or a list.
    core = "\n".join(f"{stars}{line}{stars}" if line.strip() else line for line in core.split("\n"))
    # An address inside the document, such as "#_Ref12", leads nowhere for a reader of one page.
    if url and not url.startswith("#"):
        core = core if core == url else f"[{label(core)}]({url})"
    return before + core + after


def _text(runs: Iterable[Run]) -> str:
    shown: list[str] = []
    for words, _, url in _by_link(Run(run.text, "", run.url) for run in runs):
        core = words.rstrip()
        # An address that is also the text of its link is shown once.
        told = "" if not url or url.startswith("#") or url.removeprefix("mailto:") == core.strip() else f" ({url})"
        shown.append(f"{core}{told}{words[len(core) :]}")
    return "".join(shown)


def label(words: str) -> str:
    """The text of a link or picture. Brackets that have no counterpart would end it, and are escaped."""
    depth = 0
    for character in words:
        depth += (character == "[") - (character == "]")
        if depth < 0:
            break
    return words if depth == 0 else words.replace("[", "\\[").replace("]", "\\]")
