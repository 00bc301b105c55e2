"""The order of MCP servers on the Desktop and in the Finder: the most recently used first, the others by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

UsedServers: TypeAlias = Iterable[str | Mapping[str, Any]]
"""The servers of past tool calls, oldest first: names, or the records of the calls."""


def in_order_of_use(servers: Iterable[str], history: UsedServers | None) -> list[str]:
    """Each server once."""
    present = set(servers)
    used = [call if isinstance(call, str) else call["server"] for call in history or ()]
    recent = [name for name in dict.fromkeys(reversed(used)) if name in present]
    return recent + sorted(present.difference(recent))
