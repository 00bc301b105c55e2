"""A SQLite database that may fail at any time and is then replaced by an empty one elsewhere, with one warning.

A full disk, or a database file that is damaged, deleted, read-only or locked, must not stop documents from being read.
Losing the database costs only time: everything in it can be read from the files again. The order of places is the file,
a temporary file without a name, and memory.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds to wait for a lock that another process holds."""
_RETRY_SECONDS = 0.01
"""Between two attempts to open a database that another connection is creating."""
_TEMPORARY = ""
"""SQLite's name for a temporary file, which takes little memory and is deleted when it is closed."""
_MEMORY = ":memory:"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

T = TypeVar("T")
Row = tuple[Any, ...]


class Database:
    """Safe to use from any thread, one at a time."""

    def __init__(self, location: Path | None, schema: Sequence[str], version: int, patience: float = PATIENCE) -> None:
        self._location = location
        self._schema = schema
        self._version = version
        self._patience = patience
        self._lock = threading.Lock()
        self.losses = 0
        """How often the database was replaced by an empty one."""
        self._places = ([str(location)] if location is not None else []) + [_TEMPORARY, _MEMORY]
        """The current place, then the fallbacks."""
        self._connection = self._settle()

    @property
    def is_in_memory(self) -> bool:
        """Whether no disk is available."""
        return self._places[0] == _MEMORY

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query."""
        return self._attempt(lambda connection: connection.execute(statement, values).fetchall())

    def put(self, statement: str, *rows: Sequence[Any]) -> None:
        """Run a statement for each row, in one transaction."""
        self.write(lambda connection: connection.executemany(statement, rows))

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction. If the database fails, `work` runs again on the empty replacement."""

        def transaction(connection: sqlite3.Connection) -> T:
            with connection:
                return work(connection)

        return self._attempt(transaction)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._connection.close()

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            while True:
                try:
                    # If this fails, `work` runs again on an empty database at the next place.
                    return work(self._connection)
                except sqlite3.ProgrammingError:
                    raise  # our own mistake, or it is closed
                except sqlite3.DatabaseError as error:
                    self._lose(error)

    def _lose(self, error: sqlite3.Error) -> None:
        """Move to the next place.

        Raises:
            sqlite3.Error: there is no other place.
        """
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._leave(error)
        self._connection = self._settle()
        self.losses += 1

    def _settle(self) -> sqlite3.Connection:
        """Open the database at the first place that works."""
        while True:
            try:
                return self._open(self._places[0])
            except (sqlite3.DatabaseError, OSError) as error:
                self._leave(error)

    def _leave(self, error: sqlite3.Error | OSError) -> None:
        if len(self._places) == 1:
            raise error
        place = self._places.pop(0)
        # Extended error codes have the primary code in their low byte.
        if place == str(self._location) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            logger.warning("%s is damaged and made anew: %s", place, error)
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    Path(place + suffix).unlink()
            self._location = None  # only once: a disk that damages the new file as well is not used
            self._places.insert(0, place)
        elif place not in (_TEMPORARY, _MEMORY):
            logger.warning("what is read is not kept from now on: %s: %s", place, error)
        else:
            logger.warning("what is read is kept in memory: there is no place for temporary files: %s", error)

    def _open(self, place: str) -> sqlite3.Connection:
        """Open the database at a place, and wait for other processes that open it at the same moment."""
        # SQLite itself waits for most locks. While another connection changes the journal mode of a new file or
        # recovers one, it reports the lock at once instead.
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return self._try_open(place)
            except sqlite3.OperationalError as error:
                is_busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if not is_busy or time.monotonic() >= deadline:
                    raise
                time.sleep(_RETRY_SECONDS)

    def _try_open(self, place: str) -> sqlite3.Connection:
        if place not in (_TEMPORARY, _MEMORY):
            Path(place).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            make_private(Path(place))
        # Any thread may use the connection, because `_lock` admits one at a time.
        connection = sqlite3.connect(place, check_same_thread=False, timeout=self._patience)
        try:
            # A reader never waits for a writer in WAL mode. With synchronous = NORMAL a power cut may lose the last
            # transactions, but not damage the file: the right trade for a cache.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise _Damaged("its pages do not fit together")
            if not self._is_made(connection):
                with connection:
                    connection.execute("BEGIN IMMEDIATE")  # another process may create the tables at the same moment
                    if not self._is_made(connection):
                        self._make(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_made(self, connection: sqlite3.Connection) -> bool:
        return connection.execute("PRAGMA user_version").fetchone() == (self._version,)

    def _make(self, connection: sqlite3.Connection) -> None:
        """Create empty tables, and drop those of another version."""
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            with contextlib.suppress(sqlite3.OperationalError):  # shadow tables, which FTS5 drops with their own table
                connection.execute(f"DROP TABLE {name}")
        for statement in self._schema:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {self._version}")


def make_private(path: Path) -> None:
    """Let only the owner read a database, as it has the contents of files. Its journals get the same mode."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            os.chmod(f"{path}{suffix}", 0o600)


class _Damaged(sqlite3.DatabaseError):
    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
