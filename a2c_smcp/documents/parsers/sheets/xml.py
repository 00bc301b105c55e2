"""Parts of an Office archive as XML trees: read once, bounded, and never with a document type of their own."""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from html import unescape
from xml.etree import ElementTree

from a2c_smcp.documents.model import UnreadableFileError

MAX_PART = 60_000_000
"""Bytes of a part that is read as a whole."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_ATTRIBUTE = re.compile(rb"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")

DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
"""What reading from a damaged archive raises."""


def tree_of(raw: bytes) -> ElementTree.Element:
    """The root of a part.

    Raises:
        UnreadableFileError: it is no XML, or defines entities of its own.
    """
    if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw:
        raise UnreadableFileError("a part of this file defines entities of its own, which no spreadsheet needs")
    try:
        return ElementTree.fromstring(raw)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise UnreadableFileError(f"a part of this file is damaged: {error}") from None


def local(tag: str) -> str:
    """The name of a tag without its namespace."""
    return tag.rpartition("}")[2]


def found(node: ElementTree.Element | None, *names: str) -> Iterator[ElementTree.Element]:
    """All nodes below one that have one of these names, whatever their namespace; not what is there for old readers."""
    waiting = [] if node is None else [node]
    while waiting:
        one = waiting.pop()
        if local(one.tag) in names and one is not node:
            yield one
        waiting.extend(child for child in reversed(one) if local(child.tag) != "Fallback")


def first(node: ElementTree.Element | None, *names: str) -> ElementTree.Element | None:
    """The first node below one with one of these names."""
    return next(found(node, *names), None)


def attribute(node: ElementTree.Element | None, name: str, default: str = "") -> str:
    """An attribute, whatever its namespace."""
    if node is None:
        return default
    value = node.get(name)
    if value is None:
        value = next((value for key, value in node.items() if local(key) == name), default)
    return value


def words_of(node: ElementTree.Element | None) -> str:
    """The text of the `t` and `v` nodes below one."""
    return "".join(one.text or "" for one in found(node, "t", "v"))


def attributes(raw: bytes) -> dict[str, str]:
    """The attributes of a start tag in bytes."""
    return {
        name.decode("ascii", "replace"): unescape((one or other).decode("utf-8", "replace"))
        for name, one, other in _ATTRIBUTE.findall(raw)
    }


def unescaped(words: str) -> str:
    """Characters that XML cannot hold are written `_x000D_` in spreadsheets."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), words) if "_x" in words else words


def is_on(value: str) -> bool:
    """Whether an attribute says yes."""
    return value.lower() in ("1", "true", "on")


class Parts:
    """The parts of an archive by name, and what they refer to."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self._by_name = {name.lower().replace("\\", "/").lstrip("/"): name for name in archive.namelist()}

    def real_name(self, name: str) -> str | None:
        """The name as the archive spells it; None where it has no such part."""
        return self._by_name.get(name.lower().lstrip("/"))

    def size(self, name: str) -> int:
        """Bytes of a part, unpacked."""
        real = self.real_name(name)
        return self.archive.getinfo(real).file_size if real else 0

    def read(self, name: str, limit: int = MAX_PART) -> bytes:
        """A part; empty where there is none.

        Raises:
            UnreadableFileError: it is damaged, or too long.
        """
        real = self.real_name(name)
        if real is None:
            return b""
        try:
            with self.archive.open(real) as file:
                raw = file.read(limit + 1)
        except DAMAGE as error:
            raise UnreadableFileError(f"this file is damaged: {error}") from None
        if len(raw) > limit:
            raise UnreadableFileError(f"the part {name} of this file is too long to be read")
        return raw

    def tree(self, name: str) -> ElementTree.Element | None:
        """The root of a part; None where there is none.

        Raises:
            UnreadableFileError: it is damaged.
        """
        raw = self.read(name)
        return tree_of(raw) if raw else None

    def relations(self, name: str) -> list[tuple[str, str, str]]:
        """What a part refers to: the id, the last word of the type, and the part's name or the address."""
        folder, base = posixpath.split(name)
        tree = self.tree(f"{folder}/_rels/{base}.rels")
        result: list[tuple[str, str, str]] = []
        for node in found(tree, "Relationship"):
            target = node.get("Target", "")
            if node.get("TargetMode", "").lower() != "external":
                target = posixpath.normpath(posixpath.join(folder, target)) if target[:1] != "/" else target[1:]
            result.append((node.get("Id", ""), node.get("Type", "").rpartition("/")[2], target))
        return result
