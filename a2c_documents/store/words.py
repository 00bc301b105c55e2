"""The words of documents, to be searched for. A character of a script without spaces counts as a word."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterable
from typing import TypeAlias

from a2c_documents.store.database import Database

SCHEMA = (
    "CREATE VIRTUAL TABLE words USING fts5 (text, digest UNINDEXED, page UNINDEXED, element UNINDEXED)",
    "CREATE TABLE indexed (digest TEXT PRIMARY KEY, first INTEGER, last INTEGER, is_complete INTEGER)",
)
_SPACELESS = re.compile("([\u2e80-\u2fdf\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0eff])")
_BETWEEN = re.compile(f"(?<={_SPACELESS.pattern[1:-1]})([\\[\\]]?) (?=[\\[\\]]?{_SPACELESS.pattern[1:-1]})")
_WORD = re.compile(r"\w+")
_MAX_QUERY, _MAX_TERMS = 500, 30
"""Characters and words of a query that count: SQLite cannot take any number."""

Passage: TypeAlias = tuple[int, str, str]
"""Page, element, and what is written there."""


class Words:
    """What is written in documents, by content."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def losses(self) -> int:
        """How often all words were lost."""
        return self._database.losses

    def complete(self) -> set[str]:
        """The contents all of whose words are known."""
        return {digest for (digest,) in self._database.read("SELECT digest FROM indexed WHERE is_complete")}

    def keep(self, digest: str, passages: Iterable[Passage], *, is_complete: bool = True) -> None:
        """Make a content searchable; what was kept of it before goes."""
        rows = [(_spaced(text), digest, page, element) for page, element, text in passages]

        def work(connection: sqlite3.Connection) -> None:
            forget_words(connection, digest)
            (before,) = connection.execute("SELECT COALESCE(MAX(rowid), 0) FROM words").fetchone()
            connection.executemany("INSERT INTO words VALUES (?, ?, ?, ?)", rows)
            span = digest, before + 1, before + len(rows), is_complete
            connection.execute("INSERT INTO indexed VALUES (?, ?, ?, ?)", span)

        self._database.write(work)

    def search(self, query: str, limit: int, among: Collection[str]) -> list[tuple[str, int, str, str]]:
        """The best places for a query: content, page, element, and the words around it with the hits in brackets.

        Only in contents that are `among` those given: what was edited away is no answer.
        """
        terms = [_spaced(word).split() for word in _WORD.findall(query[:_MAX_QUERY])][:_MAX_TERMS]
        if not terms:
            return []
        wanted = ['"' + " ".join(term) + '"' + ("*" if len(term) == 1 else "") for term in terms]
        statement = (
            "SELECT digest, page, element, snippet(words, 0, '[', ']', '…', 24) FROM words "
            "WHERE words MATCH ? AND digest IN (SELECT value FROM json_each(?)) ORDER BY rank LIMIT ?"
        )
        contents = json.dumps(list(among))
        found = self._database.read(statement, (" ".join(wanted), contents, limit))
        if not found and len(wanted) > 1:  # nothing has all of the words: what has any of them?
            found = self._database.read(statement, (" OR ".join(wanted), contents, limit))
        return [(digest, page, element, _unspaced(snippet)) for digest, page, element, snippet in found]


def forget_words(connection: sqlite3.Connection, digest: str) -> None:
    """Forget the words of a content."""
    for first, last in connection.execute("SELECT first, last FROM indexed WHERE digest = ?", (digest,)).fetchall():
        connection.execute("DELETE FROM words WHERE rowid BETWEEN ? AND ?", (first, last))
    connection.execute("DELETE FROM indexed WHERE digest = ?", (digest,))


def _spaced(text: str) -> str:
    return _SPACELESS.sub(r" \1 ", text)


def _unspaced(text: str) -> str:
    """Words as they were written, on one line."""
    return _BETWEEN.sub(r"\1", " ".join(text.split()))
