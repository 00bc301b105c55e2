"""What an operator sees of an office and may call in it, with real MCP servers behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from a2c_smcp.server.auth import CredentialAuthenticationProvider
from a2c_smcp.server.key_changes import NewKey, add_key
from a2c_smcp.server.key_file import KeyFile
from tests.support.gateway import Answers, Hall, hall
from tests.support.hosting import asking, raw
from tests.support.mcp_servers import received
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

PAGE = {
    "page_index": 0,
    "title": "One",
    "elements": [{"element_id": "e1", "category": "text", "content": {"text": "hi"}}],
}

Events = AsyncGenerator[tuple[str, Any]]


class Place:
    """A Server with an office, and an operator with a key."""

    def __init__(self, hall: Hall, http: httpx2.AsyncClient, keys: dict[str, str], log: Path) -> None:
        self.hall, self.http, self.keys, self.log = hall, http, keys, log

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self.http.get(f"/offices/office{path}", params=query)
        return answer.json() if answer.status_code == 200 else answer.json()["error"]["code"]

    @asynccontextmanager
    async def call(
        self, tool: str, computer: str = "pc", **arguments: Any
    ) -> AsyncGenerator[AsyncGenerator[tuple[str, Any]]]:
        """The events of a call."""
        form = {"computer": computer, "tool": tool, "arguments": arguments, "timeout": 60}
        async with self.http.stream("POST", "/offices/office/calls", json=form) as answer:
            assert answer.status_code == 200, await answer.aread()
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield _events(answer)


async def _events(answer: httpx2.Response) -> Events:
    kind = ""
    async for line in answer.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Place]:
    folder = tmp_path_factory.mktemp("console")
    file, log = folder / "keys.toml", folder / "raw"
    keys = {
        "ops": add_key(file, NewKey("ops", offices=["*"], admin=True)),
        "other": add_key(file, NewKey("other", offices=["*"], admin=True)),
        "blind": add_key(file, NewKey("blind", admin=True)),
    }
    async with hall(CredentialAuthenticationProvider(KeyFile(file))) as found:
        await found.computer(raw("raw", "--log", str(log)), asking(), key=keys["ops"])
        headers = {"Authorization": f"Bearer {keys['ops']}"}
        base = f"{found.server.url}/api/v1"
        async with httpx2.AsyncClient(base_url=base, headers=headers, timeout=PATIENCE) as http:
            yield Place(found, http, keys, log)


async def test_tools_are_listed_without_schemas_and_shown_with_them(place: Place) -> None:
    found = await place.get("/tools")
    assert found["computers"] == ["pc"]
    listed = {tool["name"]: tool for tool in found["tools"]}
    assert listed["echo"]["mcp_server"] == "raw"
    assert "input_schema" not in listed["echo"]
    detail = await place.get("/tools/pc/echo")
    assert detail["input_schema"]["type"] == "object"
    assert await place.get("/tools/pc/nothing") == 4001
    assert await place.get("/tools/nobody/echo") == 4001


async def test_call_has_a_result(place: Place) -> None:
    async with place.call("echo", text="hello") as events:
        kinds = [kind async for kind, _ in events]
    assert kinds[0] == "started"
    assert kinds[-1] == "result"
    async with place.call("echo", text="hello") as events:
        last = [data async for _, data in events][-1]
    assert last["content"][0]["text"] == "hello"


async def test_call_that_fails_before_the_tool_says_why(place: Place) -> None:
    async with place.call("echo", computer="nobody") as events:
        kind, data = [event async for event in events][-1]
    assert (kind, data["code"]) == ("failed", 404)
    answer = await place.http.post("/offices/office/calls", json={"computer": "pc"})
    assert answer.json()["error"]["code"] == 400


async def test_call_ends_where_it_runs_when_its_stream_is_closed(place: Place) -> None:
    cancelled = len(received(place.log, "notifications/cancelled"))
    async with place.call("sleep", seconds=600) as events:
        assert (await anext(events))[0] == "started"
        await eventually(lambda: [call for call in received(place.log, "tools/call") if "600" in str(call)])
    await eventually(lambda: len(received(place.log, "notifications/cancelled")) > cancelled)


async def test_progress_arrives_before_the_result(place: Place) -> None:
    async with place.call("progress") as events:
        found = [event async for event in events]
    assert {kind for kind, _ in found} == {"started", "progress", "result"}
    assert found[-1][0] == "result"


async def test_question_is_answered_by_the_user_of_its_call_only(place: Place) -> None:
    async with place.call("ask") as events:
        started = await anext(events)
        kind, questions = await anext(events)
        assert kind == "questions"
        ((key, question),) = questions.items()
        assert question["mcp_server"] == "asking"
        assert "name" in question["schema"]["properties"]
        path = f"/offices/office/calls/{started[1]['id']}/replies"
        replies = {"replies": {key: {"action": "accept", "content": {"name": "Ann"}}}}
        stranger = {"Authorization": f"Bearer {place.keys['other']}"}
        assert (await place.http.post(path, json=replies, headers=stranger)).status_code == 404
        assert (await place.http.post(path, json=replies)).status_code == 204
        assert (await place.http.post(path, json=replies)).status_code == 404
        kind, result = [event async for event in events][-1]
    assert kind == "result"
    assert "Ann" in json.dumps(result)


async def test_only_somebody_whose_key_allows_an_agent_there_sees_an_office(place: Place) -> None:
    blind = {"Authorization": f"Bearer {place.keys['blind']}"}
    for path in ("tools", "desktop?computer=pc", "documents?computer=pc", "changes"):
        answer = await place.http.get(f"/offices/office/{path}", headers=blind)
        assert answer.json()["error"]["code"] == 403, path
    form = {"computer": "pc", "tool": "echo"}
    assert (await place.http.post("/offices/office/calls", json=form, headers=blind)).status_code == 403


async def test_windows_and_documents_are_those_of_the_computer(place: Place) -> None:
    answers = Answers(smcp_tool("talk"))
    document = {"doc_ref": "d", "uri": "dpe://h/d", "title": "One", "page_count": 1, "server": "s", "file_type": "md"}
    answers.further = {
        "client:get_desktop": {"desktops": ["window://h/a\n\nfirst\n\nsecond", "window://h/b"]},
        "client:get_finder": {"documents": [document], "total_count": 1},
        "client:read_resource": _read,
    }
    computer = await place.hall.fake(answers, "fake", headers={"x-api-key": place.keys["ops"]})
    assert (await place.get("/desktop", computer="fake"))["windows"] == [
        {"uri": "window://h/a", "text": "first\n\nsecond"},
        {"uri": "window://h/b", "text": ""},
    ]
    assert (await place.get("/documents", computer="fake", keywords=["one", "two"]))["total"] == 1
    page = await place.get("/documents/page", computer="fake", uri="dpe://h/d", page=0)
    assert page["page"]["elements"][0]["element_id"] == "e1"
    assert page["markdown"] == "# hi"
    assert await place.get("/documents/page", computer="fake", uri="nothing") == 4204
    await computer.disconnect()


def _read(data: Any) -> Any:
    body = PAGE if "format=markdown" not in data["uri"] else {"content_markdown": "# hi"}
    return {"contents": [{"uri": data["uri"], "mimeType": "application/json", "text": json.dumps(body)}]}


async def test_changes_of_an_office_are_followed(place: Place) -> None:
    async with place.http.stream("GET", "/offices/office/changes") as answer:
        events = _events(answer)
        assert (await anext(events))[0] == "opened"
        computer = await place.hall.fake(Answers(), "new", headers={"x-api-key": place.keys["ops"]})
        async for kind, data in events:
            if kind == "change" and data == {"kind": "enter", "computer": "new"}:
                break
        await computer.disconnect()
