"""What an Agent does with the binaries that an answer left out: it puts them back, or saves them to files.

An answer names the size and the hash of each binary. One that turns out to be another is rejected: it is not what the
tool returned.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from a2c_smcp.errors import InvalidAnswerError, TooLargeError
from a2c_smcp.protocol.blob_download import (
    AT_ONCE,
    STALLED_SECONDS,
    AsBase64,
    Blob,
    Download,
    Facts,
    Pace,
    Sink,
    download,
    too_large,
)
from a2c_smcp.protocol.blob_items import (
    CHUNK_BYTES,
    INLINE_BYTES,
    BlobItem,
    as_text,
    decoded_size,
    filled,
    find_handles,
    items_of,
    kind_of,
    may_have_handles,
    mime_type_of,
    payload_of,
    replaced,
    saved,
    uri_of,
)
from a2c_smcp.protocol.client_effects import ClientBackend, Together, Work
from a2c_smcp.protocol.flow import Flow

RESTORED_BYTES = 256_000_000
"""Bytes of the binaries of one answer that are put back into it, unless the program says otherwise."""
UNLIMITED = 1 << 62
"""Bytes. More than any binary has."""


class OpenFile(Protocol):
    """Opens files for binaries."""

    def __call__(self, facts: Facts, uri: str | None, kind: str, /) -> Sink[str]:
        """A new file, named after the address or the kind of the item. Its outcome is its path."""
        ...


@dataclass(frozen=True, slots=True)
class Binaries:
    """What an Agent does with the binaries of an answer: it puts them back, or saves them with `open_file`."""

    most_bytes: int = RESTORED_BYTES
    open_file: OpenFile | None = None
    on_part: Callable[[Download], None] | None = None
    max_inline_bytes: int | None = INLINE_BYTES
    """The largest binary that the Agent wants inside an answer; None for any."""

    def concern(self, answer: dict[str, Any]) -> bool:
        """Whether `restore` has something to do, so that the usual answer needs no flow."""
        return self.open_file is not None or may_have_handles(answer)

    def restore(
        self, agent: str, computer: str, answer: dict[str, Any], seconds: float
    ) -> Flow[ClientBackend, dict[str, Any]]:
        """The answer with its binaries, or with the paths of their files.

        A binary that is larger than `most_bytes` stays a handle: in a result of a tool, a text says so; contents of a
        resource are rejected.

        Raises:
            SMCPError, OSError: as `download`.
        """
        handles = find_handles(answer)
        return (yield from _Restoring(self, agent, computer, answer, min(seconds, STALLED_SECONDS)).run(handles))


class _Restoring:
    """Restores the binaries of one answer."""

    def __init__(self, plan: Binaries, agent: str, computer: str, answer: dict[str, Any], seconds: float) -> None:
        self._plan = plan
        self._agent = agent
        self._computer = computer
        self._answer = answer
        self._seconds = seconds
        self._made: dict[int, Any] = {}
        self._notes: dict[int, str] = {}
        self._room = plan.most_bytes

    def run(self, handles: list[BlobItem]) -> Flow[ClientBackend, dict[str, Any]]:
        items = items_of(self._answer)
        if self._plan.open_file is not None:
            yield from self._save_inline(items, self._plan.open_file)
        else:
            handles = [item for item in handles if self._fits(item)]
        # A small binary is one request, and several are fetched at a time. A large one has all requests for itself.
        small = [item for item in handles if item.total_size is not None and item.total_size <= CHUNK_BYTES]
        large = [item for item in handles if item not in small]
        queue = iter(small)
        if small:
            yield from Together([self._fetch_all(queue) for _ in range(min(AT_ONCE, len(small)))])
        yield from self._fetch_all(iter(large))
        return _with_notes(replaced(self._answer, self._made), self._notes)

    def _fits(self, item: BlobItem) -> bool:
        """Whether a binary is put back; if not, why is noted."""
        size = item.total_size or 0
        if size <= self._room:
            self._room -= size
            return True
        problem = too_large(item.mime_type, size, self._plan.most_bytes)
        if "contents" in self._answer:
            raise TooLargeError(problem)
        self._notes[item.index] = f"[{problem}]"
        return False

    def _save_inline(self, items: list[Any], open_file: OpenFile) -> Flow[ClientBackend, None]:
        """Save the binaries that are in the answer: the program wants files, whichever way they came."""
        for index, item in enumerate(items):
            payload = payload_of(item)
            if payload:
                path = yield from Work(partial(_save, item, payload, open_file))
                self._made[index] = saved(item, path)

    def _fetch_all(self, queue: Iterator[BlobItem]) -> Flow[ClientBackend, None]:
        for item in queue:
            yield from self._fetch(item)

    def _fetch(self, item: BlobItem) -> Flow[ClientBackend, None]:
        plan, original = self._plan, items_of(self._answer)[item.index]
        blob = Blob(self._agent, self._computer, item.handle, item.total_size, item.sha256)
        if (open_file := plan.open_file) is not None:
            pace = Pace(UNLIMITED, self._seconds, plan.on_part)
            path = yield from download(blob, lambda facts: open_file(facts, item.uri, item.kind), pace)
            self._made[item.index] = saved(original, path)
            return
        is_known = item.total_size is not None
        pace = Pace(plan.most_bytes if is_known else self._room, self._seconds, plan.on_part)
        try:
            payload = yield from download(blob, AsBase64, pace)
        except TooLargeError as error:
            # Only the first part tells the size of a binary that the answer does not name.
            if is_known or "contents" in self._answer:
                raise
            self._notes[item.index] = f"[{error.message}]"
            return
        if not is_known:
            self._room -= decoded_size(payload)
        self._made[item.index] = filled(original, payload)


def _save(item: Any, payload: str, open_file: OpenFile) -> str:
    """Save a binary that is in an answer."""
    try:
        data = binascii.a2b_base64(payload)
    except ValueError:
        raise InvalidAnswerError("a picture, recording or file is not valid base64") from None
    sink = open_file(Facts(mime_type_of(item), len(data), ""), uri_of(item), kind_of(item))
    try:
        sink.put(0, data)
        return sink.take()
    except BaseException:
        sink.discard()
        raise


def _with_notes(answer: dict[str, Any], notes: Mapping[int, str]) -> dict[str, Any]:
    """A result of a tool with a text after each of these items."""
    if not notes:
        return answer
    content: list[Any] = []
    for index, item in enumerate(items_of(answer)):
        content.append(item)
        if index in notes:
            content.append(as_text(item, notes[index]))
    return {**answer, "content": content}
