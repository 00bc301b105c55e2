"""Libraries over folders, as the fixtures of `tests/documents` make them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from a2c_documents.library.library import Library
from a2c_documents.workers.pool import Reply, Workers

MakeLibrary = Callable[..., Library]


class CountingWorkers(Workers):
    """Workers that remember what was asked of them."""

    def __init__(self, count: int = 2, seconds: float = 30, memory_bytes: int = 0) -> None:
        super().__init__(count, seconds, memory_bytes)
        self.asked: list[str] = []

    async def do(self, what: str, path: Path, *details: Any) -> Reply:
        self.asked.append(what)
        return await super().do(what, path, *details)
