"""Logins of MCP hosts at the Server itself: what they get, for how long, and what is rejected."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import threading
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from a2c_smcp.server import CredentialAuthenticationProvider, KeyFile, SharedSecret, create_app
from a2c_smcp.server.authorization.logins import Logins, Request
from a2c_smcp.server.authorization.store import LOGINS_OF_A_KEY, MemoryStore
from a2c_smcp.server.key_file import hash_key, write_keys
from tests.support.gateway import OLD, Answers, Hall, RawHost, hall
from tests.support.logins import CALLBACK, CHALLENGE, Tokens, Visitor, challenge, returned, visiting
from tests.support.process import server_process
from tests.support.running import RunningCluster, running, serving_asgi
from tests.support.smcp_tools import smcp_tool
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

PUBLIC = "https://hub.example.com"


def forged(*parts: object) -> str:
    """An id of a client that nobody registered."""
    return "a2c_client_" + base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


def key(name: str, *offices: str, **fields: Any) -> dict[str, Any]:
    """An entry of a key file; the key is its own name."""
    return {"id": name, "hash": hash_key(name), "offices": list(offices), **fields}


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hall]:
    path = tmp_path_factory.mktemp("keys") / "keys.toml"
    write_keys(path, [key("alice", "*"), key("bob", "bobs"), key("robot", "*", roles=["computer"])])
    async with hall(CredentialAuthenticationProvider(KeyFile(path), SharedSecret("shared"))) as here:
        answers = Answers(smcp_tool("greet"))
        await here.fake(answers, office="office", headers={"x-api-key": "robot"})
        yield here


@pytest.fixture
async def visitor(place: Hall) -> AsyncGenerator[Visitor]:
    async with visiting(place.server.url) as visitor:
        await visitor.register()
        yield visitor


def oauth(visitor: Visitor, url: str, key: str, storage: Tokens) -> OAuthClientProvider:
    """The login of the `mcp` library; the person enters a key."""
    back: list[dict[str, str]] = []

    async def show(url: str) -> None:
        answer = await visitor.http.get(url)
        page = await visitor.open(answer.headers["location"])
        back.append(returned(await visitor.answer(page, key)))

    async def wait() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**back.pop())

    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(CALLBACK)], client_name="mcp")
    return OAuthClientProvider(url, metadata, storage, show, wait)


# ------------------------------------------------------------------------------------------------------------ the login


@pytest.mark.parametrize("path", ["office", "office/reading", "office?mode=direct"])
async def test_host_with_the_login_of_the_mcp_library_uses_the_office(tmp_path: Path, path: str) -> None:
    write_keys(tmp_path / "keys.toml", [key("alice", "office", roles=["agent"]), key("robot", "*")])
    provider = CredentialAuthenticationProvider(KeyFile(tmp_path / "keys.toml"))
    async with hall(provider, profiles={"reading": {}}) as here, visiting(here.server.url) as visitor:
        await here.fake(Answers(smcp_tool("greet")), headers={"x-api-key": "robot"})
        storage = Tokens()
        url = f"{here.server.url}/mcp/{path}"
        for mode in ("legacy", "auto"):
            login = oauth(visitor, url, "alice", storage)
            async with httpx2.AsyncClient(auth=login, timeout=PATIENCE) as http:
                assert "greet" in await tools(http, url, mode)
        assert storage.tokens is not None
        # The host renews its tokens by itself.
        before = storage.tokens.access_token
        login = oauth(visitor, url, "nobody logs in again", storage)
        async with httpx2.AsyncClient(auth=login, timeout=PATIENCE) as http:
            assert "greet" in await tools(http, url, "auto")
            login.context.token_expiry_time = 1
            assert "greet" in await tools(http, url, "auto")
        assert storage.tokens.access_token != before


async def tools(http: httpx2.AsyncClient, url: str, mode: str) -> list[str]:
    async with Client(streamable_http_client(url, http_client=http), mode=mode, cache=None) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def test_page_says_who_gets_what(visitor: Visitor) -> None:
    await visitor.register(client_name="<b>Evil</b>\u202e")
    page = await visitor.page("caf%C3%A9")
    assert page.item("client") == "<b>Evil</b>\\u202e"
    assert "http://127.0.0.1:7777" in page.item("returns")
    assert (page.item("office"), page.item("role")[:5]) == ("café", "Agent")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' http://127.0.0.1:7777;" in policy
    assert "script" not in page.text
    assert page.headers["cache-control"] == "no-store"
    asked = await visitor.ask()
    chinese = await visitor.open(asked.headers["location"], **{"accept-language": "zh-CN,zh;q=0.9,en;q=0.8"})
    assert "允许" in chinese.text


async def test_person_denies_the_access(visitor: Visitor) -> None:
    answer = await visitor.answer(await visitor.page(), action="deny")
    assert answer.headers["location"].startswith(f"{CALLBACK}?")
    assert returned(answer) == {"error": "access_denied", "state": visitor.state, "iss": visitor.base}


@pytest.mark.parametrize(("given", "problem"), [("wrong", "not a valid key"), ("bob", "office office"), ("robot", "")])
async def test_key_that_does_not_allow_an_agent_in_the_office_is_rejected(
    visitor: Visitor, given: str, problem: str
) -> None:
    answer = await visitor.answer(await visitor.page(), given)
    assert answer.status_code == 403
    assert 'id="problem"' in answer.text
    assert problem in answer.text


async def test_guesses_of_keys_become_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2c_smcp.server.admission.FREE_GUESSES", 1)
    with running("async", CredentialAuthenticationProvider(SharedSecret("shared"))) as server:
        async with visiting(server.url) as visitor:
            await visitor.register()
            page = await visitor.page()
            await visitor.answer(page, "guess")
            begun = time.monotonic()
            await visitor.answer(page, "another")
            assert time.monotonic() - begun >= 0.2


async def test_form_of_another_site_is_rejected(place: Hall, visitor: Visitor) -> None:
    page = await visitor.page()
    assert (await visitor.answer(page, "alice", origin="https://evil.example")).status_code == 403
    async with visiting(place.server.url) as other:  # a browser without the cookie
        assert (await other.answer(page, "alice")).status_code == 403


async def test_shared_secret_is_a_key(visitor: Visitor) -> None:
    tokens = await visitor.login("shared")
    assert (await visitor.use(tokens["access_token"])).status_code == 200


# ------------------------------------------------------------------------------------------------------- the challenges


async def test_host_without_a_credential_is_told_where_to_log_in(visitor: Visitor) -> None:
    answer = await visitor.use(None, "office/reading")
    assert answer.status_code == 401
    fields = challenge(answer)
    assert fields["resource_metadata"] == f"{visitor.base}/.well-known/oauth-protected-resource/mcp/office/reading"
    office = (await visitor.http.get(fields["resource_metadata"])).json()
    assert office["resource"] == visitor.office("office/reading")
    assert office["authorization_servers"] == [visitor.base]
    server = (await visitor.get("/.well-known/oauth-authorization-server")).json()
    assert server["issuer"] == visitor.base
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["client_id_metadata_document_supported"] is True
    assert (await visitor.get("/.well-known/oauth-protected-resource")).status_code == 404
    odd = visitor.office("a%2Fb%2Fc")
    assert (await visitor.get("/.well-known/oauth-protected-resource/mcp/a%2Fb%2Fc")).json()["resource"] == odd


async def test_host_name_that_nobody_set_gets_no_logins(visitor: Visitor) -> None:
    answer = await visitor.use(None, host="evil.example")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    for path in ("/.well-known/oauth-protected-resource/mcp/office", "/authorize", "/login"):
        assert (await visitor.get(path, host="evil.example")).status_code == 404


async def test_token_is_valid_for_its_office_only(visitor: Visitor) -> None:
    token = (await visitor.login("alice", "one"))["access_token"]
    assert (await visitor.use(token, "one")).status_code == 200
    assert (await visitor.use(token, "one/none")).status_code == 404  # a profile that does not exist
    answer = await visitor.use(token, "two")
    assert (answer.status_code, challenge(answer)["error"]) == (401, "invalid_token")
    port = visitor.url.rpartition(":")[2]
    assert (await visitor.use(token, "one", host=f"localhost:{port}")).status_code == 401
    answer = await visitor.use("bob")
    assert (answer.status_code, challenge(answer)["error"]) == (403, "insufficient_scope")


async def test_token_is_no_credential_of_a_computer(place: Hall, visitor: Visitor) -> None:
    token = (await visitor.login("alice"))["access_token"]
    with pytest.raises(AssertionError):
        await place.people.newcomer(auth={"token": token})


async def test_server_below_a_path_names_it(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys.toml", [key("alice", "*")])
    provider = CredentialAuthenticationProvider(KeyFile(tmp_path / "keys.toml"))
    base = f"{PUBLIC}/a2c"
    with running("async", provider, public_url=f"{base}/") as server:
        async with visiting(server.url, base) as visitor:
            metadata = challenge(await visitor.use(None))["resource_metadata"]
            assert metadata == f"{base}/.well-known/oauth-protected-resource/mcp/office"
            # The proxy removes the prefix, which well-known URLs have at their end.
            for path in (metadata.removeprefix(base), "/.well-known/oauth-protected-resource/a2c/mcp/office"):
                assert (await visitor.get(path)).json()["resource"] == f"{base}/mcp/office"
            for path in ("/.well-known/oauth-authorization-server/a2c", "/.well-known/openid-configuration"):
                assert (await visitor.get(path)).json()["token_endpoint"] == f"{base}/token"
            assert (await visitor.use((await visitor.login("alice"))["access_token"])).status_code == 200


async def test_server_that_is_mounted_in_another_application_has_logins(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys.toml", [key("alice", "*")])
    smcp = create_app(CredentialAuthenticationProvider(KeyFile(tmp_path / "keys.toml")))
    api = FastAPI(lifespan=smcp.lifespan)
    api.mount("/hub", smcp)
    with serving_asgi(api, smcp) as (url, _):
        async with visiting(f"{url}/hub") as visitor:
            office = f"{visitor.url}/mcp/office"
            async with httpx2.AsyncClient(auth=oauth(visitor, office, "alice", Tokens()), timeout=PATIENCE) as http:
                assert "look_at_desktop" in await tools(http, office, "auto")


# --------------------------------------------------------------------------------------------------------- the requests


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": None}, "invalid_target"),
        ({"resource": "https://elsewhere.example/mcp/office"}, "invalid_target"),
        ({"state": "s" * 1001}, "invalid_request"),
    ],
)
async def test_invalid_request_returns_to_the_client(
    visitor: Visitor, changes: dict[str, str | None], error: str
) -> None:
    answer = await visitor.ask(**changes)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith(CALLBACK)
    assert (returned(answer)["error"], returned(answer)["iss"]) == (error, visitor.base)


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uri": "http://127.0.0.1:7777/other"},
        {"redirect_uri": "http://127.0.0.1:7777/callback?more=1"},
        {"redirect_uri": "http://localhost:7777/callback"},
        {"redirect_uri": "https://evil.example/callback"},
        {"client_id": "unknown"},
        {"client_id": "a2c_client_!"},
        {"client_id": forged("Evil", "javascript:alert(1)")},
        {"client_id": forged("Evil")},
        {"client_id": forged({"name": "Evil"}, CALLBACK)},
    ],
)
async def test_browser_does_not_leave_for_a_place_that_is_not_the_clients(
    visitor: Visitor, changes: dict[str, str]
) -> None:
    answer = await visitor.ask(**changes)
    assert (answer.status_code, "location" in answer.headers) == (400, False)
    assert answer.headers["content-type"].startswith("text/html")


async def test_client_on_this_machine_may_choose_its_port(visitor: Visitor) -> None:
    await visitor.page(redirect_uri="http://127.0.0.1:8888/callback")


@pytest.mark.parametrize(
    "uri",
    ["http://evil.example/callback", "javascript:alert(1)", "https://a.example/#x", "https://u:p@a.example/", "data:x"],
)
async def test_client_with_a_dangerous_redirect_uri_cannot_register(visitor: Visitor, uri: str) -> None:
    answer = await visitor.register(uri)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


async def test_registered_clients_have_no_secret(visitor: Visitor) -> None:
    first = (await visitor.register(token_endpoint_auth_method="client_secret_post")).json()
    assert (first["token_endpoint_auth_method"], "client_secret" in first) == ("none", False)
    visitor.client_id = first["client_id"]
    await visitor.page()
    assert len((await visitor.register(client_name="x" * 60_000)).json()["client_id"]) < 500
    assert (await visitor.register(client_name="x" * 70_000)).status_code == 413


@pytest.mark.parametrize(
    "client_id",
    [
        "https://127.0.0.1/client.json",
        "https://10.0.0.1/client.json",
        "https://[::1]/client.json",
        "https://[::ffff:127.0.0.1]/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://localhost/client.json",
        "https://2130706433/client.json",
        "https://user@a.example/client.json",
        "https://a.example/",
        "https://a.example/x/../client.json",
        "http://a.example/client.json",
        "https://[broken/client.json",
    ],
)
async def test_description_of_a_client_is_not_fetched_from_a_private_place(visitor: Visitor, client_id: str) -> None:
    answer = await visitor.ask(client_id=client_id)
    assert (answer.status_code, "location" in answer.headers) == (400, False)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\nno name\r\n--x--"),
        ("application/x-www-form-urlencoded", b"&".join(b"a%d=" % number for number in range(2_000))),
    ],
)
async def test_form_that_cannot_be_read_is_an_invalid_request(visitor: Visitor, kind: str, body: bytes) -> None:
    answer = await visitor.http.post(f"{visitor.url}/token", content=body, headers={"content-type": kind})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("page", ["authorize", "login", "token", "register", "revoke"])
async def test_client_that_hangs_up_is_no_fault_of_the_server(page: str) -> None:
    smcp = create_app(CredentialAuthenticationProvider(SharedSecret("shared")))
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/x-www-form-urlencoded")]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": f"/{page}",
        "query_string": b"",
        "scheme": "http",
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async with smcp.lifespan():
        await smcp({**scope, "headers": headers}, receive, send)
    assert sent == []


# ----------------------------------------------------------------------------------------------------------- the tokens


async def test_code_is_for_the_client_that_asked_and_for_one_use(visitor: Visitor) -> None:
    code = await visitor.code("alice")
    asked = visitor.client_id
    await visitor.register(client_name="Thief")
    assert (await visitor.redeem(code)).json()["error"] == "invalid_grant"
    visitor.client_id = asked
    assert (await visitor.redeem(code, code_verifier="w" * 64)).json()["error"] == "invalid_grant"
    assert (await visitor.redeem(code, redirect_uri="http://127.0.0.1:7777/x")).status_code == 400
    token = (await visitor.redeem(code)).json()["access_token"]
    assert (await visitor.use(token)).status_code == 200
    assert (await visitor.redeem(code)).json()["error"] == "invalid_grant"
    assert (await visitor.use(token)).status_code == 401  # somebody else may have the code


async def test_refresh_token_that_is_used_twice_ends_the_login(visitor: Visitor) -> None:
    first = await visitor.login("alice")
    second = (await visitor.renew(first["refresh_token"])).json()
    assert (await visitor.use(first["access_token"])).status_code == 200  # for requests that are running
    assert (await visitor.use(second["access_token"])).status_code == 200
    assert (await visitor.renew(first["refresh_token"])).json()["error"] == "invalid_grant"
    assert (await visitor.renew(second["refresh_token"])).json()["error"] == "invalid_grant"
    assert (await visitor.use(second["access_token"])).status_code == 401


async def test_expired_token_is_no_guess(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("a2c_smcp.server.authorization.logins.ACCESS_SECONDS", -1)
    tokens = await visitor.login("alice")
    caplog.set_level(logging.INFO, "a2c_smcp.server.journal")
    answer = await visitor.use(tokens["access_token"])
    assert (answer.status_code, challenge(answer)["error"]) == (401, "invalid_token")
    assert "rejected" not in caplog.text
    assert (await visitor.use(tokens["access_token"][:-1])).status_code == 401
    assert "rejected" in caplog.text


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
async def test_revoked_login_ends(visitor: Visitor, which: str) -> None:
    tokens = await visitor.login("alice")
    asked = visitor.client_id
    await visitor.register(client_name="Another")
    assert (await visitor.revoke(tokens[which])).status_code == 200
    assert (await visitor.use(tokens["access_token"])).status_code == 200
    visitor.client_id = asked
    assert (await visitor.revoke(tokens[which])).status_code == 200
    assert (await visitor.use(tokens["access_token"])).status_code == 401
    assert (await visitor.renew(tokens["refresh_token"])).status_code == 400
    assert (await visitor.revoke("unknown")).status_code == 200


async def test_login_ends_with_its_key(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    entries = [key(name, "*") for name in ("kept", "removed", "changed", "expired")]
    write_keys(path, entries)
    provider = CredentialAuthenticationProvider(KeyFile(path, look_seconds=0))
    with running("async", provider) as server:
        async with visiting(server.url) as visitor:
            logins = {entry["id"]: await visitor.login(entry["id"]) for entry in entries}
            write_keys(
                path,
                [key("kept", "*"), key("changed", "other"), key("expired", "*", expires="2020-01-01T00:00:00Z")],
            )
            for name, tokens in logins.items():
                is_kept = name == "kept"
                assert ((await visitor.use(tokens["access_token"])).status_code == 200) is is_kept
                assert ((await visitor.renew(tokens["refresh_token"])).status_code == 200) is is_kept


async def test_stream_ends_with_its_key_or_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2c_smcp.gateway.visits.CHECK_SECONDS", 0.05)
    write_keys(tmp_path / "keys.toml", [key("alice", "*")])
    provider = CredentialAuthenticationProvider(KeyFile(tmp_path / "keys.toml", look_seconds=0))
    async with hall(provider) as here, visiting(here.server.url) as visitor:
        tokens = await visitor.login("alice")

        async def remove_key() -> None:
            write_keys(tmp_path / "keys.toml", [])

        async def log_out() -> None:
            await visitor.revoke(tokens["refresh_token"])

        cases = ((tokens["access_token"], remove_key), ("alice", remove_key), (tokens["access_token"], log_out))
        for credential, end in cases:
            async with here.raw(OLD, authorization=f"Bearer {credential}") as host:
                stream = host.http.stream("GET", host.url, headers=host.headers("listen"))
                async with stream as response:
                    assert response.status_code == 200
                    await end()
                    async for _ in response.aiter_bytes():
                        pass
            write_keys(tmp_path / "keys.toml", [key("alice", "*")])


async def test_nodes_of_a_cluster_share_logins(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys.toml", [key("alice", "*")])
    provider = CredentialAuthenticationProvider(KeyFile(tmp_path / "keys.toml"))
    with running("cluster", provider, public_url=PUBLIC) as cluster:
        assert isinstance(cluster, RunningCluster)
        async with visiting(cluster.nodes[0].url, PUBLIC) as visitor:
            first = await visitor.login("alice")
            visitor.url = cluster.nodes[1].url
            assert (await visitor.use(first["access_token"])).status_code == 200
            second = (await visitor.renew(first["refresh_token"])).json()
            visitor.url = cluster.nodes[2].url
            assert (await visitor.use(second["access_token"])).status_code == 200
            assert (await visitor.renew(first["refresh_token"])).status_code == 400
            assert (await visitor.use(second["access_token"])).status_code == 401
            code = await visitor.code("alice")
            visitor.url = cluster.nodes[0].url
            third = (await visitor.redeem(code)).json()
            await visitor.revoke(third["access_token"])
            assert (await visitor.use(third["access_token"])).status_code == 401


async def test_streams_at_every_node_end_when_one_node_ends_their_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("a2c_smcp.gateway.visits.CHECK_SECONDS", 0.05)
    write_keys(tmp_path / "keys.toml", [key("alice", "*")])
    provider = CredentialAuthenticationProvider(KeyFile(tmp_path / "keys.toml"))
    with running("cluster", provider, public_url=PUBLIC) as cluster:
        assert isinstance(cluster, RunningCluster)
        async with visiting(cluster.nodes[0].url, PUBLIC) as visitor, AsyncExitStack() as stack:
            tokens = await visitor.login("alice")
            headers = {"authorization": f"Bearer {tokens['access_token']}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=PATIENCE))
            streams = list[httpx2.Response]()
            for node in cluster.nodes:
                host = RawHost(http, f"{node.url}/mcp/office", OLD)
                await host.initialize()
                stream = http.stream("GET", host.url, headers=host.headers("listen"))
                streams.append(await stack.enter_async_context(stream))
            assert [stream.status_code for stream in streams] == [200] * 3
            visitor.url = cluster.nodes[2].url  # the first node serves the office
            await visitor.revoke(tokens["refresh_token"])
            async with asyncio.timeout(PATIENCE):
                for stream in streams:
                    async for _ in stream.aiter_bytes():
                        pass


async def test_logins_survive_a_restart_of_the_server(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys.toml", [key("alice", "*")])
    flags = ("--keys-file", str(tmp_path / "keys.toml"), "--public-url", PUBLIC)
    with server_process(*flags) as server:
        async with visiting(server.url, PUBLIC) as visitor:
            first = await visitor.login("alice")
            code = await visitor.code("alice")
    folder = tmp_path / "keys.toml.logins"
    stored = (folder / "logins.json").read_text()
    assert {path.stat().st_mode & 0o077 for path in (folder, folder / "logins.json")} == {0}
    for secret in (first["access_token"], first["refresh_token"], code):
        assert secret.partition(".")[2] not in stored
    with server_process(*flags) as server:
        async with visiting(server.url, PUBLIC) as again:
            again.client_id = visitor.client_id
            assert (await again.use(first["access_token"])).status_code == 200
            assert (await again.redeem(code)).status_code == 200
            second = (await again.renew(first["refresh_token"])).json()
            write_keys(tmp_path / "keys.toml", [])
            await eventually_rejected(again, second["access_token"])
            assert (await again.renew(second["refresh_token"])).json()["error"] == "invalid_grant"


async def eventually_rejected(visitor: Visitor, token: str) -> None:
    """Wait until the Server has read its keys again."""
    async with asyncio.timeout(PATIENCE):
        while (await visitor.use(token)).status_code != 401:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_login_that_was_not_used_for_the_longest_time_makes_room_for_another() -> None:
    logins = Logins(MemoryStore(), [SharedSecret("shared")])
    wanted = Request("client", "Test", CALLBACK, True, CHALLENGE, "https://hub.example.com/mcp/o", "o")
    codes = [await logins.begin(wanted, "shared") for _ in range(LOGINS_OF_A_KEY)]
    oldest = await logins.find_code("client", codes[0])
    assert oldest is not None
    await logins.redeem(oldest)
    codes.append(await logins.begin(wanted, "shared"))
    assert await logins.find_code("client", codes[1]) is None
    assert None not in [await logins.find_code("client", code) for code in codes[2:]]
    assert await logins.store.get(oldest.id) is not None


async def test_folder_of_another_server_is_left_alone(tmp_path: Path) -> None:
    stores = [MemoryStore(tmp_path / "logins") for _ in range(2)]
    verifiers = [SharedSecret("shared")]
    wanted = Request("client", "Test", CALLBACK, True, CHALLENGE, "https://hub.example.com/mcp/o", "o")
    codes = [await Logins(store, verifiers).begin(wanted, "shared") for store in stores]
    for store in stores:
        await store.aclose()
    reopened = Logins(MemoryStore(tmp_path / "logins"), verifiers)
    assert await reopened.find_code("client", codes[0]) is not None
    assert await reopened.find_code("client", codes[1]) is None
    await reopened.store.aclose()


# ------------------------------------------------------------------------------------- clients that describe themselves


class Described(BaseHTTPRequestHandler):
    """Descriptions of clients, good and bad."""

    base = ""

    def do_GET(self) -> None:
        url = f"{self.base}{self.path}"
        document: dict[str, Any] = {"client_id": url, "client_name": "Described", "redirect_uris": [CALLBACK]}
        match self.path:
            case "/redirect":
                self.send_response(302)
                self.send_header("location", f"{self.base}/client")
                self.end_headers()
                return
            case "/another":
                document["client_id"] = f"{self.base}/client"
            case "/large":
                document["padding"] = "x" * 100_000
            case "/secret":
                document["token_endpoint_auth_method"] = "private_key_jwt"
            case "/evil":
                document["redirect_uris"] = ["javascript:alert(1)"]
            case "/list":
                self._answer(b"[]")
                return
            case "/deep":
                self._answer(b'{"a":' * 5_000)
                return
            case _:
                pass
        self._answer(json.dumps(document).encode())

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


async def test_client_that_describes_itself_logs_in_and_a_hostile_one_does_not(tmp_path: Path) -> None:
    write_keys(tmp_path / "keys.toml", [key("alice", "*")])
    provider = CredentialAuthenticationProvider(KeyFile(tmp_path / "keys.toml"))
    web = ThreadingHTTPServer(("127.0.0.1", 0), Described)
    Described.base = f"http://127.0.0.1:{web.server_port}"
    # A Server whose public URL is on this machine fetches descriptions from this machine, too.
    with _serving(web), running("async", provider, public_url="http://localhost:8000") as server:
        async with visiting(server.url, "http://localhost:8000") as visitor:
            visitor.client_id = f"{Described.base}/client"
            page = await visitor.page()
            assert page.item("client") == "Described"
            tokens = await visitor.login("alice")
            assert (await visitor.renew(tokens["refresh_token"])).status_code == 200
            assert (await visitor.ask(redirect_uri="http://127.0.0.1:7777/other")).status_code == 400
            for path in ("redirect", "another", "large", "secret", "evil", "list", "deep"):
                assert (await visitor.ask(client_id=f"{Described.base}/{path}")).status_code == 400, path


@contextlib.contextmanager
def _serving(web: ThreadingHTTPServer) -> Generator[None]:
    thread = threading.Thread(target=web.serve_forever, args=[0.05], daemon=True)
    thread.start()
    try:
        yield
    finally:
        web.shutdown()
        thread.join()
        web.server_close()
