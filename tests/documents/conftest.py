"""A library over a folder of files that a test makes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from a2c_documents.folder.files import FileRules, Folder
from a2c_documents.library.library import Library
from a2c_documents.recognition.choice import NONE, Choice
from a2c_documents.store.store import Store
from a2c_documents.workers.pool import Workers
from tests.support.documents.libraries import MakeLibrary


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

    def make(
        *,
        rules: FileRules | None = None,
        seconds: float = 30,
        memory_bytes: int = 0,
        store: Store | None = None,
        workers: Workers | None = None,
        retry_seconds: float = 60,
        ocr: Choice = NONE,
        patience: float = 30,
    ) -> Library:
        workers = workers or Workers(2, seconds, memory_bytes)
        kept = store or Store(tmp_path / "kept.db", patience=0.2)
        made.append(Library(Folder(files, rules), "lib", kept, workers, retry_seconds, ocr=ocr, patience=patience))
        return made[-1]

    yield make
    for library in made:
        await library.close()
