"""The cache of everything read from files: a database on disk, and the latest pages in memory.

A restart over an unchanged folder opens no file. Entries are keyed by content (`digest`), not by path: a renamed or
copied file, or one that gets an old content back, is not read again. Each folder has one database in the user's cache
directory, which may be deleted at any time. Bodies are compressed with zlib, whose checksum shows damage by a bad disk:
a damaged entry counts as missing and is read from the file again.
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

SCHEMA_VERSION = 3
MAX_BYTES = 500_000_000
"""Bytes of pages; the least recently used are deleted first."""
MAX_BYTES_IN_MEMORY = 50_000_000
"""The same, without a disk."""
KEPT_BETWEEN = 500
"""New contents after which the store is tidied."""

_SCHEMA = (
    "CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER, modified_ns INTEGER, changed_ns INTEGER, inode INTEGER,"
    " digest TEXT)",
    "CREATE TABLE documents (digest TEXT PRIMARY KEY, facts BLOB, used REAL)",
    # `recognizer` is empty for pages as the file has them.
    "CREATE TABLE pages (digest TEXT, number INTEGER, recognizer TEXT, body BLOB,"
    " PRIMARY KEY (digest, number, recognizer)) WITHOUT ROWID",
    "CREATE TABLE failures (digest TEXT, act TEXT, problem TEXT, is_final INTEGER, at REAL,"
    " PRIMARY KEY (digest, act)) WITHOUT ROWID",
    *WORDS_SCHEMA,
)
_KEEP_DOCUMENT = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)"


def default_location(root: Path) -> Path:
    """The path of the database of a folder."""
    # A hash, because a path is too long for a file name and has characters that are not allowed in one.
    name = blake2b(str(root).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return cache_folder() / "documents" / f"{name}.db"


@dataclass(frozen=True, slots=True)
class Known:
    """The stamp of a file when it was read, its content, and its facts."""

    stamp: Stamp
    digest: str
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """A request about a content that failed."""

    problem: str
    is_final: bool
    """Whether it is not retried."""
    at: float


class Store:
    """The database of a folder. Safe to use from any thread. Without a location, it is lost when it is closed."""

    def __init__(self, location: Path | None, max_bytes: int = MAX_BYTES, patience: float = PATIENCE) -> None:
        self._database = Database(location, _SCHEMA, SCHEMA_VERSION ^ fingerprint(), patience)
        self._max_bytes = max_bytes
        self.words = Words(self._database)
        self._used: set[str] = set()
        """Contents used since the last tidying, which writes the time of use: no read has to be a write."""
        self._came = self._grew = 0
        """Contents and bytes of pages added since the store was last tidied."""
        self.failing = {digest for (digest,) in self._database.read("SELECT DISTINCT digest FROM failures")}
        """Contents with failures. There are few, and this set spares all others a query for each request."""

    # ------------------------------------------------------------------------------------------------- files, documents

    def files(self) -> dict[str, Known]:
        """The stored stamps and facts of files, by path."""
        rows = self._database.read(
            "SELECT path, size, modified_ns, changed_ns, inode, digest, facts FROM files JOIN documents USING (digest)"
        )
        # A file whose entry is missing or damaged is not known, and is read again.
        return {
            path: Known(Stamp(*stamp), digest, facts)
            for path, *stamp, digest, packed in rows
            if (facts := _facts(packed)) is not None
        }

    def keep(self, path: str, known: Known) -> None:
        """Store a file, and the facts of its content."""
        stamp = known.stamp
        row = path, stamp.size, stamp.modified_ns, stamp.changed_ns, stamp.inode, known.digest
        document = _document(known.digest, known.facts)

        # One transaction: a file must never refer to facts that are not stored.
        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute(_KEEP_DOCUMENT, document)

        self._came += 1
        self._database.write(work)

    def forget_files(self, paths: Iterable[str]) -> None:
        """Delete the entries of files that do not exist any more. Their contents stay until the store is tidied."""
        self._database.put("DELETE FROM files WHERE path = ?", *((path,) for path in paths))

    def facts(self, digest: str) -> dict[str, Any] | None:
        """The facts of a content, if it was read before."""
        rows = self._database.read("SELECT facts FROM documents WHERE digest = ?", (digest,))
        return _facts(rows[0][0]) if rows else None

    def keep_facts(self, digest: str, facts: dict[str, Any]) -> None:
        """Store the facts of a content."""
        self._database.put(_KEEP_DOCUMENT, _document(digest, facts))

    # -------------------------------------------------------------------------------------------------- pages, failures

    def page(self, digest: str, number: int, recognizer: str = "") -> bytes | None:
        """The JSON of a page, if it was read before; with the text that a recognizer found, if one is named."""
        statement = "SELECT body FROM pages WHERE digest = ? AND number = ? AND recognizer = ?"
        rows = self._database.read(statement, (digest, number, recognizer))
        self._used.add(digest)
        return _unpacked(rows[0][0]) if rows else None

    def keep_page(self, digest: str, number: int, body: bytes, recognizer: str = "") -> None:
        """Store the JSON of a page."""
        # The fastest level: a client is waiting for this page.
        packed = zlib.compress(body, 1)
        self._used.add(digest)
        self._grew += len(packed)
        self._database.put("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?)", (digest, number, recognizer, packed))

    def failure(self, digest: str, act: str) -> Failure | None:
        """How a request about a content failed, if it did."""
        rows = self._database.read(
            "SELECT problem, is_final, at FROM failures WHERE digest = ? AND act = ?", (digest, act)
        )
        return Failure(rows[0][0], bool(rows[0][1]), rows[0][2]) if rows else None

    def keep_failure(self, digest: str, act: str, failure: Failure) -> None:
        """Store that a request about a content fails."""
        row = digest, act, failure.problem, failure.is_final, failure.at
        self.failing.add(digest)
        self._database.put("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)", row)

    # ----------------------------------------------------------------------------------------------------------- bounds

    @property
    def is_crowded(self) -> bool:
        """Whether enough was added that the store should be tidied."""
        return self._came > KEPT_BETWEEN or self._grew > self._bound // 10

    @property
    def _bound(self) -> int:
        return min(self._max_bytes, MAX_BYTES_IN_MEMORY) if self._database.is_in_memory else self._max_bytes

    def tidy(self, needed: Collection[str]) -> None:
        """Delete contents that no file has. If the store is too large, delete pages that were not used for long."""
        # Swapped before the work, so that contents used in the meantime count for the next tidying.
        used, self._used = self._used, set()
        self._came = self._grew = 0
        # As one JSON value: a folder may have more documents than a statement may have parameters.
        contents, bound = json.dumps(list(needed)), self._bound

        def work(connection: sqlite3.Connection) -> None:
            touched = "UPDATE documents SET used = ? WHERE digest IN (SELECT value FROM json_each(?))"
            connection.execute(touched, (time.time(), json.dumps(list(used))))
            # Files of a disk that is not mounted are in `files` but not among the documents. Their contents stay until
            # the disk is back.
            unneeded = "digest NOT IN (SELECT value FROM json_each(?)) AND digest NOT IN (SELECT digest FROM files)"
            known = "SELECT digest FROM indexed UNION SELECT digest FROM scans"
            for (digest,) in connection.execute(f"SELECT * FROM ({known}) WHERE {unneeded}", (contents,)).fetchall():
                forget_words(connection, digest)
            for table in ("documents", "pages", "failures"):
                connection.execute(f"DELETE FROM {table} WHERE {unneeded}", (contents,))
            # Least recently used first. Contents without a time of use come before all others.
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
        self.words.forget_copy()
        self.failing &= {digest for (digest,) in self._database.read("SELECT DISTINCT digest FROM failures")}

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def _document(digest: str, facts: dict[str, Any]) -> tuple[str, bytes, float]:
    # Titles may contain lone surrogates, which UTF-8 cannot encode.
    return digest, zlib.compress(json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace"), 1), time.time()


def _facts(packed: bytes) -> dict[str, Any] | None:
    body = _unpacked(packed)
    return json.loads(body) if body is not None else None


def _unpacked(packed: bytes) -> bytes | None:
    """The unpacked bytes; None if they are damaged."""
    try:
        return zlib.decompress(packed)
    except (zlib.error, TypeError) as error:
        logger.info("what was kept of a file is damaged: %s", error)
        return None


# --------------------------------------------------------------------------------------------------------------- memory


MAX_BYTES_AT_HAND = 32_000_000
_ENTRY_OVERHEAD = 300
"""Bytes of an entry besides its content."""


class Memory:
    """The latest pages, by content and number, within a budget of bytes. The least recently used are dropped first.

    Pages are kept as JSON bytes. Parsed objects take many times as much memory, and their size is not known.
    """

    def __init__(self, max_bytes: int = MAX_BYTES_AT_HAND) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pages: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def get(self, key: tuple[str, int]) -> bytes | None:
        """A page, if it is in memory."""
        body = self._pages.get(key)
        if body is not None:
            self._pages.move_to_end(key)
        return body

    def put(self, key: tuple[str, int], body: bytes) -> None:
        """Keep a page in memory."""
        self._bytes -= self._size(self._pages.pop(key, None))
        self._pages[key] = body
        self._bytes += self._size(body)
        while self._bytes > self._max_bytes:
            self._bytes -= self._size(self._pages.popitem(last=False)[1])

    @staticmethod
    def _size(body: bytes | None) -> int:
        return len(body) + _ENTRY_OVERHEAD if body is not None else 0
