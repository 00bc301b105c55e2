"""Networks that break, Servers and Computers that restart, and peers that answer nonsense."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import socketio

from a2c_smcp.agent import (
    AgentAuthProvider,
    AgentConfig,
    AsyncSMCPAgentClient,
    DefaultAgentAuthProvider,
    SMCPAgentClient,
)
from a2c_smcp.errors import (
    CrossOfficeError,
    InternalError,
    InvalidAnswerError,
    NotConnectedError,
    NotFoundError,
    NotSupportedError,
    SMCPError,
)
from a2c_smcp.server import AuthenticationProvider, DefaultAuthenticationProvider, SMCPNamespace, create_app
from tests.support.agents import Diary, Driven, Form, Stage, kinds, stage
from tests.support.hosting import raw
from tests.support.mcp_servers import received
from tests.support.running import running, serving_asgi
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parent.parent.parent


async def test_a_cut_network_ends_calls_at_once_and_the_agent_comes_back(scene: Stage, tmp_path: Path) -> None:
    log = tmp_path / "log"
    diary = Diary()
    await scene.computer(raw("raw", "--log", str(log)))
    agent = await scene.agent(handler=diary)
    call = asyncio.create_task(agent.emit_tool_call("pc", "sleep", {"seconds": 60}, 60))
    await eventually(lambda: received(log, "tools/call"))
    scene.network.cut()
    with pytest.raises(NotConnectedError):
        await call
    await diary.until_heard("disconnected")
    await diary.until_heard("rejoined")
    assert not (await agent.emit_tool_call("pc", "echo", {"text": "back"}, 10)).isError
    await eventually(lambda: received(log, "notifications/cancelled"))


async def test_over_http_too_leaving_takes_no_longer_than_what_is_on_its_way(scene: Stage) -> None:
    agent = scene.visitor()
    await agent.connect_to_server(scene.network.url, transports=["polling"])
    await agent.join_office("office", "agent")
    scene.network.listens.clear()
    await agent.emit("server:tool_call_cancel", {"agent": "agent", "req_id": "r1"})  # the Server answers nothing
    await eventually(lambda: scene.network.is_holding)
    leaving = asyncio.create_task(agent.disconnect())
    await eventually(lambda: agent.wanted_office is None)
    scene.network.listens.set()
    async with asyncio.timeout(PATIENCE):  # the Server's next heartbeat is later
        await leaving


async def test_who_came_and_went_meanwhile_is_known_after_coming_back(scene: Stage) -> None:
    diary = Diary()
    early = await scene.fake("early")
    early.answer = tools_answer
    agent = await scene.agent(handler=diary)
    assert agent.computers == ("early",)
    scene.network.down = True
    scene.network.cut()
    await diary.until_heard("disconnected")
    with pytest.raises(NotConnectedError):
        await agent.get_tools_from_computer("early")
    await early.disconnect()
    await scene.fake("late", answer=tools_answer)
    scene.network.down = False
    await diary.until_heard("rejoined")
    assert await diary.until_heard("leave") == "early"
    assert await diary.until_heard("enter") == "late"
    await diary.until(lambda: agent.computers == ("late",))


async def test_a_server_that_restarts_finds_everybody_again(scene: Stage) -> None:
    diary = Diary()
    await scene.fake("pc", answer=tools_answer)
    agent = await scene.agent(handler=diary)
    with running("async") as second:
        scene.network.target = second.url
        await scene.server.shutdown()
        await diary.until_heard("disconnected")
        await diary.until_heard("rejoined")
        assert await diary.until_heard("leave") == "pc", "it is not at the new Server yet"
        assert agent.office_id == "office"
        await agent.disconnect()


async def test_a_computer_that_restarts_is_seen_off_and_greeted(scene: Stage) -> None:
    diary = Diary()
    first = await scene.fake("pc")
    first.answer = lambda event, data: asyncio.Event().wait()
    agent = await scene.agent(handler=diary)
    call = asyncio.create_task(agent.emit_tool_call("pc", "echo", {}, 60))
    await first.be_asked("client:tool_call")
    await first.disconnect()
    with pytest.raises(NotFoundError):
        await call
    assert await diary.until_heard("leave") == "pc"
    await scene.fake("pc", answer=tools_answer)
    assert await diary.until_heard("enter") == "pc"
    await diary.until(lambda: bool(agent.tools["pc"]))


async def test_a_seat_that_somebody_took_is_waited_for(scene: Stage, caplog: pytest.LogCaptureFixture) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    scene.network.down = True
    scene.network.cut()
    await diary.until_heard("disconnected")
    usurper = await scene.people.member("agent", "usurper", "office")
    scene.network.down = False
    await eventually(lambda: "cannot rejoin office" in caplog.text)
    assert agent.office_id is None
    await usurper.disconnect()
    await diary.until_heard("rejoined")
    assert agent.office_id == "office"


async def test_who_disconnects_while_coming_back_stays_away(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    scene.network.down = True
    scene.network.cut()
    await diary.until_heard("disconnected")
    await agent.disconnect()
    scene.network.down = False
    assert await scene.people.member("agent", "next", "office")
    assert not agent.connected
    await agent.connect_to_server(scene.network.url)
    assert agent.connected, "and may come back when it wants to"


async def test_who_is_refused_while_coming_back_tries_again(form: Form) -> None:
    class Moody(AuthenticationProvider):
        answer = True

        async def authenticate(self, sio: Any, environ: Any, auth: Any, headers: Any) -> bool:
            return self.answer

    moody = Moody()
    async with stage(form, auth_provider=moody) as scene:
        diary = Diary()
        refusals: list[Any] = []
        agent = await scene.agent(handler=diary)
        agent.client.on("connect_error", refusals.append, namespace="/smcp")
        moody.answer = False
        scene.network.cut()
        await eventually(lambda: len(refusals) >= 2)
        moody.answer = True
        await diary.until_heard("rejoined")
        assert agent.office_id == "office"


async def test_a_provider_that_fails_while_coming_back_is_asked_again(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    failures = 2

    def headers() -> dict[str, str]:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise OSError("no token now")
        return {}

    agent.client.connection_headers = headers
    scene.network.cut()
    await diary.until_heard("rejoined")
    assert failures < 0


async def test_who_gives_up_may_be_connected_by_hand(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary, reconnection_attempts=2)
    changes = agent.changes()
    scene.network.down = True
    scene.network.cut()
    assert kinds(await agent.each(changes)) == [("disconnected", None)], "and no more will come"
    scene.network.down = False
    await agent.connect_to_server(scene.network.url)
    await diary.until_heard("rejoined")
    scene.network.cut()
    await diary.until_heard("rejoined", times=2)


async def test_a_connection_that_is_not_to_be_mended_is_over(scene: Stage) -> None:
    agent = await scene.agent(reconnection=False)
    changes = agent.changes()
    scene.network.cut()
    assert kinds(await agent.each(changes)) == [("disconnected", None)]
    assert not agent.connected


async def test_joining_again_is_quick(scene: Stage) -> None:
    await scene.fake("pc", answer=tools_answer)
    agent = await scene.agent()
    async with asyncio.timeout(PATIENCE):
        await agent.join_office("office", "agent")
    assert agent.computers == ("pc",)


async def test_a_join_that_was_given_up_leaves_nothing_behind() -> None:
    async with stage("async") as scene:
        agent = scene.visitor()
        await agent.connect_to_server(scene.network.url)
        joining = asyncio.create_task(agent.join_office("first", "agent"))
        await asyncio.sleep(0)
        joining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joining
        assert agent.office_id is None
        await agent.join_office("second", "agent")
        assert await scene.people.member("agent", "other", "first"), "the seat is not taken"


async def test_leaving_the_wrong_office_changes_nothing(scene: Stage) -> None:
    await scene.fake("pc")
    agent = await scene.agent()
    with pytest.raises(CrossOfficeError):
        await agent.leave_office("another")
    assert agent.office_id == "office"
    assert agent.computers == ("pc",)


def accept(sid: str, environ: Any, auth: Any = None) -> None:
    """Let a client in."""


async def test_of_several_namespaces_only_ours_matters(form: Form) -> None:
    diary = Diary()
    sio = socketio.AsyncServer(async_mode="asgi")
    sio.register_namespace(SMCPNamespace())
    sio.on("connect", accept, namespace="/other")
    app: Any = socketio.ASGIApp(sio)
    with serving_asgi(app, create_app()) as (url, loop):

        async def drop(namespace: str) -> None:
            assert loop is not None
            dropped: Any = sio.disconnect(agent.client.get_sid(namespace), namespace=namespace)
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(dropped, loop))

        make = AsyncSMCPAgentClient if form == "async" else SMCPAgentClient
        agent = Driven(form, make(DefaultAgentAuthProvider("agent", "office"), diary, reconnection_delay=0.05))
        await agent.connect_to_server(url, namespaces=["/smcp", "/other"])
        await agent.join_office("office", "agent")
        await drop("/other")
        await eventually(lambda: "/other" not in agent.namespaces)
        assert agent.office_id == "office"
        await drop("/smcp")
        await diary.until_heard("rejoined")
        assert set(agent.namespaces) == {"/smcp", "/other"}
        await agent.disconnect()


async def test_a_handler_may_disconnect_and_come_back(scene: Stage) -> None:
    diary = ReturningDiary(scene.form, scene.network.url)
    agent = await scene.agent(handler=diary)
    await scene.fake("first")
    await diary.until_heard("came back")
    await scene.fake("second")
    await diary.until(lambda: ("enter", "second") in diary.heard)
    assert agent.connected


async def test_a_callback_of_the_program_may_use_the_client() -> None:
    async with stage("sync") as scene:
        agent = await scene.agent()
        answers: list[Any] = []
        done = asyncio.Event()
        loop = asyncio.get_running_loop()

        def callback(*_: Any) -> None:
            answers.append(agent.client.get_computers_in_office("office", 5))
            loop.call_soon_threadsafe(done.set)

        request = {"agent": "agent", "req_id": "r1", "office_id": "office"}
        await agent.emit("server:list_room", request, callback=callback)
        async with asyncio.timeout(PATIENCE):
            await done.wait()
        assert answers == [[]]


async def test_a_computer_that_comes_and_goes_all_the_time_costs_little(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    changes = agent.changes()
    fetches = 0

    def answer(event: str, data: Any) -> Any:
        nonlocal fetches
        fetches += 1
        return tools_answer(event, data)

    await scene.fake("pc", answer=answer)
    await diary.until_heard("tools")
    notice = {"office_id": "office", "computer": "pc"}
    for _ in range(200):
        await scene.server_says("notify:leave_office", notice)
        await scene.server_says("notify:enter_office", notice)
    await scene.fake("last", answer=tools_answer)
    await diary.until(lambda: ("tools", ("last", ["tool"])) in diary.heard)
    assert fetches < 50
    assert len(changes._queue) < 10  # pyright: ignore[reportPrivateUsage]
    assert set(agent.computers) == {"pc", "last"}


async def test_notices_of_another_office_are_none_of_ours(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    await scene.server_says("notify:enter_office", {"office_id": "elsewhere", "computer": "ghost"})
    await scene.fake("pc")
    await diary.until_heard("enter")
    assert agent.computers == ("pc",)


def test_the_first_calls_of_a_program_may_come_all_at_once() -> None:
    program = f"""
import asyncio, sys
sys.path.insert(0, {str(ROOT)!r})
from tests.agent.test_resilience import first_calls
asyncio.run(first_calls())
"""
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 0, outcome.stderr


async def first_calls() -> None:
    """Twenty calls one after another, while the first is still importing what it needs."""
    async with stage("async") as scene:
        result = {"content": [{"type": "text", "text": "hi"}], "isError": False}
        await scene.fake("pc", answer=lambda event, data: result)
        agent = await scene.agent()
        sys.modules.pop("a2c_smcp.utils.results", None)
        assert not any(result.isError for result in await asyncio.gather(*(call(agent, n / 100) for n in range(20))))


async def call(agent: Driven, delay: float) -> Any:
    await asyncio.sleep(delay)
    return await agent.emit_tool_call("pc", "echo", {}, 10)


# ---------------------------------------------------------------------------------------------------------- bad answers


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, NotSupportedError),
        ([], InvalidAnswerError),
        ([1, 2], InvalidAnswerError),
        ("text", InvalidAnswerError),
        (7, InvalidAnswerError),
        ({}, InvalidAnswerError),
        ({"req_id": "another", "tools": []}, InvalidAnswerError),
        ({"tools": None}, InvalidAnswerError),
        ({"tools": {"a": 1}}, InvalidAnswerError),
        ({"error": {"code": 404, "message": "gone"}}, NotFoundError),
        ({"code": 404, "message": "gone"}, NotFoundError),
        ({"error": "it broke"}, InternalError),
    ],
)
async def test_an_answer_that_is_none(scene: Stage, answer: Any, error: type[SMCPError]) -> None:
    peer = await scene.fake()
    peer.answer = lambda event, data: answer
    agent = await scene.agent()
    with pytest.raises(error) as caught:
        await agent.get_tools_from_computer("pc")
    assert str(caught.value)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, NotSupportedError),
        ([], InvalidAnswerError),
        ({}, InvalidAnswerError),
        ({"content": "text"}, InvalidAnswerError),
        ({"content": [{"type": "text"}]}, InvalidAnswerError),
        ({"content": [], "isError": "maybe"}, InvalidAnswerError),
        ({"code": 4001, "message": "no such tool"}, SMCPError),
    ],
)
async def test_a_tool_result_that_is_none(scene: Stage, answer: Any, error: type[SMCPError]) -> None:
    peer = await scene.fake()
    peer.answer = lambda event, data: answer
    agent = await scene.agent()
    with pytest.raises(error) as caught:
        await agent.emit_tool_call("pc", "tool", {}, 5)
    assert str(caught.value)


async def test_one_bad_item_takes_no_other_with_it(scene: Stage) -> None:
    peer = await scene.fake()
    good: dict[str, Any] = {"name": "good", "params_schema": {}}
    listed: list[Any] = [good, {"name": 1}, None, {"name": "half"}]
    peer.answer = lambda event, data: {"tools": listed}
    agent = await scene.agent()
    answer = await agent.get_tools_from_computer("pc")
    assert answer["tools"] == [{**good, "description": "", "return_schema": None}]


async def test_mere_markdown_is_put_into_an_envelope(scene: Stage) -> None:
    uri = "dpe://h/doc/pages/3?format=markdown"
    peer = await scene.fake()
    peer.answer = lambda event, data: {
        "contents": [{"uri": uri, "mimeType": "text/markdown", "text": "# Hi"}],
        "req_id": data["req_id"],
    }
    agent = await scene.agent()
    page = await agent.read_resource("pc", uri)
    body = {"title": "doc", "doc_ref": "doc", "page_index": 3, "content_markdown": "# Hi"}
    assert page == {"uri": "dpe://h/doc/pages/3", **body}, "without the query, so that another can be appended"


@pytest.mark.parametrize("count", [None, "3", -1, True])
async def test_a_document_that_does_not_say_how_many_pages_it_has(scene: Stage, count: Any) -> None:
    peer = await scene.fake()
    body = '{"title": "x"}' if count is None else f'{{"page_count": {str(count).lower()!r}}}'.replace("'", '"')
    peer.answer = lambda event, data: {"contents": [{"uri": "dpe://h/d", "text": body}], "req_id": data["req_id"]}
    agent = await scene.agent()
    with pytest.raises(InvalidAnswerError):
        await agent.each(agent.iter_pages("pc", "dpe://h/d"))


async def test_notices_that_make_no_sense_are_ignored(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    nonsense: list[Any] = [None, [], "pc", {}, {"computer": 1}, {"computer": None}]
    for data in nonsense:
        await scene.server_says("notify:enter_office", data)
        await scene.server_says("notify:update_tool_list", data)
    await scene.server_says("notify:something_new", {"computer": "pc"})
    await scene.fake("pc", answer=tools_answer)
    await diary.until_heard("tools")
    assert diary.count("enter") == 1
    assert agent.computers == ("pc",)


def tools_answer(event: str, data: Any) -> Any:
    tool: dict[str, Any] = {"name": "tool", "description": "", "params_schema": {}, "return_schema": None}
    return {"tools": [tool], "req_id": data["req_id"]}


class ReturningDiary(Diary):
    """Disconnects at the first Computer that comes, and comes back at once."""

    def __init__(self, form: Form, url: str) -> None:
        super().__init__()
        self._url = url
        if form == "async":
            self.on_computer_enter_office = self._return  # pyright: ignore[reportAttributeAccessIssue]
        else:
            self.on_computer_enter_office = self._return_blocking  # pyright: ignore[reportAttributeAccessIssue]

    async def _return(self, data: Any, client: Any) -> None:
        self.note("enter", data["computer"])
        if not self.count("came back"):
            await client.disconnect()
            await client.connect_to_server(self._url)
            await client.join_office("office", "agent")
            self.note("came back")

    def _return_blocking(self, data: Any, client: Any) -> None:
        self.note("enter", data["computer"])
        if not self.count("came back"):
            client.disconnect()
            client.connect_to_server(self._url)
            client.join_office("office", "agent")
            self.note("came back")


class Own(AgentAuthProvider):
    """A provider of the program's own, which is asked again for every connection."""

    def __init__(self) -> None:
        self.asked = 0

    def get_agent_id(self) -> str:
        return "own"

    def get_connection_auth(self) -> dict[str, Any] | None:
        self.asked += 1
        return {"token": "key"}

    def get_connection_headers(self) -> dict[str, str]:
        return {"x-extra": "1"}

    def get_agent_config(self) -> AgentConfig:
        return {"agent": "own", "office_id": "office"}


async def test_a_provider_of_ones_own_is_asked_for_everything(form: Form) -> None:
    async with stage(form, auth_provider=DefaultAuthenticationProvider("key")) as scene:
        provider = Own()
        make = AsyncSMCPAgentClient if form == "async" else SMCPAgentClient
        agent = Driven(form, make(provider))
        await agent.connect_to_server(scene.server.url)
        await agent.join_office()
        assert (agent.name, agent.office_id, provider.asked) == ("own", "office", 1)
        await agent.disconnect()
