"""The `bundle_id` of an MCP server: its identity on the wire for peers of A2C-SMCP 0.3 and later.

A configured id counts as it is. Any other is derived from the server's name or, if nothing usable is left of the name,
from its connection. Every implementation derives the same id, so that an Agent recognises an MCP server that moves from
one implementation to another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

_FOREIGN = re.compile("[^A-Za-z0-9_-]")
_RUNS = re.compile("__+")
_VALID = re.compile("[A-Za-z0-9_-]+")


def is_bundle_id(text: str) -> bool:
    """Whether an id may be configured: the characters of one, without the `__` that separates it from a tool's name."""
    return _VALID.fullmatch(text) is not None and "__" not in text


def normalized(name: str) -> str:
    """What a name contributes to an id; empty if nothing of it is usable."""
    return _RUNS.sub("_", _FOREIGN.sub("_", name)).strip("_-")


def bundle_id(name: str, kind: str, server_parameters: Mapping[str, Any]) -> str:
    """The id of an MCP server that has none configured. The parameters are those of the file, with their placeholders:
    a secret must not change the id, nor be a part of it."""
    return normalized(name) or f"bundle_{_fingerprint(kind, server_parameters)}"


def _fingerprint(kind: str, parameters: Mapping[str, Any]) -> str:
    fields = ("command", "args", "env") if kind == "stdio" else ("url", "headers")
    hashed = hashlib.sha256(_text(kind))
    for field in fields:
        hashed.update(_field(parameters.get(field), is_list=field == "args", is_map=field in ("env", "headers")))
    return hashed.hexdigest()[:16]


def _field(value: Any, *, is_list: bool, is_map: bool) -> bytes:
    if is_list:
        items = list(cast("Sequence[Any]", value or ()))
        return _count(items) + b"".join(_text(str(item)) for item in items)
    if is_map:
        pairs = sorted((str(key), str(each)) for key, each in cast("Mapping[Any, Any]", value or {}).items())
        return _count(pairs) + b"".join(_text(key) + _text(each) for key, each in pairs)
    return _text(str(value or ""))


def _text(text: str) -> bytes:
    encoded = text.encode(errors="surrogatepass")  # JSON may have half of a pair
    return len(encoded).to_bytes(4, "big") + encoded


def _count(items: Sequence[Any]) -> bytes:
    return len(items).to_bytes(4, "big")
