"""A document: a file of the folder, and what is known of it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from a2c_documents.folder import Stamp
from a2c_smcp.errors import DocumentNotFoundError


@dataclass(eq=False, slots=True)
class Document:
    """One file. Digest and facts are of its last good state."""

    path: Path
    relative: str
    ref: str
    stamp: Stamp
    """The file as it was last looked at: what differs from it is news."""
    read_at: Stamp | None = None
    """The file as it was read."""
    tried_at: Stamp | None = None
    """The file as it was when somebody last tried to read it; that may have failed."""
    digest: str | None = None
    facts: dict[str, Any] | None = None
    told: str | None = None
    """The content that those who listen for changes know of."""
    is_outdated: bool = False
    """The file has changed since it was read, or may be readable by now."""
    retry_at: float | None = None
    """When it may be tried again, where reading it failed for no clear reason; by a clock that only goes on."""
    problem_now: str | None = None
    """Why it cannot be read as it is now, though it could be before."""
    reading: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    @property
    def is_unread(self) -> bool:
        """Whether somebody should read it before it is spoken of."""
        is_due = self.retry_at is not None and time.monotonic() >= self.retry_at
        return self.facts is None or self.is_outdated or is_due

    @property
    def title(self) -> str:
        """What it is called: by itself, or else by its name."""
        return (self.facts or {}).get("title") or Path(self.relative).name

    @property
    def page_titles(self) -> list[str]:
        """One for each page."""
        return (self.facts or {}).get("page_titles") or [""]

    @property
    def is_good(self) -> bool:
        """Whether it could be read."""
        return self.facts is not None and not self.facts.get("problem")

    @property
    def problem(self) -> str | None:
        """Why it cannot be read; None when it can."""
        if self.facts is None:
            return "it could not be read"
        return self.problem_now or self.facts.get("problem")

    def note(self, stamp: Stamp) -> bool:
        """The file looks different now. Whether it was edited; otherwise it may have been replaced, or not at all."""
        is_edit = stamp.is_edit_of(self.stamp)
        self.stamp = stamp
        self.expect(stamp)
        if is_edit:
            self.told = None if self.is_outdated else self.digest
        return is_edit

    def expect(self, stamp: Stamp) -> None:
        """The file looks like this, and is to be read unless it was."""
        if self.tried_at != stamp:
            self.is_outdated, self.retry_at = True, None


def gone(document: Document) -> DocumentNotFoundError:
    """The error for a document whose file went."""
    return DocumentNotFoundError(f"{document.ref} is not there any more", details={"doc_ref": document.ref})
