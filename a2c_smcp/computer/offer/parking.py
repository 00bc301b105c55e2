"""Calls that wait for a person: their questions, and the states by which an Agent continues them.

A call that asks a question ends for its Agent, and goes on here. The Agent gets a *state*, a random text that names the
call in this table. It is valid for the same caller, tool and parameters, for a limited time, and once: a state that was
used leads to the call, and not to an answer.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from mcp_types import TextContent

from a2c_smcp.computer.mcp.questions import Answers, Asker, InvalidAnswer, Questions, Rejected, declined
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.smcp import InputRequest, InputRequired
from a2c_smcp.utils.result_meta import INPUT_REQUIRED
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.text import one_line

QUESTION_SECONDS = 300
"""How long a question waits for its answer; then it is declined."""
TOTAL_SECONDS = 3 * QUESTION_SECONDS
"""How long all questions of one call may wait together. A server could otherwise keep a call for almost an hour, with
ten questions that are each answered late."""
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
    waited: float
    """Seconds that its questions have waited, but for the one that is open."""

    def __hash__(self) -> int: ...


CallT = TypeVar("CallT", bound=Call)


@dataclass(eq=False)
class Parked(Generic[CallT]):
    """A call that waits for answers."""

    call: CallT
    questions: Questions
    seconds: float
    """How long it may wait."""
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    answers: asyncio.Future[Answers | None] = field(default_factory=asyncio.Future["Answers | None"], repr=False)
    """What the MCP server gets; None if the call ended before it asked. The server may stop to wait for it."""
    others: Sequence[Asker] = ()
    """The calls whose questions these may be instead."""
    problem: str | None = None
    """Why it is asked again."""
    began_at: float = field(default_factory=time.monotonic)
    remaining: float | None = None
    """Seconds that the tool had left when it asked."""
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)

    def check(self, given: Any) -> Answers:
        """The answers as the MCP server gets them.

        Raises:
            InvalidAnswer: an answer is missing, or does not fit its question.
        """
        named: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
        if missing := self.questions.keys() - named.keys():
            raise InvalidAnswer(f"{sorted(missing)[0][:80]!r}: this question has no answer")
        return {key: question.check(named[key]) for key, question in self.questions.items()}

    def result(self) -> CallToolResult:
        """The result that asks for answers."""
        server, problem = self.call.server, self.problem
        requests: dict[str, InputRequest] = {
            key: {"method": "elicitation/create", "params": question.params, "mcp_server": server}
            for key, question in self.questions.items()
        }
        required = InputRequired(
            requests=requests,
            request_state=self.state,
            expires_in=max(round(self.began_at + self.seconds - time.monotonic()), 0),
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
        self._parked: dict[CallT, Parked[CallT]] = {}
        self._states: dict[str, CallT] = {}
        """Every state of each call, also those that were used: an Agent whose ack was lost sends one again."""
        self._states_of: dict[CallT, list[str]] = {}

    def of(self, call: CallT) -> Parked[CallT] | None:
        """The entry of a call, if it waits."""
        return self._parked.get(call)

    def overheard_by(self, call: Asker) -> Parked[CallT] | None:
        """An entry of another call with an open question that may be that of this one."""
        return next((each for each in self._parked.values() if call in each.others and not each.answers.done()), None)

    def park(self, call: CallT, questions: Questions, others: Sequence[Asker] = ()) -> Parked[CallT]:
        """Let a call wait for answers.

        Raises:
            Rejected: too many calls wait, or this one has waited for too long.
        """
        theirs = sum(other.caller == call.caller for other in self._parked)
        if len(self._parked) >= MAX_PARKED or theirs >= MAX_PARKED_PER_CALLER:
            raise Rejected("asks a question, and too many calls wait for answers already")
        seconds = min(QUESTION_SECONDS, TOTAL_SECONDS - call.waited)
        if seconds <= 0:
            raise Rejected(f"asks a question, and those before have waited for {TOTAL_SECONDS} s in all")
        parked = self._parked[call] = Parked(call, questions, seconds, others=others)
        parked.timer = asyncio.get_running_loop().call_later(seconds, self._expire, parked)
        self._note_state(parked)
        return parked

    def find(self, state: str, caller: Caller, tool: str, parameters: dict[str, Any]) -> CallT | None:
        """The call of a state, for the caller, tool and parameters that it was made for."""
        call = self._states.get(state)
        if call is None:
            return None
        is_theirs = (call.caller, call.caller.principal) == (caller, caller.principal)
        return call if is_theirs and (call.tool, call.parameters) == (tool, parameters) else None

    def ask_again(
        self, parked: Parked[CallT], problem: str, questions: Questions | None = None, others: Sequence[Asker] = ()
    ) -> None:
        """Ask again, or ask other `questions`, with another state: an answer with the one before is not for them."""
        parked.state, parked.problem = secrets.token_urlsafe(32), problem
        self._note_state(parked)
        if questions is not None:
            parked.questions, parked.answers, parked.others = questions, asyncio.Future(), others

    def end(self, parked: Parked[CallT], answers: Answers | None) -> None:
        """The call does not wait any more. The MCP server gets the answers, if it still waits for them."""
        if self._parked.pop(parked.call, None) is None:
            return
        if parked.timer is not None:
            parked.timer.cancel()
        parked.call.waited += time.monotonic() - parked.began_at
        if not parked.answers.done():
            parked.answers.set_result(answers)

    def forget(self, call: CallT) -> None:
        """The call has ended for its Agent: its states are unknown from now on."""
        for state in self._states_of.pop(call, ()):
            del self._states[state]

    def _note_state(self, parked: Parked[CallT]) -> None:
        self._states[parked.state] = parked.call
        self._states_of.setdefault(parked.call, []).append(parked.state)

    def _expire(self, parked: Parked[CallT]) -> None:
        self.end(parked, declined(parked.questions))
        self._on_expiry(parked.call)
