"""Logins at a remote MCP server, against an authorization server in a process of its own."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from a2c_smcp.computer.config.files import parse_config, server_from
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import LoginRefusedError, NotFoundError
from tests.support.guarded import WAITING, Guarded, guarded, visit
from tests.support.hosting import Watched, code_of, gated, hosting, raw, text_of

pytestmark = pytest.mark.anyio


async def test_server_waits_for_a_login_and_others_go_on(server: Guarded, store: LoginStore) -> None:
    known = server_from({"url": server.url, "tool_meta": {"echo": {"auto_apply": True, "alias": "guarded_echo"}}}, "g")
    async with hosting(known, raw(), login_store=store) as computer:
        status = computer.status_of("g")
        assert (status.state, status.restarts) == (WAITING, 0)
        assert "a2c computer login g" in (status.reason or "")
        assert code_of(await computer.call("echo", text="hi")) is None
        result = await computer.call("guarded_echo", text="hi")
        assert code_of(result) == 4006
        assert result.meta is not None
        assert result.meta["mcp_server"] == "g"
        assert result.meta["auth_hint"]["action"] == "login"


async def test_tool_that_nobody_has_listed_may_be_one_of_a_server_that_waits(computer: Watched) -> None:
    result = await computer.call("echo", text="hi")
    assert code_of(result) == 4006
    assert result.meta is not None
    assert result.meta["mcp_server"] == "guarded"
    await computer.alogin("guarded", visit)
    assert code_of(await computer.call("unknown")) == 4001
    await computer.alogout("guarded")
    assert code_of(await computer.call("unknown")) == 4001, "its tools are known"
    assert code_of(await computer.call("echo", text="hi")) == 4006


async def test_call_waits_for_a_server_that_starts_beside_one_that_waits(
    server: Guarded, store: LoginStore, tmp_path: Path
) -> None:
    computer = Watched(server.config(), gated(tmp_path / "gate"), login_store=store)
    try:
        await computer.boot_up(patience=0)
        await computer.until_state("guarded", WAITING)
        call = asyncio.create_task(computer.call("media"))
        await asyncio.sleep(0)
        assert not call.done()
        (tmp_path / "gate").touch()
        assert code_of(await call) is None
    finally:
        await computer.shutdown()


@pytest.mark.parametrize("transport", ["streamable", "sse"])
async def test_login_makes_the_server_ready(transport: str, store: LoginStore) -> None:
    with guarded(transport) as server:
        async with hosting(server.config(), login_store=store) as computer:
            assert computer.status_of("guarded").state is WAITING
            await computer.alogin("guarded", visit)
            assert computer.status_of("guarded").state is ServerState.READY
            assert text_of(await computer.call("echo", text="hi")) == "hi"


async def test_async_function_may_show_the_address(computer: Watched) -> None:
    async def show(url: str) -> None:
        await asyncio.to_thread(visit, url)

    await computer.alogin("guarded", show)
    assert computer.status_of("guarded").state is ServerState.READY


async def test_login_survives_a_restart(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
        assert later.status_of("guarded").state is ServerState.READY
    assert server.count("authorizations") == 1


async def test_configured_scopes_are_requested(server: Guarded, store: LoginStore) -> None:
    asked: list[str] = []

    def look(url: str) -> None:
        asked.extend(parse_qs(urlsplit(url).query)["scope"][0].split())
        visit(url)

    async with hosting(server.config(scopes="admin"), login_store=store) as computer:
        await computer.alogin("guarded", look)
        assert asked == ["admin", "offline_access"]
        assert code_of(await computer.call("admin")) is None


async def test_redirect_address_can_be_configured(server: Guarded, store: LoginStore) -> None:
    from tests.support.process import free_port

    wanted = f"http://localhost:{free_port()}/back"
    async with hosting(server.config(redirect_url=wanted), login_store=store) as computer:
        await computer.alogin("guarded", lambda url: (url.count("localhost") == 1 or pytest.fail(url)) and visit(url))
        assert computer.status_of("guarded").state is ServerState.READY


async def test_call_that_needs_more_rights_asks_for_a_login(computer: Watched) -> None:
    await computer.alogin("guarded", visit)
    assert code_of(await computer.call("admin")) == 4006
    assert code_of(await computer.call("echo", text="hi")) is None
    assert any("further rights (admin)" in note for note in computer.status_of("guarded").notes)
    await computer.alogin("guarded", visit)
    assert code_of(await computer.call("admin")) is None
    assert computer.status_of("guarded").notes == ()


async def test_other_process_knows_which_rights_are_demanded(
    server: Guarded, computer: Watched, store: LoginStore
) -> None:
    await computer.alogin("guarded", visit)
    assert code_of(await computer.call("admin")) == 4006
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as other:
        await other.alogin("guarded", visit)
    assert code_of(await computer.call("admin")) is None


async def test_rights_that_are_never_granted_are_refused(server: Guarded, store: LoginStore) -> None:
    # The login claims all rights, and the server still demands them: another login would not help.
    async with hosting(server.config(scopes=["read", "admin"]), login_store=store) as computer:
        await computer.alogin("guarded", visit)
        kept = await store.all()
        assert kept[0].requested_scope is not None
        for token in server.control()["access"]:
            server.control(weaken=token)
        result = await computer.call("admin")
        assert code_of(result) == 4007
        assert result.meta is not None
        assert result.meta["mcp_server"] == "guarded"


async def test_machine_logs_in_by_itself(server: Guarded, store: LoginStore) -> None:
    oauth = {"flow": "client_credentials", "client_id": "machine", "client_secret": "s3cret-machine"}
    async with hosting(server.config(**oauth), login_store=store) as computer:
        assert computer.status_of("guarded").state is ServerState.READY
        server.control(forget=["access"])
        assert code_of(await computer.call("echo", text="hi")) is None
        assert server.count("client_credentials") == 2


async def test_machine_with_a_wrong_secret_is_refused(server: Guarded, store: LoginStore) -> None:
    oauth = {"flow": "client_credentials", "client_id": "machine", "client_secret": "wrong-secret"}
    async with hosting(server.config(**oauth), login_store=store) as computer:
        status = computer.status_of("guarded")
        assert status.state is WAITING
        assert "invalid_client" in (status.reason or "")
        with pytest.raises(LoginRefusedError):
            await computer.alogin("guarded", visit)
    assert server.count("client_credentials") == 2


async def test_values_may_be_inputs(server: Guarded, store: LoginStore, monkeypatch: pytest.MonkeyPatch) -> None:
    from a2c_smcp.computer.config.model import MCPServerPromptStringInput

    monkeypatch.setenv("A2C_SMCP_SECRET", "s3cret-machine")
    oauth = {"flow": "client_credentials", "client_id": "machine", "client_secret": "${input:secret}"}
    inputs = [MCPServerPromptStringInput(id="secret", password=True)]
    async with hosting(server.config(**oauth), login_store=store, inputs=inputs) as computer:
        assert computer.status_of("guarded").state is ServerState.READY
        assert "s3cret-machine" not in json.dumps(computer.get_config())


async def test_machine_without_a_browser_is_reported(computer: Watched) -> None:
    with pytest.raises(LoginRefusedError, match="no browser"):
        await computer.alogin("guarded", lambda url: False)


async def test_server_that_is_no_remote_one_has_no_login() -> None:
    async with hosting(raw()) as computer:
        with pytest.raises(LoginRefusedError):
            await computer.alogin("raw", visit)
        with pytest.raises(NotFoundError):
            await computer.alogin("other", visit)


async def test_rejected_key_in_a_header_is_no_matter_of_a_login(server: Guarded, store: LoginStore) -> None:
    config = server_from({"url": server.url, "headers": {"Authorization": "Bearer wrong"}}, "g")
    async with hosting(config, login_store=store, auto_reconnect=False) as computer:
        status = computer.status_of("g")
        assert status.state is ServerState.FAILED
        assert "401" in (status.reason or "")


async def test_password_in_the_address_is_sent_and_is_no_matter_of_a_login(server: Guarded, store: LoginStore) -> None:
    server.behave(basic=base64.b64encode(b"ada:s3cret").decode())
    config = server_from({"url": server.url.replace("://", "://ada:s3cret@")}, "g")
    async with hosting(config, login_store=store, auto_reconnect=False) as computer:
        status = computer.status_of("g")
        assert status.state is ServerState.FAILED
        assert "418" in (status.reason or "")


@pytest.mark.parametrize(
    ("oauth", "mistake"),
    [
        ({"flow": "magic"}, "oauth.flow"),
        ({"flow": "client_credentials", "client_id": "a"}, "client_secret"),
        ({"flow": "enterprise"}, "issuer"),
        ({"client_secret": "a"}, "client_id"),
        ({"client_metadata_url": "http://example.com/client"}, "https://"),
        ({"redirect_url": "http://example.com/back"}, "this machine"),
        ({"redirect_url": "javascript:alert(1)"}, "http://"),
        ({"issuer": "javascript:alert(1)"}, "oauth.issuer"),
        ({"client": "a"}, "unknown key"),
    ],
)
def test_mistake_in_the_configuration_is_named(oauth: dict[str, Any], mistake: str) -> None:
    with pytest.raises(ValueError, match=mistake):
        server_from({"url": "https://example.com/mcp", "oauth": oauth}, "x")


def test_settings_of_other_hosts_are_read() -> None:
    theirs = {"clientId": "a", "clientSecret": "s3cret-theirs", "callbackPort": 8123, "authServerMetadataUrl": "x"}
    loaded = parse_config(json.dumps({"mcpServers": {"x": {"url": "https://example.com/mcp", "oauth": theirs}}}))
    assert loaded.servers[0].shown()["server_parameters"]["oauth"] == {
        "client_id": "a",
        "client_secret": "•••",
        "redirect_url": "http://localhost:8123/callback",
    }
    assert "authServerMetadataUrl" in str(loaded.warnings[0])
