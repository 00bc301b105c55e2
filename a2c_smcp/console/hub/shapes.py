"""The shapes of the Server's API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

Name = Annotated[str, Field(min_length=1, max_length=256)]
Role = Literal["agent", "computer"]
Count = Annotated[int, Field(ge=0, le=10_000)]


class Status(TypedDict):
    """The Server as it is now."""

    version: str
    uptime_seconds: float
    is_draining: bool
    node: str | None
    """The id of this node of a cluster; None if the Server is alone."""
    offices: int
    agents: int
    computers: int
    connections: int
    running_calls: int
    calls: int
    """Relayed calls that were answered since the start."""
    failed_calls: int
    mean_seconds: float | None
    has_gateway: bool
    has_key_file: bool
    can_drain: bool


class Rates(TypedDict):
    """What happened in the last second."""

    at: float
    """In seconds since 1970."""
    calls_per_second: float
    failures_per_second: float
    mean_seconds: float | None
    p95_seconds: float | None
    """19 of 20 calls took at most so long, as exactly as the metrics of the Server know it."""
    running_calls: int
    offices: int
    agents: int
    computers: int
    connections: int


class MemberInfo(TypedDict):
    """A member of an office."""

    name: str
    role: Role
    office: str
    dialect: str
    """How it spells the protocol."""
    version: str | None
    """The version that it named: of this project, or of the protocol."""
    is_ours: bool
    """Whether it is a client of this project."""
    is_local: bool
    """Whether it is a part of the Server: the Agent that MCP hosts share."""
    address: str | None
    """None for this machine, and for a member on another node."""
    principal: str | None
    """The id of its credential."""
    connected_since: float | None
    """In seconds since 1970; None for a member on another node."""


class MemberQuery(TypedDict):
    """Which members."""

    office: NotRequired[str]
    role: NotRequired[Role]
    search: NotRequired[str]
    """A part of the name, office, principal or address."""
    offset: NotRequired[Count]
    limit: NotRequired[Annotated[int, Field(ge=1, le=1_000)]]


class Members(TypedDict):
    """Some of the members."""

    members: list[MemberInfo]
    total: int
    """How many there are, on all pages."""


class OfficeInfo(TypedDict):
    """An office."""

    office: str
    agent: str | None
    computers: int


class OfficeQuery(TypedDict):
    """Which offices."""

    search: NotRequired[str]
    offset: NotRequired[Count]
    limit: NotRequired[Annotated[int, Field(ge=1, le=1_000)]]


class Offices(TypedDict):
    """Some of the offices."""

    offices: list[OfficeInfo]
    total: int


class Call(TypedDict):
    """A relayed call. Its parameters and its result are between the Agent and the Computer, and not here."""

    id: int | None
    """The number under which it is recorded; None for a call that runs and is not."""
    req_id: str
    event: str
    agent: str | None
    office: str | None
    computer: str | None
    tool: str | None
    principal: str | None
    """The user of an MCP host, for a call of the Agent that hosts share."""
    arrived: float | None
    """In seconds since 1970; None for a call that began before anybody looked."""
    sent: float | None
    """Seconds until the Server sent it to the Computer."""
    answered: float | None
    """Seconds until the Computer had answered."""
    ended: float | None
    """Seconds until the Agent's answer was ready."""
    request_bytes: int | None
    answer_bytes: int | None
    outcome: str | None
    """`ok`, `cancelled` or the code of an error; None while it runs."""
    message: str | None


class CallQuery(TypedDict):
    """Which calls."""

    office: NotRequired[str]
    computer: NotRequired[str]
    tool: NotRequired[str]
    req_id: NotRequired[str]
    outcome: NotRequired[Literal["ok", "failed", "cancelled"]]
    limit: NotRequired[Annotated[int, Field(ge=1, le=1_000)]]


class Calls(TypedDict):
    """Calls that run, and calls that ended while somebody looked."""

    running: list[Call]
    recent: list[Call]
    """The newest first."""
    recorded_since: float
    """In seconds since 1970."""
    left_out: int
    """Calls since then that were not recorded, because there were too many."""


class EndQuery(TypedDict):
    """Whose call to end."""

    office: NotRequired[str]


class EventQuery(TypedDict):
    """Which events."""

    topics: NotRequired[list[Literal["rates", "members", "calls"]]]
    last_event_id: NotRequired[str]


class KeyInfo(TypedDict):
    """A key of the key file. The key itself is stored nowhere."""

    id: str | None
    offices: list[str]
    roles: list[Role]
    name: str | None
    admin: bool
    created: datetime | None
    expires: datetime | None
    last_used: datetime | None
    is_replaced: bool
    """Whether a newer key has the same id, and this one is about to expire."""


class KeyForm(TypedDict):
    """What a new key allows."""

    id: Name
    offices: NotRequired[Annotated[list[Name], Field(max_length=100)]]
    """Patterns such as `acme-*`."""
    roles: NotRequired[list[Role]]
    name: NotRequired[Name | None]
    """The only member name that it allows."""
    admin: NotRequired[bool]
    expires: NotRequired[datetime | None]


class MadeKey(TypedDict):
    """A new key. It is shown once."""

    id: str
    key: str


class OfferedTool(TypedDict):
    """A tool of a Computer."""

    name: str
    description: str
    mcp_server: str | None
    tags: list[str]
    is_read_only: bool


class Offer(TypedDict):
    """What a Computer offers."""

    computer: str
    tools: list[OfferedTool]
    windows: int | None
    """How many; None if the Computer did not answer."""
    documents: int | None


class Offers(TypedDict):
    """What the Computers of an office offer."""

    office: str
    computers: list[Offer]
