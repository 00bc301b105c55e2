from typing import Any

CONNECT: int
DISCONNECT: int
EVENT: int
ACK: int
CONNECT_ERROR: int
BINARY_EVENT: int
BINARY_ACK: int

class Packet:
    uses_binary_events: bool
    json: Any
    packet_type: int
    data: Any
    namespace: str | None
    id: int | None
    attachment_count: int
    attachments: list[Any]
    def __init__(
        self,
        packet_type: int = ...,
        data: Any = None,
        namespace: str | None = None,
        id: int | None = None,
        binary: bool | None = None,
        encoded_packet: str | bytes | None = None,
    ) -> None: ...
    def encode(self) -> str | list[str | bytes]: ...
    def decode(self, encoded_packet: str | bytes) -> int: ...
    def add_attachment(self, attachment: str | bytes) -> bool: ...
    @classmethod
    def data_is_binary(cls, data: Any) -> bool: ...
