"""What an Agent hears during a tool call: how far it is, and questions of its MCP server to a person.

A result with `meta.a2c_input_required` holds questions. They come from an MCP server and are not trusted: a program
shows whose they are, shows addresses and does not open them. The limits are those of both sides: a Computer asks no
more, and an Agent reads no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeGuard, cast
from urllib.parse import urlsplit

from a2c_smcp.smcp import InputResponse
from a2c_smcp.utils.result_meta import INPUT_REQUIRED

MAX_ROUNDS = 10
"""Times that a call may ask. An MCP server could otherwise ask for ever."""
MAX_QUESTIONS = 10
"""Questions that are asked together, in one result; more are declined."""
QUESTION_SECONDS = 60.0
"""How long a question waits whose Computer does not say when it expires."""
MAX_SECONDS = 3_600.0
"""The longest that a question waits for a person."""

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""From the least to the most serious."""

Action: TypeAlias = Literal["accept", "decline", "cancel"]
FieldType: TypeAlias = Literal["string", "number", "integer", "boolean", "array"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tool call is."""

    computer: str
    tool: str
    progress: float
    """The amount that is done; it grows with each report."""
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A log message that an MCP server wrote during a tool call."""

    computer: str
    tool: str
    level: str
    data: Any
    """A text, or any JSON data."""
    logger: str | None = None
    """The part of the MCP server that wrote it, if it says so."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a question; `Question.accept`, `decline` and `cancel` make one."""

    action: Action
    content: Mapping[str, Any] | None = None

    def to_wire(self) -> InputResponse:
        """The wire form."""
        if self.content is None:
            return {"action": self.action}
        return {"action": self.action, "content": dict(self.content)}


@dataclass(frozen=True, slots=True)
class Option:
    """One of the values that a field accepts."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form."""

    name: str
    type: FieldType
    title: str
    description: str = ""
    is_required: bool = False
    default: Any = None
    options: tuple[Option, ...] = ()
    """The values to choose from, of a text or a list; empty if any value is accepted."""
    schema: Mapping[str, Any] | None = None
    """The field's JSON schema, with further limits such as `minimum` and `format`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of an MCP server to a person: a form, or an address to visit (`url`)."""

    computer: str
    tool: str
    mcp_server: str
    """The MCP server that asks, by the name that the owner of the Computer gave it."""
    message: str
    """What it asks, in its own words."""
    expires_in: float
    """Seconds until it is declined."""
    url: str | None = None
    """An address that the server asks to visit. Show it; do not open it without being told to."""
    schema: Mapping[str, Any] | None = None
    """The JSON schema of a form, as the server wrote it; None for an address."""
    problem: str | None = None
    """Why the answer before did not fit, if the question is asked again."""
    elicitation_id: str | None = None
    """The id that the server gave to a visit of an address."""

    @property
    def fields(self) -> tuple[FormField, ...]:
        """The fields of the form; none for an address."""
        schema = self.schema or {}
        properties: Any = schema.get("properties")
        required: Any = schema.get("required")
        names = cast("list[Any]", required) if isinstance(required, list) else []
        found = cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}
        return tuple(
            _field(name, cast("dict[str, Any]", each), name in names)
            for name, each in found.items()
            if isinstance(each, dict)
        )

    def accept(self, content: Mapping[str, Any] | None = None, **fields: Any) -> Reply:
        """Answer the form with these values; for an address, say that it was visited."""
        return Reply("accept", None if self.url is not None else {**(content or {}), **fields})

    def decline(self) -> Reply:
        """The person does not want to answer."""
        return Reply("decline")

    def cancel(self) -> Reply:
        """The person closed the question without a decision."""
        return Reply("cancel")


@dataclass(frozen=True, slots=True)
class Continuation:
    """What continues a call that asked: the call, the state that it gave, and the answers."""

    req_id: str
    request_state: str
    input_responses: Mapping[str, InputResponse]


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions in one result, by their keys, and the state that the answers need."""

    questions: Mapping[str, Question | None]
    """None for a question that no person can answer, or should see."""
    request_state: str
    expires_in: float
    """Seconds until the Computer declines them."""
    req_id: str = ""
    """The call that asks."""

    def answered(self, replies: Mapping[str, Reply]) -> Continuation:
        """Continue the call with these replies, one for each question."""
        responses = {key: reply.to_wire() for key, reply in replies.items()}
        return Continuation(self.req_id, self.request_state, responses)


def read_questions(answer: Mapping[str, Any], computer: str, tool: str) -> Asked | None:
    """The questions in the result of a tool call; None if there are none."""
    meta = answer.get("meta")
    required: Any = cast("dict[str, Any]", meta).get(INPUT_REQUIRED) if isinstance(meta, dict) else None
    if not isinstance(required, dict):
        return None
    given = cast("dict[str, Any]", required)
    requests, state, seconds = given.get("requests"), given.get("request_state"), given.get("expires_in")
    if not isinstance(requests, dict) or not isinstance(state, str):
        return None
    problem = given.get("problem")
    expires_in = min(float(seconds), MAX_SECONDS) if isinstance(seconds, int | float) else QUESTION_SECONDS
    questions: dict[str, Question | None] = {}
    for key, request in cast("dict[str, Any]", requests).items():
        question = _question(request, computer, tool, expires_in) if len(questions) < MAX_QUESTIONS else None
        if question is not None and isinstance(problem, str):
            question = replace(question, problem=problem)
        questions[key] = question
    return Asked(questions, state, expires_in) if questions else None


def is_web(url: Any) -> TypeGuard[str]:
    """Whether an address is of the web, so that a person may be asked to open it."""
    # Other schemes run code (`javascript:`, `data:`) or start programs. Spaces and control characters can hide where an
    # address leads to.
    try:
        if not isinstance(url, str) or not url.isprintable() or " " in url:
            return False
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def read_reply(reply: Any) -> Reply:
    """What a handler returned as a reply: a mapping accepts with these values, None declines.

    Raises:
        TypeError: it is neither.
    """
    if reply is None:
        return Reply("decline")
    if isinstance(reply, Reply):
        return reply
    if isinstance(reply, Mapping):
        return Reply("accept", cast("Mapping[str, Any]", reply))
    raise TypeError(f"on_question returns a Reply, a mapping or None, not {type(reply).__name__}")


def _question(request: Any, computer: str, tool: str, expires_in: float) -> Question | None:
    given = cast("dict[str, Any]", request) if isinstance(request, dict) else {}
    params, server = given.get("params"), given.get("mcp_server")
    if given.get("method") != "elicitation/create" or not isinstance(params, dict):
        return None
    asked = cast("dict[str, Any]", params)
    message, url, schema = asked.get("message"), asked.get("url"), asked.get("requestedSchema")
    if not isinstance(message, str):
        return None
    name = server if isinstance(server, str) else "unknown"
    if asked.get("mode") == "url":
        # The Computer checks it, too. An Agent may be connected to one that does not.
        if not is_web(url):
            return None
        id = asked.get("elicitationId")
        return Question(
            computer, tool, name, message, expires_in, url=url, elicitation_id=id if isinstance(id, str) else None
        )
    if not isinstance(schema, dict):
        return None
    return Question(computer, tool, name, message, expires_in, schema=cast("dict[str, Any]", schema))


def _field(name: str, schema: dict[str, Any], is_required: bool) -> FormField:
    kind = schema.get("type")
    title, description = schema.get("title"), schema.get("description")
    items: Any = schema.get("items")
    chosen_from = cast("dict[str, Any]", items) if kind == "array" and isinstance(items, dict) else schema
    return FormField(
        name,
        cast("FieldType", kind) if kind in ("number", "integer", "boolean", "array") else "string",
        title if isinstance(title, str) and title else name,
        description if isinstance(description, str) else "",
        is_required,
        schema.get("default"),
        _options(chosen_from),
        schema,
    )


def _options(schema: dict[str, Any]) -> tuple[Option, ...]:
    """The values to choose from, in any of MCP's forms: `enum` with or without `enumNames`, `oneOf`, `anyOf`."""
    for key in ("oneOf", "anyOf"):
        if isinstance(listed := schema.get(key), list):
            found = [cast("dict[str, Any]", each) for each in cast("list[Any]", listed) if isinstance(each, dict)]
            pairs = [(str(each["const"]), each.get("title")) for each in found if "const" in each]
            return tuple(Option(value, str(title or value)) for value, title in pairs)
    values: Any = schema.get("enum")
    if not isinstance(values, list):
        return ()
    texts = [str(value) for value in cast("list[Any]", values)]
    names: Any = schema.get("enumNames")
    titles = [str(name) for name in cast("list[Any]", names)] if isinstance(names, list) else []
    return tuple(Option(value, titles[place] if place < len(titles) else value) for place, value in enumerate(texts))


def read_progress(report: Mapping[str, Any], tool: str) -> Progress | None:
    """The progress in a `notify:tool_call_progress`; None if it is none."""
    done, total, message = report.get("progress"), report.get("total"), report.get("message")
    if not isinstance(done, int | float):
        return None
    whole = total if isinstance(total, int | float) else None
    return Progress(str(report.get("computer")), tool, done, whole, message if isinstance(message, str) else None)


def read_log(parcel: Mapping[str, Any], tool: str) -> list[LogMessage]:
    """The messages in a `notify:tool_call_log`. What is no message is left out."""
    listed: Any = parcel.get("messages")
    messages: list[LogMessage] = []
    for entry in cast("list[Any]", listed) if isinstance(listed, list) else ():
        match entry:
            case {"level": str(level), "data": data} if level in LOG_LEVELS:
                name: Any = cast("dict[str, Any]", entry).get("logger")
                name = name if isinstance(name, str) else None
                messages.append(LogMessage(str(parcel.get("computer")), tool, level, data, name))
            case _:
                pass
    return messages
