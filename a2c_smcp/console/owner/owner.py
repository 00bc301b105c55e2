"""The owner's side of one Computer, for its whole life: its operations, its events, and a site for each address.

Each address that serves it has a `Site` of its own, because each decides differently who its users are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from a2c_smcp.computer.computer import Computer
from a2c_smcp.console.owner.answers import Answers
from a2c_smcp.console.owner.api import owner_operations
from a2c_smcp.console.owner.call_log import CallLog
from a2c_smcp.console.owner.events import TOPICS, Publisher
from a2c_smcp.console.web.access import Access
from a2c_smcp.console.web.operations import Kind, Link, Page
from a2c_smcp.console.web.site import Site
from a2c_smcp.console.web.streams import Feed

TITLE = "Computer"


class Owner:
    """The operations for one Computer, and its events."""

    def __init__(self, computer: Computer, log: CallLog) -> None:
        self.feed = Feed(dict.fromkeys(TOPICS))
        self.operations = owner_operations(Answers(computer, log, self.feed))
        self._computer = computer
        self._publisher = Publisher(computer, log, self.feed)

    def site(self, access: Access, pages: Sequence[Page] = (), console_url: str | None = None) -> Site:
        """The API, and pages, for the users that `access` knows. `console_url` is the console of the Server, if it
        belongs to the owner as well: whoever is logged in there gets in here."""
        kind = Kind("owner", TITLE, self.operations, pages, self._computer.name)
        if console_url is not None:
            kind = replace(kind, links=(Link("Server", console_url),), login_url=f"{console_url}computer")
        return Site(kind, access)

    def close(self) -> None:
        """End all streams."""
        self._publisher.close()
        self.feed.aclose()
