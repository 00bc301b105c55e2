"""The Desktop's rules: which windows are shown, in which order, and how each is rendered. Pure."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from a2c_smcp.computer.order import UsedServers, in_order_of_use
from a2c_smcp.smcp import Desktop, ResourceContents
from a2c_smcp.utils.window_uri import WindowURI

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Window:
    """A window as its MCP server shows it."""

    server: str
    uri: str
    contents: Sequence[ResourceContents]


@dataclass(frozen=True, slots=True)
class Pane:
    """A window that can be shown: parsed and rendered once, however often it is looked at."""

    server: str
    uri: str
    priority: int
    fullscreen: bool
    rendered: Desktop


def render(window: Window) -> Pane | None:
    """A window ready to be shown; None when there is nothing to show of it."""
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
    return Pane(window.server, window.uri, address.priority or 0, bool(address.fullscreen), rendered)


def arrange(panes: Iterable[Pane], size: int | None = None, history: UsedServers | None = None) -> list[Desktop]:
    """What an Agent sees: panes come in the order in which their servers list them."""
    if size is not None and size <= 0:
        return []
    by_server: dict[str, list[Pane]] = {}
    for pane in panes:
        by_server.setdefault(pane.server, []).append(pane)
    shown: list[Desktop] = []
    for server in in_order_of_use(by_server, history):
        shown += [pane.rendered for pane in _of_one_server(by_server[server])]
        if size is not None and len(shown) >= size:
            return shown[:size]
    return shown


def _of_one_server(panes: list[Pane]) -> list[Pane]:
    fullscreen = next((pane for pane in panes if pane.fullscreen), None)
    return [fullscreen] if fullscreen is not None else sorted(panes, key=lambda pane: -pane.priority)


def organize_desktop(
    windows: Iterable[Window], size: int | None = None, history: UsedServers | None = None
) -> list[Desktop]:
    """Filter, order and render windows; `windows` are in listing order, `history` in order of time."""
    if size is not None and size <= 0:
        return []
    return arrange([pane for window in windows if (pane := render(window)) is not None], size, history)
