"""The Server inside somebody's program: on a plain Socket.IO server, subclassed, mounted, asked about its offices."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, ClassVar

import httpx
import pytest
import socketio
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from a2c_smcp import __version__
from a2c_smcp import server as a2c
from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.computer import SMCPComputerClient
from a2c_smcp.errors import NotFoundError, TooLargeError
from a2c_smcp.server.app import SyncSMCPApp
from tests.support.hosting import hosting, raw
from tests.support.peer import Peer, crowd, request, tool_call
from tests.support.running import Kind, Running, running, serving_asgi, serving_wsgi
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


class Recording(a2c.SMCPNamespace):
    """Extends some handlers through `super()`, replaces one, adds one, and has one that fails."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seen: list[str] = []

    async def on_connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        if auth == {"banned": True}:
            await super().on_connect(sid, environ, auth)
            return False
        self.seen.append("connect")
        return await super().on_connect(sid, environ, auth)

    async def on_disconnect(self, sid: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # older style
        self.seen.append("disconnect")
        await super().on_disconnect(sid)

    async def on_server_join_office(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        ack = await super().on_server_join_office(sid, data)
        self.seen.append(f"join {ack[0]}")
        return ack

    async def on_client_tool_call(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        ack = await super().on_client_tool_call(sid, {**data, "params": {"seen": True}})
        return {**ack, "stamped": True}

    def on_client_get_tools(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return {"tools": [], "req_id": data["req_id"]}

    async def on_client_get_config(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise RuntimeError("a bug in the host program, password=hunter2")

    async def on_hello(self, sid: str, data: Any) -> Any:
        return f"hello {data}"


class SyncRecording(a2c.SyncSMCPNamespace):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seen: list[str] = []

    def on_connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        if auth == {"banned": True}:
            super().on_connect(sid, environ, auth)
            return False
        self.seen.append("connect")
        return super().on_connect(sid, environ, auth)

    def on_disconnect(self, sid: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # older style
        self.seen.append("disconnect")
        super().on_disconnect(sid)

    def on_server_join_office(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        ack = super().on_server_join_office(sid, data)
        self.seen.append(f"join {ack[0]}")
        return ack

    def on_client_tool_call(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        ack = super().on_client_tool_call(sid, {**data, "params": {"seen": True}})
        return {**ack, "stamped": True}

    def on_client_get_tools(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return {"tools": [], "req_id": data["req_id"]}

    def on_client_get_config(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise RuntimeError("a bug in the host program, password=hunter2")

    def on_hello(self, sid: str, data: Any) -> Any:
        return f"hello {data}"


async def test_a_subclass_extends_replaces_and_adds_handlers(kind: Kind) -> None:
    subclass: Any = Recording if kind == "async" else SyncRecording
    with running(kind, namespace_class=subclass) as server:
        namespace: Any = server.app.namespace
        async with crowd(server) as people:
            agent, computer = await people.office("o", "pc")
            ack = await agent.ask("client:tool_call", tool_call())
            assert ack["stamped"] is True
            assert computer.asked[0][1]["params"] == {"seen": True}
            assert await agent.ask("client:get_tools", request()) == {"tools": [], "req_id": "r1"}
            assert await agent.ask("hello", "you") == "hello you"
            failed = await agent.ask("client:get_config", request())
            assert failed["error"]["code"] == 500
            assert "hunter2" not in str(failed)
            await computer.disconnect()
            await agent.hear("notify:leave_office")
            assert namespace.seen == ["connect", "join True", "connect", "join True", "disconnect"]
            await people.refused(auth={"banned": True})
            assert len(namespace.connections) == 1


class Filtering(a2c.SMCPNamespace):
    """Hides some tools, and knows nothing about digests."""

    hidden: ClassVar[set[str]] = set()

    async def on_client_get_tools(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        ack = await super().on_client_get_tools(sid, data)
        ack["tools"] = [tool for tool in ack["tools"] if tool["name"] not in self.hidden]
        return ack


class SyncFiltering(a2c.SyncSMCPNamespace):
    """The same for threads."""

    def on_client_get_tools(self, sid: str, data: Any) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        ack = super().on_client_get_tools(sid, data)
        ack["tools"] = [tool for tool in ack["tools"] if tool["name"] not in Filtering.hidden]
        return ack


async def test_a_handler_that_hides_tools_gets_the_list_each_time(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    subclass: Any = Filtering if kind == "async" else SyncFiltering

    def answer(event: str, data: Any) -> Any:
        if data.get("known_digest") == "d":
            return {"unchanged": True, "digest": "d", "req_id": data["req_id"]}
        return {"tools": [{"name": "a"}, {"name": "b"}], "digest": "d", "req_id": data["req_id"]}

    with running(kind, namespace_class=subclass) as server:
        async with crowd(server) as people:
            agent, computer = await people.office("o", "pc")
            computer.answer = answer
            first = await agent.ask("client:get_tools", request())
            assert first == {"tools": [{"name": "a"}, {"name": "b"}], "req_id": "r1"}, "not the digest of another list"
            monkeypatch.setattr(Filtering, "hidden", {"a"})
            again = await agent.ask("client:get_tools", request(known_digest="d"))
            assert again == {"tools": [{"name": "b"}], "req_id": "r1"}


async def test_a_request_of_the_program_fails_when_its_client_disconnects(kind: Kind) -> None:
    with running(kind) as server:
        async with crowd(server) as people:
            _, computer = await people.office("o", "pc")
            gate, sio = asyncio.Event(), server.app.sio
            computer.answer = lambda _event, _data: gate.wait()
            asking = "client:get_tools", request(), computer.sid
            if isinstance(server.app, SyncSMCPApp):
                call = asyncio.ensure_future(asyncio.to_thread(sio.call, *asking))
            else:
                assert server.loop is not None
                call = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(server.app.sio.call(*asking), server.loop))
            await computer.be_asked("client:get_tools")
            await computer.disconnect()
            async with asyncio.timeout(PATIENCE):
                with pytest.raises(NotFoundError):
                    await call
            gate.set()


async def test_the_namespace_registers_on_a_plain_async_server() -> None:
    sio = socketio.AsyncServer(async_mode="asgi")
    namespace = a2c.SMCPNamespace(a2c.DefaultAuthenticationProvider("secret"))
    sio.register_namespace(namespace)
    app = a2c.create_app()  # for its serving options alone
    with serving_asgi(socketio.ASGIApp(sio), app) as (url, loop):
        async with crowd(Running("async", url, app)) as people:
            key = {"headers": {"x-api-key": "secret"}}
            agent = await people.member("agent", "agent", "o", **key)
            computer = await people.member("computer", "pc", "o", **key)
            assert (await agent.ask("client:tool_call", tool_call()))["echo"] == "client:tool_call"

            async def questions() -> tuple[Any, Any]:
                return await a2c.aget_computers_in_office("o", sio), await a2c.aget_all_sessions_in_office("o", sio)

            assert loop is not None
            computers, everybody = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(questions(), loop))
            assert computers == [{"sid": computer.sid, "name": "pc", "role": "computer", "office_id": "o"}]
            assert [session["name"] for session in everybody] == ["agent", "pc"]


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_a_plain_server_says_what_it_accepts(form: str) -> None:
    with contextlib.ExitStack() as stack:
        if form == "async":
            sio = socketio.AsyncServer(async_mode="asgi")
            sio.register_namespace(a2c.SMCPNamespace())
            app = a2c.create_app()  # for its serving options alone
            url, _ = stack.enter_context(serving_asgi(socketio.ASGIApp(sio), app))
        else:
            blocking = socketio.Server(async_mode="threading")
            blocking.register_namespace(a2c.SyncSMCPNamespace())
            url = stack.enter_context(serving_wsgi(socketio.WSGIApp(blocking)))
        async with hosting(raw()) as computer, SMCPComputerClient.in_office(computer, url, "o") as client:
            info = client.server_info
            assert info.version == __version__
            assert info.max_message_bytes == 1_000_000, "the limit of python-socketio, which is smaller than ours"
            async with AsyncSMCPAgentClient.in_office(url, "o", "agent") as agent:
                await agent.wait_for("pc", "big")
                with pytest.raises(TooLargeError):
                    await agent.call_tool("pc", "big", {"bytes": 2_000_000})
                assert (await agent.call_tool("pc", "echo", {"text": "hi"})).text == "hi"


async def test_the_sync_queries_ask_about_offices() -> None:
    with running("sync") as server:
        assert isinstance(server.app, SyncSMCPApp)
        async with crowd(server) as people:
            await people.office("o", "pc1", "pc2")
            sio = server.app.sio
            assert [s["name"] for s in a2c.get_computers_in_office("o", sio)] == ["pc1", "pc2"]
            assert len(a2c.get_all_sessions_in_office("o", sio)) == 3
            assert a2c.get_all_sessions_in_office("empty", sio) == []


def test_a_query_without_the_namespace_says_so() -> None:
    with pytest.raises(LookupError, match="/smcp"):
        a2c.get_computers_in_office("o", socketio.Server(async_mode="threading"))


@pytest.mark.parametrize(("mount", "path"), [("/", "socket.io"), ("/hub", "hub/socket.io")])
async def test_it_mounts_into_fastapi_in_three_lines(mount: str, path: str) -> None:
    api = FastAPI()
    api.add_api_route("/mine", lambda: "mine")
    hub = a2c.create_app(a2c.DefaultAuthenticationProvider("secret"))
    api.mount(mount, hub)
    with serving_asgi(api, hub) as (url, _):
        async with httpx.AsyncClient() as http:
            assert (await http.get(url + "/mine")).json() == "mine"
            assert (await http.get(url + mount.rstrip("/") + "/healthz")).json() == {"status": "ok"}
        peer = Peer()
        await peer.connect_at(url, path, auth={"token": "secret"})
        assert await peer.join("agent", "a", "o") == (True, None)
        await peer.disconnect()


async def test_health_readiness_and_metrics(server: Running) -> None:
    async with crowd(server) as people, httpx.AsyncClient(base_url=server.url) as http:
        agent, _ = await people.office("o", "pc")
        await agent.ask("client:get_tools", request())
        await agent.ask("client:invented", request("nobody"))
        await agent.ask("client:tool_call", tool_call("nobody"))
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/readyz")).status_code == 200
        assert (await http.head("/healthz")).status_code == 200
        assert (await http.post("/healthz")).status_code == 405
        assert (await http.get("/elsewhere")).status_code == 404
        page = (await http.get("/metrics")).text
        assert "a2c_office_" not in page
        for line in [
            "a2c_connections 2.0",
            "a2c_offices 1.0",
            'a2c_members{role="agent"} 1.0',
            'a2c_members{role="computer"} 1.0',
            "a2c_in_flight 0.0",
            'a2c_requests_total{event="client:get_tools",outcome="ok"} 1.0',
            'a2c_requests_total{event="client:tool_call",outcome="404"} 1.0',
            'a2c_requests_total{event="other",outcome="404"} 1.0',
            'a2c_request_seconds_count{event="client:get_tools"} 1.0',
            'a2c_refusals_total{code="404"} 2.0',
        ]:
            assert line in page.splitlines()
        await server.shutdown(grace=0)
        assert (await http.get("/readyz")).status_code == 503
        assert (await http.get("/healthz")).status_code == 200


async def test_metrics_count_outcomes_of_computers_and_notifications(kind: Kind) -> None:
    with running(kind, metrics_by_office=True) as server:
        async with crowd(server) as people, httpx.AsyncClient(base_url=server.url) as http:
            agent, computer = await people.office('o"1')
            for code in (4003, 99_999):
                computer.answer = lambda event, data, code=code: {"error": {"code": code, "message": "no"}}
                await agent.ask("client:tool_call", tool_call())
            await computer.ask("server:update_desktop", {"computer": "pc"})
            page = (await http.get("/metrics")).text
    families = {family.name: family for family in text_string_to_metric_families(page)}  # raises if it is not valid
    found = {(each.name, *each.labels.values()): each.value for each in families["a2c_requests"].samples}
    assert found["a2c_requests_total", "client:tool_call", "4003"] == 1
    assert found["a2c_requests_total", "client:tool_call", "other"] == 1, "a Computer invents no labels"
    assert found["a2c_requests_total", "server:update_desktop", "ok"] == 1
    assert not families["a2c_refusals"].samples, "the Server rejected nothing"
    sent = {
        each.labels["event"]: each.value for each in families["a2c_notifications"].samples if "event" in each.labels
    }
    assert sent["notify:update_desktop"] == 1
    office = {each.labels["outcome"] for each in families["a2c_office_requests"].samples if "outcome" in each.labels}
    assert office == {"ok", "4003", "other"}
    assert {each.labels["office"] for each in families["a2c_office_request_seconds"].samples} == {'o"1'}


async def test_metrics_can_be_left_out(kind: Kind) -> None:
    with running(kind, metrics=False) as server:
        async with crowd(server) as people, httpx.AsyncClient(base_url=server.url) as http:
            agent, _ = await people.office()
            assert (await agent.ask("client:get_tools", request()))["echo"]
            assert (await http.get("/metrics")).status_code == 404
