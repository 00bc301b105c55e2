"""Bodies of Outlook messages in rich text: unpacks them (MS-OXRTFCP), and takes out the HTML in them (MS-OXRTFEX)."""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass, replace

from a2c_documents.parsers.common.decoding import decode_as

_PACKED, _PLAIN = 0x75465A4C, 0x414C454D
_HEAD = 16
_WINDOW = 4_096
_FIRST = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    + b"\r\n"
    + rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
"""The text that every window begins with."""
MAX_RTF = 20_000_000


def unpacked(raw: bytes) -> bytes:
    """The rich text of a message; empty if it is damaged or too large."""
    if len(raw) < _HEAD:
        return b""
    size, full, kind, checksum = struct.unpack_from("<IIII", raw)
    packed = raw[_HEAD : size + 4]
    if full > MAX_RTF:
        return b""
    if kind == _PLAIN:
        return packed[:full]
    # The checksum is that of ZIP archives without its inversions.
    if kind != _PACKED or zlib.crc32(packed, 0xFFFFFFFF) ^ 0xFFFFFFFF != checksum:
        return b""
    return _inflated(packed, full)


def _inflated(packed: bytes, full: int) -> bytes:
    """Unpack: each byte of flags describes eight tokens, letters or references into the window of the last 4 kB."""
    window = bytearray(_FIRST.ljust(_WINDOW, b"\0"))
    place = len(_FIRST)
    words = bytearray()
    at = 0
    while at < len(packed) and len(words) < full:
        flags = packed[at]
        at += 1
        for bit in range(8):
            if flags >> bit & 1:
                if at + 2 > len(packed):
                    return bytes(words)
                start, length = divmod(int.from_bytes(packed[at : at + 2], "big"), 16)
                at += 2
                if start == place:  # the end
                    return bytes(words)
                # Byte by byte: a reference may run into what it has just written.
                for offset in range(length + 2):
                    window[place] = letter = window[(start + offset) % _WINDOW]
                    words.append(letter)
                    place = (place + 1) % _WINDOW
            elif at < len(packed):
                window[place] = packed[at]
                words.append(packed[at])
                place = (place + 1) % _WINDOW
                at += 1
    return bytes(words)


# ----------------------------------------------------------------------------------------------------------------- HTML


_TOKEN = re.compile(
    rb"\\(?P<word>[a-z]{1,32})(?P<number>-?[0-9]{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<sign>[^a-z])"
    rb"|(?P<open>\{)|(?P<close>\})|[\r\n]+|(?P<text>[^\\{}\r\n]+)|\\"
)
_CHARSETS = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip
_SIGNS = {
    "par": "\r\n", "line": "\r\n", "tab": "\t", "lquote": "&lsquo;", "rquote": "&rsquo;", "ldblquote": "&ldquo;",
    "rdblquote": "&rdquo;", "bullet": "&bull;", "endash": "&ndash;", "emdash": "&mdash;",
}  # fmt: skip
_NOT_SHOWN = frozenset(("fonttbl", "colortbl", "stylesheet", "info", "pntext", "pict", "object", "header", "footer"))
_DEEPEST = 1_000


@dataclass(slots=True)
class _Group:
    """What holds between two braces."""

    is_markup: bool = False
    """In a group of HTML, which is copied."""
    is_skipped: bool = False
    is_for_rtf: bool = False
    """Between `\\htmlrtf` and `\\htmlrtf0`: only a reader of rich text shows it."""
    font: int = -1
    fallback: int = 1
    """How many characters follow one of Unicode for older programs."""


def html_in(rtf: bytes) -> str:
    """The HTML that a rich text was made from; empty if it was not."""
    if b"\\fromhtml1" not in rtf[:1_000]:
        return ""
    return _Unwrapping(rtf).html


class _Unwrapping:
    """Goes through a rich text once, and collects the HTML in it."""

    def __init__(self, rtf: bytes) -> None:
        self._found: list[str] = []
        self._group = _Group()
        self._outer: list[_Group] = []
        self._fonts: dict[int, str] = {}
        self._encoding = "cp1252"
        self._bytes = bytearray()
        self._skipped = 0
        self._is_star = False
        for token in _TOKEN.finditer(rtf):
            self._take(token)
        self._flush()
        # Characters beyond the first 65,536 are written as two halves, which are joined here.
        self.html = "".join(self._found).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _take(self, token: re.Match[bytes]) -> None:
        kind = token.lastgroup
        if kind == "text":
            self._letters(token["text"])
        elif kind == "hex":
            self._letters(bytes.fromhex(token["hex"].decode()))
        elif kind == "open":
            self._flush()
            # A file of opening braces alone must not fill the memory.
            if len(self._outer) < _DEEPEST:
                self._outer.append(self._group)
            self._group = replace(self._group)
        elif kind == "close":
            self._flush()
            self._group = self._outer.pop() if self._outer else _Group()
        elif kind == "sign":
            self._sign(token["sign"])
        elif kind is not None:  # `word` or its `number`
            self._word(token["word"].decode(), int(token["number"]) if token["number"] else None)
        if kind not in ("sign", "open"):
            self._is_star = False

    def _letters(self, raw: bytes) -> None:
        # The letters after one of Unicode repeat it for older programs.
        left, self._skipped = raw[self._skipped :], max(0, self._skipped - len(raw))
        if self._is_copied:
            self._bytes += left

    @property
    def _is_copied(self) -> bool:
        group = self._group
        return not group.is_skipped and (group.is_markup or not group.is_for_rtf)

    def _sign(self, sign: bytes) -> None:
        if sign == b"*":
            self._is_star = True
        elif sign in (b"\\", b"{", b"}"):
            self._letters(sign)
        elif sign == b"~":
            self._add("&nbsp;")
        elif sign == b"_":
            self._add("&shy;")

    def _word(self, word: str, number: int | None) -> None:
        group = self._group
        if word == "htmltag" and self._is_star:
            group.is_markup, group.is_skipped = True, False
        elif self._is_star or word in _NOT_SHOWN:
            # Fonts are not shown, but state the encodings of what is.
            group.is_skipped = True
        elif word == "htmlrtf":
            self._flush()
            group.is_for_rtf = number != 0
        elif word == "ansicpg" and number:
            self._encoding = "utf-8" if number == 65001 else f"cp{number}"
        elif word == "f" and number is not None:
            self._flush()
            group.font = number
        elif word == "fcharset" and number in _CHARSETS:
            self._fonts[group.font] = _CHARSETS[number]
        elif word == "uc" and number is not None:
            group.fallback = max(0, min(number, 10))
        elif word == "u" and number is not None:
            self._add(chr(number % 0x10000))
            self._skipped = group.fallback
        elif word in _SIGNS:
            self._add(_SIGNS[word])

    def _add(self, words: str) -> None:
        self._flush()
        if self._is_copied:
            self._found.append(words)

    def _flush(self) -> None:
        """Decode the bytes so far, all at once: letters of East Asia have two of them."""
        if self._bytes:
            font = "" if self._group.is_markup else self._fonts.get(self._group.font, "")
            self._found.append(decode_as(bytes(self._bytes), font or self._encoding)[0])
            self._bytes.clear()
