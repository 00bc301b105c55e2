"""What is wrong with a list of an MCP server, for its owner."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from a2c_smcp.computer.config.secrets import Redact
from a2c_smcp.computer.mcp.failures import MAX_WORDS

logger = logging.getLogger(__name__)


class Notes:
    """The problems of the newest list, without secrets, for the status of the server."""

    def __init__(self, server: str, redact: Redact) -> None:
        self._server = server
        self._redact = redact
        self._notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:
        return iter(self._notes)

    def replace(self, problems: Iterable[str]) -> None:
        """The list was read again, and has these problems now."""
        notes = tuple(self._redact(problem, MAX_WORDS) for problem in problems)
        for note in notes:
            # A list is read again and again: each problem is logged once.
            if note not in self._notes:
                logger.warning("MCP server %s: %s", self._server, note)
        self._notes = notes
