"""The Server's flows: one for each `server:*` event, one for all `client:*` events, and the leave of a connection that
is closed.

`answer` is the entry: it finds the flow of an event and turns every `SMCPError` into the ack that carries it.

Every flow first reads and decides, then commits the new state in one compare-and-set, then acts (enters the room,
sends). Until the commit nothing has happened, so a rejected request changes nothing and no member is notified. If
another request was faster, the commit fails and the flow starts again with what it reads now.

A newcomer is announced after the commit and a leaver before it. Otherwise the office could learn that "pc" entered
before it learns that the old "pc" left: the name is free from the commit on.

The sender of a request is the member of its connection. The name in a payload proves nothing; it is replaced before the
request is forwarded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from a2c_smcp import smcp
from a2c_smcp.errors import (
    CrossOfficeError,
    ForbiddenError,
    HiddenOfficeError,
    MalformedRequestError,
    NotFoundError,
    NotInOfficeError,
    SMCPError,
    TimedOutError,
)
from a2c_smcp.protocol import translation
from a2c_smcp.protocol.dialects.dialect import Dialect
from a2c_smcp.protocol.dialects.known import PLAIN, dialect_named
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.handshake import Handshake
from a2c_smcp.protocol.limits import Limits
from a2c_smcp.protocol.office import Member, Move, admit, dismiss
from a2c_smcp.protocol.payloads import check_payload, check_timeout, is_update, known_fields
from a2c_smcp.protocol.server_effects import (
    Call,
    CallEnded,
    CallerGone,
    CallLost,
    CanBeRoom,
    Commit,
    EndCall,
    EndedByOperator,
    EnterRoom,
    FindMember,
    IsConnected,
    LeaveRoom,
    Notify,
    OfficesWith,
    ReadGrant,
    ReadHandshake,
    ReadMember,
    ReadOffice,
    ReadRoster,
    ServerBackend,
)
from a2c_smcp.smcp import CLIENT_PREFIX, NOTIFY_PREFIX, SERVER_PREFIX
from a2c_smcp.types import Role

ServerFlow: TypeAlias = Flow[ServerBackend, Any]

_OTHER_OFFICES = 32
"""Offices that are compared with the sender's grant; thousands of offices may have a Computer of the same name."""


# Not frozen, and neither is `Call`, although nobody changes them: a frozen dataclass sets its fields one by one through
# a function, which every relayed call would pay for.
@dataclass(slots=True)
class Request:
    """An event as it arrived."""

    event: str
    sid: str
    data: Any
    limits: Limits
    text: str | None = None
    """The JSON array of event and data as the Server received it."""
    dialect: Dialect = PLAIN
    """That of the sender."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The ack to send, and the error it carries if the Server rejected the request."""

    ack: Any
    error: SMCPError | None = None
    is_abandoned: bool = False
    """Whether the sender disconnected before there was an answer."""


def answer(request: Request) -> Flow[ServerBackend, Answer]:
    """Answer any event; never raises an `SMCPError`."""
    try:
        return Answer((yield from _flow_for(request.event)(request)))
    except SMCPError as error:
        return Answer(request.dialect.refused(request.event, error), error)
    except CallerGone:
        return Answer(None, is_abandoned=True)


def depart(sid: str) -> Flow[ServerBackend, None]:
    """Let a connection that is closed leave its office, and forget it."""
    # The commit fails if a join or leave of this connection, which was running when it closed, moved the member. Then
    # the next round reads where the member is now.
    while (member := (yield from ReadMember(sid))) is not None:
        if (yield from _vacate(member, Move(member, None))):
            return


def _flow_for(event: str) -> Callable[[Request], ServerFlow]:
    flow = FLOWS.get(event)
    if flow is not None:
        return flow
    if event.startswith(CLIENT_PREFIX):
        return forward
    return announce_update if is_update(event) else _refuse_event


def _refuse_event(request: Request) -> ServerFlow:
    # Makes this function a flow, like the others: without a `yield`, the call itself would raise.
    yield from ()
    if request.event.startswith(NOTIFY_PREFIX):
        raise ForbiddenError("notify:* events come from the Server alone")
    # Shortened: the name comes from the client, and may be as long as a message.
    raise MalformedRequestError(f"unknown event {request.event[:80]!r}")


# ---------------------------------------------------------------------------------------------------------------- rooms


def join(request: Request) -> ServerFlow:
    """Enter an office; a Computer leaves the one it was in."""
    data = check_payload(request.event, request.data, request.limits)
    handshake = yield from ReadHandshake(request.sid)
    newcomer = Member(
        request.sid, data["name"], data["role"], data["office_id"], request.dialect.name, handshake.version
    )
    # The grant is checked before the office is read. A client whose credential does not cover the office gets the same
    # error whether or not the office exists, is full, or has a member of that name.
    grant = yield from ReadGrant(request.sid)
    grant.require(role=newcomer.role, name=newcomer.name, office_id=newcomer.office)
    if not (yield from CanBeRoom(newcomer.sid, newcomer.office)):
        raise MalformedRequestError("office_id: this id cannot be used")
    farewell: Member | None = None
    while True:
        sender = yield from ReadMember(request.sid)
        office = yield from ReadOffice(newcomer.office, newcomer.name)
        try:
            move = admit(sender, newcomer, office)
        except SMCPError:
            if farewell is not None:
                # Another client took the place after the leave was announced. The sender stays where it was, so its
                # office has to learn that it is back.
                yield from _announce(farewell, smcp.ENTER_OFFICE_NOTIFICATION)
            raise
        if move is None:
            return _welcome(request, handshake)
        # A Computer that changes its office. Announced before the commit: after it, the name is free in the old office,
        # and its next owner may be announced there at once.
        if sender is not None and sender.office_id is not None and farewell is None:
            farewell = sender
            yield from _announce(farewell, smcp.LEAVE_OFFICE_NOTIFICATION)
        if (yield from Commit(move)):
            break
    # After the commit, not before: until then the Computer is a member of its old office, and a rejected move must not
    # cost it a notification.
    if farewell is not None:
        yield from LeaveRoom(farewell.sid, farewell.office)
    try:
        yield from EnterRoom(newcomer.sid, newcomer.office)
        yield from _announce(newcomer, smcp.ENTER_OFFICE_NOTIFICATION)
    except Exception:
        # A member that receives nothing of its office is of no use, so the join is undone. If the connection is closed,
        # that is why entering the room failed, and the lines below clean up.
        if (yield from IsConnected(newcomer.sid)):
            yield from _vacate(newcomer, dismiss(newcomer))
            raise
    if not (yield from IsConnected(newcomer.sid)):
        # The connection closed while it joined. Its `depart` may have run before the commit, found no member, and done
        # nothing: without this, the office would keep a member that is not there.
        yield from _vacate(newcomer, Move(newcomer, None))
        raise CallerGone
    return _welcome(request, handshake)


def _welcome(request: Request, handshake: Handshake) -> Any:
    """The ack of a join. A client of this project also learns what this Server accepts and relays."""
    return request.dialect.joined(None if handshake.stack is None else handshake.to_wire(FEATURES))


def leave(request: Request) -> ServerFlow:
    """Leave the office the sender is in."""
    # Here and in all flows below, the sender is checked before the payload: the protocol rejects any event of a client
    # outside an office with 4103, whatever the payload is.
    sender = yield from _sender(request)
    data = check_payload(request.event, request.data, request.limits)
    if data["office_id"] != sender.office:
        raise (yield from _elsewhere(sender, [data["office_id"]], f"not in office {data['office_id']!r}"))
    if not (yield from _vacate(sender, dismiss(sender))):
        raise NotInOfficeError("already gone")
    yield from LeaveRoom(sender.sid, sender.office)
    return request.dialect.joined()


def list_room(request: Request) -> ServerFlow:
    """List the members of the sender's own office."""
    sender = yield from _sender(request, "agent")
    data = check_payload(request.event, request.data, request.limits)
    if data["office_id"] != sender.office:
        problem = "only the members of the sender's own office can be listed"
        raise (yield from _elsewhere(sender, [data["office_id"]], problem))
    roster = yield from ReadRoster(sender.office)
    return {"sessions": [member.to_session() for member in roster], "req_id": data["req_id"]}


def _vacate(member: Member, move: Move) -> Flow[ServerBackend, bool]:
    """Announce that a member leaves its office, if it is in one, then free its name; False if it moved meanwhile."""
    # The commit is in `finally` because the announcement may fail, for example when a host program's server does. A
    # name that stays taken for ever is worse than a notification that some members missed.
    try:
        if member.office_id is not None:
            yield from _announce(member, smcp.LEAVE_OFFICE_NOTIFICATION)
    finally:
        vacated = yield from Commit(move)
    return vacated


def _announce(member: Member, event: str) -> Flow[ServerBackend, None]:
    yield from Notify(member.office, event, member.to_notice(), skip=member.sid)


# -------------------------------------------------------------------------------------------------------------- notices


def announce_update(request: Request) -> ServerFlow:
    """Relay any `server:update_*` event of a Computer to its office."""
    sender = yield from _sender(request, "computer")
    check_payload(request.event, request.data, request.limits)
    notification = NOTIFY_PREFIX + request.event.removeprefix(SERVER_PREFIX)
    yield from Notify(sender.office, notification, {"computer": sender.name}, skip=sender.sid)


def _relay_to_agent(notification: str) -> Callable[[Request], ServerFlow]:
    """The flow of a Computer's event that concerns only the Agent of its office."""

    def tell(request: Request) -> ServerFlow:
        sender = yield from _sender(request, "computer")
        data = check_payload(request.event, request.data, request.limits)
        agent = (yield from FindMember(sender.office, sender.name)).agent
        if agent is not None:
            # Only the fields of the event: of a large one, others were not read, and cannot be written again.
            notice = {**known_fields(request.event, data), "computer": sender.name}
            yield from Notify(agent.sid, notification, notice, office_id=sender.office)

    return tell


def cancel(request: Request) -> ServerFlow:
    """Tell the office that the Agent cancels a call; the Computer that runs the call stops it."""
    sender = yield from _sender(request, "agent")
    data = check_payload(request.event, request.data, request.limits)
    # To the whole office: the Server does not read the results that it relays, and keeps no table of which Computer
    # runs which `req_id`. A Computer ignores the id of a call that it does not run.
    notice = {"agent": sender.name, "req_id": data["req_id"]}
    yield from Notify(sender.office, smcp.CANCEL_TOOL_CALL_NOTIFICATION, notice, skip=sender.sid)
    yield from EndCall(sender.sid, data["req_id"])


# -------------------------------------------------------------------------------------------------------------- routing


def forward(request: Request) -> ServerFlow:
    """Relay any `client:*` event to a Computer of the sender's office, and its ack back, both untouched.

    Only `agent` is replaced where it is not the sender's name, and what two dialects spell differently is translated.
    """
    # This is the hot path of the Server. It reads the two members in memory, checks the routing fields, and hands over
    # the text as it came: neither the parameters of a tool nor its result are parsed or written here, so that relaying
    # a megabyte costs little more than copying it.
    sender = yield from _sender(request, "agent")
    data = check_payload(request.event, request.data, request.limits)
    if data["agent"] != sender.name:
        data = {**data, "agent": sender.name}
    timeout = check_timeout(request.event, data, request.limits)
    target = (yield from FindMember(sender.office, data["computer"])).namesake
    if target is None:
        # What a node of a cluster sees of an office may be some milliseconds behind. A program that was told by other
        # means that its Computer has joined may be faster than the change on its way to this node.
        target = (yield from ReadOffice(sender.office, data["computer"])).namesake
    # The error path may search other offices; a call that succeeds reads only its own.
    if target is None or target.role != "computer":
        offices = yield from OfficesWith(data["computer"], _OTHER_OFFICES)
        raise (yield from _elsewhere(sender, offices, f"no Computer {data['computer']!r} in this office"))
    ours = request.dialect
    theirs = ours if target.dialect == ours.name else dialect_named(target.dialect)
    if theirs is not ours:
        if translation.is_unknown(request.event, theirs, ours):
            return ours.cannot(request.event, data)
        data = translation.request_to(theirs, ours, request.event, data)
    # The text may be passed on only if it is still what was decided on: `is` fails after a field was replaced.
    text = request.text if data is request.data else None
    seconds = timeout + request.limits.timeout_grace
    call = Call(
        sender.sid, target.sid, request.event, data, seconds, text, request.text, sender.office,
        not theirs.ends_cancelled_calls and request.event == smcp.TOOL_CALL_EVENT,
    )  # fmt: skip
    try:
        if theirs is ours and ours.largest_message is None:
            return (yield from call)
        return (yield from translation.translated(call, theirs, ours, request.limits.message_bytes))
    except CallEnded:
        return translation.cancelled()
    except (TimedOutError, CallLost, CallerGone, EndedByOperator):
        # The caller does not wait any more, so the Computer can stop working on it. Only the target is notified: the
        # other members have nothing to cancel.
        notice = {"agent": sender.name, "req_id": data["req_id"]}
        yield from Notify(target.sid, smcp.CANCEL_TOOL_CALL_NOTIFICATION, notice)
        raise


def _sender(request: Request, role: Role | None = None) -> Flow[ServerBackend, Member]:
    """The member that sent the request.

    Raises:
        NotInOfficeError: the sender is in no office.
        ForbiddenError: the event is for the other role.
    """
    sender = yield from ReadMember(request.sid)
    if sender is None or sender.office_id is None:
        raise NotInOfficeError("join an office first")
    if role is not None and sender.role != role:
        raise ForbiddenError(f"{request.event} is for the {role} of an office, not for its {sender.role}")
    return sender


def _elsewhere(sender: Member, offices: Sequence[str], problem: str) -> Flow[ServerBackend, SMCPError]:
    """The error for something that is not in the sender's office.

    4104 says that another office has it. Only a sender whose grant covers one of these offices gets it: for any other,
    the error would reveal which Computers exist.
    """
    grant = yield from ReadGrant(sender.sid)
    if any(grant.covers(office_id) for office_id in offices):
        return CrossOfficeError(problem)
    return HiddenOfficeError(problem) if offices else NotFoundError(problem)


TO_THE_AGENT = {
    smcp.TOOL_CALL_PROGRESS_EVENT: smcp.TOOL_CALL_PROGRESS_NOTIFICATION,
    smcp.TOOL_CALL_LOG_EVENT: smcp.TOOL_CALL_LOG_NOTIFICATION,
    smcp.UPDATE_RESOURCE_EVENT: smcp.UPDATE_RESOURCE_NOTIFICATION,
}
"""The events of a Computer that are relayed to the Agent of its office alone, and their notifications."""

FEATURES = sorted((*TO_THE_AGENT, smcp.UPDATE_RESOURCES_EVENT, smcp.UPDATE_PROMPTS_EVENT, smcp.UPDATE_SKILLS_EVENT))
"""The events of Computers that an older Server does not know, or one of another project: it would log each of them."""

FLOWS: dict[str, Callable[[Request], ServerFlow]] = {
    smcp.JOIN_OFFICE_EVENT: join,
    smcp.LEAVE_OFFICE_EVENT: leave,
    smcp.LIST_ROOM_EVENT: list_room,
    smcp.CANCEL_TOOL_CALL_EVENT: cancel,
    **{event: _relay_to_agent(notification) for event, notification in TO_THE_AGENT.items()},
}
"""The flow of each `server:*` event. Every `client:*` event uses `forward`, every other `server:update_*` event
`announce_update`."""
