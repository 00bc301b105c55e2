"""The words of documents in an FTS5 table.

FTS5 splits text at spaces, which Chinese, Japanese, Korean and Thai do not have. Each character of these scripts is
stored as a word of its own, and a query for several of them becomes a phrase.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from a2c_documents.store.database import Database

SCHEMA = (
    "CREATE VIRTUAL TABLE words USING fts5 (text, digest UNINDEXED, page UNINDEXED, element UNINDEXED)",
    "CREATE TABLE indexed (digest TEXT PRIMARY KEY, first INTEGER, last INTEGER, is_complete INTEGER,"
    " characters INTEGER, at REAL)",
    # Pages whose words are in a picture. `recognizer` is the one that has read them, if any.
    "CREATE TABLE scans (digest TEXT, page INTEGER, recognizer TEXT, first INTEGER, last INTEGER, characters INTEGER,"
    " PRIMARY KEY (digest, page)) WITHOUT ROWID",
)
_SPACELESS = re.compile("([\u2e80-\u2fdf\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff])")
_BETWEEN = re.compile(f"(?<={_SPACELESS.pattern[1:-1]})([\\[\\]]?) (?=[\\[\\]]?{_SPACELESS.pattern[1:-1]})")
_WORD = re.compile(r"\w+")
_MAX_QUERY, _MAX_TERMS = 500, 30
"""Characters and words of a query that are used: SQLite limits the size of an expression."""
_MAX_COUNTED = 10_000
"""Characters of a passage in which the words of a query are counted."""
_MAX_MATCHES = 100_000
"""Passages with a word that are counted. Which of several very frequent words is the rarer one matters little."""

Passage: TypeAlias = tuple[int, str, str]
"""Page, element and text."""


class Match(NamedTuple):
    """A passage that a search found."""

    digest: str
    page: int
    element: str
    snippet: str
    """The text around the hits, which are in brackets."""
    counts: dict[str, int]
    """How often the passage has each term of the query."""
    length: int
    """Characters of the passage."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """How frequent the terms of a query are, for comparing its hits with those of other indexes."""

    passages: int
    characters: int
    """Of all passages together."""
    terms: dict[str, int]
    """How many passages have each term."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """When a content was indexed, and whether completely."""

    at: float
    is_complete: bool


class Words:
    """The words of all contents."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._indexed: dict[str, Indexed] = {}
        """A copy of the table, which each search needs as a whole."""
        self._copied_after = -1
        """How often the words had been lost when the copy was made."""

    @property
    def losses(self) -> int:
        """How often all words were lost with the database."""
        return self._database.losses

    def indexed(self) -> dict[str, Indexed]:
        """The contents that are indexed."""
        losses = self.losses
        if self._copied_after != losses:
            rows = self._database.read("SELECT digest, at, is_complete FROM indexed")
            self._indexed = {digest: Indexed(at, bool(is_complete)) for digest, at, is_complete in rows}
            self._copied_after = losses
        return self._indexed.copy()  # other threads index further contents

    def forget_copy(self) -> None:
        """Contents were deleted from the table by `forget_words`."""
        self._copied_after = -1

    def keep(
        self, digest: str, passages: Iterable[Passage], *, scans: Iterable[int] = (), is_complete: bool = True
    ) -> None:
        """Index a content, and replace what was indexed before. `scans` are its pages whose words are in a picture."""
        rows = [(_spaced(text), digest, page, element) for page, element, text in passages]
        characters = sum(len(text) for text, *_ in rows)
        now = time.time()

        def work(connection: sqlite3.Connection) -> None:
            _forget(connection, "indexed", digest)
            span = *_insert(connection, rows), is_complete, characters, now
            connection.execute("INSERT INTO indexed VALUES (?, ?, ?, ?, ?, ?)", (digest, *span))
            # Pages that have been recognized stay so.
            found = [(digest, page) for page in scans]
            connection.executemany("INSERT OR IGNORE INTO scans VALUES (?, ?, '', 0, -1, 0)", found)

        self._database.write(work)
        self._indexed[digest] = Indexed(now, is_complete)

    def keep_recognized(self, digest: str, page: int, recognizer: str, texts: Iterable[tuple[str, str]]) -> None:
        """Index the recognized text of a page: elements and their texts."""
        rows = [(_spaced(text), digest, page, element) for element, text in texts]

        def work(connection: sqlite3.Connection) -> None:
            _forget(connection, "scans", digest, page)
            span = *_insert(connection, rows), sum(len(text) for text, *_ in rows)
            connection.execute("INSERT INTO scans VALUES (?, ?, ?, ?, ?, ?)", (digest, page, recognizer, *span))

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

    def search(self, query: str, limit: int, among: Collection[str]) -> list[Match]:
        """The best places for a query.

        Only the contents in `among` are searched: older contents of an edited file may still be in the table.
        """
        terms = _terms(query)
        if not terms:
            return []
        wanted = [_expression(term) for term in terms.values()]
        statement = (
            "SELECT digest, page, element, snippet(words, 0, '[', ']', '…', 24), text FROM words "
            "WHERE words MATCH ? AND digest IN (SELECT value FROM json_each(?)) ORDER BY rank LIMIT ?"
        )
        contents = _json(among)
        found = self._database.read(statement, (" ".join(wanted), contents, limit))
        has_all = bool(found)
        if not found and len(wanted) > 1:  # no element has all words: accept any of them
            found = self._database.read(statement, (" OR ".join(wanted), contents, limit))
        return [
            Match(digest, page, element, _unspaced(snippet), _counts(text, terms, has_all), len(text))
            for digest, page, element, snippet, text in found
        ]

    def statistics(self, query: str) -> Statistics:
        """How frequent the terms of a query are."""
        totals = (
            "SELECT COALESCE(SUM(last - first + 1), 0), COALESCE(SUM(characters), 0) FROM "
            "(SELECT first, last, characters FROM indexed UNION ALL SELECT first, last, characters FROM scans)"
        )
        ((passages, characters),) = self._database.read(totals)
        counted = "SELECT COUNT(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        terms = {
            key: self._database.read(counted, (_expression(term), _MAX_MATCHES))[0][0]
            for key, term in _terms(query).items()
        }
        return Statistics(passages, characters, terms)


def _terms(query: str) -> dict[str, str]:
    """The words of a query, each by its folded form; the characters of a script without spaces are apart."""
    words = (" ".join(_spaced(word).split()) for word in _WORD.findall(query[:_MAX_QUERY]))
    found = {_folded(word): word for word in words}
    return dict(islice(found.items(), _MAX_TERMS))


def _expression(term: str) -> str:
    # In quotes, so that `AND`, `OR` and `NEAR` in a query are words and not operators. The star finds longer forms,
    # such as plurals. A phrase of single characters is exact.
    return f'"{term}"' + ("*" if " " not in term else "")


def _counts(text: str, terms: Iterable[str], has_all: bool) -> dict[str, int]:
    """How often a passage has each term, as FTS5 compares them: without case and accents, longer words included."""
    words = " " + " ".join(_WORD.findall(_folded(text[:_MAX_COUNTED])))
    # Where FTS5 has found all terms, none is missing, also if it folds letters that this function does not.
    return {term: max(words.count(f" {term}"), int(has_all)) for term in terms}


def _folded(text: str) -> str:
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFD", text) if not unicodedata.combining(each))
        # The syllables of Korean are letters when they are taken apart.
        text = unicodedata.normalize("NFC", text)
    return text.lower().replace("_", " ")


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
