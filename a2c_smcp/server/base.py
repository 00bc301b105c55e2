"""Where the architecture document puts the base namespaces. `edge.py` has what they share."""

from __future__ import annotations

from a2c_smcp.server.namespace import BaseNamespace
from a2c_smcp.server.sync_namespace import SyncBaseNamespace

__all__ = ["BaseNamespace", "SyncBaseNamespace"]
