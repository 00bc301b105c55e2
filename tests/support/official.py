"""Stand-ins for the official Servers, on python-socketio: each with the rules and the silences of its version.

They know only what `DIALECTS.md` says about the official Servers. `tests/interop` runs the published packages.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs

import socketio
import uvicorn

from tests.support.waiting import PATIENCE

NAMESPACE = "/smcp"
LINES = ("0.1", "0.2", "0.3", "0.4", "0.5")
_OLDEST = {"tool_call": "0.1", "get_tools": "0.1", "get_desktop": "0.1", "get_config": "0.2", "put_blob": "0.4"}
_FROM_0_2 = ("get_resources", "get_skills", "get_skill", "get_blob")
_CODES = frozenset((404, 4006, 4007, 4008, 4014, 4015, 4016, 4017, 4018))
_FIELDS = {
    "get_tools": {"tools": list, "req_id": str},
    "get_config": {"servers": dict},
    "get_desktop": {"desktops": list, "req_id": str},
    "get_resources": {"resources": list, "req_id": str},
    "get_skills": {"skills": list, "req_id": str},
    "get_skill": {"name": str, "rel_path": str, "mime_type": str, "total_size": int, "sha256": str, "req_id": str},
    "get_blob": {"blob_handle": str, "total_size": int, "sha256": str, "chunk_offset": int, "eof": bool, "blob": str},
    "put_blob": {"upload_id": str, "chunk_offset": int, "req_id": str},
}
_TOOL = {"name": str, "description": str, "params_schema": dict}
_BASE = {"name": str, "disabled": bool, "forbidden_tools": list, "tool_meta": dict, "server_parameters": dict}


_Namespace: Any = socketio.AsyncNamespace  # our stubs have only the parts that the package uses


@dataclass
class Session:
    """A client that has joined, or tried to."""

    role: str
    name: str
    office_id: str | None = None
    version: str | None = None


class OfficialNamespace(_Namespace):
    """The rules of one line of official Servers."""

    def __init__(self, line: str, login: Callable[[dict[str, Any], Any], bool] | None) -> None:
        _Namespace.__init__(self, NAMESPACE)
        self.line = line
        self._login = login
        self.queries: list[dict[str, str]] = []
        """The query of each handshake that was let in."""
        self.heard: list[tuple[str, Any]] = []
        """What clients sent that is not a request."""
        self.dropped: list[tuple[str, Any]] = []
        """The answers of Computers that were not passed on."""
        self.sessions: dict[str, Session] = {}
        self.has_plain_options = False
        """Whether options are texts, as up to release 0.3.2."""
        self.only_agents_ask = line == "0.5"
        """Whether a Computer may send no request at all."""
        self._versions: dict[str, str | None] = {}

    def since(self, line: str) -> bool:
        return LINES.index(self.line) >= LINES.index(line)

    # ----------------------------------------------------------------------------------------------------- connections

    async def on_connect(self, sid: str, environ: dict[str, Any], auth: Any = None) -> bool:
        query = {key: values[0] for key, values in parse_qs(environ.get("QUERY_STRING", "")).items()}
        if self._login is not None and not self._login(environ, auth):
            return False
        self.queries.append(query)
        self._versions[sid] = query.get("a2c_version") if self.since("0.2") else None
        return True

    async def on_disconnect(self, sid: str, *_: Any) -> None:
        await self._take_out(sid, self.sessions.pop(sid, None))

    async def trigger_event(self, event: str, *args: Any) -> Any:
        if event in ("connect", "disconnect"):
            return await _Namespace.trigger_event(self, event, *args)
        sid, data = str(args[0]), args[1] if len(args) > 1 else None
        kind, _, what = event.partition(":")
        if kind == "client":
            return await self._forward(sid, what, data)
        if event in ("server:join_office", "server:leave_office", "server:list_room"):
            return await getattr(self, f"_{what}")(sid, data)
        self.heard.append((event, data))
        if what in ("update_config", "update_tool_list", "update_desktop") or (
            what == "update_skills" and self.since("0.2")
        ):
            await self._tell_others(sid, f"notify:{what}", data)
        elif what == "tool_call_cancel":
            await self._tell_others(sid, "notify:tool_call_cancel", data)
        return None

    # --------------------------------------------------------------------------------------------------------- offices

    async def _join_office(self, sid: str, data: Any) -> Any:
        known = self.sessions.get(sid)
        if known is not None and known.office_id not in (None, data["office_id"]):
            await self._take_out(sid, known, keep_office=True)  # before it is known whether the move succeeds
        await self.enter_room(sid, data["office_id"])
        problem = self._why_not(sid, data)
        if problem is not None:
            if known is None:
                self.sessions[sid] = Session(data["role"], "", data["office_id"])
            return {"code": problem[0], "message": problem[1]} if self.since("0.5") else (False, problem[1])
        self.sessions[sid] = Session(data["role"], data["name"], data["office_id"], self._versions.get(sid))
        await self.announce(sid, "notify:enter_office", self.sessions[sid])
        return None if self.since("0.5") else (True, None)

    def _why_not(self, sid: str, data: Any) -> tuple[int, str] | None:
        others = [session for other, session in self.sessions.items() if other != sid]
        if any(session.name == data["name"] for session in others):
            return 4101, "name already exists"
        agents = [each for each in others if each.role == "agent" and each.office_id == data["office_id"]]
        return (4101, "Agent already in room") if agents and data["role"] == "agent" else None

    async def _leave_office(self, sid: str, data: Any) -> Any:
        await self._take_out(sid, self.sessions.pop(sid, None))
        return None if self.since("0.5") else (True, None)

    async def _list_room(self, sid: str, data: Any) -> Any:
        own = self.sessions.get(sid)
        if own is None or own.office_id != data["office_id"]:
            return self.server.not_handled  # no ack
        listed = [
            {"sid": other, "name": each.name, "role": each.role, "office_id": each.office_id}
            | ({"a2c_version": each.version} if each.version is not None else {})
            for other, each in self.sessions.items()
            if each.office_id == own.office_id
        ]
        return {"sessions": listed, "req_id": data["req_id"]}

    async def _take_out(self, sid: str, session: Session | None, *, keep_office: bool = False) -> None:
        if session is None or session.office_id is None:
            return
        await self.announce(sid, "notify:leave_office", session)
        with suppress(KeyError):
            await self.leave_room(sid, session.office_id)
        if not keep_office:
            session.office_id = None

    async def announce(self, sid: str, event: str, session: Session) -> None:
        notice = {"office_id": session.office_id, session.role: session.name}
        await self.emit(event, notice, room=session.office_id, skip_sid=sid)

    async def _tell_others(self, sid: str, event: str, data: Any) -> None:
        session = self.sessions.get(sid)
        if session is not None and session.office_id is not None:
            await self.emit(event, data, room=session.office_id, skip_sid=sid)

    # -------------------------------------------------------------------------------------------------------- requests

    async def _forward(self, sid: str, what: str, data: Any) -> Any:
        oldest = "0.2" if what in _FROM_0_2 else _OLDEST.get(what)
        if oldest is None or not self.since(oldest):
            return None  # an empty ack: there is no handler
        agent = self.sessions.get(sid)
        target = next((other for other, each in self.sessions.items() if each.name == data["computer"]), None)
        if agent is None:
            return self.server.not_handled
        if agent.role != "agent" and (what == "tool_call" or self.only_agents_ask):
            return {"code": 403, "message": "Agents only"} if self.since("0.5") else self.server.not_handled
        if target is None:
            return {"code": 404, "message": "Computer not found"} if self.since("0.2") else self.server.not_handled
        crosses = self.sessions[target].office_id != agent.office_id
        if crosses and not (what == "tool_call" and self.line == "0.1"):
            return self.server.not_handled
        try:
            answer = await self.server.call(f"client:{what}", data, to=target, namespace=NAMESPACE, timeout=PATIENCE)
        except socketio.exceptions.TimeoutError:
            return self.server.not_handled
        return self._passed(what, answer)

    def _passed(self, what: str, answer: Any) -> Any:
        """A Computer's answer as the Agent gets it; no ack if this Server does not understand it."""
        if not self.since("0.2"):
            return answer
        problem = self._problem(what, answer)
        if problem is not None:
            self.dropped.append((problem, answer))
            return self.server.not_handled
        if what == "tool_call" or self._is_error(answer):
            return answer
        known = {*_FIELDS[what], "inputs", "next_cursor", "body", "blob_handle", "mime_type", "landing_path"}
        return {key: self._without_ids(value) for key, value in answer.items() if key in known}

    def _without_ids(self, value: Any) -> Any:
        """A field of an answer without what came with 0.3."""
        if self.since("0.3") or not isinstance(value, dict | list):
            return value
        if isinstance(value, list):
            return [self._without_ids(each) for each in cast("list[Any]", value)]
        fields = cast("dict[str, Any]", value).items()
        return {key: self._without_ids(each) for key, each in fields if key != "bundle_id"}

    def _is_error(self, answer: Any) -> bool:
        known = answer.get("code") in _CODES or (answer.get("code") == 4019 and self.since("0.4"))
        return known and isinstance(answer.get("message"), str)

    def _problem(self, what: str, answer: Any) -> str | None:
        if not isinstance(answer, dict):
            return "not an object"
        return self._problem_in(what, cast("dict[str, Any]", answer))

    def _problem_in(self, what: str, answer: dict[str, Any]) -> str | None:
        if self._is_error(answer):
            return None
        if what == "tool_call":
            return None if isinstance(answer.get("content"), list) else "content"
        wrong = _wrong_field(answer, _FIELDS[what])
        if wrong is not None:
            return wrong
        if what == "get_tools":
            return next(filter(None, map(self._wrong_tool, answer["tools"])), None)
        return self._wrong_config(answer) if what == "get_config" else None

    def _wrong_tool(self, tool: Any) -> str | None:
        if "return_schema" not in tool or not isinstance(tool["return_schema"], dict | None):
            return "return_schema"
        return _wrong_field(tool, _TOOL) or self._wrong_id(tool)

    def _wrong_config(self, answer: dict[str, Any]) -> str | None:
        for key, server in answer["servers"].items():
            wrong = _wrong_field(server, _BASE) or self._wrong_id(server)
            if wrong is not None or (self.since("0.3") and server["bundle_id"] != key):
                return wrong or "key"
        for wanted in answer.get("inputs") or ():
            if not all(map(self._is_option, wanted.get("options", ()))):
                return "options"
        return None

    def _is_option(self, option: Any) -> bool:
        if not self.since("0.3") or self.has_plain_options:
            return isinstance(option, str)
        given = cast("dict[str, Any]", option) if isinstance(option, dict) else {}
        return bool(given.get("label") and given.get("value"))

    def _wrong_id(self, holder: dict[str, Any]) -> str | None:
        if not self.since("0.3"):
            return None
        found = holder.get("bundle_id")
        is_valid = isinstance(found, str) and re.fullmatch("[A-Za-z0-9_-]+", found) and "__" not in found
        return None if is_valid else "bundle_id"


def _wrong_field(answer: dict[str, Any], fields: dict[str, type]) -> str | None:
    return next((name for name, kind in fields.items() if not isinstance(answer.get(name), kind)), None)


@dataclass
class Official:
    """An official Server that answers at `url`."""

    url: str
    namespace: OfficialNamespace
    refused: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """The query of each handshake that named a wrong version."""


class _VersionCheck:
    """The check of versions in front of Socket.IO, as an operator may add it."""

    def __init__(self, app: Any, place: Official, version: str, denies_websockets: bool) -> None:
        self._app, self._place = app, place
        self.version = version
        self._denies_websockets = denies_websockets

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        query = {key: values[0] for key, values in parse_qs(scope.get("query_string", b"").decode()).items()}
        if scope["type"] not in ("http", "websocket") or "sid" in query:
            return await self._app(scope, receive, send)
        named = query.get("a2c_version")
        if named is not None and named.split(".")[:2] == self.version.split(".")[:2]:
            return await self._app(scope, receive, send)
        self._place.refused.append(query)
        if scope["type"] == "websocket" and not self._denies_websockets:
            return await send({"type": "websocket.close", "code": 4900})
        kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
        body = json.dumps(
            {
                "code": 4008,
                "message": f"A2C-SMCP {named} is not {self.version}",
                "server_version": self.version,
                "client_version": named,
                "min_supported": self.version,
                "max_supported": self.version.rsplit(".", 1)[0] + ".999",
            }
        ).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-a2c-error-code", b"4008"),
        ]
        await send({"type": f"{kind}.start", "status": 400, "headers": headers})
        await send({"type": f"{kind}.body", "body": body})
        return None


@asynccontextmanager
async def official(
    line: str = "0.4",
    *,
    demands: str | None = None,
    denies_websockets: bool = True,
    login: Callable[[dict[str, Any], Any], bool] | None = None,
    port: int = 0,
) -> AsyncGenerator[Official]:
    """An official Server of a line; with `demands`, it rejects every version of another line."""
    server = socketio.AsyncServer(async_mode="asgi", cors_allowed_origins="*")
    namespace = OfficialNamespace(line, login)
    server.register_namespace(namespace)
    place = Official("", namespace)
    app: Any = socketio.ASGIApp(server)
    if demands is not None:
        app = _VersionCheck(app, place, demands, denies_websockets)
    listener = socket.create_server(("127.0.0.1", port))
    place.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1, ws="wsproto")
    running = uvicorn.Server(config)
    serving = asyncio.create_task(running._serve([listener]))  # pyright: ignore[reportPrivateUsage]
    try:
        async with asyncio.timeout(PATIENCE):
            while not running.started:  # noqa: ASYNC110 - uvicorn announces it in no other way
                await asyncio.sleep(0.005)
        yield place
    finally:
        running.should_exit = True
        await server.shutdown()
        await serving
        listener.close()
