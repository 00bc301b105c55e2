"""Socket.IO packets as this project reads and writes them: orjson, a size limit, and no surprise from bad input.

A packet that cannot be read becomes an event with an `Unreadable` payload, so that its sender gets an error ack instead
of silence and the connection lives on. The JSON module stays on this class: python-socketio's own is process-wide.
"""

from __future__ import annotations

import json as stdlib_json
from typing import Any

import orjson
from socketio.packet import ACK, BINARY_ACK, BINARY_EVENT, EVENT, Packet

from a2c_smcp.errors import MalformedRequestError, SMCPError, TooLargeError
from a2c_smcp.protocol.answers import refusal
from a2c_smcp.smcp import TOOL_CALL_EVENT


class Unreadable:
    """Stands for a payload that was refused while it was read."""

    __slots__ = ("error",)

    def __init__(self, error: SMCPError) -> None:
        self.error = error


class _Json:
    """orjson under the names of the standard module."""

    JSONDecodeError = orjson.JSONDecodeError
    loads = staticmethod(orjson.loads)

    @staticmethod
    def dumps(value: Any, **_: Any) -> str:
        try:
            return orjson.dumps(value).decode()
        except TypeError as error:
            if "ecursion" in str(error):
                raise  # over 254 levels: it reads them but does not write them, and peers may not even read them
            return stdlib_json.dumps(value, separators=(",", ":"))  # types it does not know, of the host program


class SMCPPacket(Packet):
    """A Socket.IO packet of at most `max_bytes`. JSON only: the protocol has no binary attachments."""

    json = _Json
    max_bytes = 10_000_000
    max_sent_bytes: int | None = None
    """What the other side takes of an event; None when it is not for us to say."""

    @classmethod
    def limited_to(cls, max_bytes: int, *, sent: int | None = None) -> type[SMCPPacket]:
        """This class with other size limits."""
        return type("SMCPPacket", (cls,), {"max_bytes": max_bytes, "max_sent_bytes": sent})

    @classmethod
    def data_is_binary(cls, data: Any) -> bool:
        """Never: the walk through every value of every payload is saved."""
        return False

    def decode(self, encoded_packet: str | bytes) -> int:
        """Read a packet; whatever is wrong with it, the outcome is a packet without attachments."""
        if not isinstance(encoded_packet, str):
            return self._give_up(MalformedRequestError("binary data is not part of the protocol"))
        size = _utf8_length(encoded_packet, self.max_bytes)
        if size > self.max_bytes:
            error = TooLargeError(f"a message of {size} bytes; at most {self.max_bytes} are accepted")
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
        """Write a packet; an ack that cannot be written becomes an error that can.

        Raises:
            MalformedRequestError: an event cannot be written.
            TooLargeError: the other side would not take it.
        """
        try:
            encoded = super().encode()
            if self.max_sent_bytes is not None and self.packet_type == EVENT and isinstance(encoded, str):
                size = _utf8_length(encoded, self.max_sent_bytes)
                if size > self.max_sent_bytes:
                    raise TooLargeError(f"a message of {size} bytes; the Server takes at most {self.max_sent_bytes}")
            return encoded
        except (TypeError, ValueError, RecursionError):
            error = MalformedRequestError("payload: cannot be written as JSON, or is nested too deep")
        if self.packet_type != ACK:
            raise error
        self.data = [refusal(TOOL_CALL_EVENT, error)]  # a reader of any other event sees the error in it as well
        return super().encode()

    def _check(self) -> None:
        """Make sure of the form the library takes for granted: a list, of an event's name and its arguments."""
        data: Any = self.data
        if not isinstance(data, list):
            self._refuse(MalformedRequestError("an array is expected"))
        elif self.packet_type == EVENT and not _event_name(data):
            self._refuse(MalformedRequestError("an event name is expected"))

    def _decode_envelope(self, encoded_packet: str, error: SMCPError) -> int:
        """Read type, namespace and id of a packet whose payload is not read, so that it can be answered."""
        starts = [at for at in (encoded_packet.find("["), encoded_packet.find("{")) if at >= 0]
        head = encoded_packet[: min(starts)] if starts else ""
        try:
            super().decode(head)
        except ValueError:
            return self._give_up(error)
        self._drop_attachments()
        name, quote, _ = encoded_packet[len(head) : len(head) + 200].partition('"')[2].partition('"')
        self.data = [name] if quote else None
        self._refuse(error)
        return 0

    def _drop_attachments(self) -> bool:
        """Make a packet that announces attachments a plain one; whether it was such. The library would wait for them,
        and take the next messages for them."""
        if self.packet_type not in (BINARY_EVENT, BINARY_ACK):
            return False
        self.packet_type = EVENT if self.packet_type == BINARY_EVENT else ACK
        return True

    def _refuse(self, error: SMCPError) -> None:
        """Put the error where the payload was; a packet that nobody answers loses its payload."""
        if self.packet_type == ACK:
            self.data = [Unreadable(error)]
        elif self.packet_type == EVENT:
            self.data = [_event_name(self.data), Unreadable(error)]
        else:
            self.data = None

    def _give_up(self, error: SMCPError) -> int:
        """Not even the envelope is readable: an event of no namespace, which reaches nobody."""
        self.packet_type, self.namespace, self.id = EVENT, None, None
        self._refuse(error)
        return 0


def _event_name(data: Any) -> str:
    """The name in an event's data; empty when there is none."""
    return data[0] if isinstance(data, list) and data and isinstance(data[0], str) else ""


def _utf8_length(text: str, enough: int) -> int:
    """The bytes of `text`, counted exactly only where it matters."""
    return len(text) if text.isascii() or len(text) > enough else len(text.encode("utf-8", "surrogatepass"))
