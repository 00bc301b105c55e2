"""Values of the layers below, under the path that programs import."""

from a2c_smcp.computer.hosting.status import ServerState, ServerStatus
from a2c_smcp.computer.offer.confirmation import ConfirmCallback
from a2c_smcp.computer.offer.history import ToolCallRecord

__all__ = ["ConfirmCallback", "ServerState", "ServerStatus", "ToolCallRecord"]
