"""What a result of a call says."""

from __future__ import annotations

from a2c_smcp.utils.results import CallToolResult


def code_of(result: CallToolResult) -> int | None:
    """The protocol's code in a result; None when the tool succeeded."""
    if not result.is_error:
        return None
    return (result.meta or {}).get("error_code")


def text_of(result: CallToolResult) -> str:
    return "".join(getattr(part, "text", "") for part in result.content)
