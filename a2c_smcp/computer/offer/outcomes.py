"""The results of calls that do not succeed: rejected, failed, timed out, cancelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from mcp_types import TextContent

from a2c_smcp.computer.offer.running import CancelReason
from a2c_smcp.errors import LoginNeededError, LoginRefusedError, SMCPError, ToolFailedError, ToolTimedOutError
from a2c_smcp.utils.result_meta import CANCEL_REASON, CANCELLED, MCP_ERROR, TIMED_OUT
from a2c_smcp.utils.results import CallToolResult, from_wire, to_wire

_FORM = frozenset(("type", "mimeType", "audience", "theme"))
"""What says how to read an item of a result."""
_BINARY = frozenset(("data", "blob"))
_NESTED = frozenset(("resource", "annotations", "icons"))


def refused(refusal: SMCPError) -> CallToolResult:
    """The result of a call that ends with an error of the protocol."""
    meta: dict[str, Any] = {"error_code": refusal.code}
    if isinstance(refusal, LoginNeededError | LoginRefusedError):
        meta |= refusal.details or {}  # `mcp_server` and `auth_hint`
    elif isinstance(refusal, ToolTimedOutError):
        meta[TIMED_OUT] = True
    elif isinstance(refusal, ToolFailedError) and (error := (refusal.details or {}).get("mcp_error")) is not None:
        meta[MCP_ERROR] = error
    return failure(refusal.message, type(refusal).__name__, meta)


def cancelled(reason: CancelReason) -> CallToolResult:
    """The result of a call that was cancelled."""
    return failure("the call was cancelled", "CancelledError", {CANCELLED: True, CANCEL_REASON: reason})


def failed(result: CallToolResult, redact: Callable[[str], str]) -> CallToolResult:
    """The failure that a tool reports, with the protocol's code, and without secrets in its text."""
    # Only failures are redacted. Their texts are often exceptions with the whole command or address in them; a
    # successful result is the tool's data, which must arrive as it is.
    written = to_wire(result)
    data = {key: _redacted(written[key], redact) for key in ("structuredContent", "meta") if key in written}
    result = from_wire({**written, **data, "content": _redacted_item(written["content"], redact)})
    result.meta = {**(result.meta or {}), "error_code": ToolFailedError.code}
    if result.structured_content is None:
        result.structured_content = {"error": text_of(result), "error_type": ToolFailedError.__name__}
    return result


def failure(message: str, error_type: str, meta: dict[str, Any]) -> CallToolResult:
    """A result with `is_error`, a text and its reason."""
    code = meta.get("error_code")
    text = f"{message} (error {code})" if code is not None else message
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content={"error": message, "error_type": error_type},
        is_error=True,
        _meta=meta,
    )


def text_of(result: CallToolResult) -> str:
    """What a tool says about its failure."""
    texts = [part.text for part in result.content if isinstance(part, TextContent)]
    return " ".join(texts) or "the tool failed"


# The names and words of MCP in an item stay as they are: a secret such as `text` would otherwise make it invalid.
def _redacted_item(item: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(item, list):
        return [_redacted_item(each, redact) for each in cast("list[Any]", item)]
    if not isinstance(item, dict):
        return _redacted(item, redact)
    redacted: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", item).items():
        if key in _FORM:
            redacted[key] = value
        elif key in _BINARY:  # Base64 with a mark inside would be invalid
            redacted[key] = value if redact(value) == value else ""
        else:
            redacted[key] = (_redacted_item if key in _NESTED else _redacted)(value, redact)
    return redacted


def _redacted(data: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(data, str):
        return redact(data)
    if isinstance(data, dict):
        named = cast("dict[str, Any]", data)
        return {redact(key): _redacted(value, redact) for key, value in named.items()}
    if isinstance(data, list):
        return [_redacted(value, redact) for value in cast("list[Any]", data)]
    return data
