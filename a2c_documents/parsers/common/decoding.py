"""Reads text files in any encoding, and rejects files that are empty, too large or binary."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from a2c_documents.model import UnreadableFileError

MAX_READ = 64_000_000
"""Bytes of a text file that is parsed as a whole."""

_SNIFFED = 4_096
# UTF-32 before UTF-16: the mark of UTF-32 (little-endian) begins with that of UTF-16.
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TEXT_BOMS = tuple(mark for mark, _ in _BOMS)
_BINARY = ((b"%PDF-", "a PDF"), (b"PK\x03\x04", "a zip archive or an office document"), (b"\x89PNG", "a picture"))
# The escape character (27) belongs to texts: ISO-2022-JP and coloured logs are full of it.
_ODD = bytes(byte for byte in range(32) if byte < 9 or 13 < byte < 27 or byte > 27)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_CHARSETS = frozenset(("idna", "punycode", "unicode_escape", "raw_unicode_escape"))
"""Codecs of Python that are not encodings of texts."""
# Browsers read these names in the same way (WHATWG Encoding Standard): a page "in ISO 8859-1" has the quotation marks
# and dashes of Windows-1252.
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "euc_kr": "cp949",
}
"""Encodings, and the larger ones that are meant by their names."""


def read_bytes(path: Path, what: str, limit: int = MAX_READ, *, cut: bool = False) -> bytes:
    """The bytes of a file; `what` is the name of its kind in messages.

    `cut` allows files above the limit; then one byte more than the limit is returned.

    Raises:
        UnreadableFileError: it is empty, too large, or cannot be opened.
    """
    try:
        with path.open("rb") as file:
            # One byte more shows that the file is too large, whatever size the file system reports.
            raw = file.read(limit + 1)
    except OSError as error:
        raise UnreadableFileError(f"this {what} cannot be opened: {error.strerror or error}") from None
    # Blanks, zeros and byte order marks alone are an empty file to a reader.
    if not raw.strip(b" \t\r\n\x00\xef\xbb\xbf\xff\xfe"):
        raise UnreadableFileError("the file is empty")
    if len(raw) > limit and not cut:
        raise UnreadableFileError(f"this {what} is larger than {limit // 1_000_000} MB, which is too much")
    return raw


def read_text(path: Path, what: str, limit: int = MAX_READ) -> tuple[str, str]:
    """The text of a file, and the name of its encoding.

    Raises:
        UnreadableFileError: it is empty, too large, or no text.
    """
    raw = read_bytes(path, what, limit)
    check_text(raw, what)
    return decode(raw)


def check_text(raw: bytes, what: str) -> None:
    """Check that bytes are a text.

    Raises:
        UnreadableFileError: they are not.
    """
    start = raw[:_SNIFFED]
    if start.startswith(_TEXT_BOMS):
        return
    if known := next((name for magic, name in _BINARY if start.startswith(magic)), ""):
        raise UnreadableFileError(f"this is no {what} but {known} under a wrong name")
    odd = len(start) - len(start.translate(None, _ODD))
    # Damaged texts have single control characters, so shares decide: zeros in one of 20 bytes, or others in one of 10.
    if start.count(0) * 20 > len(start) or odd * 10 > len(start):
        raise UnreadableFileError(f"this is no {what}: it holds binary data")


def decode_as(raw: bytes, declared: str) -> tuple[str, str]:
    """The text and its encoding: the declared one, or a guess if the declaration is unknown or wrong."""
    encoding = _known(declared)
    if encoding and not raw.startswith(_TEXT_BOMS):
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError:
            pass
    words, guessed = decode(raw)
    # Against a guess the declaration wins, and the bytes it cannot decode are replaced. UTF-8 is no guess: text in
    # another encoding is hardly ever valid UTF-8 by accident.
    if encoding and guessed != "utf-8" and not raw.startswith(_TEXT_BOMS):
        return raw.decode(encoding, "replace"), encoding
    return words, guessed


def clean(words: str) -> str:
    """The text without lone surrogates: JSON can escape them, but UTF-8 cannot encode them."""
    return _SURROGATE.sub("\ufffd", words)


def _known(name: str) -> str:
    try:
        encoding = codecs.lookup(name.strip().strip("\"'")).name
        "".encode(encoding)  # fails for codecs that encode no texts, such as base64
    except (LookupError, ValueError):
        return ""
    return "" if encoding.replace("-", "_") in _NO_CHARSETS else _WIDER.get(encoding, encoding)


# ------------------------------------------------------------------------------------------------------------ encodings


_LONGEST_LETTER = 4
"""Bytes of a letter in UTF-8."""


def decode(raw: bytes, *, is_cut: bool = False) -> tuple[str, str]:
    """The text, and the name of its encoding. It never fails: bytes that cannot be decoded are replaced.

    `is_cut` says that the bytes may end inside a character, which does not make them invalid UTF-8.
    """
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return raw.decode(encoding, "replace"), encoding.removesuffix("-sig")
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        if is_cut and error.end == len(raw) and len(raw) - error.start < _LONGEST_LETTER:
            return raw[: error.start].decode("utf-8"), "utf-8"
    encoding = guess(raw)
    return raw.decode(encoding, "replace"), encoding


# ------------------------------------------------------------------------------------------------------------- guessing


GUESSED_BYTES = 200_000
WESTERN, TURKISH = "cp1252", "cp1254"
_USUAL = [
    "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r", "cp866", "cp874",
    "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "cp949", "mac_roman",
]  # fmt: skip
"""The usual encodings of files. Others are so rare that guesses of them are mostly wrong."""
_FOREIGN = re.compile(
    r"[A-Za-zß-ÿ][^\x00-\x7fA-Za-zÀ-ÿŒœŠšŽžŸ’‘´·–—…\xad-][A-Za-zß-ÿ]"  # a sign inside a word
    r"|[a-zß-ÿ][À-ÖØ-ÞŒŠŽŸ]"  # a capital inside a word
)
_TURKISH = ("ýþðÝÞ", "üç")
_EASTERN = (("šžŠŽ", "èìøòùæðï"), ("õûÕÛ", "öü", "áé"), ("þÞ", "ãâî"))
"""Slavic, Hungarian, Romanian. Read as Western European, their texts have letters of each group, which no western
text has together."""


def guess(raw: bytes) -> str:
    """The name of the encoding; Western European unless the text shows another.

    Letter statistics tell alphabets apart, but hardly the languages of western Europe, in which most such files are
    written. Those are recognized by the combinations of letters that they do not have.
    """
    sample = raw[:GUESSED_BYTES]
    try:
        words = sample.decode(WESTERN)
    except UnicodeDecodeError:
        return _by_letters(sample)
    letters = [character for character in words if character.isalpha()]
    # Western languages use far fewer letters beyond ASCII than two in five.
    if sum(character > "\x7f" for character in letters) * 5 > len(letters) * 2:
        return _by_letters(sample)  # another alphabet
    if _has(words, _TURKISH):
        return TURKISH
    is_eastern = _FOREIGN.search(words) or any(_has(words, sets) for sets in _EASTERN)
    return _by_letters(sample) if is_eastern else WESTERN


def _has(words: str, sets: tuple[str, ...]) -> bool:
    return all(any(letter in words for letter in letters) for letters in sets)


def _by_letters(raw: bytes) -> str:
    # Every text format imports this module, but only texts in rare encodings need the library, which is slow to import.
    from charset_normalizer import from_bytes

    best = from_bytes(raw, cp_isolation=_USUAL).best()
    return str(best.encoding) if best is not None else WESTERN
