"""Binaries that a Computer hands out by handle, and that their Agents fetch in parts.

A handle belongs to the Agent that got it. What an Agent does not fetch expires, and everything of an Agent goes when it
leaves. Small binaries are kept in memory, others in a private temporary folder; both have a limit, at which the binary
that was used least recently goes.
"""

from __future__ import annotations

import asyncio
import binascii
import contextlib
import hashlib
import hmac
import logging
import secrets
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.errors import BlobUnavailableError, TooLargeError
from a2c_smcp.protocol.blob_items import cleaned, decoded_size, emptied, items_of, mime_type_of, payload_of, replaced

logger = logging.getLogger(__name__)

BLOB_BYTES = 1_000_000_000
"""Bytes of all files that are kept for Agents."""
MEMORY_BYTES = 32_000_000
"""Bytes of all binaries that are kept in memory."""
IN_MEMORY = 1_000_000
"""The largest binary that is kept in memory."""
KEPT_SECONDS = 600.0
"""Seconds after which a binary expires that no Agent fetches."""
AT_ONCE = 128 * 1024
"""Bytes that are decoded and hashed on the event loop: more would delay other calls."""
_PART = 1 << 20
"""Characters of base64 that are decoded at a time; a multiple of four."""
_TOKEN = 32
"""Characters of either half of a handle: a random one, and one that proves whom it was made for."""

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Blob:
    """A binary that is kept."""

    handle: str
    owner: tuple[str, str]
    """The office and the Agent that may fetch it."""
    mime_type: str
    size: int
    sha256: str
    held: bytes | Path
    """The bytes, or the file that has them."""
    expires: float = 0.0


@dataclass(slots=True)
class _Shelf:
    """The bytes that binaries take, in memory or on disk."""

    limit: int
    used: int = 0


class Blobs:
    """The binaries of one Computer. All of it belongs to one event loop.

    `disk_bytes` limits the files, and is the size of the largest binary; `memory_bytes` limits what is kept in memory.
    """

    def __init__(
        self, disk_bytes: int = BLOB_BYTES, *, memory_bytes: int = MEMORY_BYTES, seconds: float = KEPT_SECONDS
    ) -> None:
        self._memory, self._disk = _Shelf(memory_bytes), _Shelf(disk_bytes)
        self._seconds = seconds
        self._blobs: OrderedDict[str, Blob] = OrderedDict()
        """By handle; the one that was used least recently comes first, and expires first."""
        self._key = secrets.token_bytes(32)
        self._folder: Path | None = None
        self._folder_lock = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._working: set[asyncio.Task[Any]] = set()
        """Work with files, in threads. It ends before the folder is removed."""

    # ------------------------------------------------------------------------------------------------------ handing out

    async def hand_out(
        self, answer: Mapping[str, Any], caller: Caller, inline: int | None, room: int
    ) -> Mapping[str, Any]:
        """An answer with handles in place of binaries of more than `inline` bytes, and of those that take more than
        `room` together; with None, all binaries stay. Keys that only a Computer may write are removed in either case.
        """
        changed: dict[int, Any] = {}
        for index, item in enumerate(items_of(answer)):
            made = cleaned(item)
            payload = payload_of(made)
            if payload and inline is not None:
                room -= len(payload)
                if decoded_size(payload) > inline or room < 0:
                    made = await self._without_payload(made, payload, caller)
                    room += len(payload)
            if made is not item:
                changed[index] = made
        return replaced(answer, changed) if changed else answer

    async def _without_payload(self, item: Any, payload: str, caller: Caller) -> Any:
        """An item with a handle; the item itself, if its binary cannot be kept."""
        try:
            blob = await self.keep(caller, partial(_decoded, payload), decoded_size(payload), mime_type_of(item))
        except (TooLargeError, ValueError, OSError) as error:
            # It travels in the answer, as for an Agent that reads no handles.
            logger.warning("a binary of %d bytes gets no handle: %s", decoded_size(payload), error)
            return item
        return emptied(item, blob.handle, blob.size, blob.sha256)

    async def keep(self, caller: Caller, parts: Callable[[], Iterable[bytes]], most_bytes: int, mime_type: str) -> Blob:
        """Keep a binary, which has `most_bytes` at most. `parts` gives its parts in order; of a large one, in a thread.

        Raises:
            TooLargeError: this Computer keeps no binary of this size.
            ValueError, OSError: `parts` raises it, or the binary cannot be written.
        """
        shelf = self._memory if most_bytes <= min(IN_MEMORY, self._memory.limit) else self._disk
        if most_bytes > shelf.limit:
            raise TooLargeError(f"a binary of {most_bytes} bytes; this Computer keeps at most {shelf.limit}")
        handle = self._new_handle(caller)
        self._make_room(shelf, most_bytes)
        shelf.used += most_bytes  # before it is written: meanwhile, others must not take the same room
        try:
            held, size, sha256 = await self._write(handle, parts, most_bytes, in_memory=shelf is self._memory)
        except BaseException:
            shelf.used -= most_bytes
            raise
        shelf.used += size - most_bytes
        blob = Blob(handle, (caller.office_id, caller.agent), mime_type, size, sha256, held)
        self._use(blob)
        return blob

    async def _write(
        self, handle: str, parts: Callable[[], Iterable[bytes]], most_bytes: int, *, in_memory: bool
    ) -> tuple[bytes | Path, int, str]:
        if in_memory:
            if most_bytes <= AT_ONCE:
                return _collect(parts, most_bytes)
            return await self._in_thread(partial(_collect, parts, most_bytes))

        # Until the file is in the table, nothing else would remove it: a caller that is cancelled meanwhile cannot
        # stop the thread that writes it.
        def forget(written: asyncio.Task[tuple[Path, int, str]]) -> None:
            if not written.cancelled() and written.exception() is None:
                self._remove(written.result()[0])

        return await self._in_thread(lambda: _save(self._file(handle), parts, most_bytes), forget)

    def _file(self, handle: str) -> Path:
        """The file of a handle. Runs in a thread."""
        with self._folder_lock:
            if self._folder is None or not self._folder.is_dir():  # the system may have cleaned up
                self._folder = Path(tempfile.mkdtemp(prefix="a2c-blobs-"))  # readable by this user only
            return self._folder / handle

    # --------------------------------------------------------------------------------------------------------- fetching

    async def read(self, caller: Caller, handle: str, offset: int, most_bytes: int) -> tuple[Blob, bytes]:
        """A part of a binary from `offset` on, at most `most_bytes` long.

        Raises:
            BlobUnavailableError: the handle is unknown, or another Agent's; the binary has expired or was dropped; or
                it ends before `offset`.
        """
        blob = self._find(caller, handle)
        if not 0 <= offset <= blob.size or most_bytes < 1:
            raise _unavailable("range", f"the binary has {blob.size} bytes: no part of it begins at {offset}")
        self._use(blob)
        if isinstance(blob.held, bytes):
            return blob, blob.held[offset : offset + most_bytes]
        try:
            return blob, await self._in_thread(partial(_part_of, blob.held, offset, most_bytes))
        except OSError as error:  # the system may have cleaned up; or it was dropped at this moment
            logger.debug("a binary cannot be read: %s", error)
            self._drop(blob)
            raise _unavailable("gone", "the binary is not kept any more") from None

    def _find(self, caller: Caller, handle: str) -> Blob:
        blob = self._blobs.get(handle)
        if blob is None:
            # A handle proves whom it was made for, so that no list of dropped handles is needed.
            if hmac.compare_digest(_bytes(handle), _bytes(self._signed(handle[:_TOKEN], caller))):
                raise _unavailable("gone", "the binary has expired or was dropped; request it again")
            raise _unavailable("invalid_handle", "this Computer has no binary with this handle")
        if blob.owner != (caller.office_id, caller.agent):
            raise _unavailable("forbidden", "the binary belongs to another Agent")
        return blob

    def _new_handle(self, caller: Caller) -> str:
        return self._signed(secrets.token_hex(_TOKEN // 2), caller)

    def _signed(self, token: str, caller: Caller) -> str:
        signed = "\0".join((token, caller.office_id, caller.agent))
        return token + hmac.digest(self._key, _bytes(signed), "sha256").hex()[:_TOKEN]

    # --------------------------------------------------------------------------------------------------------- dropping

    def drop(self, office_id: str, agent: str | None = None) -> None:
        """Drop the binaries of an office, or of one Agent there."""
        for blob in list(self._blobs.values()):
            if blob.owner[0] == office_id and agent in (None, blob.owner[1]):
                self._drop(blob)

    async def aclose(self) -> None:
        """Drop everything, and remove the folder."""
        for blob in list(self._blobs.values()):
            self._drop(blob)
        while self._working:
            await asyncio.wait(self._working)
        folder, self._folder = self._folder, None
        if folder is not None:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _use(self, blob: Blob) -> None:
        """A binary was handed out or fetched: it stays longer."""
        blob.expires = time.monotonic() + self._seconds
        self._blobs[blob.handle] = blob
        self._blobs.move_to_end(blob.handle)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = time.monotonic()
        while self._blobs and (first := next(iter(self._blobs.values()))).expires <= now:
            self._drop(first)
        if self._blobs:
            wait = next(iter(self._blobs.values())).expires - now
            self._timer = asyncio.get_running_loop().call_later(wait, self._expire)

    def _make_room(self, shelf: _Shelf, size: int) -> None:
        if shelf.used + size <= shelf.limit:
            return
        for blob in list(self._blobs.values()):
            if isinstance(blob.held, bytes) == (shelf is self._memory):
                self._drop(blob)
                if shelf.used + size <= shelf.limit:
                    return
        # What is left is being written just now.
        raise TooLargeError(f"no room for a binary of {size} bytes: others are being written")

    def _drop(self, blob: Blob) -> None:
        if self._blobs.pop(blob.handle, None) is None:
            return
        if isinstance(blob.held, bytes):
            self._memory.used -= blob.size
        else:
            self._disk.used -= blob.size
            self._remove(blob.held)
        if not self._blobs and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _remove(self, file: Path) -> None:
        self._start(partial(file.unlink, missing_ok=True))

    # ---------------------------------------------------------------------------------------------------------- threads

    async def _in_thread(
        self, function: Callable[[], T], on_abandoned: Callable[[asyncio.Task[T]], None] | None = None
    ) -> T:
        """Run a function in a thread. `on_abandoned` is called at its end if the caller was cancelled meanwhile."""
        work = self._start(function)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if on_abandoned is not None:
                work.add_done_callback(on_abandoned)
            raise

    def _start(self, function: Callable[[], T]) -> asyncio.Task[T]:
        async def run() -> T:
            return await asyncio.to_thread(function)

        task = asyncio.create_task(run(), name="binaries of a Computer")
        self._working.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._working.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), OSError):
            logger.debug("work with a file failed: %s", error)


def whole(data: bytes) -> Callable[[], Iterable[bytes]]:
    """A binary that is in memory, for `Blobs.keep`."""
    return lambda: (data,)


def _decoded(payload: str) -> Iterator[bytes]:
    """The parts of a binary in base64.

    Raises:
        ValueError: it is not valid base64.
    """
    if "\n" in payload:  # some MCP servers write it in lines
        payload = "".join(payload.split())
    for start in range(0, len(payload), _PART):
        part = payload[start : start + _PART]
        if part.endswith("=") and start + _PART < len(payload):
            raise ValueError("base64 goes on after its end")
        yield binascii.a2b_base64(part, strict_mode=True)


def _collect(parts: Callable[[], Iterable[bytes]], most_bytes: int) -> tuple[bytes, int, str]:
    data = b"".join(_bounded(parts(), most_bytes))
    return data, len(data), hashlib.sha256(data).hexdigest()


def _save(path: Path, parts: Callable[[], Iterable[bytes]], most_bytes: int) -> tuple[Path, int, str]:
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("xb") as file:
            for part in _bounded(parts(), most_bytes):
                digest.update(part)
                size += file.write(part)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        raise
    return path, size, digest.hexdigest()


def _bounded(parts: Iterable[bytes], most_bytes: int) -> Iterator[bytes]:
    """The parts, as long as they are no more than was promised."""
    size = 0
    for part in parts:
        size += len(part)
        if size > most_bytes:
            raise ValueError(f"more than the promised {most_bytes} bytes")
        yield part


def _part_of(path: Path, offset: int, most_bytes: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(most_bytes)


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")  # a handle is what an Agent sends, which may not be valid Unicode


def _unavailable(reason: str, message: str) -> BlobUnavailableError:
    return BlobUnavailableError(message, details={"reason": reason})
