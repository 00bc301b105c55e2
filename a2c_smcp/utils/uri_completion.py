"""Completes a partial `dpe://` address with the pages and elements that an MCP server suggests.

The chain is that of the protocol, doc_ref → page_index → element_id: each step sends the values chosen before. The
caller decides where to ask: a session on the Computer, or a Computer through the office.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.utils.dpe_uri import extend_dpe_uri, parse_dpe_uri

MAX_CHOICES = 100
MAX_PAGES = 32
"""Pages whose elements are requested one by one from a server that suggests none for the whole document."""

Suggest: TypeAlias = Callable[[str, str, str, dict[str, str]], Awaitable[Sequence[str]]]
"""`(template, argument, value, context)`: the values that the MCP server suggests."""

_LAST_STEP = re.compile(r"(?P<document>dpe://[^/?#]+/[^/?#]+)/(?P<kind>pages|elements)/(?P<start>[^/?#]*)")
_VARIABLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Inside:
    """A partial address of a page or an element."""

    document: str
    """The address of its document, as it was typed."""
    kind: str
    """"pages" or "elements"."""
    start: str


def inside(start: str) -> Inside | None:
    """The parts of a partial address; None if it is not that of a page or element."""
    found = _LAST_STEP.fullmatch(start)
    return Inside(found["document"], found["kind"], found["start"]) if found is not None else None


async def complete_inside(wanted: Inside, templates: Iterable[str], suggest: Suggest) -> list[str]:
    """The addresses of pages or elements with this beginning that the server of these templates suggests."""
    steps = _steps(wanted, tuple(templates))
    if wanted.kind not in steps:
        return []
    template, document, last = steps[wanted.kind]
    context = {document: parse_dpe_uri(wanted.document).doc_ref or ""} if document else {}
    values = list(await suggest(template, last, wanted.start, context))
    # In the protocol's chain, elements follow a page, and an address of an element names none. A server may therefore
    # suggest elements only for a page.
    if not values and wanted.kind == "elements" and "pages" in steps:
        values = await _by_page(wanted.start, steps["pages"], (template, last), context, suggest)
    found: list[str] = []
    for value in values:
        try:
            found.append(extend_dpe_uri(wanted.document, f"{wanted.kind}/{value}"))
        except InvalidDPEUriError:
            continue  # a value that no address can hold
    return beginning_with(f"{wanted.document}/{wanted.kind}/{wanted.start}", found)


def beginning_with(start: str, uris: Iterable[str]) -> list[str]:
    """The addresses with this beginning, each once, at most `MAX_CHOICES`."""
    return list(dict.fromkeys(uri for uri in uris if uri.startswith(start)))[:MAX_CHOICES]


_Step: TypeAlias = tuple[str, str, str]
"""A template, the name of its document's variable (or nothing), and that of its last variable."""


def _steps(wanted: Inside, templates: tuple[str, ...]) -> dict[str, _Step]:
    """The template for each kind, of the server that has the document's host."""
    host = parse_dpe_uri(wanted.document).host.lower()
    steps: dict[str, _Step] = {}
    for template in templates:
        for kind in ("pages", "elements"):
            before, _, last = template.partition(f"/{kind}/")
            names, final = _VARIABLE.findall(before), _VARIABLE.findall(last)
            if final and before.lower().startswith((f"dpe://{host}/", "dpe://{")):
                steps.setdefault(kind, (template, names[-1] if names else "", final[0]))
    return steps


async def _by_page(
    start: str, pages: _Step, elements: tuple[str, str], context: dict[str, str], suggest: Suggest
) -> list[str]:
    template, _, page = pages
    numbers = list(await suggest(template, page, "", context))[:MAX_PAGES]
    found = await asyncio.gather(
        *(suggest(elements[0], elements[1], start, {**context, page: number}) for number in numbers)
    )
    return [value for values in found for value in values]
