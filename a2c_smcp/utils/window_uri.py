"""`window://host[/segment…][?priority=P&fullscreen=F]`: the address of one window on a Desktop."""

from __future__ import annotations

from collections.abc import Iterable

from a2c_smcp.utils.uri import decode, join_uri, parse_natural, split_uri

SCHEME = "window"
MAX_PRIORITY = 100

_BOOLEANS: dict[str, bool] = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


class WindowURI:
    """A valid `window://` URI, taken apart.

    Raises:
        ValueError: the string breaks a rule of the grammar.
    """

    __slots__ = ("fullscreen", "mcp_id", "priority", "uri", "windows")

    uri: str
    """The string as it was given; it is never rewritten."""
    mcp_id: str
    """The host: which MCP server the window belongs to."""
    windows: list[str]
    """The decoded path segments; `c%2Fd` is one segment, `c/d`."""
    priority: int | None
    """0–100, or None when absent, which ranks as 0."""
    fullscreen: bool | None
    """Whether it hides the other windows of its server; None when absent."""

    def __init__(self, uri: str) -> None:
        parts = split_uri(uri, SCHEME)
        self.uri = uri
        self.mcp_id = parts.host
        self.windows = [decode(segment) for segment in parts.segments if segment]
        self.priority = _parse_priority(parts.query.get("priority"))
        self.fullscreen = _parse_fullscreen(parts.query.get("fullscreen"))

    def __str__(self) -> str:
        return self.uri

    def __repr__(self) -> str:
        return f"WindowURI({self.uri!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WindowURI) and other.uri == self.uri

    def __hash__(self) -> int:
        return hash(self.uri)

    @staticmethod
    def build_uri(
        *,
        host: str,
        windows: Iterable[str] | None = None,
        priority: int | None = None,
        fullscreen: bool | None = None,
    ) -> str:
        """Build a URI that parses back into the same parts.

        Raises:
            ValueError: a part has no valid form.
        """
        query: list[tuple[str, str]] = []
        if priority is not None:
            if not 0 <= priority <= MAX_PRIORITY:
                raise ValueError(f"priority must be 0–{MAX_PRIORITY}, not {priority}")
            query.append(("priority", str(int(priority))))
        if fullscreen is not None:
            query.append(("fullscreen", "true" if fullscreen else "false"))
        return join_uri(SCHEME, host, windows or (), query)


def is_window_uri(value: object) -> bool:
    """Whether `value` is a valid `window://` URI."""
    try:
        WindowURI(value)  # pyright: ignore[reportArgumentType]  # anything may be asked about
    except ValueError:
        return False
    return True


def _parse_priority(text: str | None) -> int | None:
    if text is None:
        return None
    priority = parse_natural(text)
    if priority is None or priority > MAX_PRIORITY:
        raise ValueError(f"priority must be an integer 0–{MAX_PRIORITY}")
    return priority


def _parse_fullscreen(text: str | None) -> bool | None:
    if text is None:
        return None
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError("fullscreen must be one of " + "/".join(_BOOLEANS))
    return value
