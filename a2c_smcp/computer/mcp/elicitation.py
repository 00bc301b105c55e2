"""Questions of a server before 2026-07-28, which sends them as requests during a call: which call asks them. And which
call a log message belongs to.

The request does not name the call. Over streamable HTTP, it arrives in the answer to the call's own request. Over the
other transports, only the calls that are running can be looked at.
"""

from __future__ import annotations

import asyncio
import logging

import mcp_types as types

from a2c_smcp.computer.mcp.conversation import Conversation
from a2c_smcp.computer.mcp.questions import Asker, Question, Rejected, whom_to_ask

logger = logging.getLogger(__name__)

DECLINE_PAUSE = 0.2
"""Seconds after which a question is declined that belongs to no call, or is one too many. A server that asks again at
once would keep this Computer busy."""


class Elicitation:
    """The calls of one connection that can ask a person."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._askers: list[Asker] = []
        """Who can be asked during each running call, in the order of the calls."""

    def call_begins(self, asker: Asker) -> None:
        """Let a call ask, until `call_ends`."""
        self._askers.append(asker)

    def call_ends(self, asker: Asker) -> None:
        """The call does not ask any more."""
        self._askers.remove(asker)

    async def answer(
        self, number: types.RequestId, question: Question | Rejected
    ) -> types.ElicitResult | types.ErrorData:
        """Answer the server's request `number`: let a call ask the question, or report it if it is rejected."""
        while (found := self._find_asker(number)) is not None:
            asker, others = found
            if not asker.admit(is_sure=not others):
                asker.end()
                break
            if isinstance(question, Rejected):
                asker.reject(str(question))
                return types.ErrorData(code=types.INVALID_PARAMS, message=f"rejected: the server {question}")
            answers = await asker.ask({"question": question}, others)
            if answers is not None:
                answer = answers["question"]
                return types.ElicitResult(action=answer["action"], content=answer.get("content"))
            # The call ended before its turn to ask. If the question was that of another call, that one can ask it.
        else:
            logger.info("a question of the MCP server outside of a call, or during calls of different callers")
        await asyncio.sleep(DECLINE_PAUSE)
        return types.ElicitResult(action="decline")

    def caller(self, origin: types.RequestId | None) -> Asker | None:
        """The call that a notification belongs to; None if that is not known, or nobody may hear it.

        `origin` is our request in answer to which it arrived. Without one, it may belong to any running call: if they
        have the same party, it does not matter to which.
        """
        if origin is not None:
            owner = self._conversation.owner_of(origin)
            return next((asker for asker in self._askers if asker is owner), None)
        return self._askers[-1] if len({asker.party for asker in self._askers}) == 1 else None

    def _find_asker(self, number: types.RequestId) -> tuple[Asker, list[Asker]] | None:
        """The call that is to ask, and the others whose question it may be; None if nobody can be asked."""
        origin = self._conversation.origin_of(number)
        if origin is not None:
            owner = self._conversation.owner_of(origin)
            own = next((asker for asker in self._askers if asker is owner), None)
            return (own, []) if own is not None and own.readiness else None
        asker = whom_to_ask(self._askers)
        return None if asker is None else (asker, [other for other in self._askers if other is not asker])
