"""The plan of `a2c up`: decided once at the start, and the same for every restart of a process."""

from __future__ import annotations

import json
import secrets
import socket
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from a2c_smcp.utils.system.sockets import bind

USUAL_PORT = 8000
BACKLOG = 2_048
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without i, l, o, 0 and 1: people read office ids to each other
_EVERYWHERE = ("0.0.0.0", "::")


@dataclass(frozen=True)
class Plan:
    """Everything that the processes need. It contains secrets, so it travels only through pipes."""

    host: str
    port: int
    office: str
    api_key: str = field(repr=False)
    computer: str
    folder: str
    """The documents."""
    is_sample: bool
    """Whether the folder is our copy of the bundled one."""
    journal: str
    """The file with the recent activity."""
    sessions: str
    """The file with the sessions of the console."""
    configs: tuple[str, ...] = ()
    """Files with more MCP servers."""
    listener: str = field(default="", repr=False)
    """What the Server's process needs to take over the listening socket; see `utils.system.sockets`."""
    input_values: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    allow_all: bool = False
    is_new: bool = False
    """Whether the office or the key is made for this run: the next one has others."""

    @property
    def url(self) -> str:
        """The URL of the Server for clients on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return _url(host, self.port)

    @property
    def url_elsewhere(self) -> str | None:
        """The URL of the Server for other machines; None if they cannot reach it."""
        if self.host in _EVERYWHERE:
            return _url(own_address(), self.port)
        return None if self.host in ("127.0.0.1", "::1", "localhost") else self.url

    def to_line(self) -> bytes:
        """The plan as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Plan:
        """The plan that a line holds."""
        data: dict[str, Any] = json.loads(line)
        data["configs"] = tuple(data["configs"])  # JSON has only lists
        return cls(**data)


def new_office() -> str:
    """A random office id."""
    return "office-" + "".join(secrets.choice(_LETTERS) for _ in range(5))


def new_key() -> str:
    """A random API key of 192 bits."""
    return secrets.token_urlsafe(24)


def take_port(host: str, wanted: int | None) -> socket.socket:
    """Listen on the wanted port; without one, on the usual port or any free one.

    Raises:
        OSError: the wanted port is in use, or the address does not belong to this machine.
    """
    # The supervisor holds the socket for the whole run, and each new process of the Server takes it over. No other
    # program can take the port during a restart, and the system queues clients that connect in the meantime.
    if wanted is not None:
        listener = bind(host, wanted)
    else:
        try:
            listener = bind(host, USUAL_PORT)
        except OSError:
            listener = bind(host, 0)
    listener.listen(BACKLOG)
    return listener


def own_address() -> str:
    """The address of this machine in its network."""
    # Connecting a UDP socket sends nothing: the system only chooses the interface that leads to the address. 192.0.2.1
    # is reserved for documentation. The host name alone may resolve to 127.0.1.1, as on Debian.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostname()


def sample_folder() -> Path:
    """The bundled documents: inside an installed package, beside the package in a clone."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "examples" / "library"
    return inside if inside.is_dir() else package.parent / "examples" / "library"


def _url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
