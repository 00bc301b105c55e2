"""The metadata of MCP servers, without the keys that only a Computer may set."""

from __future__ import annotations

from collections.abc import Set
from typing import Any


def theirs(meta: dict[str, Any] | None, ours: Set[str]) -> dict[str, Any] | None:
    """The `_meta` of a server without the keys in `ours`; all others pass unchanged.

    With them, a server could state that its owner allows a tool, that a call was cancelled, or that another MCP server
    asks a question.
    """
    if meta is None or meta.keys().isdisjoint(ours):
        return meta
    return {key: value for key, value in meta.items() if key not in ours} or None
