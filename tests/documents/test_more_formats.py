"""Rich text, mailboxes, saved web pages, drawings, previews of Apple's programs; damaged copies of these and others."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import random
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from a2c_documents.model import Page, UnreadableFileError
from a2c_documents.registry import FORMATS, format_of
from a2c_documents.render import markdown, page_shape
from tests.documents.test_completeness import missing_from
from tests.support.documents.archive_files import write_tar, write_zip
from tests.support.documents.libraries import MakeLibrary
from tests.support.documents.outlook_files import write_msg
from tests.support.documents.pdf_files import PdfFile, line
from tests.support.documents.photo_files import write_avif, write_heic
from tests.support.documents.reading import Read, read
from tests.support.documents.visio_files import write_vsdx
from tests.support.pages import DOCS


def shown(path: Path) -> Read:
    return read(format_of(path).parser, path)


RTF = (
    r"{\rtf1\ansi\ansicpg1252{\info{\title Tea list}{\author Ada}}{\fonttbl{\f0 Arial;}}Hello \b bold\b0\par Caf\'e9 "
    r"\u8364?\par\pard\trowd Tea\cell Price\cell\row\trowd green\cell 12\cell\row\pard - one\par - two\par "
    r"{\pict\pngblip " + "89504e47" * 1_000 + r"}End\page Second {\field{\*\fldinst HYPERLINK "
    r'"https://tea.example"}{\fldrslt link}}}'
)


def write_rtf(path: Path) -> None:
    path.write_text(RTF, "ascii")


def write_mbox(path: Path) -> None:
    message = (
        "From ada@tea.example Mon Jan  5 10:00:00 2026\nFrom: ada@tea.example\nSubject: {0}\n\n{0} words.\n{1}\n\n"
    )
    path.write_text(message.format("First", ">From here on") + message.format("Second", "From my garden, with love"))


def write_mhtml(path: Path) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (4, 4), "green").save(picture, "PNG")
    encoded = base64.b64encode(picture.getvalue()).decode()
    path.write_text(
        "From: <Saved by a browser>\nSnapshot-Content-Location: https://tea.example/\nSubject: Tea\nMIME-Version: 1.0\n"
        'Content-Type: multipart/related; type="text/html"; boundary="b"\n\n'
        "--b\nContent-Type: text/html; charset=utf-8\nContent-Location: https://tea.example/\n\n"
        "<h1>Tea</h1><p>Words of <b>tea</b>.</p><img src='https://tea.example/leaf.png' alt='A leaf'>\n"
        "--b\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n"
        f"Content-Location: https://tea.example/leaf.png\n\n{encoded}\n--b--\n"
    )


def write_odg(path: Path) -> None:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
        for name, space in (("office", "office"), ("draw", "drawing"), ("text", "text"), ("svg", "svg-compatible"))
    )
    page = (
        "<draw:page draw:name='Plan'><draw:custom-shape svg:x='1cm' svg:y='1cm' svg:width='3cm' svg:height='1cm'>"
        "<text:p>A box of tea</text:p></draw:custom-shape></draw:page>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.graphics")
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:drawing>{page}</office:drawing></office:body>"
            "</office:document-content>",
        )


def write_pages(path: Path) -> None:
    preview = PdfFile()
    preview.page(line(72, 700, "A preview of tea"))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("QuickLook/Preview.pdf", preview.bytes())
        archive.writestr("Index/Document.iwa", b"\x00" * 100)


def write_key(path: Path) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (4, 4), "green").save(picture, "JPEG")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("preview.jpg", picture.getvalue())


MADE: dict[str, Callable[[Path], object]] = {
    "tea.rtf": write_rtf, "tea.mbox": write_mbox, "tea.mhtml": write_mhtml, "tea.odg": write_odg,
    "tea.pages": write_pages, "tea.key": write_key, "tea.msg": write_msg, "tea.vsdx": write_vsdx,
    "tea.zip": write_zip, "tea.tar": write_tar, "tea.tgz": partial(write_tar, pack=gzip.compress),
    "tea.avif": write_avif, "tea.heic": write_heic,
}  # fmt: skip


def made(folder: Path, name: str) -> Path:
    if name == "tea.heic":
        pytest.importorskip("pi_heif", reason="the extra heif is not installed")
    MADE[name](path := folder / name)
    return path


def test_rich_text(tmp_path: Path) -> None:
    found = shown(made(tmp_path, "tea.rtf"))
    assert (found.facts.title, found.facts.author, len(found.pages)) == ("Tea list", "Ada", 2)
    assert [one["text"] for one in found.of("text")] == [
        "Hello bold",
        "Café €",
        "End",
        "Second link",
    ]
    assert "Second [link](https://tea.example)" in markdown(page_shape(Page("", found.pages[1]), 1)["elements"], str)
    assert found.of("table") == [{"headers": ["Tea", "Price"], "rows": [["green", "12"]]}]
    assert found.of("list") == [{"items": ["one", "two"], "ordered": False}]


def test_rich_text_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = made(tmp_path, "tea.rtf").rename(tmp_path / "tea.doc")
    assert shown(path).facts.title == "Tea list"


def test_a_mailbox_has_a_page_for_each_message(tmp_path: Path) -> None:
    found = shown(made(tmp_path, "tea.mbox"))
    assert found.titles == ["First", "Second"]
    assert [one["text"].split("\n") for one in found.of("text")] == [
        ["First words.", "From here on"], ["Second words.", "From my garden, with love"]
    ]  # fmt: skip


def test_a_saved_web_page_has_its_pictures(tmp_path: Path) -> None:
    found = shown(made(tmp_path, "tea.mhtml"))
    assert found.facts.title == "Tea"
    assert found.facts.details["address"] == "https://tea.example/"
    assert [one.category for one in found.elements] == ["heading", "text", "image"]
    picture = found.elements[2].picture
    assert picture is not None
    assert picture()[0] == "image/png"


def test_a_drawing_is_read_like_slides(tmp_path: Path) -> None:
    found = shown(made(tmp_path, "tea.odg"))
    assert found.titles == ["Plan"]
    assert [one["text"] for one in found.of("text")] == ["A box of tea"]


def test_documents_of_apple_show_their_preview(tmp_path: Path) -> None:
    path = made(tmp_path, "tea.pages")
    found = shown(path)
    assert "A preview of tea" in str(found.of("text"))
    assert found.of("annotation")[0]["kind"] == "preview"
    pictures = shown(made(tmp_path, "tea.key"))
    assert [one.category for one in pictures.elements] == ["image", "annotation"]
    assert pictures.elements[0].picture is not None
    assert pictures.elements[0].picture()[0] == "image/jpeg"
    with zipfile.ZipFile(tmp_path / "none.numbers", "w") as archive:
        archive.writestr("Index/Document.iwa", b"")
    with pytest.raises(UnreadableFileError):
        shown(tmp_path / "none.numbers")


def test_a_key_of_a_server_is_no_presentation(tmp_path: Path) -> None:
    (tmp_path / "server.key").write_text("-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----\n")
    assert "abc" in str(shown(tmp_path / "server.key").elements)


@pytest.mark.parametrize("name", sorted(MADE))
@pytest.mark.parametrize("kept", [0.2, 0.6, 0.95])
def test_a_cut_off_file_is_read_or_reported(name: str, kept: float, tmp_path: Path) -> None:
    raw = made(tmp_path, name).read_bytes()
    (tmp_path / name).write_bytes(raw[: int(len(raw) * kept)])
    with contextlib.suppress(UnreadableFileError):
        assert shown(tmp_path / name).pages


@pytest.mark.parametrize("name", sorted(MADE))
def test_a_file_with_changed_bytes_is_read_or_reported(name: str, tmp_path: Path) -> None:
    raw = made(tmp_path, name).read_bytes()
    chance = random.Random(7)
    for _ in range(25):
        damaged = bytearray(raw)
        for _ in range(chance.randint(1, 20)):
            damaged[chance.randrange(len(raw))] = chance.randrange(256)
        (tmp_path / name).write_bytes(damaged)
        with contextlib.suppress(UnreadableFileError):
            assert shown(tmp_path / name).pages


@pytest.mark.parametrize("name", sorted(MADE))
def test_a_page_shows_every_text_of_its_elements(name: str, tmp_path: Path) -> None:
    assert missing_from(made(tmp_path, name)) == []


@pytest.mark.anyio
async def test_the_server_goes_on_after_a_bomb(bombs: None, make_library: MakeLibrary) -> None:
    library = make_library(seconds=20)
    await library.look()
    catalogue: dict[str, Any] = await library.catalogue()
    summaries = {entry["title"]: entry["summary"] for entry in catalogue["documents"]}
    assert len(summaries) == 3
    assert "A preview" not in str(summaries)
    assert (await library.search("Hello", 5))[0]["title"] == "Tea list"


@pytest.fixture
def bombs(files: Path) -> None:
    """A rich text of deep groups, a preview that inflates to 600 MB, and a good file."""
    (files / "deep.rtf").write_bytes(b"{\\rtf1 " + b"{" * 2_000_000)
    with zipfile.ZipFile(files / "bomb.pages", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("QuickLook/Preview.pdf", b"\x00" * 600_000_000)
    made(files, "tea.rtf")


def test_the_page_of_the_documentation_names_every_format() -> None:
    table = (DOCS / "documents.md").read_text("utf-8").split("| files | one page is |")[1].split("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    named = [name for row in rows if "source code" not in row for name in re.findall(r"\w+", row)]
    assert len(named) == len(set(named))
    assert set(named) == set(FORMATS)
