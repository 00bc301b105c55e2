"""The messages between nodes. Each is a line of fields, which starts with its kind, and a body."""

from __future__ import annotations

from typing import NamedTuple, cast

from a2c_smcp.protocol.dialects.known import PLAIN
from a2c_smcp.protocol.office import Member
from a2c_smcp.types import Role

TAKEN, FREED = "+", "-"
"""A member of an office took its seat, or gave it up. The scripts send these: length of the office's id, the seat and,
to nodes that read them, the dialect and version of a member that named one."""
REMOVED = "!"
"""A node was removed from the cluster."""
INTERRUPTED = "~"
"""A node was disconnected from Redis for a while: messages to and from it may be lost."""
CALL = "C"
"""Number, caller, target, deadline, length of the office's id: the id, and the text of an event for a member, if it is
in that office when the message arrives. Answered with ANSWER or ERROR."""
QUESTION = "?"
"""Number, node, subject: a question of one node to another. Answered with ANSWER or ERROR."""
ANSWER, ERROR = "A", "E"
"""Number: the answer to a call or a question."""
TELL = "T"
"""Sid, length of the office's id: the id, and the text of an event for one member. With an office, only if the member
is in it when the message arrives."""
NOTICE = "N"
"""Length of the office's id: the id, and the text of an event for the members of the office on the receiving node."""


OF_CALLS = frozenset((CALL, QUESTION, ANSWER, ERROR))


class Message(NamedTuple):
    """A message as it came."""

    kind: str
    fields: list[str]
    body: bytes


class Seat(NamedTuple):
    """A member's seat, with its number in the order of arrival."""

    arrival: int
    member: Member


def write(kind: str, *fields: str | int, body: bytes = b"") -> bytes:
    """A message."""
    return b"\n".join((" ".join([kind, *map(str, fields)]).encode(), body))


def read(data: bytes) -> Message:
    """The message in what a node received."""
    head, _, body = data.partition(b"\n")
    kind, *fields = head.decode().split(" ")
    return Message(kind, fields, body)


def read_change(message: Message) -> Seat:
    """The seat that a TAKEN or FREED message is about."""
    length, *seat = message.fields
    office, name = split(message.body, int(length))
    return _read(office, name, seat)


def read_seat(office_id: str, name: str, text: str, speech: str = "") -> Seat:
    """A seat as Redis keeps it, and what `speech_of` wrote."""
    return _read(office_id, name, [*text.split(" "), *speech.split()])


def speech_of(member: Member) -> str:
    """The dialect and version of a member; empty if it named none when it connected."""
    if member.version is not None:
        return f"{member.dialect} {member.version}"
    return member.dialect if member.dialect != PLAIN.name else ""


def _read(office_id: str, name: str, words: list[str]) -> Seat:
    # A node of an older version writes no dialect. One of a newer version may write more than this one reads.
    arrival, sid, role, *speech = words
    dialect = speech[0] if speech else PLAIN.name
    version = speech[1] if len(speech) > 1 else None
    return Seat(int(arrival), Member(sid, name, cast("Role", role), office_id, dialect, version))


def split(body: bytes, length: int) -> tuple[str, str]:
    """The two texts in a body, of which the first has `length` bytes."""
    return body[:length].decode(), body[length:].decode()
