"""The life of a login at an authorization server that is not ours: that of the `mcp` package.

It checks what ours does not: the registered redirect address, the secret of the client, and the resource of a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.types import ServerState
from tests.support.guarded import WAITING, Guarded, account, log_in_and_agree, outdate, record
from tests.support.hosting import code_of, hosting, text_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Generator[Guarded]:
    with account() as server:
        yield server


async def test_life_of_a_login(server: Guarded, store: LoginStore) -> None:
    async with hosting(server.config(), login_store=store) as computer:
        assert computer.status_of("guarded").state is WAITING
        await computer.alogin("guarded", log_in_and_agree)
        assert text_of(await computer.call("greet")) == "hello ada"
    first = record(store)["tokens"]

    async with hosting(server.config(), login_store=LoginStore(store.folder)) as computer:  # a restart
        assert text_of(await computer.call("greet")) == "hello ada"
        assert record(store)["tokens"] == first

        outdate(store)
        assert code_of(await computer.call("greet")) is None
        assert record(store)["tokens"]["refresh_token"] != first["refresh_token"]

        server.control(forget=["access"])
        assert code_of(await computer.call("greet")) is None
        assert server.count("renewals") == 2

        server.control(forget=["access", "refresh"])
        assert code_of(await computer.call("greet")) == 4006
        await computer.until_state("guarded", WAITING)

        await computer.alogin("guarded", log_in_and_agree)
        assert code_of(await computer.call("greet")) is None
        assert await computer.alogout("guarded")
        assert server.control()["refresh"] == []
        assert server.count("revocations") == 1
        assert computer.status_of("guarded").state is WAITING
    assert server.count("logins") == 2


async def test_two_computers_share_a_login(server: Guarded, store: LoginStore) -> None:
    async with (
        hosting(server.config(), login_store=store) as one,
        hosting(server.config(), login_store=LoginStore(store.folder)) as other,
    ):
        await asyncio.gather(*(each.alogin("guarded", log_in_and_agree) for each in (one, other)))  # both at once
        assert {code_of(await each.call("greet")) for each in (one, other)} == {None}
        server.control(forget=["access"])
        results = await asyncio.gather(*(each.call("greet") for each in (one, other)))
        assert {code_of(result) for result in results} == {None}
        assert {status.state for status in (*one.status, *other.status)} == {ServerState.READY}
    assert server.count("renewals") == 1
