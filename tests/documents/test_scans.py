"""Scanned pages: recognized on request by a process that may fail, kept, searched, and never in the way of others.

The recognizer is a small program that reads the brightness of a picture (`tests/servers/recognizer.py`).
"""

from __future__ import annotations

import asyncio
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image

from a2c_documents.library.library import Library
from a2c_documents.recognition.choice import OFF, Choice, program
from a2c_documents.recognition.recognizer import Recognizer
from a2c_documents.server.addresses import read
from a2c_documents.server.tools import call
from a2c_documents.store.store import Store
from a2c_documents.workers.failures import Cause, ReadingFailed
from tests.support.documents.libraries import CountingWorkers, MakeLibrary
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).parent.parent / "servers" / "recognizer.py"
LIGHT, DARK = 200, 20

Begin = Callable[..., Choice]


def command(*arguments: object) -> list[str]:
    return [sys.executable, str(PROGRAM), *map(str, arguments)]


def recognizer(*arguments: object, key: str = "one", in_background: bool = False, **limits: Any) -> Choice:
    return Choice(Recognizer(command(*arguments), key, **limits), in_background=in_background)


def scan(path: Path, *shades: int) -> None:
    """A PDF in which each page is a picture."""
    pages = [Image.new("L", (300, 400), shade) for shade in shades]
    pages[0].save(path, "PDF", save_all=True, append_images=pages[1:])


async def opened(library: Library) -> Library:
    await library.look()
    await library.read_all()
    return library


def ref(library: Library, name: str) -> str:
    return next(ref for ref, document in library.documents.items() if document.relative == name)


async def elements(library: Library, name: str, number: int = 0) -> list[dict[str, Any]]:
    return (await library.page(ref(library, name), number))["elements"]


async def remark(library: Library, name: str, number: int = 0) -> str:
    """The words of the only annotation of a page."""
    [found] = [each for each in await elements(library, name, number) if each["category"] == "annotation"]
    return found["content"]["text"]


def texts(page: list[dict[str, Any]]) -> list[str]:
    return [each["content"]["text"] for each in page if each["category"] in ("heading", "text")]


def log_of(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


# ------------------------------------------------------------------------------------------------------------ the page


async def test_the_text_of_a_scan_is_read_and_marked_with_its_confidence(
    files: Path, make_library: MakeLibrary
) -> None:
    scan(files / "scan.pdf", LIGHT)
    library = await opened(make_library(ocr=recognizer()))
    found = await elements(library, "scan.pdf")
    assert [each["category"] for each in found] == ["image", "annotation", "heading", "text"]
    assert found[1]["content"]["confidence"] == pytest.approx(0.769, abs=0.001)
    assert [each["metadata"]["confidence"] for each in found[2:]] == [0.9, 0.7]
    address = library.address(ref(library, "scan.pdf"), "pages/0")
    shown = (await read(library, address)).body["elements"]
    assert [each.get("metadata") for each in shown] == [
        None,
        None,
        *({"recognized": True, "confidence": c} for c in (0.9, 0.7)),
    ]
    words = (await read(library, f"{address}?format=markdown")).body["content_markdown"]
    assert "recognized" in words
    assert "This picture has shade200." in words
    _, detail = await library.element(ref(library, "scan.pdf"), "p0-heading-1")
    box = detail["metadata"]["box"]
    assert 0 <= box[0] < box[2] <= 300
    assert 0 <= box[1] < box[3] <= 400, "in points of the page"


async def test_pictures_and_frames_are_read_too(files: Path, make_library: MakeLibrary) -> None:
    Image.new("RGBA", (300, 200), (LIGHT, LIGHT, LIGHT, 255)).save(files / "photo.png")
    frames = [Image.new("1", (300, 400), shade) for shade in (1, 1)]
    frames[0].save(files / "fax.tiff", save_all=True, append_images=frames[1:])
    library = await opened(make_library(ocr=recognizer()))
    assert "shade200" in texts(await elements(library, "photo.png"))[0]
    assert "shade255" in texts(await elements(library, "fax.tiff", 1))[0]


async def test_without_a_recognizer_the_page_says_what_to_install(files: Path, make_library: MakeLibrary) -> None:
    scan(files / "scan.pdf", LIGHT)
    library = await opened(make_library())
    assert "a2c-stack[ocr]" in await remark(library, "scan.pdf")
    assert "turned off" in await remark(await opened(make_library(ocr=OFF)), "scan.pdf")


async def test_pages_with_a_text_layer_start_no_recognizer(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text("# Notes\n\nPlain words.")
    Image.new("L", (10, 10), LIGHT).save(files / "icon.png")
    choice = recognizer(in_background=True)
    library = await opened(make_library(ocr=choice))
    await elements(library, "notes.md")
    assert [each["category"] for each in await elements(library, "icon.png")] == ["image"], "too small for words"
    await library.make_searchable()
    await library.recognize_all()
    assert choice.recognizer is not None
    assert not choice.recognizer.is_running


async def test_what_was_recognized_is_kept_by_content_and_recognizer(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    scan(files / "scan.pdf", LIGHT)
    log = tmp_path / "log"
    for key, times in (("one", 1), ("one", 1), ("two", 2)):
        library = await opened(make_library(ocr=recognizer("--log", log, key=key)))
        assert "shade200" in texts(await elements(library, "scan.pdf"))[0]
        assert len(log_of(log)) == times
        await library.close()
        (files / "scan.pdf").rename(files / "moved.pdf")
        (files / "moved.pdf").rename(files / "scan.pdf")


async def test_the_process_ends_when_it_is_idle(files: Path, make_library: MakeLibrary) -> None:
    scan(files / "scan.pdf", LIGHT)
    choice = recognizer(idle_seconds=0.05)
    assert choice.recognizer is not None
    library = await opened(make_library(ocr=choice))
    await elements(library, "scan.pdf")
    running = choice.recognizer
    await eventually(lambda: not running.is_running)


# ---------------------------------------------------------------------------------------------------------------- time


async def test_a_page_that_takes_long_says_so_and_its_document_is_announced(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    scan(files / "scan.pdf", LIGHT)
    (files / "notes.md").write_text("# Notes\n\nPlain words.")
    gate = tmp_path / "gate"
    library = await opened(make_library(ocr=recognizer("--gate", gate), patience=0))
    assert "being recognized" in await remark(library, "scan.pdf")
    assert texts(await elements(library, "notes.md")) == ["Notes", "Plain words."], "nobody else waits"
    gate.touch()
    async with asyncio.timeout(30):
        assert await library.newly_recognized() == {ref(library, "scan.pdf")}
    assert "shade200" in texts(await elements(library, "scan.pdf"))[0]


async def test_documents_take_turns(files: Path, tmp_path: Path, make_library: MakeLibrary) -> None:
    scan(files / "book.pdf", 200, 201, 202, 203)
    scan(files / "note.pdf", 150)
    gate, log = tmp_path / "gate", tmp_path / "log"
    library = await opened(make_library(ocr=recognizer("--gate", gate, "--log", log), patience=0))
    for number in range(4):
        await elements(library, "book.pdf", number)
    await elements(library, "note.pdf")
    gate.touch()
    async with asyncio.timeout(30):
        while ref(library, "note.pdf") not in await library.newly_recognized():
            pass
    assert len(log_of(log)) <= 3, "one page of the book before, and perhaps the next one after"


async def test_lists_of_pages_and_pictures_do_not_wait(files: Path, tmp_path: Path, make_library: MakeLibrary) -> None:
    scan(files / "scan.pdf", LIGHT, LIGHT)
    library = await opened(make_library(ocr=recognizer("--gate", tmp_path / "never")))
    async with asyncio.timeout(20):
        body = await library.pages(ref(library, "scan.pdf"), 0, 10)
        mime_type, _ = await library.blob(ref(library, "scan.pdf"), "p1-image-1", "picture")
    assert len(body["pages"]) == 2
    assert mime_type.startswith("image/")


# -------------------------------------------------------------------------------------------------------------- search


async def test_search_finds_recognized_text_and_says_how_much_is_missing(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    scan(files / "scan.pdf", LIGHT, 210)
    gate = tmp_path / "gate"
    library = await opened(make_library(ocr=recognizer("--gate", gate, in_background=True)))
    assert await library.search("shade210", 5) == []
    assert await library.recognized() == (0, 2)
    [answer] = await call(library, "search_documents", {"query": "shade210"})
    assert "2 scanned pages" in answer.body
    gate.touch()
    await library.recognize_all()  # waits for the background
    assert await library.recognized() == (2, 2)
    [hit] = await library.search("shade210", 5)
    assert hit["page_index"] == 1
    _, found = await library.element(ref(library, "scan.pdf"), hit["element_uri"].rpartition("/")[2])
    assert "shade210" in found["content"]["text"]


async def test_a_restart_recognizes_only_what_is_left(files: Path, tmp_path: Path, make_library: MakeLibrary) -> None:
    scan(files / "scan.pdf", LIGHT)
    log = tmp_path / "log"
    for shades in ([LIGHT], [LIGHT, 210]):
        library = await opened(make_library(ocr=recognizer("--log", log, in_background=True)))
        await library.make_searchable()
        await library.recognize_all()
        assert sorted(log_of(log)) == shades
        await library.close()
        scan(files / "second.pdf", 210)


async def test_on_request_means_only_pages_that_are_read(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    scan(files / "scan.pdf", LIGHT, 210)
    log = tmp_path / "log"
    library = await opened(make_library(ocr=recognizer("--log", log)))
    await library.search("words", 5)
    await library.recognize_all()
    assert log_of(log) == []
    await elements(library, "scan.pdf", 1)
    assert [hit["page_index"] for hit in await library.search("shade210", 5)] == [1]


# -------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("fault", "limits", "told"),
    [
        ("crash", {}, "crashed"),
        ("hang", {"seconds": 1.5}, "more than 2 seconds"),
        ("nonsense", {}, "invalid answer"),
        ("refuse", {}, "too dark to read"),
        pytest.param(
            "grow", {"memory_bytes": 200_000_000}, "of memory",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the memory of a process"),
        ),
    ],
)  # fmt: skip
async def test_a_recognizer_that_fails_at_a_page_reads_the_next_one(
    fault: str, limits: dict[str, Any], told: str, files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    scan(files / "scan.pdf", DARK, LIGHT)
    log = tmp_path / "log"
    others = set(psutil.Process().children(recursive=True))
    library = await opened(make_library(ocr=recognizer("--dark", fault, "--log", log, **limits)))
    assert told in await remark(library, "scan.pdf", 0)
    assert "shade200" in texts(await elements(library, "scan.pdf", 1))[0]
    assert told in await remark(library, "scan.pdf", 0)
    assert log_of(log) == [DARK, LIGHT], "a failure is remembered"
    assert len(set(psutil.Process().children(recursive=True)) - others) <= 3, "two readers and one recognizer"


async def test_a_recognizer_that_always_crashes_rests(files: Path, tmp_path: Path, make_library: MakeLibrary) -> None:
    scan(files / "scan.pdf", *[DARK] * 3, *range(DARK, DARK + 9))
    log = tmp_path / "log"
    library = await opened(make_library(ocr=recognizer("--dark", "crash", "--log", log, in_background=True)))
    await library.make_searchable()
    await library.recognize_all()
    assert len(log_of(log)) == 3
    assert await library.recognized() == (0, 12)


async def test_a_program_that_cannot_be_started_is_named(files: Path, make_library: MakeLibrary) -> None:
    scan(files / "scan.pdf", LIGHT)
    library = await opened(make_library(ocr=Choice(Recognizer(["/nowhere/reader"], "key"))))
    assert "/nowhere/reader cannot be started" in await remark(library, "scan.pdf")
    with pytest.raises(ValueError, match="no such program"):
        program("/nowhere/reader --fast")


async def test_a_damaged_picture_and_an_enormous_one_are_told(files: Path, make_library: MakeLibrary) -> None:
    Image.effect_noise((300, 200), 50).save(files / "cut.png")
    (files / "cut.png").write_bytes((files / "cut.png").read_bytes()[:20_000])
    (files / "huge.png").write_bytes(png_of(60_000, 60_000))
    choice = recognizer()
    library = await opened(make_library(ocr=choice))
    assert "cannot be decoded" in await remark(library, "cut.png")
    assert "too many" in await remark(library, "huge.png")
    assert choice.recognizer is not None
    assert not choice.recognizer.is_running


def png_of(width: int, height: int) -> bytes:
    """A small file that says that it has this many pixels."""

    def part(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(bytes(1_000))) + part(b"IEND", b"")


async def test_closing_ends_a_recognizer_at_work(files: Path, tmp_path: Path, make_library: MakeLibrary) -> None:
    scan(files / "scan.pdf", LIGHT)
    log = tmp_path / "log"
    choice = recognizer("--gate", tmp_path / "never", "--log", log)
    library = await opened(make_library(ocr=choice))
    waiting = asyncio.create_task(elements(library, "scan.pdf"))
    await eventually(lambda: log_of(log))
    await library.close()
    assert choice.recognizer is not None
    assert not choice.recognizer.is_running
    assert [each["category"] for each in await waiting] == ["image", "annotation"]


async def test_a_page_that_is_edited_while_it_is_recognized_is_recognized_again(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    scan(files / "scan.pdf", LIGHT)
    gate, log = tmp_path / "gate", tmp_path / "log"
    library = await opened(make_library(ocr=recognizer("--gate", gate, "--log", log)))
    waiting = asyncio.create_task(elements(library, "scan.pdf"))
    await eventually(lambda: log_of(log))
    scan(files / "scan.pdf", 150)
    gate.touch()
    assert "shade150" in texts(await waiting)[0]


async def test_failures_name_their_cause() -> None:
    answers = {"refuse": Cause.FILE, "nonsense": Cause.UNCLEAR}
    for how, cause in answers.items():
        one = Recognizer(command("--dark", how), "key")
        with pytest.raises(ReadingFailed) as failure:
            await one.read(PIXEL, "image/png")
        assert failure.value.cause is cause
        await one.close()


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="


async def test_text_that_is_recognized_is_forgotten_with_its_file(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    scan(files / "scan.pdf", LIGHT)
    store = Store(tmp_path / "own.db")
    library = await opened(make_library(ocr=recognizer(in_background=True), store=store, workers=CountingWorkers()))
    await library.make_searchable()
    await library.recognize_all()
    contents = [document.digest or "" for document in library.documents.values()]
    assert store.words.recognized("one", contents) == (1, 1)
    (files / "scan.pdf").unlink()
    (files / "notes.md").write_text("An empty folder could be a disk that is not mounted.")
    await library.look()
    await library.tidy()
    assert store.words.recognized("one", contents) == (0, 0)
    assert store.words.search("shade200", 5, contents) == []
