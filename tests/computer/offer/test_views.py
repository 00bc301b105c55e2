"""Views of windows and documents against a server in memory: whatever happens in whatever order, they end up right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.client.subscriptions import ServerEvent
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.config.secrets import HIDDEN, Redact, Secrets
from a2c_smcp.computer.hosting.connected import ConnectedServer
from a2c_smcp.computer.hosting.subscriptions import Watched
from a2c_smcp.computer.hosting.tool_list import ToolList
from a2c_smcp.computer.hosting.watching import ResourceWatch
from a2c_smcp.computer.mcp.client import MCPClient
from a2c_smcp.computer.mcp.conversation import Conversation
from a2c_smcp.computer.mcp.link import Link
from a2c_smcp.computer.mcp.oauth.logins import Logins
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.mcp.processes import Children
from a2c_smcp.computer.offer import items
from a2c_smcp.computer.offer import view as view_module
from a2c_smcp.computer.offer.budget import ByteBudget
from a2c_smcp.computer.offer.desktop.aggregator import MAX_BYTES, DesktopAggregator
from a2c_smcp.computer.offer.finder.aggregator import FinderAggregator
from a2c_smcp.computer.offer.finder.documents import INDEX_BYTES, Room
from a2c_smcp.computer.offer.view import ResourceView
from a2c_smcp.computer.offer.watches import Watches
from a2c_smcp.errors import TooLargeError
from tests.support.hosting import hosting, shelves
from tests.support.waiting import PATIENCE, eventually

NO_SECRETS = Secrets()
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"resources": {"subscribe": True, "listChanged": True}},
    "serverInfo": {"name": "memory", "version": "1"},
}


class MemoryServer:
    """Windows and documents in memory. It tells of changes those who subscribed, as a server should."""

    def __init__(self) -> None:
        self.contents: dict[str, str] = {}
        self.broken: set[str] = set()
        self.subscribed: set[str] = set()
        self._replies: list[asyncio.Future[None]] = []
        self.reads: list[str] = []
        self.nulls = False
        self.failing_lists = 0
        self.refused: dict[str, int] = {}
        """How often it refuses to announce the changes of a resource."""
        self.lists_nothing = False
        """Whether it does not answer when it is asked what it has."""
        self.held = asyncio.Event()
        self.held.set()
        self.conversation = Conversation(self.take, lambda method, params: None)

    def take(self, message: dict[str, Any], headers: Any) -> None:
        if "id" not in message:
            return
        params: dict[str, Any] = message.get("params") or {}
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        match message["method"]:
            case "initialize":
                reply["result"] = HELLO
            case "tools/list":
                reply["result"] = {"tools": []}
            case "resources/list" if self.lists_nothing:
                return
            case "resources/list" if self.failing_lists:
                self.failing_lists -= 1
                reply["error"] = {"code": -32000, "message": "try again"}
            case "resources/list":
                reply["result"] = {"resources": [{"uri": uri, "name": uri} for uri in self.contents]}
            case "resources/subscribe" if self.refused.get(params["uri"]):
                self.refused[params["uri"]] -= 1
                reply["error"] = {"code": -32000, "message": "not yet"}
            case "resources/subscribe":
                self.subscribed.add(params["uri"])
                reply["result"] = {}
            case "resources/read" if params["uri"] in self.contents and params["uri"] not in self.broken:
                self.reads.append(params["uri"])
                content: dict[str, Any] = {"uri": params["uri"], "text": self.contents[params["uri"]]}
                if self.nulls:
                    content |= {"text": None, "blob": "AAAA"}
                reply["result"] = {"contents": [content]}
            case _:
                reply["error"] = {"code": -32002, "message": "not here"}
        self._replies.append(asyncio.ensure_future(self._reply(reply)))

    async def _reply(self, reply: dict[str, Any]) -> None:
        await self.held.wait()
        self.conversation.receive(reply)

    def tell(self, method: str, **params: Any) -> None:
        self.conversation.receive({"jsonrpc": "2.0", "method": f"notifications/resources/{method}", "params": params})

    def put(self, uri: str, content: str) -> None:
        is_new = uri not in self.contents
        self.contents[uri] = content
        if is_new:
            self.subscribed.discard(uri)
            self.tell("list_changed")
        elif uri in self.subscribed:
            self.tell("updated", uri=uri)

    def drop(self, uri: str) -> None:
        if self.contents.pop(uri, None) is not None:
            self.tell("list_changed")


class MemoryClient(MCPClient):
    """The connection to it."""

    server: MemoryServer

    @asynccontextmanager
    async def _open(self, parameters: dict[str, Any], link: Link) -> AsyncGenerator[Conversation]:
        self.server.conversation = Conversation(self.server.take, self._on_notice)
        yield self.server.conversation


async def _send_nothing(uri: str, mcp_server: str) -> bool:
    return False


@asynccontextmanager
async def viewing(
    server: MemoryServer,
    budget: int = 1_000_000,
    redact: Redact = NO_SECRETS.redact,
    room: int = INDEX_BYTES,
    list_pause: float = 0.1,
    retry_pause: float = items.RETRY_PAUSE,
) -> AsyncGenerator[ResourceView]:
    def show(watch: ResourceWatch) -> ResourceView:
        return ResourceView(
            watch,
            require_subscribe=True,
            budget=ByteBudget(budget),
            room=Room(room),
            announce=lambda change: None,
            on_list=lambda changed: None,
            watches=Watches(_send_nothing),
            redact=redact,
            retry_pause=retry_pause,
        )

    def on_event(event: ServerEvent) -> None:
        connected.on_event(event)

    policy = Policy(start_timeout=PATIENCE, list_pause=list_pause)
    tools = ToolList(server_from({"command": "memory"}, "memory"), policy, redact, lambda: None)
    client = MemoryClient(
        "memory",
        children=Children(),
        redact=redact,
        on_event=on_event,
        policy=policy,
        logins=Logins(LoginStore(), Secrets()),
    )
    client.server = server
    async with asyncio.timeout(PATIENCE), client.connect({}, tools.read) as connection:
        connected = ConnectedServer("memory", connection, tools, show=show, policy=policy, redact=redact)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connected.run)
            yield connected.view
            connected.close()
            tasks.cancel_scope.cancel()


async def shown(view: ResourceView) -> tuple[set[str], set[str]]:
    documents = await FinderAggregator(lambda: [view]).collect_documents(PATIENCE)
    return set(await look(view)), {document["title"] for document in documents}


async def look(
    view: ResourceView, size: int | None = None, *, patience: float = PATIENCE, max_bytes: int = MAX_BYTES
) -> list[str]:
    return await DesktopAggregator(lambda: [view]).look(size, None, None, patience=patience, max_bytes=max_bytes)


def document(title: str) -> str:
    return json.dumps({"title": title, "page_count": 1})


URIS = ["window://m/a", "window://m/b?priority=3", "dpe://m/x", "dpe://m/y", "note://n"]
steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "drop", "break", "mend", "look", "notice", "relist", "wait"]),
        st.sampled_from(URIS),
        st.sampled_from(["one", "two", "three"]),
    ),
    max_size=25,
)


@settings(max_examples=60)
@given(steps, st.sampled_from([50, 1_000_000]))
def test_any_sequence_of_changes_failures_and_looks_ends_as_a_fresh_view_would(
    happenings: list[tuple[str, str, str]], budget: int
) -> None:
    async def live() -> None:
        server = MemoryServer()
        async with viewing(server, budget, list_pause=0, retry_pause=0) as view:
            for what, uri, text in happenings:
                match what:
                    case "put":
                        server.put(uri, document(text) if uri.startswith("dpe") else text)
                    case "drop":
                        server.drop(uri)
                    case "break":
                        server.broken.add(uri)
                    case "mend":
                        server.broken.discard(uri)
                    case "notice":
                        server.tell("updated", uri=uri)
                    case "relist":
                        server.tell("list_changed")
                    case "look":
                        await shown(view)
                    case _:
                        await anyio.lowlevel.checkpoint()
            for uri in server.broken:
                if uri in server.subscribed:
                    server.tell("updated", uri=uri)  # a server that works again says so
            server.broken.clear()
            expected = (
                {f"{uri}\n\n{text}" for uri, text in server.contents.items() if uri.startswith("window://")},
                {json.loads(text)["title"] for uri, text in server.contents.items() if uri.startswith("dpe://")},
            )
            while await shown(view) != expected:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    asyncio.run(live())


@pytest.mark.anyio
async def test_however_many_ask_at_a_time_each_window_is_read_once() -> None:
    server = MemoryServer()
    for number in range(20):
        server.contents[f"window://m/{number}"] = str(number)
    async with viewing(server) as view:
        await eventually(lambda: len(server.subscribed) == 20)
        answers = await asyncio.gather(*(look(view) for _ in range(10)))
        assert all(len(answer) == 20 for answer in answers)
        assert len(server.reads) == 20


@pytest.mark.anyio
async def test_what_changes_while_it_is_read_is_read_again() -> None:
    server = MemoryServer()
    server.contents["window://m/a"] = "old"
    async with viewing(server) as view:
        await eventually(lambda: server.subscribed)
        looking = asyncio.ensure_future(look(view))
        await eventually(lambda: server.reads)
        server.put("window://m/a", "new")
        await looking
        assert await look(view) == ["window://m/a\n\nnew"]


@pytest.mark.anyio
async def test_a_list_that_changes_while_documents_are_read_is_what_everybody_sees_in_the_end() -> None:
    server = MemoryServer()
    for ref in "abc":
        server.contents[f"dpe://m/{ref}"] = document(ref)
    async with viewing(server) as view:
        finder = FinderAggregator(lambda: [view])
        await eventually(lambda: len(server.subscribed) == 3)
        server.held.clear()
        asking = asyncio.ensure_future(finder.find(None, None, None, patience=PATIENCE))
        await eventually(lambda: server.reads)
        server.drop("dpe://m/b")
        server.put("dpe://m/new", document("new"))
        server.held.set()
        await asking
        await eventually(lambda: "dpe://m/new" in view.documents.items and "dpe://m/b" not in view.documents.items)
        documents, total = await finder.find(None, None, None, patience=PATIENCE)
        assert ({entry["title"] for entry in documents}, total) == ({"a", "c", "new"}, 3)


@pytest.mark.anyio
async def test_a_list_that_cannot_be_read_is_tried_again_and_harms_nothing() -> None:
    server = MemoryServer()
    server.failing_lists = 2
    server.contents["window://m/a"] = "here"
    async with viewing(server) as view:
        await eventually(view.problems)
        await eventually(lambda: view.windows.items)
        assert view.problems() == []


@pytest.mark.anyio
async def test_a_server_that_lists_other_hosts_each_time_fills_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "MAX_HOSTS", 3)
    server = MemoryServer()
    async with viewing(server, list_pause=0) as view:
        for number in range(20):
            server.put(f"dpe://host{number}/d", document("d"))
            await eventually(lambda number=number: f"host{number}" in view.hosts)
            server.drop(f"dpe://host{number}/d")
            await eventually(lambda: not view.documents.items)
            assert f"host{number}" in view.hosts, "it still leads to its server"
        assert len(view.hosts) <= 4


@pytest.mark.anyio
async def test_a_wanted_resource_is_asked_for_again_until_the_server_agrees() -> None:
    server = MemoryServer()
    server.refused = {"note://n": 2}
    async with viewing(server, list_pause=0.01) as view:
        with pytest.raises(MCPError):
            await view.want("note://n")
        await eventually(lambda: "note://n" in server.subscribed)
        await view.want("note://n")


@pytest.mark.anyio
async def test_contents_with_nulls_are_read_as_if_they_were_not_there() -> None:
    server = MemoryServer()
    server.nulls = True
    server.contents |= {"window://m/a": "x", "dpe://m/d": document("d")}
    async with viewing(server) as view:
        await eventually(lambda: len(server.subscribed) == 2)
        assert await shown(view) == (set(), set())


@pytest.mark.anyio
async def test_a_secret_in_a_servers_error_is_in_no_log_and_no_note(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    server = MemoryServer()
    server.contents["window://m/a"] = "x"
    server.broken.add("window://m/a")
    secrets = Secrets()
    secrets.add("not here")
    async with viewing(server, redact=secrets.redact) as view:
        await eventually(
            lambda: [item for item in view.windows.items.values() if item.watched is Watched.YES]
        )  # else it is read again
        assert await look(view) == []
        assert HIDDEN in view.problems()[0]
    assert "not here" not in caplog.text
    secrets.forget()


@pytest.mark.anyio
async def test_what_has_no_room_to_be_kept_is_shown_all_the_same() -> None:
    server = MemoryServer()
    for number in range(5):
        server.contents[f"window://m/{number}"] = "x" * 100
        server.contents[f"dpe://m/{number}"] = document(str(number))
    async with viewing(server, budget=150) as view:
        await eventually(lambda: len(server.subscribed) == 10)
        for _ in range(3):
            assert [len(found) for found in await shown(view)] == [5, 5]


def test_the_budget_forgets_what_was_used_longest_ago() -> None:
    forgotten: list[str] = []
    budget = ByteBudget(100)
    for name in "abc":
        budget.keep(name, 40, lambda name=name: forgotten.append(name))
        budget.use("a")
    assert forgotten == ["b"]
    budget.release("a")
    assert budget.used == 40
    budget.keep("huge", 1_000, lambda: forgotten.append("huge"))
    assert forgotten == ["b", "c"]


@pytest.mark.anyio
async def test_addresses_are_completed_from_document_to_page_to_element() -> None:
    async with hosting(shelves("shelves", "--windows", "1", "--documents", "2")) as computer:
        await eventually(lambda: computer.status_of("shelves").documents == 2)
        assert await computer.acomplete_uri("window://") == ["window://shelf/w0000"]
        assert "dpe://shelf/d00001" in await computer.acomplete_uri("dpe://shelf/d0")
        assert await computer.acomplete_uri("dpe://shelf/d00001/pages/") == [
            f"dpe://shelf/d00001/pages/{number}" for number in range(3)
        ]
        assert await computer.acomplete_uri("dpe://shelf/d00001/elements/e2") == ["dpe://shelf/d00001/elements/e2"]
        for nothing in ("dpe://nobody/d/pages/", "dpe://shelf/zzz/pages/", "mailto:"):
            assert await computer.acomplete_uri(nothing) == []


@pytest.mark.anyio
async def test_no_more_windows_are_read_than_are_shown() -> None:
    server = MemoryServer()
    for number in range(200):
        server.contents[f"window://m/{number}?priority={number % 100}"] = str(number)
    async with viewing(server) as view:
        await eventually(lambda: len(server.subscribed) == 200)
        assert [each.split("\n\n")[1] for each in await look(view, 3)] == ["99", "199", "98"]
        assert len(server.reads) == 3
        server.put("window://m/full?fullscreen=1", "alone")
        await eventually(lambda: len(server.subscribed) == 201)
        assert await look(view) == ["window://m/full?fullscreen=1\n\nalone"]
        assert len(server.reads) == 4


@pytest.mark.anyio
async def test_windows_with_nothing_to_show_make_room_for_the_next() -> None:
    server = MemoryServer()
    server.contents = {f"window://m/{number}": str(number) for number in range(6)}
    server.broken = {f"window://m/{number}" for number in range(3)}
    async with viewing(server) as view:
        await eventually(lambda: len(server.subscribed) == 6)
        assert await look(view, 2) == ["window://m/3\n\n3", "window://m/4\n\n4"]
        assert "window://m/5" not in server.reads


@pytest.mark.anyio
async def test_windows_that_do_not_fit_into_the_answer_are_not_read() -> None:
    server = MemoryServer()
    for number in range(500):
        server.contents[f"window://m/{number}"] = "x" * 1_000
    async with viewing(server) as view:
        await eventually(lambda: len(server.subscribed) == 500)
        for _ in range(2):
            with pytest.raises(TooLargeError, match="ask for fewer") as caught:
                await look(view, max_bytes=10_000)
            assert caught.value.details == {"max_bytes": 10_000, "windows": 500}
            assert len(server.reads) <= 10 + 2 * items.READERS
        assert len(await look(view, 9, max_bytes=10_000)) == 9


@pytest.mark.anyio
async def test_a_server_that_does_not_list_hides_no_windows_of_another() -> None:
    good, silent = MemoryServer(), MemoryServer()
    good.contents["window://m/a"] = "here"
    silent.lists_nothing = True
    async with viewing(good) as shown_view, viewing(silent) as silent_view:
        desktop = DesktopAggregator(lambda: [silent_view, shown_view])
        assert await desktop.look(None, None, None, patience=0.5) == ["window://m/a\n\nhere"]


@pytest.mark.anyio
async def test_a_document_that_will_never_fit_is_not_read_again_and_again() -> None:
    server = MemoryServer()
    server.contents["dpe://m/huge"] = json.dumps({"title": "x" * 20_000, "page_count": 1})
    async with viewing(server, room=10_000) as view:
        finder = FinderAggregator(lambda: [view])
        await eventually(lambda: any(item.watched is Watched.YES for item in view.documents.items.values()))
        for _ in range(3):
            assert await finder.collect_documents(PATIENCE) == []
        assert (finder.left_out, len(server.reads)) == (1, 1)
        server.put("dpe://m/huge", document("small now"))
        await eventually(lambda: not view.documents.items["dpe://m/huge"].is_fresh)
        assert len(await finder.collect_documents(PATIENCE)) == 1
        assert finder.left_out == 0


@pytest.mark.anyio
async def test_documents_beyond_the_index_are_left_out_and_counted() -> None:
    server = MemoryServer()
    for number in range(30):
        server.contents[f"dpe://m/{number:02}"] = document(f"title {number:02}")
    async with viewing(server, budget=10, room=10_000) as view:
        finder = FinderAggregator(lambda: [view])
        await eventually(lambda: len(server.subscribed) == 30)
        held = len(await finder.collect_documents(PATIENCE))
        assert 5 < held < 25
        assert finder.left_out == 30 - held
        assert f"{finder.left_out} of its 30 documents are not in the Finder" in view.problems()[0]
        reads = len(server.reads)
        assert len((await finder.find(["title"], None, None, patience=PATIENCE))[0]) == held
        assert len(server.reads) == reads, "what was left out is not read for every request"
        for number in range(20):
            server.drop(f"dpe://m/{number:02}")
        await eventually(lambda: len(view.documents.items) == 10)
        assert len(await finder.collect_documents(PATIENCE)) == 10
        assert (finder.left_out, view.problems()) == (0, [])


@pytest.mark.anyio
async def test_a_resource_can_be_read_as_soon_as_the_tool_that_made_it_has_ended() -> None:
    async with hosting(shelves()) as computer:
        for number in range(5):
            uri = f"window://shelf/new{number}"
            made = await computer.aexecute_tool(f"call {number}", "set_window", {"uri": uri, "text": "new"}, PATIENCE)
            assert not made.is_error
            assert [part.get("text") for part in await computer.read_resource(uri)] == ["new"]
