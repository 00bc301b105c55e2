"""The last tool calls, and which MCP servers they used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

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


class History:
    """The last 10 calls, failed ones included, oldest first."""

    def __init__(self) -> None:
        self._records: deque[ToolCallRecord] = deque(maxlen=LENGTH)

    def add(self, record: ToolCallRecord) -> None:
        """Record a call that has ended."""
        self._records.append(record)

    def __iter__(self) -> Iterator[ToolCallRecord]:
        return iter(tuple(self._records))

    def __len__(self) -> int:
        return len(self._records)

    def servers(self) -> list[str]:
        """MCP servers by last use, the most recent first."""
        return list(dict.fromkeys(record["server"] for record in reversed(self._records) if record["server"]))
