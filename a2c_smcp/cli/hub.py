"""`a2c server status`, `members`, `calls` and `kick`: the API of a running Server, in a terminal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from a2c_smcp.cli.errors import fail
from a2c_smcp.cli.option_groups import takes
from a2c_smcp.cli.options import OFFICE, ApiKey, ApiKeyHeader, CaFile, Json, check_ca_file, check_server_url, key_from

SECONDS = 30.0
"""Time for an answer."""

Office = Annotated[str | None, typer.Option(help="Only this office.", show_default="all")]
Search = Annotated[str | None, typer.Option(help="Part of a name, office, key or address.", show_default=False)]


@dataclass(frozen=True)
class Server:
    """The API of a Server. Ends the command if a request fails."""

    url: Annotated[str, typer.Option(envvar="A2C_URL", help="URL of the Server.", rich_help_panel=OFFICE)] = (
        "http://127.0.0.1:8000"
    )
    api_key: ApiKey = None
    api_key_header: ApiKeyHeader = "x-api-key"
    ca_file: CaFile = None

    def get(self, path: str, **query: str | None) -> Any:
        """What the Server answers."""
        given = urlencode({name: value for name, value in query.items() if value is not None})
        return self.send("GET", f"{path}?{given}" if given else path)

    def send(self, method: str, path: str) -> Any:
        """Send a request, and return the data of its answer."""
        import requests

        from a2c_smcp.errors import from_payload

        check_server_url(self.url)
        check_ca_file(self.ca_file)
        url = self.url.rstrip("/").replace("ws://", "http://", 1).replace("wss://", "https://", 1)
        key = key_from(self.api_key)
        try:
            answer = requests.request(
                method,
                f"{url}/api/v1{path}",
                headers={self.api_key_header: key} if key is not None else {},
                timeout=SECONDS,
                verify=str(self.ca_file) if self.ca_file is not None else True,
                allow_redirects=False,
            )
        except requests.exceptions.SSLError as error:
            fail(f"{url}: the certificate is not accepted: {error}")
        except requests.exceptions.Timeout:
            fail(f"{url} did not answer within {SECONDS:g} s")
        except requests.exceptions.RequestException:
            fail(f"connection refused: nothing is listening on {url}")
        if answer.status_code == 204:
            return None
        try:
            data = answer.json()
        except ValueError:
            fail(f"{url} has no API: is it an A2C Server with --console?")
        if not answer.ok:
            error = from_payload(data)
            if error is None:
                fail(f"{url} answered {answer.status_code} {answer.reason}")
            fail(f"{error.message} (error {error.code})")
        return data


@takes(Server, "server")
def status(server: Server, *, as_json: Json = False) -> None:
    """Show a running Server: its offices, members and calls. The key must allow administration."""
    found = server.get("/status")
    if as_json:
        _print_json(found)
        return
    mean = f", {found['mean_seconds'] * 1000:,.1f} ms on average" if found["mean_seconds"] is not None else ""
    draining = ", stopping" if found["is_draining"] else ""
    typer.echo(f"Server   {server.url}, version {found['version']}, up {_span(found['uptime_seconds'])}{draining}")
    typer.echo(f"offices  {found['offices']:,}")
    kinds = ("agents", "Agents"), ("computers", "Computers"), ("connections", "connections")
    typer.echo("members  " + ", ".join(f"{found[kind]:,} {name}" for kind, name in kinds))
    answered = f"{found['calls']:,} answered, {found['failed_calls']:,} failed{mean}"
    typer.echo(f"calls    {found['running_calls']:,} running; {answered}")


@takes(Server, "server")
def members(server: Server, office: Office = None, search: Search = None, *, as_json: Json = False) -> None:
    """List the members of a running Server."""
    found = server.get("/members", office=office, search=search, limit="1000")
    if as_json:
        _print_json(found)
        return
    rows = [
        (
            each["office"],
            each["role"].capitalize(),
            each["name"],
            ("a2c-stack " if each["is_ours"] else "A2C-SMCP ") + each["version"] if each["version"] else "unknown",
            "this Server" if each["is_local"] else each["address"] or "-",
            "-" if each["is_local"] else each["principal"] or "-",
            _ago(each["connected_since"]),
        )
        for each in found["members"]
    ]
    _print_table(("office", "role", "name", "version", "address", "key", "connected"), rows, "no members")
    if found["total"] > len(rows):
        typer.echo(f"{len(rows):,} of {found['total']:,} are shown: choose with --office or --search", err=True)


@takes(Server, "server")
def calls(server: Server, office: Office = None, *, as_json: Json = False) -> None:
    """List the calls that run, and those that ended since somebody looked.

    The Server records calls for a minute after this command, and while its console shows them.
    """
    found = server.get("/calls", office=office)
    if as_json:
        _print_json(found)
        return
    rows = [
        (
            each["req_id"],
            each["tool"] or each["event"],
            each["computer"] or "-",
            each["agent"] or "-",
            each["office"] or "-",
            each["outcome"] or "running",
            f"{each['ended'] * 1000:,.1f} ms" if each["ended"] is not None else "",
        )
        for each in (*found["running"], *found["recent"])
    ]
    _print_table(("req_id", "call", "Computer", "Agent", "office", "outcome", "duration"), rows, "no calls")


@takes(Server, "server")
def kick(
    server: Server,
    office: Annotated[str, typer.Argument(help="Office of the member.")],
    name: Annotated[str, typer.Argument(help="Name of the member.")],
) -> None:
    """Disconnect a member of a running Server. It may connect again, unless its key is removed."""
    server.send("DELETE", f"/offices/{quote(office, safe='')}/members/{quote(name, safe='')}")


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2))


def _print_table(titles: tuple[str, ...], rows: list[tuple[str, ...]], otherwise: str) -> None:
    from rich.table import Table

    from a2c_smcp.cli.views import escape, show

    if not rows:
        typer.echo(otherwise)
        return
    table = Table(*titles, box=None)
    for row in rows:
        table.add_row(*map(escape, row))
    show(table)


def _ago(since: float | None) -> str:
    import time

    return f"{_span(time.time() - since)} ago" if since is not None else "-"


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, round(seconds))} s"
