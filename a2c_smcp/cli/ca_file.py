"""`--ca-file`: the authority behind the Server's certificate, where it is a private one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from a2c_smcp.cli.errors import fail


def ca_file_option(panel: str) -> Any:
    """The option, for every command that connects to a Server."""
    return typer.Option(
        "--ca-file",
        envvar="A2C_CA_FILE",
        help="Certificate of a private authority (PEM), to trust for the Server instead of the system's.",
        rich_help_panel=panel,
    )


def check_ca_file(file: Path | None) -> None:
    """End the command if the file cannot be used."""
    if file is None:
        return
    from a2c_smcp.utils.trust import trusting

    try:
        trusting(file)
    except OSError as error:
        fail(f"--ca-file {file}: {error.strerror}", 2)
    except ValueError as error:
        fail(f"--ca-file {error}", 2)
