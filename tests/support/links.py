"""Links and anchors of a page, as a git host reads them; the site has its own check."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

_READER = MarkdownIt("commonmark").enable("table")
_ADDRESS = re.compile(r"""<(?:img|source|a)\b[^>]*?\b(?:src|srcset|href)="([^"]+)""")
_PLACE = re.compile(r"""<\w+\b[^>]*?\bid="([^"]+)""")


def links_of(path: Path) -> Iterator[str]:
    """The targets of the links and pictures of a page, except addresses of other hosts."""
    for token in _tokens(path):
        named = [token.attrGet("href"), token.attrGet("src")]
        if token.type.startswith("html"):
            named += _ADDRESS.findall(token.content)
        yield from (str(target) for target in named if target and not urlsplit(str(target)).scheme)


def is_dead(target: str, path: Path) -> bool:
    """Whether a link of a page leads nowhere."""
    place, _, anchor = target.partition("#")
    file = path.parent / unquote(place) if place else path
    return not file.exists() or (bool(anchor) and unquote(anchor) not in anchors_of(file))


@functools.cache
def anchors_of(path: Path) -> frozenset[str]:
    """The anchors of a page: its headings, and the ids in its HTML."""
    found: set[str] = set()
    for heading in _headings(path):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = 0
        while (name := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(name)
    in_html = "".join(token.content for token in _tokens(path) if token.type.startswith("html"))
    return frozenset(found) | set(_PLACE.findall(in_html))


def _headings(path: Path) -> Iterator[str]:
    tokens = _READER.parse(path.read_text("utf-8"))
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            yield "".join(part.content for part in inline.children or [] if part.type in ("text", "code_inline"))


def _tokens(path: Path) -> Iterator[Token]:
    for token in _READER.parse(path.read_text("utf-8")):
        yield from (token, *(token.children or ()))
