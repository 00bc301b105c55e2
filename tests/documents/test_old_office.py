"""Documents and presentations of Office 97-2003, which LibreOffice converts: limits, failures, and who waits."""

from __future__ import annotations

import asyncio
import os
import zipfile
from pathlib import Path
from typing import Any

import psutil
import pytest

from a2c_documents.library.library import Library, News
from a2c_documents.registry import OLD_SLIDES, OLD_WORD, format_of
from a2c_documents.store.converted import ConvertedFiles
from a2c_documents.workers.libreoffice import find_program
from tests.support.documents.libraries import MakeLibrary
from tests.support.documents.old_office import (
    FILLS_MEMORY,
    GIVES_NOTHING,
    HANGS,
    IS_KILLED,
    in_old_format,
    needs_libreoffice,
    stand_in,
    starts,
    workers_with,
    write_doc,
    write_docx,
    write_linked_picture,
    write_pptx,
)
from tests.support.documents.old_workbooks import compound
from tests.support.systems import posix_only
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio
SOON = 30


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A stand-in for LibreOffice that gives a document about green tea."""
    folder = tmp_path / "program"
    folder.mkdir()
    write_docx(folder / "result.docx", "green tea")
    return stand_in(folder)


def ref_of(library: Library, name: str) -> str:
    return next(ref for ref, document in library.documents.items() if document.relative == name)


async def words_of(library: Library, name: str) -> str:
    async with asyncio.timeout(SOON):
        return str((await library.page(ref_of(library, name), 0))["elements"])


# ----------------------------------------------------------------------------------------------------- with LibreOffice


@pytest.fixture(scope="module")
def old_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A document and a presentation, as Office 97-2003 saved them."""
    folder = tmp_path_factory.mktemp("old")
    return {
        "tea.doc": in_old_format(write_docx(folder / "tea.docx", "green tea"), "doc"),
        "tea.ppt": in_old_format(write_pptx(folder / "tea.pptx", "black tea"), "ppt"),
    }


@needs_libreoffice
async def test_old_files_are_read_like_current_ones(
    files: Path, old_files: dict[str, Path], make_library: MakeLibrary, tmp_path: Path
) -> None:
    for name, path in old_files.items():
        (files / name).write_bytes(path.read_bytes())
    library = make_library(workers=workers_with(find_program(), tmp_path / "converted"))
    await library.look()
    word = await library.page(ref_of(library, "tea.doc"), 0)
    assert [(one["category"], one["content"]["text"]) for one in word["elements"]] == [
        ("heading", "green tea"), ("text", "All about green tea.")
    ]  # fmt: skip
    slide = await words_of(library, "tea.ppt")
    assert "All about black tea." in slide
    assert "Say black tea." in slide
    facts = await library.document(ref_of(library, "tea.ppt"))
    assert facts["details"]["converted_from"] == "ppt"
    assert {hit["title"] for hit in await library.search("about", 5)} == {"green tea", "black tea"}


@needs_libreoffice
@pytest.mark.parametrize("kept", [0.3, 0.7])
async def test_a_damaged_old_file_is_read_or_reported(
    kept: float, files: Path, old_files: dict[str, Path], make_library: MakeLibrary
) -> None:
    raw = old_files["tea.doc"].read_bytes()
    (files / "cut.doc").write_bytes(raw[: int(len(raw) * kept)])
    (files / "scratched.doc").write_bytes(raw[:1_600] + os.urandom(600) + raw[2_200:])
    (files / "note.txt").write_text("a word")
    library = make_library(workers=workers_with(find_program()))
    await library.look()
    assert "cannot be read" in await words_of(library, "cut.doc")
    assert await words_of(library, "scratched.doc")
    assert "a word" in await words_of(library, "note.txt")


@needs_libreoffice
async def test_a_document_opens_no_connection(files: Path, make_library: MakeLibrary, tmp_path: Path) -> None:
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    linked = write_linked_picture(tmp_path / "spy.docx", f"http://127.0.0.1:{port}/spy.png")
    spy = await asyncio.to_thread(in_old_format, linked, "doc")
    assert asked, "with usual settings, LibreOffice asks for the picture"
    asked.clear()
    (files / "spy.doc").write_bytes(spy.read_bytes())
    library = make_library(workers=workers_with(find_program()))
    await library.look()
    assert "A picture" in await words_of(library, "spy.doc")
    assert asked == []
    server.close()


# -------------------------------------------------------------------------------------------------- without LibreOffice


def test_old_files_are_known_by_their_contents(tmp_path: Path) -> None:
    assert format_of(write_doc(tmp_path / "a.doc")) is OLD_WORD
    assert format_of(write_doc(tmp_path / "misnamed.docx")) is OLD_WORD
    (tmp_path / "b.xls").write_bytes(compound({"PowerPoint Document": b"x"}))
    assert format_of(tmp_path / "b.xls") is OLD_SLIDES
    (tmp_path / "page.doc").write_text("<html><body><p>A web page</p></body></html>")
    assert format_of(tmp_path / "page.doc").module == "html.web_page"
    (tmp_path / "plain.doc").write_text("Only words.")
    assert format_of(tmp_path / "plain.doc").module == "text"


async def test_without_libreoffice_the_document_says_what_to_install(files: Path, make_library: MakeLibrary) -> None:
    write_doc(files / "a.doc")
    (files / "locked.doc").write_bytes(compound({"WordDocument": bytes(11) + b"\x01" + bytes(600)}))
    (files / "locked.ppt").write_bytes(
        compound({"PowerPoint Document": bytes(9), "Current User": bytes(12) + b"\xdf\xc4\xd1\xf3"})
    )
    library = make_library(workers=workers_with(None))
    await library.look()
    await library.catalogue()
    assert "install LibreOffice" in await words_of(library, "a.doc")
    for name in ("locked.doc", "locked.ppt"):
        assert "protected by a password" in await words_of(library, name)


async def test_a_document_that_could_not_be_read_without_libreoffice_is_read_after_a_restart(
    files: Path, make_library: MakeLibrary, program: Path
) -> None:
    write_doc(files / "a.doc")
    library = make_library(workers=workers_with(None))
    await library.look()
    assert "install" in await words_of(library, "a.doc")
    await library.close()
    again = make_library(workers=workers_with(program))
    await again.look()
    assert "All about green tea." in await words_of(again, "a.doc")


@posix_only
async def test_other_documents_do_not_wait_for_a_conversion(
    files: Path, make_library: MakeLibrary, program: Path
) -> None:
    for number in range(4):
        write_doc(files / f"{number}.doc", str(number))
    (files / "note.txt").write_text("green words")
    library = make_library(workers=workers_with(stand_in(program.parent, HANGS)))
    await library.look()
    announced: list[News] = []

    async def announce(news: News) -> None:
        announced.append(news)

    slow = asyncio.create_task(library.read_slow(announce))
    async with asyncio.timeout(SOON):
        catalogue: dict[str, Any] = await library.catalogue()
        await eventually(lambda: starts(program))
        assert [hit["title"] for hit in await library.search("green", 5)] == ["note.txt"]
        assert "green words" in await words_of(library, "note.txt")
    waiting = [entry for entry in catalogue["documents"] if entry["file_type"] == "doc"]
    assert all("LibreOffice has to convert it first" in entry["summary"] for entry in waiting)
    assert announced == []
    slow.cancel()
    await asyncio.wait([slow])


async def test_conversions_in_the_background_are_announced_and_can_be_found(
    files: Path, make_library: MakeLibrary, program: Path
) -> None:
    for number in range(3):
        write_doc(files / f"{number}.doc", str(number))
    library = make_library(workers=workers_with(program))
    await library.look()
    await library.catalogue()
    news: asyncio.Queue[News] = asyncio.Queue()
    slow = asyncio.create_task(library.read_slow(news.put))
    async with asyncio.timeout(SOON):
        told = [await news.get() for _ in range(3)]
        pages = {library.address(ref, "pages/0") for ref in library.documents}
        assert {hit["page_uri"] for hit in await library.search("tea", 10)} == pages
    assert set().union(*(each.updated for each in told)) == set(library.documents)
    slow.cancel()
    await asyncio.wait([slow])


async def test_a_content_is_converted_once(
    files: Path, make_library: MakeLibrary, program: Path, tmp_path: Path
) -> None:
    write_doc(files / "a.doc", "one")
    (files / "copy.doc").write_bytes((files / "a.doc").read_bytes())
    kept = tmp_path / "converted"
    library = make_library(workers=workers_with(program, kept))
    await library.look()
    both = await asyncio.gather(words_of(library, "a.doc"), words_of(library, "copy.doc"))
    assert all("green tea" in words for words in both)
    assert starts(program) == 1
    await library.close()
    (tmp_path / "kept.db").unlink()
    again = make_library(workers=workers_with(program, kept))
    await again.look()
    assert "green tea" in await words_of(again, "a.doc")
    assert starts(program) == 1
    write_doc(files / "a.doc", "two")
    await again.look()
    assert "green tea" in await words_of(again, "a.doc")
    assert starts(program) == 2


@posix_only
@pytest.mark.parametrize(
    ("does", "says"),
    [(HANGS, "more than 2 seconds"), (GIVES_NOTHING, "no result"), (IS_KILLED, "SIGKILL"), (FILLS_MEMORY, "code 1")],
)
async def test_a_conversion_that_fails_is_reported_and_repeated_once(
    does: str, says: str, files: Path, make_library: MakeLibrary, program: Path
) -> None:
    write_doc(files / "a.doc")
    (files / "note.txt").write_text("green words")
    stand_in(program.parent, does)
    library = make_library(workers=workers_with(program, seconds=2, retry_seconds=0), retry_seconds=0)
    await library.look()
    for _ in range(4):
        assert says in await words_of(library, "a.doc")
    assert starts(program) == 2
    assert "green words" in await words_of(library, "note.txt")
    assert not processes_of(program)
    (files / "a.doc").write_bytes(b"")
    stand_in(program.parent)
    write_doc(files / "a.doc", "better")
    await library.look()
    assert "green tea" in await words_of(library, "a.doc")


def processes_of(program: Path) -> list[int]:
    """What is left of a stand-in and of what it started: all of them have its path among their arguments."""
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if str(program) in process.cmdline():
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


@posix_only
async def test_closing_ends_a_conversion(files: Path, make_library: MakeLibrary, program: Path) -> None:
    write_doc(files / "a.doc")
    stand_in(program.parent, HANGS)
    library = make_library(workers=workers_with(program))
    await library.look()
    reading = asyncio.create_task(library.page(ref_of(library, "a.doc"), 0))
    async with asyncio.timeout(SOON):
        await eventually(lambda: starts(program))
        await library.close()
        await asyncio.wait([reading])
    assert not processes_of(program)


def test_converted_files_are_private_and_bounded(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(bytes(400))
    files = ConvertedFiles(tmp_path / "kept", max_bytes=1_000)
    for number in range(4):
        path = files.keep(f"{number}.docx", made)
        os.utime(path, (number, number))
        assert os.name == "nt" or path.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["2.docx", "3.docx"]
    (tmp_path / "file").write_text("no folder")
    elsewhere = ConvertedFiles(tmp_path / "file" / "kept")
    path = elsewhere.keep("a.docx", made)
    assert elsewhere.get("a.docx") == path
    elsewhere.close()
    assert not path.exists()


def test_the_wanted_program_is_used_or_missed(tmp_path: Path) -> None:
    assert find_program("off") is None
    assert find_program(str(stand_in(tmp_path))) == tmp_path / "soffice"
    with pytest.raises(FileNotFoundError):
        find_program(str(tmp_path / "nothing"))


async def test_an_old_file_in_an_archive_is_converted(files: Path, make_library: MakeLibrary, program: Path) -> None:
    with zipfile.ZipFile(files / "old.zip", "w") as archive:
        archive.write(write_doc(files.parent / "a.doc"), "inner/a.doc")
    library = make_library(workers=workers_with(program))
    await library.look()
    await library.catalogue()
    assert "All about green tea." in await words_of(library, "old.zip/inner/a.doc")
    assert starts(program) == 1
