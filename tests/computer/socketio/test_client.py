"""The Computer's Socket.IO client: what it sends, what it believes, and what it answers, whatever the Server says."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import socketio
from pydantic import TypeAdapter

from a2c_smcp.computer import Computer, SMCPComputerClient, server_from
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import OfficeRefusedError, SMCPError
from a2c_smcp.server import SMCPNamespace
from a2c_smcp.smcp import GetComputerConfigRet, SMCPTool
from a2c_smcp.utils.results import CallToolResult
from tests.support.hosting import asking, hosting, raw, shelves, text_of
from tests.support.offices import Office, office
from tests.support.peer import crowd, request, tool_call
from tests.support.running import running
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

Say = Callable[[Any], Any]
MOVES = ("server:join_office", "server:leave_office")


class Scripted(SMCPNamespace):
    """A Server that answers joins and leaves as a test says, and writes down what it is told."""

    say: Say | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.told: list[tuple[str, Any]] = []

    async def on_server_join_office(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.told.append(("server:join_office", data))
        return self.say(data) if self.say is not None else await super().on_server_join_office(sid, data)

    async def on_server_leave_office(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.told.append(("server:leave_office", data))
        return self.say(data) if self.say is not None else await super().on_server_leave_office(sid, data)

    async def on_server_update_config(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.told.append(("server:update_config", data))

    async def on_server_update_tool_list(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.told.append(("server:update_tool_list", data))

    async def on_server_update_desktop(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.told.append(("server:update_desktop", data))

    async def on_server_update_finder(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.told.append(("server:update_finder", data))


@asynccontextmanager
async def scripted(**options: Any) -> AsyncGenerator[tuple[Scripted, SMCPComputerClient]]:
    """A scripted Server and a connected client of a Computer without MCP servers."""
    with running("async", namespace_class=Scripted) as server:
        namespace: Any = server.app.namespace
        client = SMCPComputerClient(computer=Computer("pc"), **options)
        await client.connect(server.url, transports=["websocket"])
        try:
            yield namespace, client
        finally:
            await client.disconnect()


async def told_so_far(namespace: Scripted, client: SMCPComputerClient) -> list[tuple[str, Any]]:
    """What the Server was told; everything that was sent before has arrived."""
    await client.call("server:nothing-of-the-kind", {})
    return namespace.told


# --------------------------------------------------------------------------------------------------------- construction


async def test_it_is_a_socketio_client_that_needs_a_computer() -> None:
    with pytest.raises(TypeError):
        SMCPComputerClient()  # pyright: ignore[reportCallIssue]
    computer = Computer("pc")
    client = SMCPComputerClient(computer=computer, reconnection=False, reconnection_attempts=7)
    assert isinstance(client, socketio.AsyncClient)
    assert (client.reconnection, client.reconnection_attempts) == (False, 7)
    assert client.computer is computer
    assert computer.socketio_client is client
    del client
    gc.collect()
    assert computer.socketio_client is None, "the Computer does not keep it alive"


async def test_servers_and_inputs_of_a_computer_are_tuples() -> None:
    computer = Computer("pc", mcp_servers=[raw(disabled=True)])
    assert isinstance(computer.mcp_servers, tuple)
    assert isinstance(computer.inputs, tuple)
    async with computer:
        assert isinstance(computer.mcp_servers, tuple)


# --------------------------------------------------------------------------------------------------- older Servers

ADDED = ["server:tool_call_progress", "server:update_resource", "server:update_resources", "server:update_prompts"]
NEW = {"a2c_stack": "9", "features": ADDED}


@pytest.mark.parametrize(("ack", "is_told"), [((True, None), False), ((True, None, NEW), True)])
async def test_progress_and_updates_of_resources_are_sent_only_to_a_server_that_knows_them(
    ack: tuple[Any, ...], is_told: bool
) -> None:
    class Listening(Scripted):
        async def on_server_tool_call_progress(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
            self.told.append(("server:tool_call_progress", data["progress"]))

        async def on_server_update_resource(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
            self.told.append(("server:update_resource", data["uri"]))

    with running("async", namespace_class=Listening) as server:
        namespace: Any = server.app.namespace
        say: Say = lambda data: ack  # noqa: E731
        namespace.say = say
        async with hosting(asking()) as computer, SMCPComputerClient.in_office(computer, server.url, "o") as client:
            computer.name = "pc"
            calling = namespace.server.call(
                "client:tool_call", tool_call(tool_name="progress", params={}), to=namespace.connections.sids()[0]
            )
            assert server.loop is not None
            answer = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(calling, server.loop))
            assert answer["content"][0]["text"] == "done"
            assert await client.emit_update_resource("memo://x", "asking") is is_told
            for event in ("server:update_resources", "server:update_prompts"):
                assert await client.emit_update(event) is is_told
            told = [(event, data) for event, data in await told_so_far(namespace, client) if event not in MOVES]
        sent = [("server:tool_call_progress", 3), ("server:update_resource", "memo://x")]
        assert told[-2:] == (sent if is_told else [])


# ----------------------------------------------------------------------------------------------------- joining, leaving


@pytest.mark.parametrize("ack", [None, (), [], [False], 5, "yes", {}, [1, 2, 3], ["true", None]])
async def test_a_join_with_an_empty_or_invalid_ack_fails_and_changes_nothing(ack: Any) -> None:
    async with scripted() as (namespace, client):
        namespace.say = lambda data: ack
        with pytest.raises(RuntimeError):
            await client.join_office("first")
        assert client.office_id is None
        assert (await told_so_far(namespace, client))[-1] == ("server:leave_office", {"office_id": "first"})
        namespace.say = None
        await client.join_office("first")
        namespace.say = lambda data: ack
        with pytest.raises(RuntimeError):
            await client.join_office("second")
        assert client.office_id == "first"
        assert (await told_so_far(namespace, client))[-2:] == [
            ("server:leave_office", {"office_id": "second"}),
            ("server:join_office", {"role": "computer", "name": "pc", "office_id": "first"}),
        ]


async def test_a_refused_join_changes_nothing() -> None:
    async with scripted() as (namespace, client):
        await client.join_office("first")
        namespace.say = lambda data: (False, "no")
        with pytest.raises(RuntimeError, match="no"):
            await client.join_office("second")
        assert client.office_id == "first"
        assert [event for event, _ in namespace.told] == ["server:join_office"] * 2


async def test_a_request_that_comes_before_the_answer_to_the_join_is_served() -> None:
    class Hasty(Scripted):
        early: Any = None

        async def on_server_join_office(self, sid: str, data: Any) -> Any:
            self.early = await self.server.call("client:get_tools", request(), to=sid, namespace="/smcp")
            return await super().on_server_join_office(sid, data)

    with running("async", namespace_class=Hasty) as server:
        namespace: Any = server.app.namespace
        async with SMCPComputerClient.in_office(Computer("pc"), server.url, "office"):
            assert (namespace.early["tools"], namespace.early["req_id"]) == ([], "r1")


async def test_an_agent_that_leaves_while_the_computer_tries_another_office_ends_its_calls() -> None:
    class Refusing(SMCPNamespace):
        async def on_server_join_office(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
            if data["office_id"] == "first":
                return await super().on_server_join_office(sid, data)
            left = {"office_id": "first", "agent": "agent"}
            await self.server.emit("notify:leave_office", left, to=sid, namespace="/smcp")
            return False, "no"

    with running("async", namespace_class=Refusing) as server:
        computer = Computer("pc", mcp_servers=[raw()])
        async with computer, SMCPComputerClient.in_office(computer, server.url, "first") as client:
            caller = Caller("first", "agent")
            call = asyncio.ensure_future(
                computer.aexecute_tool("r1", "sleep", {"seconds": 60}, PATIENCE * 2, caller=caller)
            )
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="no"):
                await client.join_office("second")
            async with asyncio.timeout(PATIENCE):
                assert ((await call).meta or {})["a2c_cancelled"] is True


async def test_leaving_an_office_by_a_wrong_id_is_rejected_here_and_changes_nothing() -> None:
    async with office(raw()) as here:
        for wrong in ("another", ""):
            with pytest.raises(OfficeRefusedError) as caught:
                await here.client.leave_office(wrong)
            assert caught.value.code == 4104
        assert here.client.office_id == "office"
        assert "echo" in await here.tools()
        await here.client.emit_update_config()
        assert await here.agent.hear("notify:update_config") == {"computer": "pc"}
        await here.client.leave_office("office")
        with pytest.raises(OfficeRefusedError) as caught:
            await here.client.leave_office("office")
        assert caught.value.code == 4103


@pytest.mark.parametrize("ack", [(False, "no"), None, 5])
async def test_after_leaving_its_office_it_is_out_whatever_the_server_says(ack: Any) -> None:
    async with scripted() as (namespace, client):
        await client.join_office("office")
        namespace.say = lambda data: ack
        with pytest.raises(RuntimeError):
            await client.leave_office("office")
        assert (client.office_id, client.wanted_office) == (None, None)


async def test_leaving_without_a_connection_is_leaving() -> None:
    async with scripted(reconnection=False) as (_, client):
        await client.join_office("office")
        await client.eio.disconnect(abort=True)
        assert client.wanted_office == "office"
        with pytest.raises(RuntimeError):
            await client.leave_office("office")
        assert (client.office_id, client.wanted_office) == (None, None)


# -------------------------------------------------------------------------------------------------------------- updates


async def test_helpers_send_nothing_outside_an_office_and_update_config_always_sends() -> None:
    async with scripted() as (namespace, client):
        helpers = client.emit_update_config, client.emit_update_tool_list
        for helper in (*helpers, client.emit_refresh_desktop, client.emit_refresh_finder):
            await helper()
        assert await told_so_far(namespace, client) == []
        await client.update_config()
        assert await told_so_far(namespace, client) == [("server:update_config", {"computer": "pc"})]


async def test_refresh_of_desktop_and_finder_reaches_the_agent() -> None:
    async with office() as here:
        await here.client.emit_refresh_desktop()
        assert await here.agent.hear("notify:update_desktop") == {"computer": "pc"}
        await here.client.emit_refresh_finder()
        assert await here.agent.hear("notify:update_finder") == {"computer": "pc"}


# ------------------------------------------------------------------------------------------------------------- requests


async def test_a_computer_in_no_office_answers_requests_with_4103() -> None:
    async with office(raw()) as here:
        client = here.client
        await client.leave_office("office")
        handlers = (
            client.on_tool_call,
            client.on_get_tools,
            client.on_get_config,
            client.on_get_desktop,
            client.on_get_finder,
            client.on_read_resource,
            client.on_list_resource_templates,
            client.on_complete,
        )
        for handler in handlers:
            answer: Any = await handler(tool_call(uri="window://h", ref={}, argument={}))
            assert answer["error"]["code"] == 4103
        assert await here.computer.aget_tool_call_history() == ()


async def test_every_handler_checks_whom_the_request_is_for() -> None:
    async with office(raw()) as here:
        client = here.client
        reading = {"uri": "window://h"}
        completing = {"ref": {"type": "ref/resource", "uri": "x"}, "argument": {"name": "a", "value": ""}}
        for handler, fields in (
            (client.on_get_desktop, {}),
            (client.on_get_finder, {}),
            (client.on_read_resource, reading),
            (client.on_list_resource_templates, {}),
            (client.on_complete, completing),
        ):
            answer: Any = await handler(request("somebody-else", **fields))  # pyright: ignore[reportArgumentType]
            assert answer["error"]["code"] == 404


async def test_an_agent_may_be_named_otherwise_than_its_office() -> None:
    async with office(raw()) as here:
        answer = await here.agent.ask("client:get_tools", request(agent="office"))
        assert "echo" in [tool["name"] for tool in answer["tools"]], "an old peer sends its office id"


class Failing(Computer):
    """A Computer with a bug."""

    async def aexecute_tool(self, *args: Any, **fields: Any) -> CallToolResult:
        raise LookupError("a bug, password=hunter2")


async def test_any_exception_in_a_call_becomes_a_result() -> None:
    client = SMCPComputerClient(computer=Failing("pc"))
    client.office_id = "office"
    answer = await client.on_tool_call(tool_call())  # pyright: ignore[reportArgumentType]
    assert answer["isError"] is True
    assert set(answer["structuredContent"]) == {"error", "error_type"}
    assert answer["meta"]["error_code"] == 500
    assert "hunter2" not in str(answer)


async def test_any_exception_under_a_call_becomes_a_result() -> None:
    def confirm(*_: Any) -> bool:
        raise LookupError("a bug, password=hunter2")

    async with office(raw(default_tool_meta=None), confirm_callback=confirm) as here:
        answer = await here.call("echo", {"text": "hi"})
        assert answer["isError"] is True
        assert set(answer["structuredContent"]) == {"error", "error_type"}
        assert "hunter2" not in str(answer)


class Choosy(Computer):
    """A Computer whose program offers some of its tools."""

    hidden: frozenset[str] = frozenset()

    async def aget_available_tools(self) -> list[SMCPTool]:
        return [tool for tool in await super().aget_available_tools() if tool["name"] not in self.hidden]


class ChoosyClient(SMCPComputerClient):
    """A client whose program does the same for one Agent."""

    hidden: frozenset[str] = frozenset()

    async def on_get_tools(self, data: Any) -> dict[str, Any]:
        answer = await super().on_get_tools(data)
        return {**answer, "tools": [tool for tool in answer["tools"] if tool["name"] not in self.hidden]}


@pytest.mark.parametrize("place", ["computer", "client"])
async def test_the_digest_is_that_of_the_list_which_the_agent_gets(place: str) -> None:
    with running("async") as server:
        async with Choosy("pc", mcp_servers=[raw()]) as computer, crowd(server) as people:
            agent = await people.member("agent", "agent", "office")
            async with ChoosyClient.in_office(computer, server.url, "office") as client:
                chooser: Any = computer if place == "computer" else client
                everything = await agent.ask("client:get_tools", request())
                chooser.hidden = frozenset(("echo",))
                some = await agent.ask("client:get_tools", request(known_digest=everything["digest"]))
                assert "echo" not in [tool["name"] for tool in some["tools"]]
                assert some["digest"] != everything["digest"]
                unchanged = {"unchanged": True, "digest": some["digest"], "req_id": "r1"}
                assert await agent.ask("client:get_tools", request(known_digest=some["digest"])) == unchanged
                chooser.hidden = frozenset()
                assert await agent.ask("client:get_tools", request(known_digest=some["digest"])) == everything


CONFIGS: list[dict[str, Any]] = [
    {"name": "a", "type": "stdio", "command": "x", "args": ["${input:word}"], "disabled": True},
    {"name": "b", "type": "streamable", "url": "https://h.example/mcp", "disabled": True, "vrl": ".x = 1"},
    {"name": "c", "type": "sse", "url": "https://h.example/sse", "disabled": True, "headers": {"A": "b"}},
    {
        "name": "d",
        "type": "streamable",
        "disabled": True,
        "server_parameters": {"url": "https://h.example/${input:word}", "terminate_on_close": "${input:pick}"},
    },
    {
        "name": "e",
        "type": "sse",
        "disabled": True,
        "server_parameters": {"url": "https://h.example/sse", "timeout": "${input:run}", "sse_read_timeout": 9},
    },
]
INPUTS: list[dict[str, Any]] = [
    {"id": "word", "type": "promptString", "description": "a word", "password": True},
    {"id": "pick", "type": "pickString", "description": "one", "options": ["a", "b"], "default": "a"},
    {"id": "run", "type": "command", "description": "", "command": "echo", "args": ["x"]},
]


async def test_get_config_answers_what_the_protocol_describes() -> None:
    check = TypeAdapter(GetComputerConfigRet)
    async with office(*(server_from(dict(config)) for config in CONFIGS)) as here:
        here.computer.update_inputs(INPUTS)
        config = await here.config()
        assert check.validate_python(config, strict=True) == config
        assert list(config["servers"]) == [each["name"] for each in CONFIGS]
        assert [each["id"] for each in config["inputs"]] == [each["id"] for each in INPUTS]
        here.computer.update_inputs([])
        await here.computer.aremove_server("a")
        config = await here.config()
        assert check.validate_python(config, strict=True) == config


# -------------------------------------------------------------------------------------------------- what the seeds name


async def test_the_manager_answers_by_the_names_of_the_documents() -> None:
    second = shelves("b", "--windows", "2", "--prefix", "b_", forbidden_tools=["b_echo"])
    async with office(raw("a", tool_meta={"echo": {"alias": "say"}}), second) as here:
        manager = here.computer.mcp_manager
        await eventually(lambda: here.computer.status_of("b").windows == 2)
        assert await manager.avalidate_tool_call("say", {}) == ("a", "echo")
        for name, code in (("nothing", 4001), ("b_echo", 4002)):
            with pytest.raises(SMCPError) as caught:
                await manager.avalidate_tool_call(name, {})
            assert caught.value.code == code
        tools = {tool.name: tool async for tool in manager.available_tools()}
        assert tools["say"].input_schema["type"] == "object"
        assert list(tools) == [tool["name"] for tool in await here.computer.aget_available_tools()]
        result = await manager.acall_tool("a", "echo", {"text": "hi"}, PATIENCE)
        assert text_of(result) == "hi"
        first, other = "window://shelf/w0000", "window://shelf/w0001"
        assert await manager.list_windows() == [("b", first), ("b", other)]
        assert await manager.list_windows(other) == [("b", other)]
        details = await manager.get_windows_details()
        assert [(window.server, window.uri) for window in details] == [("b", first), ("b", other)]
        assert details[0].contents == [{"uri": first, "text": "window 0 "}]
        await here.call("b_break", {"uri": first, "how": "error"})
        assert [window.uri for window in await manager.get_windows_details()] == [other]


# ---------------------------------------------------------------------------------------------------------------- logs


async def failures(caplog: pytest.LogCaptureFixture, here: Office) -> list[tuple[Any, ...]]:
    """Package, level, event, code and req_id of every failed request that was logged, once all of them are."""
    await here.agent.has_heard()
    return [
        (
            record.name.split(".")[1],
            record.levelname,
            *(getattr(record, key, None) for key in ("event", "code", "req_id")),
        )
        for record in caplog.records
        if hasattr(record, "code")
    ]


@pytest.mark.parametrize(
    ("event", "fields", "code"),
    [
        ("client:read_resource", {"uri": "dpe://"}, 4204),
        ("client:read_resource", {"uri": "dpe://shelf/nothing"}, 4201),
        ("client:read_resource", {"uri": "file:///nothing"}, 404),
        ("client:get_finder", {"limit": -1}, 400),
        ("client:tool_call", {"tool_name": "nothing", "params": {}, "timeout": 5}, 4001),
        ("client:tool_call", {"tool_name": "fail", "params": {"message": "no"}, "timeout": 5}, 4003),
        ("client:of_the_future", {}, 400),
    ],
)
async def test_a_failed_request_is_logged_once_by_computer_and_server(
    event: str, fields: dict[str, Any], code: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with office(shelves("shelves", "--documents", "1")) as here:
        await here.computer.until_state("shelves", ServerState.READY)
        caplog.set_level(logging.INFO)
        await here.agent.ask(event, request(req_id="traced", **fields))
        logged = [line for line in await failures(caplog, here) if line[2] == event]
        assert sorted(logged) == [
            ("computer", "INFO", event, code, "traced"),
            ("server", "INFO", event, code, "traced"),
        ]
        texts = [record.getMessage() for record in caplog.records if getattr(record, "event", None) == event]
        assert all(f"({code})" in text for text in texts)


async def test_an_answered_request_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with office(raw()) as here:
        await here.call("echo", {"text": "hi"})
        await here.tools()
        assert [line for line in await failures(caplog, here) if line[2] != "server:nothing-of-the-kind"] == []


async def test_what_a_peer_wrote_cannot_break_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with office(raw()) as here:
        await here.agent.ask("client:read_resource", request(uri="x:\nINFO forged\x1b[2J"))
        await here.agent.ask("client:tool_call", tool_call(tool_name="fail", params={"message": "a\nb\x1b"}))
        await here.agent.has_heard()
        assert "a b" in caplog.text, "the failure is logged, in one line"
        for record in caplog.records:
            assert not {"\n", "\x1b"} & set(record.getMessage())


async def test_a_list_that_stays_the_same_is_noted_at_debug_and_announced_to_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with office(shelves("shelves", "--windows", "1", "--documents", "1")) as here:
        await eventually(lambda: here.computer.status_of("shelves").documents == 1)
        await here.agent.has_heard()
        here.agent.heard.clear()
        caplog.set_level(logging.DEBUG)
        await here.call("relist", {"count": 1})

        def noted() -> bool:
            texts = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
            return all(any(f"the same {kind}" in text for text in texts) for kind in ("windows", "documents"))

        await eventually(noted)
        assert "notify:update_finder" not in [event for event, _ in await here.agent.has_heard()]


async def test_requests_run_side_by_side() -> None:
    async with office(raw()) as here:
        slow = asyncio.ensure_future(here.call("sleep", {"seconds": 60}, req_id="slow"))
        assert (await here.call("echo", {"text": "hi"}, req_id="quick"))["isError"] is False
        await here.agent.tell("server:tool_call_cancel", {"agent": "agent", "req_id": "slow"})
        assert (await slow)["meta"]["a2c_cancelled"] is True
