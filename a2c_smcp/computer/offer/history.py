"""The last tool calls, and which MCP servers they used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from typing_extensions import TypedDict

LENGTH = 10


class ToolCallRecord(TypedDict):
    """A tool call that has ended."""

    timestamp: str
    req_id: str
    server: str
    tool: str
    parameters: dict[str, Any]
    timeout: float | None
    success: bool
    error: str | None


class EndedCall(NamedTuple):
    """What is kept of a tool call. Its record is made when it is looked at, which happens to few of them."""

    started: datetime
    req_id: str
    server: str
    tool: str
    parameters: dict[str, Any]
    timeout: float | None
    error: str | None

    def record(self) -> ToolCallRecord:
        """The record that programs get."""
        return ToolCallRecord(
            timestamp=self.started.isoformat(timespec="milliseconds"),
            req_id=self.req_id,
            server=self.server,
            tool=self.tool,
            parameters=self.parameters,
            timeout=self.timeout,
            success=self.error is None,
            error=self.error,
        )


class History:
    """The last 10 calls, failed ones included, oldest first."""

    def __init__(self) -> None:
        self._calls: deque[EndedCall] = deque(maxlen=LENGTH)

    def add(self, call: EndedCall) -> None:
        """Record a call that has ended."""
        self._calls.append(call)

    def __iter__(self) -> Iterator[ToolCallRecord]:
        return iter([call.record() for call in self._calls])

    def __len__(self) -> int:
        return len(self._calls)

    def servers(self) -> list[str]:
        """MCP servers by last use, the most recent first."""
        return list(dict.fromkeys(call.server for call in reversed(self._calls) if call.server))
