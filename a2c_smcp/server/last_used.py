"""The time of the last use of each API key, in a file beside the key file: `keys.toml.used`.

The Server never writes the key file itself, because its owner may be editing it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

logger = logging.getLogger(__name__)

WRITE_SECONDS = 60.0
"""Seconds between two writes of the file."""
CLOSE_SECONDS = 5.0
"""Time for the last write when the Server stops: a disk that hangs must not keep it from stopping."""


class LastUsed:
    """Notes uses, and has a thread write them to the file, at most once a minute. Safe in threads.

    Several Servers may share the file: a write keeps newer times in it. `known` returns the hashes of the keys that
    exist; all others are dropped.
    """

    def __init__(self, key_file: Path, known: Callable[[], Collection[str]]) -> None:
        self._path = path_beside(key_file)
        self._known = known
        self._noted: dict[str, float] = {}
        self._unwritten: dict[str, float] = {}
        self._writer: threading.Thread | None = None
        self._is_closed = threading.Event()
        self._lock = threading.Lock()

    def note(self, hashed: str) -> None:
        """Note that a key is used now."""
        # Checked without the lock: this runs for each open connection every few seconds, and two threads that pass it
        # at once only note the same use twice.
        now = time.time()
        if now - self._noted.get(hashed, 0.0) < WRITE_SECONDS or self._is_closed.is_set():
            return
        with self._lock:
            self._noted[hashed] = self._unwritten[hashed] = now
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_from_time_to_time, name="last used", daemon=True)
                self._writer.start()

    def all(self) -> dict[str, datetime]:
        """The last use of each key, by its hash: of the file, and what was noted since."""
        noted = {hashed: datetime.fromtimestamp(used, UTC) for hashed, used in self._noted.copy().items()}
        there = read_uses(self._path)
        return {hashed: max(uses[hashed] for uses in (there, noted) if hashed in uses) for hashed in {*there, *noted}}

    def close(self) -> None:
        """Write what was noted, and stop."""
        self._is_closed.set()
        if (writer := self._writer) is not None:
            writer.join(CLOSE_SECONDS)

    def _write_from_time_to_time(self) -> None:
        while True:
            with self._lock:
                uses, self._unwritten = self._unwritten, {}
                # The thread ends under the lock under which `note` starts one, so that no use is left without a thread.
                if not uses:
                    self._writer = None
                    return
            try:
                self._write(uses)
            except OSError as error:
                # A read-only folder, for example. One line, and no more attempts: keys work without this file.
                logger.warning("%s cannot be written: %s; the last use of keys is not recorded", self._path, error)
                self._is_closed.set()
            self._is_closed.wait(WRITE_SECONDS)

    def _write(self, uses: dict[str, float]) -> None:
        known = self._known()
        there = {hashed: used.timestamp() for hashed, used in read_uses(self._path).items()}
        latest = {hashed: max(there.get(hashed, 0.0), uses.get(hashed, 0.0)) for hashed in {*there, *uses}}
        stamps = {
            hashed: datetime.fromtimestamp(used, UTC).isoformat(timespec="seconds")
            for hashed, used in sorted(latest.items())
            if hashed in known
        }
        write_privately(self._path, json.dumps(stamps, indent=1) + "\n")


def path_beside(key_file: Path) -> Path:
    """The file with the last uses of the keys of a key file."""
    return key_file.with_name(key_file.name + ".used")


def read_uses(path: Path) -> dict[str, datetime]:
    """The time of the last use of each key, by its hash; entries that cannot be read are left out."""
    uses: dict[str, datetime] = {}
    try:
        entries: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return uses
    for hashed, used in cast("dict[str, Any]", entries).items() if isinstance(entries, dict) else ():
        with contextlib.suppress(TypeError, ValueError):
            moment = datetime.fromisoformat(used)
            uses[hashed] = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return uses


def write_privately(path: Path, text: str) -> None:
    """Replace a file, readable by its owner only.

    The text goes into a new file, which is then renamed: a reader sees the old file or the new one, never a part of it,
    and a crash leaves the old one.
    """
    # O_EXCL makes sure that the file is new and therefore has these permissions from the start; one that a crash left
    # behind, or that another user put there, is removed first. Several Servers may write at the same moment, each into
    # a file of its own.
    partial = path.with_name(f"{path.name}.{os.getpid()}.new")
    partial.unlink(missing_ok=True)
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    partial.replace(path)
