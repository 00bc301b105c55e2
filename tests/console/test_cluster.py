"""The console in a cluster: a login belongs to one node, which any other passes its requests on to."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest

from a2c_smcp.protocol.grants import Grant
from a2c_smcp.server.auth import CredentialAuthenticationProvider
from a2c_smcp.server.credentials import SharedSecret
from tests.support.running import RunningCluster, running
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def _first(answer: httpx2.Response, count: int) -> AsyncGenerator[str]:
    async for line in answer.aiter_lines():
        yield line
        count -= 1
        if not count:
            return


async def test_a_login_is_served_by_every_node() -> None:
    provider = CredentialAuthenticationProvider(SharedSecret("admin", Grant(admin=True)))
    with running("cluster", provider) as cluster:
        assert isinstance(cluster, RunningCluster)
        first, *others = cluster.nodes
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            answer = await http.post(f"{first.url}/api/v1/session", json={"key": "admin"})
            csrf: str = answer.json()["csrf"]
            cookie = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]

            async def ask(node: Any, method: str, path: str, value: str = cookie, **options: Any) -> httpx2.Response:
                port = node.url.rsplit(":", 1)[1]
                headers = {"cookie": f"a2c_console_{port}={value}", "x-csrf-token": csrf}
                return await http.request(method, f"{node.url}/api/v1{path}", headers=headers, **options)

            home = (await ask(first, "GET", "/status")).json()["node"]
            assert home is not None
            for node in others:
                assert (await ask(node, "GET", "/status")).json()["node"] == home
                async with httpx2.AsyncClient(timeout=PATIENCE) as stream:
                    port = node.url.rsplit(":", 1)[1]
                    headers = {"cookie": f"a2c_console_{port}={cookie}"}
                    async with stream.stream(
                        "GET", f"{node.url}/api/v1/events?topics=rates", headers=headers
                    ) as events:
                        assert "event: opened" in [line async for line in _first(events, 3)]
            gone = cookie.replace(home, "n0123456789")
            assert (await ask(others[0], "GET", "/status", gone)).status_code == 401
            assert (await ask(others[0], "DELETE", "/calls/none", gone)).status_code == 401
