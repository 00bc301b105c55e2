"""A tool call from request to result: resolve, reject, confirm, call, transform, record. It always has a result.

Running calls are keyed by their caller and the `req_id`. The caller is part of the key because each Agent chooses its
own ids: an Agent must not get the result of a call of another Agent, or cancel it, by using the same id. A request that
repeats a running call joins it, instead of running the tool twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from mcp_types import TextContent

from a2c_smcp.computer.config.model import A2C_VRL_TRANSFORMED
from a2c_smcp.computer.mcp.questions import Answers, InvalidAnswer, Questions, declined
from a2c_smcp.computer.offer.confirmation import (
    Caller,
    CallToConfirm,
    Confirmation,
    ConfirmCallback,
)
from a2c_smcp.computer.offer.history import History, ToolCallRecord
from a2c_smcp.computer.offer.manager import MCPServerManager
from a2c_smcp.computer.offer.parking import Parked, Parking
from a2c_smcp.computer.offer.progress import ProgressRate, SendProgress
from a2c_smcp.computer.offer.running import MAX_ROUNDS, Call, Turn
from a2c_smcp.computer.offer.tools import Entry
from a2c_smcp.computer.offer.vrl import RUN_SECONDS, Transformer
from a2c_smcp.errors import (
    InternalError,
    LoginNeededError,
    LoginRefusedError,
    MalformedRequestError,
    SMCPError,
    ToolDisabledError,
    ToolFailedError,
    ToolNotFoundError,
    ToolTimedOutError,
)
from a2c_smcp.smcp import TOOL_CALL_EVENT
from a2c_smcp.utils.failures import log_failure
from a2c_smcp.utils.results import CallToolResult, from_wire, to_wire
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

START_PATIENCE = 30.0
"""Seconds that a call without a timeout waits for a server that is starting."""
VRL_GRACE = 2.0
"""Seconds that a script may take after the call's timeout. The Server waits 5 seconds longer than the timeout, so the
result still arrives."""
ABANDONED_SECONDS = 10.0
"""Seconds that a tool has to finish after its question expired: nobody waits for its result."""
LONGEST_PRINCIPAL = 100
"""Characters of the name of a user in the log."""
REJECTED_QUESTIONS = "a2c_rejected_questions"
"""The key, in the `meta` of a result, of the reasons why questions were rejected."""

OURSELVES = Caller()


@dataclass(frozen=True, slots=True)
class Continuation:
    """What an Agent sends to continue a call that asked for input."""

    request_state: str
    input_responses: Mapping[str, Any]


class ToolCalls:
    """The calls of a Computer."""

    def __init__(
        self, manager: MCPServerManager, history: History, confirm: ConfirmCallback | None, redact: Callable[[str], str]
    ) -> None:
        self.confirmation = Confirmation(confirm)
        self._manager = manager
        self._history = history
        self._redact = redact
        self._running: dict[tuple[Caller, str], Call] = {}
        self._parking = Parking[Call](self._abandon)
        self._progress = ProgressRate(redact)
        self._transformer = Transformer()

    async def execute(
        self,
        req_id: str,
        tool: str,
        parameters: dict[str, Any],
        timeout: float | None,
        caller: Caller = OURSELVES,
        *,
        send_progress: SendProgress | None = None,
        continuation: Continuation | None = None,
    ) -> CallToolResult:
        """Run a call to its result, or to a question of its MCP server. A request with the caller, id, tool and
        parameters of a running call gets the result of that call; with another tool or other parameters it is rejected.

        With a `continuation`, the call that asked the question goes on.
        """
        call = self._running.get((caller, req_id))
        if call is not None and (call.tool, call.parameters) != (tool, parameters):
            return _rejected(req_id, f"req_id: {req_id!r} belongs to another call, which is still running")
        if call is None:
            turn = Turn(req_id, send_progress, self._progress)
            if continuation is None:
                call = self._start(turn, tool, parameters, timeout, caller)
            else:
                parked = self._parking.find(continuation.request_state, caller, tool, parameters)
                if parked is None:
                    problem = "request_state: unknown, used or expired; call the tool again without it"
                    return _rejected(req_id, problem)
                call = parked.call
                if (result := self._continue(parked, turn, timeout, continuation)) is not None:
                    return result
        return await self._wait(call)

    def _start(self, turn: Turn, tool: str, parameters: dict[str, Any], timeout: float | None, caller: Caller) -> Call:
        deadline = None if timeout is None else time.monotonic() + timeout
        call = Call(self._ask, caller, tool, parameters, timeout, deadline, turn)
        call.task = asyncio.create_task(self._run(call), name=f"call {turn.req_id}")
        # A callback of the task, not a `finally` inside of it: a task that is cancelled before its first step never
        # runs its code, and would stay in the table.
        call.task.add_done_callback(lambda _: self._give_up(call))
        self._running[caller, turn.req_id] = call
        return call

    async def _wait(self, call: Call) -> CallToolResult:
        turn = call.turn
        try:
            return await turn.wait()
        finally:
            # Several requests may wait for one call. The last one that is cancelled cancels it.
            if not turn.is_wanted:
                call.task.cancel()

    def cancel(self, req_id: str, caller: Caller | None = None) -> bool:
        """Cancel a call of one caller, or of any, that is running or waits for a person; whether there was one."""
        return self._cancel(lambda call: call.turn.req_id == req_id and caller in (None, call.caller))

    def cancel_all(self, office_id: str, agent: str | None = None) -> bool:
        """Cancel every call of an office, or of one Agent in it; whether there was one."""
        return self._cancel(lambda call: call.caller.office_id == office_id and agent in (None, call.caller.agent))

    def _cancel(self, is_meant: Callable[[Call], bool]) -> bool:
        meant = [call for call in self._all() if is_meant(call)]
        for call in meant:
            call.task.cancel()
            if (parked := self._parking.of(call)) is not None:
                self._parking.remove(parked)
        return bool(meant)

    def _all(self) -> list[Call]:
        return [*self._running.values(), *self._parking.calls]

    # -------------------------------------------------------------------------------------------------------- questions

    async def _ask(self, call: Call, questions: Questions) -> Answers:
        """Let a call wait until its caller answers; without an answer in time, the questions are declined."""
        async with call.asking:  # a server may ask several questions at once: one is asked after another
            call.rounds += 1
            if call.rounds > MAX_ROUNDS:
                call.end(ToolFailedError(f"MCP server {call.server} asks more than {MAX_ROUNDS} times in one call"))
            if call.is_abandoned or call.rounds > MAX_ROUNDS:
                return declined(questions)
            parked = self._parking.of(call)
            if parked is not None:
                # The server took its question back and asks another, before the Agent answered. No request waits for
                # the new one: the Agent gets it when it answers the old one.
                parked.questions, parked.answers = questions, asyncio.Future()
            else:
                parked = self._parking.park(call, questions)
                if parked is None:
                    call.reject("asks a question, and too many calls wait for answers already")
                    return declined(questions)
                await self._pause(call, parked)
            return await parked.answers

    async def _pause(self, call: Call, parked: Parked[Call]) -> None:
        """End the turn of a call with its question. The time that a person needs does not count for the tool."""
        logger.info("%s of %s asks a question", call.tool, call.server, extra={"req_id": call.turn.req_id})
        call.set_timeout(None)
        turn = call.turn
        await turn.finish_progress()
        self._running.pop((call.caller, turn.req_id), None)
        turn.settle(parked.result())

    def _continue(
        self, parked: Parked[Call], turn: Turn, timeout: float | None, continuation: Continuation
    ) -> CallToolResult | None:
        """Begin the next turn of a call with the answers; a result if the turn ends at once."""
        call = parked.call
        if call.task.done():  # the server did not wait for the answer, or is gone
            self._parking.remove(parked)
            return call.task.result()
        try:
            answers = parked.check(continuation.input_responses)
        except InvalidAnswer as problem:
            call.rounds += 1
            if call.rounds <= MAX_ROUNDS:
                self._parking.renew(parked)
                return parked.result(str(problem))
            call.end(ToolFailedError(f"the question of {call.server} got more than {MAX_ROUNDS} invalid answers"))
            answers = declined(parked.questions)
        self._parking.remove(parked)
        call.turn, call.timeout = turn, timeout
        call.set_timeout(timeout)
        self._running[call.caller, turn.req_id] = call
        parked.settle(answers)
        return None

    def _abandon(self, call: Call) -> None:
        """A question expired. The server has got a decline, and some time to finish."""
        call.is_abandoned = True
        call.set_timeout(ABANDONED_SECONDS)
        logger.info("nobody answered the question of %s", call.server, extra={"req_id": call.turn.req_id})

    async def aclose(self) -> None:
        """Cancel every call."""
        tasks = [call.task for call in self._all()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._transformer.aclose()

    # ----------------------------------------------------------------------------------------------------- the pipeline

    async def _run(self, call: Call) -> CallToolResult:
        result = await self._result(call)
        if call.rejected:
            result.meta = {**(result.meta or {}), REJECTED_QUESTIONS: call.rejected}
        # The turn may have changed since the call began, and has none after a question that nobody answered.
        await call.turn.finish_progress()
        # Before the result is given out: its Agent may use the same id again at once.
        self._end(call, call.error)
        call.turn.settle(result)
        return result

    async def _result(self, call: Call) -> CallToolResult:
        try:
            result = await self._perform(call)
            if result.is_error:
                call.error, call.code = _text_of(result), ToolFailedError.code
            return result
        except SMCPError as refusal:
            return self._refuse(call, refusal)
        except asyncio.CancelledError:
            if call.failure is None:
                raise
            call.task.uncancel()
            return self._refuse(call, call.failure)
        except Exception as fault:  # the edge of a call: every request gets an answer
            logger.exception("the call of %s broke", call.tool, extra={"req_id": call.turn.req_id})
            call.error, call.code = f"internal fault: {type(fault).__name__}", InternalError.code
            return _failure(call.error, type(fault).__name__, {"error_code": InternalError.code})

    def _refuse(self, call: Call, refusal: SMCPError) -> CallToolResult:
        call.error, call.code = refusal.message, refusal.code
        meta: dict[str, Any] = {"error_code": refusal.code}
        if isinstance(refusal, LoginNeededError | LoginRefusedError):
            meta |= refusal.details or {}  # `mcp_server` and `auth_hint`
        return _failure(refusal.message, type(refusal).__name__, meta)

    async def _perform(self, call: Call) -> CallToolResult:
        entry = await self._find(call)
        call.server = entry.server
        to_confirm = CallToConfirm(call.caller, call.deadline)
        await self.confirmation.confirm(call.turn.req_id, call.tool, call.parameters, entry, to_confirm)
        # A confirmation may take minutes. The owner confirmed this tool of this server as it was described then: if the
        # configuration or the server has changed since, the confirmation does not apply.
        if self._manager.book.find(call.tool) != entry:
            raise ToolDisabledError(f"the tool {call.tool} was changed while it waited for confirmation")
        label = f"req_id={call.turn.req_id} {entry.server}/{entry.original_name}"
        try:
            async with asyncio.timeout(call.remaining()) as call.clock:
                result = await self._manager.acall_tool(
                    entry.server, entry.original_name, call.parameters, None, label, call.report, call
                )
        except TimeoutError:
            raise ToolTimedOutError(f"the tool {call.tool} did not finish within {call.timeout:g} s") from None
        if result.is_error:
            result = self._failed(result)
        script = self._manager.script(entry.server)
        if script is not None:
            await self._transform(script, call, result)
        return result

    async def _find(self, call: Call) -> Entry:
        """The tool, after waiting for its server if that is starting.

        Raises:
            SMCPError: there is no such tool, or it cannot be called.
        """
        # An Agent that connects while this Computer starts would otherwise get `tool not found` for its first call.
        patience = call.remaining()
        deadline = time.monotonic() + (START_PATIENCE if patience is None else patience)
        while True:
            # Taken before the book is read: a server that becomes ready in between sets this event, and the wait ends
            # at once.
            change = self._manager.next_change()
            try:
                return self._manager.book.find(call.tool)
            except (ToolNotFoundError, ToolFailedError):
                if not self._manager.is_coming(call.tool):
                    raise
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await change.wait()
            except TimeoutError:
                raise ToolFailedError(f"the MCP server of the tool {call.tool} is still starting") from None

    # A script may run on for `VRL_GRACE` after the call's timeout: the tool has done its work already, and a result
    # that is a little late is better than none.
    async def _transform(self, script: str, call: Call, result: CallToolResult) -> None:
        event = {**to_wire(result), "tool_name": call.tool, "parameters": call.parameters}
        remaining = call.remaining()
        seconds = RUN_SECONDS if remaining is None else min(RUN_SECONDS, remaining + VRL_GRACE)
        transformed = await self._transformer.run(script, event, seconds)
        if transformed is not None:
            result.meta = {**(result.meta or {}), A2C_VRL_TRANSFORMED: transformed}

    def _failed(self, result: CallToolResult) -> CallToolResult:
        """The failure that a tool reports, with the protocol's code, and without secrets in its text."""
        # Only failures are redacted. Their texts are often exceptions with the whole command or address in them; a
        # successful result is the tool's data, which must arrive as it is.
        result = from_wire(self._redacted(to_wire(result)))
        result.meta = {**(result.meta or {}), "error_code": ToolFailedError.code}
        if result.structured_content is None:
            result.structured_content = {"error": _text_of(result), "error_type": ToolFailedError.__name__}
        return result

    def _redacted(self, data: Any) -> Any:
        if isinstance(data, str):
            return self._redact(data)
        if isinstance(data, dict):
            return {self._redact(key): self._redacted(value) for key, value in cast("dict[str, Any]", data).items()}
        if isinstance(data, list):
            return [self._redacted(value) for value in cast("list[Any]", data)]
        return data

    def _give_up(self, call: Call) -> None:
        """End a call that was cancelled."""
        if not call.task.cancelled():
            return
        if (parked := self._parking.of(call)) is not None:
            self._parking.remove(parked)
        call.turn.stop_progress()
        self._end(call, "cancelled")
        call.turn.settle(_failure("the call was cancelled", "CancelledError", {"a2c_cancelled": True}))

    def _end(self, call: Call, error: str | None) -> None:
        """Record a call that ended."""
        # After a question it is in neither table, or waits in the other one: its result is for the next turn then.
        self._running.pop((call.caller, call.turn.req_id), None)
        record = ToolCallRecord(
            timestamp=call.started,
            req_id=call.turn.req_id,
            server=call.server,
            tool=call.tool,
            parameters=call.parameters,
            timeout=call.timeout,
            success=error is None,
            error=error,
        )
        self._history.add(record)
        principal = call.caller.principal
        user = f" for {one_line(principal, LONGEST_PRINCIPAL)}" if principal is not None else ""
        if error is None:
            logger.info("%s of %s%s: ok", call.tool, call.server, user, extra={"req_id": call.turn.req_id})
        else:
            place = (f"{call.tool} of {call.server}" if call.server else call.tool) + user
            log_failure(logger, TOOL_CALL_EVENT, call.turn.req_id, call.code, f"{place}: {error}")


def _rejected(req_id: str, problem: str) -> CallToolResult:
    log_failure(logger, TOOL_CALL_EVENT, req_id, MalformedRequestError.code, problem)
    return _failure(problem, MalformedRequestError.__name__, {"error_code": MalformedRequestError.code})


def _failure(message: str, error_type: str, meta: dict[str, Any]) -> CallToolResult:
    code = meta.get("error_code")
    text = f"{message} (error {code})" if code is not None else message
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content={"error": message, "error_type": error_type},
        is_error=True,
        _meta=meta,
    )


def _text_of(result: CallToolResult) -> str:
    texts = [part.text for part in result.content if isinstance(part, TextContent)]
    return " ".join(texts) or "the tool failed"
