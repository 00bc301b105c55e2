"""Outlook messages (msg), from their properties."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.documents.compound_files import Tree, compound_file

Value = str | bytes | int
"""A text, bytes, a number; a time is bytes of eight."""
SENT = struct.pack("<Q", 134_120_448_000_000_000)
"""2026-01-05, midnight in UTC."""
HELLO = bytes.fromhex(
    "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
)
"""The first example of MS-OXRTFCP: the rich text `hello world`, packed."""
LOOP = bytes.fromhex("1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0")
"""The second one: a reference that runs into what it has just written."""


def properties(values: Mapping[int, Value], *, head: int = 8, is_old: bool = False) -> dict[str, bytes]:
    """The streams of some properties; `is_old` writes texts in a code page."""
    streams: dict[str, bytes] = {}
    fixed = bytes(head)
    for number, value in values.items():
        if isinstance(value, int):
            fixed += struct.pack("<HHIII", 3, number, 6, value, 0)
        elif isinstance(value, str):
            kind, raw = ("001E", value.encode("cp1251")) if is_old else ("001F", value.encode("utf-16-le"))
            streams[f"__substg1.0_{number:04X}{kind}"] = raw
        elif len(value) == 8 and number in (0x0039, 0x8000, 0x8001):
            fixed += struct.pack("<HHI", 0x40, number, 6) + value
        else:
            streams[f"__substg1.0_{number:04X}0102"] = value
    return {"__properties_version1.0": fixed, **streams}


def person(name: str, address: str, kind: int = 1) -> dict[str, bytes]:
    """A recipient."""
    return properties({0x3001: name, 0x39FE: address, 0x0C15: kind})


def attached(name: str, raw: bytes, **more: str) -> dict[str, bytes]:
    """A file."""
    values: dict[int, Value] = {0x3707: name, 0x3701: raw, 0x3705: 1}
    return properties(values | ({0x3712: more["content_id"]} if more else {}))


def attached_message(tree: Tree) -> Tree:
    """A message in a message."""
    return {**properties({0x3001: "A message", 0x3705: 5}), "__substg1.0_3701000D": tree}


def message(
    values: Mapping[int, Value],
    people: Sequence[Tree] = (),
    attachments: Sequence[Tree] = (),
    *,
    head: int = 32,
    is_old: bool = False,
) -> Tree:
    """A message."""
    return {
        **properties(values, head=head, is_old=is_old),
        **{f"__recip_version1.0_#{number:08X}": one for number, one in enumerate(people)},
        **{f"__attach_version1.0_#{number:08X}": one for number, one in enumerate(attachments)},
    }


PLAIN = "Green tea arrives on Monday.\r\n\r\nIt is from Uji."
USUAL: dict[int, Value] = {
    0x0037: "Tea for März", 0x1000: PLAIN, 0x0C1A: "Ada Lovelace", 0x5D01: "ada@tea.example", 0x0039: SENT,
}  # fmt: skip


def write_msg(path: Path) -> None:
    """A message with two recipients, files of two kinds, and a message inside."""
    inner = message({0x0037: "The order", 0x1000: "Two bags, please.", 0x0C1A: "Grace"}, head=24)
    people = [person("Grace Hopper", "grace@tea.example"), person("", "alan@tea.example", 2)]
    files = [
        attached("prices.csv", b"tea,price\ngreen,12\n"),
        attached("tea.pdf", b"%PDF-1.4"),
        attached_message(inner),
    ]
    path.write_bytes(compound_file(message(USUAL, people, files)))
