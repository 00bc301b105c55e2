"""Watched resources: few streams for many of them, nothing lost when a stream is replaced, and no watch that stays."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.subscriptions import ServerEvent
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.config.secrets import Secrets
from a2c_smcp.computer.hosting import streams
from a2c_smcp.computer.hosting.subscriptions import Watched
from a2c_smcp.computer.hosting.watching import ResourceWatch
from a2c_smcp.computer.mcp.client import MCPClient
from a2c_smcp.computer.mcp.conversation import Conversation
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.listing import Listing
from a2c_smcp.computer.mcp.oauth.logins import Logins
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.mcp.processes import Children
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.offer.confirmation import Caller
from tests.computer.offer.test_prompts_and_resources import NOTES, offering
from tests.computer.offer.test_prompts_and_resources import subscriptions as asked_of
from tests.support.mcp_servers import AUTO, SERVERS, HttpServer, received
from tests.support.offices import office
from tests.support.peer import request
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

KEY = "io.modelcontextprotocol/"
VERSION = "2026-07-28"


class MemoryServer:
    """A server of 2026-07-28 in memory, whose streams a test controls."""

    def __init__(self) -> None:
        self.listed: list[str] = []
        self.rejected: set[str] = set()
        """A stream with one of these is rejected."""
        self.unanswered: set[str] = set()
        """A stream with one of these is not answered."""
        self.streams: dict[str, list[str]] = {}
        """The open streams for resources, by their ids."""
        self.requests: list[list[str]] = []
        self.most = 0
        """The number of streams that were open at a time."""
        self.conversation: Conversation | None = None

    def take(self, message: dict[str, Any], headers: Any) -> None:
        params: dict[str, Any] = message.get("params") or {}
        match message["method"]:
            case "notifications/cancelled":
                self.streams.pop(params["requestId"], None)
            case "initialize":
                self.fail(message["id"], -32601)
            case "server/discover":
                capabilities = {"resources": {"subscribe": True, "listChanged": True}}
                info = {
                    "supportedVersions": [VERSION],
                    "capabilities": capabilities,
                    "ttlMs": 0,
                    "cacheScope": "private",
                }
                self.answer(message["id"], info)
            case "tools/list":
                self.answer(message["id"], {"tools": []})
            case "resources/list":
                self.answer(message["id"], {"resources": [{"uri": uri, "name": uri} for uri in self.listed]})
            case "subscriptions/listen":
                self.listen(message["id"], params["notifications"])
            case _:
                self.fail(message["id"], -32601)

    def listen(self, number: str, wanted: dict[str, Any]) -> None:
        uris: list[str] = wanted.get("resourceSubscriptions") or []
        if uris:
            self.requests.append(uris)
        if self.rejected & set(uris):
            self.fail(number, -32602)
        elif not self.unanswered & set(uris):
            self.tell("subscriptions/acknowledged", number, notifications=wanted)
            if uris:
                self.streams[number] = uris
                self.most = max(self.most, len(self.streams))

    def update(self, uri: str, streams: Iterable[str] | None = None) -> None:
        """Announce an update, on the streams that are about it or on these."""
        for number in streams or [number for number, uris in self.streams.items() if uri in uris]:
            self.tell("resources/updated", number, uri=uri)

    def relist(self, *uris: str) -> None:
        self.listed = list(uris)
        self.send(method="notifications/resources/list_changed")

    def end(self, number: str) -> None:
        """End a stream."""
        del self.streams[number]
        self.answer(number, {})

    def answer(self, number: Any, result: dict[str, Any]) -> None:
        meta = {f"{KEY}serverInfo": {"name": "memory", "version": "1"}}
        self.send(id=number, result={**result, "resultType": "complete", "_meta": meta})

    def fail(self, number: Any, code: int) -> None:
        self.send(id=number, error={"code": code, "message": "no"})

    def tell(self, method: str, number: str, **params: Any) -> None:
        self.send(method=f"notifications/{method}", params={"_meta": {f"{KEY}subscriptionId": number}, **params})

    def send(self, **message: Any) -> None:
        # Later: the library must have sent its request before it gets the answer.
        conversation = self.conversation
        assert conversation is not None
        asyncio.get_running_loop().call_soon(conversation.receive, {"jsonrpc": "2.0", **message})


class MemoryClient(MCPClient):
    """The connection to it."""

    server: MemoryServer

    @asynccontextmanager
    async def _open(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Conversation]:
        self.server.conversation = Conversation(self.server.take, self._on_notice)
        yield self.server.conversation


class Audience:
    """Records what it is told."""

    def __init__(self) -> None:
        self.updates: list[str] = []
        self.states: dict[str, Watched] = {}
        self.opened: list[str] = []
        self.listings = 0

    def take(self, listing: Listing) -> None:
        self.listings += 1

    def updated(self, uri: str) -> None:
        self.updates.append(uri)

    def watch(self, uris: Iterable[str], state: Watched) -> None:
        for uri in uris:
            self.states[uri] = state
            if state is Watched.YES:
                self.opened.append(uri)

    async def look_again(self) -> None:
        pass

    def templates_changed(self) -> None:
        pass

    def prompts_changed(self) -> None:
        pass

    def close(self) -> None:
        pass


@asynccontextmanager
async def watching(server: MemoryServer) -> AsyncGenerator[tuple[ResourceWatch, Audience]]:
    def on_event(event: ServerEvent) -> None:
        watch.outdate()

    policy = Policy(start_timeout=PATIENCE, list_pause=0.01, longest_delay=0.05)
    client = MemoryClient(
        "memory",
        children=Children(),
        redact=Secrets().redact,
        on_event=on_event,
        policy=policy,
        logins=Logins(LoginStore(), Secrets()),
    )
    client.server = server

    async def read_tools(session: Session) -> frozenset[str]:
        return frozenset()

    async with asyncio.timeout(PATIENCE), client.connect({}, read_tools) as connection:
        watch, audience = ResourceWatch("memory", connection.session, policy, Secrets().redact), Audience()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.run, audience)
            yield watch, audience
            watch.close()
            tasks.cancel_scope.cancel()


# -------------------------------------------------------------------------------------------------------------- streams


async def test_many_watches_share_a_few_streams() -> None:
    server = MemoryServer()
    async with watching(server) as (watch, _):
        for number in range(50):  # one after another
            await watch.want(f"memo://{number}")
        await asyncio.gather(*(watch.want(f"memo://{number}") for number in range(50, 300)))  # and in a burst
        assert set(server.requests[-1]) == {f"memo://{number}" for number in range(300)}
        assert len(server.requests) <= 52, "the burst is coalesced"
        assert server.most <= streams.MOST_STREAMS + 1
        await eventually(lambda: len(server.streams) == 1)
        for number in range(300):
            watch.unwant(f"memo://{number}")
        await eventually(lambda: not server.streams)


async def test_no_update_is_lost_and_nothing_read_again_when_a_stream_is_replaced() -> None:
    server = MemoryServer()
    async with watching(server) as (watch, audience):
        await watch.want("memo://a")
        [old] = server.streams
        await watch.want("memo://b")
        # The update was on its way on the old stream when the new one was opened.
        server.update("memo://a", [old])
        await eventually(lambda: audience.updates == ["memo://a"])
        await eventually(lambda: old not in server.streams)
        server.update("memo://a")
        await eventually(lambda: audience.updates == ["memo://a"] * 2)
        assert audience.opened == ["memo://a", "memo://b"], "there was no gap"


async def test_a_watch_that_the_server_rejects_costs_no_other() -> None:
    server = MemoryServer()
    server.rejected = {"memo://bad"}
    async with watching(server) as (watch, audience):
        await watch.want("memo://before")
        uris = [*(f"memo://{number}" for number in range(20)), "memo://bad"]
        outcomes = await asyncio.gather(*map(watch.want, uris), return_exceptions=True)
        assert [isinstance(outcome, MCPError) for outcome in outcomes] == [False] * 20 + [True]
        watch.unwant("memo://bad")
        for uri in ("memo://before", "memo://0", "memo://19"):
            server.update(uri)
        await eventually(lambda: set(audience.updates) == {"memo://before", "memo://0", "memo://19"})
        assert audience.opened.count("memo://before") == 1, "its stream was not interrupted"


async def test_a_watch_that_the_server_does_not_answer_delays_others_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "WATCH_TIMEOUT", 0.1)
    server = MemoryServer()
    server.unanswered = {"memo://mute"}
    async with watching(server) as (watch, _):
        mute = asyncio.ensure_future(watch.want("memo://mute"))
        await eventually(lambda: server.requests)
        await watch.want("memo://good")
        with pytest.raises(TimeoutError):
            await mute
        assert server.most == 1


async def test_a_server_that_accepts_a_stream_later_is_asked_again() -> None:
    server = MemoryServer()
    server.rejected = {"memo://late"}
    async with watching(server) as (watch, audience):
        watch.want_again(["memo://late"])
        await watch.want("memo://good")
        with pytest.raises(MCPError):
            await watch.want("memo://late")
        server.rejected.clear()
        await eventually(lambda: audience.states.get("memo://late") is Watched.YES)


async def test_a_stream_that_ends_is_opened_again_and_the_gap_is_known() -> None:
    server = MemoryServer()
    async with watching(server) as (watch, audience):
        await watch.want("memo://a")
        server.end(next(iter(server.streams)))
        await eventually(lambda: audience.opened == ["memo://a"] * 2)
        server.update("memo://a")
        await eventually(lambda: audience.updates)


async def test_windows_that_come_and_go_share_a_stream_and_returned_ones_are_new() -> None:
    server = MemoryServer()
    server.listed = ["window://m/0"]
    async with watching(server) as (watch, audience):
        await watch.want("memo://other")
        await watch.want("window://m/1")  # wanted first, then listed
        for count in range(2, 10):
            server.relist(*(f"window://m/{number}" for number in range(count)))
            await eventually(lambda count=count: audience.states.get(f"window://m/{count - 1}") is Watched.YES)
        assert server.most <= 2 * streams.MOST_STREAMS + 1
        await eventually(lambda: len(server.streams) == 2)
        assert audience.states["window://m/1"] is Watched.YES
        audience.opened.clear()
        server.relist(*(f"window://m/{number}" for number in range(3, 9)))  # 0, 1 and 2 are gone; 1 is wanted
        await eventually(lambda: "window://m/1" in audience.opened)
        server.relist(*(f"window://m/{number}" for number in range(9)))
        await eventually(lambda: {"window://m/0", "window://m/2"} <= set(audience.opened))
        assert "window://m/5" not in audience.opened, "it was there all the time"
        await eventually(lambda: len(server.streams) == 2)


async def test_watches_leave_connections_for_calls_over_http() -> None:
    command = [sys.executable, str(SERVERS / "windowed.py"), "streamable"]
    with contextlib.closing(HttpServer(command)) as server:
        config = server_from({"type": "streamable", "url": server.url, "default_tool_meta": AUTO}, "w")
        async with office(config) as here:
            assert here.computer.status_of("w").protocol_version == VERSION
            asked = [request(uri=f"memo://{n}", mcp_server="w", req_id=f"r{n}") for n in range(150)]
            answers = await asyncio.gather(*(here.agent.ask("client:watch_resource", each) for each in asked))
            assert not [answer for answer in answers if "error" in answer]
            for uri in ("memo://0", "memo://149"):
                assert not (await here.call("write", {"text": "x", "uri": uri}))["isError"]
                # The last two streams may both announce it.
                while (await here.agent.hear("notify:update_resource"))["uri"] != uri:
                    pass


# --------------------------------------------------------------------------------------------------------------- races


@pytest.mark.parametrize(
    ("held", "uri", "expected"),
    [
        ("resources/subscribe", NOTES, ["subscribe", "unsubscribe"]),
        ("resources/templates/list", "db://rows/7", list[str]()),
    ],
)
@pytest.mark.parametrize("who", ["agent", "computer", "nobody"])
async def test_a_watch_of_an_agent_that_left_meanwhile_ends(
    held: str, uri: str, expected: list[str], who: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with office(offering("a", "--log", str(log), "--hold", held)) as here:
        caller = Caller("office", "agent")
        watched = asyncio.ensure_future(here.computer.watch_resource(uri, caller=caller))
        await eventually(lambda: received(log, held))
        if who == "agent":
            await here.agent.ask("server:leave_office", {"office_id": "office"})
            following = await here.people.member("agent", "next", "office")
            await following.ask("client:get_tools", request(agent="next"))  # behind the notice of the leave
        elif who == "computer":
            await here.client.leave_office("office")
        else:
            await here.computer.watch_resource(uri, watch=False, caller=caller)
        released = await here.computer.aexecute_tool("r", "release", {}, PATIENCE)
        assert not released.is_error
        await watched
        await eventually(lambda: asked_of(log) == expected)
        assert here.computer.mcp_manager.watches.of("a") == []


async def test_a_request_that_is_cancelled_does_not_end_the_watch_of_another(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(offering("a", "--log", str(log), "--hold", "resources/subscribe")) as here:
        caller = Caller("office", "agent")
        cancelled, kept = (asyncio.ensure_future(here.computer.watch_resource(NOTES, caller=caller)) for _ in range(2))
        await eventually(lambda: received(log, "resources/subscribe"))
        cancelled.cancel()
        await asyncio.wait((cancelled,))
        await here.call("release")
        await kept
        await here.call("update", {"uri": NOTES})
        assert (await here.agent.hear("notify:update_resource"))["uri"] == NOTES
        assert asked_of(log) == ["subscribe"]
