"""Authorization servers, MCP servers and pages that misbehave during a login."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from a2c_smcp.computer.mcp.oauth import endpoints
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import LoginRefusedError
from tests.support.guarded import WAITING, Guarded, guarded, visit
from tests.support.hosting import Watched, code_of, hosting
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ({"metadata": {"issuer": "https://other.example"}}, "issuer mismatch"),
        ({"iss": "https://other.example"}, "iss mismatch"),
        ({"iss": None}, "missing iss"),
        ({"resource": "https://other.example/mcp"}, "does not match"),
        ({"metadata": {"authorization_endpoint": "https://169.254.169.254/authorize"}}, "address of this machine"),
        ({"metadata": {"authorization_endpoint": "http://untrusted.example/authorize"}}, "not encrypted"),
        ({"metadata": {"token_endpoint": "http://untrusted.example/token"}}, "not encrypted"),
        ({"metadata": {"registration_endpoint": "https://[::ffff:169.254.169.254]/"}}, "address of this machine"),
        ({"metadata": {"code_challenge_methods_supported": None}}, "does not announce PKCE"),
        ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, "PKCE"),
        ({"token": "redirect"}, "untrusted.example"),
        ({"token": "huge"}, "bytes"),
        ({"token": "broken"}, "503"),
        ({"token": "answer", "answer": {"token_type": "Bearer", "refresh_token": "s3cret"}}, "an invalid answer$"),
        ({"token": "answer", "answer": {"access_token": "tökén"}}, "cannot carry"),
        ({"token": "answer", "answer": {"access_token": "a b"}}, "cannot carry"),
        ({"token": "answer", "answer": {"access_token": "a", "expires_in": 10**400}}, "an invalid answer$"),
        ({"token": "answer", "answer": {"access_token": "a", "token_type": "mac"}}, "an invalid answer$"),
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


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("https://mcp.example.com/mcp", "https://127.0.0.1/"),
        ("https://mcp.example.com/mcp", "https://127.1/"),
        ("https://mcp.example.com/mcp", "https://0x7f000001/"),
        ("https://mcp.example.com/mcp", "https://2130706433/"),
        ("https://mcp.example.com/mcp", "https://localhost./"),
        ("https://mcp.example.com/mcp", "https://a.localhost/"),
        ("https://mcp.example.com/mcp", "https://[::1]/"),
        ("https://mcp.example.com/mcp", "https://[::ffff:127.0.0.1]/"),
        ("https://mcp.example.com/mcp", "https://[fe80::1]/"),
        ("https://mcp.example.com/mcp", "https://0.0.0.0/"),
        ("https://mcp.example.com/mcp", "https://169.254.169.254/latest/meta-data"),
        ("https://mcp.example.com/mcp", "https://mcp.example.com@127.0.0.1/"),
        ("https://mcp.example.com/mcp", "http://mcp.example.com/"),
        ("https://mcp.example.com/mcp", "http://auth.example.com/"),
        ("http://192.168.7.7/mcp", "http://127.0.0.1/"),
        ("http://127.0.0.1/mcp", "http://192.168.7.7/"),
        ("https://mcp.example.com/mcp", "file:///etc/passwd"),
        ("https://mcp.example.com/mcp", "javascript:alert(1)"),
        ("https://mcp.example.com/mcp", "https:auth.example.com"),
    ],
)
def test_login_does_not_lead_to_this_address(server: str, address: str) -> None:
    with pytest.raises(endpoints.Untrusted):
        endpoints.check_endpoint(address, server)


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("https://mcp.example.com/mcp", "https://auth.example.com/token?tenant=1"),
        ("https://mcp.example.com/mcp", "https://10.1.2.3/token"),
        ("http://127.0.0.1:8000/mcp", "http://localhost:9000/token"),
        ("http://mcp.lan/mcp", "http://mcp.lan:9000/token"),
    ],
)
def test_login_may_lead_to_this_address(server: str, address: str) -> None:
    endpoints.check_endpoint(address, server)


async def test_rejection_without_end_is_not_read(server: Guarded, computer: Watched) -> None:
    await computer.alogin("guarded", visit)
    server.behave(endless_rejection=True)
    server.control(forget=["access"])
    assert code_of(await computer.call("echo", text="hi")) is None
    server.control(forget=["access", "refresh"])
    assert code_of(await computer.call("echo", text="hi")) == 4006
    await computer.until_state("guarded", WAITING)


async def test_authorization_server_without_announced_pkce_must_be_configured(
    server: Guarded, store: LoginStore
) -> None:
    server.behave(metadata={"code_challenge_methods_supported": None})
    async with hosting(server.config(issuer=server.base), login_store=store) as computer:
        await computer.alogin("guarded", visit)
        assert computer.status_of("guarded").state is ServerState.READY


async def test_query_of_the_authorization_server_is_kept(server: Guarded, computer: Watched) -> None:
    server.behave(metadata={"authorization_endpoint": f"{server.base}/authorize?tenant=a&state=forged"})
    shown: list[str] = []
    await computer.alogin("guarded", lambda url: (shown.append(url), visit(url)))
    assert computer.status_of("guarded").state is ServerState.READY
    query = parse_qs(urlsplit(shown[0]).query)
    assert (query["tenant"], query["response_type"], len(query["state"])) == (["a"], ["code"], 2)


async def test_nonsense_at_the_loopback_address_does_no_harm(
    computer: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    text = "<script>alert(1)</script>"

    def disturb(url: str) -> None:
        redirect = urlsplit(parse_qs(urlsplit(url).query)["redirect_uri"][0])
        assert redirect.hostname is not None
        state = parse_qs(urlsplit(url).query)["state"][0]
        for head, status in (
            (b"GET //[ HTTP/1.1\r\n\r\n", b"404"),
            (b"GET http://[x/callback HTTP/1.1\r\n\r\n", b"404"),
            (b"HEAD /callback HTTP/1.1\r\n\r\n", b"404"),
            (b"\r\n\r\n", b"404"),
            (f"GET /callback?state={state} HTTP/1.1\r\n\r\n".encode(), b"400"),
            (f"GET /callback?state={text}&code={text} HTTP/1.1\r\n\r\n".encode(), b"400"),
            (b"GET /callback?" + b"a" * 100_000, b""),
        ):
            with socket.create_connection((redirect.hostname, redirect.port or 0), PATIENCE) as connection:
                with contextlib.suppress(ConnectionError):
                    connection.sendall(head)
                answer = b""
                with contextlib.suppress(ConnectionError):
                    while part := connection.recv(65536):
                        answer += part
            assert answer[9:12] == status
            assert text.encode() not in answer
        visit(url)

    await computer.alogin("guarded", disturb)
    assert computer.status_of("guarded").state is ServerState.READY
    assert not [record for record in caplog.records if record.name == "asyncio"]


@pytest.mark.parametrize("transport", ["streamable", "sse"])
async def test_no_token_follows_a_redirect_to_another_host(transport: str, store: LoginStore) -> None:
    visitors: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visitors.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with await asyncio.start_server(note, "127.0.0.1", 0) as elsewhere:
        port = elsewhere.sockets[0].getsockname()[1]
        with guarded(transport) as server:
            async with hosting(server.config(), login_store=store, auto_reconnect=False) as computer:
                server.behave(elsewhere=f"http://127.0.0.1:{port}/mcp")
                await computer.alogin("guarded", visit)
                assert computer.status_of("guarded").state is ServerState.FAILED
    assert visitors == []
