"""What the owner of a Computer may look at and change: an answer to each request of the API."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from starlette.types import Receive, Scope, Send

from a2c_smcp import __version__
from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.offer.approval_request import ApprovalRequest, Decision, Outcome, Verdict
from a2c_smcp.computer.offer.approval_view import ApprovalView, approval_view
from a2c_smcp.computer.offer.rules import Rule
from a2c_smcp.console.owner import shapes, views
from a2c_smcp.console.owner.additions import Additions
from a2c_smcp.console.owner.call_log import CallLog
from a2c_smcp.console.owner.events import TOPICS
from a2c_smcp.console.owner.inputs import Inputs
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.streams import EventStream, Feed
from a2c_smcp.errors import ConflictError, MalformedRequestError, NotFoundError

API = "the owner's API"
"""Who decides, if a program does not say its name."""
SHOWN_CALLS = 100


class Answers:
    """Answers the requests for one Computer."""

    def __init__(self, computer: Computer, log: CallLog, feed: Feed) -> None:
        self._computer = computer
        self._log = log
        self._feed = feed
        self._additions = Additions(computer)
        self._inputs = Inputs(computer)

    # ---------------------------------------------------------------------------------------------------- MCP servers

    async def show(self, asked: Asked) -> shapes.ComputerView:
        """The Computer."""
        computer = self._computer
        client = computer.socketio_client
        approvals = computer.approvals
        return {
            "name": computer.name,
            "office": client.office_id if client is not None else None,
            "pid": os.getpid(),
            "version": __version__,
            "servers": len(computer.mcp_servers),
            "tools": len(computer.mcp_manager.book.entries),
            "approvals": len(approvals.waiting),
            "calls_wait": approvals.can_ask,
            "allows_all": approvals.allow_all,
        }

    async def servers(self, asked: Asked) -> shapes.Servers:
        """The MCP servers."""
        return {"servers": [views.server(self._computer, status) for status in self._computer.status]}

    async def hosts(self, asked: Asked) -> shapes.Hosts:
        """Other MCP hosts, and what they have."""
        return await self._additions.hosts()

    async def add(self, asked: Asked) -> shapes.Added:
        """Add MCP servers."""
        return await self._additions.add(asked.body)

    async def inputs(self, asked: Asked) -> shapes.InputList:
        """The inputs, without values."""
        return {"inputs": self._inputs.all()}

    async def set_input(self, asked: Asked) -> shapes.InputChange:
        """Give an input its value."""
        return await self._inputs.set(asked.path["id"], asked.body["value"])

    async def server(self, asked: Asked) -> shapes.ServerDetails:
        """One MCP server, and what it wrote."""
        return views.server_details(self._computer, views.status_of(self._computer, asked.path["server"]))

    async def restart(self, asked: Asked) -> shapes.ServerView:
        """Restart an MCP server."""
        name = asked.path["server"]
        await self._computer.mcp_manager.arestart_client(name)
        return views.server(self._computer, views.status_of(self._computer, name))

    async def enable(self, asked: Asked) -> shapes.ServerChange:
        """Enable an MCP server."""
        return await self._switch(asked, disabled=False)

    async def disable(self, asked: Asked) -> shapes.ServerChange:
        """Disable an MCP server."""
        return await self._switch(asked, disabled=True)

    async def _switch(self, asked: Asked, *, disabled: bool) -> shapes.ServerChange:
        name = asked.path["server"]
        saved = await self._computer.approvals.rules.switch(name, disabled=disabled)
        return {
            **views.change(saved),
            "server": views.server(self._computer, views.status_of(self._computer, name)),
        }

    # --------------------------------------------------------------------------------------------------------- tools

    async def tools(self, asked: Asked) -> shapes.Tools:
        """The tools with their rules."""
        wanted = asked.query.get("server")
        rules = self._computer.approvals.rules.all()
        return {"tools": [views.tool(rule) for rule in rules if wanted in (None, rule.entry.server)]}

    async def tool(self, asked: Asked) -> shapes.ToolView:
        """One tool."""
        return views.tool(self._computer.approvals.rules.of(asked.path["server"], asked.path["tool"]))

    async def set_rule(self, asked: Asked) -> shapes.ToolChange:
        """Change the rule for a tool."""
        server, tool = asked.path["server"], asked.path["tool"]
        rules = self._computer.approvals.rules
        saved = await rules.set(server, tool, Rule(asked.body["rule"]))
        return {**views.change(saved), "tool": views.tool(rules.of(server, tool))}

    # ------------------------------------------------------------------------------------------------------ approvals

    async def approvals(self, asked: Asked) -> shapes.Approvals:
        """The calls that wait, and those that were decided."""
        approvals = self._computer.approvals
        return {
            "waiting": [approval_view(each, in_list=True) for each in approvals.waiting],
            "ended": [approval_view(each, in_list=True) for each in reversed(approvals.ended)],
        }

    async def approval(self, asked: Asked) -> ApprovalView:
        """One call that needs approval."""
        return self._view(self._computer.approvals.find(asked.path["id"]))

    async def decide(self, asked: Asked) -> shapes.Decided:
        """Decide about a call."""
        approvals, body = self._computer.approvals, asked.body
        request = approvals.find(asked.path["id"])
        decision = Decision(body["decision"])
        verdict = Verdict(decision, body.get("by", API), body.get("reason") if decision is Decision.DENY else None)
        if not approvals.decide(request.id, verdict, body.get("digest")):
            raise ConflictError(_too_late(request), details={"outcome": _outcome(request)})
        saved = await approvals.saved(request)
        return {**views.change(saved), "approval": self._view(request)}

    def _view(self, request: ApprovalRequest) -> ApprovalView:
        return approval_view(request, last_arguments=self._computer.approvals.last_arguments(request.entry))

    # ---------------------------------------------------------------------------------------------------------- calls

    async def calls(self, asked: Asked) -> shapes.Calls:
        """The last calls."""
        query = asked.query
        return {"calls": list(self._log.last(query.get("most", SHOWN_CALLS), query.get("before")))}

    async def call(self, asked: Asked) -> shapes.CallView:
        """One call."""
        text = asked.path["number"]
        if not text.isdecimal() or len(text) > 18:
            raise MalformedRequestError("number: a number is expected")
        found = next(self._log.last(1, int(text) + 1), None)
        if found is None or found["number"] != int(text):
            raise NotFoundError(f"there is no call {text}, or it is too long ago")
        return found

    # ------------------------------------------------------------------------------------------- windows, documents

    async def windows(self, asked: Asked) -> shapes.Windows:
        """The windows."""
        found = await self._computer.mcp_manager.list_windows()
        return {"windows": [{"uri": uri, "server": server} for server, uri in found]}

    async def desktop(self, asked: Asked) -> shapes.DesktopView:
        """The windows as an Agent sees them."""
        found: list[Any] = await self._computer.get_desktop(asked.query.get("size"), asked.query.get("window"))
        return {"windows": found}

    async def documents(self, asked: Asked) -> shapes.Documents:
        """Documents that match."""
        query = asked.query
        page, total = await self._computer.get_finder(
            query.get("keyword"), query.get("file_type"), query.get("offset", 0), query.get("limit", 20)
        )
        return {"documents": page, "total": total}

    async def resource(self, asked: Asked) -> shapes.Contents:
        """A resource."""
        found: list[Any] = await self._computer.read_resource(asked.query["uri"], asked.query.get("server"))
        return {"contents": found}

    # --------------------------------------------------------------------------------------------------------- events

    async def events(self, asked: Asked) -> EventStream:
        """What happens from now on."""
        topics: list[str] = asked.query.get("topic") or list(TOPICS)
        last_id = asked.request.headers.get("last-event-id") or asked.query.get("last_event_id")
        stream = EventStream if not asked.query.get("attend") else partial(_Attending, self._computer)
        return stream(self._feed, topics, last_id, asked.holds)


class _Attending(EventStream):
    """A stream whose reader decides about calls."""

    def __init__(self, computer: Computer, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._approvals = computer.approvals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._approvals.attended():
            await super().__call__(scope, receive, send)


def _outcome(request: ApprovalRequest) -> str:
    verdict = request.verdict
    if request.outcome is Outcome.WAITING and verdict is not None:  # decided just now
        return (Outcome.ALLOWED if verdict.decision.allows else Outcome.DENIED).value
    return request.outcome.value


def _too_late(request: ApprovalRequest) -> str:
    match _outcome(request), request.verdict:
        case ("allowed" | "denied") as outcome, Verdict(by=by):
            return f"too late: {by} {outcome} the call"
        case "withdrawn", _:
            return "too late: the call was cancelled, or its tool changed"
        case _:
            return "too late: the call timed out"
