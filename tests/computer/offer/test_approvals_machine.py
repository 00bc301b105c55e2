"""Random calls, decisions, cancellations and changes: a call runs only if it needs no approval, or with its own one."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from a2c_smcp.computer.offer.approval_request import ApprovalRequest, Decision, Verdict
from a2c_smcp.computer.offer.calls import ToolCalls
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.history import History
from a2c_smcp.errors import MalformedRequestError, NotFoundError
from tests.support.memory_tools import MemoryManager
from tests.support.outcomes import code_of
from tests.support.waiting import PATIENCE

ANN = Caller("office", "ann")
tools = st.sampled_from(["read", "write"])
arguments = st.sampled_from([{"path": "a"}, {"path": "b"}, {"path": "a", "mode": 1}, {}])
agents = st.sampled_from([ANN, Caller("office", "ben")])
decisions = st.sampled_from([Decision.ALLOW, Decision.DENY, Decision.HOUR, Decision.SESSION])
texts = st.sampled_from(["v1", "v2"])
which = st.integers(0, 39)

Print = tuple[str, str, str, str]


async def settle() -> None:
    """Everything that can happen at once happens."""
    for _ in range(15):
        await asyncio.sleep(0)


class Approvals(RuleBasedStateMachine):
    """The model knows which calls were approved, by everything that their owner saw."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.run(self._begin())
        self.calls: list[asyncio.Task[Any]] = []
        self.requests: list[tuple[ApprovalRequest, Print]] = []
        self.approved: Counter[Print] = Counter()
        """The approvals that are not used up."""
        self.granted: set[tuple[str, str, str]] = set()
        """Tools that run for longer: program, tool and description."""
        self.checked = 0
        self.req_ids = 0

    async def _begin(self) -> None:
        self.manager = MemoryManager()
        self._open()

    def _open(self) -> None:
        self.desk = ToolCalls(self.manager, History(), None, lambda text, width=None: text[:width])
        self.approvals = self.desk.approvals
        self.approvals.waits = True
        self.approvals.changed.add(self._note)

    def run(self, step: Coroutine[Any, Any, Any]) -> None:
        async def and_settle() -> None:
            await step
            await settle()

        self.runner.run(and_settle())

    async def _let_one_wait(self) -> None:
        """Without a call that waits, most decisions would do nothing."""
        if not self.approvals.waiting:
            here = self.manager.server
            here.forbidden.clear()
            here.auto_apply.clear()
            self.manager.change()
            for number, tool in enumerate(here.tools):
                self.calls.append(self._call(tool, {"path": str(number)}, ANN, None))
            await settle()

    def _note(self, request: ApprovalRequest) -> None:
        if request.ended is None:
            self.requests.append((request, self._print(request.tool, request.parameters or {})))

    def _print(self, tool: str, params: dict[str, Any]) -> Print:
        here = self.manager.server
        return here.command, tool, here.tools.get(tool, ""), json.dumps(params, sort_keys=True)

    def _call(self, tool: str, params: dict[str, Any], caller: Caller, timeout: float | None) -> asyncio.Task[Any]:
        self.req_ids += 1
        return asyncio.ensure_future(self.desk.execute(f"r{self.req_ids}", tool, params, timeout, caller))

    def _pick(self, number: int) -> tuple[ApprovalRequest, Print] | None:
        """One of the requests; more often one that waits."""
        waiting = [each for each in self.requests if each[0].ended is None]
        found = waiting if waiting and number % 4 else self.requests
        return found[number // 4 % len(found)] if found else None

    def _decide(self, number: int, decision: Decision, *, other_digest: bool = False) -> None:
        picked = self._pick(number)
        if picked is None:
            return
        request, seen = picked
        try:
            is_first = self.approvals.decide(
                request.id, Verdict(decision, "test"), "0" * 64 if other_digest else request.digest
            )
        except (NotFoundError, MalformedRequestError):
            return
        assert not other_digest
        if is_first and decision.allows:
            self.approved[seen] += 1
            if decision is not Decision.ALLOW:
                self.granted.add(seen[:3])

    # ----------------------------------------------------------------------------------------------------- what happens

    @rule(tool=tools, params=arguments, caller=agents)
    def call(self, tool: str, params: dict[str, Any], caller: Caller) -> None:
        async def step() -> None:
            self.calls.append(self._call(tool, dict(params), caller, None))

        self.run(step())

    @rule(number=which, decision=decisions, other_digest=st.booleans())
    def decide(self, number: int, decision: Decision, other_digest: bool) -> None:
        async def step() -> None:
            await self._let_one_wait()
            self._decide(number, decision, other_digest=other_digest)

        self.run(step())

    @rule(number=which, first=decisions, second=decisions)
    def decide_twice(self, number: int, first: Decision, second: Decision) -> None:
        async def step() -> None:
            await self._let_one_wait()
            self._decide(number, first)
            self._decide(number, second)

        self.run(step())

    @rule(tool=tools, params=arguments, decision=decisions)
    def decide_after_the_timeout(self, tool: str, params: dict[str, Any], decision: Decision) -> None:
        async def step() -> None:
            known = len(self.requests)
            result = await asyncio.wait_for(self._call(tool, dict(params), Caller("office", "cat"), 0.002), PATIENCE)
            if len(self.requests) > known:
                assert code_of(result) == 4005
                request, _ = self.requests[known]
                assert not self.approvals.decide(request.id, Verdict(decision, "test"))

        self.run(step())

    @rule(caller=agents)
    def an_agent_leaves(self, caller: Caller) -> None:
        async def step() -> None:
            self.desk.cancel_all(caller.office_id, caller.agent)

        self.run(step())

    @rule(number=which)
    def an_agent_cancels(self, number: int) -> None:
        async def step() -> None:
            if (picked := self._pick(number)) is not None:
                self.desk.cancel(picked[0].req_id, picked[0].call.caller)

        self.run(step())

    @rule(number=which, decision=decisions)
    def decide_and_cancel_one_call_at_once(self, number: int, decision: Decision) -> None:
        async def step() -> None:
            await self._let_one_wait()
            if (picked := self._pick(number)) is None:
                return
            before = Counter(self.approved)
            self._decide(number, decision)
            if self.desk.cancel(picked[0].req_id, picked[0].call.caller):
                self.approved = before

        self.run(step())

    @rule(number=which, decision=decisions)
    def the_computer_restarts(self, number: int, decision: Decision) -> None:
        async def step() -> None:
            await self._let_one_wait()
            self._check()
            picked, count = self._pick(number), len(self.manager.executed)
            await self.desk.aclose()
            assert not self.approvals.waiting
            self._open()
            self.granted.clear()
            if picked is not None:  # somebody decides about a call of before
                with pytest.raises(NotFoundError):
                    self.approvals.decide(picked[0].id, Verdict(decision, "test"))
            await settle()
            assert len(self.manager.executed) == count

        self.run(step())

    @rule(number=which, decision=decisions, caller=agents)
    def decide_and_cancel_at_once(self, number: int, decision: Decision, caller: Caller) -> None:
        async def step() -> None:
            await self._let_one_wait()
            waiting = {each.id for each in self.approvals.waiting if each.call.caller == caller}
            before = Counter(self.approved)
            picked = self._pick(number)
            self._decide(number, decision)
            self.desk.cancel_all(caller.office_id, caller.agent)
            if picked is not None and picked[0].id in waiting:
                self.approved = before  # the cancelled call must not run, so nothing uses this approval
                # A grant that was given with it begins when the call goes on, which it does not.

        self.run(step())

    @rule(tool=tools, text=texts)
    def the_tool_is_described_differently(self, tool: str, text: str) -> None:
        self._change(lambda: self.manager.server.tools.update({tool: text}))

    @rule(number=which, decision=decisions, what=st.sampled_from(["tool", "program", "rule"]))
    def decide_while_something_changes(self, number: int, decision: Decision, what: str) -> None:
        async def step() -> None:
            await self._let_one_wait()
            picked, here = self._pick(number), self.manager.server
            self._decide(number, decision)
            if picked is not None and what == "tool":
                here.tools[picked[0].tool] = "v3" if here.tools[picked[0].tool] != "v3" else "v4"
            elif what == "program":
                here.command = "third" if here.command != "third" else "fourth"
            elif picked is not None:
                here.forbidden.add(picked[0].tool)
            self.manager.change()

        self.run(step())

    @rule(command=st.sampled_from(["first", "second"]))
    def another_program_takes_the_name(self, command: str) -> None:
        def change() -> None:
            self.manager.server.command = command

        self._change(change)

    @rule(tool=tools)
    def the_owner_forbids_the_tool_or_not(self, tool: str) -> None:
        here = self.manager.server
        self._change(lambda: here.forbidden.discard(tool) if here.forbidden else here.forbidden.add(tool))

    @rule(tool=tools)
    def the_tool_needs_approval_or_not(self, tool: str) -> None:
        here = self.manager.server
        self._change(lambda: here.auto_apply.clear() if here.auto_apply else here.auto_apply.add(tool))

    def _change(self, change: Callable[[], object]) -> None:
        async def step() -> None:
            change()
            self.manager.change()

        self.run(step())

    @rule(number=which)
    def a_program_edits_arguments(self, number: int) -> None:
        if (picked := self._pick(number)) is not None:
            (picked[0].parameters or {})["edited"] = True

    # -------------------------------------------------------------------------------------------------- what must hold

    @invariant()
    def nothing_runs_without_an_approval_of_exactly_that_call(self) -> None:
        self._check()

    def _check(self) -> None:
        for executed in self.manager.executed[self.checked :]:
            seen = (*executed[:3], json.dumps(executed.arguments, sort_keys=True))
            if executed.is_free or seen[:3] in self.granted:
                continue
            assert self.approved[seen] > 0, seen
            self.approved[seen] -= 1
        self.checked = len(self.manager.executed)
        # A call that is approved runs at once, or not at all: an approval of before is worth nothing.
        self.approved.clear()

    @invariant()
    def a_call_that_ended_waits_for_nobody(self) -> None:
        assert len(self.approvals.waiting) <= sum(not call.done() for call in self.calls)

    def teardown(self) -> None:
        async def end() -> None:
            await self.desk.aclose()
            assert not self.approvals.waiting
            assert all(call.done() for call in self.calls) or await asyncio.wait(self.calls, timeout=PATIENCE)

        try:
            count = len(self.manager.executed)
            self.run(end())
            assert len(self.manager.executed) == count
        finally:
            self.runner.close()


TestApprovals = Approvals.TestCase
TestApprovals.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
