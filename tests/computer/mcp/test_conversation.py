"""JSON-RPC with an MCP server, whatever that sends: a server in memory, and the session on top."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.mcp import conversation as module
from a2c_smcp.computer.mcp.conversation import Conversation
from a2c_smcp.computer.mcp.schemas import OutputSchema
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.errors import ToolFailedError
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

Answers = Mapping[str, Callable[[dict[str, Any]], Any]]
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "m", "version": "1"},
}


class Memory:
    """A server in memory: answers by method, and remembers what it got."""

    def __init__(self, answers: Answers) -> None:
        self.answers: dict[str, Callable[[dict[str, Any]], Any]] = {"initialize": lambda _: HELLO, **answers}
        self.got: list[dict[str, Any]] = []
        self.noticed: list[str] = []
        self.conversation = Conversation(self._take, lambda method, _: self.noticed.append(method))

    def _take(self, message: dict[str, Any], headers: Mapping[str, str] | None) -> None:
        self.got.append(message)
        answer = self.answers.get(message.get("method", ""))
        if answer is not None and "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message.get("params", {}))}
            asyncio.get_running_loop().call_soon(self.conversation.receive, reply)

    def methods(self) -> list[str]:
        return [message.get("method", "") for message in self.got]


@asynccontextmanager
async def connected(**answers: Callable[[dict[str, Any]], Any]) -> AsyncGenerator[tuple[Memory, Session]]:
    memory = Memory({name.replace("__", "/"): answer for name, answer in answers.items()})
    info = types.Implementation(name="test", version="1")
    async with asyncio.timeout(PATIENCE), Session(memory.conversation, info) as session:
        await session.initialize()
        yield memory, session


def tool(name: Any, **fields: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **fields}


def ignore(*_: Any) -> None:
    pass


async def test_a_question_that_nobody_waits_for_is_called_off() -> None:
    async with connected() as (memory, session):
        call = asyncio.ensure_future(session.call("slow", {}, ignore))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        number = next(message["id"] for message in memory.got if message.get("method") == "tools/call")
        assert memory.got[-1]["method"] == "notifications/cancelled"
        assert memory.got[-1]["params"]["requestId"] == number


async def test_the_end_of_the_connection_is_the_answer_to_every_question() -> None:
    async with connected() as (memory, session):
        calls = [asyncio.ensure_future(session.call("slow", {}, ignore)) for _ in range(3)]
        await asyncio.sleep(0)
        memory.conversation.end()
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(outcome, MCPError)
        with pytest.raises(MCPError):
            await session.ping()


async def test_progress_is_heard() -> None:
    heard: list[Any] = []

    def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with connected() as (memory, session):
        call = asyncio.ensure_future(session.call("slow", {}, hear))
        await asyncio.sleep(0)
        number = memory.got[-1]["params"]["_meta"]["progressToken"]
        params = {"progressToken": number, "progress": 1, "total": 2, "message": "half"}
        memory.conversation.receive({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        memory.conversation.receive({"jsonrpc": "2.0", "id": number, "result": {"content": []}})
        await call
    assert heard == [(1.0, 2.0, "half")]


async def test_true_is_not_the_id_1() -> None:
    heard: list[Any] = []

    def hear(*progress: Any) -> None:
        heard.append(progress)

    memory = Memory({})
    question = asyncio.ensure_future(memory.conversation.ask("x", {}, {}, hear))
    await asyncio.sleep(0)
    assert memory.got[-1]["id"] == 1
    progress = {"progressToken": True, "progress": 5}
    memory.conversation.receive({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
    for number in (True, 1):
        memory.conversation.receive({"jsonrpc": "2.0", "id": number, "result": {"answers": str(number)}})
    async with asyncio.timeout(PATIENCE):
        assert await question == {"answers": "1"}
    assert heard == []


async def test_a_request_with_the_id_true_is_ignored() -> None:
    async with connected() as (memory, _):
        for number in (True, "s1"):
            memory.conversation.receive({"jsonrpc": "2.0", "id": number, "method": "ping"})
        await eventually(lambda: memory.got[-1].get("id") == "s1")
        assert True not in [message["id"] for message in memory.got if "result" in message]


async def test_the_server_may_ask_us_and_gets_an_answer() -> None:
    async with connected() as (memory, _):
        for number, method in enumerate(("ping", "sampling/createMessage", "roots/list", "no/such")):
            memory.conversation.receive({"jsonrpc": "2.0", "id": f"s{number}", "method": method})
        await eventually(lambda: sum(str(message.get("id", "")).startswith("s") for message in memory.got) == 4)
        answers = {message["id"]: message for message in memory.got if str(message.get("id", "")).startswith("s")}
        assert answers["s0"]["result"] == {}
        assert all("error" in answers[number] for number in ("s1", "s2", "s3"))


async def test_a_flood_of_requests_is_bounded() -> None:
    async with connected() as (memory, session):
        before = len(asyncio.all_tasks())
        for number in range(10_000):
            memory.conversation.receive({"jsonrpc": "2.0", "id": f"s{number}", "method": "ping"})
        assert len(asyncio.all_tasks()) - before <= module.MAX_ORDERS
        memory.answers["ping"] = lambda _: {}
        await session.ping()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
methods = st.sampled_from(
    ["notifications/cancelled", "notifications/progress", "notifications/tools/list_changed", "ping", "x"]
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"jsonrpc": st.just("2.0")},
            optional={
                "id": anything,
                "method": methods | anything,
                "result": anything,
                "error": anything,
                "params": anything | st.fixed_dictionaries({"requestId": anything, "progressToken": anything}),
            },
        )
        | anything
    )
)
def test_nothing_that_a_server_sends_breaks_the_conversation(messages: list[Any]) -> None:
    async def talk() -> None:
        async with connected(ping=lambda _: {}) as (memory, session):
            for message in messages:
                memory.conversation.receive(message)
            memory.conversation.receive(messages)
            await session.ping()

    asyncio.run(talk())


# ---------------------------------------------------------------------------------------------------------------- tools


async def test_pages_that_never_end_are_read_once() -> None:
    def page(params: dict[str, Any]) -> dict[str, Any]:
        return {"tools": [tool("a")], "nextCursor": "again"}

    async with connected(tools__list=page) as (memory, session):
        tools, problems = await session.all_tools()
        assert [found.name for found in tools] == ["a"]
        assert problems == ["tool a is listed twice"]
        assert memory.methods().count("tools/list") == 2


async def test_tools_that_nobody_could_use_are_left_out_one_by_one() -> None:
    listed = [tool("good"), tool("x" * 300), tool("a\nb"), tool(""), tool(7), "nonsense", {"name": "bare"}]
    async with connected(tools__list=lambda _: {"tools": listed}) as (_, session):
        tools, problems = await session.all_tools()
        assert [found.name for found in tools] == ["good"]
        assert len(problems) == 6


@pytest.mark.parametrize(
    ("answer", "is_fine"),
    [
        ({"content": [], "structuredContent": {"x": 1}}, True),
        ({"content": [], "structuredContent": {"x": "1"}}, False),
        ({"content": []}, False),
        ({"content": [], "isError": True}, True),
        ({"content": "nonsense"}, False),
        ({"nonsense": True}, False),
        ({"content": [{"type": "hologram"}]}, False),
        ({"resultType": "input_required", "inputRequests": {}}, False),
    ],
)
async def test_what_is_no_result_or_breaks_its_schema_is_a_failure(answer: dict[str, Any], is_fine: bool) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    listed = {"tools": [tool("t", outputSchema=schema)]}
    async with connected(tools__list=lambda _: listed, tools__call=lambda _: answer) as (_, session):
        await session.all_tools()
        if is_fine:
            await session.call("t", {}, ignore)
        else:
            with pytest.raises(ToolFailedError):
                await session.call("t", {}, ignore)


def nested(depth: int) -> dict[str, Any]:
    """A schema whose every level is tried twice."""
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {"anyOf": [schema, schema]}
    return schema


@pytest.mark.parametrize(
    ("schema", "content"),
    [
        ({"properties": {"x": {"pattern": "^(a+)+$"}}}, {"x": "a" * 40 + "!"}),
        (nested(12), "text"),
        ({"type": "nonsense"}, {}),
        ({"$ref": "http://127.0.0.1:9/schema"}, {}),
        ({"$ref": "#"}, {}),
        ({"properties": 7}, {}),
        ({"$id": 5}, {}),
        ({"multipleOf": 0}, 5),
        ({"uniqueItems": True}, [[n] for n in range(5_000)]),
        ({"type": "object"}, {"x": "y" * 1_000_000}),
    ],
)
def test_a_schema_costs_little_whatever_it_says(schema: dict[str, Any], content: Any) -> None:
    before = time.process_time()  # of this process alone: other programs do not make it longer
    OutputSchema(schema).complaint(content)
    assert time.process_time() - before < 3
