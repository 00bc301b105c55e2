"""The Agent's requests for prompts and resources, as flows.

A Computer decides how many pages a list has. The flows that read whole lists therefore stop at `MOST_LISTED` items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from a2c_smcp import smcp
from a2c_smcp.errors import InvalidAnswerError
from a2c_smcp.protocol.answers import read_object, read_prompt, read_prompts, read_resources
from a2c_smcp.protocol.client_effects import ClientBackend
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.questions import Asked, Continuation, read_questions
from a2c_smcp.protocol.requests import ask, new_id

MOST_LISTED = 100_000
"""Items of a list that is read as a whole."""
MOST_PAGES = 10_000

T = TypeVar("T")


def list_prompts(
    agent: str, computer: str, mcp_server: str | None, cursor: str | None, timeout: float
) -> Flow[ClientBackend, smcp.ListPromptsRet]:
    """A page of the prompts of a Computer's MCP servers, or of one of them."""
    request = smcp.ListPromptsReq(agent=agent, req_id=new_id(), computer=computer)
    if mcp_server is not None:
        request["mcp_server"] = mcp_server
    if cursor is not None:
        request["cursor"] = cursor
    return (yield from ask(smcp.LIST_PROMPTS_EVENT, request, timeout, read_prompts))


def all_prompts(
    agent: str, computer: str, mcp_server: str | None, timeout: float
) -> Flow[ClientBackend, list[smcp.Prompt]]:
    """All prompts of a Computer's MCP servers, or of one of them."""

    def page(cursor: str | None) -> Flow[ClientBackend, tuple[list[smcp.Prompt], str | None]]:
        answer = yield from list_prompts(agent, computer, mcp_server, cursor, timeout)
        return answer["prompts"], answer.get("next_cursor")

    return (yield from _all(page))


def get_prompt(
    agent: str,
    computer: str,
    name: str,
    arguments: Mapping[str, str] | None,
    mcp_server: str | None,
    timeout: float,
) -> Flow[ClientBackend, smcp.GetPromptRet]:
    """The messages of a prompt."""
    request = _prompt_request(agent, computer, name, arguments, mcp_server)
    return (yield from ask(smcp.GET_PROMPT_EVENT, request, timeout, read_prompt))


def get_prompt_once(
    agent: str,
    computer: str,
    name: str,
    arguments: Mapping[str, str] | None,
    mcp_server: str | None,
    continuation: Continuation | None,
    timeout: float,
) -> Flow[ClientBackend, smcp.GetPromptRet | Asked]:
    """The messages of a prompt, or the questions that its MCP server asks before."""
    request = _prompt_request(agent, computer, name, arguments, mcp_server)
    request["input_responses"] = {}
    if continuation is not None:
        request["input_responses"] = dict(continuation.input_responses)
        request["request_state"] = continuation.request_state
    answer = yield from ask(smcp.GET_PROMPT_EVENT, request, timeout, read_prompt)
    return read_questions(cast("Mapping[str, Any]", answer), computer, name) or answer


def _prompt_request(
    agent: str, computer: str, name: str, arguments: Mapping[str, str] | None, mcp_server: str | None
) -> smcp.GetPromptReq:
    request = smcp.GetPromptReq(agent=agent, req_id=new_id(), computer=computer, name=name)
    if arguments is not None:
        request["arguments"] = dict(arguments)
    if mcp_server is not None:
        request["mcp_server"] = mcp_server
    return request


def get_resources(
    agent: str, computer: str, mcp_server: str | None, cursor: str | None, timeout: float
) -> Flow[ClientBackend, smcp.GetResourcesRet]:
    """A page of the resources of a Computer's MCP servers, or of one of them."""
    request = smcp.GetResourcesReq(agent=agent, req_id=new_id(), computer=computer)
    if mcp_server is not None:
        request["mcp_server"] = mcp_server
    if cursor is not None:
        request["cursor"] = cursor

    # An official Computer is asked for one MCP server, and does not repeat its name in each resource.
    def read(ack: Any, req_id: str) -> smcp.GetResourcesRet:
        return read_resources(ack, req_id, mcp_server)

    return (yield from ask(smcp.GET_RESOURCES_EVENT, request, timeout, read))


def all_resources(
    agent: str, computer: str, mcp_server: str | None, timeout: float
) -> Flow[ClientBackend, list[smcp.ResourceInfo]]:
    """All resources of a Computer's MCP servers, or of one of them."""

    def page(cursor: str | None) -> Flow[ClientBackend, tuple[list[smcp.ResourceInfo], str | None]]:
        answer = yield from get_resources(agent, computer, mcp_server, cursor, timeout)
        return answer["resources"], answer.get("next_cursor")

    return (yield from _all(page))


def watch_resource(
    agent: str, computer: str, uri: str, mcp_server: str | None, watch: bool, timeout: float
) -> Flow[ClientBackend, smcp.WatchResourceRet]:
    """Watch a resource, or stop watching it."""
    request = smcp.WatchResourceReq(agent=agent, req_id=new_id(), computer=computer, uri=uri)
    if mcp_server is not None:
        request["mcp_server"] = mcp_server
    if not watch:
        request["watch"] = False
    answer = yield from ask(smcp.WATCH_RESOURCE_EVENT, request, timeout, read_object)
    return cast("smcp.WatchResourceRet", answer)


def _all(page: Callable[[str | None], Flow[ClientBackend, tuple[list[T], str | None]]]) -> Flow[ClientBackend, list[T]]:
    """The items of all pages."""
    found: list[T] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        items, cursor = yield from page(cursor)
        found += items
        # A Computer that repeats a cursor would send its pages for ever.
        if cursor is None or cursor in seen:
            return found
        seen.add(cursor)
        if len(found) > MOST_LISTED:
            break
    raise InvalidAnswerError(f"the list is longer than {MOST_LISTED} items; request it page by page")
