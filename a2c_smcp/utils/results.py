"""The result of a tool call: the MCP type, readable by its wire names too, and its form on our wire.

MCP puts metadata under `_meta`; this protocol puts it under `meta`.
"""

from __future__ import annotations

from typing import Any

import mcp_types
from pydantic import TypeAdapter, ValidationError


class CallToolResult(mcp_types.CallToolResult):
    """MCP's `CallToolResult`. Programs read it by attribute (`is_error`) or by wire name (`isError`)."""

    @property
    def isError(self) -> bool:
        """Whether the tool failed."""
        return self.is_error

    @property
    def structuredContent(self) -> Any:
        """The structured result."""
        return self.structured_content

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data, as it travels: `content`, `isError`, `structuredContent` and `meta`."""
        return to_wire(self)


_results = TypeAdapter(CallToolResult).validator


def to_wire(result: mcp_types.CallToolResult) -> dict[str, Any]:
    """A result as JSON data with MCP's wire names."""
    wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    del wire["resultType"]
    meta = wire.pop("_meta", None)
    if meta is not None:
        wire["meta"] = meta
    wire["isError"] = result.is_error
    return wire


def from_wire(wire: dict[str, Any]) -> CallToolResult:
    """A result from our wire; metadata may come under either name.

    Raises:
        pydantic.ValidationError: it is no `CallToolResult`.
    """
    if "meta" in wire:
        wire = {key: value for key, value in wire.items() if key != "meta"} | {"_meta": wire["meta"]}
    return _results.validate_python(wire)


def timed_out(seconds: float) -> CallToolResult:
    """What an Agent gets when it has waited long enough."""
    return _results.validate_python(
        {
            "content": [{"type": "text", "text": "Tool call timeout"}],
            "isError": True,
            "structuredContent": {"error": f"no result within {seconds:g} s", "error_type": "ToolTimedOutError"},
            "_meta": {"timeout": True, "error_code": 4004},
        }
    )


def explain(error: ValueError) -> str:
    """What is wrong with data that is no result, without the data."""
    if not isinstance(error, ValidationError):
        return str(error)
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems[:4])
