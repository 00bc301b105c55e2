"""Sessions that outlive the process: in a file that only its owner can read, without what opens them."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from a2c_smcp.utils.system.files import write_private_file

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """A session as it is kept. Neither the cookie nor the credential can be made of it."""

    token_hash: str
    reference: str
    csrf: str
    opened: float
    used: float


class Keeper(Protocol):
    """Keeps sessions."""

    def load(self) -> list[Kept]:
        """The sessions that were kept last."""
        ...

    def save(self, sessions: Sequence[Kept]) -> None:
        """Keep these sessions, and no others. Does not wait until they are on disk."""
        ...

    def close(self) -> None:
        """Finish what `save` began."""
        ...


class SessionFile:
    """A `Keeper` in a file. Without it, people log in again after a restart: a failure is logged, and is no error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # One thread: writes come in their order, and the event loop does not wait for the disk.
        self._writing = ThreadPoolExecutor(1, "console sessions")

    def load(self) -> list[Kept]:
        """See `Keeper`."""
        try:
            return [Kept(**each) for each in json.loads(self._path.read_text("utf-8"))]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError) as error:
            logger.warning("%s cannot be read: %s; people log in to the console again", self._path, error)
            return []

    def save(self, sessions: Sequence[Kept]) -> None:
        """See `Keeper`."""
        self._writing.submit(self._write, json.dumps([asdict(each) for each in sessions]).encode())

    def close(self) -> None:
        """See `Keeper`."""
        self._writing.shutdown()

    def _write(self, data: bytes) -> None:
        try:
            write_private_file(self._path, data)
        except OSError as error:
            logger.warning("%s cannot be written: %s; a restart ends the sessions of the console", self._path, error)
