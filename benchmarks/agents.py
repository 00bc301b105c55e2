"""The Agents that are compared, each in its own process: `python -m benchmarks.agents ours|floor|lean async|sync`.

The floor is a bare python-socketio client with the JSON library it comes with: it calls, and believes every answer.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import astuple, dataclass
from statistics import median
from typing import IO, Any, Literal, TypeAlias

import socketio
import uvloop

from a2c_smcp import smcp
from a2c_smcp.agent import AsyncSMCPAgentClient, SMCPAgentClient
from benchmarks.agent import Sample, measure_round, no_cpu
from benchmarks.computers import NAME, OFFICE, READY, enter
from benchmarks.mcp_servers import text_of
from benchmarks.relay import payload
from benchmarks.servers import FLOORS, HOST

Form: TypeAlias = Literal["async", "sync"]

_AGENT = "agent"
_TOOL = "echo"
_TEXT = str(payload(100))
_TIMEOUT = 60
_WARM_UP = 20
_PATIENCE = 20.0

Call: TypeAlias = Callable[[], str]
AsyncCall: TypeAlias = Callable[[], Awaitable[str]]
"""Call the tool; the text that it answers."""


# --------------------------------------------------------------------------------------------------- with an event loop


@contextlib.asynccontextmanager
async def _ours_async(port: int) -> AsyncGenerator[AsyncCall]:
    async with AsyncSMCPAgentClient.in_office(_url(port), OFFICE, _AGENT) as agent:

        async def call() -> str:
            return text_of(await agent.emit_tool_call(NAME, _TOOL, {"text": _TEXT}, _TIMEOUT))

        yield call
        await agent.leave_office()


@contextlib.asynccontextmanager
async def _floor_async(port: int, **options: Any) -> AsyncGenerator[AsyncCall]:
    client = socketio.AsyncClient(**options)
    numbers = itertools.count()

    async def call() -> str:
        request = _request(next(numbers))
        answer = await client.call(smcp.TOOL_CALL_EVENT, request, namespace=smcp.SMCP_NAMESPACE, timeout=_TIMEOUT)
        return answer["content"][0]["text"]

    await enter(client, port, "agent", _AGENT)
    try:
        yield call
        await client.call(smcp.LEAVE_OFFICE_EVENT, {"office_id": OFFICE}, namespace=smcp.SMCP_NAMESPACE)
    finally:
        await client.disconnect()


def _lean_async(port: int) -> AbstractAsyncContextManager[AsyncCall]:
    return _floor_async(port, serializer=FLOORS["lean"])


_ASYNC: Mapping[str, Callable[[int], AbstractAsyncContextManager[AsyncCall]]] = {
    "ours": _ours_async,
    "floor": _floor_async,
    "lean": _lean_async,
}


async def measure_async(kind: str, port: int, calls: int, concurrency: int) -> Sample:
    """Come, call, and leave the office to whoever is next."""
    async with _ASYNC[kind](port) as call:

        async def ask() -> None:
            _check(await call())

        await measure_round(ask, _WARM_UP * concurrency, concurrency, no_cpu)
        return await measure_round(ask, calls, concurrency, time.process_time)


# ------------------------------------------------------------------------------------------------ without an event loop


@contextlib.contextmanager
def _ours_sync(port: int) -> Generator[Call]:
    with SMCPAgentClient.in_office(_url(port), OFFICE, _AGENT) as agent:
        yield lambda: text_of(agent.emit_tool_call(NAME, _TOOL, {"text": _TEXT}, _TIMEOUT))
        agent.leave_office()


@contextlib.contextmanager
def _floor_sync(port: int, **options: Any) -> Generator[Call]:
    client = socketio.Client(**options)
    numbers = itertools.count()

    def ask(event: str, request: Any) -> Any:
        return client.call(event, request, namespace=smcp.SMCP_NAMESPACE, timeout=_TIMEOUT)

    client.connect(_url(port), transports=["websocket"], namespaces=[smcp.SMCP_NAMESPACE])
    try:
        ack = ask(smcp.JOIN_OFFICE_EVENT, {"role": "agent", "name": _AGENT, "office_id": OFFICE})
        if ack[0] is not True:
            raise RuntimeError(f"join refused: {ack}")
        yield lambda: ask(smcp.TOOL_CALL_EVENT, _request(next(numbers)))["content"][0]["text"]
        ask(smcp.LEAVE_OFFICE_EVENT, {"office_id": OFFICE})
    finally:
        client.disconnect()


def _lean_sync(port: int) -> AbstractContextManager[Call]:
    return _floor_sync(port, serializer=FLOORS["lean"])


_SYNC: Mapping[str, Callable[[int], AbstractContextManager[Call]]] = {
    "ours": _ours_sync,
    "floor": _floor_sync,
    "lean": _lean_sync,
}


def measure_sync(kind: str, port: int, calls: int) -> Sample:
    """One call at a time, as `measure_async`."""
    latencies: list[float] = []
    with _SYNC[kind](port) as call:
        for _ in range(_WARM_UP):
            _check(call())
        cpu, started = time.process_time(), time.perf_counter()
        for _ in range(calls):
            began = time.perf_counter()
            _check(call())
            latencies.append(time.perf_counter() - began)
        wall = time.perf_counter() - started
        return Sample(median(latencies), wall / calls, (time.process_time() - cpu) / calls)


def _request(number: int) -> smcp.ToolCallReq:
    return {
        "agent": _AGENT, "req_id": f"{number:032}", "computer": NAME,
        "tool_name": _TOOL, "params": {"text": _TEXT}, "timeout": _TIMEOUT,
    }  # fmt: skip


def _check(answer: str) -> None:
    if answer != _TEXT:
        raise RuntimeError(f"not the echo of what was said: {answer[:200]!r}")


def _url(port: int) -> str:
    return f"http://{HOST}:{port}"


# --------------------------------------------------------------------------------------------------------- as a process


@dataclass(frozen=True, slots=True)
class AgentProcess:
    """A process that is nothing but an Agent, and does what it is told to."""

    orders: IO[str]
    reports: IO[str]

    def run(self, calls: int, concurrency: int) -> Sample:
        """Make so many calls from an office that has no Agent."""
        print(calls, concurrency, file=self.orders, flush=True)
        report = self.reports.readline()
        if not report:
            raise RuntimeError("the Agent ended")
        return Sample(*json.loads(report))


@contextlib.contextmanager
def waiting(kind: str, form: Form, port: int) -> Generator[AgentProcess]:
    """Start an Agent in a process of its own, and end it."""
    command = [sys.executable, "-m", "benchmarks.agents", kind, form, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process.stdout.readline().strip() != READY:
                raise RuntimeError(f"the {kind} {form} Agent did not start")
            yield AgentProcess(process.stdin, process.stdout)
        finally:
            process.stdin.close()
            try:
                process.wait(_PATIENCE)
            finally:
                process.kill()


def main(kind: str, form: str, port: str) -> None:
    """Every line of standard input is a round: how many calls, how many at a time."""
    print(READY, flush=True)
    for line in sys.stdin:
        calls, concurrency = map(int, line.split())
        if form == "async":
            sample = uvloop.run(measure_async(kind, int(port), calls, concurrency))
        else:
            sample = measure_sync(kind, int(port), calls)
        print(json.dumps(astuple(sample)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
