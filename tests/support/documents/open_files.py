"""OpenDocument texts and presentations as tests make them: the XML of the body, and whatever parts belong to it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from a2c_documents.model import Element, Page, Source
from a2c_documents.parsers.opendocument.document import open_odp, open_odt

_SPACES = {
    **{
        name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"
        for name in ("office", "text", "table", "style", "meta", "presentation", "chart", "form", "manifest")
    },
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "fo": "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
    "xlink": "http://www.w3.org/1999/xlink",
    "dc": "http://purl.org/dc/elements/1.1/",
    "math": "http://www.w3.org/1998/Math/MathML",
    "field": "urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0",
    "loext": "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0",
}
XMLNS = " ".join(f'xmlns:{prefix}="{space}"' for prefix, space in _SPACES.items())
STYLES = (
    '<style:style style:name="P1" style:family="paragraph"><style:paragraph-properties fo:break-before="page"/>'
    "</style:style>"
    '<style:style style:name="P2" style:family="paragraph" style:parent-style-name="Title"/>'
    '<style:style style:name="P3" style:family="paragraph" style:master-page-name="Landscape"/>'
    '<style:style style:name="P4" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>'
    '<style:style style:name="P5" style:family="paragraph" style:parent-style-name="Illustration"/>'
    '<style:style style:name="P6" style:family="paragraph"><style:paragraph-properties fo:border-bottom="1pt solid"/>'
    "</style:style>"
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1"/>'
    '<text:list-level-style-bullet text:level="2" text:bullet-char="•"/></text:list-style>'
    '<text:list-style style:name="L2"><text:list-level-style-number text:level="1" style:num-format="I" '
    'style:num-suffix=")"/><text:list-level-style-number text:level="2" style:num-format="1" text:display-levels="2"/>'
    "</text:list-style>"
    '<style:style style:name="T1" style:family="text"><style:text-properties text:display="none"/></style:style>'
    '<style:style style:name="dp1" style:family="drawing-page"><style:drawing-page-properties '
    'presentation:visibility="hidden" presentation:display-footer="false"/></style:style>'
)
COMMON = (
    '<office:styles><style:style style:name="Title" style:family="paragraph"/>'
    '<style:style style:name="Preformatted_20_Text" style:family="paragraph" style:display-name="Preformatted Text"/>'
    '<style:style style:name="Illustration" style:family="paragraph"/></office:styles><office:master-styles>'
    '<style:master-page style:name="Standard"><style:header><text:p>Head</text:p></style:header>'
    "<style:footer><text:p>Foot</text:p></style:footer></style:master-page>"
    '<style:master-page style:name="Landscape"><style:header><text:p>Wide</text:p></style:header></style:master-page>'
    "</office:master-styles>"
)
BARE = "<office:master-styles/>"


def content(kind: str, inner: str) -> str:
    """The content of a text or a presentation."""
    styles = f"<office:automatic-styles>{STYLES}</office:automatic-styles>"
    body = f"<office:body><office:{kind}>{inner}</office:{kind}></office:body>"
    return f"<office:document-content {XMLNS}>{styles}{body}</office:document-content>"


def write(path: Path, inner: str, parts: Mapping[str, str | bytes] | None = None, styles: str = BARE) -> Path:
    """Write a file whose body is this XML; `parts` are further files in it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", content("text" if path.suffix == ".odt" else "presentation", inner))
        archive.writestr("styles.xml", f"<office:document-styles {XMLNS}>{styles}</office:document-styles>")
        for name, raw in (parts or {}).items():
            archive.writestr(name, raw)
    return path


def opened(path: Path) -> Source:
    """The file, opened by its name."""
    return open_odt(path) if path.suffix == ".odt" else open_odp(path)


def pages(path: Path) -> list[Page]:
    """All pages."""
    source = opened(path)
    return [source.page(index) for index in range(len(source.page_titles))]


def elements(path: Path) -> list[Element]:
    """All elements."""
    return [element for page in pages(path) for element in page.elements]


def h(words: str, level: int = 1) -> str:
    """A heading."""
    return f'<text:h text:outline-level="{level}">{words}</text:h>'


def p(words: str, style: str = "") -> str:
    """A paragraph."""
    return f"<text:p{f' text:style-name={chr(34)}{style}{chr(34)}' if style else ''}>{words}</text:p>"


def slide(inner: str, name: str = "page1", style: str = "") -> str:
    """A slide."""
    told = f'draw:name="{name}" draw:style-name="{style}" presentation:use-footer-name="f"'
    return f"<draw:page {told}>{inner}</draw:page>"


def shape(inner: str, role: str = "", name: str = "", place: tuple[int, int] | None = None) -> str:
    """A text box on a slide; `role` is the placeholder that it fills, `place` where it is, in centimetres."""
    told = f'presentation:class="{role}"' if role else ""
    if place is not None:
        told += f' svg:x="{place[0]}cm" svg:y="{place[1]}cm" svg:width="5cm" svg:height="2cm"'
    return f'<draw:frame draw:name="{name}" {told}><draw:text-box>{inner}</draw:text-box></draw:frame>'
