"""`a2c up`: the options, and the plan that they make."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from a2c_smcp.cli.errors import INTERRUPTED, Interrupted, fail
from a2c_smcp.cli.options import OFFICE, SERVERS, AllowAll, key_from
from a2c_smcp.utils.extras import how_to_install
from a2c_smcp.utils.system.files import lock_folder

if TYPE_CHECKING:
    from a2c_smcp.computer.config.files import LoadedConfig

_PREFIX = "a2c-up-"
OLD_SECONDS = 60.0
"""The age from which on an unlocked folder counts as left behind."""


def up(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder with documents.", show_default="a copy of the bundled examples")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", help="File with more MCP servers.", rich_help_panel=SERVERS),
    ] = None,
    with_my_config: Annotated[
        bool,
        typer.Option(
            "--with-my-config",
            help="Add the MCP servers configured in Claude, Cursor, VS Code, Windsurf, Zed and Cline.",
            rich_help_panel=SERVERS,
        ),
    ] = False,
    allow_all: AllowAll = False,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; 0.0.0.0 admits other machines.", rich_help_panel=OFFICE),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Port to listen on.", show_default="8000, or a free one", rich_help_panel=OFFICE
        ),
    ] = None,
    office: Annotated[
        str | None,
        typer.Option(envvar="A2C_OFFICE", help="Id of the office.", show_default="a new one", rich_help_panel=OFFICE),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(
            help="API key that members must present. Prefer the variable A2C_API_KEY.",
            show_default="a new one",
            rich_help_panel=OFFICE,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the Computer.", show_default="host name", rich_help_panel=OFFICE),
    ] = None,
    tour: Annotated[
        bool,
        typer.Option("--tour", help="Show what an Agent can do, step by step. Without a terminal, exit afterwards."),
    ] = False,
) -> None:
    """Run a Server and a Computer with your documents on this machine, ready for an Agent.

    a2c up --tour

    a2c up ~/Reports --config mcp.json

    Shows the members and activity of the office, and the commands that connect an Agent. Ctrl-C stops everything.
    """
    if importlib.util.find_spec("watchfiles") is None:
        fail(f"the document server is not installed: {how_to_install('documents')}")
    if folder is not None and not folder.is_dir():
        fail(f"{folder}: no such folder", 2)

    from a2c_smcp.cli.running import run_until_done
    from a2c_smcp.cli.up.plan import USUAL_PORT, Plan, new_key, new_office, take_port
    from a2c_smcp.cli.up.supervisor import run
    from a2c_smcp.utils.logger import configure_logging

    office_id, computer = office or new_office(), name or socket.gethostname()
    key = key_from(api_key)
    _check_names(office_id, computer)
    files = _configs(config, with_my_config)
    configure_logging("warning", "human")
    try:
        listener = take_port(host, port)
    except OSError as error:
        where = f"{host}{f':{port}' if port is not None else ''}"
        fail(
            f"cannot listen on {where}: {error.strerror or error}; choose a port with --port "
            "(`a2c doctor` names the program that uses this one)"
        )
    if port is None and listener.getsockname()[1] != USUAL_PORT:
        used = listener.getsockname()[1]
        typer.echo(f"port {USUAL_PORT} is in use; using {used} (choose one with --port)", err=True)
    # Questions come before the folder: a person may take minutes to answer, or leave with Ctrl-C.
    values = _ask_inputs(files)
    with listener, _run_folder() as here:
        plan = Plan(
            host=host,
            port=listener.getsockname()[1],
            office=office_id,
            api_key=key or new_key(),
            computer=computer,
            folder=str(folder.resolve() if folder is not None else _copy_sample(here)),
            is_sample=folder is None,
            journal=str(here / "office" / "activity.txt"),
            sessions=str(here / "sessions.json"),
            configs=tuple(map(str, files)),
            input_values=values,
            allow_all=allow_all,
            is_new=office is None or key is None,
        )
        run_until_done(run(plan, listener, tour=tour))


def _check_names(office_id: str, computer: str) -> None:
    """End the command if the Server would reject these names."""
    from a2c_smcp.errors import MalformedRequestError
    from a2c_smcp.protocol.limits import Limits
    from a2c_smcp.protocol.payloads import check_payload
    from a2c_smcp.smcp import JOIN_OFFICE_EVENT, EnterOfficeReq

    try:
        check_payload(JOIN_OFFICE_EVENT, EnterOfficeReq(role="computer", name=computer, office_id=office_id), Limits())
    except MalformedRequestError as error:
        fail(error.message, 2)


def _configs(config: Path | None, with_mine: bool) -> dict[Path, LoadedConfig]:
    """Load the files with more MCP servers. A mistake in one ends the command."""
    from a2c_smcp.cli.config import load
    from a2c_smcp.computer.config.importing import HOSTS, candidates

    files = [config] if config is not None else []
    if with_mine:
        found = [place for host in HOSTS for place in candidates(host) if place.is_file()]
        if not found:
            places = ", ".join(str(place) for host in HOSTS for place in candidates(host))
            fail(f"--with-my-config: found no configuration of another host; looked for {places}", 2)
        files += found
    loaded = {file.resolve(): load(file) for file in files}
    for file, servers in loaded.items():
        names = ", ".join(server.name for server in servers.servers)
        typer.echo(f"{file}: {names or 'no MCP servers'}", err=True)
        for warning in servers.warnings:
            typer.echo(f"{file}: warning: {warning}", err=True)
    return loaded


def _ask_inputs(files: dict[Path, LoadedConfig]) -> dict[str, Any]:
    """Ask for the inputs of the MCP servers. The Computer's process cannot: it has no terminal."""
    import asyncio
    import sys

    if not any(loaded.inputs for loaded in files.values()) or not sys.stdin.isatty():
        return {}

    from a2c_smcp.cli.computer.questions import ask_inputs
    from a2c_smcp.computer.config.inputs import InputResolver

    async def ask() -> dict[str, Any]:
        resolver = InputResolver()
        for wanted in (wanted for loaded in files.values() for wanted in loaded.inputs):
            if resolver.get(wanted.id) is None:
                resolver.define(wanted)
        await ask_inputs(resolver, (server for loaded in files.values() for server in loaded.servers))
        await resolver.aclose()
        return resolver.values

    try:
        return asyncio.run(ask())
    except Interrupted:
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _run_folder() -> Generator[Path]:
    """A private folder for the time of the run. Also removes folders of runs that were killed."""
    _sweep()
    try:
        here = Path(tempfile.mkdtemp(prefix=_PREFIX))
    except OSError as error:
        fail(f"cannot create a temporary folder: {error.strerror or error}; set TMPDIR to a writable folder")
    owned = lock_folder(here)
    try:
        (here / "office").mkdir()
        yield here
    finally:
        if owned is not None:
            os.close(owned)  # first: Windows cannot remove a file that is open
        shutil.rmtree(here, ignore_errors=True)


def _sweep() -> None:
    """Remove folders that runs left behind when they were killed."""
    try:
        found = list(Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"))
    except OSError:  # no temporary folder exists; `_run_folder` reports it
        return
    for left in found:
        # A lock shows whether the owner lives: the system releases it however the process ends. The age protects a
        # folder that another run has created and not locked yet.
        owned = lock_folder(left)
        if owned is not None:
            age = time.time() - os.fstat(owned).st_mtime
            os.close(owned)
            if age > OLD_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _copy_sample(here: Path) -> Path:
    """Copy the bundled documents, so that they can be changed."""
    from a2c_smcp.cli.up.plan import sample_folder

    source = sample_folder()
    if not source.is_dir():
        fail("the bundled examples are missing from this installation; give a folder: a2c up FOLDER")
    return shutil.copytree(source, here / "library")
