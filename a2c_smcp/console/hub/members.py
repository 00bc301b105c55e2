"""The offices and members of the Server, and an event for each that comes or goes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from a2c_smcp.console.hub.shapes import MemberInfo, Members, OfficeInfo, Offices
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.streams import Feed
from a2c_smcp.server.administration import Administration, SeatedMember

TOPIC = "members"
LOOK_SECONDS = 1.0
MOST_CHANGES = 100
"""Changes that are told one by one. After more of them, a page loads the list again."""
PAGE = 200


class MemberList:
    """Lists members and offices."""

    def __init__(self, administration: Administration) -> None:
        self._administration = administration

    async def members(self, asked: Asked) -> Members:
        """Some members, in the order of their offices and names."""
        query: dict[str, Any] = asked.query
        search = str(query.get("search", "")).lower()
        found = [
            info
            for info in map(described, self._administration.members())
            if query.get("office", info["office"]) == info["office"]
            and query.get("role", info["role"]) == info["role"]
            and _has(search, (info["name"], info["office"], info["principal"], info["address"]))
        ]
        found.sort(key=lambda info: (info["office"], info["role"], info["name"]))
        return {"members": _page(found, query), "total": len(found)}

    async def offices(self, asked: Asked) -> Offices:
        """Some offices, by name."""
        query: dict[str, Any] = asked.query
        search = str(query.get("search", "")).lower()
        found = [info for info in self.all_offices() if _has(search, (info["office"], info["agent"]))]
        return {"offices": _page(found, query), "total": len(found)}

    def all_offices(self) -> list[OfficeInfo]:
        """All offices, by name."""
        offices: dict[str, OfficeInfo] = {}
        for seated in self._administration.members():
            member = seated.member
            info = offices.setdefault(member.office, {"office": member.office, "agent": None, "computers": 0})
            if member.role == "agent":
                info["agent"] = member.name
            else:
                info["computers"] += 1
        return [offices[name] for name in sorted(offices)]


class MemberSource:
    """Looks at the members every second while somebody reads about them.

    It compares instead of hearing of each change: the Server then does nothing for the sake of pages that are closed.
    """

    def __init__(self, administration: Administration) -> None:
        self._administration = administration
        self.feed: Feed | None = None
        self._known: dict[str, SeatedMember] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """See `Source`."""
        self._known = self._read()
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def stop(self) -> None:
        """See `Source`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._known = {}

    def _look(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)
        now, before = self._read(), self._known
        self._known = now
        gone = [before[sid] for sid in before if sid not in now or now[sid].member != before[sid].member]
        come = [now[sid] for sid in now if sid not in before or now[sid].member != before[sid].member]
        if self.feed is None:
            return
        if len(gone) + len(come) > MOST_CHANGES:
            self.feed.publish(TOPIC, "members_changed", {})
            return
        for kind, changed in (("member_left", gone), ("member_joined", come)):
            for seated in changed:
                self.feed.publish(TOPIC, kind, described(seated))

    def _read(self) -> dict[str, SeatedMember]:
        return {seated.member.sid: seated for seated in self._administration.members()}


def described(seated: SeatedMember) -> MemberInfo:
    """A member, as the API shows it."""
    member, connection = seated.member, seated.connection
    return {
        "name": member.name,
        "role": member.role,
        "office": member.office,
        "dialect": member.dialect,
        "version": member.version,
        "is_ours": seated.is_ours,
        "is_local": seated.is_local,
        "address": connection.address if connection is not None else None,
        "principal": connection.grant.subject if connection is not None else None,
        "connected_since": connection.since if connection is not None else None,
    }


def _has(search: str, texts: Iterable[str | None]) -> bool:
    return not search or any(search in text.lower() for text in texts if text is not None)


def _page(found: Sequence[Any], query: dict[str, Any]) -> list[Any]:
    offset = int(query.get("offset", 0))
    return list(found[offset : offset + int(query.get("limit", PAGE))])
