"""PROTOCOL.md §2: who may connect, and what a refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from a2c_smcp.server import (
    AuthenticationProvider,
    DefaultAuthenticationProvider,
    DefaultSyncAuthenticationProvider,
    SyncAuthenticationProvider,
)
from tests.support.peer import crowd
from tests.support.running import Kind, running

pytestmark = pytest.mark.anyio


def default_provider(kind: Kind, *args: Any, **options: Any) -> Any:
    provider = DefaultAuthenticationProvider if kind != "sync" else DefaultSyncAuthenticationProvider
    return provider(*args, **options)


@pytest.mark.parametrize(
    "credentials",
    [
        {"headers": {"x-api-key": "secret"}},
        {"headers": {"X-API-Key": "secret"}},
        {"headers": {"Authorization": "Bearer secret"}},
        {"auth": {"x-api-key": "secret"}},
        {"auth": {"token": "secret"}},
        {"auth": {"api_key": "secret"}},
        {"auth": {"token": "wrong", "api_key": "secret"}},
    ],
)
async def test_the_secret_opens_by_header_and_by_auth(kind: Kind, transport: str, credentials: dict[str, Any]) -> None:
    with running(kind, default_provider(kind, "secret")) as server:
        async with crowd(server, transport) as people:
            await people.member("agent", "a", "o", **credentials)


@pytest.mark.parametrize(
    "credentials",
    [
        {},
        {"headers": {"x-api-key": "wrong"}},
        {"headers": {"x-api-key": ""}},
        {"headers": {"other": "secret"}},
        {"auth": {"token": "secre"}},
        {"auth": {"token": None}},
        {"auth": {"token": ["secret"]}},
        {"auth": {"password": "secret"}},
        {"auth": ["secret"]},
        {"auth": "secret"},
    ],
)
async def test_anything_else_is_refused_with_message_and_401(kind: Kind, credentials: dict[str, Any]) -> None:
    with running(kind, default_provider(kind, "secret")) as server:
        async with crowd(server) as people:
            refusal = await people.refused(**credentials)
            assert refusal["data"] == {"code": 401}
            assert isinstance(refusal["message"], str)
            assert "secret" not in refusal["message"]
            assert len(server.app.namespace.connections) == 0


async def test_the_header_name_can_be_chosen(kind: Kind) -> None:
    with running(kind, default_provider(kind, "secret", api_key_name="x-office-key")) as server:
        async with crowd(server) as people:
            await people.newcomer(headers={"x-office-key": "secret"})
            await people.newcomer(auth={"x-office-key": "secret"})
            await people.refused(headers={"x-api-key": "secret"})


async def test_without_a_secret_nobody_comes_in(kind: Kind) -> None:
    with running(kind, default_provider(kind)) as server:
        async with crowd(server) as people:
            assert (await people.refused(headers={"x-api-key": ""}))["data"]["code"] == 401


@pytest.mark.parametrize("kind", ["async", "sync"])  # of one node
async def test_unknown_query_parameters_are_ignored(kind: Kind) -> None:
    with running(kind) as server:
        async with crowd(server) as people:
            people.server = type(server)(server.kind, server.url + "?tenant=7&v=%00", server.app)
            await people.newcomer()


class Picky(AuthenticationProvider):
    """Sees all it is promised: the Socket.IO server, the request, the auth object and the headers."""

    async def authenticate(
        self, sio: Any, environ: dict[str, Any], auth: Any, headers: list[tuple[bytes, bytes]]
    ) -> bool:
        return (
            hasattr(sio, "emit") and "QUERY_STRING" in environ and auth == {"me": 1} and (b"x-seen", b"yes") in headers
        )


class SyncPicky(SyncAuthenticationProvider):
    def authenticate(self, sio: Any, environ: dict[str, Any], auth: Any, headers: list[tuple[bytes, bytes]]) -> bool:
        return (
            hasattr(sio, "emit") and "QUERY_STRING" in environ and auth == {"me": 1} and (b"x-seen", b"yes") in headers
        )


async def test_a_provider_of_ones_own_decides(kind: Kind) -> None:
    with running(kind, Picky() if kind != "sync" else SyncPicky()) as server:
        async with crowd(server) as people:
            await people.newcomer(auth={"me": 1}, headers={"x-seen": "yes"})
            assert (await people.refused(auth={"me": 1}))["data"]["code"] == 401


class Broken(AuthenticationProvider):
    async def authenticate(self, sio: Any, environ: Any, auth: Any, headers: Any) -> bool:
        raise RuntimeError("postgres://admin:hunter2@db/ is down")


class SyncBroken(SyncAuthenticationProvider):
    def authenticate(self, sio: Any, environ: Any, auth: Any, headers: Any) -> bool:
        raise RuntimeError("postgres://admin:hunter2@db/ is down")


async def test_a_provider_that_fails_refuses_and_keeps_its_reasons(kind: Kind) -> None:
    with running(kind, Broken() if kind != "sync" else SyncBroken()) as server:
        async with crowd(server) as people:
            refusal = await people.refused()
            assert refusal["data"] == {"code": 500}
            assert "hunter2" not in str(refusal)
