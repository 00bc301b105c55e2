"""Authorization servers, MCP servers and pages that misbehave during a login."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from a2c_smcp.computer.mcp.oauth import endpoints
from a2c_smcp.computer.types import ServerState
from a2c_smcp.errors import LoginRefusedError
from tests.support.guarded import WAITING, Guarded, visit
from tests.support.hosting import Watched
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


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
