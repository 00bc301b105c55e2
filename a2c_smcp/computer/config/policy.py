"""Time limits and restarts of MCP servers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """Times in seconds."""

    # The defaults suit servers that people install: a first start downloads a package, a laptop sleeps, a server
    # crashes now and then. Five restarts in five minutes tell a crash from a server that cannot work.

    start_timeout: float = 60.0
    """From the start to the list of tools. A first `npx` or `uvx` downloads its package within it."""
    question_timeout: float = 3.0
    """For questions about MCP 2026-07-28 at the start; the answers usually take a few milliseconds."""
    stop_timeout: float = 10.0
    """For a connection to close before it is cut."""
    ping_interval: float = 30.0
    """How long a server may be silent before it is pinged."""
    ping_timeout: float = 15.0
    """For the answer to a ping; then the server counts as ended."""
    stall_timeout: float = 30.0
    """For a server that does not read its standard input; then it counts as ended."""
    noise_bytes: int = 10_000_000
    """Of standard output without an MCP message, after which a server counts as ended."""
    list_timeout: float = 10.0
    """For all pages of the prompts, or of the resource templates, of a server."""
    list_pause: float = 0.1
    """Between two readings of a list that keeps changing."""
    restart: bool = True
    """Whether a server that ended is restarted."""
    first_delay: float = 0.5
    """Before the first restart; each further delay is twice as long."""
    longest_delay: float = 30.0
    """The longest delay before a restart."""
    restarts: int = 5
    """Restarts within `window` after which a server counts as failed."""
    window: float = 300.0
    """The time in which restarts are counted."""
