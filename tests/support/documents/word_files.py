"""Word documents as tests make them: the XML of the body, and whatever parts belong to it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from a2c_documents.model import Element, Page
from a2c_documents.parsers.word.document import open_word

_OFFICE = "http://schemas.openxmlformats.org/"
_SPACES = {
    "w": f"{_OFFICE}wordprocessingml/2006/main",
    "r": f"{_OFFICE}officeDocument/2006/relationships",
    "m": f"{_OFFICE}officeDocument/2006/math",
    "wp": f"{_OFFICE}drawingml/2006/wordprocessingDrawing",
    "a": f"{_OFFICE}drawingml/2006/main",
    "pic": f"{_OFFICE}drawingml/2006/picture",
    "c": f"{_OFFICE}drawingml/2006/chart",
    "dgm": f"{_OFFICE}drawingml/2006/diagram",
    "mc": f"{_OFFICE}markup-compatibility/2006",
    "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "wpg": "http://schemas.microsoft.com/office/word/2010/wordprocessingGroup",
    "v": "urn:schemas-microsoft-com:vml",
    "o": "urn:schemas-microsoft-com:office:office",
}
XMLNS = " ".join(f'xmlns:{prefix}="{space}"' for prefix, space in _SPACES.items())
_RELATION = f"{_OFFICE}officeDocument/2006/relationships/"


def part(name: str, inner: str) -> str:
    """A part with all the namespaces."""
    return f"<{name} {XMLNS}>{inner}</{name}>"


def relations(entries: Mapping[str, tuple[str, str]]) -> str:
    """Relations by id: kind and target."""
    made = ""
    for name, (kind, target) in entries.items():
        mode = ' TargetMode="External"' if "://" in target else ""
        made += f'<Relationship Id="{name}" Type="{_RELATION}{kind}" Target="{target}"{mode}/>'
    return f'<Relationships xmlns="{_OFFICE}package/2006/relationships">{made}</Relationships>'


def word_file(
    path: Path,
    body: str,
    parts: Mapping[str, str | bytes] | None = None,
    related: Mapping[str, tuple[str, str]] | None = None,
    *,
    document: str = "",
) -> Path:
    """Write a document with this body; `parts` are further files in it, `related` what the document refers to."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_rels/.rels", relations({"r1": ("officeDocument", "word/document.xml")}))
        archive.writestr("word/document.xml", document or part("w:document", f"<w:body>{body}</w:body>"))
        archive.writestr("word/_rels/document.xml.rels", relations(related or {}))
        for name, content in (parts or {}).items():
            archive.writestr(name, content)
    return path


def p(words: str, properties: str = "", more: str = "") -> str:
    """A paragraph."""
    run = f'<w:r><w:t xml:space="preserve">{words}</w:t></w:r>' if words else ""
    return f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{run}{more}</w:p>"


def pages(path: Path) -> list[Page]:
    """All pages of a document."""
    source = open_word(path)
    return [source.page(index) for index in range(len(source.page_titles))]


def elements(path: Path) -> list[Element]:
    """All elements of a document."""
    return [element for page in pages(path) for element in page.elements]


def shown(path: Path) -> list[tuple[str, object]]:
    """Category and main content of all elements: short enough to compare."""
    keys = ("text", "items", "rows", "expression", "code", "alt", "title")
    return [
        (element.category, next(element.content[key] for key in keys if key in element.content))
        for element in elements(path)
    ]
