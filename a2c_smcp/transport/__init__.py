"""What Server, Agent and Computer share of Socket.IO."""

from a2c_smcp.utils import light_socketio as _  # noqa: F401  # before any module here imports socketio
