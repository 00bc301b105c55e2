"""Our clients name their office in the query of the handshake, so that a proxy can send its members to one Server."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any
from urllib.parse import parse_qs

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider, SMCPAgentClient
from a2c_smcp.computer import Computer, SMCPComputerClient
from a2c_smcp.server.app import create_app
from tests.support.agents import Driven, Form
from tests.support.process import computer_process
from tests.support.proxy import network
from tests.support.running import serving_asgi
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

OFFICE = "~acme's/büro (#1): 50%+1 & a=b!"
AS_SENT = "~acme's/b%C3%BCro%20(%231):%2050%25%2B1%20%26%20a%3Db!"
QUICKLY: dict[str, Any] = {"reconnection_delay": 0.01, "reconnection_delay_max": 0.1}


class Doorkeeper:
    """A Server that notes the queries of its handshakes."""

    def __init__(self) -> None:
        self.url = ""
        self.app = create_app()
        self.queries: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        query = scope.get("query_string", b"").decode()
        if scope["type"] in ("http", "websocket") and "sid" not in parse_qs(query):
            self.queries.append(query)
        await self.app(scope, receive, send)

    @property
    def offices(self) -> list[str | None]:
        """The office that each handshake named."""
        return [parse_qs(query).get("office", [None])[0] for query in self.queries]


@pytest.fixture(scope="module")
def door_of_all() -> Generator[Doorkeeper]:
    door = Doorkeeper()
    with serving_asgi(door, door.app) as (door.url, _):
        yield door


@pytest.fixture
def door(door_of_all: Doorkeeper) -> Doorkeeper:
    door_of_all.queries.clear()
    return door_of_all


def agent_of(form: Form, office: str, **options: Any) -> Driven:
    make = AsyncSMCPAgentClient if form == "async" else SMCPAgentClient
    return Driven(form, make(DefaultAgentAuthProvider("agent", office), **QUICKLY, **options))


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_all_clients_write_an_office_alike_and_keep_the_query(
    form: Form, transport: str, door: Doorkeeper
) -> None:
    agent = agent_of(form, OFFICE)
    await agent.connect_to_server(f"{door.url}/?tenant=7", transports=[transport])
    await agent.disconnect()
    assert [query.split("&")[:2] for query in door.queries] == [["tenant=7", f"office={AS_SENT}"]]


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_a_reconnection_names_the_office_that_was_joined(form: Form, door: Doorkeeper) -> None:
    async with network(door.url) as wires:
        agent = agent_of(form, "first")
        await agent.connect_to_server(wires.url)
        await agent.join_office("second")
        wires.cut()
        await eventually(lambda: len(door.offices) == 2)
        await agent.disconnect()
    assert door.offices == ["first", "second"]


async def test_a_computer_names_its_office_as_soon_as_it_knows_it(door: Doorkeeper) -> None:
    async with network(door.url) as wires:
        client = SMCPComputerClient(computer=Computer("pc"), **QUICKLY)
        await client.reach(wires.url)
        await client.join_office("second")
        wires.cut()
        await eventually(lambda: len(door.offices) == 2)
        await client.disconnect()
    async with SMCPComputerClient.in_office(Computer("pc"), door.url, "third"):
        assert door.offices == [None, "second", "third"]


def test_the_command_names_the_office_of_its_options(door: Doorkeeper) -> None:
    with computer_process("--url", door.url, "--office", "acme") as computer:
        computer.wait_for("in office acme")
    assert door.offices == ["acme"]
