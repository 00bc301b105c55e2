"""What was read of files, kept by content on disk and, for a while, in memory.

A restart over an unchanged folder reads nothing again. There is one database for each folder, in the cache of the user.
It may be deleted at any time. Texts are packed with a checksum, so that what a bad disk has changed is read from the
file again instead of being told.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
import zlib
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from a2c_documents.folder.files import Stamp
from a2c_documents.registry import fingerprint
from a2c_documents.store.database import PATIENCE, Database
from a2c_documents.store.words import SCHEMA as WORDS_SCHEMA
from a2c_documents.store.words import Words, forget_words
from a2c_smcp.utils.system.paths import cache_folder

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 2
MAX_BYTES = 500_000_000
"""Of pages; the least recently used go first."""
MAX_BYTES_IN_MEMORY = 50_000_000
"""The same, where there is no disk."""
KEPT_BETWEEN = 500
"""So many contents may come before those that are not needed any more go."""

_SCHEMA = (
    "CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER, modified_ns INTEGER, changed_ns INTEGER, inode INTEGER,"
    " digest TEXT)",
    "CREATE TABLE documents (digest TEXT PRIMARY KEY, facts BLOB, used REAL)",
    "CREATE TABLE pages (digest TEXT, number INTEGER, body BLOB, PRIMARY KEY (digest, number)) WITHOUT ROWID",
    "CREATE TABLE failures (digest TEXT, act TEXT, problem TEXT, is_final INTEGER, at REAL,"
    " PRIMARY KEY (digest, act)) WITHOUT ROWID",
    *WORDS_SCHEMA,
)
_KEEP_DOCUMENT = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)"


def default_location(root: Path) -> Path:
    """Where the database of a folder is."""
    name = blake2b(str(root).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return cache_folder() / "documents" / f"{name}.db"


@dataclass(frozen=True, slots=True)
class Known:
    """A file as it was read, and what it said of itself."""

    stamp: Stamp
    digest: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be read of a content."""

    problem: str
    is_final: bool
    """It is not tried again."""
    at: float


class Store:
    """The database of a folder. Safe to use from any thread. Without a location, nothing outlives it."""

    def __init__(self, location: Path | None, max_bytes: int = MAX_BYTES, patience: float = PATIENCE) -> None:
        self._database = Database(location, _SCHEMA, SCHEMA_VERSION ^ fingerprint(), patience)
        self._max_bytes = max_bytes
        self.words = Words(self._database)
        self._used: set[str] = set()
        """Contents that were read from here since it was tidied."""
        self._came = self._grew = 0
        """Contents, and bytes of pages, that came since it was tidied."""
        self.failing = {digest for (digest,) in self._database.read("SELECT DISTINCT digest FROM failures")}
        """Contents of which something could not be read: few, so that others need not be asked about."""

    # ------------------------------------------------------------------------------------------------- files, documents

    def files(self) -> dict[str, Known]:
        """What is known of the files, by path."""
        rows = self._database.read(
            "SELECT path, size, modified_ns, changed_ns, inode, digest, facts FROM files JOIN documents USING (digest)"
        )
        return {
            path: Known(Stamp(*stamp), digest, facts)
            for path, *stamp, digest, packed in rows
            if (facts := _facts(packed)) is not None
        }

    def keep(self, path: str, known: Known) -> None:
        """Remember a file."""
        stamp = known.stamp
        row = path, stamp.size, stamp.modified_ns, stamp.changed_ns, stamp.inode, known.digest
        document = _document(known.digest, known.facts)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute(_KEEP_DOCUMENT, document)

        self._came += 1
        self._database.write(work)

    def forget_files(self, paths: Iterable[str]) -> None:
        """They are not there any more."""
        self._database.put("DELETE FROM files WHERE path = ?", *((path,) for path in paths))

    def facts(self, digest: str) -> dict[str, Any] | None:
        """What a content says of itself, if it was read before."""
        rows = self._database.read("SELECT facts FROM documents WHERE digest = ?", (digest,))
        return _facts(rows[0][0]) if rows else None

    def keep_facts(self, digest: str, facts: dict[str, Any]) -> None:
        """Remember what a content says of itself."""
        self._database.put(_KEEP_DOCUMENT, _document(digest, facts))

    # -------------------------------------------------------------------------------------------------- pages, failures

    def page(self, digest: str, number: int) -> bytes | None:
        """The JSON of a page that was read before."""
        rows = self._database.read("SELECT body FROM pages WHERE digest = ? AND number = ?", (digest, number))
        self._used.add(digest)
        return _unpacked(rows[0][0]) if rows else None

    def keep_page(self, digest: str, number: int, body: bytes) -> None:
        """Remember the JSON of a page."""
        packed = zlib.compress(body, 1)
        self._used.add(digest)
        self._grew += len(packed)
        self._database.put("INSERT OR REPLACE INTO pages VALUES (?, ?, ?)", (digest, number, packed))

    def failure(self, digest: str, act: str) -> Failure | None:
        """How reading something of a content failed, if it did."""
        rows = self._database.read(
            "SELECT problem, is_final, at FROM failures WHERE digest = ? AND act = ?", (digest, act)
        )
        return Failure(rows[0][0], bool(rows[0][1]), rows[0][2]) if rows else None

    def keep_failure(self, digest: str, act: str, failure: Failure) -> None:
        """Remember that reading something of a content fails."""
        row = digest, act, failure.problem, failure.is_final, failure.at
        self.failing.add(digest)
        self._database.put("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)", row)

    # ----------------------------------------------------------------------------------------------------------- bounds

    @property
    def is_crowded(self) -> bool:
        """Whether so much came that it should be tidied."""
        return self._came > KEPT_BETWEEN or self._grew > self._bound // 10

    @property
    def _bound(self) -> int:
        return min(self._max_bytes, MAX_BYTES_IN_MEMORY) if self._database.is_in_memory else self._max_bytes

    def tidy(self, needed: Collection[str]) -> None:
        """Forget contents that no file has, and pages that were not used for long where there are too many."""
        used, self._used = self._used, set()
        self._came = self._grew = 0
        contents, bound = json.dumps(list(needed)), self._bound

        def work(connection: sqlite3.Connection) -> None:
            touched = "UPDATE documents SET used = ? WHERE digest IN (SELECT value FROM json_each(?))"
            connection.execute(touched, (time.time(), json.dumps(list(used))))
            unneeded = "digest NOT IN (SELECT value FROM json_each(?)) AND digest NOT IN (SELECT digest FROM files)"
            for (digest,) in connection.execute(f"SELECT digest FROM indexed WHERE {unneeded}", (contents,)).fetchall():
                forget_words(connection, digest)
            for table in ("documents", "pages", "failures"):
                connection.execute(f"DELETE FROM {table} WHERE {unneeded}", (contents,))
            sizes = connection.execute(
                "SELECT digest, SUM(LENGTH(body)) FROM pages LEFT JOIN documents USING (digest) "
                "GROUP BY digest ORDER BY MAX(COALESCE(used, 0))"
            ).fetchall()
            too_much = sum(size for _, size in sizes) - bound
            for digest, size in sizes:
                if too_much <= 0:
                    break
                connection.execute("DELETE FROM pages WHERE digest = ?", (digest,))
                too_much -= size

        self._database.write(work)
        self.failing &= {digest for (digest,) in self._database.read("SELECT DISTINCT digest FROM failures")}

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()


def _document(digest: str, facts: dict[str, Any]) -> tuple[str, bytes, float]:
    return digest, zlib.compress(json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace"), 1), time.time()


def _facts(packed: bytes) -> dict[str, Any] | None:
    body = _unpacked(packed)
    return json.loads(body) if body is not None else None


def _unpacked(packed: bytes) -> bytes | None:
    """What was packed; None where a bad disk has changed it: then it is read from the file again."""
    try:
        return zlib.decompress(packed)
    except (zlib.error, TypeError) as error:
        logger.info("what was kept of a file is damaged: %s", error)
        return None


# --------------------------------------------------------------------------------------------------------------- memory


MAX_BYTES_AT_HAND = 32_000_000
_ENTRY_OVERHEAD = 300
"""Bytes that an entry takes beside its content."""


class Memory:
    """Pages by content and number; the least recently used go first.

    They are kept as the bytes of their JSON: those can be counted, while the objects they are made into take many times
    as much and nobody knows how much.
    """

    def __init__(self, max_bytes: int = MAX_BYTES_AT_HAND) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pages: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def get(self, key: tuple[str, int]) -> bytes | None:
        """A page, if it is at hand."""
        body = self._pages.get(key)
        if body is not None:
            self._pages.move_to_end(key)
        return body

    def put(self, key: tuple[str, int], body: bytes) -> None:
        """Keep a page at hand."""
        self._bytes -= self._size(self._pages.pop(key, None))
        self._pages[key] = body
        self._bytes += self._size(body)
        while self._bytes > self._max_bytes:
            self._bytes -= self._size(self._pages.popitem(last=False)[1])

    @staticmethod
    def _size(body: bytes | None) -> int:
        return len(body) + _ENTRY_OVERHEAD if body is not None else 0
