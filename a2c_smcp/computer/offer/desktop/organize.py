"""The rules of the Desktop: which windows are shown, in which order, and how each is rendered. Pure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Generic, Protocol, TypeVar

from a2c_smcp.computer.offer.server_order import UsedServers, in_order_of_use
from a2c_smcp.smcp import Desktop, ResourceContents
from a2c_smcp.utils.window_uri import WindowURI

logger = logging.getLogger(__name__)


class Placed(Protocol):
    """A window whose address gives its place."""

    @property
    def priority(self) -> int:
        """Windows with a higher priority come first."""
        ...

    @property
    def fullscreen(self) -> bool:
        """Whether it is shown alone."""
        ...


P = TypeVar("P", bound=Placed)


@dataclass(frozen=True, slots=True)
class Window:
    """A window as its MCP server shows it."""

    server: str
    uri: str
    contents: Sequence[ResourceContents]
    priority: int = 0
    """As its annotations say, for an address that does not."""
    fullscreen: bool = False
    """As its metadata says, for an address that does not."""


@dataclass(frozen=True, slots=True)
class Pane:
    """A window that can be shown: parsed and rendered once, for all requests."""

    server: str
    uri: str
    priority: int
    fullscreen: bool
    rendered: Desktop


class Screen(Generic[P]):
    """One server's windows, given in listing order, in the order in which they are shown."""

    def __init__(self, windows: Iterable[P] = ()) -> None:
        self._fullscreen: list[P] = []
        self._others: list[P] = []
        for window in windows:
            (self._fullscreen if window.fullscreen else self._others).append(window)
        self._others.sort(key=lambda window: -window.priority)  # stable: equal priorities stay in listing order

    def shown(self, is_out: Callable[[P], bool]) -> Iterator[P]:
        """The windows that are shown, without those that are out: one fullscreen window alone, else all."""
        alone = next((window for window in self._fullscreen if not is_out(window)), None)
        if alone is not None:
            yield alone
        else:
            yield from (window for window in self._others if not is_out(window))


def line_up(
    screens: Mapping[str, Screen[P]], is_out: Callable[[P], bool], size: int | None, history: UsedServers | None
) -> list[P]:
    """The windows that an Agent sees, in order: at most `size`, unless it is None."""
    shown = chain.from_iterable(screens[server].shown(is_out) for server in in_order_of_use(screens, history))
    return list(islice(shown, None if size is None else max(size, 0)))


def render(window: Window) -> Pane | None:
    """A window ready to be shown; None if it has no text."""
    try:
        address = WindowURI(window.uri)
    except ValueError as error:
        logger.warning("the window %s of %s is left out: %s", window.uri, window.server, error)
        return None
    texts = [text for part in window.contents if isinstance(text := part.get("text"), str)]
    if len(texts) < len(window.contents):
        logger.warning("parts of the window %s of %s are no text and not shown", window.uri, window.server)
    if not texts:
        return None
    body = "\n\n".join(texts)
    rendered = f"{window.uri}\n\n{body}" if body else window.uri
    priority = window.priority if address.priority is None else address.priority
    fullscreen = window.fullscreen if address.fullscreen is None else address.fullscreen
    return Pane(window.server, window.uri, priority, fullscreen, rendered)


def organize_desktop(
    windows: Iterable[Window], size: int | None = None, history: UsedServers | None = None
) -> list[Desktop]:
    """Filter, order and render windows; `windows` are in listing order, `history` in order of time."""
    if size is not None and size <= 0:
        return []
    by_server: dict[str, list[Pane]] = {}
    for window in windows:
        if (pane := render(window)) is not None:
            by_server.setdefault(pane.server, []).append(pane)
    screens = {server: Screen(panes) for server, panes in by_server.items()}
    return [pane.rendered for pane in line_up(screens, lambda _: False, size, history)]
