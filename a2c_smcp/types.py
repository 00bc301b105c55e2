"""Type aliases that several parts share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

SERVER_NAME: TypeAlias = str
"""The name of an MCP server inside one Computer."""

TOOL_NAME: TypeAlias = str
"""The name of a tool as the Agent sees it."""

Role: TypeAlias = Literal["agent", "computer"]
"""What a member is in its office."""

# A deeper value travels as a JSON text; see `utils.tool_meta`.
AttributeValue: TypeAlias = str | bool | int | float | Sequence[str] | Sequence[bool] | Sequence[int] | Sequence[float]
"""A value that `SMCPTool.meta` may hold: a scalar or a list of scalars."""

Attributes: TypeAlias = Mapping[str, AttributeValue] | None
