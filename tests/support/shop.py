"""A SQLite database for the server of `examples/documents_server.py`."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path


def make_shop(file: Path) -> Path:
    """A database with 120 orders, and a table with a strange name and no rows."""
    execute(file, "CREATE TABLE orders (id INTEGER, item TEXT)")
    execute(file, "INSERT INTO orders VALUES (?, ?)", [(n, f"item|{n}") for n in range(120)])
    execute(file, 'CREATE TABLE "gift ""cards""" (code)')
    return file


def execute(file: Path, statement: str, rows: Iterable[Sequence[object]] = ((),)) -> None:
    """Execute a statement once for each row of parameters, as a program of its own would."""
    with contextlib.closing(sqlite3.connect(file)) as database:
        for row in rows:
            database.execute(statement, row)
        database.commit()
