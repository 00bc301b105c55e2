"""Files that Agents upload into the landing folder of the owner's.

An upload is a hidden temporary file in that folder until all of it has arrived and its hash is right. Then it gets its
name, which no other file has: nothing is ever overwritten. An upload that is abandoned is removed: when no part arrives
in time, when its Agent leaves, and when the Computer stops.
"""

from __future__ import annotations

import asyncio
import binascii
import logging
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from a2c_smcp.computer.offer.confirmation import Caller
from a2c_smcp.computer.offer.landing import PartialFile, remove_leftovers
from a2c_smcp.errors import UploadRefusedError
from a2c_smcp.smcp import PutBlobReq, PutBlobRet
from a2c_smcp.utils.text import one_line
from a2c_smcp.utils.threads import in_thread

logger = logging.getLogger(__name__)

MAX_BYTES = 100 * 1024 * 1024
"""The largest upload."""
AT_ONCE = 4
"""Uploads at the same time."""
IDLE_SECONDS = 120.0
"""Seconds without a new part after which an upload is abandoned."""
WORK_SECONDS = 45.0
"""Seconds for the disk to take a part: less than the Server waits for this Computer."""
END_SECONDS = 5.0
"""Seconds that the Computer waits at its end for the disk to remove files."""
MAX_HINT = 1_000
"""Characters of a `name_hint`."""

_SHA256 = re.compile("[0-9a-fA-F]{64}")
_DECLARATIONS = ("total_size", "sha256", "name_hint")

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Upload:
    upload_id: str
    owner: tuple[str, str]
    """The office and the Agent that may go on with it."""
    total_size: int
    sha256: str
    name_hint: str
    file: PartialFile
    received: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    timer: asyncio.TimerHandle | None = None


class Uploads:
    """The uploads of one Computer. Without a folder, all are rejected."""

    def __init__(
        self,
        folder: Path | None,
        *,
        max_bytes: int = MAX_BYTES,
        at_once: int = AT_ONCE,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self.folder = folder
        """The landing folder; None if uploads are off."""
        self.received = 0
        """Files that have arrived."""
        self._max_bytes = max_bytes
        self._at_once = at_once
        self._idle_seconds = idle_seconds
        self._uploads: dict[str, _Upload] = {}
        self._beginning = 0
        self._removals: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> int:
        """Uploads that have begun and not ended."""
        return len(self._uploads)

    def start(self) -> None:
        """Remove what an earlier process has left, in the background."""
        if self.folder is not None:
            # Another Computer may use the same folder: what is still being written is left alone.
            self._remove(partial(remove_leftovers, self.folder, 2 * self._idle_seconds))

    async def put(self, data: PutBlobReq, caller: Caller) -> PutBlobRet:
        """Take a part of an upload.

        Raises:
            UploadRefusedError: `details.reason` says why. After `integrity` and `io_error`, the upload is over.
        """
        if self.folder is None:
            raise _refused("forbidden", "this Computer accepts no uploads")
        upload_id = data.get("upload_id")
        try:
            async with asyncio.timeout(WORK_SECONDS):
                if upload_id is None:
                    upload = await self._begin(data, caller, self.folder)
                else:
                    upload = self._find(upload_id, data, caller)
                async with upload.turn:
                    if upload.upload_id not in self._uploads:  # it ended while this part waited for its turn
                        raise _refused("invalid_upload", "the upload has ended")
                    return await self._take(upload, data)
        except TimeoutError:
            raise _refused("io_error", "the disk of this Computer does not answer") from None

    async def _begin(self, data: PutBlobReq, caller: Caller, folder: Path) -> _Upload:
        """Accept a new upload, by its first part."""
        size, sha256, hint = data.get("total_size"), data.get("sha256"), data.get("name_hint") or ""
        if size is None or size < 1 or sha256 is None or _SHA256.fullmatch(sha256) is None or len(hint) > MAX_HINT:
            problem = "the first part declares a total_size of at least 1, and a sha256 in hex"
            raise _refused("invalid_declaration", problem)
        if data["chunk_offset"] != 0:
            raise _refused("range", "the first part begins at 0", chunk_offset=0)
        if size > self._max_bytes:
            problem = f"{size} bytes; at most {self._max_bytes} are accepted"
            raise _refused("too_large", problem, max_bytes=self._max_bytes)
        if len(self._uploads) + self._beginning >= self._at_once:
            raise _refused("busy", f"{self._at_once} uploads are running; try again later")
        self._beginning += 1
        file = PartialFile(folder, size)
        try:
            await self._work(file.open)
        except BaseException:
            self._remove(file.discard)  # also if the disk answers only now
            raise
        finally:
            self._beginning -= 1
        owner = caller.office_id, caller.agent
        upload = _Upload(secrets.token_hex(16), owner, size, sha256.lower(), hint, file)
        self._uploads[upload.upload_id] = upload
        logger.info(
            "%s uploads a file of %d bytes (%s)", one_line(caller.agent), size, one_line(hint, 100) or "no name"
        )
        return upload

    def _find(self, upload_id: str, data: PutBlobReq, caller: Caller) -> _Upload:
        upload = self._uploads.get(upload_id)
        if upload is None:
            raise _refused("invalid_upload", "there is no such upload, or it has ended")
        if upload.owner != (caller.office_id, caller.agent):
            raise _refused("forbidden", "it is the upload of another Agent")
        if any(data.get(name) is not None for name in _DECLARATIONS):
            raise _refused("invalid_declaration", "only the first part declares size, hash and name")
        return upload

    async def _take(self, upload: _Upload, data: PutBlobReq) -> PutBlobRet:
        self._hold(upload)
        try:
            await self._append(upload, data)
            answer = PutBlobRet(upload_id=upload.upload_id, chunk_offset=upload.received, req_id=data["req_id"])
            if data["eof"]:
                landed = await self._work(partial(upload.file.land, upload.sha256, upload.name_hint))
                self._end(upload, landed)
                answer["landing_path"] = str(landed)
                answer["total_size"], answer["sha256"] = upload.total_size, upload.sha256
        except UploadRefusedError as error:
            # Its Agent cannot go on with an upload whose first part was rejected: it does not know the id.
            is_over = error.details is not None and error.details["reason"] in ("integrity", "io_error")
            if is_over or not upload.received:
                self._abandon(upload, error.message)
            raise
        except BaseException:  # cancelled: a thread may still be writing, so what the file has is not known
            self._abandon(upload, "it was interrupted")
            raise
        finally:
            if upload.upload_id in self._uploads:
                call_later = asyncio.get_running_loop().call_later
                upload.timer = call_later(self._idle_seconds, self._abandon, upload, "no part arrives any more")
        return answer

    async def _append(self, upload: _Upload, data: PutBlobReq) -> None:
        """Write a part, if it is the next one."""
        received, offset = upload.received, data["chunk_offset"]
        # Base64 has four characters for three bytes; a text that is far too long need not be decoded.
        most = (len(data["blob"]) + 3) // 4 * 3
        if offset != received or most > upload.total_size - received + 2:
            problem = f"{received} of {upload.total_size} bytes are here; the next part begins there"
            raise _refused("range", problem, chunk_offset=received)
        part = await self._work(partial(_decoded, data["blob"]))
        end = received + len(part)
        if end > upload.total_size or (data["eof"] and end < upload.total_size) or (not part and not data["eof"]):
            problem = f"{upload.total_size - received} bytes are missing, and this part has {len(part)}"
            raise _refused("range", problem, chunk_offset=received)
        await self._work(partial(upload.file.append, part))
        upload.received = end

    async def _work(self, function: Callable[[], T]) -> T:
        """Work with the disk, in a thread.

        Raises:
            UploadRefusedError: it failed.
        """
        try:
            return await in_thread(function)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            logger.warning("an upload fails: %s", reason)
            # Without the path: the Agent learns only where its own file is.
            raise _refused("io_error", f"the file cannot be written: {reason}") from None

    # ----------------------------------------------------------------------------------------------------------- ending

    def drop(self, office_id: str, agent: str | None = None) -> None:
        """Abandon the uploads of an office, or of one Agent there."""
        for upload in list(self._uploads.values()):
            if upload.owner[0] == office_id and agent in (None, upload.owner[1]):
                self._abandon(upload, "its Agent left")

    async def aclose(self) -> None:
        """Abandon all uploads."""
        for upload in list(self._uploads.values()):
            self._abandon(upload, "the Computer stops")
        if self._removals:
            await asyncio.wait(self._removals, timeout=END_SECONDS)

    def _end(self, upload: _Upload, landed: Path) -> None:
        self._uploads.pop(upload.upload_id, None)
        self.received += 1
        logger.info("%s uploaded %s (%d bytes)", one_line(upload.owner[1]), one_line(str(landed)), upload.total_size)

    def _abandon(self, upload: _Upload, reason: str) -> None:
        self._hold(upload)
        if self._uploads.pop(upload.upload_id, None) is not None:
            logger.warning("an upload of %s is abandoned: %s", one_line(upload.owner[1]), reason)
            self._remove(upload.file.discard)

    def _hold(self, upload: _Upload) -> None:
        if upload.timer is not None:
            upload.timer.cancel()
            upload.timer = None

    def _remove(self, function: Callable[[], None]) -> None:
        """Remove files, in the background."""

        async def remove() -> None:
            try:
                await in_thread(function)
            except OSError as error:
                logger.warning("a file of an upload cannot be removed: %s", error.strerror or error)

        task = asyncio.create_task(remove(), name="remove an upload")
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)


def _decoded(blob: str) -> bytes:
    try:
        return binascii.a2b_base64(blob, strict_mode=True) if blob else b""
    except ValueError:
        raise _refused("integrity", "a part is not valid base64") from None


def _refused(reason: str, message: str, **details: Any) -> UploadRefusedError:
    return UploadRefusedError(message, details={"reason": reason, **details})
