"""The operations of the API of a Computer, for its owner."""

from __future__ import annotations

from collections.abc import Sequence

from a2c_smcp.computer.offer.approval_view import ApprovalView
from a2c_smcp.console.owner import shapes
from a2c_smcp.console.owner.answers import Answers
from a2c_smcp.console.web.operations import Operation

SERVER = "/servers/{server}"
TOOL = "/tools/{server}/{tool}"


def owner_operations(answers: Answers) -> Sequence[Operation]:
    """All of them."""
    return (*_of_servers(answers), *_of_tools(answers), *_of_calls(answers), *_of_contents(answers))


def _of_servers(answers: Answers) -> Sequence[Operation]:
    return (
        Operation("GET", "/computer", answers.show, "Show the Computer.", shapes.ComputerView),
        Operation("GET", "/servers", answers.servers, "List the MCP servers.", shapes.Servers),
        Operation("POST", "/servers", answers.add, "Add MCP servers.", shapes.Added, body=shapes.NewServers),
        Operation("GET", "/hosts", answers.hosts, "List the other MCP hosts of this machine.", shapes.Hosts),
        Operation("GET", "/inputs", answers.inputs, "List the inputs, without values.", shapes.InputList),
        Operation(
            "PUT",
            "/inputs/{id}",
            answers.set_input,
            "Give an input its value, and start the MCP servers that use it again.",
            shapes.InputChange,
            body=shapes.InputBody,
        ),
        Operation("GET", SERVER, answers.server, "Show an MCP server and what it wrote.", shapes.ServerDetails),
        Operation("POST", f"{SERVER}/restart", answers.restart, "Restart an MCP server.", shapes.ServerView),
        Operation("POST", f"{SERVER}/enable", answers.enable, "Enable an MCP server.", shapes.ServerChange),
        Operation("POST", f"{SERVER}/disable", answers.disable, "Disable an MCP server.", shapes.ServerChange),
    )


def _of_tools(answers: Answers) -> Sequence[Operation]:
    return (
        Operation(
            "GET", "/tools", answers.tools, "List the tools with their rules.", shapes.Tools, query=shapes.ToolFilter
        ),
        Operation("GET", TOOL, answers.tool, "Show a tool with its rule.", shapes.ToolView),
        Operation(
            "PUT",
            f"{TOOL}/rule",
            answers.set_rule,
            "Change the rule for a tool, also in the configuration file.",
            shapes.ToolChange,
            body=shapes.RuleBody,
        ),
    )


def _of_calls(answers: Answers) -> Sequence[Operation]:
    return (
        Operation("GET", "/approvals", answers.approvals, "List the calls that wait for approval.", shapes.Approvals),
        Operation("GET", "/approvals/{id}", answers.approval, "Show a call that needs approval.", ApprovalView),
        Operation(
            "POST",
            "/approvals/{id}",
            answers.decide,
            "Decide about a call that waits.",
            shapes.Decided,
            body=shapes.DecisionBody,
        ),
        Operation("GET", "/calls", answers.calls, "List the last calls.", shapes.Calls, query=shapes.CallFilter),
        Operation("GET", "/calls/{number}", answers.call, "Show a call.", shapes.CallView),
    )


def _of_contents(answers: Answers) -> Sequence[Operation]:
    return (
        Operation("GET", "/windows", answers.windows, "List the windows.", shapes.Windows),
        Operation(
            "GET",
            "/desktop",
            answers.desktop,
            "Show the windows as an Agent sees them.",
            shapes.DesktopView,
            query=shapes.DesktopFilter,
        ),
        Operation(
            "GET", "/documents", answers.documents, "Find documents.", shapes.Documents, query=shapes.DocumentFilter
        ),
        Operation(
            "GET", "/resource", answers.resource, "Read a resource.", shapes.Contents, query=shapes.ResourceFilter
        ),
        Operation(
            "GET",
            "/events",
            answers.events,
            "Follow what happens.",
            query=shapes.EventFilter,
            is_stream=True,
            is_activity=False,
        ),
    )
