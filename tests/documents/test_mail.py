"""Mail."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from a2c_smcp.documents.model import UnreadableFileError
from a2c_smcp.documents.parsers.mail.document import open_mail
from tests.documents.reading import Read, read

PNG = b"\x89PNG\r\n\x1a\nrest"


def shown(folder: Path, message: EmailMessage | bytes | str) -> Read:
    content = message.as_bytes() if isinstance(message, EmailMessage) else message
    return read(open_mail, folder / "mail.eml", content)


def message(**headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {"Subject": "Größe", "From": "Ada <ada@a.example>", "To": "bob@b.example", **headers}.items():
        made[name] = value
    return made


def test_a_mail_is_one_page_with_its_headers_and_words(tmp_path: Path) -> None:
    made = message(Cc="c@c.example", Date="Fri, 23 Dec 2022 12:08:48 -0600")
    made.set_content("Hello!\n\n> You wrote\n> this.\n\n- one\n- two\n")
    found = shown(tmp_path, made)
    assert found.titles == ["Größe"]
    assert [(one.category, one.content) for one in found.elements] == [
        ("heading", {"level": 1, "text": "Größe"}),
        (
            "table",
            {
                "headers": ["Field", "Value"],
                "rows": [
                    ["From", "Ada <ada@a.example>"],
                    ["To", "bob@b.example"],
                    ["Cc", "c@c.example"],
                    ["Date", "Fri, 23 Dec 2022 12:08:48 -0600"],
                ],
            },
        ),
        ("text", {"text": "Hello!"}),
        ("text", {"text": "> You wrote\n> this."}),
        ("list", {"items": ["one", "two"], "ordered": False}),
    ]
    facts = found.facts
    assert (facts.title, facts.author, facts.created) == ("Größe", "Ada <ada@a.example>", "2022-12-23T18:08:48+00:00")


def test_plain_text_is_preferred_and_html_is_read_where_there_is_none(tmp_path: Path) -> None:
    made = message()
    made.set_content("Plain words")
    made.add_alternative("<p>HTML words</p>", subtype="html")
    assert ("text", "Plain words") in shown(tmp_path, made).brief
    made = message()
    made.set_content("<h2>Offer</h2><table><tr><th>A<th>B<tr><td>1<td>2</table>", subtype="html")
    found = shown(tmp_path, made)
    assert found.of("heading")[1:] == [{"level": 2, "text": "Offer"}]
    assert found.of("table")[1] == {"headers": ["A", "B"], "rows": [["1", "2"]]}


def test_a_text_that_only_says_that_there_is_html_is_not_preferred(tmp_path: Path) -> None:
    made = message()
    made.set_content("Your program cannot show this mail.")
    made.add_alternative("<p>Really long words.</p>" * 50, subtype="html")
    assert ("text", "Really long words.") in shown(tmp_path, made).brief


def test_attachments_are_links_and_pictures_can_be_seen(tmp_path: Path) -> None:
    made = message()
    made.set_content("See below")
    made.add_attachment(b"x" * 12_345, maintype="application", subtype="pdf", filename="Prüfung.pdf")
    made.add_attachment(PNG, maintype="image", subtype="png", filename="a/b.png")
    made.add_attachment("words", filename="notes.txt")
    found = shown(tmp_path, made)
    links = [one for one in found.elements if one.category == "link"]
    assert links[0].content == {"text": "Prüfung.pdf (application/pdf, 12.3 kB)", "url": ""}
    assert links[0].metadata == {"name": "Prüfung.pdf", "mime_type": "application/pdf", "size": 12_345}
    assert [one.metadata["name"] for one in links] == ["Prüfung.pdf", "b.png", "notes.txt"]
    picture = next(one.picture for one in found.elements if one.category == "image")
    assert picture is not None
    assert picture() == ("image/png", PNG)
    assert ("text", "words") not in found.brief


def test_pictures_inside_the_html_are_shown_where_they_are(tmp_path: Path) -> None:
    made = message()
    made.set_content('<p>Before</p><img src="cid:pic@x" alt="Chart"><p>After</p>', subtype="html")
    made.add_related(PNG, "image", "png", cid="<pic@x>", filename="c.png")
    found = shown(tmp_path, made)
    assert [one.category for one in found.elements][2:] == ["text", "image", "text", "link"]
    assert found.elements[3].picture is not None
    assert found.elements[3].picture() == ("image/png", PNG)


def test_a_message_in_a_message_follows_below(tmp_path: Path) -> None:
    inner = message(Subject="Inner")
    inner.set_content("Inner words")
    inner.add_attachment(b"x", maintype="application", subtype="zip", filename="z.zip")
    outer = message(Subject="Outer")
    outer.set_content("Outer words")
    outer.add_attachment(inner)
    outer.add_attachment(b"y", maintype="application", subtype="zip", filename="y.zip")
    found = shown(tmp_path, outer)
    assert found.of("heading") == [{"level": 1, "text": "Outer"}, {"level": 2, "text": "Inner"}]
    assert [words for category, words in found.brief if category in ("text", "link")] == [
        "Outer words",
        "y.zip (application/zip, 1 bytes)",
        "Inner words",
        "z.zip (application/zip, 1 bytes)",
    ]


@pytest.mark.parametrize(
    ("raw", "subject", "body"),
    [
        (b"Subject: =?ISO-2022-JP?B?GyRCJF4kXyRgJGEkYhsoQg==?=\nContent-Type: text/plain; charset=ISO-2022-JP\n\n"
         + "すみません。".encode("iso-2022-jp"), "まみむめも", "すみません。"),
        ("Subject: Größe\nContent-Type: text/plain; charset=utf-8\n\nfür".encode(), "Größe", "für"),
        (b"Subject: =?x-unknown?Q?caf=C3=A9?=\nContent-Type: text/plain; charset=nonsense\n\ncaf\xc3\xa9",
         "café", "café"),
        (b"Subject: plain\nContent-Type: text/plain; charset=us-ascii\n\nsm\xf8rrebr\xf8d", "plain", "smørrebrød"),
        (b"Subject: a\n folded one\nContent-Transfer-Encoding: base64\n\n!!!not base64", "a folded one", None),
    ],
)  # fmt: skip
def test_any_charset_is_read(tmp_path: Path, raw: bytes, subject: str, body: str | None) -> None:
    found = shown(tmp_path, raw)
    assert found.facts.title == subject
    if body is not None:
        assert found.of("text") == [{"text": body}]


@pytest.mark.parametrize("date", ["", "Date: yesterday\n", "Date: Fri, 99 Dec 2022 99:00:00 +9999\n"])
def test_a_mail_without_a_date_has_none(tmp_path: Path, date: str) -> None:
    assert shown(tmp_path, f"Subject: x\n{date}\nwords").facts.created == ""


def test_an_encrypted_mail_says_so(tmp_path: Path) -> None:
    raw = "Subject: x\nContent-Type: multipart/encrypted; boundary=b\n\n--b\n"
    raw += "Content-Type: application/octet-stream\n\nxx\n--b--\n"
    assert "encrypted" in shown(tmp_path, raw).of("annotation")[0]["text"]


@pytest.mark.parametrize(
    "content", [b"", b"Just some words\nwithout headers", b"\x00\x01\x02" * 100, b"%PDF-1.4", b"<html>"]
)
def test_what_is_no_mail_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mail.eml").write_bytes(content)
    with pytest.raises(UnreadableFileError):
        open_mail(tmp_path / "mail.eml")


def test_a_truncated_mail_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    made = message()
    made.set_content("First part")
    made.add_attachment(b"x" * 5_000, maintype="application", subtype="pdf", filename="a.pdf")
    found = shown(tmp_path, made.as_bytes()[:1_500])
    assert ("text", "First part") in found.brief
    assert len(found.of("link")) == 1


def test_messages_in_messages_without_end_are_refused_or_cut(tmp_path: Path) -> None:
    raw = "Subject: x\n" + "Content-Type: message/rfc822\n\nSubject: y\n" * 100
    assert shown(tmp_path, raw).elements[-1].category == "annotation"
    (tmp_path / "mail.eml").write_text("Subject: x\n" + "Content-Type: message/rfc822\n\nSubject: y\n" * 5_000)
    with pytest.raises(UnreadableFileError):
        open_mail(tmp_path / "mail.eml")
