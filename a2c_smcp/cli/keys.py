"""`a2c keys`: the API keys of a Server, kept as hashes in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from a2c_smcp.cli.errors import fail

app = typer.Typer(help="Make, list and revoke the API keys of a Server.", no_args_is_help=True)

KeyFileOption = Annotated[Path, typer.Option("--file", "-f", envvar="A2C_KEYS_FILE", help="The key file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def add(
    id: Annotated[str, typer.Argument(help="Who it is for; shown in lists and logs.")],
    office: Annotated[list[str], typer.Option(help="Offices it may join, by glob; repeat for more.")],
    role: Annotated[list[str] | None, typer.Option(help="agent or computer; both if not given.")] = None,
    name: Annotated[str | None, typer.Option(help="The only member name it may take.")] = None,
    file: KeyFileOption = Path("keys.toml"),
    as_json: JsonOption = False,
) -> None:
    """Make a key and print it, once: only its hash is stored."""
    from a2c_smcp.server.credentials import hash_key, mint_key, write_keys

    keys = _read(file, missing_ok=True)
    if any(key.get("id") == id for key in keys):
        fail(f"{file} has a key {id!r} already: `a2c keys remove {id}` revokes it")
    if not set(role or ()) <= {"agent", "computer"}:
        fail("--role is agent or computer", 2)
    key = mint_key()
    entry: dict[str, Any] = {"id": id, "hash": hash_key(key), "offices": office, "roles": role, "name": name}
    try:
        write_keys(file, [*keys, {field: value for field, value in entry.items() if value is not None}])
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    typer.echo(json.dumps({"id": id, "key": key}) if as_json else key)
    if not as_json:
        typer.echo(f"Keep it safe: {file} has only its hash.", err=True)


@app.command("list")
def show(file: KeyFileOption = Path("keys.toml"), as_json: JsonOption = False) -> None:
    """List the keys of a file."""
    keys = [{field: value for field, value in key.items() if field != "hash"} for key in _read(file)]
    if as_json:
        typer.echo(json.dumps(keys))
        return
    for key in keys:
        roles = ", ".join(key.get("roles", ["agent", "computer"]))
        only = f", as {key['name']}" if "name" in key else ""
        typer.echo(f"{key.get('id', '-')}: {', '.join(key['offices'])} ({roles}{only})")


@app.command()
def remove(
    id: Annotated[str, typer.Argument(help="The key to revoke.")], file: KeyFileOption = Path("keys.toml")
) -> None:
    """Revoke a key: a running Server refuses it from its next connection on."""
    from a2c_smcp.server.credentials import write_keys

    keys = _read(file)
    rest = [key for key in keys if key.get("id") != id]
    if len(rest) == len(keys):
        fail(f"{file} has no key {id!r}")
    write_keys(file, rest)


def _read(file: Path, *, missing_ok: bool = False) -> list[dict[str, Any]]:
    from a2c_smcp.server.credentials import read_keys

    if missing_ok and not file.exists():
        return []
    try:
        return read_keys(file)
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    except ValueError as error:
        fail(f"{file}: {error}")
