"""Results of tools as MCP writes them."""

from __future__ import annotations

from typing import Any, cast

from a2c_smcp.utils.results import CallToolResult, to_wire


def shown(result: CallToolResult, *, is_modern: bool) -> dict[str, Any]:
    """A result as a host gets it: as the MCP server wrote it."""
    written = to_wire(result)
    meta = written.pop("meta", None)  # the protocol of offices writes it without the underscore
    structured = written.get("structuredContent")
    if _is_ours(written, structured) or (not is_modern and not isinstance(structured, dict | None)):
        # Before 2026-07-28, structured content is an object; the text has the same.
        del written["structuredContent"]
    return {**written, "_meta": meta} if meta else written


def _is_ours(written: dict[str, Any], structured: Any) -> bool:
    """Whether a Computer added the structured content, as it does for failures: the text has the same."""
    if not written.get("isError") or not isinstance(structured, dict):
        return False
    return cast("dict[str, Any]", structured).keys() == {"error", "error_type"}
