"""What a person calls a document or a window: by its address, by the address without its query, or by its title."""

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
"""Documents of each Computer among which a title is looked for, after those that match it."""
MOST_SUGGESTED = 5
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")


@dataclass(frozen=True)
class Resource:
    """Something that can be read: on which Computer, at which address, and what it may be called."""

    computer: str | None
    uri: str
    names: tuple[str, ...] = ()


async def locate(session: Session, computer: str | None, called: str) -> Resource | None:
    """What is called so; None, after a word about it, if nothing is, or more than one thing.

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
    if not found and _URI.match(called):  # `urn:…`; a title may look the same
        return Resource(computer, called)
    if found:
        complain(f"{called}: {len(found)} have this title; choose one by its address:")
    else:
        found = _near(wanted, known)
        hint = "; did you mean one of these?" if found else ""
        complain(
            f"{called}: nothing has this title; the title or the address of a document or window is expected{hint}"
        )
    for place in found[:MOST_SUGGESTED]:
        print(f"  {printable(place.uri)}  {printable(place.names[0])}", file=sys.stderr)
    return None


async def windows_at(session: Session, computer: str, address: str) -> list[str]:
    """The windows of a Computer at this address, or at this address with any query, as they are shown."""
    seconds = session.options.timeout
    shown = (await session.agent.get_desktop_from_computer(computer, window=address, timeout=seconds))["desktops"]
    if shown or "?" in address:
        return shown
    everything = (await session.agent.get_desktop_from_computer(computer, timeout=seconds))["desktops"]
    return [window for window in everything if window.partition("\n\n")[0].partition("?")[0] == address]


async def window_at(session: Session, computer: str | None, address: str) -> Resource | None:
    """The window whose address is this one and a query; None if there is none."""
    if not address.startswith("window://") or "?" in address:
        return None
    known = await _gathered(_windows(session, each, address) for each in session.chosen(computer))
    return next((place for place in known if place.uri.partition("?")[0] == address), None)


async def _places(session: Session, computer: str | None, called: str) -> list[Resource]:
    """All that can be read."""
    chosen = session.chosen(computer)
    found = await _gathered(look(session, each, called) for each in chosen for look in (_documents, _windows))
    return list({(place.computer, place.uri): place for place in found}.values())


async def _gathered(asked: Iterable[Awaitable[list[Resource]]]) -> list[Resource]:
    """What the Computers say, side by side; one that fails says nothing."""
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, SMCPError):
            raise outcome
    return [place for outcome in outcomes if not isinstance(outcome, BaseException) for place in outcome]


async def _documents(session: Session, computer: str, called: str) -> list[Resource]:
    pages = [
        await session.agent.get_finder(computer, keywords, limit=DOCUMENTS, timeout=session.options.timeout)
        for keywords in ([called], None)  # there may be more documents than are listed
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
    """A window has no title: it is called by the end of its address, or by its first line."""
    path = unquote(uri.partition("?")[0].rstrip("/"))
    heading = body.strip().partition("\n")[0].strip("# ")
    return Resource(computer, uri, tuple(filter(None, (heading, path.rpartition("/")[2]))))


def _near(wanted: str, known: Iterable[Resource]) -> list[Resource]:
    """What may have been meant: names that hold the words, else similar ones."""
    by_name = {name.casefold(): place for place in known for name in reversed(place.names)}
    holding = [name for name in by_name if wanted and wanted in name]
    names = holding or difflib.get_close_matches(wanted, by_name, MOST_SUGGESTED)
    return list(dict.fromkeys(by_name[name] for name in names))
