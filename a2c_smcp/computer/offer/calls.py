"""A tool call from request to result: resolve, reject, confirm, call, transform, record. It always has a result.

Running calls are keyed by their caller and the `req_id`. The caller is part of the key because each Agent chooses its
own ids: an Agent must not get the result of a call of another Agent, or cancel it, by using the same id. A request that
repeats a running call joins it, instead of running the tool twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from mcp_types import TextContent

from a2c_smcp.computer.config.model import A2C_VRL_TRANSFORMED
from a2c_smcp.computer.offer.confirmation import (
    Caller,
    CallToConfirm,
    Confirmation,
    ConfirmCallback,
    is_cancelled_itself,
    seconds_until,
)
from a2c_smcp.computer.offer.history import History, ToolCallRecord
from a2c_smcp.computer.offer.manager import MCPServerManager
from a2c_smcp.computer.offer.tools import Entry
from a2c_smcp.computer.offer.vrl import RUN_SECONDS, Transformer
from a2c_smcp.errors import (
    InternalError,
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

logger = logging.getLogger(__name__)

START_PATIENCE = 30.0
"""Seconds that a call without a timeout waits for a server that is starting."""
VRL_GRACE = 2.0
"""Seconds that a script may take after the call's timeout. The Server waits 5 seconds longer than the timeout, so the
result still arrives."""


OURSELVES = Caller()


@dataclass
class _Call:
    """One call that is running."""

    caller: Caller
    req_id: str
    tool: str
    parameters: dict[str, Any]
    timeout: float | None
    deadline: float | None
    task: asyncio.Task[CallToolResult] = field(init=False)
    waiters: int = 0
    server: str = ""
    error: str | None = None
    code: int | None = None
    """The protocol's code for `error`."""
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))

    def remaining(self) -> float | None:
        """Seconds until the timeout."""
        return seconds_until(self.deadline)


class ToolCalls:
    """The calls of a Computer."""

    def __init__(
        self, manager: MCPServerManager, history: History, confirm: ConfirmCallback | None, redact: Callable[[str], str]
    ) -> None:
        self.confirmation = Confirmation(confirm)
        self._manager = manager
        self._history = history
        self._redact = redact
        self._running: dict[tuple[Caller, str], _Call] = {}
        self._transformer = Transformer()

    async def execute(
        self, req_id: str, tool: str, parameters: dict[str, Any], timeout: float | None, caller: Caller = OURSELVES
    ) -> CallToolResult:
        """Run a call to its result. A request with the caller, id, tool and parameters of a running call gets the
        result of that call; with another tool or other parameters it is rejected."""
        call = self._running.get((caller, req_id))
        if call is None:
            deadline = None if timeout is None else time.monotonic() + timeout
            call = _Call(caller, req_id, tool, parameters, timeout, deadline)
            call.task = asyncio.create_task(self._run(call), name=f"call {req_id}")
            # A callback of the task, not a `finally` inside of it: a task that is cancelled before its first step never
            # runs its code, and would stay in the table.
            call.task.add_done_callback(lambda _: self._end(call))
            self._running[caller, req_id] = call
        elif (call.tool, call.parameters) != (tool, parameters):
            problem = f"req_id: {req_id!r} belongs to another call, which is still running"
            log_failure(logger, TOOL_CALL_EVENT, req_id, MalformedRequestError.code, problem)
            meta = {"error_code": MalformedRequestError.code}
            return _failure(problem, MalformedRequestError.__name__, meta)
        call.waiters += 1
        try:
            # Shielded, because several requests may wait for one call: the first one that is cancelled must not cancel
            # it for the others. The last one that leaves does, below.
            return await asyncio.shield(call.task)
        except asyncio.CancelledError:
            # `acancel_tool` ends the call, and its Agent still gets an answer. If this request itself is cancelled,
            # there is no answer to give.
            if call.task.cancelled() and not is_cancelled_itself():
                return _failure("the call was cancelled", "CancelledError", {"a2c_cancelled": True})
            raise
        finally:
            call.waiters -= 1
            if not call.waiters:
                call.task.cancel()

    def cancel(self, req_id: str, caller: Caller | None = None) -> bool:
        """Cancel a running call of one caller, or of any; whether there was one."""
        return self._cancel(lambda call: call.req_id == req_id and caller in (None, call.caller))

    def cancel_all(self, office_id: str, agent: str | None = None) -> bool:
        """Cancel every running call of an office, or of one Agent in it; whether there was one."""
        return self._cancel(lambda call: call.caller.office_id == office_id and agent in (None, call.caller.agent))

    def _cancel(self, is_meant: Callable[[_Call], bool]) -> bool:
        meant = [call for call in self._running.values() if is_meant(call)]
        for call in meant:
            call.task.cancel()
        return bool(meant)

    async def aclose(self) -> None:
        """Cancel every call."""
        tasks = [call.task for call in self._running.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._transformer.aclose()

    # ----------------------------------------------------------------------------------------------------- the pipeline

    async def _run(self, call: _Call) -> CallToolResult:
        try:
            result = await self._perform(call)
            if result.is_error:
                call.error, call.code = _text_of(result), ToolFailedError.code
            return result
        except SMCPError as refusal:
            call.error, call.code = refusal.message, refusal.code
            return _failure(refusal.message, type(refusal).__name__, {"error_code": refusal.code})
        except Exception as fault:  # the edge of a call: every request gets an answer
            logger.exception("the call of %s broke", call.tool, extra={"req_id": call.req_id})
            call.error, call.code = f"internal fault: {type(fault).__name__}", InternalError.code
            return _failure(call.error, type(fault).__name__, {"error_code": InternalError.code})

    async def _perform(self, call: _Call) -> CallToolResult:
        entry = await self._find(call)
        call.server = entry.server
        to_confirm = CallToConfirm(call.caller, call.deadline)
        await self.confirmation.confirm(call.req_id, call.tool, call.parameters, entry, to_confirm)
        # A confirmation may take minutes. The owner confirmed this tool of this server as it was described then: if the
        # configuration or the server has changed since, the confirmation does not apply.
        if self._manager.book.find(call.tool) != entry:
            raise ToolDisabledError(f"the tool {call.tool} was changed while it waited for confirmation")
        label = f"req_id={call.req_id} {entry.server}/{entry.original_name}"
        try:
            result = await self._manager.acall_tool(
                entry.server, entry.original_name, call.parameters, call.remaining(), label
            )
        except ToolTimedOutError:  # its timeout is what the confirmation left; the message names the whole
            raise ToolTimedOutError(f"the tool {call.tool} did not finish within {call.timeout:g} s") from None
        if result.is_error:
            result = self._failed(result)
        script = self._manager.script(entry.server)
        if script is not None:
            await self._transform(script, call, result)
        return result

    async def _find(self, call: _Call) -> Entry:
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
    async def _transform(self, script: str, call: _Call, result: CallToolResult) -> None:
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

    def _end(self, call: _Call) -> None:
        """Record a call that ended."""
        del self._running[call.caller, call.req_id]
        error = "cancelled" if call.task.cancelled() else call.error
        record = ToolCallRecord(
            timestamp=call.started,
            req_id=call.req_id,
            server=call.server,
            tool=call.tool,
            parameters=call.parameters,
            timeout=call.timeout,
            success=error is None,
            error=error,
        )
        self._history.add(record)
        if error is None:
            logger.info("%s of %s: ok", call.tool, call.server, extra={"req_id": call.req_id})
        else:
            place = f"{call.tool} of {call.server}" if call.server else call.tool
            log_failure(logger, TOOL_CALL_EVENT, call.req_id, call.code, f"{place}: {error}")


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
