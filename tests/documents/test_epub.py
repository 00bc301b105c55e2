"""Books, made here as archives."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from a2c_documents.model import Source, UnreadableFileError
from a2c_documents.parsers.epub import open_epub

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
METADATA = (
    "<dc:title>The Well</dc:title><dc:creator>Ada</dc:creator><dc:creator>Grace</dc:creator>"
    "<dc:subject>Water</dc:subject>"
    "<dc:subject>Wells</dc:subject><dc:description>&lt;p&gt;About a &lt;b&gt;well&lt;/b&gt;.&lt;/p&gt;</dc:description>"
    "<dc:date>2019-08-23</dc:date><dc:language>en</dc:language>"
)
NCX = (
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Down</text></navLabel>'
    '<content src="text/one.xhtml#start"/><navPoint><navLabel><text>Deeper</text></navLabel>'
    '<content src="text/one.xhtml#two"/></navPoint></navPoint></navMap></ncx>'
)
NAV = (
    '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>'
    '<nav epub:type="landmarks"><a href="text/one.xhtml">Start reading</a></nav>'
    '<nav epub:type="toc"><ol><li><a href="text/one.xhtml">Going&#160;Down</a></li></ol></nav></body></html>'
)


def chapter(body: str, head: str = "<title>The Well</title>") -> str:
    return (
        f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>{head}</head><body>{body}</body></html>'
    )


def dot() -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (2, 2), "red").save(target, "PNG")
    return target.getvalue()


def book(
    tmp_path: Path, chapters: dict[str, str], *, version: int = 2, extra: dict[str, str | bytes] | None = None
) -> Path:
    """A book with these chapters, in that order; the table of contents is that of EPUB 2 or 3."""
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>' for name in chapters
    )
    toc = (
        ("toc.ncx", "application/x-dtbncx+xml", "", NCX)
        if version == 2
        else ("nav.xhtml", "application/xhtml+xml", ' properties="nav"', NAV)
    )
    items += f'<item id="toc" href="{toc[0]}" media-type="{toc[1]}"{toc[2]}/>'
    items += '<item id="dot" href="dot.png" media-type="image/png"/>'
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    package = (
        f'<package xmlns="http://www.idpf.org/2007/opf" version="{version}.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'{METADATA}</metadata><manifest>{items}</manifest><spine toc="toc">{spine}</spine></package>'
    )
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": package,
        f"OEBPS/{toc[0]}": toc[3],
        "OEBPS/dot.png": dot(),
    }
    parts |= {f"OEBPS/text/{name}.xhtml": markup for name, markup in chapters.items()}
    parts |= extra or {}
    path = tmp_path / "book.epub"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)
    return path


def content(source: Source) -> list[Any]:
    pages = [source.page(index) for index in range(len(source.page_titles))]
    return [(page.title, [(one.category, one.content, one.metadata) for one in page.elements]) for page in pages]


def test_facts_come_from_the_package(tmp_path: Path) -> None:
    facts = open_epub(book(tmp_path, {"one": chapter("<p>Text</p>")})).facts
    assert (facts.title, facts.author, facts.created) == ("The Well", "Ada, Grace", "2019-08-23")
    assert facts.keywords == ["Water", "Wells"]
    assert facts.summary == "About a well."
    assert facts.details["language"] == "en"


@pytest.mark.parametrize(("version", "title"), [(2, "Down"), (3, "Going Down")])
def test_page_is_an_item_named_by_the_contents_or_its_heading(tmp_path: Path, version: int, title: str) -> None:
    chapters = {
        "one": chapter("<h1>I</h1><p>First.</p>"),
        "two": chapter("<h2>Up <i>again</i></h2><p>Second.</p>"),
        "three": chapter("<p>Third.</p>"),
    }
    source = open_epub(book(tmp_path, chapters, version=version))
    assert list(source.page_titles) == [title, "Up again", "Section 3"]
    assert [source.page(index).title for index in range(3)] == list(source.page_titles)
    heading, text = source.page(1).elements
    assert heading.content == {"level": 2, "text": "Up again"}
    assert text.content["text"] == "Second."
    assert text.metadata["file"] == "OEBPS/text/two.xhtml"
    source.close()


def test_pictures_can_be_seen(tmp_path: Path) -> None:
    markup = chapter('<p>Look</p><img src="../dot.png" alt="A dot"/><img src="../gone.png" alt="Gone"/>')
    source = open_epub(book(tmp_path, {"one": markup}))
    shown, gone = (one for one in source.page(0).elements if one.category == "image")
    source.close()
    assert shown.content["alt"] == "A dot"
    assert shown.picture is not None
    assert shown.picture() == ("image/png", dot())
    assert gone.picture is None


def test_cover_that_is_a_drawing_has_its_picture(tmp_path: Path) -> None:
    markup = chapter(
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">'
        '<image width="9" height="9" xlink:href="../dot.png"/></svg>'
    )
    pictures = [one for one in open_epub(book(tmp_path, {"one": markup})).page(0).elements if one.picture is not None]
    assert len(pictures) == 1
    assert pictures[0].picture is not None
    assert pictures[0].picture()[1] == dot()


def test_elements_closed_where_they_are_opened_swallow_nothing(tmp_path: Path) -> None:
    head = '<title/><script src="x.js"/><style/>'
    markup = chapter('<a id="start"/><div class="rule"/><p>Still <i/>here<br/>and here</p>', head)
    elements = open_epub(book(tmp_path, {"one": markup})).page(0).elements
    assert [one.category for one in elements] == ["text"]
    assert elements[0].content["text"].split() == ["Still", "here", "and", "here"]


def test_long_chapter_goes_on_on_further_pages(tmp_path: Path) -> None:
    long = chapter("<h1>Long</h1>" + "".join(f"<p>Paragraph {number} {'x' * 200}</p>" for number in range(2_000)))
    source = open_epub(book(tmp_path, {"one": long, "two": chapter("<h1>Short</h1>")}))
    titles = list(source.page_titles)
    assert titles[0].startswith("Down (part 1 of")
    assert titles[-1] == "Short"
    assert len(titles) >= 4


def test_parsing_twice_gives_the_same(tmp_path: Path) -> None:
    path = book(tmp_path, {"one": chapter("<h1>I</h1><ul><li>a</li></ul>"), "two": chapter("<p>b</p>")})
    source = open_epub(path)
    assert content(source) == content(source) == content(open_epub(path))


def test_other_encodings_are_read(tmp_path: Path) -> None:
    markup = chapter("<p>Größe</p>").replace('<?xml version="1.0"?>', '<?xml version="1.0" encoding="iso-8859-1"?>')
    path = book(tmp_path, {"one": chapter("")}, extra={"OEBPS/text/one.xhtml": markup.encode("latin-1")})
    assert open_epub(path).page(0).elements[0].content["text"] == "Größe"


# -------------------------------------------------------------------------------------------------------------- hostile


def test_missing_chapter_is_said_to_be_missing(tmp_path: Path) -> None:
    path = book(tmp_path, {"one": chapter("<p>a</p>"), "two": chapter("<p>b</p>")})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if name != "OEBPS/text/two.xhtml"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)
    source = open_epub(path)
    assert list(source.page_titles) == ["Down", "Section 2"]
    assert source.page(1).elements[0].category == "annotation"
    assert source.page(0).elements[0].content["text"] == "a"


@pytest.mark.parametrize(
    ("algorithm", "refused"),
    [("http://www.w3.org/2001/04/xmlenc#aes128-cbc", True), ("http://www.idpf.org/2008/embedding", False)],
)
def test_encrypted_text_is_refused_and_encrypted_fonts_are_not(tmp_path: Path, algorithm: str, refused: bool) -> None:
    rights = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#">'
        f'<EncryptionMethod Algorithm="{algorithm}"/><CipherData>'
        '<CipherReference URI="OEBPS/text/one.xhtml"/></CipherData>'
        "</EncryptedData></encryption>"
    )
    path = book(tmp_path, {"one": chapter("<p>a</p>")}, extra={"META-INF/encryption.xml": rights})
    if refused:
        with pytest.raises(UnreadableFileError, match="DRM"):
            open_epub(path)
    else:
        assert len(open_epub(path).page_titles) == 1


def test_contents_with_entities_are_no_danger(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY l{step} "{f"&l{step - 1};" * 10}">' for step in range(1, 10))
    bomb = f'<!DOCTYPE ncx [<!ENTITY l0 "laugh">{levels}]>' + NCX.replace("Down", "&l9;")
    source = open_epub(book(tmp_path, {"one": chapter("<h1>Own heading</h1>")}, extra={"OEBPS/toc.ncx": bomb}))
    assert "laugh" not in source.page_titles[0]


def test_deep_chapter_is_no_danger(tmp_path: Path) -> None:
    path = book(tmp_path, {"one": chapter("<div>" * 5_000 + "deep" + "</div>" * 5_000)})
    assert "deep" in str(content(open_epub(path)))


@pytest.mark.parametrize("damage", ["empty", "cut", "no container", "no package", "no spine", "package is no XML"])
def test_what_is_no_book_is_refused(tmp_path: Path, damage: str) -> None:
    changed: dict[str, dict[str, str | bytes]] = {
        "no package": {"META-INF/container.xml": CONTAINER.replace("book.opf", "gone.opf")},
        "no container": {"META-INF/container.xml": ""},
        "package is no XML": {"OEBPS/book.opf": "\x00\x01"},
    }
    path = book(tmp_path, {} if damage == "no spine" else {"one": chapter("<p>a</p>")}, extra=changed.get(damage))
    if damage == "empty":
        path.write_bytes(b"")
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(UnreadableFileError):
        open_epub(path)
