"""The trace of a call reaches the MCP server, from both Agents, through a real Server and a real Computer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from opentelemetry import trace

from a2c_smcp.agent import SyncToolkit, Toolkit
from a2c_smcp.errors import MalformedRequestError
from tests.support.agents import Driven, Stage
from tests.support.hosting import asking, text_of

pytestmark = pytest.mark.anyio

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ACTIVE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ERAS = pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])


def span() -> Any:
    """Make the span of `ACTIVE` the active one."""
    _, trace_id, span_id, flags = ACTIVE.split("-")
    where = trace.SpanContext(int(trace_id, 16), int(span_id, 16), False, trace.TraceFlags(int(flags, 16)))
    return trace.use_span(trace.NonRecordingSpan(where))


async def seen_by_server(agent: Driven, **options: Any) -> str | None:
    """The `traceparent` in the `_meta` of the request that the MCP server gets."""
    result = await agent.call_tool("pc", "meta", **options)
    return json.loads(text_of(result)).get("traceparent")


@ERAS
async def test_the_trace_that_a_program_names_reaches_the_server(scene: Stage, era: str) -> None:
    await scene.computer(asking(era))
    agent = await scene.agent()
    assert await seen_by_server(agent) is None
    assert await seen_by_server(agent, traceparent=GIVEN) == GIVEN
    with span():
        assert await seen_by_server(agent, traceparent=GIVEN) == GIVEN, "what a program says counts first"
    assert await seen_by_server(agent) is None


@ERAS
async def test_the_active_span_of_opentelemetry_reaches_the_server(scene: Stage, era: str) -> None:
    await scene.computer(asking(era))
    agent = await scene.agent()
    with span():
        assert await seen_by_server(agent) == ACTIVE
        calls = [(number, "meta", None) for number in "123"]
        if agent.form == "async":
            answers = await Toolkit(agent.client).call_all(calls)
        else:
            answers = await asyncio.to_thread(SyncToolkit(agent.client).call_all, calls)
    assert [json.loads(answer.text)["traceparent"] for answer in answers.values()] == [ACTIVE] * 3


async def test_the_trace_stays_that_of_the_call_when_it_goes_on_after_a_question(scene: Stage) -> None:
    await scene.computer(asking("2026-07-28"))
    agent = await scene.agent()
    result = await agent.call_tool("pc", "ask_and_tell", traceparent=GIVEN)
    assert json.loads(text_of(result))["traceparent"] == GIVEN


@pytest.mark.parametrize("wrong", ["", "x" * 1_000, f"{GIVEN}-x", "00-" + "0" * 32 + GIVEN[35:]])
async def test_an_invalid_trace_is_dropped(scene: Stage, wrong: str) -> None:
    await scene.computer(asking())
    agent = await scene.agent()
    assert await seen_by_server(agent, traceparent=wrong) is None


async def test_a_trace_that_is_no_text_is_rejected(scene: Stage) -> None:
    await scene.computer(asking())
    agent = await scene.agent()
    with pytest.raises(MalformedRequestError):
        await seen_by_server(agent, traceparent=5)
