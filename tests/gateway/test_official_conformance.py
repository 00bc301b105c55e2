"""Nothing is lost through an office: the conformance runner of MCP uses a server directly, and through the gateway.

Every scenario that passes directly passes through the office, except those of `NOT_OFFERED`.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.config.files import server_from
from tests.support.conformance_runner import RUNNER, RUNNER_2026, Outcome, run
from tests.support.gateway import OLD as OLD_VERSION
from tests.support.gateway import Hall, hall
from tests.support.mcp_servers import AUTO, SERVERS, HttpServer

pytestmark = pytest.mark.anyio

OLD = {
    "completion-complete", "dns-rebinding-protection", "elicitation-sep1034-defaults", "elicitation-sep1330-enums",
    "json-schema-2020-12", "logging-set-level", "ping", "prompts-get-embedded-resource", "prompts-get-simple",
    "prompts-get-with-args", "prompts-get-with-image", "prompts-list", "resources-list", "resources-read-binary",
    "resources-read-text", "resources-subscribe", "resources-templates-read", "resources-unsubscribe",
    "server-initialize",
    "server-sse-multiple-streams", "server-sse-polling", "tools-call-audio", "tools-call-elicitation",
    "tools-call-embedded-resource", "tools-call-error", "tools-call-image", "tools-call-mixed-content",
    "tools-call-sampling", "tools-call-simple-text", "tools-call-with-logging", "tools-call-with-progress",
    "tools-list",
}  # fmt: skip
"""The scenarios for 2025-11-25 and before."""
NEW = {
    "caching", "completion-complete", "dns-rebinding-protection", "http-custom-header-server-validation",
    "http-header-validation", "input-required-result-basic-elicitation", "input-required-result-basic-list-roots",
    "input-required-result-basic-sampling", "input-required-result-capability-check",
    "input-required-result-ignore-extra-params", "input-required-result-missing-input-response",
    "input-required-result-multi-round", "input-required-result-multiple-input-requests",
    "input-required-result-non-tool-request", "input-required-result-request-state",
    "input-required-result-result-type", "input-required-result-tampered-state",
    "input-required-result-unsupported-methods", "input-required-result-validate-input", "json-schema-2020-12",
    "prompts-get-embedded-resource", "prompts-get-simple", "prompts-get-with-args", "prompts-get-with-image",
    "prompts-list", "resources-list", "resources-read-binary", "resources-read-text", "resources-templates-read",
    "sep-2164-resource-not-found", "server-sse-multiple-streams", "server-stateless", "tools-call-audio",
    "tools-call-embedded-resource", "tools-call-error", "tools-call-image", "tools-call-mixed-content",
    "tools-call-simple-text", "tools-call-with-progress", "tools-list",
}  # fmt: skip
"""The scenarios for 2026-07-28."""
NOT_DIRECTLY = {
    # The server keeps no events that a host could ask for again. The runner only warns: it is recommended.
    "server-sse-polling",
    # The HTTP library of the server keeps spaces around the value of a header, and compares them. The gateway passes.
    "http-header-validation",
}
"""The scenarios that the server does not pass directly."""
NOT_OFFERED = {
    # Sampling: an office offers no language model. A server must not send what a client has not declared.
    "tools-call-sampling",
    "input-required-result-basic-sampling",
    "input-required-result-capability-check",
    "input-required-result-multiple-input-requests",
    # Roots: folders of the host's machine mean nothing on the Computer. MCP deprecates them (SEP-2577).
    "input-required-result-basic-list-roots",
}
"""The scenarios that cannot pass through an office."""


ATTEMPTS = 2


@pytest.fixture(scope="module")
async def place() -> AsyncGenerator[tuple[Hall, HttpServer]]:
    """The server in two offices. Its Computer connects as of 2025-11-25 in one, and as of 2026-07-28 in the other."""
    with contextlib.closing(HttpServer([sys.executable, str(SERVERS / "conformance.py")])) as server:
        base = server.url.removesuffix("/mcp")
        async with hall() as place:
            for office, path in (("old", "/mcp"), ("new", "/modern/mcp")):
                fields = {"url": base + path, "default_tool_meta": AUTO, "log_level": "debug"}
                await place.computer(server_from(fields, "it"), office=office)
            yield place, server


@pytest.mark.parametrize("era", ["old", "new"])
async def test_each_scenario_that_passes_directly_passes_through_an_office(
    place: tuple[Hall, HttpServer], era: str, tmp_path: Path
) -> None:
    hosts, server = place
    runner, scenarios = (RUNNER, OLD) if era == "old" else (RUNNER_2026, NEW)
    version = ("--spec-version", "2025-11-25" if era == "old" else "2026-07-28")

    async def play(url: str, name: str, *which: str) -> tuple[Outcome, str]:
        found, output = await run(runner, tmp_path / name, "server", "--url", url, *which, *version)
        return {scenario.removeprefix("server-"): checks for scenario, checks in found.items()}, output

    async def play_all(url: str, name: str, expected: set[str]) -> tuple[Outcome, str]:
        found, output = await play(url, name, "--suite", "all")
        # Some scenarios measure time, and fail on a machine that is busy.
        for attempt in range(ATTEMPTS):
            for scenario in _failed(found) - expected:
                again, more = await play(url, f"{name} {scenario} {attempt}", "--scenario", scenario)
                found, output = {**found, **again}, output + more
        return found, output

    office_url = hosts.url(era, mode="direct")
    (directly, said), (through, output) = await asyncio.gather(
        play_all(server.url, "direct", NOT_DIRECTLY), play_all(office_url, "office", NOT_DIRECTLY | NOT_OFFERED)
    )
    assert directly.keys() == through.keys() == scenarios, "none is left out"
    assert _failed(directly) == NOT_DIRECTLY & scenarios, said
    assert _failed(through) - NOT_DIRECTLY == NOT_OFFERED & scenarios, output
    # The HTTP server of the gateway is another one.
    assert "http-header-validation" not in _failed(through)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_prompt_may_ask_a_host_of_any_version(place: tuple[Hall, HttpServer], mode: str) -> None:
    hosts, _ = place
    prompt, url = "test_input_required_result_prompt", hosts.url("new")
    asked: list[str] = []

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"context": "a test"})

    async with hosts.host(mode, url, elicitation_callback=answer) as host:
        [message] = (await host.get_prompt(prompt)).messages
        assert "a test" in str(message.content)
        assert asked == ["it on pc asks: What context should the prompt use?"]
    async with hosts.host(mode, url) as host:
        with pytest.raises(MCPError) as rejected:
            await host.get_prompt(prompt)
        assert rejected.value.error.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY


@pytest.mark.parametrize("mode", ["direct", "merged"])
async def test_the_error_of_an_mcp_server_is_one_of_the_protocol_only_in_direct_mode(
    place: tuple[Hall, HttpServer], mode: str
) -> None:
    async with place[0].raw(OLD_VERSION, place[0].url("old", mode=mode)) as host:
        answer = await host.ask("tools/call", {"name": "test_missing_capability", "arguments": {}})
    if mode == "merged":  # a model reads it
        assert answer["isError"] is True
        return
    data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
    assert answer == {"error": {"code": -32021, "message": "this tool needs sampling", "data": data}}


def _failed(outcome: Outcome) -> set[str]:
    return {scenario for scenario, checks in outcome.items() if checks}
