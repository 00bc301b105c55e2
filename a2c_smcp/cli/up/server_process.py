"""The process of the Server of `a2c up`: an ordinary Server that reports its members and their requests."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from a2c_smcp.cli.up.child import Reports, run_child
from a2c_smcp.cli.up.plan import Plan
from a2c_smcp.errors import SMCPError, ToolFailedError
from a2c_smcp.protocol.answers import read_object
from a2c_smcp.protocol.office import Move
from a2c_smcp.server.namespace import SMCPNamespace
from a2c_smcp.server.one_time import OneTimeToken
from a2c_smcp.server.registry import MemoryRegistry
from a2c_smcp.server.serving import LOOPBACK, serve
from a2c_smcp.server.settings import ServerSettings
from a2c_smcp.utils.system.sockets import take_over

GRACE = 3.0
"""Seconds that running calls have to finish when everything stops."""

LONGEST, MOST_WORDS = 100, 5
"""The most characters of a text, and texts of a list, in a report."""

_Answering = Callable[[str, Any], Awaitable[Any]]


class WatchedRegistry(MemoryRegistry):
    """Reports the members of the office when they change."""

    def __init__(self, office: str, reports: Reports) -> None:
        super().__init__()
        self._office = office
        self._reports = reports

    def commit(self, move: Move) -> bool:
        """Apply a move, and report the members."""
        done = super().commit(move)
        if done:
            members = [(member.role, member.name) for member in self.roster(self._office)]
            self._reports.tell("members", members=members)
        return done


def watched_namespace(reports: Reports, registry: MemoryRegistry) -> type[SMCPNamespace]:
    """A namespace that reports tool calls, document lists and resources that are read."""

    # A class and not an object: `serve` creates the namespace. The overrides add a report and change no answer.
    class WatchedNamespace(SMCPNamespace):
        async def on_client_tool_call(self, sid: str, data: Any = None) -> Any:
            return await self._watch("tool_name", super().on_client_tool_call, sid, data)

        async def on_client_get_finder(self, sid: str, data: Any = None) -> Any:
            return await self._watch("keywords", super().on_client_get_finder, sid, data)

        async def on_client_read_resource(self, sid: str, data: Any = None) -> Any:
            return await self._watch("uri", super().on_client_read_resource, sid, data)

        async def _watch(self, subject: str, answer: _Answering, sid: str, data: Any) -> Any:
            started = time.perf_counter()
            ack = await answer(sid, data)
            # `data` comes from a client and the Server may have rejected it, so nothing about its shape is certain.
            asked = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
            member = registry.member(sid)
            reports.tell(
                "call",
                agent=member.name if member is not None else "a client",
                computer=in_short(asked.get("computer")),
                subject=subject,
                what=in_short(asked.get(subject)),
                seconds=time.perf_counter() - started,
                code=code_of(ack),
            )
            return ack

    return WatchedNamespace


def in_short(value: Any) -> str:
    """A value of a request, which may be of any type, as a short text."""
    if isinstance(value, list):
        return ", ".join(in_short(item) for item in cast("list[Any]", value)[:MOST_WORDS] if isinstance(item, str))
    return value[:LONGEST] if isinstance(value, str) else ""


def code_of(ack: Any) -> int | None:
    """The error code of an answer; None if it is a success."""
    try:
        answer = read_object(ack)
    except SMCPError as error:
        return error.code
    # A tool that fails is a successful answer on the wire: the result says so itself, with the code in its metadata.
    if not answer.get("isError"):
        return None
    meta = answer.get("_meta") or answer.get("meta")
    code = cast("dict[str, Any]", meta).get("error_code") if isinstance(meta, dict) else None
    return code if isinstance(code, int) else ToolFailedError.code


class OwnersPage:
    """The page of the Computer of `a2c up`, through the supervisor."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def login_url(self) -> str | None:
        """See `ComputerPage`."""
        return self._reports.news.get("owner_login_url")

    def log_out(self) -> None:
        """See `ComputerPage`."""
        self._reports.tell("logout")


def main(plan: Plan, reports: Reports) -> None:
    """Serve until a signal arrives."""
    registry = WatchedRegistry(plan.office, reports)
    given = {"host": plan.host, "port": plan.port, "api_key": plan.api_key, "grace": GRACE}
    settings = ServerSettings.load({**given, "console_sessions": plan.sessions})
    # No proxy is expected here, so no host of MCP has a reason to send another name than that of this machine.
    if settings.is_local and settings.mcp_allowed_hosts is None:
        settings = settings.model_copy(update={"mcp_allowed_hosts": ",".join(LOOPBACK)})
    serve(
        settings,
        settings.auth_provider(),
        lambda url: reports.tell("ready"),
        namespace_class=watched_namespace(reports, registry),
        registry=registry,
        listener=take_over(plan.listener),
        one_time=OneTimeToken(lambda token: reports.tell("console", token=token)) if settings.console else None,
        computer_page=OwnersPage(reports),
    )


if __name__ == "__main__":
    run_child(main)
