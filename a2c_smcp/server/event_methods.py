"""The `on_…` methods of the protocol's events, which a subclass of a namespace may override and call with `super()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from a2c_smcp import smcp


class EventMethod:
    """The `on_…` method of one event, which runs the protocol's flow.

    A descriptor instead of many methods: the async and the sync namespace share it, and the edge recognizes by its type
    that a method is not overridden (`Edge._collect_handlers`).
    """

    def __init__(self, event: str) -> None:
        self._event = event

    def __get__(self, namespace: Any, owner: type) -> Callable[..., Any]:
        if namespace is None:
            return cast("Any", self)
        event = self._event

        def on_event(sid: str, data: Any = None) -> Any:
            return namespace.answer(event, sid, data)

        return on_event


class EventMethods:
    """The events that the Server answers, as `on_…` methods `(sid, data) -> ack`."""

    on_server_join_office = EventMethod(smcp.JOIN_OFFICE_EVENT)
    on_server_leave_office = EventMethod(smcp.LEAVE_OFFICE_EVENT)
    on_server_update_config = EventMethod(smcp.UPDATE_CONFIG_EVENT)
    on_server_update_tool_list = EventMethod(smcp.UPDATE_TOOL_LIST_EVENT)
    on_server_update_desktop = EventMethod(smcp.UPDATE_DESKTOP_EVENT)
    on_server_update_finder = EventMethod(smcp.UPDATE_FINDER_EVENT)
    on_server_update_resources = EventMethod(smcp.UPDATE_RESOURCES_EVENT)
    on_server_update_prompts = EventMethod(smcp.UPDATE_PROMPTS_EVENT)
    on_server_update_resource = EventMethod(smcp.UPDATE_RESOURCE_EVENT)
    on_server_tool_call_cancel = EventMethod(smcp.CANCEL_TOOL_CALL_EVENT)
    on_server_tool_call_progress = EventMethod(smcp.TOOL_CALL_PROGRESS_EVENT)
    on_server_tool_call_log = EventMethod(smcp.TOOL_CALL_LOG_EVENT)
    on_server_list_room = EventMethod(smcp.LIST_ROOM_EVENT)
    on_client_tool_call = EventMethod(smcp.TOOL_CALL_EVENT)
    on_client_get_tools = EventMethod(smcp.GET_TOOLS_EVENT)
    on_client_get_config = EventMethod(smcp.GET_CONFIG_EVENT)
    on_client_get_desktop = EventMethod(smcp.GET_DESKTOP_EVENT)
    on_client_get_finder = EventMethod(smcp.GET_FINDER_EVENT)
    on_client_read_resource = EventMethod(smcp.READ_RESOURCE_EVENT)
