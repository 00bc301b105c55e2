"""Logins at a remote MCP server, against an authorization server in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import stat
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from a2c_smcp.computer.config.files import parse_config, server_from
from a2c_smcp.computer.mcp.oauth import endpoints
from a2c_smcp.computer.mcp.oauth.store import FILE, LoginStore
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import LoginRefusedError, NotFoundError
from tests.support.guarded import Guarded, guarded, visit
from tests.support.hosting import Watched, code_of, hosting, raw, text_of
from tests.support.process import WarmProcess
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

WAITING = ServerState.WAITING_FOR_LOGIN


@pytest.fixture(scope="module")
def process() -> Generator[Guarded]:
    with guarded() as server:
        yield server


@pytest.fixture
def server(process: Guarded) -> Guarded:
    """The server, with its first behaviour and without logins."""
    process.control(reset=True)
    return process


@pytest.fixture
def store(tmp_path: Path) -> LoginStore:
    return LoginStore(tmp_path / "logins")


@pytest.fixture
async def computer(server: Guarded, store: LoginStore) -> AsyncGenerator[Watched]:
    async with hosting(server.config(), login_store=store) as computer:
        yield computer


def record(store: LoginStore) -> dict[str, Any]:
    """The one login in a store, as it is on disk."""
    return json.loads(next(store.folder.glob(f"*/{FILE}")).read_bytes())["login"]


async def outdate(store: LoginStore) -> None:
    """Let the token of the one stored login be due for renewal."""
    file = next(store.folder.glob(f"*/{FILE}"))
    kept = json.loads(file.read_bytes())
    kept["login"] |= {"expires_at": kept["login"]["obtained_at"]}
    file.write_text(json.dumps(kept), "utf-8")


# ------------------------------------------------------------------------------------------------------ the first login


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


async def test_only_the_owner_can_read_a_login(computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    file = next(store.folder.glob(f"*/{FILE}"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_keyring_holds_the_key_of_the_file(
    server: Guarded, store: LoginStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    import keyring
    from keyring.backend import KeyringBackend

    before = keyring.get_keyring()  # before the class, which the library would find

    class Memory(KeyringBackend):
        priority = 1  # pyright: ignore[reportAssignmentType]
        kept: ClassVar[dict[tuple[str, str], str]] = {}

        def get_password(self, service: str, username: str) -> str | None:
            return self.kept.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.kept[service, username] = password

    keyring.set_keyring(Memory())
    try:
        async with hosting(server.config(), login_store=store) as computer:
            await computer.alogin("guarded", visit)
        written = next(store.folder.glob(f"*/{FILE}")).read_text("utf-8")
        assert "sealed" in written
        assert not any(token in written for token in server.control()["all"])
        async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
            assert later.status_of("guarded").state is ServerState.READY
        Memory.kept.clear()  # another user, or a new keyring: the login is lost, and nothing else
        async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
            assert later.status_of("guarded").state is WAITING
    finally:
        keyring.set_keyring(before)


async def test_nothing_shows_a_token(
    server: Guarded, computer: Watched, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    await computer.alogin("guarded", visit)
    result = await computer.call("echo", text="hi")
    tokens = server.control()["all"]
    shown = [
        repr(result),
        json.dumps(computer.get_config()),
        repr(computer.status),
        repr(await computer.aget_tool_call_history()),
        repr(computer.mcp_servers),
        *capfd.readouterr(),
        *(record.getMessage() for record in caplog.records if not record.name.startswith("httpcore2")),
    ]
    assert tokens
    assert not [token for token in tokens if any(token in text for text in shown)]


async def test_secrets_of_the_configuration_stay_in_it(server: Guarded) -> None:
    config = server.config(client_id="me", client_secret="s3cret-client", scopes=["read"])
    assert "s3cret-client" not in json.dumps(config.shown())
    assert "s3cret-client" not in repr(config)
    assert config.shown()["server_parameters"]["oauth"]["client_id"] == "me"


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


# ------------------------------------------------------------------------------------------------ expiry and revocation


async def test_expired_token_is_renewed_once(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    await outdate(store)
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


# ---------------------------------------------------------------------------------------------------------- more rights


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


# ------------------------------------------------------------------------------------------------------------ no person


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


# --------------------------------------------------------------------------------------------------- hostile and broken


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ({"metadata": {"issuer": "https://other.example"}}, "issuer mismatch"),
        ({"iss": "https://other.example"}, "iss mismatch"),
        ({"resource": "https://other.example/mcp"}, "does not match"),
        ({"metadata": {"authorization_endpoint": "https://169.254.169.254/authorize"}}, "address of this machine"),
        ({"metadata": {"authorization_endpoint": "http://untrusted.example/authorize"}}, "not encrypted"),
        ({"metadata": {"token_endpoint": "http://untrusted.example/token"}}, "not encrypted"),
        ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, "PKCE"),
        ({"token": "redirect"}, "untrusted.example"),
        ({"token": "huge"}, "bytes"),
        ({"token": "broken"}, "503"),
        ({"deny": True}, "access_denied: not today"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_login_is_refused(server: Guarded, computer: Watched, behaviour: dict[str, Any], why: str) -> None:
    server.behave(**behaviour)
    with pytest.raises(LoginRefusedError, match=why):
        await computer.alogin("guarded", visit)
    assert computer.status_of("guarded").state is WAITING
    assert server.control()["access"] == [] or "iss" in behaviour


async def test_script_is_never_opened(server: Guarded, computer: Watched) -> None:
    opened: list[str] = []
    server.behave(metadata={"authorization_endpoint": "javascript:alert(1)"})
    with contextlib.suppress(LoginRefusedError):
        await computer.alogin("guarded", lambda url: (opened.append(url), visit(url)))
    assert all(url.startswith(server.base) for url in opened)


async def test_token_endpoint_that_hangs_ends_the_login(
    server: Guarded, computer: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "SECONDS", 0.2)
    server.behave(token="hang")
    with pytest.raises(LoginRefusedError, match="did not answer"):
        await computer.alogin("guarded", visit)


async def test_abandoned_login_ends(computer: Watched) -> None:
    shown: list[str] = []
    with pytest.raises(LoginRefusedError, match="was not completed"):
        await computer.alogin("guarded", shown.append, patience=0.5)
    redirect = parse_qs(urlsplit(shown[0]).query)["redirect_uri"][0]
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(redirect)  # nothing listens any more


async def test_cancelled_login_stops_listening(computer: Watched) -> None:
    shown: asyncio.Queue[str] = asyncio.Queue()

    async def show(url: str) -> None:
        shown.put_nowait(url)

    task = asyncio.create_task(computer.alogin("guarded", show))
    async with asyncio.timeout(PATIENCE):
        redirect = parse_qs(urlsplit(await shown.get()).query)["redirect_uri"][0]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(redirect)


async def test_request_of_another_page_does_not_end_the_login(computer: Watched) -> None:
    def disturb(url: str) -> None:
        redirect = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        answers = [
            httpx2.get(redirect, params={"code": "forged", "state": "forged"}),
            httpx2.get(redirect, params={"error": "access_denied"}),
            httpx2.get(redirect.replace("/callback", "/other")),
            httpx2.post(redirect),
        ]
        assert [answer.status_code for answer in answers] == [400, 400, 404, 404]
        visit(url)

    await computer.alogin("guarded", disturb)
    assert computer.status_of("guarded").state is ServerState.READY


async def test_machine_without_a_browser_is_reported(computer: Watched) -> None:
    with pytest.raises(LoginRefusedError, match="no browser"):
        await computer.alogin("guarded", lambda url: False)


async def test_damaged_login_is_no_login(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    next(store.folder.glob(f"*/{FILE}")).write_text("{", "utf-8")
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
        assert later.status_of("guarded").state is WAITING


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


# ---------------------------------------------------------------------------------------------------- several processes


def test_settings_of_other_hosts_are_read() -> None:
    theirs = {"clientId": "a", "clientSecret": "s3cret-theirs", "callbackPort": 8123, "authServerMetadataUrl": "x"}
    loaded = parse_config(json.dumps({"mcpServers": {"x": {"url": "https://example.com/mcp", "oauth": theirs}}}))
    assert loaded.servers[0].shown()["server_parameters"]["oauth"] == {
        "client_id": "a",
        "client_secret": "•••",
        "redirect_url": "http://localhost:8123/callback",
    }
    assert "authServerMetadataUrl" in str(loaded.warnings[0])


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


async def test_processes_renew_once(server: Guarded, computer: Watched, store: LoginStore) -> None:
    await computer.alogin("guarded", visit)
    await outdate(store)

    def run() -> str:
        # A process of its own, which has the imports done already.
        process = WarmProcess(["python", "-c", LOGS_IN, server.url, str(store.folder)])
        with contextlib.closing(process):
            process.type()
            process.end()
            return process.text.strip()

    assert await asyncio.gather(asyncio.to_thread(run), asyncio.to_thread(run)) == ["ok", "ok"]
    assert server.count("refresh_token") == 1
