"""The prompts of all MCP servers: listed, filled in, and completed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.hosting.kept_list import KeptList
from a2c_smcp.computer.mcp.failures import in_words
from a2c_smcp.computer.mcp.questions import ELICITATION, Rejected, read_question
from a2c_smcp.computer.mcp.session import Session
from a2c_smcp.computer.offer.asking import Asking, ambiguous, incapable
from a2c_smcp.computer.offer.calls import Continuation
from a2c_smcp.computer.offer.paging import page_of
from a2c_smcp.errors import NotFoundError
from a2c_smcp.protocol.questions import MAX_QUESTIONS, MAX_SECONDS
from a2c_smcp.smcp import InputRequest, InputRequired, Prompt
from a2c_smcp.utils.result_meta import INPUT_REQUIRED, OURS

logger = logging.getLogger(__name__)


class Prompts:
    """Finds the server of a prompt and asks it."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def listed(self, mcp_server: str | None, cursor: str | None) -> tuple[list[Prompt], str | None]:
        """A page of the prompts of all servers, or of one; and the cursor of the next page.

        Raises:
            MCPServerNotFoundError: there is no such server, or it is not ready.
            CapabilityMissingError: that one server has no prompts.
            MalformedRequestError: there is no such cursor.
            SMCPError: that one server failed.
        """
        if mcp_server is not None:
            self._asking.session(mcp_server)
            kept = self._asking.manager.prompts.get(mcp_server)
            if kept is None:
                raise incapable(mcp_server, "prompts")
            found = {mcp_server: await self._asking.answer(mcp_server, kept.listed())}
        else:
            found = await self._of_all()
        page, after = page_of([(server, prompt) for server, prompts in found.items() for prompt in prompts], cursor)
        return [cast("Prompt", {**prompt, "mcp_server": server}) for server, prompt in page], after

    async def get(
        self,
        name: str,
        arguments: Mapping[str, str] | None,
        mcp_server: str | None,
        continuation: Continuation | None = None,
    ) -> dict[str, Any]:
        """The messages of a prompt, as its server writes them. With a `continuation`, which is empty at first, there
        may be none, and questions in `_meta` instead.

        Raises:
            MCPServerNotFoundError: there is no such server, or it is not ready.
            NotFoundError: no server has the prompt.
            MalformedRequestError: several servers have it, or the server rejects the arguments.
            SMCPError: the server failed.
        """
        if mcp_server is None:
            servers = await self.servers_with(name)
            if len(servers) > 1:
                raise ambiguous(f"a prompt {name!r}", servers)
            mcp_server = servers[0]
        session = self._asking.session(mcp_server)
        return await self._asking.answer(mcp_server, _filled(mcp_server, session, name, arguments, continuation))

    async def servers_with(self, name: str) -> list[str]:
        """The servers that have a prompt of this name; at least one.

        Raises:
            NotFoundError: no server has it.
        """
        found = await self._of_all()
        servers = [server for server, prompts in found.items() if any(each["name"] == name for each in prompts)]
        if not servers:
            raise NotFoundError(f"no MCP server has the prompt {name!r}")
        return servers

    async def _of_all(self) -> dict[str, list[dict[str, Any]]]:
        """The prompts of all servers. A server that fails has none."""

        async def ask(server: str, kept: KeptList) -> list[dict[str, Any]]:
            try:
                return await kept.listed()
            except (MCPError, TimeoutError) as error:
                logger.warning("the prompts of %s cannot be listed: %s", server, in_words(error, self._asking.redact))
                return []

        prompts = self._asking.manager.prompts
        listed = await asyncio.gather(*(ask(*each) for each in prompts.items()))
        return dict(zip(prompts, listed, strict=True))


async def _filled(
    server: str, session: Session, name: str, arguments: Mapping[str, str] | None, continuation: Continuation | None
) -> dict[str, Any]:
    answers: dict[str, Any] | None = None
    if continuation is not None:
        # A server of 2026-07-28 keeps nothing between the requests, so this Computer need not, either.
        state, responses = continuation.request_state, continuation.input_responses
        answers = {"inputResponses": dict(responses)} if responses else {}
        answers |= {"requestState": state} if state else {}
    answer = await session.fill_prompt(name, arguments, answers)
    meta = answer.get("_meta")
    kept = {key: value for key, value in cast("dict[str, Any]", meta).items() if key not in OURS} if meta else {}
    if answer.get("resultType") == "input_required":
        return {"messages": [], "_meta": {**kept, INPUT_REQUIRED: _questions(server, answer)}}
    return {**answer, "_meta": kept} if kept else {key: value for key, value in answer.items() if key != "_meta"}


def _questions(server: str, answer: Mapping[str, Any]) -> InputRequired:
    """The questions in the answer of a server, as an Agent gets them.

    Raises:
        MCPError: it asks what is not offered here, or too much.
    """
    wanted: Any = answer.get("inputRequests")
    asked = cast("dict[str, Any]", wanted) if isinstance(wanted, dict) else {}
    requests: dict[str, InputRequest] = {}
    try:
        if not 0 < len(asked) <= MAX_QUESTIONS:
            raise Rejected(f"asks {len(asked)} questions; 1 to {MAX_QUESTIONS} are possible")
        for key, each in asked.items():
            request = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
            if request.get("method") != ELICITATION:
                raise Rejected(f"asks for {str(request.get('method'))[:60]!r}, which is not offered here")
            question = read_question(request.get("params"))
            requests[key] = InputRequest(method=ELICITATION, params=question.params, mcp_server=server)
    except Rejected as rejection:
        raise MCPError(code=types.INTERNAL_ERROR, message=f"the prompt {rejection}") from None
    state = answer.get("requestState")
    return InputRequired(
        requests=requests, request_state=state if isinstance(state, str) else "", expires_in=round(MAX_SECONDS)
    )
