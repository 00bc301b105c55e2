"""Which parser opens which file.

A format is a module or folder in `parsers/` and a line here. The parser is imported when the first file of its format
is opened, in a worker: the server itself never loads one.
"""

from __future__ import annotations

import importlib
import mmap
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from a2c_documents.model import Parser

SNIFFED = 4_096
VERSION = 5
"""The version of the code that all parsers share. Raise it when elements, pages or summaries change."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its module in `parsers/`, the function in it, and the version of its output."""

    module: str
    function: str
    version: int = 1
    """Raise it when the parser's output changes. Entries of an earlier version in the store are then not used."""

    @property
    def parser(self) -> Parser:
        """The function that opens such files."""
        return getattr(importlib.import_module(f"a2c_documents.parsers.{self.module}"), self.function)


UNKNOWN = Format("unknown", "open_unknown")
TEXT = Format("text", "open_text", version=2)
CODE = Format("code", "open_code", version=2)
DATA = Format("data.data_file", "open_data", version=3)
HTML = Format("html.web_page", "open_html", version=2)
IMAGE = Format("images", "open_image", version=2)
MEDIA = Format("media.media_file", "open_media", 2)
PDF = Format("pdf.pdf_file", "open_pdf", version=4)
WORD = Format("word.document", "open_word", version=3)
SHEETS = Format("sheets.document", "open_sheets", version=4)
SLIDES = Format("slides.document", "open_slides", version=3)
VISIO = Format("visio.document", "open_visio")
RTF = Format("rtf", "open_rtf")
IWORK = Format("iwork", "open_iwork")
EPUB = Format("epub", "open_epub")
MAIL = Format("mail.mail_file", "open_mail", version=3)
OUTLOOK = Format("mail.outlook_file", "open_outlook")
MARKDOWN = Format("markdown", "open_markdown", version=2)
DELIMITED = Format("delimited", "open_delimited", version=3)
ARCHIVE = Format("archives.archive_file", "open_archive_file")
OPEN_TEXT = Format("opendocument.document", "open_odt", version=3)
OPEN_DRAWING = Format("opendocument.document", "open_odg")
OPEN_SLIDES = Format("opendocument.document", "open_odp", version=3)
OLD_WORD = Format("old_office", "open_old_word")
OLD_SLIDES = Format("old_office", "open_old_slides")
ENCRYPTED = Format("encrypted", "open_encrypted")

FORMATS: dict[str, Format] = {
    "pdf": PDF,
    "docx": WORD, "docm": WORD, "dotx": WORD,
    "xlsx": SHEETS, "xlsm": SHEETS, "xlsb": SHEETS, "xls": SHEETS, "ods": SHEETS,
    "pptx": SLIDES, "pptm": SLIDES, "ppsx": SLIDES,
    "vsdx": VISIO, "vsdm": VISIO,
    "odt": OPEN_TEXT, "odp": OPEN_SLIDES, "odg": OPEN_DRAWING,
    "doc": OLD_WORD, "dot": OLD_WORD, "ppt": OLD_SLIDES, "pps": OLD_SLIDES, "pot": OLD_SLIDES,
    "md": MARKDOWN, "markdown": MARKDOWN,
    "html": HTML, "htm": HTML, "xhtml": HTML,
    "csv": DELIMITED, "tsv": DELIMITED,
    "txt": TEXT, "text": TEXT, "log": TEXT, "rst": TEXT, "tex": TEXT, "org": TEXT, "adoc": TEXT,
    "json": DATA, "jsonl": DATA, "ndjson": DATA, "yaml": DATA, "yml": DATA, "toml": DATA, "xml": DATA,
    "eml": MAIL,
    "mbox": Format("mail.mailbox", "open_mailbox", version=2),
    "msg": OUTLOOK,
    **dict.fromkeys(("mhtml", "mht"), Format("html.archived_page", "open_archived_page")),
    "rtf": RTF,
    **dict.fromkeys(("pages", "numbers", "key"), IWORK),
    **dict.fromkeys(("zip", "tar", "tgz", "tbz2", "txz", "gz", "bz2", "xz"), ARCHIVE),
    "ipynb": Format("notebook", "open_notebook", version=2),
    "epub": EPUB,
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "tif", "tiff", "bmp", "ico"), IMAGE),
    **dict.fromkeys(("heic", "heif", "avif"), IMAGE),
    "svg": Format("images", "open_svg", version=2),
    **dict.fromkeys(("mp3", "wav", "flac", "ogg", "oga", "opus", "m4a", "m4b", "aac", "aif", "aiff", "mka"), MEDIA),
    **dict.fromkeys(("mp4", "m4v", "mov", "3gp", "mkv", "webm", "ogv", "avi", "mpg", "mpeg", "mid"), MEDIA),
}  # fmt: skip

LANGUAGES: dict[str, str] = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "jsx",
    "ts": "typescript", "tsx": "tsx", "java": "java", "kt": "kotlin", "scala": "scala", "go": "go", "rs": "rust",
    "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "cs": "csharp", "swift": "swift",
    "m": "objective-c", "rb": "ruby", "php": "php", "pl": "perl", "lua": "lua", "r": "r", "jl": "julia", "sh": "bash",
    "bash": "bash", "zsh": "zsh", "fish": "fish", "ps1": "powershell", "bat": "batch", "sql": "sql", "css": "css",
    "scss": "scss", "less": "less", "vue": "vue", "svelte": "svelte", "dart": "dart", "ex": "elixir", "exs": "elixir",
    "erl": "erlang", "hs": "haskell", "clj": "clojure", "ml": "ocaml", "fs": "fsharp", "nim": "nim", "zig": "zig",
    "groovy": "groovy", "gradle": "groovy", "proto": "protobuf", "graphql": "graphql", "tf": "terraform", "ini": "ini",
    "cfg": "ini", "conf": "ini", "properties": "properties", "vb": "vbnet", "asm": "asm", "diff": "diff",
    "patch": "diff",
}  # fmt: skip
NAMES: dict[str, str] = {"makefile": "make", "dockerfile": "dockerfile", "jenkinsfile": "groovy", "gnumakefile": "make"}
"""Source files without a suffix, by name, and their language."""

_MAGIC: tuple[tuple[bytes, Format], ...] = (
    (b"%PDF-", PDF),
    (b"{\\rtf", RTF),
    (b"\x89PNG\r\n\x1a\n", IMAGE),
    (b"\xff\xd8\xff", IMAGE),
    (b"GIF8", IMAGE),
    (b"II*\x00", IMAGE),
    (b"MM\x00*", IMAGE),
)
_HEIF = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
# Office documents and books are ZIP archives. A part that only one format has shows which of them a file is.
_ZIP_FORMATS = {
    "word/document.xml": WORD,
    "xl/workbook.xml": SHEETS,
    "xl/workbook.bin": SHEETS,
    "ppt/presentation.xml": SLIDES,
    "visio/document.xml": VISIO,
    "META-INF/container.xml": EPUB,
}
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Compound files are those of Office 97-2003, and Office documents with a password. A stream at the top shows which.
_COMPOUND_FORMATS = {
    "encryptedpackage": ENCRYPTED,
    "worddocument": OLD_WORD,
    "powerpoint document": OLD_SLIDES,
    "workbook": SHEETS,
    "book": SHEETS,
}


def fingerprint() -> int:
    """A 31-bit number that changes when the version of any parser changes."""
    # With the suffixes: files that get another parser have to be read again, too.
    formats = sorted((suffix, known.module, known.function, known.version) for suffix, known in FORMATS.items())
    # SQLite keeps its `user_version` in a signed integer of 32 bits.
    return zlib.crc32(repr((VERSION, CODE.version, UNKNOWN.version, formats)).encode()) & 0x7FFF_FFFF


def suffix_of(path: Path) -> str:
    """The type of a file by its name: `xlsx`."""
    return path.suffix.lower().lstrip(".") or path.name.lower().lstrip(".")


def format_of(path: Path) -> Format:
    """The format of a file: by its name, unless its first bytes belong to another format.

    Raises:
        OSError: the file cannot be opened.
    """
    suffix = suffix_of(path)
    with path.open("rb") as file:
        start = file.read(SNIFFED)
    # Files are renamed, or downloaded under a wrong name. Bytes that only one format begins with decide against the
    # suffix.
    found = next((known for magic, known in _MAGIC if start.startswith(magic)), None)
    if found is None and ((start.startswith(b"RIFF") and start[8:12] == b"WEBP") or is_heif(start)):
        found = IMAGE
    if found is None and start.startswith(b"PK\x03\x04"):
        found = _inside_zip(path)
    if found is None and start.startswith(_COMPOUND):
        found = _inside_compound(path)
    named = FORMATS.get(suffix) or (CODE if suffix in LANGUAGES or suffix in NAMES else None)
    # Keys of servers have the ending of Keynote documents.
    if named is IWORK and not start.startswith(b"PK"):
        named = None
    # Word processors save web pages and texts under the name of a document.
    if named in (OLD_WORD, OLD_SLIDES) and found is None and _looks_like_text(start):
        named = HTML if b"<html" in start.lower() else None
    if found is not None and (named is None or found.module != named.module):
        return found if not (named is not None and named.module == "opendocument.document") else named
    if named is not None:
        return named
    return TEXT if start and _looks_like_text(start) else UNKNOWN


def is_heif(start: bytes) -> bool:
    """Whether a file begins like a photo of a phone (HEIF)."""
    # The formats share a container, and name all that a file conforms to. Pillow itself reads AVIF.
    return start[4:8] == b"ftyp" and start[8:12] in _HEIF and b"avif" not in start[16:64]


def _inside_zip(path: Path) -> Format | None:
    try:
        with zipfile.ZipFile(path) as archive:
            # An archive embedded in a damaged one says nothing about the file (see `office/package.py`).
            if archive.infolist() and min(member.header_offset for member in archive.infolist()):
                return None
            names = set(archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, EOFError, struct.error, OSError, ValueError):
        return None
    return next((known for name, known in _ZIP_FORMATS.items() if name in names), None)


def _inside_compound(path: Path) -> Format | None:
    # Imported here, because the server itself loads no library that reads files.
    from a2c_documents.parsers.office.compound import names_at_top
    from a2c_documents.parsers.office.xml import DamagedPartError

    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            names = names_at_top(raw)
    except (DamagedPartError, OSError, ValueError):
        return None
    return next((known for name, known in _COMPOUND_FORMATS.items() if name in names), None)


def _looks_like_text(start: bytes) -> bool:
    if start.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return True
    # Texts have a few control characters, such as the colours of a log; up to one in 50 is accepted.
    return b"\x00" not in start and sum(byte < 9 or 13 < byte < 32 for byte in start) * 50 < len(start)
