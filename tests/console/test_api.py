"""The Server's API: what an operator sees and may do, on a real Server with members."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from a2c_smcp.server.auth import CredentialAuthenticationProvider
from a2c_smcp.server.credentials import SharedSecret
from a2c_smcp.server.key_changes import NewKey, add_key
from a2c_smcp.server.key_file import KeyFile, read_keys
from tests.support.gateway import Answers, Hall, hall
from tests.support.peer import tool_call
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio
TOOL: Any = {"name": "<b>echo</b>", "description": "says it", "params_schema": {}, "return_schema": None}


class Operator:
    """A program of the operator's."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def get(self, path: str, **query: Any) -> Any:
        answer = await self._http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def send(self, method: str, path: str, data: Any = None) -> tuple[int, Any]:
        answer = await self._http.request(method, path, json=data)
        return answer.status_code, answer.json() if answer.content else None

    @asynccontextmanager
    async def events(self, *topics: str) -> AsyncGenerator[asyncio.Queue[tuple[str, Any]]]:
        found: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        query = {"topics": list(topics)}
        async with self._http.stream("GET", "/events", params=query) as answer:

            async def read() -> None:
                kind = ""
                async for line in answer.aiter_lines():
                    name, _, value = line.partition(": ")
                    if name == "event":
                        kind = value
                    elif name == "data":
                        found.put_nowait((kind, json.loads(value)))

            reading = asyncio.create_task(read())
            try:
                assert (await found.get())[0] == "opened"
                yield found
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)


class Place:
    """A Server with a key file, its members, and its operator."""

    def __init__(self, hall: Hall, keys: dict[str, str], file: Path, operator: Operator) -> None:
        self.hall, self.keys, self.file, self.operator = hall, keys, file, operator

    @asynccontextmanager
    async def client(self, key: str) -> AsyncGenerator[Operator]:
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(
            base_url=f"{self.hall.server.url}/api/v1", headers=headers, timeout=PATIENCE
        ) as http:
            yield Operator(http)


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncGenerator[Place]:
    file = tmp_path_factory.mktemp("keys") / "keys.toml"
    keys = {
        "ops": add_key(file, NewKey("ops", offices=["*"], admin=True)),
        "blind": add_key(file, NewKey("blind", admin=True)),
        "pc": add_key(file, NewKey("pc", offices=["*"])),
    }
    provider = CredentialAuthenticationProvider(KeyFile(file, look_seconds=0), SharedSecret("everything"))
    async with hall(provider) as found:
        place = Place(found, keys, file, Operator(httpx2.AsyncClient()))
        async with place.client(keys["ops"]) as place.operator:
            yield place


async def test_only_keys_for_administration_are_accepted(place: Place) -> None:
    for key, status in ((place.keys["pc"], 403), ("everything", 403), ("nonsense", 401), (place.keys["blind"], 200)):
        async with place.client(key) as client:
            assert (await client.send("GET", "/status"))[0] == status
            if status != 200:
                assert (await client.send("POST", "/drain"))[0] == status
    async with httpx2.AsyncClient() as nobody:
        assert (await nobody.get(f"{place.hall.server.url}/api/v1/members")).status_code == 401


async def test_members_are_shown_with_their_key_and_version(place: Place) -> None:
    async with place.operator.events("members") as events:
        peer = await place.hall.fake(Answers(), "pc-1", "seen", headers={"x-api-key": place.keys["pc"]})
        while (event := await events.get())[1].get("name") != "pc-1":
            continue
        assert event[0] == "member_joined"
        (member,) = (await place.operator.get("/members", office="seen"))["members"]
        assert (member["name"], member["role"], member["principal"]) == ("pc-1", "computer", "pc")
        assert member["connected_since"] is not None
        assert (await place.operator.get("/offices", search="SEE"))["offices"] == [
            {"office": "seen", "agent": None, "computers": 1}
        ]
        assert (await place.operator.send("DELETE", "/offices/seen/members/pc-2"))[0] == 404
        assert (await place.operator.send("DELETE", "/offices/else/members/pc-1"))[0] == 404
        assert (await place.operator.send("DELETE", "/offices/seen/members/pc-1"))[0] == 204
        while (event := await events.get())[1].get("name") != "pc-1":
            continue
        assert event[0] == "member_left"
    await peer.disconnect()


async def test_a_call_is_shown_with_its_legs_and_can_be_ended(place: Place) -> None:
    computer = await place.hall.fake(Answers(), "pc", "calls", headers={"x-api-key": place.keys["pc"]})
    agent = await place.hall.people.member("agent", "agent", "calls", headers={"x-api-key": place.keys["pc"]})
    async with place.operator.events("calls") as events:
        await agent.ask("client:tool_call", tool_call(req_id="quick", tool_name="echo", params={"secret": "hidden"}))
        while (ended := (await events.get())[1])["outcome"] is None:  # on a busy machine, it is shown while it runs
            continue
        assert (ended["req_id"], ended["outcome"], ended["computer"]) == ("quick", "ok", "pc")
        assert ended["tool"] == "echo"
        assert 0 < ended["sent"] < ended["answered"] < ended["ended"]
        assert "hidden" not in json.dumps(ended)
        computer.answer = lambda event, data: asyncio.sleep(PATIENCE)
        waiting = asyncio.create_task(agent.ask("client:tool_call", tool_call(req_id="slow", tool_name="echo")))
        while (event := await events.get())[1]["req_id"] != "slow":
            continue
        assert event[1]["outcome"] is None
        (running,) = (await place.operator.get("/calls", office="calls"))["running"]
        assert running["req_id"] == "slow"
        assert (await place.operator.send("DELETE", "/calls/slow?office=other"))[0] == 404
        assert (await place.operator.send("DELETE", "/calls/slow"))[0] == 204
        ack = await waiting
        assert ack["error"]["code"] == 403
        assert (await computer.hear("notify:tool_call_cancel"))["req_id"] == "slow"
        assert event[0] == "call"
    found = await place.operator.get("/calls", office="calls", outcome="failed")
    assert [call["req_id"] for call in found["recent"]] == ["slow"]
    assert (await place.operator.send("DELETE", "/calls/slow"))[0] == 404


async def test_rates_count_calls(place: Place) -> None:
    await place.hall.fake(Answers(), "pc", "rates", headers={"x-api-key": place.keys["pc"]})
    agent = await place.hall.people.member("agent", "agent", "rates", headers={"x-api-key": place.keys["pc"]})
    async with place.operator.events("rates") as events:
        await agent.ask("client:tool_call", tool_call(req_id="counted", tool_name="echo"))
        while not (rates := (await events.get())[1])["calls_per_second"]:
            continue
        assert rates["mean_seconds"] > 0
        assert rates["computers"] >= 1
    assert (await place.operator.get("/rates"))[-1]["at"] >= rates["at"]
    assert (await place.operator.get("/status"))["calls"] >= 1


async def test_rates_are_measured_for_a_request_without_a_stream() -> None:
    async with hall() as open_hall, httpx2.AsyncClient(timeout=PATIENCE) as http:
        (first,) = (await http.get(f"{open_hall.server.url}/api/v1/rates")).json()
        assert first["running_calls"] == 0
        assert (await http.get(f"{open_hall.server.url}/api/v1/rates")).json()[0] == first


async def test_a_key_is_shown_once_and_its_connections_end_with_it(place: Place) -> None:
    ends = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    form = {"id": "new", "offices": ["new-*"], "roles": ["computer"], "expires": ends}
    status, made = await place.operator.send("POST", "/keys", form)
    assert status == 200
    listed = await place.operator.get("/keys")
    assert made["key"] not in json.dumps(listed)
    assert made["key"] not in place.file.read_text()
    assert [key["roles"] for key in listed if key["id"] == "new"] == [["computer"]]
    peer = await place.hall.fake(Answers(), "pc", "new-1", headers={"x-api-key": made["key"]})
    assert (await place.operator.send("DELETE", "/keys/new"))[0] == 204
    assert (await place.operator.send("DELETE", "/keys/new"))[0] == 404
    async with asyncio.timeout(PATIENCE):
        await peer.is_gone.wait()


@pytest.mark.parametrize(
    "form",
    [
        {"id": "ops", "offices": ["*"]},
        {"id": "x"},
        {"id": "", "offices": ["*"]},
        {"id": "x\n[[keys]]", "offices": ["*"]},
        {"id": "x", "offices": ["*"], "roles": ["boss"]},
        {"id": "x", "offices": ["*"], "expires": "2020-01-01T00:00:00Z"},
        {"id": "x", "offices": ["*"], "expires": "2090-01-01T00:00:00"},
        {"id": "x", "offices": ["*"], "admin": "yes please"},
    ],
)
async def test_an_invalid_key_changes_nothing(place: Place, form: dict[str, Any]) -> None:
    before = read_keys(place.file)
    status, _ = await place.operator.send("POST", "/keys", form)
    assert status in (400, 409)
    assert read_keys(place.file) == before


async def test_an_office_shows_what_its_computers_offer(place: Place) -> None:
    await place.hall.fake(Answers(TOOL), "pc", "open", headers={"x-api-key": place.keys["pc"]})
    found = await place.operator.get("/offices/open/offers")
    (computer,) = found["computers"]
    assert [each["name"] for each in computer["tools"]] == ["<b>echo</b>"]
    async with place.client(place.keys["blind"]) as blind:
        status, answer = await blind.send("GET", "/offices/open/offers")
        assert (status, answer["error"]["code"]) == (403, 403)


async def test_an_office_with_another_agent_is_not_taken(place: Place) -> None:
    agent = await place.hall.people.member("agent", "planner", "taken", headers={"x-api-key": place.keys["pc"]})
    status, answer = await place.operator.send("GET", "/offices/taken/offers")
    assert (status, answer["error"]["code"]) == (409, 4101)
    await agent.disconnect()


async def test_a_server_inside_another_program_is_not_ended(place: Place) -> None:
    assert (await place.operator.send("POST", "/drain"))[0] == 404


async def test_a_server_without_authentication_is_open_to_its_machine_alone() -> None:
    async with hall() as found:
        url = f"{found.server.url}/api/v1/status"
        async with httpx2.AsyncClient() as http:
            assert (await http.get(url)).status_code == 200
            for headers in (
                {"host": "evil.test"},
                {"x-forwarded-for": "203.0.113.7"},
                {"origin": "http://evil.test", "sec-fetch-site": "cross-site"},
            ):
                assert (await http.get(url, headers=headers)).status_code in (401, 403)
            foreign = {"origin": "http://evil.test"}
            drained = await http.post(f"{found.server.url}/api/v1/drain", headers=foreign)
            assert drained.status_code == 403


async def test_many_calls_are_sampled(place: Place) -> None:
    await place.hall.fake(Answers(), "pc", "many", headers={"x-api-key": place.keys["pc"]})
    agent = await place.hall.people.member("agent", "agent", "many", headers={"x-api-key": place.keys["pc"]})
    async with place.operator.events("calls") as events:
        calls = (agent.ask("client:tool_call", tool_call(req_id=f"m{n}", tool_name="echo")) for n in range(60))
        assert all("error" not in ack for ack in await asyncio.gather(*calls))
        while (event := await events.get())[0] != "left_out":
            continue
        assert event[1]["left_out"] > 0
