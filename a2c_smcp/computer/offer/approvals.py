"""The calls that wait for the approval of the Computer's owner. Any channel may decide; the first decision counts.

Nothing here survives the process: a call that waits when it ends has not been approved. What the owner allows for
longer than one call is in `grants.py`, what is written to the configuration in `rules.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from a2c_smcp.computer.offer.approval_request import ApprovalRequest, Decision, Outcome, Verdict, call_digest
from a2c_smcp.computer.offer.callback_channel import CallbackChannel
from a2c_smcp.computer.offer.confirmation import ConfirmCallback, is_cancelled_itself
from a2c_smcp.computer.offer.grants import Grants
from a2c_smcp.computer.offer.manager import MCPServerManager
from a2c_smcp.computer.offer.rules import Rule, Rules, Saved
from a2c_smcp.computer.offer.tools import Entry
from a2c_smcp.errors import (
    ConfirmationRequiredError,
    MalformedRequestError,
    NotFoundError,
    RateLimitedError,
    SMCPError,
    ToolDisabledError,
    ToolFailedError,
)
from a2c_smcp.utils.listeners import Listeners

logger = logging.getLogger(__name__)

MOST_OF_USER = 20
"""Calls of one user that wait. A person who is asked more does not read any more. An Agent that names no users is one
itself."""
MOST_OF_AGENT = 100
"""Calls of all users of one Agent that wait. Nobody checks the names that an Agent gives, so they must not open the
whole queue to it."""
MOST_WAITING = 200
"""Calls of all that wait."""
LONGEST_WAIT = 3_600.0
"""Seconds that a call without a timeout waits."""
RETRY_AFTER = 10
"""Seconds after which an Agent with too many waiting calls may try again."""
SAY_AFTER = 0.25
"""Seconds after which an Agent is told that its call waits. A rule of a program decides faster."""
WAITING = "waiting for the owner's approval"
MOST_ENDED = 200
"""Requests that are kept after their end."""
KEPT_ARGUMENTS = 64
"""Tools whose last approved arguments are kept, for comparison."""
CLOSE_SECONDS = 5.0
"""For a channel to end what it does."""


class Channel(Protocol):
    """Something that can decide: a prompt, a command, a program."""

    async def decide(self, request: ApprovalRequest) -> Verdict | None:
        """The decision; None if this channel makes none. It is cancelled as soon as another channel decides."""
        ...


class Approvals:
    """The queue of one Computer. `changed` is called when a request begins to wait, and when it ends."""

    def __init__(self, manager: MCPServerManager, callback: ConfirmCallback | None) -> None:
        self.callback = CallbackChannel(callback)
        self.channels: list[Channel] = []
        """Those that are asked about each request, beside the callback."""
        self.grants = Grants()
        self.rules = Rules(manager, self.grants)
        self.allow_all = False
        """Whether every call runs."""
        self.waits = False
        """Whether calls wait although no channel is asked: the owner looks at the queue now and then."""
        self.own_calls: set[str] = set()
        """The ids of calls that the owner makes. They are random, so that no Agent can guess one."""
        self.changed: Listeners[ApprovalRequest] = Listeners()
        self.written: Listeners[tuple[ApprovalRequest, Saved]] = Listeners()
        """Hears what became of the rule of each request that was decided with `always`."""
        self._manager = manager
        self._attending = 0
        self._waiting: dict[str, ApprovalRequest] = {}
        self._ended: deque[ApprovalRequest] = deque(maxlen=MOST_ENDED)
        self._last_arguments: OrderedDict[tuple[str, str], Mapping[str, Any]] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        """What the channels do. Each ends with its request; `aclose` waits for those that are still ending."""
        self._saving: dict[str, asyncio.Task[Saved]] = {}
        """The rules that are being written, by the request."""
        manager.changed.add(self._recheck)

    # ----------------------------------------------------------------------------------------------------- for channels

    @property
    def waiting(self) -> tuple[ApprovalRequest, ...]:
        """The requests that wait, the oldest first."""
        return tuple(self._waiting.values())

    @property
    def ended(self) -> tuple[ApprovalRequest, ...]:
        """The last requests that ended, the oldest first."""
        return tuple(self._ended)

    @property
    def can_ask(self) -> bool:
        """Whether a call can wait, because somebody may answer."""
        return bool(self.callback.callback is not None or self.channels or self._attending or self.waits)

    @contextmanager
    def attended(self) -> Generator[None]:
        """Let calls wait while the block runs: somebody looks at the queue."""
        self._attending += 1
        try:
            yield
        finally:
            self._attending -= 1

    def find(self, request_id: str) -> ApprovalRequest:
        """A request that waits, or that ended not long ago.

        Raises:
            NotFoundError: there is none.
        """
        found = self._waiting.get(request_id) or next((each for each in self._ended if each.id == request_id), None)
        if found is None:
            raise NotFoundError(f"there is no request for approval {request_id}")
        return found

    def decide(self, request_id: str, verdict: Verdict, digest: str | None = None) -> bool:
        """Decide about a request; whether this was the first decision, and in time. `digest` is that of the call that
        the owner has seen.

        Raises:
            NotFoundError: there is no such request.
            MalformedRequestError: the request is for another call than the digest.
        """
        request = self.find(request_id)
        if digest is not None and digest != request.digest:
            raise MalformedRequestError("digest: the request is for another call")
        return request_id in self._waiting and request.is_waiting and self._settle(request, verdict)

    def last_arguments(self, entry: Entry) -> Mapping[str, Any] | None:
        """The arguments of the last call of a tool that was approved."""
        return self._last_arguments.get((entry.server, entry.original_name))

    async def saved(self, request: ApprovalRequest) -> Saved | None:
        """What became of the rule that was to be written with a decision; None if there was none to write."""
        saving = self._saving.get(request.id)
        return await asyncio.shield(saving) if saving is not None else None

    def _settle(self, request: ApprovalRequest, verdict: Verdict) -> bool:
        """Take a verdict, if it is the first; whether it is."""
        if not request.settle(verdict):
            return False
        if verdict.decision is Decision.ALWAYS:
            # Beside the call, which runs at once: the definition that its digest covers is without the permission.
            saving = asyncio.create_task(self._save(request), name=f"rule for {request.tool}")
            self._saving[request.id] = saving
            saving.add_done_callback(lambda _: self._saving.pop(request.id))
        return True

    async def _save(self, request: ApprovalRequest) -> Saved:
        try:
            saved = await self.rules.set(request.entry.server, request.entry.original_name, Rule.RUN)
        except NotFoundError as error:  # the tool has just gone
            saved = Saved(None, error.message)
        self.written((request, saved))
        return saved

    # -------------------------------------------------------------------------------------------------------- for calls

    async def approve(self, request: ApprovalRequest, tell: Callable[[], None]) -> Verdict | None:
        """Return if the call may run, after a last `check`: with the verdict, or None if a grant of the owner covers
        it. `tell` is called if it has to wait. The approval is used up.

        Raises:
            ConfirmationRequiredError: it may not run, or there is no decision in time.
            RateLimitedError: too many calls wait.
            SMCPError: the tool cannot be called any more.
        """
        if request.req_id in self.own_calls or self.grants.covers(request):
            return None
        if not self.can_ask:
            raise ConfirmationRequiredError(
                f"the tool {request.tool} needs confirmation, and this Computer has nobody to ask: "
                "its owner may set auto_apply for it"
            )
        self._admit(request)
        verdict = await self._wait(request, tell)
        if verdict.error is not None:
            raise verdict.error
        if not verdict.decision.allows:
            why = f": {verdict.reason}" if verdict.reason else ""
            raise ConfirmationRequiredError(f"the owner of this Computer did not allow the tool {request.tool}{why}")
        self._remember(request)
        if verdict.decision is not Decision.ALLOW:
            self.grants.add(request, verdict)
            for other in self.waiting:
                if self.grants.covers(other):
                    self._settle(other, Verdict(Decision.ALLOW, verdict.by))
        return verdict

    def check(self, request: ApprovalRequest, entry: Entry, parameters: Mapping[str, Any]) -> None:
        """Compare what is about to run with what was approved, for the last time.

        Raises:
            ConfirmationRequiredError: a program that holds the arguments has changed them.
            ToolDisabledError: the tool or its MCP server is another one now.
        """
        if call_digest(request.definition, parameters) != request.digest:
            raise ConfirmationRequiredError(f"the arguments of the tool {request.tool} changed after its approval")
        if not self._is_same(request, entry):
            raise _changed(request)

    def _admit(self, request: ApprovalRequest) -> None:
        caller = request.call.caller
        of_agent = [each for each in self._waiting.values() if caller.agent and each.call.caller == caller]
        of_user = sum(each.call.caller.principal == caller.principal for each in of_agent)
        for count, most, whose in (
            (of_user, MOST_OF_USER, "of this user"),
            (len(of_agent), MOST_OF_AGENT, "of this Agent"),
            (len(self._waiting), MOST_WAITING, "of all Agents"),
        ):
            if count >= most:
                raise RateLimitedError(
                    f"{count} calls {whose} wait for the owner's approval already; wait for those first",
                    details={"retry_after": RETRY_AFTER},
                )

    async def _wait(self, request: ApprovalRequest, tell: Callable[[], None]) -> Verdict:
        self._waiting[request.id] = request
        tasks = self._ask(request)
        telling = asyncio.get_running_loop().call_later(SAY_AFTER, tell)
        outcome = Outcome.WITHDRAWN  # if this call is cancelled
        try:
            self.changed(request)
            remaining = request.call.remaining()
            _, late = await asyncio.wait((request.decided,), timeout=LONGEST_WAIT if remaining is None else remaining)
            # Also a decision that came just before the timeout: nothing may begin after it.
            if late or request.call.remaining() == 0:
                outcome = Outcome.EXPIRED
                raise ConfirmationRequiredError(f"nobody confirmed the tool {request.tool} in time")
            verdict = request.decided.result()
            is_withdrawn = verdict.error is not None and not isinstance(verdict.error, ConfirmationRequiredError)
            if not is_withdrawn:
                outcome = Outcome.ALLOWED if verdict.decision.allows else Outcome.DENIED
            return verdict
        finally:
            telling.cancel()
            del self._waiting[request.id]
            self._ended.append(request)
            request.end(outcome)
            for task in tasks:
                task.cancel()
            self.changed(request)

    def _ask(self, request: ApprovalRequest) -> list[asyncio.Task[None]]:
        """Ask every channel. If all of them decline to decide and nobody else looks, nothing is left to wait for."""
        channels: list[Channel] = [*self.channels]
        if self.callback.callback is not None:
            channels.insert(0, self.callback)
        undecided = len(channels)

        async def ask(channel: Channel) -> None:
            nonlocal undecided
            try:
                verdict = await channel.decide(request)
            except asyncio.CancelledError:
                if is_cancelled_itself():
                    raise
                verdict = None  # the channel gave up
            except Exception:  # the edge of a channel: the others must still be able to decide
                logger.exception("a channel for approvals failed", extra={"req_id": request.req_id})
                verdict = None
            undecided -= 1
            if verdict is None and not undecided and not self._attending and not self.waits:
                error = ConfirmationRequiredError(f"nobody decided about the tool {request.tool}")
                verdict = Verdict(Decision.DENY, "nobody", error=error)
            if verdict is not None:
                self._settle(request, verdict)

        tasks = [asyncio.create_task(ask(channel), name=f"approval of call {request.req_id}") for channel in channels]
        for task in tasks:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return tasks

    def _is_same(self, request: ApprovalRequest, entry: Entry) -> bool:
        return request.is_for(entry, self._manager.config(entry.server))

    def _obstacle(self, request: ApprovalRequest) -> SMCPError | None:
        """Why the tool of a request is no longer the one that the owner sees; None if it is, or may return."""
        try:
            entry = self._manager.book.find(request.tool)
        except ToolFailedError as error:  # its server is not ready
            return None if self._manager.may_return(request.entry.server) else error
        except SMCPError as error:
            return error
        return None if self._is_same(request, entry) else _changed(request)

    def _recheck(self, _: str) -> None:
        """The tools or servers changed: withdraw the requests for those that are others now."""
        for request in self.waiting:
            if (obstacle := self._obstacle(request)) is not None:
                request.settle(Verdict(Decision.DENY, "a change of the tool", error=obstacle))

    def _remember(self, request: ApprovalRequest) -> None:
        key = request.entry.server, request.entry.original_name
        self._last_arguments.pop(key, None)
        if request.parameters is not None:
            self._last_arguments[key] = request.parameters
            if len(self._last_arguments) > KEPT_ARGUMENTS:
                self._last_arguments.popitem(last=False)

    async def aclose(self) -> None:
        """Wait for the channels to end, which their requests have done before."""
        for task in tuple(self._tasks):
            task.cancel()
        ending = (*self._tasks, *self._saving.values())
        if ending:
            _, late = await asyncio.wait(ending, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
        self.grants.clear()


def _changed(request: ApprovalRequest) -> SMCPError:
    return ToolDisabledError(f"the tool {request.tool} was changed while it waited for confirmation")
