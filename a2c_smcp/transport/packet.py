"""Socket.IO packets: read and written with orjson, limited in size, and safe against bad input.

The library raises on a packet that it cannot read, which ends the connection or leaves the sender without an ack. Here
such a packet becomes one with an `Unreadable` payload, so that the sender gets an error ack and the connection lives
on.

The JSON module is set on the packet class, and not with the client's option `json`, which sets it for the whole
process.
"""

from __future__ import annotations

import json as stdlib_json
from typing import Any

import orjson
from socketio.packet import ACK, BINARY_ACK, BINARY_EVENT, EVENT, Packet

from a2c_smcp.errors import MalformedRequestError, SMCPError, TooLargeError
from a2c_smcp.protocol.dialects.known import HOME
from a2c_smcp.smcp import TOOL_CALL_EVENT


class Unreadable:
    """Takes the place of a payload that cannot be read."""

    __slots__ = ("error",)

    def __init__(self, error: SMCPError) -> None:
        self.error = error


class _Json:
    """orjson with the interface of the standard module."""

    JSONDecodeError = orjson.JSONDecodeError
    loads = staticmethod(orjson.loads)

    @staticmethod
    def dumps(value: Any, **_: Any) -> str:
        try:
            return orjson.dumps(value).decode()
        except TypeError as error:
            # orjson reads 1,024 levels but writes only 254. The standard module writes more, which other peers may not
            # be able to read.
            if "ecursion" in str(error):
                raise
            # A program's payload may contain keys that are not plain strings, integers above 64 bits or named tuples.
            # The standard module writes them as every program for python-socketio expects.
            return stdlib_json.dumps(value, separators=(",", ":"))


class SMCPPacket(Packet):
    """A Socket.IO packet of at most `max_bytes`. JSON only: the protocol has no binary attachments."""

    json = _Json
    max_bytes = 10_000_000
    max_sent_bytes: int | None = None
    """The largest event that the other side accepts; None for no limit."""

    @classmethod
    def limited_to(cls, max_bytes: int, *, sent: int | None = None) -> type[SMCPPacket]:
        """Make a packet class with these size limits. The library takes a class, not an instance."""
        return type("SMCPPacket", (cls,), {"max_bytes": max_bytes, "max_sent_bytes": sent})

    @classmethod
    def data_is_binary(cls, data: Any) -> bool:
        """Return False without looking: the protocol has no bytes, and the library would visit every value."""
        return False

    def decode(self, encoded_packet: str | bytes) -> int:
        """Read a packet, and return the number of its attachments, which is always 0."""
        if not isinstance(encoded_packet, str):
            return self._give_up(MalformedRequestError("binary data is not part of the protocol"))
        size = _utf8_length(encoded_packet, self.max_bytes)
        if size > self.max_bytes:
            error = TooLargeError(f"the message has {size} bytes; at most {self.max_bytes} are accepted")
            return self._decode_envelope(encoded_packet, error)
        try:
            super().decode(encoded_packet)
        except (ValueError, RecursionError):
            return self._decode_envelope(encoded_packet, MalformedRequestError("payload: not valid JSON"))
        if self._drop_attachments():
            self._refuse(MalformedRequestError("binary attachments are not part of the protocol"))
        elif self.packet_type in (EVENT, ACK):
            self._check()
        return 0

    def encode(self) -> str | list[str | bytes]:
        """Write a packet. An ack that cannot be written becomes an error, so that the other side does not wait.

        Raises:
            MalformedRequestError: the event cannot be written.
            TooLargeError: the event is larger than the other side accepts. A Server would end the connection.
        """
        try:
            encoded = super().encode()
            # Only events are checked: their error reaches the program that sends them. Nothing would catch that of an
            # ack, and the Computer checks the size of its answers itself.
            if self.max_sent_bytes is not None and self.packet_type == EVENT and isinstance(encoded, str):
                size = _utf8_length(encoded, self.max_sent_bytes)
                if size > self.max_sent_bytes:
                    limit = self.max_sent_bytes
                    raise TooLargeError(f"the message has {size} bytes; the Server accepts at most {limit}")
            return encoded
        except (TypeError, ValueError, RecursionError):
            error = MalformedRequestError("payload: it cannot be written as JSON, or is nested too deeply")
        if self.packet_type != ACK:
            raise error
        # A packet does not know which event its ack answers. The form of a tool call is an error for every reader.
        self.data = [HOME.refused(TOOL_CALL_EVENT, error)]
        return super().encode()

    def _check(self) -> None:
        """Check what the library takes for granted: that the data is a list, and an event's list starts with a name."""
        data: Any = self.data
        if not isinstance(data, list):
            self._refuse(MalformedRequestError("payload: an array is expected"))
        elif self.packet_type == EVENT and not _event_name(data):
            self._refuse(MalformedRequestError("payload: the name of an event is expected"))

    def _decode_envelope(self, encoded_packet: str, error: SMCPError) -> int:
        """Read the type, namespace, id and event name of a packet, but not its payload, so that it can be answered."""
        # Of a valid packet, only the payload contains brackets, so the envelope ends before the first one.
        starts = [at for at in (encoded_packet.find("["), encoded_packet.find("{")) if at >= 0]
        head = encoded_packet[: min(starts)] if starts else ""
        try:
            super().decode(head)
        except ValueError:
            return self._give_up(error)
        self._drop_attachments()
        # The name of the event is the first string of the payload. It only selects the handler that answers with the
        # error. No name of an event is as long as 200 characters, or has escapes.
        name, quote, _ = encoded_packet[len(head) : len(head) + 200].partition('"')[2].partition('"')
        self.data = [name] if quote else None
        self._refuse(error)
        return 0

    def _drop_attachments(self) -> bool:
        """Turn a packet that announces attachments into a plain one; return whether it did.

        The library would take the messages that follow for the attachments.
        """
        if self.packet_type not in (BINARY_EVENT, BINARY_ACK):
            return False
        self.packet_type = EVENT if self.packet_type == BINARY_EVENT else ACK
        return True

    def _refuse(self, error: SMCPError) -> None:
        """Put the error in the place of the payload; packets that have no answer lose their payload."""
        if self.packet_type == ACK:
            self.data = [Unreadable(error)]
        elif self.packet_type == EVENT:
            self.data = [_event_name(self.data), Unreadable(error)]
        else:
            self.data = None

    def _give_up(self, error: SMCPError) -> int:
        """Make a packet whose envelope cannot be read an event without namespace, which has no handler."""
        self.packet_type, self.namespace, self.id = EVENT, None, None
        self._refuse(error)
        return 0


def _event_name(data: Any) -> str:
    """The name in an event's data, or an empty string."""
    return data[0] if isinstance(data, list) and data and isinstance(data[0], str) else ""


def _utf8_length(text: str, enough: int) -> int:
    """The length in UTF-8; of a text with more than `enough` characters, any number above `enough`."""
    return len(text) if text.isascii() or len(text) > enough else len(text.encode("utf-8", "surrogatepass"))
