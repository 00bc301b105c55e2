"""How an Agent fetches a binary, as a flow: in parts, several at a time, and checked by its hash."""

from __future__ import annotations

import binascii
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from a2c_smcp import smcp
from a2c_smcp.errors import InvalidAnswerError, TimedOutError, TooLargeError
from a2c_smcp.protocol.answers import read_object
from a2c_smcp.protocol.blob_items import CHUNK_BYTES, decoded_size
from a2c_smcp.protocol.client_effects import ClientBackend, Together, Work
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.requests import ask, new_id

AT_ONCE = 8
"""Requests that wait for their answers at the same time."""
STALLED_SECONDS = 20.0
"""Seconds in which each part has to arrive."""
SLOWEST = 64_000
"""Bytes per second of the slowest download: at this rate, it ends even though all parts arrive in time."""
MOST_STARTS = 3
"""How often a download begins, if the binary changes meanwhile."""

T = TypeVar("T")
TakenT = TypeVar("TakenT", covariant=True)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a Computer says about a binary."""

    mime_type: str
    total_size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Download:
    """How far a download is."""

    computer: str
    mime_type: str
    done: int
    """Bytes that have arrived."""
    total: int


class Sink(Protocol[TakenT]):
    """Takes the parts of a binary, in any order, in several threads."""

    def put(self, offset: int, data: bytes) -> None:
        """Take a part."""
        ...

    def digest(self) -> str:
        """The SHA-256 of what was put, in hex."""
        ...

    def take(self) -> TakenT:
        """The outcome: the binary is whole."""
        ...

    def discard(self) -> None:
        """Drop what was put. Also after `take` failed; must not wait."""
        ...


class _Buffer:
    """Collects a binary in memory."""

    def __init__(self, facts: Facts) -> None:
        self._data = bytearray(facts.total_size)

    def put(self, offset: int, data: bytes) -> None:
        """Take a part."""
        self._data[offset : offset + len(data)] = data

    def digest(self) -> str:
        """The SHA-256 of what was put, in hex."""
        return hashlib.sha256(self._data).hexdigest()

    def discard(self) -> None:
        """Free the memory."""
        self._data = bytearray()


class AsBytes(_Buffer):
    """Gives a binary as bytes."""

    def take(self) -> bytes:
        """The binary."""
        return bytes(self._data)


class AsBase64(_Buffer):
    """Gives a binary in base64."""

    def take(self) -> str:
        """The binary, in base64."""
        encoded = binascii.b2a_base64(self._data, newline=False)
        self.discard()  # before the next copy is made
        return encoded.decode("ascii")


@dataclass(frozen=True, slots=True)
class Blob:
    """A binary of a Computer."""

    agent: str
    computer: str
    handle: str
    total_size: int | None = None
    sha256: str | None = None
    """What the answer says about it, if it says so."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The limits of a download."""

    most_bytes: int
    stalled_seconds: float
    on_part: Callable[[Download], None] | None = None


class _Changed(Exception):
    """The binary is another one than when the download began."""


def download(blob: Blob, open_sink: Callable[[Facts], Sink[T]], pace: Pace) -> Flow[ClientBackend, T]:
    """Fetch a binary.

    Raises:
        BlobUnavailableError: the Computer does not have it any more, or for another Agent.
        InvalidAnswerError: it is not the binary that the answer named, or its hash is wrong.
        TooLargeError: it is larger than the limit; nothing was fetched but its first part.
        TimedOutError: a part did not arrive in time, or all took too long.
        NotFoundError: the Computer left.
        OSError: `open_sink` or the sink raises it.
        SMCPError: the request fails for another reason.
    """
    for _ in range(MOST_STARTS):
        try:
            return (yield from _Transfer(blob, pace).run(open_sink))
        except _Changed:
            continue
    raise InvalidAnswerError(f"a binary of {blob.computer} is not what its hash says; fetched {MOST_STARTS} times")


class _Transfer:
    """One attempt to fetch a binary."""

    def __init__(self, blob: Blob, pace: Pace) -> None:
        self._blob = blob
        self._pace = pace
        self._deadline = time.monotonic() + pace.stalled_seconds
        self._spans: Iterator[int] = iter(())
        """Where the next parts begin. Shared by threads: `next` of a range is one step."""
        self._step = 0
        self._done = 0
        self._is_over = False

    def run(self, open_sink: Callable[[Facts], Sink[T]]) -> Flow[ClientBackend, T]:
        facts, first = yield from self._request(0, CHUNK_BYTES)
        self._check(facts, first)
        self._deadline += facts.total_size / SLOWEST
        sink = yield from Work(partial(open_sink, facts))
        try:
            yield from self._keep(sink, facts, 0, first)
            self._step = len(first)
            if self._step < facts.total_size:
                self._spans = iter(range(self._step, facts.total_size, self._step))
                many = min(AT_ONCE, -(-facts.total_size // self._step) - 1)
                yield from Together([self._fill(sink, facts) for _ in range(many)])
            if (yield from Work(sink.digest)) != facts.sha256:
                raise _Changed
            return (yield from Work(sink.take))
        except BaseException:
            self._is_over = True
            sink.discard()
            raise

    def _check(self, facts: Facts, first: bytes) -> None:
        """Reject a binary that is not the one that the answer named, or that is too large."""
        blob = self._blob
        if blob.total_size not in (None, facts.total_size) or blob.sha256 not in (None, facts.sha256):
            raise InvalidAnswerError(f"the binary that {blob.computer} sends is not the one that its answer names")
        if facts.total_size > self._pace.most_bytes:
            raise TooLargeError(too_large(facts.mime_type, facts.total_size, self._pace.most_bytes))
        if not first and facts.total_size:
            raise InvalidAnswerError(f"{blob.computer} sends an empty part of a binary")

    def _fill(self, sink: Sink[Any], facts: Facts) -> Flow[ClientBackend, None]:
        """Fetch one part after another, until there are no more."""
        try:
            while not self._is_over and (offset := next(self._spans, None)) is not None:
                end = min(offset + self._step, facts.total_size)
                while offset < end:
                    now, data = yield from self._request(offset, end - offset)
                    if (now.total_size, now.sha256) != (facts.total_size, facts.sha256):
                        raise _Changed
                    if not data:
                        raise InvalidAnswerError(f"{self._blob.computer} sends an empty part of a binary")
                    yield from self._keep(sink, facts, offset, data)
                    offset += len(data)
        except BaseException:
            self._is_over = True  # for the others: in threads, nothing interrupts them
            raise

    def _keep(self, sink: Sink[Any], facts: Facts, offset: int, data: bytes) -> Flow[ClientBackend, None]:
        if data:
            yield from Work(partial(sink.put, offset, data))
        self._done += len(data)
        if self._pace.on_part is not None:
            self._pace.on_part(Download(self._blob.computer, facts.mime_type, self._done, facts.total_size))

    def _request(self, offset: int, most: int) -> Flow[ClientBackend, tuple[Facts, bytes]]:
        """Fetch a part, with what the Computer says about the whole. It may be shorter than requested."""
        blob = self._blob
        seconds = min(self._pace.stalled_seconds, self._deadline - time.monotonic())
        if seconds <= 0:
            raise TimedOutError(f"the download of a binary of {blob.computer} is too slow")
        request = smcp.GetBlobReq(
            agent=blob.agent, req_id=new_id(), computer=blob.computer, blob_handle=blob.handle, max_chunk_bytes=most
        )
        if offset:
            request["chunk_offset"] = offset
        return (yield from ask(smcp.GET_BLOB_EVENT, request, seconds, partial(_read, offset, most)))


def _read(offset: int, most: int, ack: Any, req_id: str) -> tuple[Facts, bytes]:
    answer = read_object(ack, req_id)
    size, digest, payload = answer.get("total_size"), answer.get("sha256"), answer.get("blob")
    if type(size) is not int or size < 0 or not isinstance(digest, str) or not isinstance(payload, str):
        raise InvalidAnswerError("a part of a binary has no total_size, sha256 or blob")
    if answer.get("chunk_offset", offset) != offset or decoded_size(payload) > min(most, max(size - offset, 0)):
        raise InvalidAnswerError("a part of a binary is not the one that was requested")
    mime_type = answer.get("mime_type")
    facts = Facts(mime_type if isinstance(mime_type, str) else "application/octet-stream", size, digest.lower())
    try:
        return facts, binascii.a2b_base64(payload, strict_mode=True) if payload else b""
    except ValueError:
        raise InvalidAnswerError("a part of a binary is not valid base64") from None


def too_large(mime_type: str, size: int, limit: int) -> str:
    """Why a binary is not put back, and what to do."""
    return (
        f"{mime_type} of {size:,} bytes is left out: the limit is {limit:,} bytes in one answer (max_restored_bytes); "
        "an Agent can write it to a file, with save_to or save_blob()"
    )
