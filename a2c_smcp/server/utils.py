"""The members of an office, for a host program."""

from __future__ import annotations

from typing import Any, cast

from a2c_smcp.protocol.flow import Flow, run, run_async
from a2c_smcp.protocol.server_effects import ReadRoster
from a2c_smcp.server.asgi import AsyncHub
from a2c_smcp.server.edge import Edge
from a2c_smcp.server.types import OFFICE_ID, ComputerSession, Session
from a2c_smcp.server.wsgi import ThreadHub
from a2c_smcp.smcp import SMCP_NAMESPACE
from a2c_smcp.utils.light_socketio import socketio


async def aget_all_sessions_in_office(office_id: OFFICE_ID, sio: socketio.AsyncServer | AsyncHub) -> list[Session]:
    """The members of an office, in order of arrival."""
    return await run_async(_sessions(office_id), _backend(sio))


def get_all_sessions_in_office(office_id: OFFICE_ID, sio: socketio.Server | ThreadHub) -> list[Session]:
    """The members of an office, in order of arrival."""
    return run(_sessions(office_id), _backend(sio))


async def aget_computers_in_office(office_id: OFFICE_ID, sio: socketio.AsyncServer | AsyncHub) -> list[ComputerSession]:
    """The Computers of an office, in order of arrival."""
    return _computers(await aget_all_sessions_in_office(office_id, sio))


def get_computers_in_office(office_id: OFFICE_ID, sio: socketio.Server | ThreadHub) -> list[ComputerSession]:
    """The Computers of an office, in order of arrival."""
    return _computers(get_all_sessions_in_office(office_id, sio))


def _sessions(office_id: OFFICE_ID) -> Flow[Any, list[Session]]:
    roster = yield from ReadRoster(office_id)
    return [cast("Session", member.to_session()) for member in roster]


def _computers(sessions: list[Session]) -> list[ComputerSession]:
    return [session for session in sessions if session["role"] == "computer"]


def _backend(sio: Any) -> Any:
    namespace = sio.namespace_handlers.get(SMCP_NAMESPACE)
    if not isinstance(namespace, Edge):
        raise LookupError(f"no A2C namespace is registered at {SMCP_NAMESPACE} on this Socket.IO server")
    return cast("Any", namespace)  # it has the registry, which is all that a roster needs
