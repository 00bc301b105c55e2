"""`a2c keys`: the API keys of a Server, kept as hashes in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from a2c_smcp.cli.errors import fail

app = typer.Typer(help="Create, list, replace and revoke API keys of a Server.", no_args_is_help=True)

KeyFileOption = Annotated[Path, typer.Option("--file", "-f", envvar="A2C_KEYS_FILE", help="Key file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
ExpiresOption = Annotated[
    str | None,
    typer.Option(help="Expire after a time (12h, 30d, 8w) or on a date (2027-01-31, UTC)."),
]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST = timedelta(days=36_500)  # a date this far away still exists for Python, whose years have four digits


@app.command()
def add(
    id: Annotated[str, typer.Argument(help="Name of the key in lists and logs.")],
    office: Annotated[
        list[str] | None,
        typer.Option(help="Offices that the key admits to, as a glob. Can be repeated.", show_default="none"),
    ] = None,
    role: Annotated[list[str] | None, typer.Option(help="agent or computer.", show_default="both")] = None,
    name: Annotated[str | None, typer.Option(help="Only member name that the key allows.")] = None,
    admin: Annotated[bool, typer.Option("--admin", help="Let the key use the Server's console and its API.")] = False,
    expires: ExpiresOption = None,
    file: KeyFileOption = Path("keys.toml"),
    as_json: JsonOption = False,
) -> None:
    """Create a key and print it. Only its hash is stored: the key cannot be printed again.

    A key is for Agents and Computers in some offices (--office), for an operator (--admin), or for both.
    """
    from a2c_smcp.errors import MalformedRequestError, NameTakenError
    from a2c_smcp.server.key_changes import NewKey, add_key

    new = NewKey(id, office or (), role, name, admin, _read_expiry(expires, _now()))
    with _failures_of(file):
        try:
            key = add_key(file, new)
        except NameTakenError as error:
            fail(f"{error.message}: replace it with `a2c keys rotate {id}`, or revoke it with `… remove`")
        except MalformedRequestError as error:
            fail(f"--{error.message}", 2)
    _print_key(id, key, file, as_json)


@app.command("list")
def show(file: KeyFileOption = Path("keys.toml"), as_json: JsonOption = False) -> None:
    """List keys: what each allows, when it was created and last used, and when it expires."""
    from a2c_smcp.server.last_used import path_beside, read_uses

    uses = read_uses(path_beside(file))
    listed: list[dict[str, Any]] = []
    for key in _read(file):
        hashed = key.pop("hash")
        is_replaced = any(other.get("id") == key.get("id") for other in listed)  # `rotate` puts the new key first
        used = {"last_used": uses[hashed]} if hashed in uses else {}
        listed.append({**key, **used, **({"replaced": True} if is_replaced else {})})
    if as_json:
        typer.echo(json.dumps(listed, default=_iso))
        return
    from rich.table import Table

    from a2c_smcp.cli.views import escape, show

    if not listed:
        typer.echo(f"{file} has no keys: create one with `a2c keys add NAME --office OFFICE`")
        return
    table = Table("key", "offices", "roles", "created", "last used", "expires", box=None)
    now = _now()
    for key in listed:
        only = f", as {key['name']}" if "name" in key else ""
        roles = ", ".join(key.get("roles", ["agent", "computer"])) if key["offices"] else ""
        cells = (
            f"{key.get('id', '-')}{' (old)' if 'replaced' in key else ''}",
            ", ".join(key["offices"]),
            ", ".join(filter(None, (roles + only, "admin" if key.get("admin") else ""))),
            _day(key.get("created"), "unknown"),
            _ago(key.get("last_used"), now),
            _due(key.get("expires"), now),
        )
        table.add_row(*map(escape, cells))
    show(table)


@app.command()
def rotate(
    id: Annotated[str, typer.Argument(help="Key to replace.")],
    grace: Annotated[str, typer.Option(help="How long the old key stays valid: 0, 90m, 24h, 7d.")] = "24h",
    expires: ExpiresOption = None,
    file: KeyFileOption = Path("keys.toml"),
    as_json: JsonOption = False,
) -> None:
    """Replace a key with a new one that allows the same, and print it.

    The old key stays valid for the grace period, so that its clients can switch.
    Without --expires, the new key expires when the old one would have.
    """
    from a2c_smcp.server.key_file import hash_key, mint_key

    keys, now = _read(file), _now()
    at = next((number for number, key in enumerate(keys) if key.get("id") == id), None)
    if at is None:
        fail(f"{file} has no key {id!r}")
    old = keys[at]
    ends = _read_expiry(expires, now) or old.get("expires")
    if ends is not None and ends <= now:
        fail(f"the key {id!r} expired on {_day(ends)}: set the end of the new one with --expires", 2)
    last = now + _read_duration(grace, "--grace")
    # The grace period never extends the old key beyond its own end.
    old_ends = min(last, old.get("expires", last))
    key = mint_key()
    new = {**old, "hash": hash_key(key), "created": now, **({"expires": ends} if ends is not None else {})}
    # Rotated twice within the grace period, a key has several old secrets. Each is kept until its own end, and those
    # that have expired are removed.
    kept = [each for each in keys if each is not old and (each.get("id") != id or each.get("expires", last) > now)]
    replaced = [{**old, "expires": old_ends}] if old_ends > now else []
    _write(file, [*kept[:at], new, *replaced, *kept[at:]])
    _print_key(id, key, file, as_json)
    if not as_json:
        until = f"is valid until {old_ends:%Y-%m-%d %H:%M} UTC" if replaced else "is revoked"
        typer.echo(f"The old key {until}.", err=True)


@app.command()
def remove(id: Annotated[str, typer.Argument(help="Key to revoke.")], file: KeyFileOption = Path("keys.toml")) -> None:
    """Revoke a key. A running Server rejects it at once and closes its connections within seconds."""
    from a2c_smcp.errors import NotFoundError
    from a2c_smcp.server.key_changes import remove_key

    with _failures_of(file):
        try:
            remove_key(file, id)
        except NotFoundError as error:
            fail(error.message)


def _read(file: Path) -> list[dict[str, Any]]:
    from a2c_smcp.server.key_file import read_keys

    with _failures_of(file):
        return read_keys(file)


def _write(file: Path, keys: list[dict[str, Any]]) -> None:
    from a2c_smcp.server.key_file import write_keys

    with _failures_of(file):
        write_keys(file, keys)


@contextmanager
def _failures_of(file: Path) -> Generator[None]:
    """End the command if the file cannot be used."""
    try:
        yield
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    except ValueError as error:
        fail(str(error))


def _print_key(id: str, key: str, file: Path, as_json: bool) -> None:
    # Only the key goes to standard output, so that KEY=$(a2c keys add …) works.
    typer.echo(json.dumps({"id": id, "key": key}) if as_json else key)
    if not as_json:
        typer.echo(f"Store it safely: {file} contains only its hash.", err=True)


# ---------------------------------------------------------------------------------------------------------------- times


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _read_expiry(text: str | None, now: datetime) -> datetime | None:
    """A moment in the future, from a duration or a date."""
    from a2c_smcp.server.key_file import read_time

    if text is None:
        return None
    # Whatever looks like a duration is read as one, so that the error for `5y` shows units and not dates.
    if re.fullmatch(r"\d+[a-z]?", text):
        return now + _read_duration(text, "--expires")
    try:
        moment = read_time(text)
    except ValueError:
        fail(f"--expires {text}: must be a time such as 30d, or a date such as 2027-01-31", 2)
    if moment <= now:
        fail(f"--expires {text}: must be in the future", 2)
    return moment


def _read_duration(text: str, option: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if found is None and text != "0":
        fail(f"{option} {text}: must be a time such as 90m, 24h, 30d or 8w", 2)
    duration = timedelta(**{_UNITS[found[2]]: int(found[1])}) if found is not None else timedelta()
    if duration > _LONGEST:
        fail(f"{option} {text}: must be at most {_LONGEST.days // 365} years", 2)
    return duration


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _day(moment: datetime | None, otherwise: str = "") -> str:
    return f"{moment:%Y-%m-%d}" if moment is not None else otherwise


def _ago(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "-"
    return "just now" if now - moment < timedelta(minutes=2) else f"{_span(now - moment)} ago"


def _due(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "never"
    return f"{_day(moment)} (expired)" if moment <= now else f"{_day(moment)} (in {_span(moment - now)})"


def _span(span: timedelta) -> str:
    minutes = max(1, round(span.total_seconds() / 60))
    if minutes < 100:
        return f"{minutes} min"
    hours = round(minutes / 60)
    return f"{hours} h" if hours < 48 else f"{round(hours / 24)} days"
