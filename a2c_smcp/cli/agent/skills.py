"""The commands about skills of Computers, and uploads to them. Each returns an exit code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from a2c_smcp.agent.types import Upload
from a2c_smcp.cli.agent.session import FAILED, WRONG, Session, complain, of_each
from a2c_smcp.cli.progress import call_shown
from a2c_smcp.cli.views import print_json, quote, show
from a2c_smcp.smcp import GetSkillRet, SkillReference
from a2c_smcp.utils.file_names import resource_name
from a2c_smcp.utils.results import File
from a2c_smcp.utils.text import one_line, printable

if TYPE_CHECKING:
    from a2c_smcp.cli.agent.output import Output


async def skills(session: Session, computer: str | None, as_json: bool) -> int:
    """List skills."""

    async def look(each: str) -> list[SkillReference]:
        return await session.agent.skills(each, session.options.timeout)

    found, code = await of_each(session, computer, look)
    if as_json:
        print_json(found)
    else:
        show(*_listed(found))
    return code


async def skill(
    session: Session, computer: str | None, name: str, rel_path: str | None, output: Output | None, as_json: bool
) -> int:
    """Show the instructions of a skill, or one of its files."""

    async def ask(each: str) -> GetSkillRet:
        return await session.agent.skill(each, name, rel_path, session.options.timeout)

    with call_shown(printable(f"reading {name}")) as shown, session.downloads_shown(shown):
        where, found = await session.find(computer, f"the skill {name}", ask)
    body = found.get("body")
    if output is not None:
        data = body.encode() if body is not None else await _fetched(session, where, found)
        file = File(resource_name(f"skill:/{found['rel_path']}", None, ".md"), found["mime_type"], data)
        return 0 if output.write([file]) is not None else FAILED
    if as_json:
        print_json({"computer": where, **{key: value for key, value in found.items() if key != "req_id"}})
    elif body is not None:
        show(Text(printable(body.rstrip("\n"))))
    else:
        complain(f"{found['rel_path']} is {found['mime_type']}, {found['total_size']:,} bytes: write it with --output")
        return FAILED
    return 0


async def upload(session: Session, computer: str | None, path: str, name: str | None, as_json: bool) -> int:
    """Upload a file, and print its path on the Computer."""
    local = _local(path)
    where, *others = session.chosen(computer)
    if others:
        complain(f"several Computers are in the office: {', '.join((where, *others))}; choose one with --computer")
        return WRONG
    with call_shown(f"uploading {printable(local.name)}") as shown:

        def on_progress(report: Upload) -> None:
            shown.report(report.done, report.total, None)

        try:
            landed = await session.agent.upload(where, local, name=name, on_progress=on_progress)
        except OSError as error:
            if error.errno is None:  # the connection is lost: these errors are OSErrors, too
                raise
            complain(f"cannot read {path}: {error.strerror}")
            return FAILED
    if as_json:
        print_json({"computer": where, "landing_path": landed})
    else:
        print(printable(landed))
    return 0


def _local(path: str) -> Path:
    """A path as a person types it."""
    return Path(path).expanduser()


async def _fetched(session: Session, computer: str, found: GetSkillRet) -> bytes:
    return await session.agent.fetch_blob(computer, found.get("blob_handle", ""))


def _listed(found: Mapping[str, list[SkillReference]]) -> Iterable[RenderableType]:
    for computer, listed in found.items():
        for entry in listed:
            yield from quote(one_line(entry["name"]), f"{one_line(computer)}  ")
            yield from quote(one_line(entry["description"]))
    if not any(found.values()):
        yield "no skills"
