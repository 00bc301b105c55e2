"""What Server, Agent and Computer share of Socket.IO."""
