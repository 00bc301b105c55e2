"""Markdown: headings, lists, tables, code, pictures, formulas. Sections under headings are pages."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

from markdown_it import MarkdownIt

from a2c_documents.inline import BOLD, CODE, ITALIC, Run, joined, piece, runs_of, styled
from a2c_documents.model import (
    Element,
    Facts,
    PagesSource,
    Source,
    UnreadableFileError,
    code,
    formula,
    heading,
    note,
    table,
)
from a2c_documents.paging import paginate
from a2c_documents.parsers.common.decoding import read_text
from a2c_documents.parsers.common.markup import Flow, Link, by_heading, title_of
from a2c_documents.parsers.common.pictures import picture_element
from a2c_documents.parsers.common.plain_text import paragraphs, split_lines
from a2c_documents.parsers.common.portions import in_portions
from a2c_documents.parsers.data.yaml import load_yaml
from a2c_documents.parsers.html.web_page import html_elements

MAX_MARKDOWN = 64_000_000
MAX_PARSED = 3_000_000
"""Characters that are parsed. A million takes some seconds."""
_FACES = {"strong_open": BOLD, "em_open": ITALIC}
_TASK = re.compile(r"\[([ xX])\]\s")
_BARE_LINK = re.compile(r"<?(https?://[^\s<>]+)>?")
_INLINE_IMAGE = re.compile(r"<img\b", re.IGNORECASE)
_INLINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def open_markdown(path: Path) -> Source:
    """A Markdown file.

    Raises:
        UnreadableFileError: it is empty, too large, or no text.
    """
    words, encoding = read_text(path, "Markdown file", MAX_MARKDOWN)
    words = words.replace("\r\n", "\n").replace("\r", "\n")
    said, skipped = split_front_matter(words)
    facts = facts_of(said)
    facts.details["encoding"] = encoding
    body = "\n".join(words.split("\n")[skipped:])
    if len(body) <= MAX_PARSED:
        elements = markdown_elements(body, first_line=skipped + 1, base=path.parent)
    else:
        remark = "This text is too long to be understood; but for its headings it is shown as it is written."
        elements = [note("annotation", remark), *paragraphs(split_lines(body), skipped + 1, "md")]
    facts.title = facts.title or title_of(elements)
    return PagesSource(facts, paginate(in_portions(by_heading(elements, facts.title))))


def markdown_elements(source: str, *, first_line: int = 1, base: Path | None = None) -> list[Element]:
    """The elements of a text; `first_line` is the number of its first line, `base` the folder of its pictures.

    Raises:
        UnreadableFileError: it is nested too deep.
    """
    try:
        return _Reader(first_line - 1, base).read(parser().parse(source))
    except RecursionError:
        raise UnreadableFileError("this Markdown is nested too deep") from None


class _Reader:
    """Turns tokens into elements, in one pass."""

    def __init__(self, line_offset: int, base: Path | None) -> None:
        self._offset = line_offset
        self._base = base
        self._flow = Flow()
        self._quotes = 0

    def read(self, tokens: list[Any]) -> list[Element]:
        """The elements."""
        following = iter(tokens)
        for token in following:
            self._take(token, following)
        self._flow.close()
        # markdown-it drops, without a notice, what is nested deeper than `maxNesting`.
        if any(token.level >= MAX_NESTING - 2 for token in tokens):
            self._flow.emit(note("annotation", "Some of this text is nested too deep and left out."))
        return self._flow.elements

    def _take(self, token: Any, following: Iterator[Any]) -> None:
        kind: str = token.type
        if kind == "heading_open":
            self._heading(token, next(following))
        elif kind == "inline":
            self._paragraph(token)
        elif kind in ("bullet_list_open", "ordered_list_open"):
            start = token.attrGet("start")
            self._flow.open_list(ordered=kind.startswith("ordered"), start=1 if start is None else int(start))
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._flow.close_list()
        elif kind == "list_item_open":
            self._flow.open_item()
        elif kind in ("blockquote_open", "blockquote_close"):
            self._quotes += 1 if kind == "blockquote_open" else -1
        elif kind in ("fence", "code_block"):
            self._emit(code(token.content.rstrip("\n"), _language(token.info)), token)
        elif kind == "table_open":
            self._table(token, following)
        elif kind == "formula":
            self._emit(formula(token.content), token)
        elif kind == "hr":
            self._emit(note("separator", ""), token)
        elif kind == "html_block":
            for element in html_elements(token.content):
                self._add_html(element, token)

    def _lines(self, token: Any) -> list[int] | None:
        return [token.map[0] + 1 + self._offset, token.map[1] + self._offset] if token.map else None

    def _emit(self, element: Element, token: Any) -> None:
        if lines := self._lines(token):
            element.metadata["lines"] = lines
        self._flow.emit(element)

    def _add_html(self, element: Element, token: Any) -> None:
        if element.category == "text":
            self._flow.paragraph(element.content["text"], element.metadata.get("links", []), self._lines(token))
            return
        if element.category == "image":
            element.picture = element.picture or self._picture(element.content["url"])
        self._emit(element, token)

    def _heading(self, opening: Any, inline: Any) -> None:
        words, _, images = self._inline(inline.children or [])
        level = int(opening.tag[1])
        if words:
            # A heading is bold by itself.
            runs = [Run(text, marks.replace(BOLD, ""), url) for text, marks, url in runs_of(words)]
            self._emit(heading(styled(words.replace("\n", " "), runs), level), opening)
        for image in images:
            self._emit(image, opening)

    def _paragraph(self, token: Any) -> None:
        words, links, images = self._inline(token.children or [])
        # Task lists are an extension of GitHub, which the parser leaves as text.
        if self._flow.in_list and (task := _TASK.match(words)):
            words = joined((f"[{task[1].lower()}] ", piece(words, task.end(), len(words))))
        # CommonMark does not recognize addresses without markup.
        if (bare := _BARE_LINK.fullmatch(words)) and not links:
            words, links = bare[1], [{"text": bare[1], "url": bare[1]}]
        self._flow.paragraph(words, links, self._lines(token), **({"quote": True} if self._quotes else {}))
        for image in images:
            self._emit(image, token)

    def _table(self, opening: Any, following: Iterator[Any]) -> None:
        rows: list[list[str]] = []
        all_links: list[Link] = []
        all_images: list[Element] = []
        for token in following:
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                words, links, images = self._inline(token.children or [])
                # A cell holds only text. Its pictures follow the table.
                rows[-1].append(words or " ".join(image.content["alt"] for image in images))
                all_links += links
                all_images += images
        shown = table(rows[0] if rows else [], rows[1:], **({"links": all_links[:200]} if all_links else {}))
        self._emit(shown, opening)
        for image in all_images:
            self._emit(image, opening)

    def _inline(self, tokens: list[Any]) -> tuple[str, list[Link], list[Element]]:
        """The words of a paragraph, its links and its pictures."""
        # Most cells and many paragraphs are one piece of text.
        if len(tokens) == 1 and tokens[0].type == "text" and "\n" not in tokens[0].content:
            return tokens[0].content.strip(), [], []
        runs: list[Run] = []
        links: list[Link] = []
        images: list[Element] = []
        url, start, faces = "", 0, ""
        for token in tokens:
            kind = token.type
            if kind == "text":
                runs.append(Run(token.content, faces, url))
            elif kind == "code_inline":
                runs.append(Run(token.content, faces + CODE, url))
            elif kind in _FACES:
                faces += _FACES[kind]
            elif kind in ("strong_close", "em_close"):
                faces = faces[:-1]
            elif kind == "softbreak":
                runs.append(Run(" ", faces, url))
            elif kind == "hardbreak" or (kind == "html_inline" and _INLINE_BREAK.match(token.content)):
                runs.append(Run("\n", faces, url))
            elif kind == "link_open":
                url, start = str(token.attrGet("href") or ""), len(runs)
            elif kind == "link_close":
                if label := "".join([run[0] for run in runs[start:]]).strip():
                    links.append({"text": label, "url": url})
                url = ""
            elif kind == "image":
                images.append(self._image(token, url))
            # Other inline HTML is formatting: the words between the tags are tokens of their own.
            elif kind == "html_inline" and _INLINE_IMAGE.match(token.content):
                images += [self._linked(element, url) for element in html_elements(token.content)]
        words = "".join([run[0] for run in runs]).strip()
        if "\n" in words:
            words = "\n".join([line.strip() for line in words.split("\n")])
        return styled(words, runs), links, images

    def _image(self, token: Any, url: str) -> Element:
        alt = "".join(str(child.content or " ") for child in cast("list[Any]", token.children or [])).strip()
        return self._linked(
            picture_element(str(token.attrGet("src") or ""), alt, str(token.attrGet("title") or "")), url
        )

    def _linked(self, element: Element, url: str) -> Element:
        if url:
            element.metadata["link"] = url
        element.picture = element.picture or self._picture(str(element.content.get("url", "")))
        return element

    def _picture(self, src: str) -> Any:
        return picture_element(src, "", base=self._base).picture if self._base is not None and src else None


def _language(info: str) -> str:
    """`python`, from "python title=x", "{.python}" or "{python}"."""
    first = (info.strip().split() or [""])[0]
    return first.strip("{}").lstrip(".").split(",")[0].lower()


# --------------------------------------------------------------------------------------------------------- front matter


MAX_FRONT_MATTER = 65_536
_ENDS = {"---": ("---", "..."), "+++": ("+++",)}


def split_front_matter(words: str) -> tuple[dict[str, Any], int]:
    """The front matter and the number of its lines; empty if it is invalid."""
    fence = words[:3]
    # A fence is alone on its line.
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
    # Text between two horizontal rules is not front matter.
    if documents and isinstance(documents[0], dict):
        return cast("dict[str, Any]", documents[0]), end + 1
    # A block without any keys is front matter, too, and is skipped.
    return {}, 0 if documents else end + 1


def facts_of(said: dict[str, Any]) -> Facts:
    """Facts from the usual keys. Other keys become details."""
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


# --------------------------------------------------------------------------------------------------------------- syntax


MAX_NESTING = 60
_CLOSING = {"$$": "$$", "\\[": "\\]"}


@cache
def parser() -> Any:
    """The shared parser, which keeps no state between texts."""
    found = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    found.enable(["table", "strikethrough"])
    # Before all other rules: the inside of a formula is neither a list nor emphasis.
    # `alt` names the blocks that a formula may interrupt without an empty line.
    found.block.ruler.before(
        "fence", "formula", _formula_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    found.inline.ruler.before("escape", "formula", _formula_inline)
    return found


def _formula_block(state: Any, first: int, last: int, silent: bool) -> bool:
    """`$$ … $$` on lines of its own."""
    start = state.bMarks[first] + state.tShift[first]
    # This rule runs for every line of a text.
    closing = _CLOSING.get(state.src[start : start + 2])
    if closing is None or state.is_code_block(first):
        return False
    words = _line(state, first)
    lines = [words[2:]]
    line = first
    while not lines[-1].endswith(closing):
        line += 1
        # The text, or the list item around the formula, ends before the formula does.
        if line >= last or state.sCount[line] < state.blkIndent:
            return False
        lines.append(_line(state, line))
    lines[-1] = lines[-1][:-2]
    expression = "\n".join(lines).strip()
    if not expression or closing in expression:
        return False
    if silent:  # the parser only asks whether a formula begins here
        return True
    state.line = line + 1
    token = state.push("formula", "", 0)
    token.content = expression
    token.map = [first, state.line]
    return True


def _formula_inline(state: Any, silent: bool) -> bool:
    """`$a_1$` is kept as it is written. A space next to a dollar sign, or a digit after it, shows a price."""
    source, start = state.src, state.pos
    if source[start] != "$":
        return False
    mark = "$$" if source.startswith("$$", start) else "$"
    begin = start + len(mark)
    # The search is bounded: a text with many single dollar signs would be searched to its end at each of them.
    end = source.find(mark, begin, min(state.posMax, begin + 1_000))
    if end <= begin or source[begin].isspace() or source[end - 1].isspace() or "\n\n" in source[begin:end]:
        return False
    after = end + len(mark)
    if mark == "$" and source[after : after + 1].isdigit():
        return False
    if not silent:
        token = state.push("text", "", 0)
        token.content = source[start:after]
    state.pos = after
    return True


def _line(state: Any, number: int) -> str:
    return str(state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]).strip()
