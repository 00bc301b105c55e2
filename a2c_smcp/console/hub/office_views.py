"""What an office offers, as a person looks at it: tools, windows and documents, and when they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

from a2c_smcp.agent.client import AsyncSMCPAgentClient
from a2c_smcp.agent.types import Change
from a2c_smcp.console.hub.offers import OfficeRooms
from a2c_smcp.console.hub.office_shapes import Desktop, DocumentPage, Documents, OfficeTools, ToolDetail, ToolRow
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.streams import EventStream, Feed
from a2c_smcp.errors import SMCPError, ToolNotFoundError
from a2c_smcp.gateway.described import Described
from a2c_smcp.gateway.office import Office

MOST_TOOLS = 20_000
LONGEST_DESCRIPTION = 300
"""Characters of a description in the list of tools."""
READ_SECONDS = 30
TOPIC = "changes"


class OfficeViews:
    """Reads an office through the Agent's seat, which it shares with MCP hosts."""

    def __init__(self, rooms: OfficeRooms) -> None:
        self._rooms = rooms
        self._followed: dict[str, _Follower] = {}

    async def tools(self, asked: Asked) -> OfficeTools:
        """All tools of all Computers, without their schemas."""
        async with self._agent(asked) as (office, agent):
            offered = await _described(office, agent)
        rows = [_row(computer, each) for computer in sorted(offered) for each in offered[computer]]
        return {"office": office.id, "computers": sorted(agent.computers), "tools": rows[:MOST_TOOLS]}

    async def tool(self, asked: Asked) -> ToolDetail:
        """One tool with its schemas.

        Raises:
            ToolNotFoundError: the Computer does not have it.
        """
        computer, name = asked.path["computer"], asked.path["tool"]
        async with self._agent(asked) as (office, agent):
            offered = await _described(office, agent)
        found = next((each for each in offered.get(computer, ()) if each.name == name), None)
        if found is None:
            raise ToolNotFoundError(f"{computer!r} has no tool {name!r}")
        listed = found.listed
        return {
            "computer": computer,
            "name": found.name,
            "title": _title(found),
            "description": str(listed.get("description") or ""),
            "mcp_server": found.server,
            "tags": sorted(found.tags),
            "annotations": _annotations(found),
            "input_schema": listed["inputSchema"],
            "output_schema": listed.get("outputSchema"),
        }

    async def desktop(self, asked: Asked) -> Desktop:
        """The windows of a Computer."""
        computer: str = asked.query["computer"]
        async with self._agent(asked) as (_, agent):
            found = await agent.get_desktop_from_computer(computer, size=asked.query.get("size"), timeout=READ_SECONDS)
        windows = [window.partition("\n\n") for window in found["desktops"]]
        return {"computer": computer, "windows": [{"uri": uri, "text": text} for uri, _, text in windows]}

    async def documents(self, asked: Asked) -> Documents:
        """Some documents of a Computer."""
        query: dict[str, Any] = asked.query
        async with self._agent(asked) as (_, agent):
            found = await agent.get_finder(
                query["computer"],
                query.get("keywords"),
                query.get("file_type") or None,
                query.get("offset", 0),
                query.get("limit", 20),
                timeout=READ_SECONDS,
            )
        return {"documents": [dict(each) for each in found["documents"]], "total": found["total_count"]}

    async def pages(self, asked: Asked) -> dict[str, Any]:
        """The metadata of a document, with some of its pages."""
        query: dict[str, Any] = asked.query
        async with self._agent(asked) as (_, agent):
            return await agent.read_document_pages(
                query["computer"], query["uri"], query.get("offset", 0), query.get("limit", 20), READ_SECONDS
            )

    async def page(self, asked: Asked) -> DocumentPage:
        """A page: its elements, and the same as Markdown."""
        query: dict[str, Any] = asked.query
        where = query["computer"], query["uri"], query.get("page", 0)
        async with self._agent(asked) as (_, agent):
            page, written = await asyncio.gather(
                agent.read_page(*where, timeout=READ_SECONDS),
                agent.read_page(*where, format="markdown", timeout=READ_SECONDS),
            )
        return {"page": page, "markdown": str(written.get("content_markdown") or "")}

    async def changes(self, asked: Asked) -> EventStream:
        """The changes of an office, for as long as somebody reads them. They keep the seat taken."""
        office = await self._rooms.office(asked, asked.path["office"])
        follower = self._followed.get(office.id)
        if follower is None or follower.office is not office:
            follower = self._followed[office.id] = _Follower(office, self._forget)
        last_id = asked.request.headers.get("last-event-id") or asked.query.get("last_event_id")
        return EventStream(follower.feed, (TOPIC,), last_id, asked.holds)

    def close(self) -> None:
        """End the streams: the Server shuts down."""
        for follower in list(self._followed.values()):
            follower.feed.aclose()

    def _forget(self, follower: _Follower) -> None:
        if self._followed.get(follower.office.id) is follower:
            del self._followed[follower.office.id]

    @asynccontextmanager
    async def _agent(self, asked: Asked) -> AsyncGenerator[tuple[Office, AsyncSMCPAgentClient]]:
        office = await self._rooms.office(asked, asked.path["office"])
        async with office.seat.used():
            yield office, await office.agent()


class _Follower:
    """Publishes the changes of an office while somebody reads them."""

    def __init__(self, office: Office, forget: Any) -> None:
        self.office = office
        self.feed = Feed({TOPIC: self})
        self._forget = forget
        self._sitting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """See `Source`."""
        self.office.hear(self)
        self._sitting = asyncio.create_task(self._sit(), name=f"console: changes of {self.office.id}")

    def stop(self) -> None:
        """See `Source`."""
        if self._sitting is not None:
            self._sitting.cancel()
            self._sitting = None
        self._forget(self)

    def on_changes(self, changes: list[Change]) -> None:
        """See `Listener`."""
        seen: set[tuple[str, str | None]] = set()
        for change in changes:
            # One for each kind and Computer: a page reads it again, whatever changed.
            if (change.kind, change.computer) not in seen:
                seen.add((change.kind, change.computer))
                self.feed.publish(TOPIC, "change", {"kind": change.kind, "computer": change.computer})

    async def _sit(self) -> None:
        async with self.office.seat.used():
            try:
                await self.office.agent()
            except SMCPError as error:
                # The office tries again by itself while the seat is used, and reports when it has it.
                self.feed.publish(TOPIC, "problem", {"code": error.code, "message": error.message})
            await asyncio.Event().wait()  # until this task is cancelled


async def _described(office: Office, agent: AsyncSMCPAgentClient) -> dict[str, list[Described]]:
    async with office.building:
        found = await asyncio.to_thread(office.describe, dict(agent.tools))
    return {computer: list(tools) for computer, tools in found.items()}


def _row(computer: str, tool: Described) -> ToolRow:
    description = str(tool.listed.get("description") or "")
    return {
        "computer": computer,
        "name": tool.name,
        "title": _title(tool),
        "description": description[:LONGEST_DESCRIPTION],
        "mcp_server": tool.server,
        "tags": sorted(tool.tags),
        "is_read_only": tool.is_read_only,
        "is_destructive": not tool.is_read_only and _annotations(tool).get("destructiveHint") is True,
    }


def _annotations(tool: Described) -> dict[str, Any]:
    found: Any = tool.listed.get("annotations")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _title(tool: Described) -> str:
    title = tool.listed.get("title") or _annotations(tool).get("title")
    return title if isinstance(title, str) else ""
