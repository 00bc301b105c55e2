"""Pictures and drawings."""

from __future__ import annotations

import io
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, PngImagePlugin

from a2c_documents.model import Source, UnreadableFileError
from a2c_documents.parsers.images import open_image, open_svg
from a2c_documents.registry import format_of
from tests.support.documents.photo_files import write_avif, write_heic


def content(source: Source) -> list[Any]:
    """Everything in a source that can be compared."""
    pages = [source.page(index) for index in range(len(source.page_titles))]
    return [(page.title, [(one.category, one.content, one.metadata) for one in page.elements]) for page in pages]


def png_of(width: int, height: int) -> bytes:
    """A PNG that only says how large it is."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("suffix", "mime"),
    [
        ("png", "image/png"),
        ("jpg", "image/jpeg"),
        ("gif", "image/gif"),
        ("webp", "image/webp"),
        ("bmp", "image/png"),
        ("ico", "image/png"),
        ("tiff", "image/png"),
    ],
)
def test_picture_is_one_page_with_one_image(tmp_path: Path, suffix: str, mime: str) -> None:
    path = tmp_path / f"dot.{suffix}"
    Image.new("RGB", (48, 32), "red").save(path)
    source = open_image(path)
    (element,) = source.page(0).elements
    assert len(source.page_titles) == 1
    assert element.category == "image"
    if suffix != "ico":  # icons are squares
        assert (element.metadata["width"], element.metadata["height"]) == (48, 32)
    assert element.picture is not None
    kind, raw = element.picture()
    assert kind == mime
    assert Image.open(io.BytesIO(raw)).size == (element.metadata["width"], element.metadata["height"])
    assert content(source) == content(open_image(path))


def test_shown_formats_are_given_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "dot.png"
    Image.new("RGB", (4, 3)).save(path)
    picture = open_image(path).page(0).elements[0].picture
    assert picture is not None
    assert picture()[1] == path.read_bytes()


def test_each_frame_of_a_tiff_is_a_page_with_its_own_picture(tmp_path: Path) -> None:
    path = tmp_path / "scan.tiff"
    frames = [Image.new("RGB", (10 * step, 20), color) for step, color in ((1, "red"), (2, "green"), (3, "blue"))]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    source = open_image(path)
    assert list(source.page_titles) == ["Page 1 of 3", "Page 2 of 3", "Page 3 of 3"]
    for index, color in enumerate([(255, 0, 0), (0, 128, 0), (0, 0, 255)]):
        (element,) = source.page(index).elements
        assert element.metadata["width"] == 10 * (index + 1)
        assert element.metadata["frame"] == index + 1
        assert element.picture is not None
        mime, raw = element.picture()
        assert mime == "image/png"
        assert Image.open(io.BytesIO(raw)).convert("RGB").getpixel((0, 0)) == color


def test_moving_picture_is_one_page_that_counts_its_frames(tmp_path: Path) -> None:
    path = tmp_path / "moving.gif"
    frames = [Image.new("L", (8, 8), shade) for shade in (0, 100, 200)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    source = open_image(path)
    (element,) = source.page(0).elements
    assert len(source.page_titles) == 1
    assert element.metadata["frames"] == 3
    assert "3 frames" in element.content["description"]


def test_what_a_picture_says_about_itself_is_in_its_description(tmp_path: Path) -> None:
    path = tmp_path / "shop.png"
    said: Any = PngImagePlugin.PngInfo()
    said.add_text("Title", "The shop")
    said.add_text("Description", "A striped awning")
    Image.new("RGB", (4, 3)).save(path, pnginfo=said)
    shown = open_image(path).page(0).elements[0].content
    assert (shown["alt"], shown["description"]) == ("The shop", "A striped awning. PNG picture, 4 × 3 pixels")


def test_facts_come_from_exif(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    exif: Any = Image.Exif()
    exif[0x010E], exif[0x013B], exif[0x010F], exif[0x0110] = "A red square", "Ada", "Leica", "M3"
    exif[0x0132] = "2023:02:08 13:46:33"
    exif[0x9C9E] = "red;square".encode("utf-16-le")
    Image.new("RGB", (4, 4), "red").save(path, exif=exif, dpi=(300, 300))
    source = open_image(path)
    facts = source.facts
    assert (facts.author, facts.summary, facts.created) == ("Ada", "A red square", "2023-02-08T13:46:33")
    assert facts.keywords == ["red", "square"]
    element = source.page(0).elements[0]
    assert element.content["alt"] == "A red square"
    assert element.metadata["camera"] == "Leica M3"
    assert element.metadata["dpi"] == 300


def test_facts_come_from_the_texts_of_a_png(tmp_path: Path) -> None:
    path = tmp_path / "chart.png"
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Title", "Sales")
    texts.add_text("Author", "Grace")
    texts.add_text("Description", "Sales by month")
    Image.new("RGB", (4, 4)).save(path, pnginfo=texts)
    facts = open_image(path).facts
    assert (facts.title, facts.author, facts.summary) == ("Sales", "Grace", "Sales by month")


def test_picture_is_known_by_its_bytes_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "really_a_png.jpg"
    path.write_bytes(png_of(5, 6))
    assert open_image(path).facts.details["format"] == "PNG"


def test_photos_are_shown_as_jpeg(tmp_path: Path) -> None:
    pytest.importorskip("pi_heif", reason="the extra heif is not installed")
    write_heic(tmp_path / "a.heic")
    write_avif(tmp_path / "a.avif")
    write_heic(tmp_path / "renamed.jpg")
    sizes = {"a.heic": (48, 64), "a.avif": (64, 48), "renamed.jpg": (48, 64)}
    for name, size in sizes.items():
        source = format_of(tmp_path / name).parser(tmp_path / name)
        (element,) = source.page(0).elements
        assert (source.facts.details["width"], source.facts.details["height"]) == size
        assert element.picture is not None
        kind, raw = element.picture()
        assert (kind, Image.open(io.BytesIO(raw)).size) == ("image/jpeg", size)
    assert open_image(tmp_path / "a.heic").facts.details["camera"] == "Camera"


def test_a_photo_without_its_library_names_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_heic(tmp_path / "a.heic")
    for name in ("pillow_heif", "pi_heif"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError) as missing:
        open_image(tmp_path / "a.heic")
    assert missing.value.name == "pi_heif"


def test_huge_picture_is_described_and_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(png_of(100_000, 100_000))
    element = open_image(path).page(0).elements[0]
    assert element.metadata["width"] == 100_000
    assert element.picture is not None
    assert element.picture() == ("image/png", path.read_bytes())
    limit: Any = Image.MAX_IMAGE_PIXELS
    assert limit is not None, "the limit of the library stays for everybody else"


def test_icon_with_a_huge_picture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.ico"
    picture = png_of(30_000, 30_000)
    path.write_bytes(struct.pack("<HHHBBBBHHII", 0, 1, 1, 0, 0, 0, 0, 1, 32, len(picture), 22) + picture)
    with pytest.raises(UnreadableFileError):
        open_image(path)


@pytest.mark.parametrize(
    "raw", [b"", b"no picture", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"II*\x00\xff\xff\xff\xff", b"BM"]
)
def test_broken_picture_is_refused_with_a_sentence(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(raw)
    with pytest.raises(UnreadableFileError):
        open_image(path)


def test_truncated_picture_is_described_but_cannot_be_shown(tmp_path: Path) -> None:
    path = tmp_path / "cut.bmp"
    Image.new("RGB", (50, 50)).save(path)
    path.write_bytes(path.read_bytes()[:200])
    element = open_image(path).page(0).elements[0]
    assert element.metadata["width"] == 50
    assert element.picture is not None
    with pytest.raises(UnreadableFileError):
        element.picture()


# ------------------------------------------------------------------------------------------------------------- drawings

DRAWING = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="10mm" height="20mm">
  <title>A plan</title><desc>The ground floor</desc>
  <defs><text>never shown</text></defs><style>text { fill: red }</style>
  <g><text x="1" y="2">Kit<tspan>ch</tspan>en</text><text x="30" y="2">left</text></g>
  <text x="1" y="9">Hall<tspan x="1" dy="12">upper</tspan></text>
  <a xlink:href="https://example.com/plan"><text x="3" y="20">More</text></a>
</svg>"""


def test_drawing_gives_itself_its_words_and_its_links(tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    path.write_text(DRAWING)
    source = open_svg(path)
    assert (source.facts.title, source.facts.summary) == ("A plan", "The ground floor")
    picture, words, link = source.page(0).elements
    assert picture.content["alt"] == "A plan"
    assert (picture.metadata["width"], picture.metadata["height"]) == (37.8, 75.6)
    assert picture.picture is not None
    assert picture.picture() == ("image/svg+xml", path.read_bytes())
    assert words.content["text"] == "Kitchen left\nHall\nupper\nMore"
    assert link.content == {"text": "More", "url": "https://example.com/plan"}
    assert content(source) == content(open_svg(path))


@pytest.mark.parametrize(
    ("said", "alt", "description"),
    [
        ("<title>T</title><desc>A ridge.</desc>", "T", "A ridge. SVG drawing"),
        ("<title>T</title><desc>A ridge</desc>", "T", "A ridge. SVG drawing"),
        ("<title>T</title><desc>A ridge?</desc>", "T", "A ridge? SVG drawing"),
        ("<desc>A ridge.</desc>", "A ridge.", "SVG drawing"),
        ("", "", "SVG drawing"),
    ],
)
def test_a_description_is_made_of_sentences(tmp_path: Path, said: str, alt: str, description: str) -> None:
    path = tmp_path / "plan.svg"
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{said}</svg>')
    assert open_svg(path).page(0).elements[0].content == {"alt": alt, "url": "", "description": description}


def test_drawing_without_a_size_has_that_of_its_view_box(tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="100%" viewBox="0 0 120 80"/>')
    element = open_svg(path).page(0).elements[0]
    assert (element.metadata["width"], element.metadata["height"]) == (120, 80)


@pytest.mark.parametrize(("depth", "shown"), [(2, "before after"), (9, "before")])
def test_entities_of_a_drawing_are_not_expanded(tmp_path: Path, depth: int, shown: str) -> None:
    path = tmp_path / "bomb.svg"
    levels = "".join(f'<!ENTITY l{step} "{f"&l{step - 1};" * 10}">' for step in range(1, depth + 1))
    path.write_text(
        f'<!DOCTYPE svg [<!ENTITY l0 "laugh"><!ENTITY file SYSTEM "file:///etc/passwd">{levels}]>'
        f'<svg xmlns="http://www.w3.org/2000/svg"><text>before &l{depth}; &file; after</text></svg>'
    )
    elements = open_svg(path).page(0).elements
    assert elements[1].content["text"] == shown


def test_damaged_drawing_says_so_and_gives_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "cut.svg"
    path.write_text(DRAWING[:-60])
    elements = open_svg(path).page(0).elements
    assert elements[0].category == "image"
    assert "Kitchen" in elements[1].content["text"]
    assert elements[-1].category == "annotation"


@pytest.mark.parametrize("raw", [b"", b"   ", b"no drawing", b"<html/>", b"\x00\x01"])
def test_what_is_no_drawing_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "none.svg"
    path.write_bytes(raw)
    with pytest.raises(UnreadableFileError):
        open_svg(path)


def test_deep_drawing_is_no_danger(tmp_path: Path) -> None:
    path = tmp_path / "deep.svg"
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg">' + "<g>" * 50_000 + "<text>deep</text>")
    assert open_svg(path).page(0).elements[-1].category == "annotation"
