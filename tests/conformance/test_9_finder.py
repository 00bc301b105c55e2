"""§9 and §10: the Finder as an Agent uses it, through Server and Computer, from real MCP servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.computer.config.model import MCPServerPromptStringInput
from a2c_smcp.computer.offer.finder.aggregator import FinderAggregator
from a2c_smcp.computer.types import ServerState
from tests.support.hosting import hosting, shelves
from tests.support.mcp_servers import received
from tests.support.offices import Office, office
from tests.support.peer import request
from tests.support.waiting import eventually

pytestmark = pytest.mark.anyio


async def finder(here: Office, **fields: Any) -> tuple[list[dict[str, Any]], int]:
    answer = await here.agent.ask("client:get_finder", request(**fields))
    assert answer["req_id"] == "r1", answer
    return answer["documents"], answer["total_count"]


async def refs(here: Office, **fields: Any) -> list[str]:
    return [document["doc_ref"] for document in (await finder(here, **fields))[0]]


async def read(here: Office, uri: str) -> Any:
    """A resource's JSON, or the error."""
    answer = await here.agent.ask("client:read_resource", request(uri=uri))
    return answer["error"] if "error" in answer else json.loads(answer["contents"][0]["text"])


async def until_found(here: Office, condition: Callable[[list[str]], bool]) -> None:
    """Look, and look again whenever the Finder is said to have changed, as an Agent does."""
    while not condition(await refs(here)):
        assert await here.agent.hear("notify:update_finder") == {"computer": "pc"}


def reads(log: Path) -> list[str]:
    return [message["params"]["uri"] for message in received(log, "resources/read")]


async def settled(here: Office, name: str = "shelves", count: int = 1) -> None:
    await eventually(lambda: here.computer.status_of(name).documents == count)


# ------------------------------------------------------------------------------------------------------------ catalogue


@pytest.mark.parametrize("flags", [[], ["--no-catalogue"]])
async def test_a_document_is_summarised_with_its_server(flags: list[str]) -> None:
    async with office(shelves("shelves", "--documents", "5", *flags)) as here:
        await settled(here, count=5)
        documents, total = await finder(here, limit=1)
        assert total == 5
        assert documents == [
            {
                "doc_ref": "d00004",
                "uri": "dpe://shelf/d00004",
                "file_uri": "file:///d00004.pdf",
                "file_type": "pdf",
                "title": "Document 4",
                "page_count": 3,
                "server": "shelves",
                "keywords": ["key4"],
                "summary": "about d00004",
                "last_modified": "2026-01-05",
            }
        ]


async def test_the_catalogue_is_one_read_where_a_host_has_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(shelves("shelves", "--documents", "300", "--log", str(log))) as here:
        await settled(here, count=300)
        await eventually(lambda: len(received(log, "resources/subscribe")) == 300)
        assert (await finder(here))[1] == 300
        assert reads(log) == ["dpe://shelf"]
        for _ in range(3):
            await finder(here, keywords=["document"])
        assert len(reads(log)) == 1


@pytest.mark.parametrize("count", [3, 4, 1_000])
@pytest.mark.parametrize("catalogue", ["lean", "complete", "mixed"])
async def test_documents_are_found_and_ordered_whatever_the_catalogue_says(
    catalogue: str, count: int, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    flags = ("--documents", str(count), "--catalogue", catalogue, "--log", str(log))
    async with office(shelves("shelves", *flags)) as here:
        await settled(here, count=count)
        await eventually(lambda: len(received(log, "resources/subscribe")) == count)
        newest_first = sorted(range(count), key=lambda number: -(number % 28))
        assert await refs(here) == [f"d{number:05}" for number in newest_first[:20]]
        last = f"d{count - 1:05}"
        assert await refs(here, keywords=[f"key{count - 1}"]) == [last]
        assert await refs(here, keywords=[f"ABOUT {last}"]) == [last]
        assert (await finder(here))[1] == count
        lean = {"lean": count, "mixed": count // 2, "complete": 0}[catalogue] if count > 3 else count
        expected = [f"dpe://shelf/d{n:05}" for n in range(count) if lean == count or (lean and n % 2)]
        assert sorted(set(reads(log)) - {"dpe://shelf"}) == expected
        assert len(reads(log)) == len(set(reads(log))), "each is read once"


async def test_after_one_document_changed_one_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(shelves("shelves", "--documents", "30", "--log", str(log))) as here:
        await settled(here, count=30)
        await eventually(lambda: len(received(log, "resources/subscribe")) == 30)
        await finder(here)
        await here.call(
            "set_document", {"ref": "d00007", "fields": {"title": "Changed", "last_modified": "2027-01-01"}}
        )
        await until_found(here, lambda found: found[0] == "d00007")
        assert reads(log) == ["dpe://shelf", "dpe://shelf/d00007"]


async def test_documents_of_all_servers_are_one_catalogue() -> None:
    second = shelves("b", "--documents", "2", "--host", "other", "--prefix", "b_")
    async with office(shelves("a", "--documents", "3"), second) as here:
        await settled(here, "a", 3)
        await settled(here, "b", 2)
        documents, total = await finder(here)
        assert total == 5
        assert [document["server"] for document in documents] == ["a"] * 3 + ["b"] * 2


async def test_the_documents_of_the_server_used_last_come_first() -> None:
    second = shelves("b", "--documents", "2", "--host", "other", "--prefix", "b_")
    async with office(shelves("a", "--documents", "2"), second) as here:
        await settled(here, "a", 2)
        await settled(here, "b", 2)
        for tool, server in (("b_echo", "b"), ("echo", "a")):
            await here.call(tool, {"text": "hi"})
            documents, _ = await finder(here)
            assert [document["server"] for document in documents] == [server] * 2 + ["ab".strip(server)] * 2


@pytest.mark.parametrize("missing", ["agent", "req_id", "computer"])
async def test_a_request_for_documents_without_a_required_field_is_400(missing: str) -> None:
    async with office() as here:
        data = request()
        del data[missing]
        assert (await here.agent.ask("client:get_finder", data))["error"]["code"] == 400


async def test_without_subscribe_documents_are_gated_and_the_gate_can_be_lifted() -> None:
    gated = shelves("shelves", "--documents", "2", "--no-subscribe")
    async with office(gated) as here:
        await eventually(lambda: here.computer.status_of("shelves").notes)
        assert await finder(here) == ([], 0)
        assert (await read(here, "dpe://shelf"))["code"] == 4201
    async with office(gated, require_subscribe=False) as here:
        await settled(here, count=2)
        assert sorted(await refs(here)) == ["d00000", "d00001"]


async def test_a_document_that_another_server_still_lists_is_no_change() -> None:
    second = shelves("b", "--documents", "1", "--prefix", "b_")
    async with office(shelves("a", "--documents", "1"), second) as here:
        await settled(here, "a")
        await settled(here, "b")
        await finder(here)
        await here.agent.has_heard()
        here.agent.heard.clear()
        await here.call("b_drop_document", {"ref": "d00000"})
        await settled(here, "b", 0)
        await here.call("set_document", {"ref": "new", "fields": {}})
        await here.agent.hear("notify:update_finder")
        assert "notify:update_finder" not in [event for event, _ in await here.agent.has_heard()]


async def test_other_resources_that_come_are_no_news_of_documents() -> None:
    async with office(shelves("shelves", "--documents", "1")) as here:
        await settled(here)
        await finder(here)
        await here.agent.has_heard()
        here.agent.heard.clear()
        await here.call("set_window", {"uri": "window://shelf/new", "text": "x"})
        await here.agent.hear("notify:update_desktop")
        assert "notify:update_finder" not in [event for event, _ in await here.agent.has_heard()]


async def test_the_aggregator_collects_all_documents_and_knows_a_changed_set() -> None:
    second = shelves("b", "--documents", "30", "--host", "other", "--prefix", "b_")
    async with hosting(shelves("a", "--documents", "2"), second) as computer:
        await eventually(lambda: [status.documents for status in computer.status] == [2, 30])
        aggregator = FinderAggregator(lambda: computer.mcp_manager.views)
        collected = await aggregator.collect_documents()
        assert sorted(document["uri"] for document in collected) == [
            *(f"dpe://other/d{number:05}" for number in range(30)),
            *(f"dpe://shelf/d{number:05}" for number in range(2)),
        ]
        for uris, has_changed in (({"a"}, True), ({"a"}, False), ({"a", "b"}, True), (set[str](), True), ((), False)):
            assert aggregator.update_uri_cache(uris) is has_changed


async def test_filters_and_pages() -> None:
    async with office(shelves("shelves", "--documents", "30")) as here:
        await settled(here, count=30)
        await here.call("set_document", {"ref": "x", "fields": {"title": "Budget", "keywords": ["money"]}})
        await settled(here, count=31)
        await here.call("set_document", {"ref": "y", "fields": {"title": "Sheet", "file_type": "xlsx"}})
        await settled(here, count=32)
        assert await refs(here, keywords=["MONEY", "nothing"]) == ["x"]
        assert await refs(here, file_type="xlsx") == ["y"]
        assert len(await refs(here)) == 20
        assert len(await refs(here, offset=20)) == 12
        assert await finder(here, limit=0) == ([], 32)
        wrongs: list[dict[str, Any]] = [{"offset": -1}, {"limit": -1}, {"limit": "x"}, {"keywords": "x"}]
        for wrong in wrongs:
            answer = await here.agent.ask("client:get_finder", request(**wrong))
            assert answer["error"]["code"] == 400


async def test_a_document_that_cannot_be_summarised_is_left_out_alone() -> None:
    async with office(shelves("shelves", "--documents", "2", "--no-catalogue")) as here:
        await settled(here, count=2)
        await here.call("set_document", {"ref": "empty", "fields": {"page_count": 0}})
        await here.call("set_document", {"ref": "odd", "fields": {"page_count": "many"}})
        await here.call("set_document", {"ref": "paged", "fields": {"with_page": True}})
        await settled(here, count=5)
        await here.call("break", {"uri": "dpe://shelf/d00000", "how": "error"})
        assert sorted(await refs(here)) == ["d00001", "paged"]
        notes = " ".join(here.computer.status_of("shelves").notes)
        assert all(ref in notes for ref in ("d00000", "empty", "odd"))


async def test_documents_that_come_and_go_are_announced_and_windows_are_not() -> None:
    async with office(shelves("shelves", "--documents", "1")) as here:
        await settled(here)
        await here.call("set_document", {"ref": "new", "fields": {}})
        await until_found(here, lambda found: sorted(found) == ["d00000", "new"])
        await here.call("drop_document", {"ref": "d00000"})
        await until_found(here, lambda found: found == ["new"])
        assert "notify:update_desktop" not in [event for event, _ in await here.agent.has_heard()]


async def test_when_a_server_dies_its_documents_go_and_come_back_with_it() -> None:
    async with office(shelves("shelves", "--documents", "2")) as here:
        await settled(here, count=2)
        assert len(await refs(here)) == 2
        here.agent.heard.clear()
        await here.call("exit", {"code": 1})
        await here.agent.hear("notify:update_finder")
        await here.computer.until_state("shelves", ServerState.READY)
        await settled(here, count=2)
        assert len(await refs(here)) == 2


# ---------------------------------------------------------------------------------------------------------- read bridge


async def test_progressive_navigation_from_catalogue_to_element() -> None:
    async with office(shelves("shelves", "--documents", "2")) as here:
        await settled(here, count=2)
        catalogue = await read(here, "dpe://shelf")
        assert catalogue["total_count"] == 2
        document = await read(here, catalogue["documents"][0]["uri"])
        assert document["page_count"] == 3
        pages = await read(here, f"{document['uri']}?depth=pages&offset=1&limit=1")
        assert [page["page_index"] for page in pages["pages"]] == [1]
        page = await read(here, f"{pages['pages'][0]['uri']}?categories=table,text")
        assert [element["category"] for element in page["elements"]] == ["text", "table"]
        assert (await read(here, f"{pages['pages'][0]['uri']}?format=markdown"))["content_markdown"]
        element = await read(here, f"{document['uri']}/elements/{page['elements'][0]['element_id']}")
        assert element["content"] == {"text": "Words"}


@pytest.mark.parametrize("flags", [[], ["--plain-errors"]])
@pytest.mark.parametrize(
    ("uri", "code", "details"),
    [
        ("dpe://shelf/nothing", 4201, {"doc_ref": "nothing"}),
        ("dpe://elsewhere/d00000", 4201, {"doc_ref": "d00000"}),
        ("dpe://shelf/d00000/pages/99", 4202, {"page_index": 99, "page_count": 3}),
        ("dpe://shelf/d00000/elements/e99", 4203, {"element_id": "e99"}),
        ("dpe://", 4204, {"uri": "dpe://"}),
        ("dpe://shelf/d00000/pages/x", 4204, {"uri": "dpe://shelf/d00000/pages/x"}),
        ("dpe://shelf/d00000?limit=0", 4204, {"uri": "dpe://shelf/d00000?limit=0"}),
        ("window://shelf/nothing", 404, {"uri": "window://shelf/nothing"}),
        ("file:///etc/passwd", 404, {"uri": "file:///etc/passwd"}),
    ],
)
async def test_each_error_arrives_with_its_code_and_details(
    uri: str, code: int, details: dict[str, Any], flags: list[str]
) -> None:
    async with office(shelves("shelves", "--documents", "1", *flags)) as here:
        await settled(here)
        await finder(here)
        error = await read(here, uri)
        assert error["code"] == code
        assert error["details"] == details


async def test_what_the_server_says_of_an_error_arrives_without_secrets_and_internal_addresses() -> None:
    said = {
        "page_count": 12,
        "hint": "ask http://10.1.2.3:8080/pages or https://docs.example.com/help, not localhost:9000",
        "database": "postgresql://app:hunter2@db.internal/docs",
        "api_key": "sk-abcdefghijklmnopqrstuvwxyz",
        "note": "token ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "traceback": "Traceback (most recent call last): …",
        "nested": [{"error": "Traceback (most recent call last):\n  File x", "password": "hunter2"}],
    }
    flags = ("--documents", "1", "--error-data", json.dumps(said))
    async with office(shelves("shelves", *flags)) as here:
        await settled(here)
        await finder(here)
        details = (await read(here, "dpe://shelf/d00000/pages/99"))["details"]
        assert (details["page_index"], details["page_count"]) == (99, 12), "the server's word counts"
        assert "https://docs.example.com/help" in details["hint"]
        assert details["nested"][0].keys() == {"error", "password"}
        for hidden in ("10.1.2.3", "8080", "localhost", "hunter2", "db.internal", "sk-abc", "ghp_", "Traceback"):
            assert hidden not in json.dumps(details)


@pytest.mark.parametrize(("data", "details"), [('"busy"', {"data": "busy"}), ("[1]", {"data": [1]}), ("null", None)])
async def test_error_data_that_is_no_object_is_kept_under_a_name(data: str, details: Any) -> None:
    async with office(shelves("shelves", "--error-data", data)) as here:
        await here.call("set_window", {"uri": "window://shelf/w", "text": "w"})
        error = await read(here, "dpe://shelf/nothing")
        assert error["details"] == {"doc_ref": "nothing", **(details or {})}


async def test_error_data_without_bounds_is_left_out() -> None:
    async with office(shelves("shelves", "--error-data", json.dumps({"text": ["x" * 1_000] * 100}))) as here:
        await here.call("set_window", {"uri": "window://shelf/w", "text": "w"})
        error = await read(here, "dpe://shelf/nothing")
        assert len(json.dumps(error)) < 500


@pytest.mark.parametrize("flags", [["--list-host", "--no-templates"], []])
async def test_a_host_is_known_without_a_document(flags: list[str]) -> None:
    async with office(shelves("shelves", *flags)) as here:
        assert await read(here, "dpe://SHELF") == {"documents": [], "total_count": 0}
        error = await read(here, "dpe://shelf/nothing")
        assert (error["code"], error["message"]) == (4201, "document not found"), "of the MCP server itself"
        assert (await read(here, "dpe://elsewhere"))["code"] == 4201


async def test_a_host_stays_known_when_its_last_document_goes() -> None:
    async with office(shelves("shelves", "--documents", "1", "--no-templates")) as here:
        await settled(here)
        await here.call("drop_document", {"ref": "d00000"})
        await settled(here, count=0)
        assert await read(here, "dpe://shelf") == {"documents": [], "total_count": 0}


@pytest.mark.parametrize("uri", ["dpe://SheLF/d%300000", "dpe://shelf/d00000?x=%7e1&x=2&format=text", "dpe://shelf/"])
async def test_the_server_is_asked_for_the_address_as_it_was_sent(uri: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with office(shelves("shelves", "--documents", "1", "--log", str(log))) as here:
        await settled(here)
        await read(here, uri)
        assert reads(log)[-1] == uri


async def test_a_message_of_the_server_names_no_secret_and_no_internal_address(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("A2C_SMCP_TOKEN", "hunter2-hunter2")
    config = shelves("shelves", "--documents", "1", env={"TOKEN": "${input:token}"})
    async with office(config, inputs=[MCPServerPromptStringInput(id="token", password=True)]) as here:
        await settled(here)
        words = "hunter2-hunter2 is not accepted at 10.0.0.7:5432; see https://docs.example.com/"
        await here.call("break", {"uri": "dpe://shelf/d00000", "how": words})
        error = await read(here, "dpe://shelf/d00000")
        assert error["code"] == 500
        assert "https://docs.example.com/" in error["message"]
        for hidden in ("hunter2", "10.0.0.7", "5432"):
            assert hidden not in json.dumps(error)
        await here.agent.has_heard()
        failed = [record.getMessage() for record in caplog.records if vars(record).get("code") == 500]
        assert failed
        assert not any("hunter2" in text for text in failed)


async def test_windows_and_what_is_listed_can_be_read_as_they_are() -> None:
    async with office(shelves("shelves", "--windows", "1", "--documents", "1")) as here:
        await settled(here)
        answer = await here.agent.ask("client:read_resource", request(uri="window://shelf/w0000"))
        assert answer["contents"] == [{"uri": "window://shelf/w0000", "text": "window 0 "}]
        answer = await here.agent.ask("client:read_resource", request(uri="note://readme"))
        assert answer["contents"] == [{"uri": "note://readme", "text": "read me"}]


async def test_a_server_that_fails_to_read_is_an_internal_fault_with_its_words() -> None:
    async with office(shelves("shelves", "--documents", "1")) as here:
        await settled(here)
        await here.call("break", {"uri": "dpe://shelf/d00000", "how": "error"})
        error = await read(here, "dpe://shelf/d00000")
        assert (error["code"], "cannot read" in error["message"]) == (500, True)


async def test_of_two_servers_with_one_host_the_one_that_lists_the_document_answers() -> None:
    first = shelves("a", "--documents", "1")
    second = shelves("b", "--documents", "2", "--prefix", "b_")
    async with office(first, second) as here:
        await settled(here, "a")
        await settled(here, "b", 2)
        await here.call("b_set_document", {"ref": "d00001", "fields": {"title": "Only in b"}})
        await here.call("set_document", {"ref": "d00000", "fields": {"title": "The one of a"}})
        assert (await read(here, "dpe://SHELF/d00001"))["title"] == "Only in b"
        assert (await read(here, "dpe://shelf/d00000"))["title"] == "The one of a"
        assert (await read(here, "dpe://shelf"))["total_count"] == 1
