"""Publishes what happens at a Computer to the readers of its owner's events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.offer.announcer import Change
from a2c_smcp.computer.offer.approval_request import ApprovalRequest
from a2c_smcp.computer.offer.approval_view import approval_view
from a2c_smcp.console.owner import views
from a2c_smcp.console.owner.call_log import CallLog
from a2c_smcp.console.owner.shapes import CallView
from a2c_smcp.console.web.streams import Feed
from a2c_smcp.errors import NotFoundError

TOPICS = ("servers", "tools", "approvals", "calls", "windows", "documents")
_CHANGES = {Change.TOOLS: "tools", Change.WINDOWS: "windows", Change.DOCUMENTS: "documents", Change.CONFIG: "servers"}


class Publisher:
    """Listens to one Computer. An event is made only if somebody reads its topic."""

    def __init__(self, computer: Computer, log: CallLog, feed: Feed) -> None:
        self._computer = computer
        self._feed = feed
        self._ends = [
            computer.approvals.changed.add(self._approval),
            computer.mcp_manager.changed.add(self._server),
            computer.changes.add(self._change),
            log.added.add(self._call),
        ]

    def close(self) -> None:
        """Listen no longer."""
        for end in self._ends:
            end()

    def _publish(self, topic: str, kind: str, data: Any) -> None:
        self._feed.publish(topic, kind, data)

    def _approval(self, request: ApprovalRequest) -> None:
        if self._feed.is_read("approvals"):
            self._publish("approvals", "approval", approval_view(request, in_list=True))

    def _server(self, name: str) -> None:
        if name and self._feed.is_read("servers"):
            try:
                status = views.status_of(self._computer, name)
            except NotFoundError:  # it was removed just now
                return
            self._publish("servers", "server", views.server(self._computer, status))

    def _change(self, change: Change) -> None:
        topic = _CHANGES.get(change)
        if topic is not None:
            # Without contents: the reader asks for what it shows.
            self._publish(topic, f"{topic}_changed", {})

    def _call(self, call: Callable[[], CallView]) -> None:
        if self._feed.is_read("calls"):
            self._publish("calls", "call", call())
