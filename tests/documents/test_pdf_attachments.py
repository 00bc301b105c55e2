"""Files inside PDFs: of the document and pinned to a page; readable like attachments of mails, within limits."""

from __future__ import annotations

import base64
import io
import os
import zlib
from pathlib import Path

import pytest
from PIL import Image

from a2c_documents.parsers.attached import MAX_FILE
from a2c_documents.parsers.pdf.attached_files import MAX_FILES
from a2c_documents.parsers.pdf.pdf_file import open_pdf
from tests.documents.test_completeness import missing_from
from tests.support.documents.libraries import MakeLibrary
from tests.support.documents.pdf_files import PdfFile, line
from tests.support.documents.reading import Read, read


def attach(file: PdfFile, name: str, data: bytes, kind: str = "", filters: str = "/Filter /FlateDecode") -> int:
    """A file inside a PDF; the number of its description. `data` is packed already."""
    subtype = f"/Subtype /{kind.replace('/', '#2F')}" if kind else ""
    stream = file.stream(data, f"/Type /EmbeddedFile {subtype} {filters}")
    return file.add(f"<< /Type /Filespec /F ({name}) /UF ({name}) /EF << /F {stream} 0 R >> >>")


def list_of_files(file: PdfFile, names: dict[str, int]) -> None:
    """Make them files of the document, in a tree of two levels."""
    pairs = [f"({name}) {number} 0 R" for name, number in names.items()]
    kids = [file.add(f"<< /Names [{' '.join(part)}] >>") for part in (pairs[:2], pairs[2:])]
    file.catalog += f"/Names << /EmbeddedFiles << /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >> >> "


def pinned(number: int) -> str:
    return (
        f"/Annots [<< /Type /Annot /Subtype /FileAttachment /Rect [9 9 30 30] /FS {number} 0 R /Contents (See it) >>]"
    )


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 4), "green").save(out, "PNG")
    return out.getvalue()


def write_rich(path: Path) -> Path:
    """Two pages; a note pinned to the first, and files of four kinds in the document."""
    file = PdfFile()
    note = attach(file, "note.md", zlib.compress(b"# A note\n\nwith *words*"))
    files = {
        "data.csv": attach(file, "C:\\\\files\\\\data.csv", zlib.compress(b"tea,price\ngreen,12\n"), "text/csv"),
        "leaf.png": attach(file, "../../leaf.png", png(), "image/png", filters=""),
        "sheet.xlsx": attach(file, "sheet.xlsx", zlib.compress(b"PK" + bytes(50))),
        "mathml-1.xml": attach(file, "mathml-1.xml", zlib.compress(b"<math/>"), "application/mathml+xml"),
    }
    list_of_files(file, files)
    file.page(line(72, 700, "First page"), pinned(note))
    file.page(line(72, 700, "Last page"))
    return file.write(path)


def names_of(found: Read, page: int) -> list[str]:
    return [each.content["text"] for each in found.pages[page] if each.category == "link"]


def test_attached_files_are_links_and_show_their_contents(tmp_path: Path) -> None:
    path = write_rich(tmp_path / "a.pdf")
    found = read(open_pdf, path)
    assert found.facts.details["attachments"][2:] == ["sheet.xlsx", "mathml-1.xml"]
    assert names_of(found, 0) == ["note.md (text/markdown, 22 bytes)"]
    assert [each.content["text"] for each in found.pages[0] if each.category == "heading"] == ["A note"]
    assert "See it" in str(found.pages[0])
    assert names_of(found, 1) == [
        "data.csv (text/csv, 19 bytes)",
        f"leaf.png (image/png, {len(png())} bytes)",
        "sheet.xlsx (application/vnd.openxmlformats-officedocument.spreadsheetml.sheet, 52 bytes)",
    ]
    assert found.of("table") == [{"headers": ["tea", "price"], "rows": [["green", "12"]]}]
    (picture,) = [each for each in found.elements if each.category == "image"]
    assert picture.picture is not None
    assert picture.picture() == ("image/png", png())
    assert missing_from(path) == []


@pytest.mark.anyio
async def test_an_attached_file_can_be_fetched(files: Path, make_library: MakeLibrary) -> None:
    write_rich(files / "a.pdf")
    library = make_library()
    await library.look()
    (ref,) = library.documents
    page = await library.page(ref, 1)
    element = next(each for each in page["elements"] if "sheet.xlsx" in str(each["content"]))
    assert element["content"]["url"].endswith("?as=file")
    _, data = await library.blob(ref, element["element_id"], "file")
    assert base64.b64decode(data) == b"PK" + bytes(50)
    assert {hit["page_index"] for hit in await library.search("green", 5)} == {1}


def bomb(size: int) -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(10_000_000)) for _ in range(size // 10_000_000)) + packer.flush()


def test_files_that_cannot_be_unpacked_leave_the_others_readable(tmp_path: Path) -> None:
    file = PdfFile()
    files = {
        "bomb.txt": attach(file, "bomb.txt", bomb(3_000_000_000)),
        "damaged.txt": attach(file, "damaged.txt", os.urandom(300)),
        "odd.txt": attach(file, "odd.txt", b"x", filters="/Filter /JPXDecode"),
        "good.txt": attach(file, "good.txt", zlib.compress(b"green words")),
    }
    list_of_files(file, files)
    file.page(line(72, 700, "Page"))
    found = read(open_pdf, file.write(tmp_path / "a.pdf"))
    assert names_of(found, 0) == [
        "bomb.txt (text/plain, more than 25.0 MB)",
        "damaged.txt (text/plain, 0 bytes)",
        "odd.txt (text/plain, 0 bytes)",
        "good.txt (text/plain, 11 bytes)",
    ]
    assert [each.content["text"] for each in found.elements if each.file is not None] == [names_of(found, 0)[3]]
    assert "green words" in str(found.elements)


def test_the_number_and_the_size_of_attached_files_are_bounded(tmp_path: Path) -> None:
    file = PdfFile()
    large = bomb(MAX_FILE // 10_000_000 * 10_000_000)
    list_of_files(file, {f"{number}.bin": attach(file, f"{number}.bin", large) for number in range(MAX_FILES + 20)})
    file.page(line(72, 700, "Page"))
    found = read(open_pdf, file.write(tmp_path / "a.pdf"))
    assert len(names_of(found, 0)) == MAX_FILES
    assert sum("MB" in name for name in names_of(found, 0)) == 5


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_a_damaged_pdf_with_files_keeps_its_text(kept: float, tmp_path: Path) -> None:
    raw = write_rich(tmp_path / "a.pdf").read_bytes()
    at = int(len(raw) * kept)
    path = tmp_path / "b.pdf"
    path.write_bytes(raw[:at] + b"%" * 40 + raw[at + 40 :])
    source = open_pdf(path)
    try:
        for number in range(len(source.page_titles)):
            assert source.page(number).elements
    finally:
        source.close()


def test_a_list_of_files_that_goes_round_in_circles_ends(tmp_path: Path) -> None:
    file = PdfFile()
    number = len(file.objects) + 1
    file.add(f"<< /Kids [{number} 0 R {number} 0 R] /Names [(a) (no file) (b) {number} 0 R] >>")
    file.catalog += f"/Names << /EmbeddedFiles {number} 0 R >> "
    file.page(line(72, 700, "Page"), pinned(number))
    found = read(open_pdf, file.write(tmp_path / "a.pdf"))
    assert "Page" in str(found.elements)
    assert len(names_of(found, 0)) <= 2 * MAX_FILES
