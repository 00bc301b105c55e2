"""Calls that wait for a person: their questions, and the states by which an Agent continues them.

A call that asks a question ends for its Agent, and goes on here. The Agent gets a *state*, a random text that names the
call in this table. It is valid for the same caller, tool and parameters, for a limited time, and once.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from mcp_types import TextContent

from a2c_smcp.computer.mcp.questions import Answers, InvalidAnswer, Questions, declined
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.protocol.questions import INPUT_REQUIRED
from a2c_smcp.smcp import InputRequest, InputRequired
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.text import one_line

QUESTION_SECONDS = 300
"""How long a question waits for its answer; then it is declined."""
MAX_PARKED = 64
"""Calls of a Computer that wait for a person. Each holds a request of an MCP server."""
MAX_PARKED_PER_CALLER = 16
MAX_SHOWN = 500
"""Characters of a question in the text for Agents that do not know questions."""


class Call(Protocol):
    """What the table needs to know of a call."""

    caller: Caller
    tool: str
    parameters: dict[str, Any]
    server: str


CallT = TypeVar("CallT", bound=Call)


@dataclass(eq=False)
class Parked(Generic[CallT]):
    """A call that waits for answers."""

    call: CallT
    questions: Questions
    expires_at: float
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    answers: asyncio.Future[Answers] = field(default_factory=asyncio.Future[Answers], repr=False)
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)

    def check(self, given: Any) -> Answers:
        """The answers as the MCP server gets them.

        Raises:
            InvalidAnswer: an answer is missing, or does not fit its question.
        """
        named: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
        if unknown := named.keys() - self.questions.keys():
            raise InvalidAnswer(f"{sorted(map(str, unknown))[0][:80]!r}: there is no such question")
        if missing := self.questions.keys() - named.keys():
            raise InvalidAnswer(f"{sorted(missing)[0][:80]!r}: this question has no answer")
        return {key: question.check(named[key]) for key, question in self.questions.items()}

    def settle(self, answers: Answers) -> None:
        """Give the MCP server its answers, if it still waits."""
        if not self.answers.done():
            self.answers.set_result(answers)

    def result(self, problem: str | None = None) -> CallToolResult:
        """The result that asks for answers; `problem` says what was wrong with those before."""
        server = self.call.server
        requests: dict[str, InputRequest] = {
            key: {"method": "elicitation/create", "params": question.params, "mcp_server": server}
            for key, question in self.questions.items()
        }
        required = InputRequired(
            requests=requests,
            request_state=self.state,
            expires_in=max(round(self.expires_at - time.monotonic()), 0),
        )
        if problem is not None:
            required["problem"] = problem
        # Written for a person and for a model whose Agent does not know questions. The words of the server are one
        # line in quotation marks, so that none of them look like ours.
        lines = [f"The answer does not fit: {problem}"] if problem else []
        for question in self.questions.values():
            lines.append(f'The MCP server {server} asks: "{one_line(question.message, MAX_SHOWN)}"')
            if question.url is not None:
                lines.append(f"It asks to visit {one_line(question.url, MAX_SHOWN)}")
        lines.append(
            "The tool continues when a person answers. This needs an Agent that supports questions; "
            f"without an answer within {required['expires_in']} s, the question is declined."
        )
        return CallToolResult(
            content=[TextContent(type="text", text="\n".join(lines))],
            structured_content={"error": "the tool asks a question", "error_type": "InputRequired"},
            is_error=True,
            _meta={INPUT_REQUIRED: required},
        )


class Parking(Generic[CallT]):
    """The table. `on_expiry` is called with a call whose question nobody answered in time."""

    def __init__(self, on_expiry: Callable[[CallT], None]) -> None:
        self._on_expiry = on_expiry
        self._parked: dict[str, Parked[CallT]] = {}

    @property
    def calls(self) -> list[CallT]:
        """The calls that wait."""
        return [parked.call for parked in self._parked.values()]

    def of(self, call: CallT) -> Parked[CallT] | None:
        """The entry of a call, if it waits."""
        return next((parked for parked in self._parked.values() if parked.call is call), None)

    def park(self, call: CallT, questions: Questions) -> Parked[CallT] | None:
        """Let a call wait for answers; None if too many wait already."""
        theirs = sum(other.caller == call.caller for other in self.calls)
        if len(self._parked) >= MAX_PARKED or theirs >= MAX_PARKED_PER_CALLER:
            return None
        parked = Parked(call, questions, time.monotonic() + QUESTION_SECONDS)
        parked.timer = asyncio.get_running_loop().call_later(QUESTION_SECONDS, self._expire, parked)
        self._parked[parked.state] = parked
        return parked

    def find(self, state: str, caller: Caller, tool: str, parameters: dict[str, Any]) -> Parked[CallT] | None:
        """The entry of a state, for the caller, tool and parameters that it was made for."""
        parked = self._parked.get(state)
        if parked is None:
            return None
        call = parked.call
        is_theirs = (call.caller, call.caller.principal) == (caller, caller.principal)
        return parked if is_theirs and (call.tool, call.parameters) == (tool, parameters) else None

    def renew(self, parked: Parked[CallT]) -> None:
        """Give an entry another state: the one before was used."""
        del self._parked[parked.state]
        parked.state = secrets.token_urlsafe(32)
        self._parked[parked.state] = parked

    def remove(self, parked: Parked[CallT]) -> None:
        """The call does not wait any more."""
        if parked.timer is not None:
            parked.timer.cancel()
        self._parked.pop(parked.state, None)

    def _expire(self, parked: Parked[CallT]) -> None:
        self.remove(parked)
        parked.settle(declined(parked.questions))
        self._on_expiry(parked.call)
