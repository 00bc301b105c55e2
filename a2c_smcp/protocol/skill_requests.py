"""The Agent's requests for skills, as flows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

from a2c_smcp import smcp
from a2c_smcp.protocol.answers import read_skill, read_skills
from a2c_smcp.protocol.blob_download import AsBytes, Blob, Download, Pace, download
from a2c_smcp.protocol.client_effects import ClientBackend
from a2c_smcp.protocol.flow import Flow
from a2c_smcp.protocol.requests import ask, new_id

_TEXT = re.compile(r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|toml|javascript|sql|x-sh)", re.IGNORECASE)


def get_skills(agent: str, computer: str, timeout: float) -> Flow[ClientBackend, list[smcp.SkillReference]]:
    """The skills of a Computer."""
    request = smcp.GetSkillsReq(agent=agent, req_id=new_id(), computer=computer)
    return (yield from ask(smcp.GET_SKILLS_EVENT, request, timeout, read_skills))


def get_skill(
    agent: str,
    computer: str,
    name: str,
    rel_path: str | None,
    timeout: float,
    most_bytes: int,
    on_part: Callable[[Download], None] | None,
) -> Flow[ClientBackend, smcp.GetSkillRet]:
    """A file of a skill. A text that is too long for the answer is fetched; anything else stays a handle."""
    request = smcp.GetSkillReq(agent=agent, req_id=new_id(), computer=computer, name=name)
    if rel_path is not None:
        request["rel_path"] = rel_path
    answer = yield from ask(smcp.GET_SKILL_EVENT, request, timeout, read_skill)
    handle = answer.get("blob_handle")
    if handle is None or _TEXT.fullmatch(answer["mime_type"].partition(";")[0].strip()) is None:
        return answer
    blob = Blob(agent, computer, handle, answer["total_size"], answer["sha256"])
    data: bytes = yield from download(blob, AsBytes, Pace(most_bytes, timeout, on_part))
    try:
        body = data.decode()
    except UnicodeDecodeError:
        return answer
    found = cast("dict[str, Any]", {key: value for key, value in answer.items() if key != "blob_handle"})
    return cast("smcp.GetSkillRet", {**found, "body": body})
