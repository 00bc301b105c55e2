"""A library over a folder of files that a test makes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from a2c_smcp.documents.folder import FileRules, Folder
from a2c_smcp.documents.library import Library
from a2c_smcp.documents.store import Store
from a2c_smcp.documents.workers import Workers

MakeLibrary = Callable[..., Library]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The folder."""
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


@pytest.fixture
async def make_library(files: Path, tmp_path: Path) -> AsyncGenerator[MakeLibrary]:
    """Makes libraries over the folder; those made one after another share what is kept on disk."""
    made: list[Library] = []

    def make(*, rules: FileRules | None = None, seconds: float = 30, memory_bytes: int = 0) -> Library:
        store = Store(tmp_path / "kept.db")
        workers = Workers(2, seconds, memory_bytes)
        made.append(Library(Folder(files, rules), "lib", store, workers))
        return made[-1]

    yield make
    for library in made:
        await library.close()
