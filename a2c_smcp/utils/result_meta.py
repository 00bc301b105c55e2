"""The keys of this protocol in the metadata of a tool's result.

The Computer sets them, or the Agent and the Server in a result of their own. The result of an MCP server must not have
them: a key that it sets would be a statement of the Computer.
"""

from __future__ import annotations

from typing import Final

INPUT_REQUIRED: Final = "a2c_input_required"
"""The questions of the tool, with which the call goes on."""
REJECTED_QUESTIONS: Final = "a2c_rejected_questions"
"""The reasons why the Computer rejected questions of the tool."""
A2C_VRL_TRANSFORMED: Final = "a2c_vrl_transformed"
"""What the owner's script makes of the result."""
CANCELLED: Final = "a2c_cancelled"
CANCEL_REASON: Final = "a2c_cancel_reason"
TIMED_OUT: Final = "a2c_timeout"
TIMEOUT: Final = "timeout"
"""Whether the Agent did not wait any longer."""
ERROR_CODE: Final = "error_code"
MCP_ERROR: Final = "a2c_mcp_error"
"""The error of MCP with which the MCP server rejected the call: `code`, `message` and perhaps `data`."""
MCP_SERVER: Final = "mcp_server"
"""The MCP server that requires a login."""
AUTH_HINT: Final = "auth_hint"
"""What its user has to do."""
OURS: Final = frozenset(
    (
        INPUT_REQUIRED,
        REJECTED_QUESTIONS,
        A2C_VRL_TRANSFORMED,
        CANCELLED,
        CANCEL_REASON,
        TIMED_OUT,
        TIMEOUT,
        ERROR_CODE,
        MCP_ERROR,
        MCP_SERVER,
        AUTH_HINT,
    )
)
"""All of them."""

BLOB_HANDLE: Final = "a2c_blob_handle"
"""In the metadata of an item, and not of the whole result: the binary of the item has to be fetched."""
SAVED_TO: Final = "a2c_saved_to"
"""In the metadata of an item: the file in which an Agent saved its binary."""
