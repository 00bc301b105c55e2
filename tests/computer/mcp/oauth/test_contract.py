"""The contract between our providers and the inside of `mcp.client.auth`."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import dataclasses

import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext

from a2c_smcp.computer.mcp.oauth.providers import CodeProvider, Restored
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from tests.support.contracts import overrides, parameters, watch
from tests.support.guarded import Guarded, outdate, visit
from tests.support.hosting import Watched, code_of, hosting

pytestmark = pytest.mark.anyio

CONTEXT = {
    "auth_server_url",
    "client_info",
    "client_metadata",
    "current_tokens",
    "oauth_metadata",
    "protected_resource_metadata",
    "token_expiry_time",
}


def test_what_is_relied_on_is_there() -> None:
    assert {field.name for field in dataclasses.fields(OAuthContext)} >= CONTEXT
    assert parameters(OAuthContext.prepare_token_auth)[0] == ("data", False)
    assert parameters(OAuthClientProvider._select_authorization_server) == [("advertised", False)]
    for method in ("_initialize", "_expected_issuer", "_perform_authorization", "_refresh_token"):
        assert parameters(getattr(OAuthClientProvider, method)) == []


async def test_every_override_is_called(
    server: Guarded, computer: Watched, store: LoginStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: set[str] = set()
    expected: set[str] = set()
    for ours in (Restored, CodeProvider):
        names = overrides(ours, OAuthClientProvider)
        watch(monkeypatch, ours, names, called)
        expected |= {f"{ours.__name__}.{name}" for name in names}
    await computer.alogin("guarded", visit)
    outdate(store)
    async with hosting(server.config(), login_store=LoginStore(store.folder)) as later:
        assert code_of(await later.call("echo", text="hi")) is None
    assert len(expected) == 6
    assert called == expected
