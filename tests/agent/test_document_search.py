"""Full-text search over the document servers of an office."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.agent import DocumentSearch, SyncToolkit, Toolkit
from a2c_smcp.computer.config.files import server_from
from a2c_smcp.errors import MalformedRequestError, NotInOfficeError
from tests.support.agents import Driven, Stage

pytestmark = pytest.mark.anyio


def library(folder: Path, name: str) -> Any:
    """A document server, without any settings of its owner."""
    command = ["-m", "a2c_smcp.cli", "documents", "--no-cache", "--no-watch", "--host-id", name, str(folder)]
    return server_from({"command": sys.executable, "args": command}, name)


def folder(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / f"{name}.md").write_text(text, "utf-8")
    return path


HIT = {
    "title": "Old plan",
    "element_uri": "dpe://old/plan/elements/p0-text-1",
    "page_uri": "dpe://old/plan/pages/0",
    "page_index": 0,
    "snippet": "the [budget] of old",
}


def search_tool(name: str, **meta: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}
    return {"name": name, "description": "", "params_schema": schema, "return_schema": None, "meta": meta}


async def test_the_documents_of_all_computers_are_searched_together(scene: Stage, tmp_path: Path) -> None:
    shared = "# Budget\n\nThe budget of the crane. 予算です。\n"
    one = library(folder(tmp_path / "one", shared=shared), "one")
    two = library(folder(tmp_path / "two", other="# Nothing\n\nA budget.\n"), "two")
    three = library(folder(tmp_path / "three", copy=shared), "three")
    await scene.computer(one, two, name="a")
    await scene.computer(three, name="b")
    agent = await scene.agent()
    found: DocumentSearch = await agent.search_documents("budget crane", timeout=30, wait=20)
    document, other = found.documents
    assert other.title == "Nothing", "it has one of the words only"
    assert (document.title, document.state, document.computer) == ("Budget", "current", "a")
    assert [place.computer for place in document.other_places] == ["b"]
    assert "[crane]" in document.passages[0].text
    assert (await agent.read_resource("a", document.passages[0].uri))["category"] == "text"
    assert (found.indexed_count, found.document_count, found.is_complete) == (3, 3, True)
    assert {source.mcp_server for source in found.sources} == {"one", "two", "three"}
    assert json.dumps(found.to_json())

    def allows(computer: str, server: str) -> bool:
        return server != "one"

    parts = await agent.each(agent.iter_search_documents("予算", ["a", "b"], timeout=30, allows=allows))
    assert [len(part.waiting) for part in parts] == [1, 0]
    assert [document.computer for document in parts[-1].documents] == ["b"]

    kit = Driven(agent.form, (Toolkit if agent.form == "async" else SyncToolkit)(agent.client, documents=True))
    shown = json.loads((await kit.call("find_documents", {"query": "budget crane"})).text)
    assert [entry["title"] for entry in shown["documents"]] == ["Budget", "Nothing"]
    assert shown["searched"] == "3 of 3 files"
    assert (await kit.call("find_documents", {"query": "x", "file_type": "md"})).is_error


async def test_a_computer_that_fails_does_not_delay_the_others(scene: Stage, tmp_path: Path) -> None:
    def answers(event: str, data: Any) -> Any:
        if event == "client:get_tools":
            return {"tools": [], "req_id": data["req_id"]}
        if event == "client:list_resource_templates":
            template = {"name": "search", "uriTemplate": "dpe://h{?search}", "mcp_server": "s"}
            return {"templates": [template], "req_id": data["req_id"]}
        assert data["uri"] == "dpe://h?search=budget%20%26%20more"
        text = json.dumps({"hits": [{**HIT, "title": data["computer"]}]})
        return {"contents": [{"uri": data["uri"], "text": text}], "req_id": data["req_id"]}

    async def hangs(event: str, data: Any) -> Any:
        if event == "client:get_tools":
            return answers(event, data)
        return await asyncio.Event().wait()

    def breaks(event: str, data: Any) -> Any:
        if event == "client:read_resource":
            return {"error": {"code": 500, "message": "broken"}}
        return answers(event, data)

    def has_none(event: str, data: Any) -> Any:
        if event == "client:list_resource_templates":
            return {"templates": [], "req_id": data["req_id"]}
        return answers(event, data)

    for name, answer in (("good", answers), ("slow", hangs), ("broken", breaks), ("other", has_none)):
        await scene.fake(name, answer=answer)
    agent = await scene.agent()
    parts: list[DocumentSearch] = await agent.each(agent.iter_search_documents("budget & more", timeout=1))
    assert len(parts) == 4
    assert (parts[-2].waiting, [document.title for document in parts[-2].documents]) == (("slow",), ["good"])
    last = parts[-1]
    assert [document.title for document in last.documents] == ["good"]
    assert {source.computer: source.error.code for source in last.failures if source.error} == {
        "slow": 408,
        "broken": 500,
    }
    assert {source.computer for source in last.sources} == {"good", "slow", "broken"}
    gone = await agent.search_documents("budget", "nobody")
    assert [source.error.code for source in gone.failures if source.error] == [404]


async def test_a_computer_without_templates_is_searched_by_its_tool(scene: Stage) -> None:
    tools = [
        search_tool("docs__find", a2c_search=True, a2c_mcp_server="new"),
        search_tool("search_documents", a2c_mcp_server="old"),
        search_tool("list_documents", a2c_mcp_server="old", a2c_finder=True),
        search_tool("crm_search_documents", a2c_mcp_server="shop"),
    ]
    called: list[tuple[str, dict[str, Any]]] = []

    def answer(event: str, data: Any) -> Any:
        match event:
            case "client:get_tools":
                return {"tools": tools, "req_id": data["req_id"]}
            case "client:tool_call":
                called.append((data["tool_name"], data["params"]))
                text = json.dumps({"hits": [HIT]}) if data["tool_name"] == "docs__find" else "Nothing is written."
                return {"content": [{"type": "text", "text": text}], "isError": False}
            case _:
                return None

    await scene.fake("official", answer=answer)
    agent = await scene.agent()
    found: DocumentSearch = await agent.search_documents("budget", limit=5)
    assert sorted(called) == [(name, {"query": "budget", "limit": 15}) for name in ("docs__find", "search_documents")]
    assert [(document.title, document.mcp_server) for document in found.documents] == [("Old plan", "new")]
    assert [source.error for source in found.sources] == [None, None]


@pytest.mark.parametrize(
    "wrong", [{"query": " "}, {"limit": 0}, {"limit": True}, {"timeout": 0}, {"wait": -1}, {"wait": "long"}]
)
async def test_an_invalid_search_is_rejected_at_once(scene: Stage, wrong: dict[str, Any]) -> None:
    agent = await scene.agent()
    with pytest.raises(MalformedRequestError):
        await agent.search_documents(**{"query": "x", **wrong})
    assert (await agent.search_documents("x")).sources == ()
    await agent.leave_office()
    with pytest.raises(NotInOfficeError):
        await agent.search_documents("x")
