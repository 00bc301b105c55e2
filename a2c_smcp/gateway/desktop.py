"""`look_at_desktop`: the windows of an office within a budget of tokens, what changed since an earlier look first."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

MOST_LOOKS = 256
"""Looks that are remembered in an office; older cursors are unknown."""
CHARACTERS = 4
"""Characters that are counted as a token. Models differ, and a budget is an estimate."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window of a Computer, as the Desktop renders it."""

    computer: str
    text: str

    @property
    def uri(self) -> str:
        """Its address: the first line."""
        return self.text.partition("\n")[0]

    @property
    def tokens(self) -> int:
        """Its size, about."""
        return -(-len(self.text) // CHARACTERS)

    @property
    def digest(self) -> bytes:
        """Changes with the content."""
        return sha256(self.text.encode("utf-8", "surrogatepass")).digest()[:12]


class Looks:
    """What hosts saw at their last looks, by the cursor that each look was given."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, dict[tuple[str, str], bytes]] = OrderedDict()

    def show(
        self, desktops: Mapping[str, Sequence[str]], max_tokens: int, since: str | None, failures: Mapping[str, str]
    ) -> str:
        """The windows as a text: as many as fit, the rest as a list, and the cursor of this look."""
        windows = [Window(computer, text) for computer, texts in desktops.items() for text in texts]
        before = self._seen.get(since) if since is not None else None
        notes = [f"{computer} did not answer: {problem}" for computer, problem in failures.items()]
        if since is not None and before is None:
            notes.append("The cursor is unknown or too old: everything is shown.")
        changed, same = windows, list[Window]()
        if before is not None:
            changed = [window for window in windows if before.get((window.computer, window.uri)) != window.digest]
            same = [window for window in windows if before.get((window.computer, window.uri)) == window.digest]
            there = {(window.computer, window.uri) for window in windows}
            notes += [f"Closed: {uri} of {computer}" for computer, uri in before if (computer, uri) not in there]
        shown, left = _fitting(changed, max_tokens)
        parts = [_part(window, is_named=len(desktops) > 1) for window in shown]
        if left:
            parts.append("\n".join(["Not shown, for lack of room:", *map(_line, left)]))
        if same:
            parts.append("\n".join(["Unchanged:", *map(_line, same)]))
        if not windows and not failures:
            parts.append("There are no windows.")
        elif before is not None and not changed:
            parts.append("Nothing changed.")
        # Only what was shown counts as seen: a window without room is shown when there is room, changed or not.
        seen = {(window.computer, window.uri): window.digest for window in (*shown, *same)}
        return "\n\n---\n\n".join([*parts, *notes, f"Cursor: {self._remember(seen)}"])

    def _remember(self, seen: dict[tuple[str, str], bytes]) -> str:
        cursor = secrets.token_hex(4)
        self._seen[cursor] = seen
        while len(self._seen) > MOST_LOOKS:
            self._seen.popitem(last=False)
        return cursor


def _fitting(windows: Sequence[Window], max_tokens: int) -> tuple[list[Window], list[Window]]:
    """The windows that fit, in their order, and the others. A small window may fit after a large one that does not."""
    shown: list[Window] = []
    left: list[Window] = []
    room = max_tokens
    for window in windows:
        if window.tokens <= room:
            room -= window.tokens
            shown.append(window)
        else:
            left.append(window)
    return shown, left


def _part(window: Window, *, is_named: bool) -> str:
    return f"[{window.computer}] {window.text}" if is_named else window.text


def _line(window: Window) -> str:
    return f"- {window.uri} of {window.computer}, about {window.tokens} tokens"
