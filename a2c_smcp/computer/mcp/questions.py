"""Questions that an MCP server asks a person during a tool call (elicitation): which are passed on, which answers fit.

A question comes from the server and is not trusted. It is a form of flat fields, or a web address to visit; any other
is rejected here, and no person sees it. An answer is checked against the form before the server gets it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

import orjson

from a2c_smcp.computer.mcp.schemas import OutputSchema
from a2c_smcp.protocol.questions import is_web
from a2c_smcp.smcp import InputResponse

ELICITATION = "elicitation/create"
MAX_BYTES = 50_000
"""Size of one question as JSON."""
MAX_FIELDS = 100
MAX_TEXT = 10_000
"""Characters of a text in an answer, unless the form sets a lower limit."""

_FIELD_TYPES = frozenset(("string", "number", "integer", "boolean", "array"))
_ACTIONS = frozenset(("accept", "decline", "cancel"))

Questions: TypeAlias = Mapping[str, "Question"]
"""Questions that are asked together, each under the key that its answer must have."""
Answers: TypeAlias = dict[str, InputResponse]


class Rejected(Exception):
    """A question that no person gets to see. The message says why, in words that follow the server's name."""


class InvalidAnswer(Exception):
    """An answer that does not fit its question. The message says what to change."""


class Asker(Protocol):
    """Asks whoever called the tool."""

    @property
    def party(self) -> Hashable:
        """Who is asked: two calls with the same party may get each other's questions."""
        ...

    @property
    def readiness(self) -> int:
        """2 if the caller waits for the call, 1 if another question has to be answered first, 0 if nobody can be asked
        any more."""
        ...

    def admit(self, is_sure: bool = True) -> bool:
        """Count a question, also one that is going to be rejected; False if it is one too many. `is_sure` says that it
        belongs to this call."""
        ...

    def end(self) -> None:
        """End the call, because of one question too many."""
        ...

    async def ask(self, questions: Questions, others: Sequence[Asker] = ()) -> Answers | None:
        """Ask, and wait for the answers, which fit the questions. Without an answer in time, they are declines. None
        if the call ended before the questions were asked. `others` are the calls whose questions they may be instead.
        """
        ...

    def reject(self, reason: str) -> None:
        """Report a question that was rejected."""
        ...

    def log(self, level: str, data: Any, name: str | None) -> None:
        """Take a log message that the server wrote during the call; `name` is that of its logger. Must not wait."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """A question, as MCP wrote it: the `params` of `elicitation/create`."""

    params: dict[str, Any]

    @property
    def message(self) -> str:
        """What the server wants to know, in its words."""
        return self.params["message"]

    @property
    def url(self) -> str | None:
        """The address that a person is asked to visit; None for a form."""
        return self.params["url"] if self.params.get("mode") == "url" else None

    def check(self, answer: Any) -> InputResponse:
        """The answer as the server gets it, with the defaults of the form.

        Raises:
            InvalidAnswer: it does not fit.
        """
        given = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        action = given.get("action")
        if not isinstance(action, str) or action not in _ACTIONS:
            raise InvalidAnswer("action: accept, decline or cancel is expected")
        if action != "accept" or self.url is not None:
            return {"action": action}
        content = given.get("content")
        if not isinstance(content, dict | None):
            raise InvalidAnswer("content: an object is expected")
        return {"action": "accept", "content": self._filled(cast("dict[str, Any]", content or {}))}

    def _filled(self, content: dict[str, Any]) -> dict[str, Any]:
        schema: dict[str, Any] = self.params["requestedSchema"]
        fields: dict[str, dict[str, Any]] = schema["properties"]
        if unknown := content.keys() - fields.keys():
            raise InvalidAnswer(f"{', '.join(sorted(map(str, unknown))[:5])}: the form has no such field")
        filled: dict[str, Any] = {}
        for name, field in fields.items():
            given = content.get(name)
            if (value := given if given is not None else field.get("default")) is not None:
                filled[name] = value
        for name, value in filled.items():
            _check_value(name, value, fields[name])
        if complaint := OutputSchema({**schema, "type": "object"}).complaint(filled):
            raise InvalidAnswer(complaint)
        return filled


def read_question(params: Any) -> Question:
    """A question from the params of `elicitation/create`.

    Raises:
        Rejected: no person should see it, or could answer it.
    """
    if not isinstance(params, dict):
        raise Rejected("asks without parameters")
    given = cast("dict[str, Any]", params)
    try:
        size = len(orjson.dumps(given))
    except (TypeError, RecursionError):
        raise Rejected("asks a question that is not JSON") from None
    if size > MAX_BYTES:
        raise Rejected(f"asks a question of {size} bytes; at most {MAX_BYTES} are shown")
    if not isinstance(given.get("message"), str):
        raise Rejected("asks a question without a message")
    # `_meta` and `task` are for the client, not for a person.
    shown = {key: value for key, value in given.items() if key not in ("_meta", "task")}
    match given.get("mode", "form"):
        case "form":
            _check_form(given.get("requestedSchema"))
        case "url":
            _check_url(given.get("url"))
        case mode:
            raise Rejected(f"asks in the unknown mode {str(mode)[:40]!r}")
    return Question(shown)


def whom_to_ask(askers: Sequence[Asker]) -> Asker | None:
    """Who is to answer a question of a server before 2026-07-28, of the callers of its running calls.

    The protocol does not say which call such a question belongs to. With one running call it is clear. Of several calls
    of the same party, any will do, because the answer is returned to the question and not to the call: it is the latest
    that has no open question. If the parties differ, nobody is asked: a question must not reach the wrong one.
    """
    if len({asker.party for asker in askers}) != 1:
        return None
    asker = max(reversed(askers), key=lambda each: each.readiness)
    return asker if asker.readiness else None


def declined(questions: Iterable[str]) -> Answers:
    """Decline every question."""
    return {key: {"action": "decline"} for key in questions}


def cancelled(questions: Iterable[str]) -> Answers:
    """Close every question without a decision."""
    return {key: {"action": "cancel"} for key in questions}


def _check_form(schema: Any) -> None:
    if not isinstance(schema, dict) or not isinstance(cast("dict[str, Any]", schema).get("properties"), dict):
        raise Rejected("asks with a form that has no fields")
    fields: dict[Any, Any] = cast("dict[str, Any]", schema)["properties"]
    if len(fields) > MAX_FIELDS:
        raise Rejected(f"asks with a form of {len(fields)} fields; at most {MAX_FIELDS} are shown")
    for name, field in fields.items():
        kind = cast("dict[str, Any]", field).get("type") if isinstance(field, dict) else None
        if not isinstance(kind, str) or kind not in _FIELD_TYPES:
            raise Rejected(f"asks with a form whose field {str(name)[:40]!r} is not a plain value")


def _check_url(url: Any) -> None:
    if not is_web(url):
        scheme = str(url).partition(":")[0][:20] if isinstance(url, str) else ""
        raise Rejected(f"asks to open an address that is not http or https ({scheme!r})")


def _check_value(name: str, value: Any, field: dict[str, Any]) -> None:
    """Check what JSON schema does not: the types that MCP allows at all, the length of texts, and formats."""
    if isinstance(value, list):
        if not all(isinstance(item, str) for item in cast("list[Any]", value)):
            raise InvalidAnswer(f"{name}: a list of texts is expected")
        return
    if not isinstance(value, str | int | float):
        raise InvalidAnswer(f"{name}: a text, a number, true or false is expected")
    if isinstance(value, str):
        if len(value) > MAX_TEXT:
            raise InvalidAnswer(f"{name}: {len(value)} characters, at most {MAX_TEXT} are accepted")
        check = _FORMATS.get(str(field.get("format")))
        if check is not None and not check(value):
            raise InvalidAnswer(f"{name}: a value of the format {field['format']} is expected")


def _is_email(value: str) -> bool:
    local, _, domain = value.rpartition("@")
    return bool(local) and "." in domain.strip(".") and not any(char.isspace() for char in value)


def _is_uri(value: str) -> bool:
    try:
        return bool(urlsplit(value).scheme)
    except ValueError:
        return False


def _is_date(value: str) -> bool:
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return len(value) == len("2026-07-28")


def _is_date_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return "T" in value.upper()


_FORMATS: dict[str, Callable[[str], bool]] = {
    "email": _is_email,
    "uri": _is_uri,
    "date": _is_date,
    "date-time": _is_date_time,
}

Consult: TypeAlias = Callable[[Questions], Awaitable[Answers]]
"""Asks a person, for as long as there is a connection to the server."""
