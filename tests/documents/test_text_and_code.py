"""Plain text and source code."""

from __future__ import annotations

from pathlib import Path

import pytest

from a2c_documents.model import UnreadableFileError
from a2c_documents.paging import size_of
from a2c_documents.parsers.code import open_code
from a2c_documents.parsers.text import open_text
from tests.support.documents.reading import Read, read


def shown(folder: Path, words: str | bytes, name: str = "notes.txt") -> Read:
    return read(open_text, folder / name, words)


def code_of(folder: Path, name: str, words: str | bytes) -> Read:
    return read(open_code, folder / name, words)


# ----------------------------------------------------------------------------------------------------------------- text


def test_paragraphs_know_their_lines(tmp_path: Path) -> None:
    found = shown(tmp_path, "One line\nand its second.\n\n\nAnother.\r\n  indented\r\n")
    assert [(one.category, one.content, one.metadata) for one in found.elements] == [
        ("text", {"text": "One line\nand its second."}, {"lines": [1, 2]}),
        ("text", {"text": "Another.\n  indented"}, {"lines": [5, 6]}),
    ]
    assert found.titles == [""], "the library calls it by the file's name"


def test_underlined_and_numbered_lines_are_headings(tmp_path: Path) -> None:
    found = shown(
        tmp_path, "Report\n======\n\n1.2 Findings\n\nWords.\n\nSmaller\n-------\nwords\n\nChapter IV\n\n1. milk\n"
    )
    assert found.of("heading") == [
        {"level": 1, "text": "Report"},
        {"level": 2, "text": "1.2 Findings"},
        {"level": 2, "text": "Smaller"},
        {"level": 1, "text": "Chapter IV"},
    ]
    assert (found.facts.title, found.of("text")[-1]) == ("Report", {"text": "1. milk"})


def test_lines_that_begin_alike_are_a_list(tmp_path: Path) -> None:
    found = shown(tmp_path, "- one\n- two\n  goes on\n\n1) first\n2) second\n\n- not\nreally\n")
    assert found.of("list") == [
        {"items": ["one", "two goes on"], "ordered": False},
        {"items": ["first", "second"], "ordered": True},
    ]
    assert found.of("text") == [{"text": "- not\nreally"}]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.org", "* One\ntext\n** Two\nmore\n"),
        ("a.adoc", "= One\ntext\n== Two\nmore\n"),
        ("a.tex", "\\chapter{One}\ntext\n\\section{Two}\nmore\n"),
        ("a.rst", "===\nOne\n===\n\ntext\n\nTwo\n---\n\nmore\n"),
    ],
)
def test_other_markups_have_their_headings(tmp_path: Path, name: str, words: str) -> None:
    found = shown(tmp_path, words, name)
    assert [one.category for one in found.elements] == ["heading", "text", "heading", "text"]
    assert [one["level"] for one in found.of("heading")] == [1, 2]
    assert [one["text"] for one in found.of("heading")] == ["One", "Two"]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("My Journey to the Alps\n\nIt began …\n", "My Journey to the Alps"),
        ("\n\nMy Journey\n==========\ntext\n", "My Journey"),
        ("It began on a rainy day.\n\nMore\n", ""),
        ("A line\nof a paragraph\n", ""),
        ("2024-01-02 10:00:00 started\n\nx\n", ""),
        ("word\n", ""),
        ("Only a line\n\n\n", ""),
        ("- milk\n\n- eggs\n", ""),
        ("https://a.example\n\nwords\n", ""),
        ("What is it?\n\nwords\n", ""),
        ("# Notes #\n\nwords\n", "Notes"),
        ("====\nNotes\n====\nwords\n", "Notes"),
        ("烘焙手册使用说明\n----------------\n内容\n", "烘焙手册使用说明"),
    ],
)
def test_a_first_line_that_looks_like_a_title_is_a_heading(tmp_path: Path, words: str, title: str) -> None:
    found = shown(tmp_path, words)
    assert found.facts.title == title
    assert found.of("heading") == ([{"level": 1, "text": title}] if title else [])
    assert title not in [one["text"] for one in found.of("text")]


@pytest.mark.parametrize(
    ("name", "words", "title"),
    [
        ("a.tex", "\\documentclass{article}\n\\title[short]{On Tea}\n\\section{One}\ntext\n", "On Tea"),
        ("a.org", "#+AUTHOR: Ada\n#+TITLE: On Tea\n\n* One\ntext\n", "On Tea"),
        ("a.adoc", "= On Tea\ntext\n== Two\n", "On Tea"),
        ("a.log", "Starting up\n\nReady\n", ""),
    ],
)
def test_a_marked_title_is_one(tmp_path: Path, name: str, words: str, title: str) -> None:
    assert shown(tmp_path, words, name).facts.title == title


@pytest.mark.parametrize(
    ("words", "summary"),
    [
        ("Ideas for the winter\n\nNothing here is decided.\n", "Nothing here is decided."),
        ("Ideas\n=====\nNothing here is decided. Add yours.\n", "Nothing here is decided. Add yours."),
        ("Ideas\n\nDraft\n\nNothing here is decided. Add yours.\n", "Nothing here is decided. Add yours."),
        ("Ideas\n\n- tea\n- cake\n", "tea; cake"),
        ("Ideas\n\nIdeas\n", ""),
        ("\\documentclass{article}\n\nWords that say something to people.\n", "Words that say something to people."),
    ],
)
def test_the_summary_is_the_first_sentence_after_the_title(tmp_path: Path, words: str, summary: str) -> None:
    assert shown(tmp_path, words).facts.summary == summary


def test_a_line_of_dashes_divides_and_a_list_goes_on_counting(tmp_path: Path) -> None:
    found = shown(tmp_path, "one\n\n---\n\n4. four\n5. five\n")
    assert [(one.category, one.metadata) for one in found.elements] == [
        ("heading", {"lines": [1, 1]}),
        ("separator", {"lines": [3, 3]}),
        ("list", {"lines": [5, 6], "start": 4}),
    ]


def test_a_long_text_has_pages_that_name_their_lines(tmp_path: Path) -> None:
    lines = [f"{number} some event happened here" if number % 7 else "" for number in range(1, 30_001)]
    found = shown(tmp_path, "\n".join(lines), "server.log")
    assert len(found.pages) > 3
    assert found.titles[0].startswith("Lines 1–")
    assert found.titles[-1].endswith("–30000")
    assert all(sum(map(size_of, page)) <= 200_000 for page in found.pages)
    words = "\n".join(one["text"] for one in found.of("text")).split("\n")
    assert words == [line for line in lines if line]
    first_of_second = found.pages[1][0]
    assert first_of_second.content["text"].split(" ")[0] == str(first_of_second.metadata["lines"][0])


def test_a_line_longer_than_a_page_is_cut(tmp_path: Path) -> None:
    found = shown(tmp_path, "x" * 1_000_000)
    assert len(found.pages) > 4
    assert sum(len(one["text"]) for one in found.of("text")) == 1_000_000


def test_many_headings_fill_pages_too(tmp_path: Path) -> None:
    found = shown(tmp_path, "* h\n" * 20_000, "a.org")
    assert len(found.elements) == 20_000
    assert all(sum(map(size_of, page)) <= 200_000 for page in found.pages)


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("utf-16", "größer"),
        ("utf-8-sig", "größer"),
        ("cp932", "名前と年齢と住所です。"),
        ("gb18030", "今天天气很好，我们去公园散步。"),
        ("cp1252", "größer"),
        ("cp1252", "Voilà déjà l’été – le cœur coûte 5 €, où êtes-vous ?"),
        ("latin-1", "Det är en väldigt stor båt på sjön, och åtta små öar."),
        ("cp1250", "Wszystko będzie dobrze, bo już świeci słońce w mieście."),
        ("cp1250", "Dobrý večer, přátelé: dnes jsme šťastní, že můžeme být spolu."),
        ("cp1254", "Günaydın, nasılsınız? Çok teşekkür ederim, görüşürüz."),
        ("cp1251", "Привет, как дела? Сегодня хорошая погода."),
        ("koi8-r", "Привет, как дела? Сегодня хорошая погода."),
        ("cp1253", "Καλημέρα, τι κάνετε; Σήμερα ο καιρός είναι πολύ καλός."),
    ],
)
def test_texts_of_other_encodings_are_read(tmp_path: Path, encoding: str, words: str) -> None:
    assert shown(tmp_path, words.encode(encoding)).of("text") == [{"text": words}]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_shows_the_encoding(tmp_path: Path, encoding: str) -> None:
    content = "\ufeffgrößer".encode(encoding)
    assert shown(tmp_path, content).of("text") == [{"text": "größer"}]
    assert code_of(tmp_path, "a.py", content).of("code") == [{"code": "größer", "language": "python"}]


@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00\x01\x02" * 50, b"\x89PNG\r\n\x1a\n"]
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    for opener, name in ((open_text, "a.txt"), (open_code, "a.py")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UnreadableFileError):
            opener(tmp_path / name)


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError):
        open_text(tmp_path / "gone.txt")


# ----------------------------------------------------------------------------------------------------------------- code

PYTHON = '''"""A tiny inventory.

More about it."""

import os

# About items.
@decorated
class Item:
    def one(self):
        pass

    async def two(self): ...


def total(): return "größe 数量"
x = 1
'''


def test_python_is_divided_at_its_definitions(tmp_path: Path) -> None:
    found = code_of(tmp_path, "stock.py", PYTHON)
    assert [(one.summary, one.metadata["lines"]) for one in found.elements] == [
        ("", [1, 5]),
        ("class Item: one, two", [7, 13]),
        ("function total", [16, 16]),
        ("", [17, 17]),
    ]
    assert found.elements[1].content["code"].startswith("# About items.\n@decorated\nclass Item:")
    assert {one["language"] for one in found.of("code")} == {"python"}
    assert (found.facts.summary, found.facts.title, found.titles) == ("A tiny inventory.", "", [""])


def test_python_with_mistakes_is_divided_all_the_same(tmp_path: Path) -> None:
    found = code_of(tmp_path, "old.py", "# Old things.\nprint 'hi'\n\nclass A:\n    pass\n\ndef b():\n    return (\n")
    assert [one.summary for one in found.elements] == ["", "class A", "def b"]
    assert found.facts.summary == "Old things."


@pytest.mark.parametrize(
    ("name", "words", "names"),
    [
        (
            "a.js",
            "/* Tools. */\nexport class A {\n}\n\nexport const b = async (x) => {\n}\n",
            ["class A", "function b"],
        ),
        ("a.go", "// Tools.\n\nfunc (s *S) Run() {\n}\n\ntype S struct {\n}\n", ["func Run", "type S"]),
        ("a.rs", "//! Tools.\n\npub fn run() {\n}\n\nimpl S {\n}\n", ["fn run", "impl S"]),
        ("a.c", "/*\n * Tools.\n */\nint main(int argc, char **argv)\n{\n}\n", ["function main"]),
        ("a.sql", "-- Tools.\n\nCREATE TABLE users (id int);\n", ["TABLE users", "table users"]),
        ("a.sh", "#!/bin/sh\n# Tools.\n\nrun() {\n}\n", ["run"]),
        ("Makefile", "# Tools.\n\nall: x\n\ttouch x\n", ["all"]),
        ("a.java", "// Tools.\n\npublic final class A {\n}\n", ["class A"]),
    ],
)
def test_other_languages_name_their_definitions(tmp_path: Path, name: str, words: str, names: list[str]) -> None:
    found = code_of(tmp_path, name, words)
    assert next(one.summary for one in found.elements if one.summary) in names
    assert found.facts.summary == "Tools."
    assert "\n".join(one["code"] for one in found.of("code")).split() == words.split()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.py", '"""Copyright 2020 Ada.\n\nPlans a roast.\n"""\n'),
        ("a.py", "# Copyright 2020 Ada\n# Licensed under MIT\n\n# Plans a\n# roast.\nx = 1\n"),
        ("a.java", "/*\n * (c) 2020 Ada. All rights reserved.\n */\n\n/** Plans a\n * roast. */\nclass A {}\n"),
        ("a.rs", "// SPDX-License-Identifier: MIT\n\n//! Plans a roast.\n"),
        ("a.sh", "#!/bin/sh\n# Plans a roast.\n#\n# More.\n"),
    ],
)
def test_the_summary_is_what_the_file_says_about_itself_and_not_whose_it_is(
    tmp_path: Path, name: str, words: str
) -> None:
    summary = code_of(tmp_path, name, words).facts.summary
    assert summary.rstrip(".") == "Plans a roast"


def test_the_language_is_known_by_suffix_name_or_first_line(tmp_path: Path) -> None:
    first = "#!/usr/bin/env python3\nx = 1\n"
    assert code_of(tmp_path, "Dockerfile", "FROM x\n").of("code")[0]["language"] == "dockerfile"
    assert code_of(tmp_path, "a.ts", "x\n").of("code")[0]["language"] == "typescript"
    assert code_of(tmp_path, "run", first).of("code")[0]["language"] == "python"


def test_long_code_is_cut_into_pieces_and_pages(tmp_path: Path) -> None:
    words = "\n".join(f"x{number} = {'1' * 80}" for number in range(8_000))
    found = code_of(tmp_path, "long.py", words)
    assert found.titles[0].startswith("Lines 1–")
    assert all(sum(map(size_of, page)) <= 200_000 for page in found.pages)
    assert "\n".join(one["code"] for one in found.of("code")) == words
    assert [one.metadata["lines"][0] for one in found.elements[:2]] == [1, 401]


@pytest.mark.parametrize("words", ["(" * 100_000, "x = " + "-" * 100_000 + "1", 'x = "\\d"\n', "int " * 50_000])
def test_hostile_code_is_only_text(tmp_path: Path, words: str) -> None:
    assert "".join(one["code"] for one in code_of(tmp_path, "evil.py", words).of("code")).strip() == words.strip()
