"""Tells the office what changed: the first change at once, a burst as few notices, the last change always."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

PAUSE = 0.1
"""Seconds between two notices of one kind."""


class Announcer:
    """Sends notices by kind. While `send` says that nobody can be told, it remembers what to tell later."""

    def __init__(self, send: Callable[[str], Awaitable[bool]]) -> None:
        self._send = send
        self._due: set[str] = set()
        self._workers: dict[str, asyncio.Task[None]] = {}

    def announce(self, kind: str) -> None:
        """Something of this kind changed."""
        self._due.add(kind)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # changed before anything runs: told when we are in an office
        worker = self._workers.get(kind)
        if worker is None or worker.done():
            self._workers[kind] = loop.create_task(self._work(kind), name=f"announce {kind}")

    def catch_up(self) -> None:
        """We are in an office again: tell what changed meanwhile."""
        for kind in tuple(self._due):
            self.announce(kind)

    async def aclose(self) -> None:
        """Tell nobody anything any more."""
        workers = [worker for worker in self._workers.values() if not worker.done()]
        for worker in workers:
            worker.cancel()
        if workers:
            await asyncio.wait(workers)

    async def _work(self, kind: str) -> None:
        while kind in self._due:
            self._due.discard(kind)
            try:
                told = await self._send(kind)
            except Exception as error:  # the connection broke just now
                logger.debug("announcing %s failed: %s", kind, error)
                told = False
            if not told:
                self._due.add(kind)
                return
            await asyncio.sleep(PAUSE)
