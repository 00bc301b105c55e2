"""placeholder"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from a2c_smcp.server import CredentialAuthenticationProvider, KeyFile
from a2c_smcp.server.key_file import hash_key, write_keys


def keys(folder: Path, offices: dict[str, list[str]], **fields: Any) -> CredentialAuthenticationProvider:
    """A Server's keys: each is its own name, with the offices that it allows."""
    path = folder / "keys.toml"
    write_keys(
        path, [{"id": key, "hash": hash_key(key), "offices": allowed, **fields} for key, allowed in offices.items()]
    )
    return CredentialAuthenticationProvider(KeyFile(path))
