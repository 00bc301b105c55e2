"""The words of documents in an FTS5 table.

FTS5 splits text at spaces, which Chinese, Japanese, Korean and Thai do not have. Each character of these scripts is
stored as a word of its own, and a query for several of them becomes a phrase.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

from a2c_documents.store.database import Database

SCHEMA = (
    "CREATE VIRTUAL TABLE words USING fts5 (text, digest UNINDEXED, page UNINDEXED, element UNINDEXED)",
    "CREATE TABLE indexed (digest TEXT PRIMARY KEY, first INTEGER, last INTEGER, is_complete INTEGER)",
    # Pages whose words are in a picture. `recognizer` is the one that has read them, if any.
    "CREATE TABLE scans (digest TEXT, page INTEGER, recognizer TEXT, first INTEGER, last INTEGER,"
    " PRIMARY KEY (digest, page)) WITHOUT ROWID",
)
_SPACELESS = re.compile("([\u2e80-\u2fdf\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff])")
_BETWEEN = re.compile(f"(?<={_SPACELESS.pattern[1:-1]})([\\[\\]]?) (?=[\\[\\]]?{_SPACELESS.pattern[1:-1]})")
_WORD = re.compile(r"\w+")
_MAX_QUERY, _MAX_TERMS = 500, 30
"""Characters and words of a query that are used: SQLite limits the size of an expression."""

Passage: TypeAlias = tuple[int, str, str]
"""Page, element and text."""


class Words:
    """The words of all contents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def losses(self) -> int:
        """How often all words were lost with the database."""
        return self._database.losses

    def complete(self) -> set[str]:
        """The contents that are indexed completely."""
        return {digest for (digest,) in self._database.read("SELECT digest FROM indexed WHERE is_complete")}

    def keep(
        self, digest: str, passages: Iterable[Passage], *, scans: Iterable[int] = (), is_complete: bool = True
    ) -> None:
        """Index a content, and replace what was indexed before. `scans` are its pages whose words are in a picture."""
        rows = [(_spaced(text), digest, page, element) for page, element, text in passages]

        def work(connection: sqlite3.Connection) -> None:
            _forget(connection, "indexed", digest)
            first, last = _insert(connection, rows)
            connection.execute("INSERT INTO indexed VALUES (?, ?, ?, ?)", (digest, first, last, is_complete))
            # Pages that have been recognized stay so.
            found = [(digest, page) for page in scans]
            connection.executemany("INSERT OR IGNORE INTO scans VALUES (?, ?, '', 0, -1)", found)

        self._database.write(work)

    def keep_recognized(self, digest: str, page: int, recognizer: str, texts: Iterable[tuple[str, str]]) -> None:
        """Index the recognized text of a page: elements and their texts."""
        rows = [(_spaced(text), digest, page, element) for element, text in texts]

        def work(connection: sqlite3.Connection) -> None:
            _forget(connection, "scans", digest, page)
            connection.execute(
                "INSERT INTO scans VALUES (?, ?, ?, ?, ?)", (digest, page, recognizer, *_insert(connection, rows))
            )

        self._database.write(work)

    def unrecognized(self, recognizer: str, among: Collection[str]) -> list[tuple[str, int]]:
        """Contents and pages whose pictures this recognizer has not read: first the first pages of all."""
        statement = (
            "SELECT digest, page FROM scans WHERE recognizer <> ? AND digest IN (SELECT value FROM json_each(?)) "
            "ORDER BY page, digest"
        )
        return [(digest, page) for digest, page in self._database.read(statement, (recognizer, _json(among)))]

    def recognized(self, recognizer: str, among: Collection[str]) -> tuple[int, int]:
        """How many scanned pages of these contents this recognizer has read, and how many there are."""
        statement = (
            "SELECT COALESCE(SUM(recognizer = ?), 0), COUNT(*) FROM scans "
            "WHERE digest IN (SELECT value FROM json_each(?))"
        )
        ((done, total),) = self._database.read(statement, (recognizer, _json(among)))
        return done, total

    def search(self, query: str, limit: int, among: Collection[str]) -> list[tuple[str, int, str, str]]:
        """The best places for a query: content, page, element, and the text around it with the hits in brackets.

        Only the contents in `among` are searched: older contents of an edited file may still be in the table.
        """
        terms = [_spaced(word).split() for word in _WORD.findall(query[:_MAX_QUERY])][:_MAX_TERMS]
        if not terms:
            return []
        # In quotes, so that `AND`, `OR` and `NEAR` in a query are words and not operators. The star finds longer forms,
        # such as plurals. A phrase of single characters is exact.
        wanted = ['"' + " ".join(term) + '"' + ("*" if len(term) == 1 else "") for term in terms]
        statement = (
            "SELECT digest, page, element, snippet(words, 0, '[', ']', '…', 24) FROM words "
            "WHERE words MATCH ? AND digest IN (SELECT value FROM json_each(?)) ORDER BY rank LIMIT ?"
        )
        contents = _json(among)
        found = self._database.read(statement, (" ".join(wanted), contents, limit))
        if not found and len(wanted) > 1:  # no element has all words: accept any of them
            found = self._database.read(statement, (" OR ".join(wanted), contents, limit))
        return [(digest, page, element, _unspaced(snippet)) for digest, page, element, snippet in found]


def forget_words(connection: sqlite3.Connection, digest: str) -> None:
    """Delete the words of a content.

    A content fills a range of row ids, noted in `indexed`: the digest column of an FTS5 table has no index, and a
    search for it would read the whole table.
    """
    _forget(connection, "indexed", digest)
    _forget(connection, "scans", digest)


def _forget(connection: sqlite3.Connection, table: str, digest: str, page: int | None = None) -> None:
    which, values = ("digest = ?", (digest,)) if page is None else ("digest = ? AND page = ?", (digest, page))
    for first, last in connection.execute(f"SELECT first, last FROM {table} WHERE {which}", values).fetchall():
        connection.execute("DELETE FROM words WHERE rowid BETWEEN ? AND ?", (first, last))
    connection.execute(f"DELETE FROM {table} WHERE {which}", values)


def _insert(connection: sqlite3.Connection, rows: Collection[tuple[Any, ...]]) -> tuple[int, int]:
    """Insert rows of one transaction: their ids are consecutive, and two numbers describe them."""
    (before,) = connection.execute("SELECT COALESCE(MAX(rowid), 0) FROM words").fetchone()
    connection.executemany("INSERT INTO words VALUES (?, ?, ?, ?)", rows)
    return before + 1, before + len(rows)


def _json(values: Collection[str]) -> str:
    # As one value: a folder may have more documents than a statement may have parameters.
    return json.dumps(list(values))


def _spaced(text: str) -> str:
    return _SPACELESS.sub(r" \1 ", text)


def _unspaced(text: str) -> str:
    """Text as it was written, on one line."""
    return _BETWEEN.sub(r"\1", " ".join(text.split()))
