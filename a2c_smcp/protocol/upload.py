"""How an Agent uploads a file, as a flow: in parts, one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from a2c_smcp import smcp
from a2c_smcp.errors import InvalidAnswerError, MalformedRequestError
from a2c_smcp.protocol.answers import read_object
from a2c_smcp.protocol.client_effects import ClientBackend, Work
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.requests import ask, new_id

PART_BYTES = 512 * 1024
"""Bytes of a part: in base64, it fits into a message of 1,000,000 bytes, which every Server accepts."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What an upload says about its file."""

    name: str
    total_size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Upload:
    """How far an upload is."""

    computer: str
    name: str
    done: int
    """Bytes that have arrived."""
    total: int


class Source(Protocol):
    """The file to upload. The methods may wait for a disk."""

    def declare(self) -> Declared:
        """Read the file once."""
        ...

    def read(self, offset: int, most: int) -> tuple[str, int]:
        """A part in base64, and its bytes."""
        ...


def upload(
    agent: str, computer: str, source: Source, timeout: float, on_part: Callable[[Upload], None] | None
) -> Flow[ClientBackend, str]:
    """Upload a file; returns its path on the Computer. Each part has `timeout` seconds to arrive.

    Raises:
        UploadRefusedError: the Computer does not accept it.
        MalformedRequestError: the file is empty, or becomes shorter meanwhile.
        OSError: it cannot be read.
        SMCPError: a request fails for another reason.
    """
    declared: Declared = yield from Work(source.declare)
    if not declared.total_size:
        raise MalformedRequestError("an empty file cannot be uploaded")
    upload_id: str | None = None
    done = 0
    while True:
        most = min(PART_BYTES, declared.total_size - done)
        blob, size = yield from Work(partial(source.read, done, most))
        if size < most:
            raise MalformedRequestError("the file became shorter while it was uploaded")
        request = smcp.PutBlobReq(
            agent=agent,
            req_id=new_id(),
            computer=computer,
            chunk_offset=done,
            eof=done + size == declared.total_size,
            blob=blob,
        )
        if upload_id is None:
            request["total_size"], request["sha256"] = declared.total_size, declared.sha256
            request["name_hint"] = declared.name
        else:
            request["upload_id"] = upload_id
        answer = yield from ask(smcp.PUT_BLOB_EVENT, request, timeout, read_object)
        upload_id, done = _text(answer, "upload_id"), done + size
        if on_part is not None:
            on_part(Upload(computer, declared.name, done, declared.total_size))
        if request["eof"]:
            return _text(answer, "landing_path")


def _text(answer: dict[str, Any], field: str) -> str:
    value = answer.get(field)
    if not isinstance(value, str) or not value:
        raise InvalidAnswerError(f"{field}: a text is expected")
    return value
