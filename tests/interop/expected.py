"""What goes wrong between official peers of one release, and in which seat the reason is.

A step must succeed in every meeting that has no peer with such a fault in that seat, and no Server of ours that mends
it. That is more than what official peers complete among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.interop.meetings import Meeting
from tests.interop.seat import OURS, Role
from tests.interop.steps import STEPS

V1 = ("0.1.3", "0.1.6")
V1_V2 = (*V1, "0.2.2")
V1_V3 = (*V1_V2, "0.3.3")
EVERY = (*V1_V3, "0.4.2")


@dataclass(frozen=True)
class Fault:
    """Steps that fail because of the peers of some releases in one seat."""

    role: Role
    versions: tuple[str, ...]
    steps: tuple[str, ...]
    reason: str
    mended_for: tuple[str, ...] = ()
    """The Agents for which a Server of ours answers in its place."""


_BINARIES_AND_SKILLS = ("list_skills", "hear_that_there_is_no_such_skill", "hear_that_there_is_no_such_blob")
_V2_AGENTS = ("0.2.2", "0.3.3", "0.4.2")
FAULTS = (
    Fault("server", V1, ("get_the_configuration", "read_the_configuration"), "it does not relay the request"),
    Fault("server", V1, ("list_resources", *_BINARIES_AND_SKILLS), "it does not relay the requests"),
    Fault("server", V1, ("hear_that_there_is_no_such_computer",), "it answers no request that it rejects"),
    Fault("server", V1, ("get_a_large_picture",), "its messages are limited to 1 MB, and it knows no handles"),
    Fault("server", EVERY, ("give_a_large_picture",), "its messages are limited to 1 MB"),
    Fault("server", V1_V3, ("hear_that_nothing_may_be_uploaded",), "it knows no uploads"),
    Fault("computer", V1, ("cancel",), "it ignores the notification", mended_for=(OURS, *EVERY)),
    Fault("computer", V1, ("list_resources",), "it knows no such request"),
    Fault("computer", V1, _BINARIES_AND_SKILLS, "it knows no such request", mended_for=_V2_AGENTS),
    Fault("computer", V1_V3, ("hear_that_nothing_may_be_uploaded",), "it knows no uploads", mended_for=("0.4.2",)),
    Fault("computer", V1_V2, ("receive_tools_that_are_new",), "it does not announce them"),
    Fault("agent", V1_V2, ("receive_tools_that_are_new",), "it ignores the notification"),
    Fault("agent", V1, ("list_resources", *_BINARIES_AND_SKILLS), "it has no method for it"),
    Fault("agent", V1_V3, ("hear_that_nothing_may_be_uploaded",), "it has no method for it"),
    Fault("agent", V1_V2, ("read_the_configuration",), "it has no method for it"),
)


def faults(meeting: Meeting) -> Iterator[Fault]:
    """Those that nobody mends."""
    versions = {"server": meeting.server, "computer": meeting.computer, "agent": meeting.agent}
    for fault in FAULTS:
        is_mended = meeting.server == OURS and meeting.agent in fault.mended_for
        if versions[fault.role] in fault.versions and not is_mended:
            yield fault


def hopeless(meeting: Meeting) -> set[str]:
    """The steps that fail for a reason that is not ours."""
    return {step for fault in faults(meeting) for step in fault.steps}


def wanted(meeting: Meeting) -> list[str]:
    """The steps that must succeed."""
    return [step for step in STEPS if step not in hopeless(meeting)]
