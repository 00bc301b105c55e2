"""Stubs for an optional library without complete types, which is used in `a2c_documents/recognition/` only."""

from typing import Any

def __getattr__(name: str) -> Any: ...
