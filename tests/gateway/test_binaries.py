"""Large pictures and files for MCP hosts: up to a limit, and a text in place of what is larger."""

from __future__ import annotations

import base64

import pytest

from tests.servers.large import payload
from tests.support.gateway import OLD, VERSIONS, hall
from tests.support.hosting import large

pytestmark = pytest.mark.anyio

SOME = 500_000


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_host_gets_binaries_up_to_the_limit(version: str) -> None:
    async with hall(restored_bytes=2 * SOME) as place:
        await place.computer(large())
        async with place.raw(version) as host:
            arguments = {"kind": "image", "size": SOME, "count": 3}
            result = await host.ask("tools/call", {"name": "make", "arguments": arguments})
            assert [item["type"] for item in result["content"]] == ["text", "image", "image", "text"]
            assert result["content"][2]["data"] == base64.b64encode(payload(SOME, 1)).decode()
            assert f"{SOME:,} bytes" in result["content"][3]["text"]
            assert "a2c_" not in str(result)
            [part] = (await host.ask("resources/read", {"uri": f"large://{SOME}"}))["contents"]
            assert part["blob"] == base64.b64encode(payload(SOME)).decode()


async def test_a_resource_above_the_limit_is_an_error_that_names_both() -> None:
    async with hall(restored_bytes=SOME) as place:
        await place.computer(large())
        async with place.raw(OLD) as host:
            problem = (await host.ask("resources/read", {"uri": f"large://{SOME + 1}"}))["error"]
            assert problem["data"]["code"] == 413
            assert f"{SOME + 1:,}" in problem["message"]
            assert f"{SOME:,}" in problem["message"]
