"""The API of a Computer for its owner."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer.config.files import load_config
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.console.owner.call_log import CallLog
from a2c_smcp.console.owner.doors import SocketDoor, TokenDoor
from a2c_smcp.console.owner.owner import Owner
from a2c_smcp.console.web.access import Access
from tests.support.asgi import Visitor
from tests.support.hosting import Watched, code_of
from tests.support.mcp_servers import raw, stdio, write_config
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

TOKEN = "a token of the owner"


class Owned:
    """A Computer, and programs of its owner."""

    def __init__(self, computer: Watched, file: Path) -> None:
        self.computer = computer
        self.file = file
        self.log = CallLog()
        computer.ended_calls.add(self.log.add)
        self.owner = Owner(computer, self.log)
        self.visitor = Visitor(self.owner.site(Access("owner", SocketDoor())), is_browser=False)

    async def get(self, path: str) -> Any:
        answer = await self.visitor.get(f"/api/v1{path}")
        assert answer.status == 200, answer.text
        return answer.json()

    async def send(self, method: str, path: str, data: Any = None) -> Any:
        answer = await self.visitor.send(method, f"/api/v1{path}", data)
        return answer.json() if answer.status == 200 else answer.status

    def call(self, text: str = "hi") -> asyncio.Task[Any]:
        work = self.computer.aexecute_tool("r1", "echo", {"text": text}, PATIENCE, caller=Caller("office", "ann"))
        return asyncio.create_task(work)

    def contents(self) -> str:
        return self.file.read_text("utf-8")


@asynccontextmanager
async def owned(folder: Path) -> AsyncGenerator[Owned]:
    file = write_config(folder, {"raw": stdio(raw(), default_tool_meta=None)})
    async with Watched(*load_config(file).servers) as computer:
        here = Owned(computer, file)
        yield here
        here.owner.close()


async def next_event(events: asyncio.Queue[dict[str, str]], kind: str) -> dict[str, str]:
    async with asyncio.timeout(PATIENCE):
        while (event := await events.get()).get("event") != kind:
            pass
    return event


async def test_a_follower_sees_a_call_wait_and_decides(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        assert code_of(await here.call()) == 4005
        async with here.visitor.events("/api/v1/events?attend=true") as events:
            await next_event(events, "opened")
            assert (await here.get("/computer"))["calls_wait"] is True
            call = here.call()
            await next_event(events, "approval")
            (waiting,) = (await here.get("/approvals"))["waiting"]
            assert (waiting["arguments"], waiting["agent"]) == ({"text": "hi"}, "ann")
            assert waiting["always"]["path"][-1] == "auto_apply"
            place = f"/approvals/{waiting['id']}"
            assert await here.send("POST", place, {"decision": "allow", "digest": "0" * 64}) == 400
            assert await here.send("POST", place, {"decision": "perhaps"}) == 400
            decided = await here.send("POST", place, {"decision": "allow", "digest": waiting["digest"], "by": "me"})
            assert decided["approval"]["decided_by"] == "me"
            assert code_of(await call) is None
            assert await here.send("POST", place, {"decision": "deny"}) == 409
            ended = await next_event(events, "call")
        last, first = (await here.get("/calls"))["calls"]
        assert (first["code"], last["is_ok"], last["approved_by"]) == (4005, True, "me")
        assert str(last["number"]) in ended["data"]
        assert (await here.get(f"/calls/{last['number']}"))["arguments"] == '{"text":"hi"}'
        assert code_of(await here.call()) == 4005


async def test_always_writes_the_rule_that_was_shown(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        here.computer.approvals.waits = True
        arrived = asyncio.Event()
        here.computer.approvals.changed.add(lambda _: arrived.set())
        call = here.call()
        async with asyncio.timeout(PATIENCE):
            await arrived.wait()
        (waiting,) = (await here.get("/approvals"))["waiting"]
        decided = await here.send("POST", f"/approvals/{waiting['id']}", {"decision": "always"})
        assert decided["saved"] == str(here.file)
        assert code_of(await call) is None
        assert '"auto_apply": true' in here.contents()
        assert (await here.get("/tools/raw/echo"))["source"] == "tool_meta"
        assert code_of(await here.call("again")) is None


async def test_mcp_servers_and_rules_are_shown_and_changed(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        (server,) = (await here.get("/servers"))["servers"]
        assert (server["name"], server["state"], server["file"]) == ("raw", "ready", str(here.file))
        pid = server["pid"]
        assert (await here.send("POST", "/servers/raw/restart"))["pid"] != pid
        changed = await here.send("PUT", "/tools/raw/echo/rule", {"rule": "forbid"})
        assert (changed["tool"]["rule"], changed["saved"]) == ("forbid", str(here.file))
        assert code_of(await here.call()) == 4002
        disabled = await here.send("POST", "/servers/raw/disable")
        assert disabled["server"]["state"] == "disabled"
        assert '"disabled": true' in here.contents()
        assert (await here.send("POST", "/servers/raw/enable"))["server"]["state"] == "ready"
        assert (await here.get("/servers/raw"))["stderr"] == []
        assert await here.send("POST", "/servers/nobody/restart") == 404
        for path in ("/windows", "/desktop", "/documents", "/openapi.json"):
            assert await here.get(path)


async def test_loopback_needs_the_token(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        outside = Visitor(here.owner.site(Access("owner", TokenDoor(TOKEN))), is_browser=False)
        assert (await outside.get("/api/v1/computer")).code == 401
        assert (await outside.get("/api/v1/computer", authorization="Bearer wrong")).code == 401
        assert (await outside.get("/api/v1/computer", authorization=f"Bearer {TOKEN}")).status == 200


async def test_the_log_of_calls_is_bounded(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        small = CallLog(most_calls=3, most_characters=20_000)
        here.computer.ended_calls.add(small.add)
        for number in range(5):
            await here.call(str(number))
        assert [call["arguments"] for call in small.last()] == ['{"text":"4"}', '{"text":"3"}', '{"text":"2"}']
        for _ in range(3):
            await here.call("x" * 100_000)
        assert (len(small), small.characters <= 20_000) == (2, True)


async def test_new_servers_are_written_beside_the_others_and_all_rules_can_still_be_saved(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        pasted = json.dumps({"servers": {"second": stdio(raw()), "raw": stdio(raw())}})
        added = await here.send("POST", "/servers", {"text": pasted})
        assert (added["added"], added["kept"], added["saved"]) == (["second"], ["raw"], str(here.file))
        assert [server.name for server in load_config(here.file).servers] == ["raw", "second"]
        for server in ("raw", "second"):
            changed = await here.send("PUT", f"/tools/{server}/echo/rule", {"rule": "forbid"})
            assert (changed["saved"], changed["problem"]) == (str(here.file), None)
        assert await here.send("POST", "/servers", {"text": pasted}) == 409


async def test_servers_with_mistakes_change_nothing(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        before = here.contents()
        for text in (
            "{",
            "[]",
            '{"servers": {"new": {"command": 5}}}',
            '{"command": "x"}',
            '{"command": "${MISSING_1}"}',
        ):
            assert await here.send("POST", "/servers", {"text": text, "name": ""}) == 400, text
        assert await here.send("POST", "/servers", {"host": "nothing"}) == 400
        here.file.write_text("{}", "utf-8")
        assert await here.send("POST", "/servers", {"text": '{"command": "x"}', "name": "new"}) == 409
        assert here.contents() == "{}"
        here.file.write_text(before, "utf-8")
        assert [each["name"] for each in (await here.get("/servers"))["servers"]] == ["raw"]


async def test_a_secret_of_a_new_server_becomes_an_input(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        server = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer sk-1234567890abcdef"}}
        added = await here.send("POST", "/servers", {"text": json.dumps(server), "name": "remote"})
        assert len(added["inputs"]) == 1
        assert "sk-1234567890abcdef" not in here.contents()
        assert [wanted.id for wanted in here.computer.inputs] == added["inputs"]
        # The Computer has the value: its owner does not enter it again.
        assert (added["missing"], added["remembered"]) == ([], False)
        assert here.computer.get_input_value(added["inputs"][0]) == "sk-1234567890abcdef"


async def test_a_server_that_refers_to_an_input_starts_with_the_value_that_the_owner_enters(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        server = {**stdio(raw()), "env": {"A2C_TEST_TOKEN": "${input:api-token}"}}
        pasted = json.dumps({"mcpServers": {"needy": server}})
        added = await here.send("POST", "/servers", {"text": pasted})
        assert (added["added"], added["missing"], added["inputs"]) == (["needy"], ["api-token"], [])
        states = {each["name"]: each["state"] for each in (await here.get("/servers"))["servers"]}
        assert states["needy"] == "failed"
        (shown,) = (await here.get("/inputs"))["inputs"]
        assert (shown["source"], shown["is_secret"], shown["servers"]) == (None, True, ["needy"])
        assert shown["variable"] == "A2C_SMCP_API_TOKEN"

        answer = await here.visitor.send("PUT", "/api/v1/inputs/api-token", {"value": "hunter2-hunter2"})
        assert (answer.json()["restarted"], answer.json()["remembered"]) == (["needy"], False)
        assert "hunter2" not in answer.text
        states = {each["name"]: each["state"] for each in (await here.get("/servers"))["servers"]}
        assert states["needy"] == "ready"
        assert (await here.get("/inputs"))["inputs"][0]["source"] == "person"
        for path in ("/inputs", "/servers/needy", "/calls"):
            assert "hunter2" not in json.dumps(await here.get(path))
        assert "hunter2" not in here.contents()
        # After a restart, the file defines the input, and somebody has to give the value again.
        assert [wanted.id for wanted in load_config(here.file).inputs] == ["api-token"]


async def test_an_input_of_another_server_is_not_given_to_a_new_one(tmp_path: Path) -> None:
    async with owned(tmp_path) as here:
        text = {"servers": {"one": {**stdio(raw()), "env": {"TOKEN": "${input:token}"}}}}
        await here.send("POST", "/servers", {"text": json.dumps(text)})
        await here.send("PUT", "/inputs/token", {"value": "secret-of-one"})
        text = {"servers": {"two": {**stdio(raw()), "env": {"TOKEN": "${input:token}"}}}}
        added = await here.send("POST", "/servers", {"text": json.dumps(text)})
        assert len(added["missing"]) == 1
        assert added["missing"] != ["token"]


async def test_values_of_inputs_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with owned(tmp_path) as here:
        text = {
            "servers": {
                "new": {**stdio(raw()), "env": {"A": "${input:region}", "B": "${input:set}", "C": "${input:made}"}}
            },
            "inputs": [
                {"id": "region", "type": "pickString", "description": "Region", "options": ["eu", "us"]},
                {"id": "set", "type": "promptString", "description": "Set"},
                {"id": "made", "type": "command", "description": "Made", "command": "echo"},
            ],
        }
        monkeypatch.setenv("A2C_SMCP_SET", "from outside")
        added = await here.send("POST", "/servers", {"text": json.dumps(text)})
        assert added["missing"] == ["region"]
        sources = {each["id"]: each["source"] for each in (await here.get("/inputs"))["inputs"]}
        assert sources == {"region": None, "set": "environment", "made": "command"}
        for name, value, status in (("region", "mars", 400), ("set", "x", 409), ("made", "x", 409), ("none", "x", 404)):
            assert await here.send("PUT", f"/inputs/{name}", {"value": value}) == status
        assert (await here.send("PUT", "/inputs/region", {"value": "eu"}))["input"]["source"] == "person"
