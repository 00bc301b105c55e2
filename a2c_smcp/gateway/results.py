"""Results of tools as MCP writes them."""

from __future__ import annotations

from typing import Any, cast

from a2c_smcp.errors import ToolFailedError
from a2c_smcp.protocol.blob_items import find_handles
from a2c_smcp.utils.result_meta import ERROR_CODE
from a2c_smcp.utils.results import CallToolResult, to_wire


def shown(result: CallToolResult, *, is_modern: bool, is_direct: bool = False) -> dict[str, Any]:
    """A result as a host gets it: as the MCP server wrote it. Unless `is_direct`, a failure of the tool has a code."""
    written = to_wire(result)
    # A host cannot fetch what was too large. The text that follows each of them says so.
    if left_out := {item.index for item in find_handles(written)}:
        written["content"] = [each for index, each in enumerate(written["content"]) if index not in left_out]
    meta: dict[str, Any] = written.pop("meta", None) or {}  # the protocol of offices writes it without the underscore
    if is_direct and meta.get(ERROR_CODE) == ToolFailedError.code:
        del meta[ERROR_CODE]
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
