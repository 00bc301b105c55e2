"""Finds documents and windows by their address, by the address without its query, or by their title."""

from __future__ import annotations

import asyncio
import difflib
import re
import sys
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from a2c_smcp.cli.agent.session import Session, complain
from a2c_smcp.errors import SMCPError
from a2c_smcp.utils.text import printable

DOCUMENTS = 100
"""Documents of each Computer that are compared with a title, in addition to those that match it as a keyword."""
MOST_SUGGESTED = 5
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")


@dataclass(frozen=True)
class Resource:
    """A document or window: its Computer, its address, and the names by which a person may call it."""

    computer: str | None
    uri: str
    names: tuple[str, ...] = ()


async def locate(session: Session, computer: str | None, called: str) -> Resource | None:
    """The resource with this address or name; None, after an error message, if there is none or more than one.

    Raises:
        NotFoundError: there is no such Computer.
    """
    if "://" in called:
        return Resource(computer, called)
    known = await _places(session, computer, called)
    wanted = called.casefold()
    found = [place for place in known if wanted in map(str.casefold, place.names)]
    if len(found) == 1:
        return found[0]
    # An address without `://`, such as `urn:…`. A title such as `Re: minutes` may look the same, so titles come first.
    if not found and _URI.match(called):
        return Resource(computer, called)
    if found:
        complain(f"{called}: {len(found)} resources have this title; choose one by its address:")
    else:
        found = _near(wanted, known)
        hint = "; did you mean one of these?" if found else ""
        complain(f"{called}: nothing has this title; give the title or address of a document or window{hint}")
    for place in found[:MOST_SUGGESTED]:
        print(f"  {printable(place.uri)}  {printable(place.names[0])}", file=sys.stderr)
    return None


async def windows_at(session: Session, computer: str, address: str) -> list[str]:
    """The windows of a Computer at this address, or at this address with any query, in the Desktop's format."""
    # The query of a window has its priority and other properties, which a person does not know by heart.
    seconds = session.options.timeout
    shown = (await session.agent.get_desktop_from_computer(computer, window=address, timeout=seconds))["desktops"]
    if shown or "?" in address:
        return shown
    everything = (await session.agent.get_desktop_from_computer(computer, timeout=seconds))["desktops"]
    return [window for window in everything if window.partition("\n\n")[0].partition("?")[0] == address]


async def window_at(session: Session, computer: str | None, address: str) -> Resource | None:
    """The window whose address is this one with a query; None if there is none."""
    if not address.startswith("window://") or "?" in address:
        return None
    known = await _gathered(_windows(session, each, address) for each in session.chosen(computer))
    return next((place for place in known if place.uri.partition("?")[0] == address), None)


async def _places(session: Session, computer: str | None, called: str) -> list[Resource]:
    """The documents and windows of the Computers."""
    chosen = session.chosen(computer)
    found = await _gathered(look(session, each, called) for each in chosen for look in (_documents, _windows))
    return list({(place.computer, place.uri): place for place in found}.values())


async def _gathered(asked: Iterable[Awaitable[list[Resource]]]) -> list[Resource]:
    """The answers of all Computers, requested concurrently. A Computer that answers with an error is left out."""
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, SMCPError):
            raise outcome
    return [place for outcome in outcomes if not isinstance(outcome, BaseException) for place in outcome]


async def _documents(session: Session, computer: str, called: str) -> list[Resource]:
    pages = [
        await session.agent.get_finder(computer, keywords, limit=DOCUMENTS, timeout=session.options.timeout)
        # The title as a keyword finds it among any number of documents. The list without keywords is for names that the
        # keyword does not match, and for suggestions.
        for keywords in ([called], None)
    ]
    return [
        Resource(computer, entry["uri"], (entry["title"], unquote(entry["file_uri"].rpartition("/")[2])))
        for page in pages
        for entry in page["documents"]
    ]


async def _windows(session: Session, computer: str, called: str) -> list[Resource]:
    answer = await session.agent.get_desktop_from_computer(computer, timeout=session.options.timeout)
    return [_window(computer, *shown.partition("\n\n")[::2]) for shown in answer["desktops"]]


def _window(computer: str, uri: str, body: str) -> Resource:
    """A window. It has no title, so its names are its first line and the last part of its address."""
    path = unquote(uri.partition("?")[0].rstrip("/"))
    heading = body.strip().partition("\n")[0].strip("# ")
    return Resource(computer, uri, tuple(filter(None, (heading, path.rpartition("/")[2]))))


def _near(wanted: str, known: Iterable[Resource]) -> list[Resource]:
    """Resources with a name that contains the words; if there are none, those with a similar name."""
    by_name = {name.casefold(): place for place in known for name in reversed(place.names)}
    holding = [name for name in by_name if wanted and wanted in name]
    names = holding or difflib.get_close_matches(wanted, by_name, MOST_SUGGESTED)
    return list(dict.fromkeys(by_name[name] for name in names))
