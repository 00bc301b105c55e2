"""What the owner of a Computer may look at and change, as operations of an API.

One `Owner` belongs to a Computer for its whole life. Each address that serves it has a `Site` of its own, because each
decides differently who its users are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
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
from a2c_smcp.console.owner.events import TOPICS, Publisher
from a2c_smcp.console.owner.inputs import Inputs
from a2c_smcp.console.web.access import Access
from a2c_smcp.console.web.operations import Kind, Link, Operation, Page
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.site import Site
from a2c_smcp.console.web.streams import EventStream, Feed
from a2c_smcp.errors import ConflictError, MalformedRequestError, NotFoundError

TITLE = "Computer"
API = "the owner's API"
"""Who decides, if a program does not say its name."""
SHOWN_CALLS = 100


class Owner:
    """The operations for one Computer, and its events."""

    def __init__(self, computer: Computer, log: CallLog) -> None:
        self.feed = Feed(dict.fromkeys(TOPICS))
        self._computer = computer
        self._log = log
        self._additions = Additions(computer)
        self._inputs = Inputs(computer)
        self._publisher = Publisher(computer, log, self.feed)
        server, tool = "/servers/{server}", "/tools/{server}/{tool}"
        self.operations: Sequence[Operation] = (
            Operation("GET", "/computer", self._show, "Show the Computer.", shapes.ComputerView),
            Operation("GET", "/servers", self._servers, "List the MCP servers.", shapes.Servers),
            Operation("POST", "/servers", self._add, "Add MCP servers.", shapes.Added, body=shapes.NewServers),
            Operation("GET", "/hosts", self._hosts, "List the other MCP hosts of this machine.", shapes.Hosts),
            Operation("GET", "/inputs", self._all_inputs, "List the inputs, without values.", shapes.InputList),
            Operation(
                "PUT",
                "/inputs/{id}",
                self._set_input,
                "Give an input its value, and start the MCP servers that use it again.",
                shapes.InputChange,
                body=shapes.InputBody,
            ),
            Operation("GET", server, self._server, "Show an MCP server and what it wrote.", shapes.ServerDetails),
            Operation("POST", f"{server}/restart", self._restart, "Restart an MCP server.", shapes.ServerView),
            Operation(
                "POST", f"{server}/enable", partial(self._switch, False), "Enable an MCP server.", shapes.ServerChange
            ),
            Operation(
                "POST", f"{server}/disable", partial(self._switch, True), "Disable an MCP server.", shapes.ServerChange
            ),
            Operation(
                "GET", "/tools", self._tools, "List the tools with their rules.", shapes.Tools, query=shapes.ToolFilter
            ),
            Operation("GET", tool, self._tool, "Show a tool with its rule.", shapes.ToolView),
            Operation(
                "PUT",
                f"{tool}/rule",
                self._set_rule,
                "Change the rule for a tool, also in the configuration file.",
                shapes.ToolChange,
                body=shapes.RuleBody,
            ),
            Operation("GET", "/approvals", self._approvals, "List the calls that wait for approval.", shapes.Approvals),
            Operation("GET", "/approvals/{id}", self._approval, "Show a call that needs approval.", ApprovalView),
            Operation(
                "POST",
                "/approvals/{id}",
                self._decide,
                "Decide about a call that waits.",
                shapes.Decided,
                body=shapes.DecisionBody,
            ),
            Operation("GET", "/calls", self._calls, "List the last calls.", shapes.Calls, query=shapes.CallFilter),
            Operation("GET", "/calls/{number}", self._call, "Show a call.", shapes.CallView),
            Operation("GET", "/windows", self._windows, "List the windows.", shapes.Windows),
            Operation(
                "GET",
                "/desktop",
                self._desktop,
                "Show the windows as an Agent sees them.",
                shapes.DesktopView,
                query=shapes.DesktopFilter,
            ),
            Operation(
                "GET",
                "/documents",
                self._documents,
                "Find documents.",
                shapes.Documents,
                query=shapes.DocumentFilter,
            ),
            Operation(
                "GET", "/resource", self._resource, "Read a resource.", shapes.Contents, query=shapes.ResourceFilter
            ),
            Operation(
                "GET",
                "/events",
                self._events,
                "Follow what happens.",
                query=shapes.EventFilter,
                is_stream=True,
                is_activity=False,
            ),
        )

    def site(self, access: Access, pages: Sequence[Page] = (), console_url: str | None = None) -> Site:
        """The API, and pages, for the users that `access` knows. `console_url` is the console of the Server, if it
        belongs to the owner as well: whoever is logged in there gets in here."""
        kind = Kind("owner", TITLE, self.operations, pages, self._computer.name)
        if console_url is not None:
            kind = replace(kind, links=(Link("Server", console_url),), login_url=f"{console_url}computer")
        return Site(kind, access)

    def close(self) -> None:
        """End all streams."""
        self._publisher.close()
        self.feed.aclose()

    # ---------------------------------------------------------------------------------------------------- MCP servers

    async def _show(self, asked: Asked) -> shapes.ComputerView:
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

    async def _servers(self, asked: Asked) -> shapes.Servers:
        return {"servers": [views.server(self._computer, status) for status in self._computer.status]}

    async def _hosts(self, asked: Asked) -> shapes.Hosts:
        return await self._additions.hosts()

    async def _add(self, asked: Asked) -> shapes.Added:
        return await self._additions.add(asked.body)

    async def _all_inputs(self, asked: Asked) -> shapes.InputList:
        return {"inputs": self._inputs.all()}

    async def _set_input(self, asked: Asked) -> shapes.InputChange:
        return await self._inputs.set(asked.path["id"], asked.body["value"])

    async def _server(self, asked: Asked) -> shapes.ServerDetails:
        return views.server_details(self._computer, views.status_of(self._computer, asked.path["server"]))

    async def _restart(self, asked: Asked) -> shapes.ServerView:
        name = asked.path["server"]
        await self._computer.mcp_manager.arestart_client(name)
        return views.server(self._computer, views.status_of(self._computer, name))

    async def _switch(self, disabled: bool, asked: Asked) -> shapes.ServerChange:
        name = asked.path["server"]
        saved = await self._computer.approvals.rules.switch(name, disabled=disabled)
        return {
            **views.change(saved),
            "server": views.server(self._computer, views.status_of(self._computer, name)),
        }

    # --------------------------------------------------------------------------------------------------------- tools

    async def _tools(self, asked: Asked) -> shapes.Tools:
        wanted = asked.query.get("server")
        rules = self._computer.approvals.rules.all()
        return {"tools": [views.tool(rule) for rule in rules if wanted in (None, rule.entry.server)]}

    async def _tool(self, asked: Asked) -> shapes.ToolView:
        return views.tool(self._computer.approvals.rules.of(asked.path["server"], asked.path["tool"]))

    async def _set_rule(self, asked: Asked) -> shapes.ToolChange:
        server, tool = asked.path["server"], asked.path["tool"]
        rules = self._computer.approvals.rules
        saved = await rules.set(server, tool, Rule(asked.body["rule"]))
        return {**views.change(saved), "tool": views.tool(rules.of(server, tool))}

    # ------------------------------------------------------------------------------------------------------ approvals

    async def _approvals(self, asked: Asked) -> shapes.Approvals:
        approvals = self._computer.approvals
        return {
            "waiting": [approval_view(each, in_list=True) for each in approvals.waiting],
            "ended": [approval_view(each, in_list=True) for each in reversed(approvals.ended)],
        }

    async def _approval(self, asked: Asked) -> ApprovalView:
        return self._view(self._computer.approvals.find(asked.path["id"]))

    async def _decide(self, asked: Asked) -> shapes.Decided:
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

    async def _calls(self, asked: Asked) -> shapes.Calls:
        query = asked.query
        return {"calls": list(self._log.last(query.get("most", SHOWN_CALLS), query.get("before")))}

    async def _call(self, asked: Asked) -> shapes.CallView:
        text = asked.path["number"]
        if not text.isdecimal() or len(text) > 18:
            raise MalformedRequestError("number: a number is expected")
        found = next(self._log.last(1, int(text) + 1), None)
        if found is None or found["number"] != int(text):
            raise NotFoundError(f"there is no call {text}, or it is too long ago")
        return found

    # ------------------------------------------------------------------------------------------- windows, documents

    async def _windows(self, asked: Asked) -> shapes.Windows:
        found = await self._computer.mcp_manager.list_windows()
        return {"windows": [{"uri": uri, "server": server} for server, uri in found]}

    async def _desktop(self, asked: Asked) -> shapes.DesktopView:
        found: list[Any] = await self._computer.get_desktop(asked.query.get("size"), asked.query.get("window"))
        return {"windows": found}

    async def _documents(self, asked: Asked) -> shapes.Documents:
        query = asked.query
        page, total = await self._computer.get_finder(
            query.get("keyword"), query.get("file_type"), query.get("offset", 0), query.get("limit", 20)
        )
        return {"documents": page, "total": total}

    async def _resource(self, asked: Asked) -> shapes.Contents:
        found: list[Any] = await self._computer.read_resource(asked.query["uri"], asked.query.get("server"))
        return {"contents": found}

    # --------------------------------------------------------------------------------------------------------- events

    async def _events(self, asked: Asked) -> EventStream:
        topics: list[str] = asked.query.get("topic") or list(TOPICS)
        last_id = asked.request.headers.get("last-event-id") or asked.query.get("last_event_id")
        stream = EventStream if not asked.query.get("attend") else partial(_Attending, self._computer)
        return stream(self.feed, topics, last_id, asked.holds)


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
