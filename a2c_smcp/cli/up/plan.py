"""What `a2c up` runs, and where: decided once, the same after every restart of a part."""

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
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that looks like another
_EVERYWHERE = ("0.0.0.0", "::")


@dataclass(frozen=True)
class Plan:
    """Everything that the parts have to know. It holds secrets: it is handed on through pipes only."""

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
    """The file that holds the last of what happened."""
    configs: tuple[str, ...] = ()
    """Files with more MCP servers."""
    listener: str = field(default="", repr=False)
    """How the Server's process gets the socket that it listens at; see `utils.system.sockets`."""
    input_values: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    allow_all: bool = False

    @property
    def url(self) -> str:
        """The Server, seen from this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return _url(host, self.port)

    @property
    def url_elsewhere(self) -> str | None:
        """The Server, seen from other machines; None if they cannot reach it."""
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
        data["configs"] = tuple(data["configs"])
        return cls(**data)


def new_office() -> str:
    """A name for an office that nobody else has."""
    return "office-" + "".join(secrets.choice(_LETTERS) for _ in range(5))


def new_key() -> str:
    """A key that nobody guesses."""
    return secrets.token_urlsafe(24)


def take_port(host: str, wanted: int | None) -> socket.socket:
    """A socket at the port that is wanted; else at the usual one, or any that is free.

    We hold it for as long as we run. The Server gets it, each time it is started: nobody else can take the port
    meanwhile, and who dials while there is no Server waits for the next.

    Raises:
        OSError: the port that is wanted is taken, or there is no such address here.
    """
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
    """The address that other machines of this network know us by; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address kept for documentation: it says which of ours leads out
            return probe.getsockname()[0]
        except OSError:
            return socket.gethostname()


def sample_folder() -> Path:
    """The bundled documents: inside the package where it is installed, beside it in a clone."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "examples" / "library"
    return inside if inside.is_dir() else package.parent / "examples" / "library"


def _url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
