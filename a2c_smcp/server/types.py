"""Types of the Server's public interface."""

from __future__ import annotations

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

from a2c_smcp.types import Role

OFFICE_ID: TypeAlias = str
SID: TypeAlias = str


class BaseSession(TypedDict):
    """One member of an office."""

    sid: SID
    name: str
    role: Role
    office_id: OFFICE_ID


class ComputerSession(TypedDict):
    """A Computer in an office."""

    sid: SID
    name: str
    role: Literal["computer"]
    office_id: OFFICE_ID


class AgentSession(TypedDict):
    """The Agent of an office."""

    sid: SID
    name: str
    role: Literal["agent"]
    office_id: OFFICE_ID


Session: TypeAlias = ComputerSession | AgentSession
