"""Errors of the office as MCP hosts get them."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from a2c_smcp.errors import OfficeFullError, SMCPError

RESOURCE_NOT_FOUND = -32002
"""MCP's code for a missing resource, before 2026-07-28."""

_INVALID = frozenset((400, 4015, 4204))
_MISSING = frozenset((404, 4014, 4201, 4202, 4203))


def as_mcp_error(error: SMCPError, method: str, protocol_version: str) -> MCPError:
    """The JSON-RPC error for an error of the office; `data` has the protocol's code."""
    data: dict[str, Any] = {**(error.details or {}), "code": error.code}
    is_resource = method.startswith("resources/")
    if error.code in _MISSING and is_resource and protocol_version not in MODERN_PROTOCOL_VERSIONS:
        code = RESOURCE_NOT_FOUND
    elif error.code in _INVALID or error.code in _MISSING:
        code = types.INVALID_PARAMS
    else:
        code = types.INTERNAL_ERROR
    return MCPError(code=code, message=explain(error), data=data)


def as_result(error: SMCPError) -> dict[str, Any]:
    """The tool result for an error of the office: a model reads it."""
    return failed(explain(error), error.code)


def failed(problem: str, code: int | None = None) -> dict[str, Any]:
    """The result of a call that the gateway rejects."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": problem}], "isError": True}
    if code is not None:
        result["_meta"] = {"error_code": code}
    return result


def explain(error: SMCPError) -> str:
    """The message, and what to do where that is not obvious."""
    if isinstance(error, OfficeFullError):
        return (
            f"{error.message}. MCP hosts share one Agent seat, and another Agent has it: disconnect that Agent, or "
            "give the Computers another office"
        )
    return error.message
