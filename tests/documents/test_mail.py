"""Mail."""

from __future__ import annotations

import base64
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.attached import MAX_FILE
from a2c_documents.parsers.mail.mail_file import open_mail
from a2c_documents.server import addresses
from a2c_smcp.errors import ElementNotFoundError
from tests.support.documents.libraries import MakeLibrary
from tests.support.documents.reading import Read, read

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\nrest"


def shown(folder: Path, message: EmailMessage | bytes | str) -> Read:
    content = message.as_bytes() if isinstance(message, EmailMessage) else message
    return read(open_mail, folder / "mail.eml", content)


def message(**headers: str) -> EmailMessage:
    made = EmailMessage()
    for name, value in {"Subject": "Größe", "From": "Ada <ada@a.example>", "To": "bob@b.example", **headers}.items():
        made[name] = value
    return made


def plain_message(words: str, subtype: str = "plain") -> EmailMessage:
    made = message()
    made.set_content(words, subtype=subtype)
    return made


def alternatives(plain: str, html: str) -> EmailMessage:
    made = message()
    made.set_content(plain)
    made.add_alternative(html, subtype="html")
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


@pytest.mark.parametrize(
    ("plain", "html"),
    [
        ("Plain words", "<p>HTML words</p>"),
        ("- one\n- two", "<ul><li>one<li>two</ul>"),
        ("See https://a.example/x", '<p>See <a href="https://a.example/x">it</a></p>'),
        ("I wrote to a@a.example", '<p>I wrote to <a href="mailto:a@a.example">a@a.example</a></p>'),
        ("All the words of a long mail. " * 20, '<img src="cid:all@x"><h1>Hi</h1>'),
        ("Words", '<table><tr><td>Words</td></tr></table><img src="https://a.example/logo.png" alt="Logo">'),
    ],
)
def test_html_that_only_wraps_the_same_words_is_left_out(tmp_path: Path, plain: str, html: str) -> None:
    shown_plain = shown(tmp_path, plain_message(plain))
    assert shown(tmp_path, alternatives(plain, html)).shapes == shown_plain.shapes


@pytest.mark.parametrize(
    ("plain", "html", "category"),
    [
        ("Item Price\nTea 3\nMilk 2", "<table border=1><tr><th>Item<th>Price<tr><td>Tea<td>3<tr><td>Milk<td>2</table>",
         "table"),
        ("one two three", "<ul><li>one<li>two<li>three</ul>", "list"),
        ("Read it here", '<p>Read it <a href="https://a.example/x">here</a></p>', "text"),
        ("Offer\nWords", "<h2>Offer</h2><p>Words</p>", "heading"),
    ],
)  # fmt: skip
def test_html_with_structure_that_the_plain_text_lacks_is_shown(
    tmp_path: Path, plain: str, html: str, category: str
) -> None:
    found, wanted = shown(tmp_path, alternatives(plain, html)), shown(tmp_path, plain_message(html, subtype="html"))
    assert found.shapes == wanted.shapes
    assert category in {one.category for one in found.elements[2:]}


def test_only_alternatives_stand_for_one_another(tmp_path: Path) -> None:
    made = alternatives("Read it here", '<p>Read it <a href="https://a.example/x">here</a></p>')
    made.make_mixed()
    footer = EmailMessage()
    footer.set_content("Sent over the list.")
    made.attach(footer)
    assert [one["text"] for one in shown(tmp_path, made).of("text")] == ["Read it here", "Sent over the list."]


def test_html_is_read_where_there_is_no_plain_text(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("words", "summary"),
    [
        ("Dear Mara,\n\nThe vessel waits for a berth.\n", "The vessel waits for a berth."),
        ("Hello all!\nThe vessel waits\nfor a berth.\n", "The vessel waits for a berth."),
        ("> We wait for it since Monday, Tomas.\n\nIt will come in two weeks.\n", "It will come in two weeks."),
        ("Hi!\n\nYes, please.\n\nBob\n", "Yes, please."),
        ("尊敬的林先生：\n\n货物将于十月二十六日到达。\n", "货物将于十月二十六日到达。"),
        ("Größe\n\n- one\n- two\n", "one; two"),
        ("words " * 100, "words " * 48 + "words…"),
    ],
)
def test_the_summary_is_the_first_sentence_that_says_something(tmp_path: Path, words: str, summary: str) -> None:
    assert shown(tmp_path, plain_message(words)).facts.summary == summary


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


ATTACHED: list[tuple[str, str, str | bytes, list[tuple[str, Any]]]] = [
    ("a.csv", "text", "Name,Units\nAnn,3\n", [("table", {"headers": ["Name", "Units"], "rows": [["Ann", "3"]]})]),
    ("a.txt", "text", "Words", [("text", {"text": "Words"})]),
    ("a.md", "text", "---\ntitle: T\n---\n# Top\n", [("heading", {"level": 2, "text": "Top"})]),
    ("a.html", "text", "<ul><li>x</ul>", [("list", {"items": ["x"], "ordered": False})]),
    ("a.json", "application", '[{"n": 1}, {"n": 2}]', [("list", None), ("table", None)]),
    ("a.jsonl", "application", '{"n": 1}\n', [("code", {"code": '{"n": 1}', "language": "json"})]),
    ("a.py", "application", "x = 1\n", [("code", {"code": "x = 1", "language": "python"})]),
    ("a.csv", "application", b"\x00\x01" * 99, [("annotation", None)]),
    ("a.bin", "application", b"\x00\x01" * 99, []),
    ("a.pdf", "application", b"%PDF-1.7", []),
]


@pytest.mark.parametrize(("name", "kind", "content", "wanted"), ATTACHED)
def test_what_an_attached_text_says_follows_its_link(
    tmp_path: Path, name: str, kind: str, content: str | bytes, wanted: list[tuple[str, Any]]
) -> None:
    made = plain_message("See below")
    raw = content if isinstance(content, bytes) else content.encode()
    made.add_attachment(raw, maintype=kind, subtype="octet-stream" if kind != "text" else "plain", filename=name)
    link, *said = shown(tmp_path, made).elements[3:]
    assert [one.category for one in said] == [category for category, _ in wanted]
    assert all(one.content == content for one, (_, content) in zip(said, wanted, strict=True) if content)
    assert all(one.metadata["attachment"] == name for one in said)
    assert link.file is not None
    assert link.file()[1] == raw


def test_what_attachments_say_is_bounded(tmp_path: Path) -> None:
    made = plain_message("See below")
    made.add_attachment("A long line of words.\n\n" * 10_000, filename="long.txt")
    made.add_attachment("words", filename="next.txt")
    found = shown(tmp_path, made)
    assert len(found.pages) == 1
    assert found.of("annotation") == [{"text": "The rest of long.txt is in the file itself."}]
    assert [one.metadata["name"] for one in found.elements if one.category == "link"] == ["long.txt", "next.txt"]
    made.add_attachment(b"x" * (MAX_FILE + 1), maintype="application", subtype="zip", filename="huge.zip")
    assert shown(tmp_path, made).elements[-1].file is None


async def test_an_attachment_can_be_read_where_its_link_says(files: Path, make_library: MakeLibrary) -> None:
    made = plain_message('<p>Words</p><img src="cid:pic@x" alt="Chart">', subtype="html")
    made.add_related(PNG, "image", "png", cid="<pic@x>", filename="c.png")
    made.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="numbers.csv")
    (files / "mail.eml").write_bytes(made.as_bytes())
    library = make_library()
    await library.look()
    page = (await addresses.read(library, f"{library.address(next(iter(library.documents)))}/pages/0")).body
    links = {one["summary"].split(",")[0]: one for one in page["elements"] if one["category"] in ("link", "image")}
    answers = {name: await addresses.read(library, one["content"]["url"]) for name, one in links.items()}
    png = ("image/png", base64.b64encode(PNG).decode())
    assert {name: (one.mime_type, one.blob) for name, one in answers.items()} == {
        "Chart": png,
        "Attachment c.png": png,
        "Attachment numbers.csv": ("text/csv", base64.b64encode(b"a,b\n1,2\n").decode()),
    }
    assert links["Attachment numbers.csv"]["content"]["url"].endswith("?as=file")
    with pytest.raises(ElementNotFoundError):
        await addresses.read(library, links["Chart"]["content"]["url"].replace("picture", "file"))


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
    assert [words.partition(",")[0] for category, words in found.brief if category in ("text", "link")] == [
        "Outer words",
        "Inner.eml (message/rfc822",
        "y.zip (application/zip",
        "Inner words",
        "z.zip (application/zip",
    ]
    assert found.facts.summary == "Outer words"
    file = next(one.file for one in found.elements if one.file)
    assert file is not None
    assert b"Inner words" in file()[1]


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Type: application/octet-stream\nContent-Transfer-Encoding: base64",
        "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64",
    ],
)
def test_a_message_in_a_file_is_read_too(tmp_path: Path, headers: str) -> None:
    inner = base64.encodebytes(b"Subject: Inner\nFrom: a@a.example\n\nInner words\n").decode()
    raw = "Subject: Outer\nContent-Type: multipart/mixed; boundary=b\n\n"
    raw += f'--b\n{headers}\nContent-Disposition: attachment; filename="i.eml"\n\n{inner}\n--b--\n'
    found = shown(tmp_path, raw)
    assert found.of("heading")[1:] == [{"level": 2, "text": "Inner"}]
    assert ("text", "Inner words") in found.brief


def test_what_a_mail_server_reports_is_shown(tmp_path: Path) -> None:
    raw = "Subject: x\nContent-Type: multipart/report; boundary=b\n\n--b\n\nIt failed.\n--b\n"
    raw += "Content-Type: message/delivery-status\n\nReporting-MTA: dns; a.example\n\nStatus: 5.1.1\n--b--\n"
    words = "\n".join(one["text"] for one in shown(tmp_path, raw).of("text"))
    assert "It failed." in words
    assert "Status: 5.1.1" in words


@pytest.mark.parametrize(
    ("raw", "subject", "body"),
    [
        (b"Subject: =?ISO-2022-JP?B?GyRCJF4kXyRgJGEkYhsoQg==?=\nContent-Type: text/plain; charset=ISO-2022-JP\n\n"
         + "すみません。".encode("iso-2022-jp"), "まみむめも", "すみません。"),
        ("Subject: Größe\nContent-Type: text/plain; charset=utf-8\n\nfür".encode(), "Größe", "für"),
        (b"Subject: =?x-unknown?Q?caf=C3=A9?=\nContent-Type: text/plain; charset=nonsense\n\ncaf\xc3\xa9",
         "café", "café"),
        (b"Subject: =?idna?Q?caf=C3=A9?=\nContent-Type: text/plain; charset=idna\n\ncaf\xc3\xa9", "café", "café"),
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


def test_parts_without_end_are_cut_and_said(tmp_path: Path) -> None:
    found = shown(tmp_path, "Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + "--b\n\nwords\n" * 5_000)
    assert 0 < len(found.of("text")) <= 2_000
    assert found.of("annotation") == [{"text": "Further parts of this message are not shown."}]


def test_messages_in_messages_without_end_are_refused_or_cut(tmp_path: Path) -> None:
    raw = "Subject: x\n" + "Content-Type: message/rfc822\n\nSubject: y\n" * 100
    assert shown(tmp_path, raw).elements[-1].category == "annotation"
    (tmp_path / "mail.eml").write_text("Subject: x\n" + "Content-Type: message/rfc822\n\nSubject: y\n" * 5_000)
    with pytest.raises(UnreadableFileError):
        open_mail(tmp_path / "mail.eml")
