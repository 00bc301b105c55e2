"""Clients of every dialect on real sockets: what their SDKs send, and what these need to read."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any, TypeAlias

import httpx
import pytest
import socketio
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from a2c_smcp import __version__
from a2c_smcp import server as a2c
from a2c_smcp.protocol.dialects.versions import AllowedVersions
from a2c_smcp.server import Limits
from tests.support.peer import Crowd, crowd, request, tool_call
from tests.support.running import Kind, Running, running, serving_asgi, serving_wsgi
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

V2, V3, V4, V5 = ("a2c_version=0.2.0", "a2c_version=0.3.1", "a2c_version=0.4.0", "a2c_version=0.5.0")
OURS = f"a2c_stack={__version__}&a2c_version=0.4.0"
PICTURE = bytes(range(256)) * 2_000


@pytest.fixture(params=["async", "sync", "cluster"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


Answer: TypeAlias = Callable[[str, Any], Any]


def always(ack: Any) -> Answer:
    """A Computer that has one answer."""
    return lambda event, data: ack


async def seat(people: Crowd, query: str, role: str, name: str, answer: Answer | None = None) -> Any:
    """A member of `office` that speaks a dialect."""
    peer = await people.newcomer(query=query)
    if answer is not None:
        peer.answer = answer
    ack = await peer.join(role, name, "office")
    assert ack is None if query == V5 else ack[0] is True
    return peer


async def test_all_dialects_work_in_one_office_at_once(kind: Kind) -> None:
    with running(kind) as server:
        async with crowd(server) as people:
            agent = await seat(people, V4, "agent", "agent")
            computers = {"v1": "", "v2": V2, "v3": V3, "v4": V4, "v5": V5, "ours": OURS}
            for name, query in computers.items():
                tool: dict[str, Any] = {"name": "t", "description": "d", "params_schema": {}, "return_schema": None}
                listed: Any = {"tools": [{**tool, "bundle_id": "b"} if query in (V3, V4, V5) else tool], "req_id": "r1"}
                await seat(people, query, "computer", name, always(listed))
                await agent.hear("notify:enter_office")
            for name, query in computers.items():
                answer = await agent.ask("client:get_tools", request(name))
                assert answer["tools"][0]["bundle_id"] == ("b" if query in (V3, V4, V5) else name)
            listed = await agent.ask("server:list_room", {"agent": "agent", "req_id": "r", "office_id": "office"})
            said = {each["name"]: each.get("a2c_version") or each.get("a2c_stack") for each in listed["sessions"]}
            assert said == {
                "agent": "0.4.0", "v1": None, "v2": "0.2.0", "v3": "0.3.1", "v4": "0.4.0", "v5": "0.5.0",
                "ours": __version__,
            }  # fmt: skip


@pytest.mark.parametrize("transport", ["websocket", "polling"])
async def test_the_dialect_is_recognised_on_both_transports(transport: str, kind: Kind) -> None:
    with running(kind) as server:
        async with crowd(server, transport) as people:
            agent = await seat(people, V4, "agent", "agent")
            assert (await agent.ask("client:get_tools", request("nobody")))["code"] == 404


async def test_the_dialect_is_recognised_after_an_upgrade() -> None:
    with running("async") as server:
        client = socketio.AsyncClient(reconnection=False, handle_sigint=False)
        await client.connect(f"{server.url}?{V4}", namespaces=["/smcp"], wait_timeout=PATIENCE)
        try:
            assert client.eio.current_transport == "websocket"
            ack = await client.call("server:list_room", {}, namespace="/smcp", timeout=PATIENCE)
            assert ack["code"] == 404
            assert ack["details"]["code"] == 4103
        finally:
            await client.disconnect()


async def test_0_5_gets_empty_acks_and_flat_errors(kind: Kind) -> None:
    with running(kind) as server:
        async with crowd(server) as people:
            agent = await people.newcomer(query=V5)
            place = {"role": "agent", "name": "agent", "office_id": "office"}
            assert await agent.ask("server:join_office", place) is None
            assert (await agent.ask("server:join_office", {**place, "office_id": "other"}))["code"] == 4106
            assert (await agent.ask("server:join_office", {**place, "role": "x"}))["code"] == 400
            rival = await people.newcomer(query=V5)
            assert (await rival.ask("server:join_office", {**place, "name": "rival"}))["code"] == 4101
            assert await agent.ask("server:leave_office", {"office_id": "office"}) is None
            assert (await agent.ask("server:leave_office", {"office_id": "office"}))["code"] == 4103


async def test_a_nested_error_of_a_computer_of_rust_0_1_reaches_an_official_agent(kind: Kind) -> None:
    def refuse(event: str, data: Any) -> Any:
        return {"error": {"code": 4014, "message": "no such server", "details": {"mcp_server": "git"}}}

    with running(kind) as server:
        async with crowd(server) as people:
            agent = await seat(people, V4, "agent", "agent")
            await seat(people, "", "computer", "pc", refuse)
            ack = await agent.ask("client:get_config", request())
            assert ack == {"code": 4014, "message": "no such server", "mcp_server": "git"}
            old = await seat(people, "", "computer", "old", always(None))
            assert await agent.ask("client:get_skills", request("old")) == {"skills": [], "req_id": "r1"}
            assert (await agent.ask("client:get_desktop", request("old")))["details"] == {"event": "client:get_desktop"}
            assert [event for event, _ in old.asked] == ["client:get_desktop"]


async def test_a_request_waits_for_the_join_that_came_before_it(kind: Kind) -> None:
    """Official Agents join without waiting for the ack."""
    with running(kind) as server:
        async with crowd(server) as people:
            for number in range(10):
                agent, office = await people.newcomer(query=V4), f"office-{number}"
                await agent.tell("server:join_office", {"role": "agent", "name": "agent", "office_id": office})
                asked = {"agent": "agent", "req_id": "r", "office_id": office}
                assert [each["name"] for each in (await agent.ask("server:list_room", asked))["sessions"]] == ["agent"]


async def test_an_agent_may_have_another_id_than_the_name_of_its_seat(kind: Kind) -> None:
    with running(kind) as server:
        async with crowd(server) as people:
            agent = await seat(people, V4, "agent", "agent")
            computer = await seat(people, V4, "computer", "pc")
            assert (await agent.ask("client:tool_call", tool_call(agent="its-id", timeout=30.0)))["echo"]
            data = await computer.be_asked("client:tool_call")
            assert (data["agent"], data["timeout"]) == ("agent", 30)
            listed = await agent.ask("server:list_room", {"agent": "its-id", "req_id": "r", "office_id": "office"})
            assert len(listed["sessions"]) == 2
            await agent.tell("server:tool_call_cancel", {"agent": "its-id", "req_id": "r9"})
            assert await computer.hear("notify:tool_call_cancel") == {"agent": "agent", "req_id": "r9"}
            await computer.tell("server:update_skills", {"computer": "its-id"})
            assert await agent.hear("notify:update_skills") == {"computer": "pc"}


def blobs(event: str, data: Any) -> Any:
    """A Computer of 0.4 that replaces its picture by a handle."""
    digest = hashlib.sha256(PICTURE).hexdigest()
    if event == "client:tool_call":
        meta = {"a2c_blob_handle": "h", "a2c_total_size": len(PICTURE), "a2c_sha256": digest}
        return {"content": [{"type": "image", "data": "", "mimeType": "image/png", "_meta": meta}], "isError": False}
    offset, most = data["chunk_offset"], data["max_chunk_bytes"]
    part = PICTURE[offset : offset + most]
    return {
        "blob_handle": "h", "mime_type": "image/png", "total_size": len(PICTURE), "sha256": digest,
        "chunk_offset": offset, "eof": offset + len(part) == len(PICTURE), "blob": b64encode(part).decode(),
        "req_id": data["req_id"],
    }  # fmt: skip


@pytest.mark.parametrize("query", ["", OURS])
async def test_a_large_picture_reaches_an_agent_that_knows_no_handles(kind: Kind, query: str) -> None:
    with running(kind) as server:
        async with crowd(server) as people:
            agent = await seat(people, query, "agent", "agent")
            await seat(people, V4, "computer", "pc", blobs)
            result = await agent.ask("client:tool_call", tool_call())
            assert b64decode(result["content"][0]["data"]) == PICTURE
            assert "_meta" not in result["content"][0]
            if query:
                inline = await agent.ask("client:tool_call", {**tool_call(), "max_inline_bytes": 100})
                assert inline["content"][0]["_meta"]["a2c_blob_handle"] == "h"


async def test_the_server_ends_a_cancelled_call_on_a_computer_that_cannot(kind: Kind) -> None:
    is_over = asyncio.Event()

    async def hang(event: str, data: Any) -> Any:
        await is_over.wait()
        return {"content": [], "isError": False, "meta": {"late": True}}

    with running(kind) as server:
        async with crowd(server) as people:
            agent = await seat(people, V4, "agent", "agent")
            computer = await seat(people, "", "computer", "pc", hang)
            calling = asyncio.ensure_future(agent.ask("client:tool_call", tool_call(req_id="x", timeout=3_000)))
            await computer.be_asked("client:tool_call")
            await agent.ask("server:tool_call_cancel", {"agent": "agent", "req_id": "x"})
            result = await calling
            assert result["isError"] is True
            assert result["meta"]["a2c_cancelled"] is True
            # The late answer goes nowhere, and the next call has its own.
            is_over.set()
            again = await agent.ask("client:tool_call", tool_call(req_id="x"))
            assert again["meta"] == {"late": True}


async def test_a_computer_that_ends_a_cancelled_call_itself_gives_the_answer(kind: Kind) -> None:
    is_cancelled = asyncio.Event()

    async def run(event: str, data: Any) -> Any:
        await is_cancelled.wait()
        return {"content": [], "isError": True, "meta": {"a2c_cancelled": True, "by": "the Computer"}}

    with running(kind) as server:
        async with crowd(server) as people:
            agent = await seat(people, "", "agent", "agent")
            computer = await seat(people, "", "computer", "pc", run)
            calling = asyncio.ensure_future(agent.ask("client:tool_call", tool_call(req_id="x")))
            await computer.be_asked("client:tool_call")
            await agent.ask("server:tool_call_cancel", {"agent": "agent", "req_id": "x"})
            await computer.hear("notify:tool_call_cancel")
            is_cancelled.set()
            assert (await calling)["meta"]["by"] == "the Computer"


async def test_the_edge_rejects_in_the_dialect_of_the_client(kind: Kind) -> None:
    with running(kind, limits=Limits(requests_per_second=0.001, request_burst=3)) as server:
        async with crowd(server) as people:
            agent = await seat(people, V4, "agent", "agent")
            assert (await agent.ask("client:get_tools", {}, {}))["code"] == 404
            assert (await agent.ask("client:get_tools", []))["details"]["code"] == 400
            limited = await agent.ask("client:get_tools", request())
            assert limited["code"] == 404
            assert limited["details"]["code"] == 429
            assert limited["details"]["retry_after"] > 0
            called = await agent.ask("client:tool_call", tool_call())
            assert called["isError"] is True
            assert called["code"] == called["error"]["code"] == called["meta"]["error_code"] == 429


async def test_a_message_that_is_too_large_is_rejected_in_the_dialect_of_the_client(kind: Kind) -> None:
    with running(kind, limits=Limits(message_bytes=2_000)) as server:
        async with crowd(server) as people:
            agent = await seat(people, V5, "agent", "agent")
            refused = await agent.ask("client:get_tools", request(more="x" * 3_000))
            assert (refused["code"], refused["details"]["code"]) == (404, 413)


# ---------------------------------------------------------------------------------------------------------- credentials


@pytest.mark.parametrize("name", ["x-api-key", "access_token", "token", "api_key"])
async def test_a_credential_is_accepted_under_every_name_in_the_auth_object(kind: Kind, name: str, secret: Any) -> None:
    with running(kind, secret) as server:
        async with crowd(server) as people:
            await people.newcomer(auth={name: "secret"}, query=V4)
            await people.refused(auth={name: "wrong"}, query=V4)


@pytest.mark.parametrize("header", [("x-api-key", ""), ("access_token", ""), ("Authorization", "Bearer ")])
async def test_a_credential_is_accepted_in_every_header(kind: Kind, header: tuple[str, str], secret: Any) -> None:
    name, prefix = header
    # WSGI servers leave out headers with an underscore, or write it as a dash.
    name = name.replace("_", "-") if kind == "sync" else name
    with running(kind, secret) as server:
        async with crowd(server) as people:
            await people.newcomer(headers={name: f"{prefix}secret"})
            await people.refused(headers={name: f"{prefix}wrong"})


@pytest.fixture
def secret(kind: Kind) -> Any:
    make = a2c.DefaultSyncAuthenticationProvider if kind == "sync" else a2c.DefaultAuthenticationProvider
    return make("secret")


# ------------------------------------------------------------------------------------------------------ pinned versions

BODY = {
    "code": 4008,
    "message": "A2C-SMCP 0.3.1 is not supported here: this Server accepts 0.4",
    "server_version": "0.4.0",
    "client_version": "0.3.1",
    "min_supported": "0.4.0",
    "max_supported": "0.4.999",
}


async def test_a_pinned_server_refuses_other_versions_over_polling(kind: Kind) -> None:
    with running(kind, versions="0.4") as server:
        async with httpx.AsyncClient(trust_env=False) as http:
            place = f"{server.url}/socket.io/?EIO=4&transport=polling"
            refused = await http.get(f"{place}&{V3}")
            assert (refused.status_code, refused.json()) == (400, BODY)
            assert refused.headers["x-a2c-error-code"] == "4008"
            assert int(refused.headers["content-length"]) == len(refused.content)
            for query in ("", "&a2c_version=", "&a2c_version=0.4"):
                missing = await http.get(place + query)
                assert missing.status_code == 400
                assert missing.json().keys() == {"code", "message"}
                assert missing.json()["code"] == 400
                assert "x-a2c-error-code" not in missing.headers
            for query in (V4, "a2c_version=0.4.99", OURS, f"a2c_stack={__version__}"):
                assert (await http.get(f"{place}&{query}")).status_code == 200


async def test_a_pinned_server_refuses_other_versions_over_websocket(kind: Kind) -> None:
    with running(kind, versions="0.4") as server:
        place = f"{server.url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket"
        with pytest.raises(InvalidStatus) as refused:
            async with connect(f"{place}&{V3}", proxy=None):
                pass
        response = refused.value.response
        assert response.status_code == 400
        assert response.headers["x-a2c-error-code"] == "4008"
        assert json.loads(response.body or b"") == BODY
        async with connect(f"{place}&{V4}", proxy=None) as accepted:
            assert str(await accepted.recv()).startswith("0{")


async def test_an_asgi_server_without_denial_responses_closes_with_4900() -> None:
    app = a2c.create_app(versions="0.4")
    sent: list[Any] = []
    received = iter([{"type": "websocket.connect"}])

    async def receive() -> Any:
        return next(received)

    async def send(message: Any) -> None:
        sent.append(message)

    query = f"EIO=4&transport=websocket&{V3}".encode()
    scope: dict[str, Any] = {
        "type": "websocket",
        "path": "/socket.io/",
        "query_string": query,
        "headers": [],
        "client": None,
    }
    await app(scope, receive, send)
    assert sent == [{"type": "websocket.close", "code": 4900}]


@pytest.mark.parametrize("kind", ["async", "cluster"])
async def test_a_client_of_the_library_gets_the_body_of_the_refusal(kind: Kind) -> None:
    # The library closes its connection while it reads the body. It may be too late for the response of a WSGI server,
    # which sends head and body one after another.
    with running(kind, versions="0.4") as server:
        async with crowd(server, "polling") as people:
            assert await people.refused(query=V3) == BODY
            await people.newcomer(query=V4)


async def test_versions_that_name_none_may_be_allowed(kind: Kind) -> None:
    with running(kind, versions="0.1-0.2") as server:
        async with crowd(server) as people:
            await people.newcomer()
            await people.newcomer(query=V2)
            await people.newcomer(query=OURS)
            await people.refused(query=V3)


@pytest.mark.parametrize("form", ["async", "sync"])
async def test_a_namespace_on_a_server_of_the_library_speaks_dialects_too(form: str) -> None:
    with contextlib.ExitStack() as stack:
        app = a2c.create_app()  # for its serving options alone
        if form == "async":
            sio, namespace = socketio.AsyncServer(async_mode="asgi"), a2c.SMCPNamespace()
            sio.register_namespace(namespace)
            url, _ = stack.enter_context(serving_asgi(socketio.ASGIApp(sio), app))
        else:
            blocking, namespace = socketio.Server(async_mode="threading"), a2c.SyncSMCPNamespace()
            blocking.register_namespace(namespace)
            url = stack.enter_context(serving_wsgi(socketio.WSGIApp(blocking)))
        async with crowd(Running("async", url, app)) as people:
            agent = await seat(people, V5, "agent", "agent")
            await seat(people, OURS, "computer", "pc", always({"error": {"code": 4014, "message": "no"}}))
            assert (await agent.ask("client:get_config", request()))["code"] == 4014
            assert (await agent.ask("client:get_config", request("nobody")))["code"] == 404
            plain = await people.member("agent", "plain", "pictures")
            await people.member("computer", "pc", "pictures", blobs, query=V4)
            result = await plain.ask("client:tool_call", tool_call(agent="plain"))
            assert b64decode(result["content"][0]["data"]) == PICTURE
            namespace.versions = AllowedVersions.parse("0.4")
            assert await people.refused(query=V3) == {"message": BODY["message"], "data": BODY}
            await people.newcomer(query=V4)


async def test_the_log_names_dialect_and_version(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "a2c_smcp.server")
    with running(kind) as server:
        async with crowd(server) as people:
            await seat(people, V3, "computer", "three")
            await seat(people, OURS, "computer", "ours")
            newer = await people.newcomer(query="a2c_version=0.9.0")
            assert await newer.join("computer", "newer", "office") is None
    text = caplog.text
    assert "Computer 'three' joined office 'office' (loopback, A2C-SMCP 0.3.1)" in text
    assert f"Computer 'ours' joined office 'office' (loopback, a2c-stack {__version__})" in text
    assert "A2C-SMCP 0.9.0 is newer than this Server; it is treated as 0.5" in text
    joined = next(record for record in caplog.records if "'three' joined" in record.getMessage())
    assert (vars(joined)["dialect"], vars(joined)["version"]) == ("0.3", "0.3.1")
