"""Where a running Computer is found by its owner's other programs: an entry in a folder that only the owner can enter.

An entry is a JSON file with the name and office of the Computer, and its socket; or its address and token on a system
without Unix sockets.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from a2c_smcp.errors import ConflictError
from a2c_smcp.utils.system.files import own_folder, write_private_file
from a2c_smcp.utils.system.paths import SERVICES, given_runtime_folder, runtime_folder
from a2c_smcp.utils.system.sockets import unix_socket
from a2c_smcp.utils.system.users import become_owner, is_superuser, owns

CONNECT_SECONDS = 2.0
LONGEST_NAME = 24
BACKLOG = 64


@dataclass(frozen=True, slots=True)
class Place:
    """Where one Computer is found."""

    name: str
    office: str | None
    """The office that it was started for."""
    pid: int
    path: str | None = None
    """Its Unix socket."""
    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = field(default=None, repr=False)
    """What requests to the port need."""

    def connect(self) -> socket.socket:
        """A connection.

        Raises:
            OSError: nothing listens there.
        """
        if self.path is None:
            return socket.create_connection((self.host, self.port), CONNECT_SECONDS)
        found = unix_socket()
        try:
            found.settimeout(CONNECT_SECONDS)
            found.connect(self.path)
        except BaseException:
            found.close()
            raise
        return found


def base_name(name: str, office: str | None) -> str:
    """The name of the files for a Computer, without their endings."""
    # The readable part is for people. The hash tells apart names that only differ in other characters.
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower())[:LONGEST_NAME].strip("-")
    digest = hashlib.sha256(f"{name}\0{office or ''}".encode("utf-8", "replace")).hexdigest()[:12]
    return f"{readable}-{digest}" if readable else digest


def free_base(name: str, office: str | None) -> Path:
    """The path of the files for a Computer that starts now. One that runs under the same name keeps its own.

    Raises:
        OSError: the folder cannot be used.
    """
    folder = runtime_folder()
    own_folder(folder)
    base = folder / base_name(name, office)
    entry = _read(base.with_suffix(".json"))
    return base if entry is None or not _answers(entry) else base.with_name(f"{base.name}-{os.getpid()}")


def listen(base: Path) -> tuple[socket.socket, str]:
    """A Unix socket that listens, and its path.

    Raises:
        OSError: it cannot be made.
    """
    path = str(base.with_suffix(".sock"))
    own_folder(base.parent)  # again: a Computer that stops removes it with its last file
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # of a Computer that was killed
    listener = unix_socket()
    try:
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener, path


def enter(base: Path, place: Place) -> None:
    """Write the entry of a Computer that listens.

    Raises:
        OSError: it cannot be written.
    """
    write_private_file(base.with_suffix(".json"), json.dumps(asdict(place)).encode())


def leave(base: Path) -> None:
    """Remove the files of a Computer that stops, and the folder with the last one."""
    for suffix in (".json", ".sock"):
        with contextlib.suppress(OSError):
            base.with_suffix(suffix).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # mostly because it is not empty
        base.parent.rmdir()


def running(name: str | None = None, office: str | None = None) -> list[Place]:
    """The Computers of this user that run now: all, or those with this name and for this office.

    Raises:
        OSError: other users can enter the folder.
    """
    places: list[Place] = []
    for folder in (runtime_folder(), *_folders_of_services()):
        if os.path.exists(folder):  # not `Path.exists`, which fails where this user may not look
            own_folder(folder)
            places += _entries(folder)
    return [place for place in places if name in (None, place.name) and office in (None, place.office)]


def find(name: str | None = None, office: str | None = None) -> list[Place]:
    """As `running`, for the command of a person. If that is the superuser and runs none, this process becomes the user
    of the only service with a Computer, or of that with this name.

    Raises:
        ConflictError: there are several such services.
        OSError: other users can enter the folder.
    """
    given = given_runtime_folder()
    if given is not None:
        services = [given] if given.is_dir() else []
    else:
        found = running(name, office)
        if found or not is_superuser():
            return found
        services = [folder for folder in _services() if name in (None, folder.name)]
    if len(services) > 1:
        names = ", ".join(folder.name for folder in services)
        raise ConflictError(f"several services run a Computer: {names}; choose one: a2c computer --name NAME …")
    for folder in services:
        become_owner(folder)
    return running(name, office)


def _folders_of_services() -> list[Path]:
    """The folders of services that run as this user."""
    return [folder for folder in _services() if owns(folder)] if given_runtime_folder() is None else []


def _services() -> list[Path]:
    try:
        return sorted(folder for folder in SERVICES.iterdir() if folder.is_dir())
    except OSError:  # mostly because there are none
        return []


def _entries(folder: Path) -> Iterator[Place]:
    for file in sorted(folder.glob("*.json")):
        place = _read(file)
        if place is None:
            continue
        if _answers(place):
            yield place
        else:  # of a Computer that was killed
            leave(file.with_suffix(""))


def _read(file: Path) -> Place | None:
    try:
        data: Any = json.loads(file.read_bytes())
        return Place(**cast("dict[str, Any]", data))
    except (OSError, ValueError, TypeError):
        return None


def _answers(place: Place) -> bool:
    try:
        place.connect().close()
    except OSError:
        return False
    return True
