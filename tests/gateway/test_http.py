"""The gateway over HTTP: which requests reach an office, and what the others are told."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from a2c_smcp.server import CredentialAuthenticationProvider, KeyFile
from a2c_smcp.server.key_file import hash_key, write_keys
from tests.support.gateway import NEW, OLD, Answers, Hall, hall
from tests.support.smcp_tools import smcp_tool

pytestmark = pytest.mark.anyio

ACCEPT = {"accept": "application/json, text/event-stream"}


def keys(folder: Path, offices: dict[str, list[str]], **fields: Any) -> CredentialAuthenticationProvider:
    """A Server's keys: each is its own name, with the offices that it allows."""
    path = folder / "keys.toml"
    write_keys(
        path, [{"id": key, "hash": hash_key(key), "offices": allowed, **fields} for key, allowed in offices.items()]
    )
    return CredentialAuthenticationProvider(KeyFile(path))


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hall]:
    auth = keys(tmp_path_factory.mktemp("keys"), {"ann": ["office"], "bob": ["other"], "pc": ["office", "other"]})
    profiles = {"readers": {"read_only": True}, "direct": {"mode": "direct"}}
    async with hall(auth, profiles=profiles, allowed_origins=("https://app.example",)) as here:
        reading = smcp_tool("look", annotations={"readOnlyHint": True})
        await here.fake(Answers(smcp_tool("write"), reading), auth={"api_key": "pc"})
        yield here


async def status(url: str, body: Any = None, **headers: str) -> tuple[int, dict[str, Any]]:
    async with httpx2.AsyncClient() as http:
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await http.post(url, json=body if body is not None else {}, headers={**ACCEPT, **headers})
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.status_code, json.loads(answer.content) if is_json else {}


async def test_both_headers_for_keys_are_accepted(place: Hall) -> None:
    for header in ({"x-api-key": "ann"}, {"authorization": "Bearer ann"}):
        async with place.raw(NEW, **header) as host:
            assert (await host.ask("tools/list"))["tools"]


async def test_a_key_is_required_and_must_allow_the_office(place: Hall) -> None:
    for headers, expected in (({}, 401), ({"x_api_key": "guess"}, 401), ({"x_api_key": "bob"}, 403)):
        code, answer = await status(place.url(), **headers)
        assert (code, answer["error"]["data"]["code"]) == (expected, expected)
    assert "'office'" in answer["error"]["message"]


async def test_paths_that_name_nothing_are_not_found(place: Hall) -> None:
    for path in ("/mcp", "/mcp/", "/mcp/office/readers/more", "/mcp/office/nothing"):
        code, answer = await status(f"{place.server.url}{path}", x_api_key="ann")
        assert (code, answer["error"]["data"]["code"]) == (404, 404), path
    assert "readers, direct" in answer["error"]["message"]


async def test_a_profile_of_the_operator_can_only_be_narrowed(place: Hall) -> None:
    async def names(profile: str | None, **query: Any) -> list[str]:
        async with place.raw(NEW, place.url("office", profile, **query), **{"x-api-key": "ann"}) as host:
            return [tool["name"] for tool in (await host.ask("tools/list"))["tools"]]

    own = ["look_at_desktop", "find_documents", "read_document"]
    assert await names(None) == [*own, "look", "write"]
    assert await names("readers") == [*own, "look"]
    assert await names("readers", read_only="false") == [*own, "look"]
    assert await names("direct", tools="w*") == ["write"]
    assert await names("readers", mode="search") == ["find_tools", "call_tool", "read_tool", *own]
    code, answer = await status(place.url(mode="best"), x_api_key="ann")
    assert code == 400
    assert "'best'" in answer["error"]["message"]


async def test_pages_of_other_sites_are_rejected(place: Hall) -> None:
    for origin, expected in (
        ("https://evil.example", 403), ("null", 403), ("https://app.example", 400), (place.server.url, 400),
    ):  # fmt: skip
        assert (await status(place.url(), x_api_key="ann", origin=origin))[0] == expected, origin
    # A name that leads here, of a site whose page is open in a browser.
    code, _ = await status(place.url(), x_api_key="ann", host="evil.example", origin="http://evil.example")
    assert code == 403


async def test_only_the_hosts_that_the_operator_names_are_served(tmp_path: Path) -> None:
    async with hall(keys(tmp_path, {"ann": ["office"]}), allowed_hosts=("hub.example",)) as place:
        code, answer = await status(place.url(), x_api_key="ann")
        assert code == 403
        assert "Host" in answer["error"]["message"]
        assert (await status(place.url(), x_api_key="ann", host="hub.example:443"))[0] == 400


async def test_a_session_belongs_to_the_user_who_opened_it(tmp_path: Path) -> None:
    auth = keys(tmp_path, {"ann": ["office"], "bob": ["office"]})
    async with hall(auth) as place, place.raw(OLD, **{"x-api-key": "ann"}) as host:
        assert (await host.ask("tools/list"))["tools"]
        body = {"jsonrpc": "2.0", "method": "tools/list", "id": 5}
        headers = {name.replace("-", "_"): value for name, value in host.headers("tools/list").items()}
        code, _ = await status(place.url(), body, x_api_key="bob", **headers)
        assert code == 404


async def test_bodies_and_sessions_have_limits(tmp_path: Path) -> None:
    auth = keys(tmp_path, {"ann": ["office"], "bob": ["office"]})
    async with hall(auth, body_bytes=10_000, sessions_of_a_principal=2) as place:
        code, _ = await status(place.url(), {"x": "x" * 20_000}, x_api_key="ann")
        assert code == 413
        info = {"clientInfo": {"name": "raw", "version": "1"}, "capabilities": {}, "protocolVersion": OLD}
        opening = {"jsonrpc": "2.0", "method": "initialize", "params": info, "id": 1}
        async with httpx2.AsyncClient() as http:

            async def opened(key: str) -> int:
                return (await http.post(place.url(), json=opening, headers={**ACCEPT, "x-api-key": key})).status_code

            assert [await opened("ann") for _ in range(3)] == [200, 200, 429]
            assert await opened("bob") == 200, "the limit of one user is not that of another"
