"""Offices as immutable values, and every rule about which members an office may have.

A decision never looks at a whole office. It reads the two seats that matter: the Agent's, and the one with the name in
question. Joining an office of two thousand members therefore costs as much as joining an office of two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from a2c_smcp.errors import ForbiddenError, InAnotherOfficeError, NameTakenError, NotInOfficeError, OfficeFullError
from a2c_smcp.protocol.dialects.known import HOME, PLAIN
from a2c_smcp.smcp import EnterOfficeNotification, SessionInfo
from a2c_smcp.types import Role


@dataclass(frozen=True, slots=True)
class Member:
    """A connection that has joined an office. After it leaves, it keeps its role but not its name."""

    sid: str
    name: str
    role: Role
    office_id: str | None
    dialect: str = PLAIN.name
    """The name of the dialect that it speaks. Another node of a cluster may be of another version and know others."""
    version: str | None = None
    """The version that it named when it connected: of the protocol, or of this project if it is one of ours."""

    @property
    def office(self) -> str:
        """The office it is in.

        Raises:
            NotInOfficeError: it is in none.
        """
        if self.office_id is None:
            raise NotInOfficeError("join an office first")
        return self.office_id

    def to_session(self) -> SessionInfo:
        """The wire form."""
        session: SessionInfo = {"sid": self.sid, "name": self.name, "role": self.role, "office_id": self.office}
        if self.version is not None and self.dialect == HOME.name:
            session["a2c_stack"] = self.version
        elif self.version is not None:
            session["a2c_version"] = self.version
        return session

    def to_notice(self) -> EnterOfficeNotification:
        """The data of the notification that it enters or leaves."""
        if self.role == "agent":
            return {"office_id": self.office, "agent": self.name}
        return {"office_id": self.office, "computer": self.name}


@dataclass(frozen=True, slots=True)
class Office:
    """An office as one decision sees it: its Agent, and the member that has a certain name in it."""

    id: str
    agent: Member | None = None
    namesake: Member | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A change of one member's place, decided on facts that may change before it is applied.

    A registry compares and sets: it applies the move only if `before` and `seen` are still as they were read, and
    otherwise changes nothing, so that the flow reads again and decides again. Two clients that want the same name at
    the same moment cannot both get it, whether the registry is a dict under a lock or a database of several nodes, and
    no lock is held while a flow waits.
    """

    before: Member | None
    """The member of the connection as it was read."""
    after: Member | None
    """The member that replaces it; None forgets the connection."""
    seen: Office | None = None
    """The office to enter, as it was read; None if the member enters none."""


def admit(sender: Member | None, newcomer: Member, office: Office) -> Move | None:
    """Decide a join; None when the sender is in that office already.

    Raises:
        ForbiddenError: the role differs from the connection's, the name is taken, or an Agent is in another office.
        OfficeFullError: the office has another Agent.
    """
    if sender is not None:
        if sender.role != newcomer.role:
            raise ForbiddenError(f"this connection joined as {sender.role}, it cannot become {newcomer.role}")
        if sender.office_id == office.id:
            # Joining again is a success and changes nothing. A change of name is not: members address a Computer by its
            # name, and a notification that it changed does not exist.
            if sender.name != newcomer.name:
                raise ForbiddenError(f"already in this office as {sender.name!r}: leave before changing the name")
            return None
        if sender.role == "agent" and sender.office_id is not None:
            raise InAnotherOfficeError(
                f"an Agent is in one office at a time: leave {sender.office_id!r} first",
                details={"office_id": sender.office_id},
            )
    # The error names the Agent. The flow has checked the grant for this office by now, so only a client that may join
    # the office learns the name.
    seat = {"office_id": office.id, "role": newcomer.role}
    if newcomer.role == "agent" and office.agent is not None:
        incumbent = office.agent.name
        message = f"office {office.id!r} already has an Agent: {incumbent!r}"
        raise OfficeFullError(message, details={**seat, "agent": incumbent})
    # Agents and Computers share the names of an office.
    if office.namesake is not None:
        raise NameTakenError(f"the name {newcomer.name!r} is taken in office {office.id!r}", details=seat)
    return Move(sender, newcomer, office)


def dismiss(member: Member) -> Move:
    """The move of a member that leaves its office and stays connected."""
    return Move(member, replace(member, office_id=None))
