"""Long-polling clients behind a proxy that sends each request to another node."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncGenerator, Generator
from itertools import cycle
from typing import Any, cast

import aiohttp
import httpx
import pytest
import socketio
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.support.peer import crowd, tool_call
from tests.support.proxy import network
from tests.support.running import Running, RunningCluster, running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

PATH = "/socket.io/?EIO=4&transport=polling"
ORIGIN = "https://app.example"
UNKNOWN = {"code": 1, "message": "Session ID unknown"}


@pytest.fixture(scope="module")
def cluster() -> Generator[RunningCluster]:
    with running("cluster", cors_allowed_origins=[ORIGIN]) as server:
        yield cast("RunningCluster", server)


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        yield client


class Scattered:
    """A long-polling session on the first of some nodes, each of whose requests goes to the next one."""

    def __init__(self, nodes: list[Running], http: httpx.AsyncClient) -> None:
        self._nodes = nodes
        self._http = http
        self._next = cycle([*nodes[1:], nodes[0]])
        self._packets: list[str] = []

    async def open(self, role: str = "", office: str = "") -> None:
        opened = await self._http.get(self._nodes[0].url + PATH, headers={"Origin": ORIGIN})
        self.sid: str = json.loads(opened.text[1:])["sid"]
        await self.post("40/smcp,")
        await self.packet("40/smcp,")
        if role:
            await self.post(event("server:join_office", {"role": role, "name": role, "office_id": office}, 1))
            assert await self.packet("43/smcp,1") == "43/smcp,1[true,null]"

    async def post(self, *packets: str) -> None:
        response = await self.send(None, "\x1e".join(packets))
        assert (response.status_code, response.text) == (200, "ok")

    async def send(self, node: Running | None, body: str | None = None) -> httpx.Response:
        """A POST, or a poll if there is no body, to a node or to the next one."""
        url = f"{(node or next(self._next)).url}{PATH}&sid={self.sid}"
        return await self._http.request(
            "GET" if body is None else "POST", url, content=body, headers={"Origin": ORIGIN}
        )

    async def packet(self, start: str) -> str:
        """The next packet that starts so; others before it are dropped."""
        async with asyncio.timeout(PATIENCE):
            while True:
                while self._packets:
                    packet = self._packets.pop(0)
                    if packet.startswith(start):
                        return packet
                response = await self.send(None)
                assert response.status_code == 200, response.text
                assert response.headers["Content-Type"] == "text/plain; charset=UTF-8"
                assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
                self._packets = response.text.split("\x1e")


@pytest.fixture
async def session(cluster: RunningCluster, http: httpx.AsyncClient) -> AsyncGenerator[Scattered]:
    session = Scattered(cluster.nodes, http)
    await session.open()
    yield session
    await session.send(None, "1")


@contextlib.contextmanager
def stuck(node: Running) -> Generator[None]:
    """A node whose event loop stands still."""
    stands, resume = threading.Event(), threading.Event()
    assert node.loop is not None
    node.loop.call_soon_threadsafe(lambda: (stands.set(), resume.wait(2 * PATIENCE)))
    assert stands.wait(PATIENCE)
    try:
        yield
    finally:
        resume.set()


def event(name: str, data: Any, number: int | str = "") -> str:
    return f"42/smcp,{number}{json.dumps([name, data])}"


async def test_a_conversation_over_all_nodes(cluster: RunningCluster, http: httpx.AsyncClient) -> None:
    computer, agent = (Scattered(cluster.nodes[n:] + cluster.nodes[:n], http) for n in range(2))
    await computer.open("computer", "talk")
    await agent.open("agent", "talk")
    text = "ä" * 1_500_000
    data = tool_call("computer", params={"text": text})
    await agent.post(event("client:tool_call", data, 7))
    assert json.loads((await computer.packet("42/smcp,"))[8:])[0] == "notify:enter_office"
    asked = await computer.packet("42/smcp,")
    head, _, arguments = asked.partition("[")
    assert json.loads("[" + arguments) == ["client:tool_call", {**data, "agent": "agent"}]
    await computer.post(f"43{head[2:]}" + json.dumps([{"echo": text}], ensure_ascii=False))
    answered = await agent.packet("43/smcp,7")
    assert json.loads(answered.removeprefix("43/smcp,7")) == [{"echo": text}]
    await computer.post("1")
    assert json.loads((await agent.packet("42/smcp,"))[8:])[0] == "notify:leave_office"
    await agent.post("1")


async def test_a_client_of_python_socketio_stays_with_polling(cluster: RunningCluster) -> None:
    connector = aiohttp.TCPConnector(force_close=True)  # every request may reach another node
    async with (
        network([node.url for node in cluster.nodes]) as wires,
        crowd(cluster) as people,
        aiohttp.ClientSession(connector=connector) as session,
    ):
        agent = await people.member("agent", "agent", "library")
        client = socketio.AsyncClient(reconnection=False, http_session=session, handle_sigint=False)

        def echo(data: Any) -> Any:
            return {"echo": data["params"]["text"]}

        client.on("client:tool_call", echo, namespace="/smcp")
        await client.connect(wires.url, namespaces=["/smcp"], wait_timeout=PATIENCE)
        assert client.eio.current_transport == "polling"
        data = {"role": "computer", "name": "pc", "office_id": "library"}
        assert await client.call("server:join_office", data, namespace="/smcp", timeout=PATIENCE) == (True, None)
        for n in range(20):
            assert await agent.ask("client:tool_call", tool_call(params={"text": str(n)})) == {"echo": str(n)}
        await asyncio.wait_for(client.eio.queue.join(), PATIENCE)  # as in `Peer.disconnect`
        await client.disconnect()


async def test_a_websocket_to_another_node_is_denied_and_polling_goes_on(
    cluster: RunningCluster, session: Scattered
) -> None:
    url = cluster.nodes[1].url.replace("http", "ws") + f"/socket.io/?EIO=4&transport=websocket&sid={session.sid}"
    with pytest.raises(InvalidStatus) as denied:
        await connect(url)
    assert denied.value.response.status_code == 400
    assert b"another transport" in denied.value.response.body
    await session.post(event("server:nothing", {}, 5))
    await session.packet("43/smcp,5")


async def test_a_websocket_takes_over_from_a_poll_that_waits_at_another_node(
    cluster: RunningCluster, session: Scattered
) -> None:
    poll = asyncio.create_task(session.send(cluster.nodes[1]))
    url = cluster.nodes[0].url.replace("http", "ws") + f"/socket.io/?EIO=4&transport=websocket&sid={session.sid}"
    async with connect(url, close_timeout=0.2) as socket, asyncio.timeout(PATIENCE):
        await socket.send("2probe")
        assert await socket.recv() == "3probe"
        assert (await poll).text == "6"
        await socket.send("5")
        await socket.send(event("server:nothing", {}, 5))
        assert str(await socket.recv()).startswith("43/smcp,5")
        assert b"another transport" in (await session.send(cluster.nodes[1])).content


async def test_a_poll_whose_client_hung_up_takes_no_packets(cluster: RunningCluster, session: Scattered) -> None:
    for number in range(10):
        poll = asyncio.create_task(session.send(cluster.nodes[1]))
        # The same way as the poll: when this is answered, the poll has reached the session's node.
        await asyncio.sleep(0)
        assert (await session.send(cluster.nodes[1], "3")).text == "ok"
        poll.cancel()
        await asyncio.gather(poll, return_exceptions=True)
        await session.post(event("server:nothing", {}, number))
        async with asyncio.timeout(PATIENCE):
            while (got := (await session.send(cluster.nodes[2])).text) == "6":
                pass
        assert got.startswith(f"43/smcp,{number}"), "each packet is there, and once"


async def test_of_two_polls_through_different_nodes_the_newer_gets_what_there_is(
    cluster: RunningCluster, session: Scattered
) -> None:
    polls = [asyncio.create_task(session.send(node)) for node in cluster.nodes]
    waiting = set(polls)
    while len(waiting) > 1:
        done, waiting = await asyncio.wait(waiting, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        assert [poll.result().text for poll in done] == ["6"] * len(done), "the older find nothing"
    await session.post(event("server:nothing", {}, 5))
    assert (await waiting.pop()).text.startswith("43/smcp,5")


async def test_invented_sessions_are_rejected_before_their_bodies_are_read(
    cluster: RunningCluster, session: Scattered
) -> None:
    node = session.sid.partition(".")[0]
    for sid in ("n0123456789." + "x" * 20, f"{node}." + "x" * 20, "x"):
        host, port = cluster.nodes[1].url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"POST {PATH}&sid={sid} HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            assert b" 400 " in await reader.readline()
            assert json.loads((await reader.readuntil(b"}")).partition(b"\r\n\r\n")[2]) == UNKNOWN
        writer.close()


async def test_a_body_that_is_too_large_ends_the_session_on_its_node(
    cluster: RunningCluster, http: httpx.AsyncClient
) -> None:
    session = Scattered(cluster.nodes, http)
    opened = await http.get(cluster.nodes[0].url + PATH)
    session.sid = json.loads(opened.text[1:])["sid"]
    response = await session.send(cluster.nodes[1], "4" * 100_001)  # too large for a client that has not entered
    assert (response.status_code, response.json()["message"]) == (413, "the request is too large")
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert session.sid not in cluster.nodes[0].app.sio.clients


async def test_a_session_whose_node_does_not_answer_is_unknown(http: httpx.AsyncClient) -> None:
    with running("cluster", ping_interval=0.2, ping_timeout=0.2, lease=4 * PATIENCE) as server:
        nodes = cast("RunningCluster", server).nodes
        opened = await http.get(nodes[0].url + PATH)
        session = f"{nodes[1].url}{PATH}&sid={json.loads(opened.text[1:])['sid']}"
        with stuck(nodes[0]):
            assert (await http.get(session)).json() == (await http.post(session, content="3")).json() == UNKNOWN


async def test_a_poll_ends_when_the_node_of_its_session_is_removed(http: httpx.AsyncClient) -> None:
    with running("cluster", cors_allowed_origins=[ORIGIN], lease=2.0) as server:
        nodes = cast("RunningCluster", server).nodes
        session = Scattered(nodes, http)
        await session.open()
        poll = asyncio.create_task(session.send(nodes[1]))
        with stuck(nodes[0]):
            assert (await poll).json() == UNKNOWN


async def test_metrics_of_all_nodes_are_on_one_page(
    cluster: RunningCluster, session: Scattered, http: httpx.AsyncClient
) -> None:
    page = (await http.get(cluster.nodes[1].url + "/metrics/cluster")).text
    families = {family.name: family for family in text_string_to_metric_families(page)}
    assert page.count("# HELP a2c_connections ") == page.count("# TYPE a2c_connections ") == 1
    connections = {sample.labels["node"]: sample.value for sample in families["a2c_connections"].samples}
    assert len(connections) == 3
    assert connections[session.sid.partition(".")[0]] == len(cluster.nodes[0].app.namespace.connections)
    members = [sample.labels for sample in families["a2c_members"].samples]
    assert sorted(labels["role"] for labels in members) == ["agent"] * 3 + ["computer"] * 3
    assert {labels["node"] for labels in members} == connections.keys()
    assert families["a2c_cluster_unanswered"].samples[0].value == 0
    assert "node=" not in (await http.get(cluster.nodes[1].url + "/metrics")).text
    assert (await http.post(cluster.nodes[1].url + "/metrics/cluster")).status_code == 405


async def test_a_node_that_does_not_answer_is_missing_from_the_page(
    cluster: RunningCluster, http: httpx.AsyncClient
) -> None:
    with stuck(cluster.nodes[2]):
        page = (await http.get(cluster.nodes[0].url + "/metrics/cluster")).text
    families = {family.name: family for family in text_string_to_metric_families(page)}
    assert len(families["a2c_connections"].samples) == 2
    assert families["a2c_cluster_unanswered"].samples[0].value == 1


async def test_when_a_node_stops_only_its_own_sessions_end(http: httpx.AsyncClient) -> None:
    with running("cluster", cors_allowed_origins=[ORIGIN]) as server:
        nodes = cast("RunningCluster", server).nodes
        ending, staying = Scattered(nodes, http), Scattered(nodes[1:], http)
        await ending.open()
        await staying.open()
        last, poll = asyncio.create_task(ending.send(nodes[1])), asyncio.create_task(staying.send(nodes[0]))
        await asyncio.sleep(0)
        assert (await ending.send(nodes[1], "3")).text == (await staying.send(nodes[0], "3")).text == "ok"
        stopping = asyncio.create_task(server.shutdown(0))
        assert (await last).text == "41/smcp,"
        assert (await ending.send(nodes[2], "1")).text == "ok"
        await stopping
        assert (await poll).text == "6", "the client polls through another node"
        await staying.post(event("server:nothing", {}, 5))
        await staying.packet("43/smcp,5")
        response = await ending.send(nodes[1])
        assert (response.status_code, response.json()) == (400, UNKNOWN)
        assert response.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert (await ending.send(nodes[1], "3")).json() == UNKNOWN
        await staying.post("1")
