"""`look_at_desktop`: the windows of an office within a budget of tokens, what changed since an earlier look first."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

MOST_LOOKS = 256
"""Looks that are remembered in a view of an office; older cursors are unknown."""
MOST_LINES = 100
"""Windows that a list names; of more, it says how many."""
CHARACTERS = 4
"""Characters that are counted as a token. Models differ, and a budget is an estimate."""

Key: TypeAlias = tuple[str, str]
"""A Computer, and the address of a window there."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window of a Computer, as the Desktop renders it."""

    computer: str
    text: str

    @property
    def key(self) -> Key:
        """What tells it from other windows."""
        return self.computer, self.uri

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
        self._seen: OrderedDict[str, dict[Key, bytes]] = OrderedDict()

    def show(
        self,
        desktops: Mapping[str, Sequence[str]],
        max_tokens: int,
        since: str | None = None,
        failures: Mapping[str, str] | None = None,
        window: str | None = None,
    ) -> str:
        """The windows as a text: as many as fit, the rest as a list, and the cursor of this look.

        `desktops` has the windows of the Computers that were asked and answered, `failures` why the others did not. If
        only one window was asked for, it is `window`; it is cut off if it does not fit.
        """
        failures = failures or {}
        windows = [Window(computer, text) for computer, texts in desktops.items() for text in texts]
        before = self._seen.get(since) if since is not None else None
        notes = [f"{computer} did not answer: {problem}" for computer, problem in failures.items()]
        if since is not None and before is None:
            notes.append("The cursor is unknown or too old: everything is shown.")
        known = before or {}
        # What was not looked at now is neither open nor closed.
        looked_at = {key for key in known if key[0] in desktops and window in (None, key[1])}
        changed = [each for each in windows if known.get(each.key) != each.digest]
        same = [each for each in windows if known.get(each.key) == each.digest]
        closed = looked_at - {each.key for each in windows}
        shown, left = _fitting(changed, max_tokens)
        is_named = len(desktops) + len(failures) > 1
        parts = [_part(each.computer, each.text, is_named=is_named) for each in shown]
        if window is not None and left and not shown:
            parts += [_part(each.computer, _cut(each, max_tokens), is_named=is_named) for each in left[:1]]
        elif left:
            parts.append(_list("Not shown, because they exceed max_tokens (look at one with window):", left))
        if same:
            parts.append(_list("Unchanged:", same))
        if not windows and desktops:
            parts.append("There are no windows." if window is None else "There is no such window.")
        elif before is not None and not changed:
            parts.append("Nothing changed.")
        if closed:
            lines = [f"- {uri} of {computer}" for computer, uri in sorted(closed)]
            parts.append("\n".join(["Closed:", *_most(lines)]))
        # Only what was shown counts as seen: a window without room is shown when there is room, changed or not.
        unseen = {key: seen for key, seen in known.items() if key not in looked_at}
        seen = unseen | {each.key: each.digest for each in (*shown, *same)}
        return "\n\n---\n\n".join([*parts, *notes, f"Cursor: {self._remember(seen)}"])

    def _remember(self, seen: dict[Key, bytes]) -> str:
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


def _cut(window: Window, max_tokens: int) -> str:
    """As much of a window as fits."""
    most = max_tokens * CHARACTERS
    return f"{window.text[:most]}\n\n[{len(window.text) - most} more characters: raise max_tokens]"


def _part(computer: str, text: str, *, is_named: bool) -> str:
    return f"[{computer}] {text}" if is_named else text


def _list(heading: str, windows: Sequence[Window]) -> str:
    lines = [f"- {each.uri} of {each.computer}, about {each.tokens} tokens" for each in windows]
    return "\n".join([heading, *_most(lines)])


def _most(lines: list[str]) -> list[str]:
    return lines if len(lines) <= MOST_LINES else [*lines[:MOST_LINES], f"- and {len(lines) - MOST_LINES} more"]
