"""What was read of files, kept on disk by content: a restart over an unchanged folder reads nothing again.

One SQLite database for each folder, in the cache of the user. It may be deleted at any time; one that is damaged is
made anew. Words are kept for searching; a character of a script without spaces counts as a word.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import re
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

from a2c_smcp.documents.folder import Stamp

logger = logging.getLogger(__name__)

SCHEMA_VERSION = 1
MAX_BYTES = 500_000_000
"""Of pages; the least recently used go first."""

_SCHEMA = """
CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER, modified_ns INTEGER, digest TEXT);
CREATE TABLE documents (digest TEXT PRIMARY KEY, facts TEXT, used REAL, has_words INTEGER DEFAULT 0);
CREATE TABLE pages (digest TEXT, number INTEGER, body BLOB, PRIMARY KEY (digest, number)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (text, digest UNINDEXED, page UNINDEXED, element UNINDEXED);
CREATE TABLE word_rows (digest TEXT, first INTEGER, last INTEGER);
CREATE INDEX word_rows_digest ON word_rows (digest);
"""
_SPACELESS = re.compile("([\u2e80-\u2fdf\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff])")
_BETWEEN = re.compile(f"(?<={_SPACELESS.pattern[1:-1]})([\\[\\]]?) (?=[\\[\\]]?{_SPACELESS.pattern[1:-1]})")
_WORD = re.compile(r"\w+")


def default_location(root: Path) -> Path:
    """Where the database of a folder is."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = blake2b(str(root).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return cache / "a2c" / "documents" / f"{name}.db"


Method = TypeVar("Method", bound=Callable[..., None])


def _at_best(method: Method) -> Method:
    """What cannot be written is not kept, and that is all: a full disk must not keep anybody from reading."""

    @functools.wraps(method)
    def attempt(*args: Any, **options: Any) -> None:
        try:
            method(*args, **options)
        except (sqlite3.Error, UnicodeError, OverflowError) as error:
            logger.warning("nothing can be kept on disk: %s", error)

    return cast("Method", attempt)


class Store:
    """The database. Safe to use from any thread, one at a time. Without a place to write it lives in memory."""

    def __init__(self, location: Path | None) -> None:
        self._lock = threading.Lock()
        self._database = _open(location)

    # ------------------------------------------------------------------------------------------------------------ files

    def digests(self) -> dict[str, tuple[Stamp, str]]:
        """What is known of the files, by path."""
        with self._lock:
            rows = self._database.execute("SELECT path, size, modified_ns, digest FROM files").fetchall()
        return {path: (Stamp(size, modified_ns), digest) for path, size, modified_ns, digest in rows}

    @_at_best
    def keep_files(self, files: Iterable[tuple[str, Stamp, str]]) -> None:
        """Remember the content of files."""
        rows = [(path, stamp.size, stamp.modified_ns, digest) for path, stamp, digest in files]
        with self._lock, self._database:
            self._database.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", rows)

    @_at_best
    def forget_files(self, paths: Iterable[str]) -> None:
        """They are not there any more."""
        with self._lock, self._database:
            self._database.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in paths])

    # -------------------------------------------------------------------------------------------------------- documents

    def facts(self) -> dict[str, dict[str, Any]]:
        """The facts of all documents that were read, by content."""
        with self._lock:
            rows = self._database.execute("SELECT digest, facts FROM documents").fetchall()
        return {digest: json.loads(facts) for digest, facts in rows}

    @_at_best
    def keep_facts(self, digest: str, facts: dict[str, Any]) -> None:
        """Remember what a document says of itself."""
        with self._lock, self._database:
            self._database.execute(
                "INSERT INTO documents (digest, facts, used) VALUES (?, ?, ?) "
                "ON CONFLICT (digest) DO UPDATE SET facts = excluded.facts, used = excluded.used",
                (digest, json.dumps(facts, ensure_ascii=False), time.time()),
            )

    def page(self, digest: str, number: int) -> dict[str, Any] | None:
        """A page that was read before."""
        with self._lock:
            try:
                row = self._database.execute(
                    "SELECT body FROM pages WHERE digest = ? AND number = ?", (digest, number)
                ).fetchone()
                return json.loads(zlib.decompress(row[0])) if row is not None else None
            except (sqlite3.Error, zlib.error, ValueError) as error:
                logger.warning("what was kept cannot be read: %s", error)
                return None

    @_at_best
    def keep_page(self, digest: str, number: int, page: dict[str, Any]) -> None:
        """Remember a page."""
        body = zlib.compress(json.dumps(page, ensure_ascii=False).encode("utf-8", "replace"), 1)
        with self._lock, self._database:
            self._database.execute("INSERT OR REPLACE INTO pages VALUES (?, ?, ?)", (digest, number, body))
            self._database.execute("UPDATE documents SET used = ? WHERE digest = ?", (time.time(), digest))

    @_at_best
    def tidy(self, max_bytes: int = MAX_BYTES) -> None:
        """Forget content that no file has, and pages that were not used for long where there are too many."""
        with self._lock, self._database:
            unused = "SELECT digest FROM documents WHERE digest NOT IN (SELECT digest FROM files)"
            for (digest,) in self._database.execute(unused).fetchall():
                self._forget(digest)
            (size,) = self._database.execute("SELECT COALESCE(SUM(LENGTH(body)), 0) FROM pages").fetchone()
            oldest = self._database.execute("SELECT digest FROM documents ORDER BY used").fetchall()
            for (digest,) in oldest:
                if size <= max_bytes:
                    break
                sizes = "SELECT COALESCE(SUM(LENGTH(body)), 0) FROM pages WHERE digest = ?"
                size -= self._database.execute(sizes, (digest,)).fetchone()[0]
                self._database.execute("DELETE FROM pages WHERE digest = ?", (digest,))

    def _forget(self, digest: str) -> None:
        for first, last in self._database.execute("SELECT first, last FROM word_rows WHERE digest = ?", (digest,)):
            self._database.execute("DELETE FROM words WHERE rowid BETWEEN ? AND ?", (first, last))
        for table in ("documents", "pages", "word_rows"):
            self._database.execute(f"DELETE FROM {table} WHERE digest = ?", (digest,))

    # ------------------------------------------------------------------------------------------------------------ words

    def without_words(self) -> set[str]:
        """The documents that cannot be searched yet."""
        with self._lock:
            rows = self._database.execute("SELECT digest FROM documents WHERE has_words = 0").fetchall()
        return {digest for (digest,) in rows}

    @_at_best
    def keep_words(self, digest: str, words: Iterable[tuple[int, str, str]]) -> None:
        """Make a document searchable: page, element and text of all that is in it."""
        rows = [(_spaced(text), digest, page, element) for page, element, text in words]
        with self._lock, self._database:
            known = self._database.execute("SELECT has_words FROM documents WHERE digest = ?", (digest,)).fetchone()
            if known is None or known[0]:
                return  # somebody was faster
            (before,) = self._database.execute("SELECT COALESCE(MAX(rowid), 0) FROM words").fetchone()
            self._database.executemany("INSERT INTO words VALUES (?, ?, ?, ?)", rows)
            if rows:
                span = digest, before + 1, before + len(rows)
                self._database.execute("INSERT INTO word_rows VALUES (?, ?, ?)", span)
            self._database.execute("UPDATE documents SET has_words = 1 WHERE digest = ?", (digest,))

    def search(self, query: str, limit: int) -> list[tuple[str, int, str, str]]:
        """The best places for a query: content, page, element, and the words around it with the hits in brackets.

        Only in what some file has.
        """
        terms = [_spaced(word).split() for word in _WORD.findall(query)]
        if not terms:
            return []
        wanted = ['"' + " ".join(term) + '"' + ("*" if len(term) == 1 else "") for term in terms]
        statement = (
            "SELECT digest, page, element, snippet(words, 0, '[', ']', '…', 24) FROM words "
            "WHERE words MATCH ? AND digest IN (SELECT digest FROM files) ORDER BY rank LIMIT ?"
        )
        with self._lock:
            found = self._database.execute(statement, (" ".join(wanted), limit)).fetchall()
            if not found and len(wanted) > 1:  # nothing has all of the words: what has any of them?
                found = self._database.execute(statement, (" OR ".join(wanted), limit)).fetchall()
        return [(digest, page, element, _unspaced(snippet)) for digest, page, element, snippet in found]

    def limit(self, max_pages: int) -> None:
        """Let the database grow no further than so many of its pages."""
        with self._lock:
            self._database.execute(f"PRAGMA max_page_count = {max_pages}")

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._database.close()


def _open(location: Path | None) -> sqlite3.Connection:
    if location is not None:
        try:
            location.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return _connect(str(location))
        except sqlite3.DatabaseError as error:
            if not isinstance(error, sqlite3.OperationalError):
                logger.warning("%s is damaged and made anew: %s", location, error)
                for suffix in ("", "-wal", "-shm"):
                    with contextlib.suppress(OSError):
                        location.with_name(location.name + suffix).unlink()
                return _connect(str(location))
            logger.warning("nothing is kept on disk: %s: %s", location, error)
        except OSError as error:
            logger.warning("nothing is kept on disk: %s", error)
    return _connect(":memory:")


def _connect(location: str) -> sqlite3.Connection:
    database = sqlite3.connect(location, check_same_thread=False, timeout=10)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        database.close()
        raise sqlite3.DatabaseError("its pages do not fit together")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            with contextlib.suppress(sqlite3.OperationalError):  # tables that belong to another
                database.execute(f"DROP TABLE {name}")
        database.executescript(_SCHEMA)
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        database.commit()
    return database


def _spaced(text: str) -> str:
    return _SPACELESS.sub(r" \1 ", text)


def _unspaced(text: str) -> str:
    """Words as they were written, on one line."""
    return _BETWEEN.sub(r"\1", " ".join(text.split()))
