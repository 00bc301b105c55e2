"""The queue of calls that wait for approval: who may decide, for how long, and what the Agent hears."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from a2c_smcp.computer.offer.approval_request import ApprovalRequest, Decision, Verdict
from a2c_smcp.computer.offer.approvals import MOST_OF_AGENT, MOST_OF_USER, WAITING
from a2c_smcp.computer.offer.calls import ToolCalls
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.history import History
from a2c_smcp.computer.offer.progress import Listener
from a2c_smcp.errors import NotFoundError
from tests.support.memory_tools import MemoryManager
from tests.support.outcomes import code_of, text_of
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

ANN = Caller("office", "ann")


class Desk:
    """A Computer's calls, with servers in memory."""

    def __init__(self) -> None:
        self.manager = MemoryManager()
        self.calls = ToolCalls(self.manager, History(), None, lambda text, width=None: text[:width])
        self.approvals = self.calls.approvals
        self._numbers = iter(range(1_000))

    def call(self, tool: str = "read", timeout: float | None = PATIENCE, /, **options: Any) -> asyncio.Task[Any]:
        caller = options.pop("caller", ANN)
        work = self.calls.execute(f"r{next(self._numbers)}", tool, {"path": "a"}, timeout, caller, **options)
        return asyncio.create_task(work)

    async def waiting(self, count: int = 1) -> tuple[ApprovalRequest, ...]:
        """The requests, once there are so many."""
        arrived = asyncio.Event()
        end = self.approvals.changed.add(lambda _: arrived.set())
        async with asyncio.timeout(PATIENCE):
            while len(self.approvals.waiting) < count:
                arrived.clear()
                await arrived.wait()
        end()
        return self.approvals.waiting

    def decide(self, request: ApprovalRequest, decision: Decision, by: str = "test", reason: str | None = None) -> bool:
        return self.approvals.decide(request.id, Verdict(decision, by, reason), request.digest)


class Slow:
    """A channel that decides when it is told to."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[Verdict | None] = asyncio.get_running_loop().create_future()
        self.asked = asyncio.Event()
        self.was_cancelled = False

    async def decide(self, request: ApprovalRequest) -> Verdict | None:
        self.asked.set()
        try:
            return await asyncio.shield(self.answer)
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def desk() -> AsyncGenerator[Desk]:
    desk = Desk()
    yield desk
    await desk.calls.aclose()


async def test_without_anybody_to_ask_a_call_is_rejected_at_once(desk: Desk) -> None:
    assert code_of(await desk.call()) == 4005
    assert desk.manager.executed == []


async def test_calls_wait_while_somebody_attends(desk: Desk) -> None:
    with desk.approvals.attended():
        call = desk.call()
        (request,) = await desk.waiting()
        assert desk.decide(request, Decision.ALLOW)
        assert code_of(await call) is None
    assert code_of(await desk.call()) == 4005


async def test_the_first_decision_counts_and_ends_the_other_questions(desk: Desk) -> None:
    slow = Slow()
    desk.approvals.channels.append(slow)
    call = desk.call()
    await slow.asked.wait()
    (request,) = await desk.waiting()
    assert desk.decide(request, Decision.ALLOW, "another terminal")
    assert not desk.decide(request, Decision.DENY)
    assert code_of(await call) is None
    await desk.approvals.aclose()
    assert slow.was_cancelled
    assert (request.outcome, request.verdict and request.verdict.by) == ("allowed", "another terminal")


async def test_an_approval_is_used_up_by_its_call(desk: Desk) -> None:
    desk.approvals.waits = True
    first = desk.call()
    (request,) = await desk.waiting()
    desk.decide(request, Decision.ALLOW)
    await first
    second = desk.call(caller=Caller("office", "ben"))
    (other,) = await desk.waiting()
    assert not desk.decide(request, Decision.ALLOW)
    assert (other.digest, len(desk.manager.executed)) == (request.digest, 1)
    desk.decide(other, Decision.DENY, reason="not now")
    result = await second
    assert (code_of(result), "not now" in text_of(result)) == (4005, True)


@pytest.mark.parametrize("decision", [Decision.HOUR, Decision.SESSION])
async def test_a_grant_covers_later_calls_and_those_that_wait(desk: Desk, decision: Decision) -> None:
    desk.approvals.waits = True
    calls = [desk.call(), desk.call(), desk.call("write")]
    requests = await desk.waiting(3)
    desk.decide(requests[0], decision)
    assert [code_of(await call) for call in calls[:2]] == [None, None]
    assert code_of(await desk.call()) is None
    desk.manager.server.tools["read"] = "another description"
    desk.manager.change()
    again = desk.call()
    assert {request.tool for request in await desk.waiting(2)} == {"read", "write"}
    again.cancel()


async def test_a_tool_that_the_owner_restricts_loses_its_grant(desk: Desk) -> None:
    desk.approvals.waits = True
    call = desk.call()
    desk.decide((await desk.waiting())[0], Decision.SESSION)
    await call
    assert desk.approvals.grants.end("memory", "read")
    desk.call()
    assert await desk.waiting()


async def test_a_request_that_is_cancelled_or_times_out_cannot_be_approved(desk: Desk) -> None:
    desk.approvals.waits = True
    assert code_of(await desk.call("read", 0.01)) == 4005
    (late,) = desk.approvals.ended
    call = desk.call()
    (withdrawn,) = await desk.waiting()
    desk.calls.cancel_all("office", "ann")
    assert (await call).is_error
    assert [desk.decide(each, Decision.ALLOW) for each in (late, withdrawn)] == [False, False]
    assert [each.outcome for each in (late, withdrawn)] == ["expired", "withdrawn"]
    assert desk.manager.executed == []
    with pytest.raises(NotFoundError):
        desk.approvals.find("nothing")


async def test_a_tool_that_changes_withdraws_its_requests_at_once(desk: Desk) -> None:
    desk.approvals.waits = True
    calls = [desk.call(), desk.call("write")]
    await desk.waiting(2)
    desk.manager.server.tools["read"] = "another description"
    desk.manager.change()
    assert code_of(await calls[0]) == 4002
    assert [each.tool for each in desk.approvals.waiting] == ["write"]
    desk.manager.server.command = "another program"
    desk.manager.change()
    assert code_of(await calls[1]) == 4002


async def test_one_agent_cannot_fill_the_queue(desk: Desk) -> None:
    desk.approvals.waits = True
    calls = [desk.call() for _ in range(MOST_OF_USER)]
    await desk.waiting(MOST_OF_USER)
    assert code_of(await desk.call()) == 429
    other = desk.call(caller=Caller("office", "ben"))
    await desk.waiting(MOST_OF_USER + 1)
    for call in (*calls, other):
        call.cancel()


async def test_one_user_of_an_agent_leaves_room_for_the_others(desk: Desk) -> None:
    desk.approvals.waits = True

    def call_of(user: str) -> asyncio.Task[Any]:
        return desk.call(caller=Caller("office", "gateway", user))

    calls = [call_of("ann") for _ in range(MOST_OF_USER)]
    await desk.waiting(MOST_OF_USER)
    assert code_of(await call_of("ann")) == 429
    calls.append(call_of("ben"))
    await desk.waiting(MOST_OF_USER + 1)
    # An Agent that invents users gets further, and not everywhere.
    calls += [call_of(f"user {number}") for number in range(MOST_OF_AGENT - len(calls))]
    await desk.waiting(MOST_OF_AGENT)
    assert code_of(await call_of("another")) == 429
    calls.append(desk.call())
    await desk.waiting(MOST_OF_AGENT + 1)
    for call in calls:
        call.cancel()


async def test_the_agent_hears_that_its_call_waits(desk: Desk) -> None:
    desk.approvals.waits = True
    heard: asyncio.Queue[str | None] = asyncio.Queue()

    async def send(progress: float, total: float | None, message: str | None) -> None:
        heard.put_nowait(message)

    call = desk.call(listener=Listener(send_progress=send))
    (request,) = await desk.waiting()
    async with asyncio.timeout(PATIENCE):
        assert await heard.get() == WAITING
    desk.decide(request, Decision.ALLOW)
    await call


async def test_channels_that_make_no_decision_do_not_let_a_call_wait(desk: Desk) -> None:
    channels = [Slow(), Slow()]
    desk.approvals.channels += channels
    call = desk.call()
    for channel in channels:
        await channel.asked.wait()
        channel.answer.set_result(None)
    assert code_of(await call) == 4005


async def test_a_channel_that_fails_leaves_the_decision_to_the_others(desk: Desk) -> None:
    class Broken:
        async def decide(self, request: ApprovalRequest) -> Verdict | None:
            raise LookupError("nothing")

    class Leaving:
        async def decide(self, request: ApprovalRequest) -> Verdict | None:
            raise asyncio.CancelledError

    slow = Slow()
    desk.approvals.channels += [Broken(), Leaving(), slow]
    call = desk.call()
    slow.answer.set_result(Verdict(Decision.ALLOW, "the third"))
    assert code_of(await call) is None


async def test_a_tool_that_needs_no_approval_asks_nobody(desk: Desk) -> None:
    desk.approvals.channels.append(Slow())
    desk.manager.server.auto_apply.add("read")
    desk.manager.change()
    seen: list[ApprovalRequest] = []
    desk.approvals.changed.add(seen.append)
    assert code_of(await desk.call()) is None
    assert seen == []


async def test_a_call_whose_arguments_are_no_json_cannot_be_approved(desk: Desk) -> None:
    desk.approvals.waits = True
    assert code_of(await desk.calls.execute("r", "read", {"path": {1, 2}}, PATIENCE, ANN)) == 400
