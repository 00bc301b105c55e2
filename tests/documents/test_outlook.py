"""Outlook messages: read like mail, with the bodies that only Outlook writes."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.mail.outlook_file import open_outlook
from a2c_documents.parsers.mail.rtf_body import html_in, unpacked
from tests.support.documents.compound_files import Tree, compound_file
from tests.support.documents.outlook_files import (
    HELLO,
    LOOP,
    PLAIN,
    SENT,
    USUAL,
    Value,
    attached,
    attached_message,
    message,
    person,
    write_msg,
)
from tests.support.documents.reading import Read, read


def shown(folder: Path, tree: Tree) -> Read:
    return read(open_outlook, folder / "tea.msg", compound_file(tree))


def packed(rtf: bytes) -> bytes:
    """A rich text as a message has it: letters only, without references."""
    body = b"".join(b"\0" + rtf[place : place + 8] for place in range(0, len(rtf), 8))
    checksum = zlib.crc32(body, 0xFFFFFFFF) ^ 0xFFFFFFFF
    return struct.pack("<IIII", len(body) + 12, len(rtf), 0x75465A4C, checksum) + body


def test_a_message_is_read_like_mail(tmp_path: Path) -> None:
    write_msg(tmp_path / "tea.msg")
    found = read(open_outlook, tmp_path / "tea.msg")
    assert found.facts.title == "Tea for März"
    assert found.facts.author == "Ada Lovelace <ada@tea.example>"
    assert found.facts.created == "2026-01-05T00:00:00+00:00"
    head, prices, inner = found.of("table")
    assert head["rows"] == [
        ["From", "Ada Lovelace <ada@tea.example>"],
        ["To", "Grace Hopper <grace@tea.example>"],
        ["Cc", "alan@tea.example"],
        ["Date", "Mon, 05 Jan 2026 00:00:00 +0000"],
    ]
    assert prices["rows"] == [["green", "12"]]
    assert inner["rows"] == [["From", "Grace"]]
    assert [one["text"] for one in found.of("text")] == [*PLAIN.split("\r\n\r\n"), "Two bags, please."]
    assert [one["text"] for one in found.of("heading")] == ["Tea for März", "The order"]
    files = [one.file for one in found.elements if one.file is not None]
    assert [file() for file in files] == [("text/csv", b"tea,price\ngreen,12\n"), ("application/pdf", b"%PDF-1.4")]


def test_the_pictures_of_a_text_in_html_are_shown_in_it(tmp_path: Path) -> None:
    html = "<h1>Tee</h1><p>Grün</p><table><tr><td>a</td><td>b</td></tr></table><img src='cid:leaf@1' alt='A leaf'>"
    values: dict[int, Value] = USUAL | {0x1013: html.encode("cp1252"), 0x3FDE: 1252}
    found = shown(tmp_path, message(values, attachments=[attached("leaf.png", b"picture", content_id="leaf@1")]))
    assert {"text": "Grün"} in found.of("text")
    (picture,) = [one.picture for one in found.elements if one.picture is not None]
    assert picture() == ("image/png", b"picture")


def test_html_in_a_rich_text_is_taken_out(tmp_path: Path) -> None:
    rtf = (
        rb"{\rtf1\ansi\ansicpg1252\fromhtml1 \deff0{\fonttbl{\f0 Arial;}{\f1\fcharset128 MS Gothic;}}"
        rb"{\*\htmltag64 <p>}\htmlrtf {\b only for rich text\htmlrtf0 Caf\'e9 {\f1 \'8e\'97} \u8364?{\*\htmltag72 </p>}"
        rb"{\*\htmltag64 <table><tr><td>}tea{\*\htmltag72 </td></tr></table>}{\*\mhtmltag64 <p>twice</p>}}}"
    )
    assert html_in(rtf) == "<p>Café 紗 €</p><table><tr><td>tea</td></tr></table>".replace(
        "紗", b"\x8e\x97".decode("cp932")
    )
    found = shown(tmp_path, message({0x0037: "Rich", 0x1009: packed(rtf)}))
    assert found.of("text")[0]["text"].startswith("Café")
    assert html_in(rb"{\rtf1 no html}") == ""


def test_a_rich_text_shows_its_tables(tmp_path: Path) -> None:
    rtf = rb"{\rtf1\ansi Words\par\trowd Tea\cell Price\cell\row\trowd green\cell 12\cell\row\pard End\par}"
    found = shown(tmp_path, message({0x0037: "Rich", 0x1000: "Words Tea Price green 12 End", 0x1009: packed(rtf)}))
    assert found.of("table")[-1] == {"headers": ["Tea", "Price"], "rows": [["green", "12"]]}


def test_rich_texts_are_unpacked_as_specified() -> None:
    assert unpacked(HELLO) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert unpacked(LOOP) == b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}"
    assert unpacked(struct.pack("<IIII", 17, 5, 0x414C454D, 0) + b"plain") == b"plain"
    damaged = bytearray(HELLO)
    damaged[20] ^= 1
    assert unpacked(bytes(damaged)) == b""
    assert unpacked(b"short") == b""
    assert unpacked(struct.pack("<IIII", 12, 0xFFFFFFFF, 0x75465A4C, 0)) == b""


def test_texts_in_a_code_page_are_decoded(tmp_path: Path) -> None:
    found = shown(tmp_path, message({0x0037: "Чай", 0x1000: "Зелёный чай", 0x3FFD: 1251}, is_old=True))
    assert (found.facts.title, found.of("text")) == ("Чай", [{"text": "Зелёный чай"}])


def test_addresses_inside_a_company_are_left_out(tmp_path: Path) -> None:
    inside = "/O=TEA/OU=EXCHANGE/CN=RECIPIENTS/CN=GRACE"
    values: dict[int, Value] = {0x0037: "A", 0x1000: "b", 0x0042: "Ada", 0x0065: inside, 0x0E04: "Alan; Grace"}
    assert shown(tmp_path, message(values)).of("table")[0]["rows"] == [["From", "Ada"], ["To", "Alan; Grace"]]
    values[0x0C1A] = "Secretary"
    rows = shown(tmp_path, message(values, [person("Grace", inside)])).of("table")[0]["rows"]
    assert rows == [["From", "Ada"], ["To", "Grace"]]


def test_appointments_have_a_time_and_a_place(tmp_path: Path) -> None:
    appointment = bytes.fromhex("0220060000000000c000000000000046")
    keywords = "Keywords".encode("utf-16-le")
    names = [(0x820D, 6, 0), (0x820E, 6, 1), (0x8208, 6, 2), (0, 5, 3)]
    streams = {
        "__substg1.0_00020102": appointment,
        "__substg1.0_00030102": b"".join(struct.pack("<IHH", *name) for name in names),
        "__substg1.0_00040102": struct.pack("<I", len(keywords)) + keywords,
    }
    own = message({0x0037: "Tasting", 0x1000: "Bring cups.", 0x8000: SENT, 0x8001: SENT, 0x8002: "The kitchen"})
    words = {
        f"__substg1.0_8003101F-{number:08X}": word.encode("utf-16-le") for number, word in enumerate(("tea", "fun"))
    }
    found = shown(tmp_path, {**own, **words, "__substg1.0_8003101F": bytes(8), "__nameid_version1.0": streams})
    assert found.of("table")[0]["rows"] == [
        ["Start", "Mon, 05 Jan 2026 00:00:00 +0000"],
        ["End", "Mon, 05 Jan 2026 00:00:00 +0000"],
        ["Location", "The kitchen"],
    ]
    assert found.facts.keywords == ["tea", "fun"]


def test_messages_in_messages_end_somewhere(tmp_path: Path) -> None:
    tree = message({0x0037: "The innermost"}, head=24)
    for number in range(40):
        tree = message({0x0037: f"Message {number}"}, attachments=[attached_message(tree)], head=24)
    found = shown(tmp_path, message({0x0037: "Outside"}, attachments=[attached_message(tree)]))
    assert 10 < len(found.of("heading")) < 40


def test_what_is_no_message_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="no Outlook message"):
        shown(tmp_path, {"WordDocument": b"words"})
    (tmp_path / "tea.msg").write_bytes(b"From: ada@tea.example\n\nwords")
    with pytest.raises(UnreadableFileError, match="damaged"):
        open_outlook(tmp_path / "tea.msg")


def test_a_chain_that_leads_into_itself_ends(tmp_path: Path) -> None:
    """The stream states four gigabytes, and its sectors lead in a circle."""
    raw = bytearray(compound_file(message(USUAL | {0x1000: "tea " * 4_000})))
    name = "__substg1.0_1000001F".encode("utf-16-le")
    entry = raw.index(name)
    (start,) = struct.unpack_from("<I", raw, entry + 116)
    struct.pack_into("<I", raw, 512 + 4 * start, start)
    struct.pack_into("<I", raw, entry + 120, 0xFFFFFFF0)
    (tmp_path / "tea.msg").write_bytes(raw)
    with pytest.raises(UnreadableFileError, match="damaged"):
        open_outlook(tmp_path / "tea.msg")
