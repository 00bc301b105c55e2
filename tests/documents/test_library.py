"""Documents, pages and elements of a folder; read in processes of their own, and kept."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pptx import Presentation

from a2c_documents.folder.files import FileRules
from a2c_documents.library.library import Library
from a2c_documents.registry import FORMATS
from a2c_documents.render import page_of_element
from a2c_documents.server.addresses import complete, read
from a2c_documents.server.tools import call
from a2c_smcp.errors import (
    DocumentNotFoundError,
    ElementNotFoundError,
    InvalidDPEUriError,
    PageOutOfRangeError,
    SMCPError,
)
from tests.support.documents.libraries import MakeLibrary
from tests.support.systems import posix_only

pytestmark = pytest.mark.anyio

NOTES = "# Alpha\n\nThe first words.\n\n- one\n- two\n\n# Beta\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"


def ref_of(library: Library, name: str) -> str:
    return next(ref for ref, document in library.documents.items() if document.relative == name)


async def at(library: Library, uri: str) -> Any:
    return (await read(library, uri)).body


async def test_the_four_levels(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    library = make_library()
    await library.look()
    catalogue = await at(library, "dpe://lib")
    assert catalogue["total_count"] == 1
    document = catalogue["documents"][0]
    assert document["file_type"] == "md"
    assert document["file_uri"] == (files / "notes.md").as_uri()
    assert document["last_modified"].endswith("Z")
    assert (await at(library, document["uri"])).items() >= document.items()
    index = await at(library, document["uri"] + "?depth=pages&offset=1&limit=1")
    assert [page["title"] for page in index["pages"]] == ["Beta"]
    assert index["page_total"] == 2
    page = await at(library, index["pages"][0]["uri"])
    assert page["element_count"] == index["pages"][0]["element_count"] == len(page["elements"])
    table = next(element for element in page["elements"] if element["category"] == "table")
    assert table["content"] == {"headers": ["a", "b"], "rows": [["1", "2"]]}
    element = await at(library, f"{document['uri']}/elements/{table['element_id']}")
    assert element["content"]["total_rows"] == 1
    assert element["page_index"] == 1
    assert "lines" in element["metadata"]


async def test_the_three_formats(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    library = make_library()
    await library.look()
    uri = library.address(ref_of(library, "notes.md"))
    page = await at(library, f"{uri}/pages/0?format=markdown")
    assert page["content_markdown"].startswith("# Alpha")
    assert "elements" not in page
    assert "- one\n- two" in (await at(library, f"{uri}/pages/0?format=markdown&categories=list"))["content_markdown"]
    assert "#" not in (await at(library, f"{uri}/pages/0?format=text"))["content_text"]
    assert "Beta" in (await at(library, f"{uri}?format=markdown&depth=pages"))["content_markdown"]
    assert uri in (await at(library, "dpe://lib?format=markdown"))["content_markdown"]
    only = await at(library, f"{uri}/pages/0?categories=heading,list")
    assert {element["category"] for element in only["elements"]} == {"heading", "list"}


async def test_what_is_not_there(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    library = make_library()
    await library.look()
    uri = library.address(ref_of(library, "notes.md"))
    cases: list[tuple[str, type[SMCPError]]] = [
        ("dpe://lib/nothing", DocumentNotFoundError),
        ("dpe://elsewhere/x", DocumentNotFoundError),
        (f"{uri}/pages/2", PageOutOfRangeError),
        (f"{uri}/elements/p0-text-9", ElementNotFoundError),
        (f"{uri}/elements/p99-text-1", ElementNotFoundError),
        (f"{uri}/elements/nonsense", ElementNotFoundError),
        (f"{uri}/elements/p0-text-1?as=picture", ElementNotFoundError),
        (f"{uri}/pages/-1", InvalidDPEUriError),
    ]
    for address, error in cases:
        with pytest.raises(error):
            await read(library, address)


async def test_ids_stay_and_one_page_leaves_the_others_alone(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    library = make_library()
    await library.look()
    uri = library.address(ref_of(library, "notes.md"))
    before = await at(library, f"{uri}/pages/1")
    (files / "notes.md").write_text(NOTES.replace("The first words.", "Other words.\n\nAnd more."))
    await library.look()
    assert ref_of(library, "notes.md") in uri
    after = await at(library, f"{uri}/pages/1")
    assert after["elements"] == before["elements"]
    assert (await at(library, f"{uri}/pages/0"))["elements"][1]["content"]["text"] == "Other words."


async def test_a_restart_over_an_unchanged_folder_reads_nothing(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    (files / "broken.docx").write_bytes(b"PK\x03\x04 nonsense")
    first = make_library()
    await first.look()
    uri = first.address(ref_of(first, "notes.md"))
    page = await at(first, f"{uri}/pages/0")
    assert await first.read_all() == 1, "the page made one of them known"
    await first.close()
    second = make_library()
    await second.look()
    assert await second.read_all() == 0
    assert await at(second, f"{uri}/pages/0") == page
    assert not second.has_worked


async def test_a_parser_that_gives_something_else_reads_again(
    files: Path, make_library: MakeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "notes.md").write_text(NOTES)
    first = make_library()
    await first.look()
    await first.read_all()
    await first.close()
    monkeypatch.setitem(FORMATS, "md", replace(FORMATS["md"], version=99))
    second = make_library()
    await second.look()
    assert await second.read_all() == 1


async def test_the_same_content_under_another_name_is_not_read_again(files: Path, make_library: MakeLibrary) -> None:
    (files / "one.md").write_text(NOTES)
    library = make_library()
    await library.look()
    await library.read_all()
    os.rename(files / "one.md", files / "two.md")
    news = await library.look()
    assert news.is_list_changed
    assert [document.relative for document in library.documents.values()] == ["two.md"]
    assert (await at(library, "dpe://lib"))["documents"][0]["page_count"] == 2


async def test_what_does_not_name_itself_is_called_as_the_file_is(files: Path, make_library: MakeLibrary) -> None:
    (files / "one.csv").write_text("Name,Units\n" + "Ann,3\n" * 2_500)
    (files / "one.py").write_text("x = 1\n")
    library = make_library()
    for stem in ("one", "two"):
        await library.look()
        catalogue = (await at(library, "dpe://lib"))["documents"]
        assert {entry["title"] for entry in catalogue} == {f"{stem}.csv", f"{stem}.py"}
        titles = {
            entry["title"]: [page["title"] for page in (await at(library, f"{entry['uri']}?depth=pages"))["pages"]]
            for entry in catalogue
        }
        assert titles == {f"{stem}.py": [f"{stem}.py"], f"{stem}.csv": ["Rows 1–2000", "Rows 2001–2501"]}
        assert (await at(library, f"dpe://lib/{ref_of(library, f'{stem}.py')}/pages/0"))["title"] == f"{stem}.py"
        listed = (await at(library, "dpe://lib?format=markdown"))["content_markdown"]
        assert f"- [{stem}.csv (csv, 2 pages)]" in listed
        assert f"- [{stem}.py (py, 1 page)]" in listed
        if stem == "one":
            for suffix in ("csv", "py"):
                os.rename(files / f"one.{suffix}", files / f"two.{suffix}")


async def test_the_same_content_of_another_type_is_read_as_such(files: Path, make_library: MakeLibrary) -> None:
    for name in ("a.ts", "b.js"):
        (files / name).write_text("let x = 1\n")
    library = make_library()
    await library.look()
    pages = [await at(library, f"dpe://lib/{ref_of(library, name)}/pages/0") for name in ("a.ts", "b.js")]
    assert [page["elements"][0]["content"]["language"] for page in pages] == ["typescript", "javascript"]


async def test_news_of_the_folder(files: Path, make_library: MakeLibrary) -> None:
    for name in ("a.txt", "b.txt"):
        (files / name).write_text(name)
    library = make_library()
    assert (await library.look()).is_list_changed
    assert await library.look() == await library.look_at([files / "a.txt"])
    (files / "a.txt").write_text("changed now")
    news = await library.look_at([files / "a.txt"])
    assert (news.is_list_changed, news.updated) == (False, {ref_of(library, "a.txt")})
    (files / "b.txt").unlink()
    (files / "c.txt").write_text("c")
    assert (await library.look_at([files / "b.txt", files / "c.txt"])).is_list_changed
    assert {document.relative for document in library.documents.values()} == {"a.txt", "c.txt"}


async def test_a_change_that_somebody_read_before_we_looked_is_news_all_the_same(
    files: Path, make_library: MakeLibrary
) -> None:
    (files / "a.txt").write_text("one")
    library = make_library()
    await library.look()
    (files / "a.txt").write_text("two words")
    await library.read_all()
    assert (await library.look()).updated == {ref_of(library, "a.txt")}
    assert await library.read_all() == 0, "and it is not read again"
    assert not (await library.look()).updated


async def test_a_file_that_is_gone_while_it_is_read(files: Path, make_library: MakeLibrary) -> None:
    (files / "a.txt").write_text("words")
    library = make_library()
    await library.look()
    (files / "a.txt").unlink()
    with pytest.raises(DocumentNotFoundError):
        await library.document(ref_of(library, "a.txt"))


async def test_a_file_that_cannot_be_read_any_more_keeps_its_last_good_state(
    files: Path, make_library: MakeLibrary
) -> None:
    path = files / "slides.pptx"
    good: Any = Presentation()
    for title in ("First", "Second"):
        good.slides.add_slide(good.slide_layouts[5]).shapes.title.text = title
    good.save(str(path))
    library = make_library()
    await library.look()
    uri = library.address(ref_of(library, "slides.pptx"))
    before = await at(library, f"{uri}/pages/0")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    await library.look()
    assert (await at(library, uri))["page_count"] == 2
    assert await at(library, f"{uri}/pages/0") == before
    unread = await at(library, f"{uri}/pages/1")
    assert [element["category"] for element in unread["elements"]] == ["annotation"], "nobody had read it before"
    path.write_bytes(whole)
    await library.look()
    assert "Second" in str(await at(library, f"{uri}/pages/1"))


async def test_odd_names_and_clocks_harm_nobody(files: Path, make_library: MakeLibrary) -> None:
    (files / "ok.md").write_text("# Fine\n")
    for name in (b"caf\xe9.md", b"new\nline.md", b"-dash.md", b"\xf0\x9f\x90\x98.md"):
        (files / os.fsdecode(name)).write_bytes(b"# Odd\n")
    os.utime(files / "ok.md", (2**34, 2**34))
    library = make_library()
    await library.look()
    catalogue = await at(library, "dpe://lib")
    assert catalogue["total_count"] == 5
    json.dumps(catalogue).encode("utf-8")
    assert await make_library().look()


async def test_names_that_are_no_text_are_told_apart(files: Path, make_library: MakeLibrary) -> None:
    for byte in range(0xC0, 0xE0):
        (files / os.fsdecode(b"caf" + bytes((byte,)) + b".md")).write_bytes(b"# %d\n" % byte)
    library = make_library()
    await library.look()
    catalogue = (await at(library, "dpe://lib"))["documents"]
    assert {entry["title"] for entry in catalogue} == {str(byte) for byte in range(0xC0, 0xE0)}
    references = set(library.documents)
    await library.close()
    again = make_library()
    await again.look()
    assert set(again.documents) == references
    assert await again.read_all() == 0


async def test_what_lies_in_the_folder_is_no_code(
    files: Path, make_library: MakeLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "base64.py").write_text("import pathlib; pathlib.Path('ran').write_text('x')\n")
    monkeypatch.chdir(files)
    library = make_library()
    await library.look()
    assert (await at(library, "dpe://lib"))["documents"][0]["page_count"] == 1
    assert not (files / "ran").exists()


@posix_only
async def test_a_link_to_elsewhere_is_not_followed_when_it_changes(
    files: Path, tmp_path: Path, make_library: MakeLibrary
) -> None:
    (tmp_path / "outside").mkdir()
    (files / "link").symlink_to(tmp_path / "outside")
    library = make_library()
    await library.look()
    (tmp_path / "outside" / "secret.md").write_text("# secret")
    assert not (await library.look_at([files / "link" / "secret.md"])).is_list_changed
    assert library.documents == {}


async def test_a_reader_that_was_killed_is_no_verdict(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    library = make_library(memory_bytes=20_000_000)  # not enough to start with
    await library.look()
    uri = library.address(ref_of(library, "notes.md"))
    await at(library, uri)
    await library.close()
    again = make_library()
    await again.look()
    assert (await at(again, uri))["page_count"] == 2
    assert [hit["page_index"] for hit in await again.search("first words", 5)] == [0]


async def test_a_file_without_a_title_is_called_by_its_first_heading_once_it_was_read(
    files: Path, make_library: MakeLibrary
) -> None:
    deck: Any = Presentation()
    deck.core_properties.title = ""
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "The real title"
    deck.save(str(files / "deck.pptx"))
    library = make_library()
    await library.look()
    await library.read_all()
    assert await library.make_searchable()
    assert (await at(library, "dpe://lib"))["documents"][0]["title"] == "The real title"
    await library.close()
    again = make_library()
    await again.look()
    assert [document.title for document in again.documents.values()] == ["The real title"]
    assert not await again.make_searchable()


async def test_edits_do_not_crowd_out_what_is_searched_for(files: Path, make_library: MakeLibrary) -> None:
    library = make_library()
    for number in range(30):
        (files / "notes.md").write_text(f"# Title\n\nalpha {number}\n")
        await library.look()
        assert len(await library.search("alpha", 5)) == 1
    (files / "notes.md").unlink()
    (files / "other.md").write_text("nothing")
    await library.look()
    assert await library.search("alpha", 5) == []


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02" * 100, b"%PDF-1.7 nonsense", b"PK\x03\x04", b"{" * 5000])
@pytest.mark.parametrize("name", ["x.pdf", "x.docx", "x.xlsx", "x.pptx", "x.json", "x.png", "x.epub", "x.bin", "x"])
async def test_any_file_is_a_document_with_a_page_that_can_be_read(
    files: Path, make_library: MakeLibrary, name: str, content: bytes
) -> None:
    (files / name).write_bytes(content)
    library = make_library()
    await library.look()
    document = (await at(library, "dpe://lib"))["documents"][0]
    assert document["page_count"] >= 1
    page = await at(library, f"{document['uri']}/pages/0")
    assert page["elements"], "it says something"


@posix_only
async def test_a_reader_that_takes_too_long_is_replaced(files: Path, make_library: MakeLibrary) -> None:
    (files / "a.md").write_text("# fine\n")
    os.mkfifo(files / "b.txt")
    (files / "c.txt").write_text("word " * 10)
    library = make_library(seconds=5)
    await library.look()
    names = {document.relative for document in library.documents.values()}
    assert names == {"a.md", "c.txt"}, "what is no file is no document"
    assert len((await at(library, "dpe://lib"))["documents"]) == 2


async def test_what_is_written_is_found(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    (files / "other.txt").write_text("Nothing but an elephant, and 無色な孔雀が居た.")
    library = make_library()
    await library.look()
    for query, name in (
        ("elephants", ""),
        ("elephant", "other.txt"),
        ("無色", "other.txt"),
        ("first words", "Alpha"),
        ("two", "Alpha"),
    ):
        hits = await library.search(query, 5)
        assert [hit["title"] for hit in hits] == ([name] if name else []), query
    hit = (await library.search("elephant", 5))[0]
    assert "[elephant]" in hit["snippet"]
    element = await at(library, hit["element_uri"])
    assert "elephant" in element["content"]["text"]
    for odd in ('"; DROP TABLE pages; --', "*", '"', "NEAR(", "^", "", "_", "\ud800", "\x00"):
        assert await library.search(odd, 5) == []
    for long in ("elephant " * 5_000, "無" * 5_000, "x " * 100_000):
        await library.search(long, 5)
    assert await library.search("elephant", 5)


async def test_tools_for_hosts_without_resources(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    (files / "b.txt").write_text("text of b")
    library = make_library()
    await library.look()
    listed = (await call(library, "list_documents", {"file_type": "md"}))[0].body
    assert listed["total_count"] == 1
    ref = listed["documents"][0]["doc_ref"]
    assert (await call(library, "read_document", {"document": ref}))[0].body["page_total"] == 2
    assert "The first words." in (await call(library, "read_document", {"document": ref, "page": 0}))[0].body
    element = (await call(library, "read_document", {"document": ref, "element": "p0-list-1"}))[0].body
    assert element["content"]["items"] == ["one", "two"]
    assert (await call(library, "search_documents", {"query": "first"}))[0].body["hits"]
    bad: list[tuple[str, dict[str, Any]]] = [
        ("nothing", {}),
        ("search_documents", {}),
        ("search_documents", {"query": "x", "limit": 0}),
        ("read_document", {"document": ref, "page": -1}),
        ("list_documents", {"offset": "2"}),
    ]
    for name, arguments in bad:
        with pytest.raises(ValueError, match=r".+"):
            await call(library, name, arguments)
    with pytest.raises(DocumentNotFoundError):
        await call(library, "read_document", {"document": "no-such"})


async def test_addresses_are_completed_step_by_step(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    library = make_library()
    await library.look()
    ref = ref_of(library, "notes.md")

    async def values(name: str, start: str, **chosen: str) -> list[str]:
        found = await complete(library, name, start, chosen)
        assert found.is_all
        return found.values

    assert await values("doc_ref", "no") == [ref]
    assert await values("page_index", "", doc_ref=ref) == ["0", "1"]
    assert await values("element_id", "p1-t", doc_ref=ref, page_index="1") == ["p1-table-1"]
    assert await values("page_index", "") == []
    assert await values("element_id", "", doc_ref="nothing", page_index="0") == []
    assert await values("element_id", "p1-t", doc_ref=ref, page_index="x") == []


async def test_without_a_chosen_page_elements_of_all_pages_are_suggested(
    files: Path, make_library: MakeLibrary
) -> None:
    (files / "long.md").write_text("".join(f"# Part {number}\n\nWords.\n\n" for number in range(130)))
    library = make_library()
    await library.look()
    ref = ref_of(library, "long.md")
    count = (await library.document(ref))["page_count"]
    assert count > 31
    for start, pages in (("p3-", {3}), ("p3", {3, *range(30, min(40, count))}), ("p31-heading", {31})):
        found = await complete(library, "element_id", start, {"doc_ref": ref})
        assert {page_of_element(value) for value in found.values} == pages
    for nothing in ("x", "p-", f"p{count}-", "P3"):
        assert (await complete(library, "element_id", nothing, {"doc_ref": ref})).values == []
    everything = await complete(library, "element_id", "", {"doc_ref": ref})
    assert len(everything.values) <= 100
    assert not everything.is_all


async def test_twenty_pages_are_listed_unless_more_are_wanted(files: Path, make_library: MakeLibrary) -> None:
    (files / "long.md").write_text("".join(f"# Part {number}\n\nWords.\n\n" for number in range(130)))
    library = make_library()
    await library.look()
    uri = library.address(ref_of(library, "long.md"))
    index = await at(library, f"{uri}?depth=pages")
    assert (len(index["pages"]), index["page_limit"], index["page_offset"]) == (20, 20, 0)
    assert "pages" not in await at(library, uri)


async def test_pages_and_elements_name_their_address_without_the_query(files: Path, make_library: MakeLibrary) -> None:
    (files / "notes.md").write_text(NOTES)
    library = make_library()
    await library.look()
    page = library.address(ref_of(library, "notes.md"), "pages/0")
    element = library.address(ref_of(library, "notes.md"), "elements/p0-list-1")
    for uri in (page, element):
        for query in ("", "?format=markdown", "?format=text&x=1", "?categories=table"):
            body = await at(library, uri + query)
            assert body["uri"] == uri
            assert (await at(library, body["uri"] + "?format=text"))["content_text"]


async def test_rules_say_which_files(files: Path, make_library: MakeLibrary) -> None:
    for name in ("a.txt", "b.md"):
        (files / name).write_text(name)
    library = make_library(rules=FileRules(include=["*.md"]))
    await library.look()
    assert [document.relative for document in library.documents.values()] == ["b.md"]
