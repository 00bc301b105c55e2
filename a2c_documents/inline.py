"""Formatting inside a line: bold, italics, code and links.

The content of an element is plain text, for search and for programs. A parser that knows the formatting of words gives
a `Styled` text: a string like any other, with its runs. `render.py` shows the runs in Markdown and in text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
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


class Styled(str):
    """A text whose words have formatting. Operations on it give plain strings, except those of this module."""

    runs: tuple[Run, ...]
    __slots__ = ("runs",)

    @classmethod
    def of(cls, runs: Iterable[Run]) -> str:
        """A text of some runs; a plain string if none of them has formatting."""
        known = [run for run in runs if run[0]]
        words = "".join([run[0] for run in known])
        if not is_formatted(known):
            return words
        made = cls(words)
        made.runs = tuple(known)
        return made


def is_formatted(runs: Iterable[Run]) -> bool:
    """Whether any of the runs has formatting."""
    for _, marks, url in runs:  # noqa: SIM110
        if marks or url:
            return True
    return False


def runs_of(words: str) -> tuple[Run, ...]:
    """The runs of a text."""
    return words.runs if isinstance(words, Styled) else (Run(words),)


def styled(words: str, runs: Sequence[Run]) -> str:
    """`words` with the formatting of `runs`, which have the same words with other spaces.

    A parser first makes the text that it shows: it joins runs, removes spaces and empty lines. This function puts the
    formatting onto the result. If the words differ, the result is plain.
    """
    if not is_formatted(runs):
        return words
    said = "".join([run[0] for run in runs])
    if said == words:
        return Styled.of(_tidied(runs))
    # Mostly only the spaces at the ends of a paragraph differ.
    if said.strip() == words:
        start = len(said) - len(said.lstrip())
        return Styled.of(_tidied(_cut(runs, start, start + len(words))))
    found = _matched(words, runs)
    return words if found is None else Styled.of(_tidied(found))


def _cut(runs: Iterable[Run], start: int, stop: int) -> list[Run]:
    """A part of the words of some runs. Empty runs remain."""
    found: list[Run] = []
    place = 0
    for text, marks, url in runs:
        found.append(Run(text[max(0, start - place) : max(0, stop - place)], marks, url))
        place += len(text)
    return found


def _matched(words: str, runs: Iterable[Run]) -> list[Run] | None:
    """`words`, divided as the runs are, which have other spaces; None if the words differ."""
    made: list[Run] = []
    place = 0
    for text, marks, url in runs:
        start = place
        if words.startswith(text, place):
            place += len(text)
        else:
            for found in _WORD.finditer(text):
                gap = _GAP.match(words, place)
                place = gap.end() if gap is not None else place
                if not words.startswith(found[0], place):
                    return None
                place += len(found[0])
        made.append(Run(words[start:place], marks, url))
    return [*made, Run(words[place:])]


def _tidied(runs: Iterable[Run]) -> list[Run]:
    """Runs without those that are empty; neighbours with the same formatting become one."""
    made: list[Run] = []
    for run in runs:
        text, marks, url = run
        if not text:
            continue
        if made:
            before, last_marks, last_url = made[-1]
            if last_marks == marks and last_url == url:
                made[-1] = Run(before + text, marks, url)
                continue
            # Programs divide formatted words into many runs, with the spaces in runs of their own.
            if len(made) > 1 and made[-2][1:] == (marks, url) and before.isspace() and "\n" not in before:
                made.pop()
                made[-1] = Run(made[-1][0] + before + text, marks, url)
                continue
        made.append(run)
    return made


def joined(parts: Iterable[str], between: str = "") -> str:
    """Texts joined to one, with their formatting."""
    known = list(parts)
    if len(known) == 1:
        return known[0]
    if Styled not in set(map(type, known)):
        return between.join(known)
    runs: list[Run] = []
    for number, part in enumerate(known):
        runs += (Run(between if number else ""), *runs_of(part))
    return Styled.of(_tidied(runs))


def piece(words: str, start: int, stop: int) -> str:
    """A part of a text, with its formatting."""
    return Styled.of(_cut(words.runs, start, stop)) if isinstance(words, Styled) else words[start:stop]


# ---------------------------------------------------------------------------------------------------------- all strings


Styles = dict[str, list[Any]]
"""The formatting of the styled texts of an element, by their positions among its texts. A page is stored with these.

A run is the number of its characters, or a list of that, its marks and its address."""


def styles_of(content: dict[str, Any]) -> Styles:
    """The formatting of all texts in the content of an element."""
    texts = _texts(content)
    # Most elements are plain texts, and sheets have plain tables with thousands of cells: both are told apart quickly.
    if Styled not in set(map(type, texts)):
        return {}
    return {str(place): list(map(_stored, one.runs)) for place, one in enumerate(texts) if isinstance(one, Styled)}


def _stored(run: Run) -> int | list[Any]:
    text, marks, url = run
    if url:
        return [len(text), marks, url]
    return [len(text), marks] if marks else len(text)


def restyled(content: dict[str, Any], styles: Styles, *, as_text: bool = False) -> dict[str, Any]:
    """A copy of the content with its formatting as Markdown, or as text with the addresses of links."""
    show = _text if as_text else _markdown
    texts = _texts(content)
    for place, runs in styles.items():
        texts[int(place)] = show(_runs(str(texts[int(place)]), runs))
    return _with_texts(content, texts)


def _runs(words: str, stored: list[int | list[Any]]) -> list[Run]:
    """The runs of a text, from what is stored about them."""
    made: list[Run] = []
    place = 0
    for one in stored:
        length, look = (int(one[0]), one[1:]) if isinstance(one, list) else (one, ())
        made.append(Run(words[place : place + length], *look))
        place += length
    return made


def _texts(content: dict[str, Any]) -> list[Any]:
    """The texts of a content in order: its text, the cells of a table, the items of a list."""
    texts: list[Any] = [content["text"]] if "text" in content else []
    if "rows" in content:
        texts += as_list(content.get("headers"))
        for row in as_list(content["rows"]):
            texts += row
    if "items" in content:
        texts += [holder[key] for holder, key in _item_places(content)]
    return texts


def _with_texts(content: dict[str, Any], texts: list[Any]) -> dict[str, Any]:
    """A copy of the content with other texts."""
    copy, left = dict(content), iter(texts)
    if "text" in copy:
        copy["text"] = next(left)
    if "rows" in copy:
        copy["headers"] = list(islice(left, len(as_list(copy.get("headers")))))
        copy["rows"] = [list(islice(left, len(row))) for row in as_list(copy["rows"])]
    if "items" in copy:
        _copy_items(copy)
        # All places first: a text that is replaced is not a place to go on from.
        for (holder, key), words in zip(list(_item_places(copy)), left, strict=True):
            holder[key] = words
    return copy


def _item_places(content: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Where the texts of a list are: holder and key. With a stack: files may nest lists to any depth."""
    stack: list[Iterator[tuple[list[Any], int]]] = [_places(content)]
    while stack:
        for items, number in stack[-1]:
            item = items[number]
            if not isinstance(item, dict):
                yield items, number
                continue
            inner = cast("dict[str, Any]", item)
            if "text" in inner:
                yield inner, "text"
            if inner.get("items"):
                stack.append(_places(inner))
                break
        else:
            stack.pop()


def _places(holder: dict[str, Any]) -> Iterator[tuple[list[Any], int]]:
    items = as_list(holder.get("items"))
    return ((items, number) for number in range(len(items)))


def _copy_items(content: dict[str, Any]) -> None:
    """Copy a list and the lists in it, in place."""
    stack = [content]
    while stack:
        holder = stack.pop()
        holder["items"] = items = as_list(holder["items"]).copy()
        for number, item in enumerate(items):
            if isinstance(item, dict):
                items[number] = copy = dict(cast("dict[str, Any]", item))
                stack += [copy] if "items" in copy else []


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
    start = len(words) - len(words.lstrip())
    before, after = words[:start], words[start + len(core) :]
    if CODE in marks:
        fence = "`" * (max((len(found) for found in _TICKS.findall(core)), default=0) + 1)
        core = f"{fence} {core} {fence}" if core.startswith("`") or core.endswith("`") else f"{fence}{core}{fence}"
    if stars := ("**" if BOLD in marks else "") + ("*" if ITALIC in marks else ""):
        # Emphasis ends with its line in Markdown that is inside a table or a list.
        core = "\n".join([f"{stars}{line}{stars}" if line.strip() else line for line in core.split("\n")])
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
    for character in words if "[" in words or "]" in words else "":
        depth += (character == "[") - (character == "]")
        if depth < 0:
            break
    return words if depth == 0 else words.replace("[", "\\[").replace("]", "\\]")
