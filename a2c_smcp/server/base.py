"""The import path of the base namespaces in the protocol's documents. `edge.py` contains what they share."""

from __future__ import annotations

from a2c_smcp.server.namespace import BaseNamespace
from a2c_smcp.server.sync_namespace import SyncBaseNamespace

__all__ = ["BaseNamespace", "SyncBaseNamespace"]
