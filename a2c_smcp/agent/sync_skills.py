# Generated from a2c_smcp/agent/async_skills.py by scripts/generate_sync.py: change that, and run the script.
"""How both Agents use the skills of Computers, and upload files to them.

This is the form for programs without an event loop.
"""

from __future__ import annotations

import os

from a2c_smcp.agent.base import AgentBase
from a2c_smcp.agent.calling import CALL_SECONDS, REQUEST_SECONDS, OnUpload
from a2c_smcp.protocol import skill_requests
from a2c_smcp.smcp import GetSkillRet, SkillReference
from a2c_smcp.transport.sync_client import SyncOfficeClient


class SyncSkills(AgentBase, SyncOfficeClient):
    """The requests of an Agent about skills and uploads."""

    def skills(self, computer: str, timeout: float = REQUEST_SECONDS) -> list[SkillReference]:
        """Fetch the skills of a Computer: those of its owner, and those of its MCP servers.

        Raises:
            NotFoundError: there is no such Computer in the office.
            NotSupportedError: the Computer knows no skills.
            TimedOutError: there is no answer within `timeout` seconds.
            SMCPError: the request fails for another reason.
        """
        return self._run(skill_requests.get_skills(self.name, computer, timeout))

    def skill(
        self, computer: str, name: str, rel_path: str | None = None, timeout: float = REQUEST_SECONDS
    ) -> GetSkillRet:
        """Fetch the instructions of a skill, which are the text of its `SKILL.md`; or another file of it.

        `body` has the text, however long it is. Of a file that is no text, there is a `blob_handle` instead:
        `fetch_blob` and `save_blob` fetch it.

        Raises:
            MCPServerNotFoundError: the Computer has no such skill.
            SkillNameError: this cannot be the name of a skill.
            SkillFileError: the skill has no such file.
            TooLargeError: the text is larger than `max_restored_bytes` of this Agent.
            NotFoundError: there is no such Computer in the office.
            SMCPError: the request fails for another reason.
        """
        flow = skill_requests.get_skill(
            self.name, computer, name, rel_path, timeout, self._max_restored_bytes, self._on_download
        )
        return self._run(flow)

    def upload(
        self,
        computer: str,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        on_progress: OnUpload | None = None,
        timeout: float = CALL_SECONDS,
    ) -> str:
        """Upload a file to a Computer whose owner allows that; return its path there, for use as a parameter of tools.

        The file gets the name that it has here, or `name`; the Computer may change it. `on_progress` is called with an
        `Upload` for each part that has arrived, and must not wait. Each part has `timeout` seconds to arrive. An upload
        that fails or is cancelled leaves nothing at the Computer.

        Raises:
            UploadRefusedError: the Computer accepts no uploads, or not this one; `details["reason"]` says why.
            MalformedRequestError: the file is empty.
            NotFoundError: there is no such Computer in the office.
            TimedOutError: a part did not arrive in time.
            OSError: the file cannot be read.
            SMCPError: a request fails for another reason.
        """
        return self._run(self._uploading(computer, path, name, on_progress, timeout))
