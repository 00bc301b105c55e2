"""The shapes of the API of one office: its tools, calls that a person makes, windows and documents."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

Name = Annotated[str, Field(min_length=1, max_length=256)]
URI = Annotated[str, Field(min_length=1, max_length=8_000)]
Offset = Annotated[int, Field(ge=0)]
Limit = Annotated[int, Field(ge=1, le=100)]
MOST_SECONDS = 3_600


class ToolRow(TypedDict):
    """A tool in the list of all tools."""

    computer: str
    name: str
    title: str
    description: str
    """Its beginning."""
    mcp_server: str | None
    tags: list[str]
    is_read_only: bool
    is_destructive: bool
    """Whether the MCP server says that the tool may delete or overwrite something."""


class OfficeTools(TypedDict):
    """All tools of an office."""

    office: str
    computers: list[str]
    tools: list[ToolRow]


class ToolDetail(TypedDict):
    """A tool with everything that a model gets."""

    computer: str
    name: str
    title: str
    description: str
    mcp_server: str | None
    tags: list[str]
    annotations: dict[str, Any]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None


class CallForm(TypedDict):
    """A call of a tool."""

    computer: Name
    tool: Name
    arguments: NotRequired[dict[str, Any]]
    timeout: NotRequired[Annotated[float, Field(ge=0.1, le=MOST_SECONDS)]]
    """Seconds that the tool has; 60 without it."""


class ReplyForm(TypedDict):
    """The answer to a question of a tool."""

    action: Literal["accept", "decline", "cancel"]
    content: NotRequired[dict[str, Any]]
    """The values of the form."""


class Replies(TypedDict):
    """The answers to the questions that were asked together, by their keys."""

    replies: dict[str, ReplyForm]


class DesktopQuery(TypedDict):
    """Whose windows."""

    computer: Name
    size: NotRequired[Annotated[int, Field(ge=1, le=1_000)]]


class WindowText(TypedDict):
    """A window, as a model reads it."""

    uri: str
    text: str


class Desktop(TypedDict):
    """The windows of a Computer."""

    computer: str
    windows: list[WindowText]


class DocumentQuery(TypedDict):
    """Which documents of a Computer."""

    computer: Name
    keywords: NotRequired[Annotated[list[str], Field(max_length=20)]]
    file_type: NotRequired[str]
    offset: NotRequired[Offset]
    limit: NotRequired[Limit]


class Documents(TypedDict):
    """Some documents of a Computer."""

    documents: list[dict[str, Any]]
    total: int


class PagesQuery(TypedDict):
    """Which pages of a document."""

    computer: Name
    uri: URI
    offset: NotRequired[Offset]
    limit: NotRequired[Limit]


class PageQuery(TypedDict):
    """A page of a document."""

    computer: Name
    uri: URI
    page: NotRequired[Offset]


class DocumentPage(TypedDict):
    """A page of a document: its elements, and the same as Markdown."""

    page: dict[str, Any]
    markdown: str


class ChangesQuery(TypedDict):
    """Where to go on."""

    last_event_id: NotRequired[str]
