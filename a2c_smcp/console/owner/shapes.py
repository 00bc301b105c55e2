"""The shapes of the owner's API: what is asked for, and what is answered. OpenAPI describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from a2c_smcp.computer.offer.approval_view import ApprovalView
from a2c_smcp.smcp import DPEDocumentSummary

Topic = Literal["servers", "tools", "approvals", "calls", "windows", "documents"]
Name = Annotated[str, Field(max_length=256)]


class ComputerView(TypedDict):
    """The Computer."""

    name: str
    office: str | None
    """The office that it is in now."""
    pid: int
    version: str
    servers: int
    tools: int
    approvals: int
    """How many calls wait for approval."""
    calls_wait: bool
    """Whether a call that needs approval waits; otherwise it is rejected at once."""
    allows_all: bool
    """Whether every call runs without approval."""


class LogView(TypedDict):
    """A log message of an MCP server."""

    at: str
    level: str
    logger: str | None
    text: str


class ServerView(TypedDict):
    """An MCP server and its state."""

    name: str
    type: str
    state: str
    since: str
    reason: str | None
    """The last error, or another reason for its state."""
    restarts: int
    tools: int
    windows: int
    documents: int
    server_info: str | None
    protocol_version: str | None
    pid: int | None
    file: str | None
    """The configuration file that it comes from."""
    notes: list[str]


class ServerDetails(ServerView):
    """An MCP server with what it wrote last."""

    stderr: list[str]
    """The last lines of its standard error, without secrets."""
    log: list[LogView]


class Servers(TypedDict):
    """All MCP servers."""

    servers: list[ServerView]


class Change(TypedDict):
    """What became of a change of the configuration."""

    saved: str | None
    """The file that was changed."""
    problem: str | None
    """Why no file was changed: the change lasts until the Computer stops."""


class ServerChange(Change):
    """An MCP server that was enabled or disabled."""

    server: ServerView


class ToolView(TypedDict):
    """A tool, and the rule that decides about it."""

    server: str
    original_name: str
    """The name that the MCP server uses."""
    name: str
    """The name that Agents use."""
    description: str
    annotations: dict[str, Any] | None
    """What the MCP server says about its effects."""
    tags: list[str]
    rule: Literal["run", "ask", "forbid"]
    source: Literal["forbidden_tools", "tool_meta", "default_tool_meta", "grant", "default"]
    """What says so: a field of the configuration, a grant of the owner, or nothing."""
    detail: str | None


class Tools(TypedDict):
    """Tools of the MCP servers that are ready."""

    tools: list[ToolView]


class ToolFilter(TypedDict):
    """Which tools."""

    server: NotRequired[Name]


class RuleBody(TypedDict):
    """Another rule for a tool."""

    rule: Literal["run", "ask", "forbid"]


class ToolChange(Change):
    """A tool whose rule was changed."""

    tool: ToolView


class Approvals(TypedDict):
    """The calls that wait for approval, and the last that did."""

    waiting: list[ApprovalView]
    ended: list[ApprovalView]


class DecisionBody(TypedDict):
    """A decision about a call."""

    decision: Literal["allow", "hour", "session", "always", "deny"]
    digest: NotRequired[Annotated[str, Field(max_length=100)]]
    """That of the call that the owner has seen: a decision about another call is rejected."""
    reason: NotRequired[Annotated[str, Field(max_length=300)]]
    """For the Agent, with a denial."""
    by: NotRequired[Annotated[str, Field(max_length=60)]]
    """The program that asks, as others see it."""


class Decided(Change):
    """A call that was decided."""

    approval: ApprovalView


class CallView(TypedDict):
    """A call that has ended."""

    number: int
    started: str
    seconds: float
    req_id: str
    server: str
    tool: str
    office: str
    agent: str
    principal: str | None
    arguments: str
    """As JSON; the beginning, if they are long."""
    timeout: float | None
    is_ok: bool
    code: int | None
    error: str | None
    cancelled: str | None
    approved_by: str | None


class Calls(TypedDict):
    """Calls that have ended, the newest first."""

    calls: list[CallView]


class CallFilter(TypedDict):
    """Which calls."""

    most: NotRequired[Annotated[int, Field(ge=1, le=1_000)]]
    before: NotRequired[int]
    """A number: only older calls."""


class WindowView(TypedDict):
    """A window."""

    uri: str
    server: str


class Windows(TypedDict):
    """The windows of all MCP servers."""

    windows: list[WindowView]


class DesktopView(TypedDict):
    """The windows as an Agent sees them."""

    windows: list[str]


class DesktopFilter(TypedDict):
    """Which windows."""

    size: NotRequired[Annotated[int, Field(ge=0)]]
    window: NotRequired[Annotated[str, Field(max_length=10_000)]]


class DocumentFilter(TypedDict):
    """Which documents."""

    keyword: NotRequired[list[str]]
    file_type: NotRequired[Name]
    offset: NotRequired[Annotated[int, Field(ge=0)]]
    limit: NotRequired[Annotated[int, Field(ge=0, le=100)]]


class Documents(TypedDict):
    """Documents that match."""

    documents: list[DPEDocumentSummary]
    total: int


class ResourceFilter(TypedDict):
    """A resource."""

    uri: Annotated[str, Field(max_length=10_000)]
    server: NotRequired[Name]


class Contents(TypedDict):
    """The contents of a resource."""

    contents: list[dict[str, Any]]


class EventFilter(TypedDict):
    """Which events."""

    topic: NotRequired[list[Topic]]
    """All, if there is none."""
    attend: NotRequired[bool]
    """Let calls that need approval wait while this stream is open: its reader decides about them."""
    last_event_id: NotRequired[Annotated[str, Field(max_length=60)]]
    """The id of the last event that was read, for a reader that cannot send the header `Last-Event-ID`."""


class HostView(TypedDict):
    """Another MCP host of this machine."""

    host: str
    file: str
    servers: list[str]
    """MCP servers that this Computer has not."""
    problem: str | None
    """Why its file cannot be read."""


class Hosts(TypedDict):
    """The other MCP hosts of this machine."""

    hosts: list[HostView]


class NewServers(TypedDict):
    """MCP servers to add: `text`, or those of another host."""

    text: NotRequired[Annotated[str, Field(max_length=500_000)]]
    """The configuration of any MCP host as JSON, or that of one MCP server."""
    name: NotRequired[Name]
    """The name, if `text` is that of one MCP server."""
    host: NotRequired[Literal["claude", "cursor", "vscode", "windsurf", "zed", "cline"]]


class Added(Change):
    """MCP servers that were added."""

    added: list[str]
    kept: list[str]
    """Those with the name of an MCP server that is there; they were not added."""
    inputs: list[str]
    """Inputs that replace secrets. The Computer has their values."""
    remembered: bool
    """Whether the keyring has the values of these inputs, too; otherwise, they last until the Computer stops."""
    missing: list[str]
    """Inputs of the MCP servers that have no value yet."""
    warnings: list[str]


class InputOption(TypedDict):
    """A value that an input may have."""

    value: str
    label: str


class InputView(TypedDict):
    """An input, without its value."""

    id: str
    description: str
    is_secret: bool
    options: list[InputOption]
    """The values to choose from; empty if any value is possible."""
    source: Literal["environment", "command", "person", "default"] | None
    """Where its value comes from; null if it has none, or the keyring has it and no MCP server needed it yet."""
    variable: str
    """The environment variable that gives it a value."""
    servers: list[str]
    """The MCP servers that use it, without disabled ones."""


class InputList(TypedDict):
    """The inputs of the configuration."""

    inputs: list[InputView]


class InputBody(TypedDict):
    """The value of an input."""

    value: Annotated[str, Field(max_length=65_536)]


class InputChange(TypedDict):
    """An input that has got a value."""

    input: InputView
    remembered: bool
    """Whether the keyring has the value, too; otherwise, it lasts until the Computer stops."""
    restarted: list[str]
    """The MCP servers that were started again."""
