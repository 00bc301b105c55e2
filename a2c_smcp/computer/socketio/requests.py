"""The requests of an Agent: each has a handler, which asks the Computer and returns the answer."""

from __future__ import annotations

import base64
import functools
from collections.abc import Awaitable, Callable
from typing import Any, cast

import orjson

from a2c_smcp.computer.offer.calls import Continuation
from a2c_smcp.computer.offer.finder.organize import DEFAULT_LIMIT
from a2c_smcp.computer.socketio.answering import WITH_BINARIES, AnsweringClient, answers, refuse
from a2c_smcp.errors import MalformedRequestError
from a2c_smcp.protocol.blob_items import CHUNK_BYTES, may_have_binaries
from a2c_smcp.protocol.handshake import OURS
from a2c_smcp.smcp import (
    CANCEL_TOOL_CALL_NOTIFICATION,
    CLIENT_PREFIX,
    COMPLETE_EVENT,
    GET_BLOB_EVENT,
    GET_CONFIG_EVENT,
    GET_DESKTOP_EVENT,
    GET_FINDER_EVENT,
    GET_PROMPT_EVENT,
    GET_RESOURCES_EVENT,
    GET_SKILL_EVENT,
    GET_SKILLS_EVENT,
    GET_TOOLS_EVENT,
    LEAVE_OFFICE_NOTIFICATION,
    LIST_PROMPTS_EVENT,
    LIST_RESOURCE_TEMPLATES_EVENT,
    PUT_BLOB_EVENT,
    READ_RESOURCE_EVENT,
    SMCP_NAMESPACE,
    TOOL_CALL_EVENT,
    TOOL_CALL_LOG_EVENT,
    TOOL_CALL_PROGRESS_EVENT,
    WATCH_RESOURCE_EVENT,
    CompleteReq,
    GetBlobReq,
    GetComputerConfigReq,
    GetDeskTopReq,
    GetFinderReq,
    GetPromptReq,
    GetResourcesReq,
    GetSkillReq,
    GetSkillsReq,
    GetToolsReq,
    ListPromptsReq,
    ListResourceTemplatesReq,
    LogEntry,
    PutBlobReq,
    ReadResourceReq,
    ToolCallLog,
    ToolCallProgress,
    ToolCallReq,
    WatchResourceReq,
)
from a2c_smcp.utils.results import to_wire


class RequestHandlers(AnsweringClient):
    """A Computer's client, as far as it handles requests.

    The handlers are public and return plain data, for programs that call or override them. Only an answer that leaves
    through the connection is serialized and measured, in `_answer`.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
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
            GET_BLOB_EVENT: self.on_get_blob,
            PUT_BLOB_EVENT: self.on_put_blob,
            GET_SKILLS_EVENT: self.on_get_skills,
            GET_SKILL_EVENT: self.on_get_skill,
        }.items():
            self.on(event, functools.partial(self._answer, event, handler), namespace=SMCP_NAMESPACE)
        self.on(CANCEL_TOOL_CALL_NOTIFICATION, self.on_tool_call_cancel, namespace=SMCP_NAMESPACE)
        self.on(LEAVE_OFFICE_NOTIFICATION, self._on_left, namespace=SMCP_NAMESPACE)
        # Without a handler, python-socketio answers a request with an empty ack, and the Agent learns no reason.
        self.on("*", self._on_unknown, namespace=SMCP_NAMESPACE)

    async def _answer(self, event: str, handler: Callable[[Any], Awaitable[Any]], *data: Any) -> orjson.Fragment:
        """The answer to a request that arrived, as it leaves."""
        request = data[0] if data else None
        if self._trial is not None and (sample := self._trial.answer_to(request)) is not None:
            return orjson.Fragment(orjson.dumps(sample))
        if self.server_info.dialect != OURS:
            await self._know_server(event)
        answer = await handler(request)
        # Here and not in the handlers, which return plain data. And nothing of this is in the history or the log.
        if event in WITH_BINARIES and isinstance(answer, dict) and may_have_binaries(cast("dict[str, Any]", answer)):
            answer = await self._with_handles(cast("dict[str, Any]", answer), request)
        return self._written(event, answer, request)

    # ------------------------------------------------------------------------------------------------------ tool calls

    @answers(TOOL_CALL_EVENT)
    async def on_tool_call(self, data: ToolCallReq) -> dict[str, Any]:
        """Answer `client:tool_call` with a `CallToolResult`."""
        # The Server replaces `agent` by the name of the sender, so one Agent cannot act as another. The office is part
        # of the caller, because this Computer may move to an office whose Agent has the same name and uses the same
        # `req_id`.
        req_id, log_level = data["req_id"], data.get("log_level")
        send_progress = send_log = None
        if self._relays(TOOL_CALL_PROGRESS_EVENT):
            send_progress = functools.partial(self._send_progress, req_id)
        if log_level is not None and self._relays(TOOL_CALL_LOG_EVENT):
            send_log = functools.partial(self._send_log, req_id)
        result = await self.computer.aexecute_tool(
            req_id,
            data["tool_name"],
            data["params"],
            data["timeout"],
            caller=self._caller(data["agent"], data.get("principal")),
            send_progress=send_progress,
            send_log=send_log,
            log_level=log_level,
            continuation=_continuation(data),
            traceparent=data.get("traceparent"),
        )
        return to_wire(result)

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

    async def _send_log(self, req_id: str, messages: list[LogEntry]) -> None:
        """Send what the MCP server wrote during a call; in no office, nothing."""
        if self.office_id is not None and self.connected:
            parcel = ToolCallLog(computer=self.computer.name, req_id=req_id, messages=messages)
            await self.emit(TOOL_CALL_LOG_EVENT, parcel, namespace=SMCP_NAMESPACE)

    async def on_tool_call_cancel(self, data: Any = None, *_: Any) -> None:
        """Cancel a call: its Agent does not need the result."""
        notice = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        req_id, agent = notice.get("req_id"), notice.get("agent")
        if isinstance(req_id, str) and isinstance(agent, str):
            # An official Agent calls under its id and cancels under its name. It is the only one in the office.
            caller = None if self.server_info.is_official else self._caller(agent)
            await self.computer.acancel_tool(req_id, caller=caller)

    async def _on_left(self, data: Any = None, *_: Any) -> None:
        """Cancel the calls of an Agent that left the office."""
        notice = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        # The notice of a Computer that left has `computer` instead of `agent`; no calls depend on it. The office is the
        # one in the notice: this Computer may be about to join another, and stay here if it is rejected there.
        agent, office = notice.get("agent"), notice.get("office_id", self.office_id)
        # An official Server announces a client without a name, after it rejected its join.
        if isinstance(agent, str) and agent and isinstance(office, str):
            await self.computer.acancel_office(office, None if self.server_info.is_official else agent)

    # --------------------------------------------------------------------------------------------------- other requests

    @answers(GET_TOOLS_EVENT)
    async def on_get_tools(self, data: GetToolsReq) -> dict[str, Any]:
        """Answer `client:get_tools`. The digest is added when the answer leaves."""
        return {"tools": await self.computer.aget_available_tools(), "req_id": data["req_id"]}

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
        responses, continuation = data.get("input_responses"), None
        if responses is not None:  # the Agent can answer questions
            continuation = Continuation(data.get("request_state") or "", responses)
        found = await self.computer.get_prompt(
            data["name"], data.get("arguments"), data.get("mcp_server"), continuation=continuation
        )
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
            caller=self._caller(data["agent"]),
        )
        return {"req_id": data["req_id"]}

    @answers(GET_BLOB_EVENT)
    async def on_get_blob(self, data: GetBlobReq) -> dict[str, Any]:
        """Answer `client:get_blob` with a part of a binary."""
        offset, wanted = data.get("chunk_offset") or 0, data.get("max_chunk_bytes")
        blob, part = await self.computer.blobs.read(
            self._caller(data["agent"]),
            data["blob_handle"],
            offset,
            min(CHUNK_BYTES if wanted is None else wanted, self._largest_part),
        )
        return {
            "blob_handle": blob.handle,
            "mime_type": blob.mime_type,
            "total_size": blob.size,
            "sha256": blob.sha256,
            "chunk_offset": offset,
            "eof": offset + len(part) >= blob.size,
            "blob": base64.b64encode(part).decode(),
            "req_id": data["req_id"],
        }

    @answers(PUT_BLOB_EVENT)
    async def on_put_blob(self, data: PutBlobReq) -> Any:
        """Answer `client:put_blob`: take a part of an upload."""
        return await self.computer.uploads.put(data, self._caller(data["agent"]))

    @answers(GET_SKILLS_EVENT)
    async def on_get_skills(self, data: GetSkillsReq) -> dict[str, Any]:
        """Answer `client:get_skills`."""
        return {"skills": await self.computer.get_skills(), "req_id": data["req_id"]}

    @answers(GET_SKILL_EVENT)
    async def on_get_skill(self, data: GetSkillReq) -> Any:
        """Answer `client:get_skill` with a file of a skill."""
        caller = self._caller(data["agent"])
        return await self.computer.get_skill(data["name"], data.get("rel_path"), caller=caller, req_id=data["req_id"])

    async def _on_unknown(self, event: str, *data: Any) -> Any:
        """Reject a request of an unknown kind; ignore an unknown notice."""
        if not event.startswith(CLIENT_PREFIX):
            return None
        request = data[0] if data else None
        if self.server_info.is_official:
            known = cast("dict[str, Any]", request) if isinstance(request, dict) else {}
            return self._dialect.cannot(event, known)
        error = MalformedRequestError(f"{event} is not a request this Computer knows")
        return refuse(event, request, error)


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
