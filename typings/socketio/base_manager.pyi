from collections.abc import Callable
from typing import Any

class BaseManager:
    callbacks: dict[str, dict[int, Callable[..., Any]]]
    def is_connected(self, sid: str, namespace: str) -> bool: ...
    def eio_sid_from_sid(self, sid: str, namespace: str) -> str | None: ...
