"""The life of a login: its expiry, its renewal, its revocation, and several Computers that share it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Any

import pytest

from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.mcp.oauth import access, endpoints
from a2c_smcp.computer.mcp.oauth.store import FILE, LoginStore
from a2c_smcp.computer.types import ServerState
from tests.support.guarded import WAITING, Guarded, outdate, record, visit
from tests.support.hosting import Watched, code_of, hosting, raw
from tests.support.process import WarmProcess
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

LOGS_IN = """
import asyncio, sys
from pathlib import Path
from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.mcp.oauth.store import LoginStore
async def main():
    config = server_from({"url": sys.argv[1], "default_tool_meta": {"auto_apply": True}}, "guarded")
    async with Computer("pc", mcp_servers=[config], login_store=LoginStore(Path(sys.argv[2]))) as computer:
        result = await computer.aexecute_tool("1", "echo", {"text": "hi"})
        print("failed" if result.is_error else "ok")
asyncio.run(main())
"""


async def test_expired_token_is_renewed_once(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    outdate(store)
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
        calls = [later.call("echo", req_id=str(number), text="hi") for number in range(20)]
        assert {code_of(result) for result in await asyncio.gather(*calls)} == {None}
    assert server.count("refresh_token") == 1


async def test_token_is_renewed_while_many_calls_wait(server: Guarded, computer: Watched) -> None:
    await computer.alogin("guarded", visit)
    server.control(forget=["access"])  # every call is rejected, and all of them need the same new token
    calls = [computer.call("echo", req_id=str(number), text="hi") for number in range(20)]
    assert {code_of(result) for result in await asyncio.gather(*calls)} == {None}
    assert server.count("refresh_token") == 1


async def test_calls_that_a_server_rejects_with_their_session_are_made_in_the_next_one(
    server: Guarded, computer: Watched
) -> None:
    await computer.alogin("guarded", visit)
    server.control(forget=["sessions"])
    calls = [computer.call("echo", req_id=str(number), text="hi") for number in range(5)]
    assert {code_of(result) for result in await asyncio.gather(*calls)} == {None}
    assert server.count("unknown_sessions") > 0
    assert computer.status_of("guarded").restarts == 1


async def test_a_call_that_begins_while_a_server_wants_a_new_session_waits_for_it(
    server: Guarded, computer: Watched
) -> None:
    await computer.alogin("guarded", visit)
    server.control(forget=["sessions"])
    first = asyncio.create_task(computer.call("echo", text="hi"))
    await computer.until_state("guarded", ServerState.RESTARTING)
    assert code_of(await computer.call("echo", req_id="r2", text="hi")) is None
    assert code_of(await first) is None


async def test_a_session_that_a_server_ends_during_the_handshake_is_opened_again_at_once(
    server: Guarded, computer: Watched
) -> None:
    server.behave(broken_handshakes=2)  # as often as another login replaces the one that the session began with
    await computer.alogin("guarded", visit)
    assert code_of(await computer.call("echo", text="hi")) is None
    assert server.count("unknown_sessions") > 1
    assert computer.status_of("guarded").restarts == 0


async def test_a_server_that_ends_every_session_during_the_handshake_is_connected_to_only_so_often(
    server: Guarded, computer: Watched
) -> None:
    server.behave(broken_handshakes=1_000)
    await computer.alogin("guarded", visit)
    status = await computer.until_state("guarded", ServerState.FAILED)
    assert status.reason == "ended the session"


async def test_two_computers_renew_once(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as other:
        server.control(forget=["access"])
        results = await asyncio.gather(computer.call("echo", text="a"), other.call("echo", text="b"))
        assert {code_of(result) for result in results} == {None}
        assert {status.state for status in (*computer.status, *other.status)} == {ServerState.READY}
    assert server.count("refresh_token") == 1


async def test_revoked_login_makes_the_server_wait_again(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    server.control(forget=["access", "refresh"])
    result = await computer.call("echo", text="hi")
    assert code_of(result) == 4006
    await computer.until_state("guarded", WAITING)
    assert computer.status_of("guarded").restarts == 0
    assert "tokens" not in record(store)
    assert code_of(await computer.call("echo", text="hi")) == 4006
    await computer.alogin("guarded", visit)
    assert code_of(await computer.call("echo", text="hi")) is None


async def test_authorization_server_that_is_down_costs_no_login(
    server: Guarded, computer: Watched, store: LoginStore
) -> None:
    await computer.alogin("guarded", visit)
    server.behave(token="broken")
    server.control(forget=["access"])
    assert code_of(await computer.call("echo", text="hi")) == 4003
    assert record(store)["tokens"]["refresh_token"]
    server.behave(token="ok")
    await computer.until_state("guarded", ServerState.READY)
    assert code_of(await computer.call("echo", text="hi")) is None


async def test_other_computer_connects_after_the_login(server: Guarded, computer: Watched, store: LoginStore) -> None:
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as other:
        assert other.status_of("guarded").state is WAITING
        await computer.alogin("guarded", visit)
        await other.until_state("guarded", ServerState.READY)


async def test_logout_forgets_and_revokes(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    assert await computer.alogout("guarded")
    assert computer.status_of("guarded").state is WAITING
    assert await store.all() == []
    assert server.count("revocations") == 1
    assert server.control()["refresh"] == []
    assert not await computer.alogout("guarded")


async def test_processes_renew_once(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    outdate(store)

    def run() -> str:
        # A process of its own, which has the imports done already.
        process = WarmProcess(["python", "-c", LOGS_IN, server.url, str(store.folder)])
        with contextlib.closing(process):
            process.type()
            process.end()
            return process.text.strip()

    assert await asyncio.gather(asyncio.to_thread(run), asyncio.to_thread(run)) == ["ok", "ok"]
    assert server.count("refresh_token") == 1


async def test_renewal_uses_the_newest_login_of_any_process(
    server: Guarded, computer: Watched, store: LoginStore
) -> None:
    await computer.alogin("guarded", visit)
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as other:
        await other.alogin("guarded", visit)
    server.control(forget=["access"])  # the token that this Computer knows, and the one that it finds
    assert code_of(await computer.call("echo", text="hi")) is None
    assert computer.status_of("guarded").state is ServerState.READY


async def test_logout_with_another_process_ends_the_use_of_a_login(
    server: Guarded, computer: Watched, store: LoginStore
) -> None:
    server.behave(metadata={"revocation_endpoint": None})  # so the tokens stay valid at the server
    await computer.alogin("guarded", visit)
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as other:
        assert await other.alogout("guarded")
    assert server.control()["access"]
    assert code_of(await computer.call("echo", text="hi")) == 4006
    await computer.until_state("guarded", WAITING)


@pytest.mark.parametrize("trouble", ["hang", "broken"])
async def test_calls_go_on_while_a_token_is_renewed_early(
    server: Guarded, computer: Watched, store: LoginStore, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "CLOSE_SECONDS", 0.1)
    await computer.alogin("guarded", visit)
    outdate(store, seconds_left=50)
    server.behave(token=trouble)
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
        assert code_of(await later.call("echo", text="hi")) is None
        await eventually(lambda: server.count("refresh_token") >= 1)
        assert code_of(await later.call("echo", text="hi")) is None
        status = later.status_of("guarded")
        assert (status.state, status.restarts) == (ServerState.READY, 0)


async def test_token_is_renewed_before_it_expires(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    old = record(store)["tokens"]["access_token"]
    outdate(store, seconds_left=50)
    assert code_of(await computer.call("echo", text="hi")) is None
    await eventually(lambda: record(store)["tokens"]["access_token"] != old)
    assert server.count("refresh_token") == 1


async def test_renewal_that_hangs_is_bounded_and_reported(
    server: Guarded, computer: Watched, store: LoginStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await computer.alogin("guarded", visit)
    monkeypatch.setattr(endpoints, "SECONDS", 0.2)
    outdate(store)
    server.behave(token="hang")
    async with hosting(server.config(), raw(), login_store=LoginStore(store.folder)) as later:
        assert code_of(await later.call("echo", text="hi")) is None  # of the other server
        status = later.status_of("guarded")
        assert "/token did not answer within 0.2 s" in (status.reason or "")
        server.behave(token="ok")
        await later.until_state("guarded", ServerState.READY)
    assert record(store)["tokens"]["refresh_token"]


async def test_login_that_cannot_be_stored_still_serves_the_calls(
    server: Guarded, computer: Watched, store: LoginStore, caplog: pytest.LogCaptureFixture
) -> None:
    await computer.alogin("guarded", visit)
    file = next(store.folder.glob(f"*/{FILE}"))

    def refuse(*_: Any) -> None:
        raise OSError("disk full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        server.control(forget=["access"])
        before = file.read_bytes()
        assert code_of(await computer.call("echo", text="hi")) is None
    assert file.read_bytes() == before
    assert "cannot be stored (disk full)" in caplog.text
    assert code_of(await computer.call("echo", text="hi")) is None
    assert server.count("refresh_token") == 1


async def test_login_connects_a_server_whose_restart_is_pending(server: Guarded, store: LoginStore) -> None:
    async with hosting(server.config(), login_store=store) as computer:
        await computer.alogin("guarded", visit)
    outdate(store)
    server.behave(token="broken")
    slow = Policy(first_delay=3600, longest_delay=3600, start_timeout=PATIENCE)
    async with hosting(server.config(), login_store=LoginStore(store.folder), policy=slow) as later:
        assert later.status_of("guarded").state is ServerState.RESTARTING
        server.behave(token="ok")
        await later.alogin("guarded", visit)
        assert later.status_of("guarded").state is ServerState.READY


async def test_failed_revocation_is_reported(
    server: Guarded, computer: Watched, store: LoginStore, caplog: pytest.LogCaptureFixture
) -> None:
    server.behave(metadata={"revocation_endpoint": f"{server.base}/nowhere"})
    await computer.alogin("guarded", visit)
    assert await computer.alogout("guarded")
    assert await store.all() == []
    assert "did not revoke it (it answered HTTP 404)" in caplog.text
