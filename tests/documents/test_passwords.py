"""Files with passwords: opened with those that were given for them, and with no others; never shown."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from a2c_documents.library.library import Library
from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.common.passwords import PasswordNeededError, allowed
from a2c_documents.registry import format_of
from a2c_documents.workers.passwords import MOST, Passwords
from a2c_documents.workers.pool import Workers
from tests.documents.test_completeness import missing_from
from tests.support.documents.libraries import MakeLibrary
from tests.support.documents.locked_files import locked, locked_as_2007, write_locked_pdf
from tests.support.documents.old_office import write_docx, write_pptx
from tests.support.documents.reading import Read, read
from tests.support.documents.rich_files import RICH_FILES
from tests.support.systems import linux_only

SECRET = "Pass-4321-ü"
ASCII = "Pass-4321"
WRONG = "Other-8765"

LOCKED: dict[str, Callable[[Path], Path]] = {
    "agile.docx": lambda path: locked(write_docx(path, "green tea"), SECRET),
    "slides.pptx": lambda path: locked(write_pptx(path, "green tea"), SECRET),
    "of-2007.docx": lambda path: locked_as_2007(write_docx(path, "green tea"), SECRET),
    "page.pdf": lambda path: write_locked_pdf(path, "green tea", ASCII),
}


def opened(path: Path, *passwords: str) -> Read:
    with allowed(passwords):
        return read(format_of(path).parser, path)


@pytest.mark.parametrize("name", sorted(LOCKED))
def test_a_protected_file_opens_with_its_password(name: str, tmp_path: Path) -> None:
    path = LOCKED[name](tmp_path / name)
    with pytest.raises(PasswordNeededError, match=r"needs a password; .*--config"):
        opened(path)
    with pytest.raises(PasswordNeededError, match="needs another password") as refused:
        opened(path, WRONG, "")
    assert WRONG not in str(refused.value)
    found = opened(path, WRONG, SECRET, ASCII)
    assert "green tea" in str(found.elements)
    assert found.facts.details["protected"] is True
    with allowed([SECRET, ASCII]):
        assert missing_from(path) == []


def test_everything_of_a_protected_workbook_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "tea.xlsx"
    RICH_FILES["tea.xlsx"](path)
    plain = opened(path)
    found = opened(locked(path, SECRET), SECRET)
    assert [one.content for one in found.elements] == [one.content for one in plain.elements]
    with allowed([SECRET]):
        assert missing_from(path) == []


def test_a_protected_file_is_known_by_its_contents(tmp_path: Path) -> None:
    path = LOCKED["agile.docx"](tmp_path / "old.doc")
    assert "green tea" in str(opened(path, SECRET).elements)


@pytest.mark.parametrize("kept", [0.3, 0.8, 0.99])
def test_a_damaged_protected_file_is_reported(kept: float, tmp_path: Path) -> None:
    raw = LOCKED["agile.docx"](tmp_path / "a.docx").read_bytes()
    for number, damaged in enumerate((raw[: int(len(raw) * kept)], _scratched(raw, kept))):
        path = tmp_path / f"{number}.docx"
        path.write_bytes(damaged)
        with contextlib.suppress(UnreadableFileError):
            opened(path, SECRET)


def _scratched(raw: bytes, place: float) -> bytes:
    at = int((len(raw) - 600) * place)
    return raw[:at] + os.urandom(600) + raw[at + 600 :]


def test_the_library_that_decrypts_logs_no_password(tmp_path: Path) -> None:
    path = LOCKED["of-2007.docx"](tmp_path / "a.docx")
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        opened(path, SECRET)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert SECRET not in log.getvalue()


def test_passwords_are_tried_for_the_files_that_match(tmp_path: Path) -> None:
    passwords = Passwords(tmp_path, [("contracts/", ["a", "b"]), ("*.pdf", ["b", "c"]), ("one/two.docx", ["d"])])

    def tried(name: str) -> list[str]:
        return passwords.candidates(tmp_path / name)

    assert tried("contracts/deep/x.docx") == ["a", "b"]
    assert tried("contracts/x.pdf") == ["a", "b", "c"]
    assert tried("x.docx") == []
    assert tried("one/two.docx") == ["d"]
    assert passwords.candidates(tmp_path.parent / "x.pdf") == []
    assert len(Passwords(tmp_path, [("*", list("abcdefghijklmnop"))]).candidates(tmp_path / "x")) == MOST


# ---------------------------------------------------------------------------------------------------------- the library


def workers_for(files: Path, *passwords: str) -> Workers:
    return Workers(1, 30, passwords=Passwords(files, [("locked/", passwords)] if passwords else []))


@pytest.fixture
def protected(files: Path) -> Path:
    (files / "locked").mkdir()
    LOCKED["agile.docx"](files / "locked" / "a.docx")
    LOCKED["page.pdf"](files / "locked" / "b.pdf")
    (files / "open.txt").write_text("green words")
    return files


async def words_of(library: Library) -> dict[str, str]:
    refs = {document.relative: ref for ref, document in library.documents.items()}
    return {name: str((await library.page(ref, 0))["elements"]) for name, ref in refs.items()}


@pytest.mark.anyio
async def test_a_password_is_missed_given_and_taken_back(
    protected: Path, make_library: MakeLibrary, tmp_path: Path
) -> None:
    for passwords in ((), (WRONG,)):
        library = make_library(workers=workers_for(protected, *passwords))
        await library.look()
        shown = await words_of(library)
        assert "green words" in shown["open.txt"]
        assert all("password" in shown[name] and "green tea" not in shown[name] for name in shown if "/" in name)
        assert [hit["title"] for hit in await library.search("green", 5)] == ["open.txt"]
        await library.close()
    library = make_library(workers=workers_for(protected, SECRET, ASCII))
    await library.look()
    assert all("green" in words for words in (await words_of(library)).values())
    assert len(await library.search("green", 9)) > 2
    await library.close()
    assert_private(tmp_path / "kept.db")
    again = make_library(workers=workers_for(protected, SECRET))
    await again.look()
    assert "green tea" in (await words_of(again))["locked/a.docx"], "from what was kept"
    await again.close()
    locked_again = make_library(workers=workers_for(protected))
    await locked_again.look()
    assert "green tea" not in str(await words_of(locked_again))
    assert [hit["title"] for hit in await locked_again.search("green", 5)] == ["open.txt"]
    await locked_again.tidy()
    await locked_again.close()
    assert "green tea" not in everything_in(tmp_path / "kept.db")


def assert_private(database: Path) -> None:
    """Nobody else can read it, and no password is in it."""
    assert os.name == "nt" or database.stat().st_mode & 0o077 == 0
    assert SECRET.encode() not in database.read_bytes()
    assert ASCII not in everything_in(database)


def everything_in(database: Path) -> str:
    connection = sqlite3.connect(database)
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return str([connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables])
    finally:
        connection.close()


@linux_only
@pytest.mark.anyio
async def test_nothing_decrypted_stays_behind_when_a_reader_is_killed(
    protected: Path, make_library: MakeLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scratch := tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    library = make_library(workers=workers_for(protected, SECRET, ASCII))
    await library.look()
    await words_of(library)
    assert [path.name for path in scratch.rglob("*.docx")] == ["a.docx"]
    await library.close()  # kills the reader, which has the document open
    assert list(scratch.iterdir()) == []


# ---------------------------------------------------------------------------------------------------------- the command


def check(folder: Path, config: str, cache: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = folder.parent / "documents.json"
    path.write_text(config)
    return subprocess.run(
        [sys.executable, "-m", "a2c_smcp.cli", "documents", str(folder), "--check", "--json", "--config", str(path)],
        env={**os.environ, "XDG_CACHE_HOME": str(cache), **variables},
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=120,
    )  # fmt: skip


def test_the_command_takes_passwords_from_inputs_and_variables(protected: Path, tmp_path: Path) -> None:
    config = json.dumps(
        {
            "inputs": [{"id": "contracts", "type": "promptString", "password": True}],
            "passwords": {"*.docx": "${input:contracts}", "locked/*.pdf": ["${env:PDF_PASSWORD}"]},
        }
    )
    done = check(protected, config, tmp_path / "cache", A2C_SMCP_CONTRACTS=SECRET, PDF_PASSWORD=ASCII)
    assert done.returncode == 0, done.stderr
    assert {entry["problem"] for entry in json.loads(done.stdout)} == {None}
    assert ASCII not in done.stdout + done.stderr
    lacking = check(protected, config, tmp_path / "other", PDF_PASSWORD=ASCII)
    assert lacking.returncode == 1
    assert "A2C_SMCP_CONTRACTS" in lacking.stderr
    problems = {entry["title"]: entry["problem"] for entry in json.loads(lacking.stdout)}
    assert [title for title, problem in problems.items() if problem] == ["a.docx"]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ('{"passwords": {"*.pdf": "Pass-4321"}}', "must be a placeholder"),
        ('{"passwords": {"*.pdf": ["${input:a}", 4321]}}', "must be a placeholder"),
        ('{"passwords": "Pass-4321"}', "an object is expected"),
        ('{"passwords": ', "line 1"),
    ],
)
def test_a_password_in_the_configuration_is_rejected_and_not_repeated(config: str, says: str, files: Path) -> None:
    done = check(files, config, files.parent)
    assert done.returncode == 2
    assert says in done.stderr
    assert "4321" not in done.stdout + done.stderr
