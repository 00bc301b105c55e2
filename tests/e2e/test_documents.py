"""`a2c documents` as a process: for a Computer, for any MCP host, and for a person."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from PIL import Image

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.errors import DocumentNotFoundError, PageOutOfRangeError
from tests.support.hosting import Watched, hosting
from tests.support.process import A2C, LineProcess, a2c, descendants, watching
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a few documents; what is kept of it is kept in the test's own place."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "notes.md").write_text("# Alpha\n\nFirst words.\n\n# Beta\n\nSecond words.\n")
    (folder / "people.csv").write_text("name,age\nAnn,40\nBob,50\n")
    Image.new("RGB", (20, 10), "red").save(folder / "red.png")
    return folder


@asynccontextmanager
async def computer(files: Path, *flags: str) -> AsyncGenerator[Watched]:
    command = [*A2C, "documents", str(files), "--host-id", "lib", *flags]
    fields = {"command": command[0], "args": command[1:], "default_tool_meta": {"auto_apply": True}}
    async with hosting(server_from(fields, "docs")) as found:
        yield found


async def document(found: Watched, title: str) -> Any:
    page, _ = await found.get_finder([title])
    return page[0]


async def body(found: Watched, uri: str) -> Any:
    return json.loads((await found.read_resource(uri))[0]["text"])  # pyright: ignore[reportTypedDictNotRequiredAccess]


async def test_a_computer_offers_the_documents(files: Path) -> None:
    async with computer(files) as found:
        page, total = await found.get_finder()
        assert total == 3
        assert {entry["title"] for entry in page} == {"Alpha", "people.csv", "red.png"}
        notes = await document(found, "Alpha")
        assert (await body(found, notes["uri"] + "/pages/1?format=markdown"))["content_markdown"].startswith("# Beta")
        with pytest.raises(PageOutOfRangeError):
            await found.read_resource(notes["uri"] + "/pages/2")
        with pytest.raises(DocumentNotFoundError):
            await found.read_resource("dpe://lib/nothing")
        assert "list_documents" in found.tool_names()


async def test_a_picture_is_read_as_a_blob(files: Path) -> None:
    async with computer(files) as found:
        red = await document(found, "red")
        page = await body(found, red["uri"] + "/pages/0")
        image = next(element for element in page["elements"] if element["category"] == "image")
        contents = await found.read_resource(image["content"]["url"])
        assert contents[0].get("mimeType", "").startswith("image/")
        assert contents[0].get("blob")


async def test_changes_of_the_folder_are_told(files: Path) -> None:
    async with computer(files) as found:
        assert (await found.get_finder())[1] == 3
        notes = await document(found, "Alpha")
        (files / "notes.md").write_text("# Gamma\n\nOther words.\n")
        await until(found, lambda titles: "Gamma" in titles)
        assert (await document(found, "Gamma"))["uri"] == notes["uri"], "it is the same document"
        (files / "new.txt").write_text("A new file.")
        await until(found, lambda titles: "new.txt" in titles)
        (files / "new.txt").rename(files / "renamed.txt")
        await until(found, lambda titles: "renamed.txt" in titles and "new.txt" not in titles)
        (files / "renamed.txt").unlink()
        await until(found, lambda titles: "renamed.txt" not in titles)


async def until(found: Watched, condition: Callable[[set[str]], bool]) -> None:
    """Wait until the catalogue of the Computer is such."""
    async with asyncio.timeout(PATIENCE):
        while not condition({entry["title"] for entry in (await found.get_finder())[0]}):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_any_mcp_host_can_use_it(files: Path) -> None:
    command = [*A2C, "documents", str(files), "--host-id", "lib"]
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(stdio_client(parameters)) as client:
        documents = (await client.list_resources()).resources
        assert len(documents) == 3
        assert all(document.name and document.mime_type == "application/json" for document in documents)
        [part] = (await client.read_resource("dpe://lib")).contents
        assert isinstance(part, types.TextResourceContents)
        assert part.mime_type == "application/json"
        assert json.loads(part.text)["total_count"] == 3
        known = (await client.list_resources()).resources
        assert any(document.description for document in known), "what was read of them is in the list"
        templates = (await client.list_resource_templates()).resource_templates
        listed = [template.uri_template for template in templates]
        assert "dpe://lib/{doc_ref}/pages/{page_index}" in listed
        assert "dpe://lib/{doc_ref}/elements/{element_id}" in listed
        pages = types.ResourceTemplateReference(uri="dpe://lib/{doc_ref}/pages/{page_index}")
        found = (await client.complete(pages, {"name": "doc_ref", "value": "people"})).completion
        assert (len(found.values), found.total, found.has_more) == (1, 1, False)
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"list_documents", "search_documents", "read_document"}
        result = await client.call_tool("search_documents", {"query": "Bob", "wait": 30})
        hit = json.loads(result.content[0].text)["hits"][0]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        assert hit["title"] == "people.csv"
        bad = await client.call_tool("read_document", {"document": "nothing"})
        assert bad.is_error


async def test_a_host_without_resources_gets_an_attachment_from_a_tool(files: Path) -> None:
    lines = ["Subject: Dates", "Content-Type: text/csv", "Content-Disposition: attachment; filename=d.csv", "", "a,b"]
    (files / "dates.eml").write_text("\n".join(lines))
    command = [*A2C, "documents", str(files), "--host-id", "lib"]
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(stdio_client(parameters)) as client:
        result = await client.call_tool("search_documents", {"query": "Dates", "wait": 30})
        page = json.loads(result.content[0].text)["hits"][0]["page_uri"]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        document = str(page).rpartition("/pages/")[0]
        part = (await client.call_tool("read_document", {"document": f"{document}/elements/p0-link-1?as=file"})).content
        assert part[0].model_dump()["resource"]["blob"] == base64.b64encode(b"a,b").decode()


async def test_who_listens_as_of_2026_hears_of_changes(files: Path) -> None:
    command = [*A2C, "documents", str(files), "--host-id", "lib"]
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(stdio_client(parameters), mode="2026-07-28") as client:
        notes = next(each.uri for each in (await client.list_resources()).resources if "notes" in each.uri)
        async with client.listen(resources_list_changed=True, resource_subscriptions=[notes]) as changes:
            events = aiter(changes)
            (files / "notes.md").write_text("# Other\n")
            seen = [await asyncio.wait_for(anext(events), PATIENCE)]
            while not isinstance(seen[-1], ResourceUpdated):  # what was read behind may be told of before
                seen.append(await asyncio.wait_for(anext(events), PATIENCE))
            assert seen[-1].uri == notes
            (files / "new.md").write_text("# New\n")
            assert isinstance(await asyncio.wait_for(anext(events), PATIENCE), ResourcesListChanged)


async def test_it_serves_over_http(files: Path) -> None:
    process = LineProcess([*A2C, "documents", str(files), "--host-id", "lib", "--transport", "http", "--port", "0"])
    with contextlib.closing(process):
        url = process.wait_for(r"documents at (\S+)")[1]
        async with hosting(server_from({"url": url}, "docs")) as found:
            assert (await found.get_finder())[1] == 3
        assert process.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_while_somebody_is_connected(files: Path, number: signal.Signals) -> None:
    command = [*A2C, "documents", str(files), "--log-level", "info"]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    await asyncio.wait_for(process.stdout.readline(), PATIENCE)
    process.send_signal(number)
    assert await asyncio.wait_for(process.wait(), PATIENCE) == 0


async def test_a_folder_that_was_replaced_is_watched_again(files: Path) -> None:
    async with computer(files) as found:
        assert (await found.get_finder())[1] == 3
        (files / "v1.2").mkdir()
        (files / "v1.2" / "inner.md").write_text("# Inner\n")
        await until(found, lambda titles: "Inner" in titles)
        (files / "v1.2").rename(files.parent / "elsewhere")
        await until(found, lambda titles: "Inner" not in titles)
        os.rename(files, files.parent / "old")
        os.mkdir(files)
        (files / "fresh.md").write_text("# Fresh\n")
        await until(found, lambda titles: titles == {"Fresh"})


async def test_a_full_disk_keeps_nobody_from_reading(files: Path, tmp_path: Path) -> None:
    for number in range(40):
        (files / f"{number}.txt").write_text(f"word{number}x " + "many more words " * 2_000)
    limited = ["-c", 'ulimit -f 100; exec "$@"', "sh"]  # no file may grow beyond some kilobytes
    parameters = StdioServerParameters(command="sh", args=[*limited, *A2C, "documents", str(files), "--host-id", "lib"])
    with (tmp_path / "stderr").open("w+") as stderr:
        async with Client(stdio_client(parameters, errlog=stderr)) as client:
            for number in range(40):
                result: Any = await client.call_tool("search_documents", {"query": f"word{number}x", "wait": 30})
                assert len(json.loads(result.content[0].text)["hits"]) == 1
        stderr.seek(0)
        said = stderr.read()
    assert said.count("what is read is not kept") == 1
    assert "Traceback" not in said


async def test_nothing_is_left_behind(files: Path) -> None:
    before = descendants()
    async with computer(files) as found:
        await found.get_finder()
        with watching(descendants() - before) as children:
            await found.shutdown()
            assert children.still_alive() == set()


def test_a_person_checks_a_folder(files: Path) -> None:
    outcome = a2c("documents", str(files), "--check")
    assert outcome.returncode == 0, outcome.stderr
    assert "3 of 3 files read" in outcome.stdout
    (files / "broken.docx").write_bytes(b"PK\x03\x04 nonsense")
    outcome = a2c("documents", str(files), "--check", "--json")
    assert outcome.returncode == 1
    problems = {entry["title"]: entry["problem"] for entry in json.loads(outcome.stdout)}
    assert problems["broken.docx"]
    assert problems["Alpha"] is None


@pytest.mark.parametrize(
    "flags", [["nowhere"], [".", "--transport", "pigeon"], [".", "--host-id", "a/b"], [".", "--log-level", "x"], []]
)
def test_what_is_typed_wrong_is_one_clear_line(flags: list[str]) -> None:
    outcome = a2c("documents", *flags)
    assert outcome.returncode == 2
    assert outcome.stderr.strip()
    assert "Traceback" not in outcome.stderr


async def test_it_reads_while_files_are_being_written(files: Path) -> None:
    async with computer(files) as found:
        await found.get_finder()
        for number in range(30):
            (files / "notes.md").write_text(f"# Title {number}\n\n" + "words " * number * 50)
        await until(found, lambda titles: "Title 29" in titles)
        await eventually(lambda: found.status_of("docs").active)
