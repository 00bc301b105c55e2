"""Who meets whom, and what can be expected of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

from tests.interop.seat import OURS, VERSIONS
from tests.interop.table import Form

FORMS: tuple[Form, Form] = ("async", "sync")


@dataclass(frozen=True)
class Meeting:
    """A Server, a Computer and an Agent, each in the version of a release, or ours."""

    server: str
    computer: str
    agent: str
    server_form: Form = "async"
    agent_form: Form = "async"

    def __str__(self) -> str:
        agent, server = f"{self.agent_form} Agent {self.agent}", f"{self.server_form} Server {self.server}"
        return f"{agent}, Computer {self.computer}, {server}"

    @property
    def officials(self) -> set[str]:
        return {self.server, self.computer, self.agent} - {OURS}


AMONG_THEMSELVES = [Meeting(each, each, each, agent_form=form) for each in VERSIONS for form in FORMS]
"""The official peers of one release."""


def ours() -> Iterator[Meeting]:
    """Meetings in which we take part: next to each release in every seat, and between releases that cannot meet
    without us."""
    forms = cycle(FORMS)
    for each in VERSIONS:
        for form in FORMS:
            yield Meeting(OURS, each, each, agent_form=form)
            yield Meeting(OURS, OURS, each, agent_form=form)
        yield Meeting(OURS, each, each, "sync", next(forms))
        yield Meeting(OURS, each, OURS, agent_form=next(forms))
        yield Meeting(OURS, each, OURS, "sync", next(forms))
        yield Meeting(each, OURS, each, agent_form=next(forms))
        yield Meeting(each, each, OURS, agent_form="async")
        yield Meeting(each, each, OURS, agent_form="sync")
        yield Meeting(each, OURS, OURS, agent_form=next(forms))
    for computer, agent in (("0.1.6", "0.4.2"), ("0.4.2", "0.1.6"), ("0.2.2", "0.3.3"), ("0.3.3", "0.2.2")):
        yield Meeting(OURS, computer, agent, next(forms), next(forms))
    for each in ("0.1.6", "0.4.2"):
        yield Meeting(each, OURS, OURS, "sync", next(forms))
