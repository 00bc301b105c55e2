"""A tool call from request to result: resolve, reject, confirm, call, transform, record. It always has a result.

Running calls are keyed by their caller and the `req_id`. The caller is part of the key because each Agent chooses its
own ids: an Agent must not get the result of a call of another Agent, or cancel it, by using the same id. A request that
repeats a call which has not ended joins it, instead of running the tool twice.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.mcp.questions import Answers, Asker, InvalidAnswer, Questions, Rejected, cancelled, declined
from a2c_smcp.computer.offer import outcomes
from a2c_smcp.computer.offer.approval_request import ApprovalRequest
from a2c_smcp.computer.offer.approvals import WAITING, Approvals
from a2c_smcp.computer.offer.confirmation import Caller, CallToConfirm, ConfirmCallback
from a2c_smcp.computer.offer.history import EndedCall, History
from a2c_smcp.computer.offer.manager import MCPServerManager
from a2c_smcp.computer.offer.parking import Parked, Parking
from a2c_smcp.computer.offer.progress import SILENT, Listener, ReportRate
from a2c_smcp.computer.offer.running import Call, CancelReason, Key, Turn
from a2c_smcp.computer.offer.tools import Entry
from a2c_smcp.computer.offer.vrl import RUN_SECONDS, Transformer
from a2c_smcp.errors import (
    InternalError,
    MalformedRequestError,
    SMCPError,
    ToolFailedError,
    ToolNotFoundError,
)
from a2c_smcp.smcp import TOOL_CALL_EVENT
from a2c_smcp.utils.failures import log_failure
from a2c_smcp.utils.listeners import Listeners
from a2c_smcp.utils.result_meta import A2C_VRL_TRANSFORMED, REJECTED_QUESTIONS
from a2c_smcp.utils.results import CallToolResult, to_wire
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

OURSELVES = Caller()
DECIDE_AHEAD = 0.5
"""Seconds before the timeout of a call at which it ends without an approval; of a shorter one, a tenth of its time. The
Agent stops waiting at the timeout, and is to hear before that that nobody confirmed the call."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """What an Agent sends to continue a call that asked for input."""

    request_state: str
    input_responses: Mapping[str, Any]


class ToolCalls:
    """The calls of a Computer."""

    def __init__(
        self, manager: MCPServerManager, history: History, confirm: ConfirmCallback | None, redact: Redact
    ) -> None:
        self.approvals = Approvals(manager, confirm)
        self.ended: Listeners[Call] = Listeners()
        """Hears of each call that has ended, with or without success."""
        self._manager = manager
        self._history = history
        self._redact = redact
        self._calls: set[Call] = set()
        """The calls that run or wait for a person."""
        self._by_id: dict[Key, Call] = {}
        """Those that a request can lead to."""
        self._parking = Parking[Call](self._abandon)
        self._sharing: set[asyncio.Task[None]] = set()
        """Those that wait for the answer to the question of another call. They end with their call or that question."""
        self._rate = ReportRate(redact)
        self._transformer = Transformer()

    async def execute(
        self,
        req_id: str,
        tool: str,
        parameters: dict[str, Any],
        timeout: float | None,
        caller: Caller = OURSELVES,
        *,
        listener: Listener = SILENT,
        continuation: Continuation | None = None,
    ) -> CallToolResult:
        """Run a call to its result, or to a question of its MCP server. A request with the caller, id, tool and
        parameters of a call that has not ended gets the result or the question of that call; with another tool or other
        parameters it is rejected.

        With a `continuation`, the call that asked the question goes on.
        """
        key = caller.office_id, caller.agent, req_id
        held = call = self._by_id.get(key)
        if continuation is not None:
            call = self._parking.find(continuation.request_state, caller, tool, parameters)
            if call is None:
                return _rejected(req_id, "request_state: unknown, used or expired; call the tool again without it")
        if held is not None and (held is not call or (held.tool, held.parameters) != (tool, parameters)):
            return _rejected(req_id, f"req_id: {req_id!r} belongs to another call, which has not ended")
        turn = Turn(key, listener, self._rate)
        if call is None:
            call = self._start(turn, tool, parameters, timeout, caller)
        elif (parked := self._parking.of(call)) is not None and call.turn.result is not None:
            given: Mapping[str, Any] | None = None
            if continuation is not None and continuation.request_state == parked.state:
                given = continuation.input_responses
            if (result := self._continue(parked, turn, timeout, given)) is not None:
                return result
        turn = call.turn
        try:
            return await turn.wait()
        finally:
            # Several requests may wait for one call. The last one that is cancelled cancels it.
            if not turn.is_wanted:
                self._stop(call, "agent_cancelled")

    def _start(self, turn: Turn, tool: str, parameters: dict[str, Any], timeout: float | None, caller: Caller) -> Call:
        deadline = None if timeout is None else time.monotonic() + timeout
        call = Call(self._ask, self._share, caller, tool, parameters, timeout, deadline, turn)
        call.task = asyncio.create_task(self._run(call), name=f"call {turn.req_id}")
        # A callback of the task, not a `finally` inside of it: a task that is cancelled before its first step never
        # runs its code, and would stay in the table.
        call.task.add_done_callback(functools.partial(self._give_up, call))
        self._calls.add(call)
        self._by_id[turn.key] = call
        return call

    def cancel(self, req_id: str, caller: Caller | None = None) -> bool:
        """Cancel a call of one caller, or of any, that is running or waits for a person; whether there was one."""
        return self._cancel(
            "agent_cancelled", lambda call: call.turn.req_id == req_id and caller in (None, call.caller)
        )

    def cancel_all(self, office_id: str, agent: str | None = None) -> bool:
        """Cancel every call of an office, because this Computer left it, or of one Agent that left it; whether there
        was one."""
        return self._cancel(
            "computer_left" if agent is None else "agent_left",
            lambda call: call.caller.office_id == office_id and agent in (None, call.caller.agent),
        )

    def _cancel(self, reason: CancelReason, is_meant: Callable[[Call], bool]) -> bool:
        meant = [call for call in self._calls if call.cancel_reason is None and is_meant(call)]
        for call in meant:
            self._stop(call, reason)
        return bool(meant)

    def _stop(self, call: Call, reason: CancelReason) -> None:
        """Cancel a call. If it asks a question, the MCP server gets the answer that there will be none."""
        call.cancel(reason)
        if (parked := self._parking.of(call)) is not None:
            self._parking.end(parked, cancelled(parked.questions))
        if call.task.done():  # it waited for the next request of its Agent only
            self._forget(call)
        elif call.turn.result is not None:  # its Agent has the question, which nobody can answer any more
            self._unlist(call)

    def _forget(self, call: Call) -> None:
        """A call has ended, and its Agent has the result or does not need it."""
        self._calls.discard(call)
        self._unlist(call)

    def _unlist(self, call: Call) -> None:
        """No request leads to this call any more."""
        self._parking.forget(call)
        key = call.turn.key
        if self._by_id.get(key) is call:  # after a question expired, its Agent may have made another call with this id
            del self._by_id[key]

    # -------------------------------------------------------------------------------------------------------- questions

    async def _ask(self, call: Call, questions: Questions, others: Sequence[Asker]) -> Answers | None:
        """Let a call wait until its caller answers; without an answer in time, the questions are declined."""
        try:
            return await self._ask_person(call, questions, others)
        except Rejected as rejection:
            call.reject(str(rejection))
            return declined(questions)

    async def _ask_person(self, call: Call, questions: Questions, others: Sequence[Asker] = ()) -> Answers | None:
        async with call.asking:  # a server may ask several questions at once: one is asked after another
            if not call.readiness:
                return None
            parked = self._parking.of(call)
            is_new = parked is None
            if parked is None:
                parked = self._parking.park(call, questions, others)
            else:
                # The server took its question back and asks another, before the Agent answered. No request waits for
                # the new one: the Agent gets it when it answers the old one.
                problem = "the question before was taken back; this is another one"
                self._parking.ask_again(parked, problem, questions, others)
            # The time that a person needs does not count for the tool.
            parked.remaining = call.remaining()
            call.set_timeout(None)
            try:
                if is_new:
                    await self._end_turn(call, parked)
                return await parked.answers
            except asyncio.CancelledError:
                self._take_back(call, parked)
                raise

    async def _end_turn(self, call: Call, parked: Parked[Call]) -> None:
        """End the turn of a call with its question."""
        logger.info("%s of %s asks a question", call.tool, call.server, extra={"req_id": call.turn.req_id})
        turn = call.turn
        if turn.reports is not None:
            await turn.reports.finish()
        if self._parking.of(call) is parked:  # the call may have ended meanwhile
            turn.settle(parked.result())

    # A server before 2026-07-28 does not say which call asks. The question may be that of a call whose time is up,
    # while a person reads it under another. The timeout cannot wait for that person: the Agent and the Server
    # count it, too.
    # Therefore the call ends its turn with the same question, and the first answer to either is the answer.
    def _share(self, call: Call) -> bool:
        """At the deadline of a call: let it wait for the answer to an open question that may be its own."""
        original = self._parking.overheard_by(call)
        if original is None or call.readiness < 2 or not call.admit(is_sure=False):
            return False
        turn = call.turn

        async def wait() -> None:
            try:
                answers = await self._ask_person(call, original.questions)
            except Rejected:
                return
            # Not if it expired, or the call was cancelled: the original may still be answered.
            is_answered = answers is not None and not call.is_abandoned and call.cancel_reason is None
            if is_answered and not original.answers.done():
                original.answers.set_result(answers)

        def end(sharing: asyncio.Task[None]) -> None:
            self._sharing.discard(sharing)
            if call.turn is turn and turn.result is None:  # the Agent did not get the question
                call.set_timeout(0)

        sharing = asyncio.create_task(wait(), name=f"shared question of call {turn.req_id}")
        self._sharing.add(sharing)
        sharing.add_done_callback(end)
        # If it is answered under the other call, or taken back, the Agent has a question that needs no answer. Its next
        # request continues the call.
        original.answers.add_done_callback(lambda _: sharing.cancel())
        call.set_timeout(None)
        return True

    def _take_back(self, call: Call, parked: Parked[Call]) -> None:
        """The MCP server does not wait for the answer any more. The tool goes on, with the time that it had left."""
        if self._parking.of(call) is not parked:
            return
        if call.turn.result is None:  # the Agent has not got the question, and its request waits for the result
            self._parking.end(parked, None)
        call.set_timeout(parked.remaining)

    def _continue(
        self, parked: Parked[Call], turn: Turn, timeout: float | None, given: Mapping[str, Any] | None
    ) -> CallToolResult | None:
        """Begin the next turn of a call with the answers, if any are given; a result if the turn ends at once."""
        call = parked.call
        answers: Answers | None = None
        if not parked.answers.done():  # otherwise the MCP server took its question back
            if given is None:
                # The request is repeated, or answers a question before this one: its ack may have been lost.
                return parked.result()
            try:
                answers = parked.check(given)
            except InvalidAnswer as problem:
                if call.admit():
                    self._parking.ask_again(parked, str(problem))
                    return parked.result()
                call.reject("asks a question that gets only answers that do not fit")
                answers = declined(parked.questions)
        # Also if the call has ended: the question may be that of another call, which waits for the answer.
        self._parking.end(parked, answers)
        if call.task.done():
            self._forget(call)
            return call.task.result()
        self._by_id.pop(call.turn.key, None)
        call.turn, call.timeout = turn, timeout
        call.set_timeout(timeout)
        self._by_id[turn.key] = call
        return None

    def _abandon(self, call: Call) -> None:
        """A question expired. The server has got a decline, and some time to finish."""
        logger.info("nobody answered the question of %s", call.server, extra={"req_id": call.turn.req_id})
        call.is_abandoned = True
        call.set_timeout(ABANDONED_SECONDS)
        self._unlist(call)  # its Agent may call the tool again
        if call.task.done():
            self._forget(call)

    async def aclose(self) -> None:
        """Cancel every call."""
        tasks = [call.task for call in self._calls]
        self._cancel("computer_stopped", lambda _: True)
        if tasks:
            await asyncio.wait(tasks)
        await self.approvals.aclose()
        await self._transformer.aclose()

    # ----------------------------------------------------------------------------------------------------- the pipeline

    async def _run(self, call: Call) -> CallToolResult:
        result = await self._result(call)
        if call.rejected:
            result.meta = {**(result.meta or {}), REJECTED_QUESTIONS: call.rejected}
        # The turn may have changed since the call began, and has none after a question that nobody answered.
        if (reports := call.turn.reports) is not None:
            await reports.finish()
        parked = self._parking.of(call)
        if parked is not None and call.turn.result is None:
            self._parking.end(parked, None)
            parked = None
        # Before the result is given out: its Agent may use the same id again at once. If the Agent has a question, the
        # result is for its next request.
        if parked is None:
            self._forget(call)
        self._record(call, call.error)
        call.turn.settle(result)
        return result

    async def _result(self, call: Call) -> CallToolResult:
        try:
            result = await self._perform(call)
            if result.is_error:
                call.error, call.code = outcomes.text_of(result), ToolFailedError.code
            return result
        except SMCPError as refusal:
            return self._refuse(call, refusal)
        except asyncio.CancelledError:
            if call.failure is None or call.cancel_reason is not None:
                raise
            call.task.uncancel()
            return self._refuse(call, call.failure)
        except Exception as fault:  # the edge of a call: every request gets an answer
            logger.exception("the call of %s broke", call.tool, extra={"req_id": call.turn.req_id})
            call.error, call.code = f"internal fault: {type(fault).__name__}", InternalError.code
            return outcomes.failure(call.error, type(fault).__name__, {"error_code": InternalError.code})

    def _refuse(self, call: Call, refusal: SMCPError) -> CallToolResult:
        call.error, call.code = refusal.message, refusal.code
        return outcomes.refused(refusal)

    async def _perform(self, call: Call) -> CallToolResult:
        entry = self._manager.book.entries.get(call.tool) or await self._find(call)
        call.server = entry.server
        if not entry.meta.auto_apply and not self.approvals.allow_all:
            entry = await self._approved(call, entry)
        label = f"req_id={call.turn.req_id} {entry.server}/{entry.original_name}"
        call.tool_begins()
        try:
            result = await self._manager.acall_tool(
                entry.server, entry.original_name, call.parameters, None, label, call.report, call
            )
        finally:
            call.tool_ends()
        if result.is_error:
            result = outcomes.failed(result, self._redact)
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
            except (ToolNotFoundError, ToolFailedError) as absence:
                if not self._manager.is_coming(call.tool):
                    raise self._manager.book.explain(call.tool, absence) from None
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await change.wait()
            except TimeoutError:
                raise ToolFailedError(f"the MCP server of the tool {call.tool} is still starting") from None

    async def _approved(self, call: Call, entry: Entry) -> Entry:
        """The tool, once its owner allows this call.

        Raises:
            SMCPError: it may not run.
        """
        to_confirm = CallToConfirm(call.caller, _decided_before(call))
        config = self._manager.config(entry.server)
        request = ApprovalRequest(call.turn.req_id, entry, call.tool, call.parameters, to_confirm, config)
        verdict = await self.approvals.approve(request, lambda: call.report(0, None, WAITING))
        if verdict is not None:
            call.approved_by = verdict.by
        # An approval may take minutes. If the tool or its server has changed since, it does not apply. Nothing is
        # awaited between this check and the request to the server.
        entry = await self._find(call)
        self.approvals.check(request, entry, call.parameters)
        return entry

    # A script may run on for `VRL_GRACE` after the call's timeout: the tool has done its work already, and a result
    # that is a little late is better than none.
    async def _transform(self, script: str, call: Call, result: CallToolResult) -> None:
        event = {**to_wire(result), "tool_name": call.tool, "parameters": call.parameters}
        remaining = call.remaining()
        seconds = RUN_SECONDS if remaining is None else min(RUN_SECONDS, remaining + VRL_GRACE)
        transformed = await self._transformer.run(script, event, seconds)
        if transformed is not None:
            result.meta = {**(result.meta or {}), A2C_VRL_TRANSFORMED: transformed}

    def _give_up(self, call: Call, task: asyncio.Task[CallToolResult]) -> None:
        """End a call that was cancelled."""
        if not task.cancelled():
            return
        reason = call.cancel_reason or "computer_stopped"  # the event loop is being closed
        self._stop(call, reason)
        if (reports := call.turn.reports) is not None:
            reports.stop()
        self._record(call, "cancelled")
        call.turn.settle(outcomes.cancelled(reason))

    def _record(self, call: Call, error: str | None) -> None:
        """Record a call that ended."""
        req_id = call.turn.req_id
        self._history.add(EndedCall(call.started, req_id, call.server, call.tool, call.parameters, call.timeout, error))
        if self.ended:
            call.error = error
            self.ended(call)
        principal = call.caller.principal
        user = f" for {one_line(principal, LONGEST_PRINCIPAL)}" if principal is not None else ""
        if error is None:
            logger.info("%s of %s%s: ok", call.tool, call.server, user, extra={"req_id": req_id})
        else:
            place = (f"{call.tool} of {call.server}" if call.server else call.tool) + user
            log_failure(logger, TOOL_CALL_EVENT, req_id, call.code, f"{place}: {error}")


def _decided_before(call: Call) -> float | None:
    """When a call ends that nobody has approved; None if it may wait forever."""
    if call.deadline is None or call.timeout is None:
        return None
    return call.deadline - min(DECIDE_AHEAD, call.timeout / 10)


def _rejected(req_id: str, problem: str) -> CallToolResult:
    log_failure(logger, TOOL_CALL_EVENT, req_id, MalformedRequestError.code, problem)
    return outcomes.refused(MalformedRequestError(problem))
