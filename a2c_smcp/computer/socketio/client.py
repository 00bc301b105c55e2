"""The connection of a Computer to a Server: validates requests, passes them to the Computer, and sends notices."""

from __future__ import annotations

import functools
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import orjson

from a2c_smcp.computer.offer.calls import Continuation
from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.finder.organize import DEFAULT_LIMIT
from a2c_smcp.errors import (
    InternalError,
    MalformedRequestError,
    NotFoundError,
    NotInOfficeError,
    OfficeRefusedError,
    SMCPError,
    TooLargeError,
)
from a2c_smcp.protocol.answers import refusal
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.payloads import check_payload, check_timeout
from a2c_smcp.smcp import (
    CANCEL_TOOL_CALL_NOTIFICATION,
    CLIENT_PREFIX,
    COMPLETE_EVENT,
    GET_CONFIG_EVENT,
    GET_DESKTOP_EVENT,
    GET_FINDER_EVENT,
    GET_PROMPT_EVENT,
    GET_RESOURCES_EVENT,
    GET_TOOLS_EVENT,
    LEAVE_OFFICE_NOTIFICATION,
    LIST_PROMPTS_EVENT,
    LIST_RESOURCE_TEMPLATES_EVENT,
    NOTIFY_PREFIX,
    READ_RESOURCE_EVENT,
    SMCP_NAMESPACE,
    TOOL_CALL_EVENT,
    TOOL_CALL_PROGRESS_EVENT,
    UPDATE_CONFIG_EVENT,
    UPDATE_DESKTOP_EVENT,
    UPDATE_FINDER_EVENT,
    UPDATE_PROMPTS_EVENT,
    UPDATE_RESOURCE_EVENT,
    UPDATE_RESOURCES_EVENT,
    UPDATE_TOOL_LIST_EVENT,
    WATCH_RESOURCE_EVENT,
    CompleteReq,
    GetComputerConfigReq,
    GetDeskTopReq,
    GetFinderReq,
    GetPromptReq,
    GetResourcesReq,
    GetToolsReq,
    ListPromptsReq,
    ListResourceTemplatesReq,
    ReadResourceReq,
    ToolCallProgress,
    ToolCallReq,
    UpdateComputerConfigReq,
    UpdateResourceReq,
    WatchResourceReq,
)
from a2c_smcp.transport.async_client import AsyncOfficeClient
from a2c_smcp.types import Role
from a2c_smcp.utils.failures import log_failure
from a2c_smcp.utils.results import to_wire

if TYPE_CHECKING:
    from a2c_smcp.computer.computer import Computer

logger = logging.getLogger(__name__)

# The defaults of the Server: this end does not know how its Server is configured.
_LIMITS = Limits()
_ADDED = frozenset((UPDATE_RESOURCES_EVENT, UPDATE_PROMPTS_EVENT))
"""The updates that the protocol does not have."""
_Handler = Callable[["SMCPComputerClient", Any], Awaitable[Any]]


def answers(event: str) -> Callable[[_Handler], _Handler]:
    """A handler of a request: its payload is validated, and every error becomes its answer."""

    def decorate(handler: _Handler) -> _Handler:
        @functools.wraps(handler)
        async def checked(self: SMCPComputerClient, data: Any) -> Any:
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
                return _refuse(event, data, error)
            except Exception:
                logger.exception("%s failed", event, extra={"req_id": _req_id(data)})
                return refusal(event, InternalError())

        return checked

    return decorate


def _refuse(event: str, data: Any, error: SMCPError) -> Any:
    """Log a rejected request, and return the ack for it."""
    log_failure(logger, event, _req_id(data), error.code, error.message)
    return refusal(event, error)


def _req_id(data: Any) -> Any:
    return cast("dict[str, Any]", data).get("req_id") if isinstance(data, dict) else None


def _continuation(data: ToolCallReq) -> Continuation | None:
    """The answers in a request, with which a call goes on.

    Raises:
        MalformedRequestError: one of the two fields is missing.
    """
    state, answers = data.get("request_state"), data.get("input_responses")
    if state is None and answers is None:
        return None
    if state is None or answers is None:
        raise MalformedRequestError("input_responses and request_state: both are required to continue a call")
    return Continuation(state, answers)


class SMCPComputerClient(AsyncOfficeClient):
    """The connection of a Computer to a Server: a `socketio.AsyncClient`, whose options it takes.

    `max_message_bytes` is the largest answer that the Server accepts. `on_refused` is called with the error when the
    Server rejects a reconnection, and returns whether to try again; without it, the client tries again.
    """

    role: ClassVar[Role] = "computer"
    _forbidden_prefixes = (NOTIFY_PREFIX, CLIENT_PREFIX)

    def __init__(
        self,
        *args: Any,
        computer: Computer,
        max_message_bytes: int = _LIMITS.message_bytes,
        on_refused: Callable[[SMCPError], bool] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, max_message_bytes=max_message_bytes, **kwargs)
        self.computer = computer
        self._on_refused = on_refused
        # The Computer holds this client weakly: it announces changes through the client, and must not keep it alive.
        computer.socketio_client = self
        for event, handler in {
            TOOL_CALL_EVENT: self.on_tool_call,
            GET_TOOLS_EVENT: self.on_get_tools,
            GET_CONFIG_EVENT: self.on_get_config,
            GET_DESKTOP_EVENT: self.on_get_desktop,
            GET_FINDER_EVENT: self.on_get_finder,
            READ_RESOURCE_EVENT: self.on_read_resource,
            LIST_RESOURCE_TEMPLATES_EVENT: self.on_list_resource_templates,
            COMPLETE_EVENT: self.on_complete,
            LIST_PROMPTS_EVENT: self.on_list_prompts,
            GET_PROMPT_EVENT: self.on_get_prompt,
            GET_RESOURCES_EVENT: self.on_get_resources,
            WATCH_RESOURCE_EVENT: self.on_watch_resource,
        }.items():
            # The handlers are public and return plain data, for programs that call or override them. Only an answer
            # that leaves through the connection is serialized and measured, in `_answer`.
            self.on(event, functools.partial(self._answer, event, handler), namespace=SMCP_NAMESPACE)
        self.on(CANCEL_TOOL_CALL_NOTIFICATION, self.on_tool_call_cancel, namespace=SMCP_NAMESPACE)
        self.on(LEAVE_OFFICE_NOTIFICATION, self._on_left, namespace=SMCP_NAMESPACE)
        # Without a handler, python-socketio answers a request with an empty ack, and the Agent learns no reason.
        self.on("*", self._on_unknown, namespace=SMCP_NAMESPACE)

    # ---------------------------------------------------------------------------------------------------------- offices

    @classmethod
    @asynccontextmanager
    async def in_office(
        cls, computer: Computer, url: str, office_id: str, *, api_key: str | None = None, **options: Any
    ) -> AsyncGenerator[Self]:
        """Offer a Computer to an office for as long as the block runs. A connection that breaks is made again.

        Start the Computer first: `async with computer, SMCPComputerClient.in_office(computer, url, office_id):`

        Raises:
            NotAuthenticatedError, ForbiddenError: the Server requires another key.
            NotConnectedError: the Server cannot be reached.
            OfficeRefusedError: the Server rejects the join; the office may have a Computer of this name.
        """
        client = cls(computer=computer, **options)
        key = {"x-api-key": api_key} if api_key else {}
        try:
            # The key travels twice, because a proxy may keep the header for itself.
            await client.reach(url, office_id=office_id, headers=key, auth=key or None)
            await client.join_office(office_id)
            yield client
        finally:
            await client.disconnect()

    async def join_office(self, office_id: str) -> None:
        """Join an office, and join it again after every reconnection.

        Raises:
            OfficeRefusedError: the Server rejects the join, or gives no valid answer. It is a `RuntimeError`.
        """
        # Calls of the old office end only after the join succeeded: a rejected join leaves the Computer where it was.
        before = self.office_id
        await self._join(office_id, self.computer.name)
        if before not in (None, office_id):
            await self.computer.acancel_office(before or "")

    async def leave_office(self, office_id: str) -> None:
        """Leave the office. The Computer is out of it even if the Server answers an error.

        Raises:
            OfficeRefusedError: this Computer is in another office, or in none, and nothing has changed; or the Server
                says that we were not in. It is a `RuntimeError`.
        """
        try:
            office = self._office_to_leave(office_id)
        except SMCPError as error:
            raise OfficeRefusedError(error.message, code=error.code, is_final=True) from None
        try:
            await self._leave(office)
        finally:
            await self.computer.acancel_office(office)

    async def disconnect(self) -> None:
        """Disconnect from the Server and do not reconnect. Running calls are cancelled."""
        # Read first: disconnecting clears both. While the client reconnects, only `wanted_office` is set.
        office = self.wanted_office or self.office_id
        await super().disconnect()
        if office is not None:
            await self.computer.acancel_office(office)

    def _goes_on(self, refusal: SMCPError) -> bool:
        """Whether to reconnect again after the Server rejected this Computer: `on_refused` decides."""
        return self._on_refused is None or self._on_refused(refusal)

    def _on_rejoined(self) -> None:
        self.computer.catch_up()

    def _on_lost(self) -> None:
        """Cancel running calls."""
        # The Server has already answered their Agents with an error, and would drop the results. The office is the one
        # that this client wants: the loss of the connection has cleared the one that it was in.
        if (office := self.wanted_office) is not None:
            self.start_background_task(self.computer.acancel_office, office)

    # ---------------------------------------------------------------------------------------------------------- notices

    async def emit_update(self, event: str) -> bool:
        """Send an update of this Computer; False, and nothing is sent, while it is in no office, and if the Server does
        not relay it."""
        if self.office_id is None or not self.connected or (event in _ADDED and not self._relays(event)):
            return False
        await self.emit(event, UpdateComputerConfigReq(computer=self.computer.name), namespace=SMCP_NAMESPACE)
        return True

    async def emit_update_resource(self, uri: str, mcp_server: str) -> bool:
        """Tell the Agent that a resource changed which it watches; False, and nothing is sent, in no office, and if the
        Server does not relay it."""
        if self.office_id is None or not self.connected or not self._relays(UPDATE_RESOURCE_EVENT):
            return False
        update = UpdateResourceReq(computer=self.computer.name, uri=uri, mcp_server=mcp_server)
        await self.emit(UPDATE_RESOURCE_EVENT, update, namespace=SMCP_NAMESPACE)
        return True

    async def emit_update_config(self) -> None:
        """Notify the office that the configuration changed; in no office, do nothing."""
        await self.emit_update(UPDATE_CONFIG_EVENT)

    async def update_config(self) -> None:
        """Notify the Server that the configuration changed, also in no office."""
        update = UpdateComputerConfigReq(computer=self.computer.name)
        await self.emit(UPDATE_CONFIG_EVENT, update, namespace=SMCP_NAMESPACE)

    async def emit_update_tool_list(self) -> None:
        """Notify the office that the tools changed; in no office, do nothing."""
        await self.emit_update(UPDATE_TOOL_LIST_EVENT)

    async def emit_refresh_desktop(self) -> None:
        """Notify the office that windows changed; in no office, do nothing."""
        await self.emit_update(UPDATE_DESKTOP_EVENT)

    async def emit_refresh_finder(self) -> None:
        """Notify the office that documents changed; in no office, do nothing."""
        await self.emit_update(UPDATE_FINDER_EVENT)

    # --------------------------------------------------------------------------------------------------------- requests

    @answers(TOOL_CALL_EVENT)
    async def on_tool_call(self, data: ToolCallReq) -> dict[str, Any]:
        """Answer `client:tool_call` with a `CallToolResult`."""
        # The Server replaces `agent` by the name of the sender, so one Agent cannot act as another. The office is part
        # of the caller, because this Computer may move to an office whose Agent has the same name and uses the same
        # `req_id`.
        send_progress = functools.partial(self._send_progress, data["req_id"])
        result = await self.computer.aexecute_tool(
            data["req_id"],
            data["tool_name"],
            data["params"],
            data["timeout"],
            caller=Caller(self.office_id or "", data["agent"], data.get("principal")),
            send_progress=send_progress if self._relays(TOOL_CALL_PROGRESS_EVENT) else None,
            continuation=_continuation(data),
        )
        return to_wire(result)

    def _relays(self, event: str) -> bool:
        """Whether the Server knows an event that the protocol does not have. Another one would log each as unknown."""
        return event in self.server_info.features

    async def _send_progress(self, req_id: str, progress: float, total: float | None, message: str | None) -> None:
        """Send how far a call is; in no office, nothing."""
        if self.office_id is None or not self.connected:
            return
        report = ToolCallProgress(computer=self.computer.name, req_id=req_id, progress=progress)
        if total is not None:
            report["total"] = total
        if message is not None:
            report["message"] = message
        await self.emit(TOOL_CALL_PROGRESS_EVENT, report, namespace=SMCP_NAMESPACE)

    @answers(GET_TOOLS_EVENT)
    async def on_get_tools(self, data: GetToolsReq) -> dict[str, Any]:
        """Answer `client:get_tools`; with `unchanged`, if the Agent has the current list."""
        book = self.computer.mcp_manager.book
        if data.get("known_digest") == book.digest:
            return {"unchanged": True, "digest": book.digest, "req_id": data["req_id"]}
        tools = await self.computer.aget_available_tools()
        return {"tools": tools, "digest": book.digest, "req_id": data["req_id"]}

    @answers(GET_CONFIG_EVENT)
    async def on_get_config(self, data: GetComputerConfigReq) -> Any:
        """Answer `client:get_config`."""
        return self.computer.get_config()

    @answers(GET_DESKTOP_EVENT)
    async def on_get_desktop(self, data: GetDeskTopReq) -> dict[str, Any]:
        """Answer `client:get_desktop`."""
        desktops = await self.computer.get_desktop(
            size=data.get("desktop_size"), window_uri=data.get("window"), max_bytes=self._message_limit
        )
        return {"desktops": desktops, "req_id": data["req_id"]}

    @answers(GET_FINDER_EVENT)
    async def on_get_finder(self, data: GetFinderReq) -> dict[str, Any]:
        """Answer `client:get_finder`."""
        # Both may be null. A `limit` of 0 is valid, and asks only for the number of matches.
        offset, limit = data.get("offset"), data.get("limit")
        documents, total = await self.computer.get_finder(
            data.get("keywords"),
            data.get("file_type"),
            0 if offset is None else offset,
            DEFAULT_LIMIT if limit is None else limit,
        )
        unindexed = self.computer.unindexed_documents
        further = {"unindexed_count": unindexed} if unindexed else {}
        return {"documents": documents, "total_count": total, **further, "req_id": data["req_id"]}

    @answers(READ_RESOURCE_EVENT)
    async def on_read_resource(self, data: ReadResourceReq) -> dict[str, Any]:
        """Answer `client:read_resource`."""
        contents = await self.computer.read_resource(data["uri"], data.get("mcp_server"))
        return {"contents": contents, "req_id": data["req_id"]}

    @answers(LIST_RESOURCE_TEMPLATES_EVENT)
    async def on_list_resource_templates(self, data: ListResourceTemplatesReq) -> dict[str, Any]:
        """Answer `client:list_resource_templates`."""
        templates, after = await self.computer.list_resource_templates(data.get("mcp_server"), data.get("cursor"))
        further = {"next_cursor": after} if after is not None else {}
        return {"templates": templates, **further, "req_id": data["req_id"]}

    @answers(COMPLETE_EVENT)
    async def on_complete(self, data: CompleteReq) -> dict[str, Any]:
        """Answer `client:complete`."""
        context = (data.get("context") or {}).get("arguments")
        completion = await self.computer.complete(data["ref"], data["argument"], context, data.get("mcp_server"))
        return {"completion": completion, "req_id": data["req_id"]}

    @answers(LIST_PROMPTS_EVENT)
    async def on_list_prompts(self, data: ListPromptsReq) -> dict[str, Any]:
        """Answer `client:list_prompts`."""
        prompts, after = await self.computer.list_prompts(data.get("mcp_server"), data.get("cursor"))
        further = {"next_cursor": after} if after is not None else {}
        return {"prompts": prompts, **further, "req_id": data["req_id"]}

    @answers(GET_PROMPT_EVENT)
    async def on_get_prompt(self, data: GetPromptReq) -> dict[str, Any]:
        """Answer `client:get_prompt`."""
        found = await self.computer.get_prompt(data["name"], data.get("arguments"), data.get("mcp_server"))
        spelt = {"description": "description", "messages": "messages", "_meta": "meta"}
        return {**{ours: found[key] for key, ours in spelt.items() if key in found}, "req_id": data["req_id"]}

    @answers(GET_RESOURCES_EVENT)
    async def on_get_resources(self, data: GetResourcesReq) -> dict[str, Any]:
        """Answer `client:get_resources`."""
        resources, after = await self.computer.get_resources(data.get("mcp_server"), data.get("cursor"))
        further = {"next_cursor": after} if after is not None else {}
        return {"resources": resources, **further, "req_id": data["req_id"]}

    @answers(WATCH_RESOURCE_EVENT)
    async def on_watch_resource(self, data: WatchResourceReq) -> dict[str, Any]:
        """Answer `client:watch_resource`."""
        await self.computer.watch_resource(
            data["uri"],
            data.get("mcp_server"),
            watch=data.get("watch", True),
            caller=Caller(self.office_id or "", data["agent"]),
        )
        return {"req_id": data["req_id"]}

    async def on_tool_call_cancel(self, data: Any = None, *_: Any) -> None:
        """Cancel a call: its Agent does not need the result."""
        notice = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        req_id, agent = notice.get("req_id"), notice.get("agent")
        if isinstance(req_id, str) and isinstance(agent, str):
            await self.computer.acancel_tool(req_id, caller=Caller(self.office_id or "", agent))

    async def _on_left(self, data: Any = None, *_: Any) -> None:
        """Cancel the calls of an Agent that left the office."""
        notice = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        # The notice of a Computer that left has `computer` instead of `agent`; no calls depend on it.
        if self.office_id is not None and isinstance(agent := notice.get("agent"), str):
            await self.computer.acancel_office(self.office_id, agent)

    async def _on_unknown(self, event: str, *data: Any) -> Any:
        """Reject a request of an unknown kind; ignore an unknown notice."""
        if not event.startswith(CLIENT_PREFIX):
            return None
        error = MalformedRequestError(f"{event} is not a request this Computer knows")
        return _refuse(event, data[0] if data else None, error)

    async def _answer(self, event: str, handler: Callable[[Any], Awaitable[Any]], *data: Any) -> orjson.Fragment:
        """Serialize the answer, once, and replace it by an error if it is too large: the Server would disconnect."""
        request = data[0] if data else None
        answer = await handler(request)
        if event == GET_TOOLS_EVENT and isinstance(answer, dict) and "tools" in answer:
            given = cast("dict[str, Any]", answer)
            answer = {**given, "tools": self.computer.mcp_manager.book.written(given["tools"])}
        try:
            written = orjson.dumps(answer)
            # The rest is for the frame around the answer. A Server disconnects a client whose message is too large,
            # which would end every other running call.
            if len(written) > self._message_limit - 1_000:
                problem = f"an answer of {len(written)} bytes; at most {self._message_limit} pass"
                written = orjson.dumps(_refuse(event, request, TooLargeError(problem)))
        except (TypeError, RecursionError):  # orjson has a limit on nesting
            problem = "the answer cannot be written as JSON"
            written = orjson.dumps(_refuse(event, request, InternalError(problem)))
        return orjson.Fragment(written)  # the packet around it takes the bytes as they are


__all__ = ["OfficeRefusedError", "SMCPComputerClient"]
