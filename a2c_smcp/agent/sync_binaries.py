# Generated from a2c_smcp/agent/async_binaries.py by scripts/generate_sync.py: change that, and run the script.
"""How both Agents fetch binaries that an answer left out: into memory, or into a file.

This is the form for programs without an event loop.
"""

from __future__ import annotations

from pathlib import Path

from a2c_smcp.agent.base import AgentBase
from a2c_smcp.agent.blob_files import SaveTo
from a2c_smcp.agent.calling import REQUEST_SECONDS
from a2c_smcp.transport.sync_client import SyncOfficeClient


class SyncBinaries(AgentBase, SyncOfficeClient):
    """The requests of an Agent for binaries."""

    def fetch_blob(
        self, computer: str, handle: str, timeout: float = REQUEST_SECONDS, *, max_bytes: int | None = None
    ) -> bytes:
        """Fetch a binary by its handle (`a2c_blob_handle` in the `_meta` of an item of an answer).

        Answers have their binaries already, unless these are larger than `max_restored_bytes` of this Agent. Each part
        has `timeout` seconds to arrive. `max_bytes` limits the binary; without it, `max_restored_bytes` does.

        Raises:
            BlobUnavailableError: the Computer does not have it any more, or has it for another Agent.
            TooLargeError: it is larger than the limit.
            InvalidAnswerError: its hash is wrong.
            TimedOutError: a part did not arrive in time.
            NotFoundError: there is no such Computer in the office.
            SMCPError: the request fails for another reason.
        """
        return self._run(self._fetching_blob(computer, handle, timeout, max_bytes))

    def save_blob(self, computer: str, handle: str, save_to: SaveTo, timeout: float = REQUEST_SECONDS) -> Path:
        """Fetch a binary by its handle, and write it to a file; return the path. It is never in memory as a whole.

        `save_to` is a folder that exists, or whose path ends with `/`; or the path of a new file. A file that exists is
        not replaced. It raises what `fetch_blob` raises, except `TooLargeError`, and `OSError`.
        """
        return self._run(self._saving_blob(computer, handle, save_to, timeout))
