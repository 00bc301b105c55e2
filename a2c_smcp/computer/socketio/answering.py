"""How a Computer answers requests: it checks them, turns errors into answers, and writes each for its Server."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar, cast

import orjson

from a2c_smcp.computer.socketio.recognizing import RecognizingClient
from a2c_smcp.errors import InternalError, NotFoundError, NotInOfficeError, SMCPError, TooLargeError
from a2c_smcp.protocol.blob_items import INLINE_BYTES
from a2c_smcp.protocol.dialects.known import HOME
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.payloads import check_payload, check_timeout
from a2c_smcp.protocol.seat import LONGEST_WAIT
from a2c_smcp.smcp import GET_CONFIG_EVENT, GET_TOOLS_EVENT, READ_RESOURCE_EVENT, TOOL_CALL_EVENT, GetToolsReq
from a2c_smcp.utils.failures import log_failure

logger = logging.getLogger(__name__)

# The defaults of the Server: this end does not know how its Server is configured. The longest timeout of a call is left
# to the Server, whose operator may allow more.
_LIMITS = Limits(tool_timeout=int(LONGEST_WAIT))
_ENVELOPE_BYTES = 1_000
"""Bytes of a message around an answer, or around a part of a binary."""
_LARGEST_PART = 4 * 1024 * 1024
WITH_BINARIES = frozenset((TOOL_CALL_EVENT, READ_RESOURCE_EVENT))
"""The requests whose answers may have handles in place of binaries."""
_SPELLED_FOR_VERSION = frozenset((*WITH_BINARIES, GET_CONFIG_EVENT))
"""The requests whose answers depend on the version of an official Server."""
_ACK_SECONDS = 1.0
"""How long a request waits for the ack of the join, which it overtook."""

ClientT = TypeVar("ClientT", bound="AnsweringClient")
Handler: TypeAlias = Callable[[ClientT, Any], Awaitable[Any]]


def answers(event: str) -> Callable[[Handler[ClientT]], Handler[ClientT]]:
    """A handler of a request: its payload is validated, and every error becomes its answer."""

    def decorate(handler: Handler[ClientT]) -> Handler[ClientT]:
        @functools.wraps(handler)
        async def checked(self: ClientT, data: Any) -> Any:
            try:
                # The Server checks all this, too. A Computer may be connected to a Server that does not.
                if self.office_id is None:
                    raise NotInOfficeError("this Computer is in no office")
                payload = check_payload(event, data, _LIMITS)
                check_timeout(event, payload, _LIMITS)
                if payload["computer"] != self.computer.name:
                    raise NotFoundError(f"this Computer is not {payload['computer']}")
                return await handler(self, payload)
            except SMCPError as error:
                return refuse(event, data, error)
            except Exception:
                logger.exception("%s failed", event, extra={"req_id": _req_id(data)})
                return HOME.refused(event, InternalError())

        return checked

    return decorate


def refuse(event: str, data: Any, error: SMCPError) -> Any:
    """Log a rejected request, and return the ack for it."""
    log_failure(logger, event, _req_id(data), error.code, error.message)
    return HOME.refused(event, error)


def _req_id(data: Any) -> Any:
    return cast("dict[str, Any]", data).get("req_id") if isinstance(data, dict) else None


class AnsweringClient(RecognizingClient):
    """A Computer's client, as far as it writes answers: in the dialect and the size that its Server accepts."""

    async def _know_server(self, event: str) -> None:
        """Wait until it is known how to answer another Server than ours, which it is after the first moments in an
        office."""
        if self.server_info.dialect is None and self.office_id is not None:
            # The request overtook the ack of the join.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ACK_SECONDS):
                    await self._learned.wait()
        if event in _SPELLED_FOR_VERSION:
            await self.recognized()

    def _written(self, event: str, answer: Any, request: Any) -> orjson.Fragment:
        """Serialize the answer, once, and replace it by an error if it is too large: the Server would disconnect."""
        try:
            written = orjson.dumps(self._spelled(event, answer, request))
            # The rest is for the frame around the answer. A Server disconnects a client whose message is too large,
            # which would end every other running call.
            if len(written) > self._message_limit - _ENVELOPE_BYTES:
                problem = f"an answer of {len(written)} bytes; at most {self._message_limit} pass"
                written = orjson.dumps(self._spelled(event, refuse(event, request, TooLargeError(problem)), request))
        except (TypeError, RecursionError):  # orjson has a limit on nesting
            problem = "the answer cannot be written as JSON"
            written = orjson.dumps(self._spelled(event, refuse(event, request, InternalError(problem)), request))
        return orjson.Fragment(written)  # the packet around it takes the bytes as they are

    async def _with_handles(self, answer: dict[str, Any], request: Any) -> Mapping[str, Any]:
        """An answer with handles in place of large binaries, if the Agent reads them."""
        request = cast("dict[str, Any]", request) if isinstance(request, dict) else {}
        agent = request.get("agent")
        if not isinstance(agent, str):  # the answer is a rejection of a malformed request
            return answer
        # Half of a message, so that many small binaries leave room for the text of the answer.
        room = self._message_limit // 2
        return await self.computer.blobs.hand_out(answer, self._caller(agent), self._inline_limit(request), room)

    def _inline_limit(self, data: Mapping[str, Any]) -> int | None:
        """The bytes of the largest binary that stays in the answer to a request; None if all do."""
        limit = data.get("max_inline_bytes")
        if type(limit) is int:
            return max(limit, 0)
        # Agents fetch binaries there without saying so, and a larger message would end the connection.
        return INLINE_BYTES if self.server_info.is_official and self.server_info.passes_blobs else None

    @property
    def _largest_part(self) -> int:
        """The bytes of the largest part of a binary that fits into an answer."""
        # Base64 makes four bytes of three.
        return min(_LARGEST_PART, (self._message_limit - 2 * _ENVELOPE_BYTES) * 3 // 4)

    def _spelled(self, event: str, answer: Any, request: Any) -> Any:
        """An answer in the form that the Server passes on.

        Raises:
            TypeError: it cannot be written.
        """
        if self.server_info.is_official:
            return self._dialect.from_home(event, answer, computer=self.computer.name)
        if event == GET_TOOLS_EVENT and isinstance(answer, dict) and "tools" in answer:
            return self._with_digest(cast("dict[str, Any]", answer), cast("GetToolsReq", request))
        return cast("Any", answer)

    def _with_digest(self, answer: dict[str, Any], request: GetToolsReq) -> dict[str, Any]:
        """A list of tools with its digest; without the list, if the Agent has it.

        Raises:
            TypeError: the list cannot be written.
        """
        # Here and not in the handler: a program may override the handler or `aget_available_tools`, and leave out
        # tools. The digest must be that of the list which the Agent gets.
        text, digest = self.computer.mcp_manager.book.written(answer["tools"])
        if request.get("known_digest") != digest:
            return {**answer, "tools": orjson.Fragment(text), "digest": digest}
        return {**{key: value for key, value in answer.items() if key != "tools"}, "unchanged": True, "digest": digest}
