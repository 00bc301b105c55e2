"""Resources, templates, prompts and completion through the gateway, and the tools for windows and documents."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer.config.files import server_from
from tests.servers.offering import ICON, UI
from tests.support.gateway import NEW, OLD, VERSIONS, Answers, Hall, hall, texts
from tests.support.hosting import offering, shelves

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
EVERY = pytest.mark.parametrize("version", VERSIONS)


@pytest.fixture(scope="module")
async def place() -> AsyncGenerator[Hall]:
    """One Computer in `office`; in `both` one with the same MCP server and one with others; windows in `shelves`."""
    async with hall() as here:
        await here.computer(offering("a"))
        await here.computer(offering("a"), name="one", office="both")
        await here.computer(offering("a"), offering("b", "--prefix", "b"), name="two", office="both")
        await here.computer(shelves("s", "--windows", "3", "--documents", "3"), name="left", office="shelves")
        await here.computer(shelves("s", "--windows", "1"), name="right", office="shelves")
        await here.computer(shelves("s", "--documents", "3", "--no-templates"), office="bare")
        yield here


async def every(host: Any, method: str, key: str) -> list[dict[str, Any]]:
    """All pages of a list."""
    listed: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    while True:
        page = await host.ask(method, params)
        listed += page[key]
        if "nextCursor" not in page:
            return listed
        params = {"cursor": page["nextCursor"]}


# ------------------------------------------------------------------------------------------------------------ resources


@EVERY
async def test_a_resource_is_listed_as_its_server_wrote_it_below_its_computer(place: Hall, version: str) -> None:
    async with place.raw(version) as host:
        listed = {item["uri"]: item for item in await every(host, "resources/list", "resources")}
        assert set(listed) == {f"a2c://computer/pc/a/memo://{name}" for name in ("notes", "0", "1", "2")}
        assert listed["a2c://computer/pc/a/memo://notes"] == {
            "uri": "a2c://computer/pc/a/memo://notes",
            "name": "notes",
            "title": "Notes",
            "mimeType": "text/plain",
            "size": 5,
            "icons": [ICON],
            "annotations": {
                "audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z", "later": 1,
            },
            "_meta": {"k": [1]},
        }  # fmt: skip


@EVERY
async def test_a_resource_is_read_by_both_of_its_addresses(place: Hall, version: str) -> None:
    async with place.raw(version) as host:
        for uri in ("a2c://computer/pc/a/memo://notes", "a2c://computer/pc//memo://notes", "memo://notes", UI):
            [content] = (await host.ask("resources/read", {"uri": uri}))["contents"]
            assert content["uri"] == uri
            assert content["text"] == f"text of {(uri.rpartition('/memo://')[0] and 'memo://notes') or uri}"
            assert content["_meta"] == {"ui": {"csp": {"x": []}}}
        for missing in ("memo://missing", "a2c://computer/nobody/a/memo://notes", "a2c://computer/pc/nothing/memo://x"):
            error = (await host.ask("resources/read", {"uri": missing}))["error"]
            assert error["code"] == (-32602 if version == NEW else -32002), missing


@EVERY
async def test_the_direct_mode_keeps_the_addresses_of_a_single_computer(place: Hall, version: str) -> None:
    async with place.raw(version, place.url(mode="direct")) as host:
        listed = {item["uri"] for item in await every(host, "resources/list", "resources")}
        assert listed == {f"memo://{name}" for name in ("notes", "0", "1", "2")}
        [template] = await every(host, "resources/templates/list", "resourceTemplates")
        assert template == {"name": "row", "uriTemplate": "db://rows/{id}"}


@EVERY
async def test_an_own_address_leads_to_the_one_computer_that_has_it(place: Hall, version: str) -> None:
    async with place.raw(version, place.url("both")) as host:
        listed = {item["uri"] for item in await every(host, "resources/list", "resources")}
        assert {"a2c://computer/one/a/memo://notes", "a2c://computer/two/b/bmemo://0"} <= listed
        [content] = (await host.ask("resources/read", {"uri": "bmemo://0"}))["contents"]
        assert content["text"] == "text of bmemo://0"
        [row] = (await host.ask("resources/read", {"uri": "bdb://rows/7"}))["contents"]
        assert row["text"] == "text of bdb://rows/7"
        error = (await host.ask("resources/read", {"uri": "memo://notes"}))["error"]
        assert error["code"] == -32602
        for owner in ("one", "two"):
            assert f"a2c://computer/{owner}/a/memo://notes" in error["message"]


async def test_a_profile_hides_the_resources_of_other_servers(place: Hall) -> None:
    async with place.raw(NEW, place.url("both", servers="b")) as host:
        listed = {item["uri"] for item in await every(host, "resources/list", "resources")}
        assert listed == {f"a2c://computer/two/b/bmemo://{name}" for name in ("notes", "0", "1", "2")}
        for hidden in ("memo://notes", "a2c://computer/two/a/memo://notes", "a2c://computer/two//memo://notes"):
            assert "error" in await host.ask("resources/read", {"uri": hidden})
        prompts = [prompt["name"] for prompt in (await host.ask("prompts/list"))["prompts"]]
        assert prompts == ["bgreet", "bplain", "bthird"]


@MODES
async def test_templates_are_completed(place: Hall, mode: str) -> None:
    from mcp_types import ResourceTemplateReference

    async with place.host(mode, place.url("both")) as host:
        templates = [each.uri_template for each in (await host.list_resource_templates()).resource_templates]
        assert "a2c://computer/one/a/db://rows/{id}" in templates
        for uri in ("a2c://computer/one/a/db://rows/{id}", "bdb://rows/{id}"):
            reference = ResourceTemplateReference(type="ref/resource", uri=uri)
            found = await host.complete(reference, {"name": "id", "value": "Al"})
            assert found.completion.values == ["Alan"]


@MODES
async def test_documents_have_templates_also_if_their_server_offers_none(place: Hall, mode: str) -> None:
    from mcp_types import ResourceTemplateReference

    async with place.host(mode, place.url("bare")) as host:
        templates = {each.name: each.uri_template for each in (await host.list_resource_templates()).resource_templates}
        assert set(templates) == {"document", "page", "element"}
        assert templates["document"].startswith("a2c://computer/pc/s/dpe://")

        async def suggested(template: str, name: str, value: str = "", **chosen: str) -> list[str]:
            reference = ResourceTemplateReference(type="ref/resource", uri=templates[template])
            found = await host.complete(reference, {"name": name, "value": value}, context_arguments=chosen)
            return found.completion.values

        refs = await suggested("document", "doc_ref")
        assert len(refs) == 3
        assert await suggested("document", "doc_ref", refs[0]) == [refs[0]]
        assert await suggested("document", "doc_ref", "nothing of the kind") == []
        pages = await suggested("page", "page_index", doc_ref=refs[0])
        assert pages[0] == "0"
        assert await suggested("page", "page_index", doc_ref="nothing") == []
        assert await suggested("page", "page_index") == []
        elements = await suggested("element", "element_id", doc_ref=refs[0])
        uri = templates["page"].replace("{doc_ref}", refs[0]).replace("{page_index}", pages[0])
        assert (await host.read_resource(uri)).contents
        for element in elements:
            uri = templates["element"].replace("{doc_ref}", refs[0]).replace("{element_id}", element)
            assert (await host.read_resource(uri)).contents
    async with place.raw(NEW, place.url("bare", mode="direct")) as raw:
        assert (await raw.ask("resources/templates/list"))["resourceTemplates"] == []
    async with place.raw(NEW, place.url("shelves")) as raw:
        listed = [each["uriTemplate"] for each in await every(raw, "resources/templates/list", "resourceTemplates")]
        for kind in ("pages", "elements"):
            assert len([uri for uri in listed if f"/{kind}/" in uri and "/left/" in uri]) == 1, "its own are enough"


# -------------------------------------------------------------------------------------------------------------- prompts


@EVERY
async def test_a_prompt_arrives_as_its_server_wrote_it(place: Hall, version: str) -> None:
    async with place.raw(version) as host:
        greet, plain, third = (await host.ask("prompts/list"))["prompts"]
        assert greet == {
            "name": "greet",
            "title": "Greet",
            "arguments": [{"name": "who", "required": True, "description": "Whom to greet."}],
            "icons": [ICON],
            "_meta": {"k": {"v": 1}},
        }
        assert (plain, third) == ({"name": "plain"}, {"name": "third", "later": 1})
        got = await host.ask("prompts/get", {"name": "greet", "arguments": {"who": "Ada"}})
        assert got["description"] == "A greeting"
        assert got["messages"][0]["content"] == {"type": "text", "text": "Greet Ada.", "_meta": {"k": 1}}
        assert got["_meta"]["m"] == 1
        ref = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "A"}}
        assert (await host.ask("completion/complete", ref))["completion"]["values"] == ["Ada", "Alan"]


@MODES
async def test_prompts_with_one_name_are_told_apart_by_their_computer(place: Hall, mode: str) -> None:
    async with place.host(mode, place.url("both")) as host:
        names = [prompt.name for prompt in (await host.list_prompts()).prompts]
        assert {"greet_one", "greet_two", "bgreet"} <= set(names)
        got = await host.get_prompt("greet_two", {"who": "Ada"})
        assert got.messages[0].content.type == "text"


async def test_prompts_of_a_computer_that_did_not_answer_are_listed_later(
    place: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("a2c_smcp.gateway.view.INCOMPLETE_SECONDS", 0)
    slow = Answers()
    for name, answers in (("one", Answers()), ("other", slow)):
        answers.further["client:list_prompts"] = {"prompts": [{"name": f"of {name}", "mcp_server": "it"}]}
        await place.fake(answers, name, "prompts")
    there, slow.further["client:list_prompts"] = (
        slow.further["client:list_prompts"],
        {"error": {"code": 4004, "message": "no answer in time"}},
    )
    async with place.raw(NEW, place.url("prompts")) as host:
        assert [prompt["name"] for prompt in (await host.ask("prompts/list"))["prompts"]] == ["of one"]
        slow.further["client:list_prompts"] = there
        assert [prompt["name"] for prompt in (await host.ask("prompts/list"))["prompts"]] == ["of one", "of other"]


# ------------------------------------------------------------------------------------------------ windows and documents


@MODES
async def test_a_model_looks_at_the_windows_of_all_computers(place: Hall, mode: str) -> None:
    async with place.host(mode, place.url("shelves")) as host:
        seen = texts(await host.call_tool("look_at_desktop", {}))
        assert seen.count("[left] window://") == 3
        assert seen.count("[right] window://") == 1
        cursor = re.search(r"Cursor: (\w+)", seen)
        assert cursor is not None
        again = texts(await host.call_tool("look_at_desktop", {"since": cursor[1]}))
        assert "Nothing changed." in again
        assert again.count("tokens") == 4
        right = texts(await host.call_tool("look_at_desktop", {"computer": "right"}))
        assert "[left]" not in right
        uri = (await host.list_resources()).resources
        window = next(str(each.uri) for each in uri if "window://" in str(each.uri))
        assert "window://" in texts(await host.call_tool("look_at_desktop", {"window": window}))
        for wrong in ({"computer": "nobody"}, {"max_tokens": "many"}, {"window": 5}, {"since": ["x"]}):
            assert (await host.call_tool("look_at_desktop", wrong)).is_error, wrong


@MODES
async def test_a_model_finds_and_reads_documents(place: Hall, mode: str) -> None:
    async with place.host(mode, place.url("shelves")) as host:
        found = texts(await host.call_tool("find_documents", {}))
        uris = re.findall(r"dpe://[\w/.-]+", found)
        assert len(set(uris)) == 3
        read = await host.call_tool("read_document", {"uri": uris[0], "computer": "left"})
        assert not read.is_error, texts(read)
        assert not (await host.call_tool("read_document", {"uri": f"a2c://computer/left/s/{uris[0]}"})).is_error
        for wrong in ({}, {"uri": 5}, {"uri": uris[0], "page": "first"}, {"uri": "memo://x"}):
            assert (await host.call_tool("read_document", wrong)).is_error, wrong


async def test_a_model_searches_the_text_of_documents(place: Hall, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.md").write_text(f"# Plan {name}\n\nThe budget of {name}.\n")
    command = ["-m", "a2c_smcp.cli", "documents", "--no-cache", "--no-watch", "--host-id"]
    servers = [
        server_from({"command": sys.executable, "args": [*command, name, str(tmp_path / name)]}, name)
        for name in ("one", "two")
    ]
    computer = await place.computer(*servers, office="library")
    for name in ("one", "two"):
        await computer.read_resource(f"dpe://{name}?search=x&wait=30")  # until it is indexed
    heard: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total))

    async with place.host("auto", place.url("library")) as host:
        names = [tool.name for tool in (await host.list_tools()).tools]
        assert "search_documents" not in names, "it would be a second way to do the same"
        query = {"query": "budget"}
        found = json.loads(texts(await host.call_tool("find_documents", query, progress_callback=note)))
        assert {entry["title"] for entry in found["documents"]} == {"Plan one", "Plan two"}
        assert heard == [(1, 1)]
        assert not (await host.call_tool("read_document", {"uri": found["documents"][0]["uri"], "page": 0})).is_error
        assert (await host.call_tool("find_documents", {"query": " "})).is_error
    async with place.host("auto", place.url("library", servers="two")) as host:
        found = json.loads(texts(await host.call_tool("find_documents", query)))
        assert [entry["title"] for entry in found["documents"]] == ["Plan two"]


async def test_an_empty_office_has_empty_lists(place: Hall) -> None:
    for version in (OLD, NEW):
        async with place.raw(version, place.url("empty")) as host:
            assert [tool["name"] for tool in (await host.ask("tools/list"))["tools"]] == [
                "look_at_desktop", "find_documents", "read_document",
            ]  # fmt: skip
            assert (await host.ask("resources/list"))["resources"] == []
            assert (await host.ask("resources/templates/list"))["resourceTemplates"] == []
            assert (await host.ask("prompts/list"))["prompts"] == []
            for name, arguments in (("look_at_desktop", {}), ("find_documents", {}), ("read_document", {"uri": "x"})):
                result = await host.ask("tools/call", {"name": name, "arguments": arguments})
                assert result["content"][0]["text"] == "there is no Computer in this office", "and not nothing"
