"""This machine: Python, what is installed of this package, and the folders it writes to."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import tempfile
from collections import defaultdict
from importlib import metadata
from pathlib import Path

import a2c_smcp
from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Options
from a2c_smcp.utils.extras import how_to_install

DISTRIBUTION = "a2c-stack"
ROOM = 1_000_000_000
"""Free bytes below which a folder is told to be nearly full; the document cache takes up to half of that."""
NO_ROOM = 50_000_000

_OF_AN_EXTRA = re.compile(r"(?P<package>[\w.-]+).*;.*\bextra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")


async def check_software(options: Options, report: Report) -> None:
    """Python, and the extras that are there or not."""
    report.ok(f"Python {platform.python_version()}, {DISTRIBUTION} {a2c_smcp.__version__}, {platform.platform()}")
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        report.warn("this package runs without being installed", how_to_install())
        return
    packages: defaultdict[str, list[str]] = defaultdict(list)
    for line in required:
        if found := _OF_AN_EXTRA.match(line):
            packages[found["extra"]].append(found["package"])
    packages.pop("all", None)
    missing = {extra: [name for name in names if not _is_installed(name)] for extra, names in packages.items()}
    if complete := sorted(extra for extra, names in missing.items() if not names):
        report.ok(f"extras that are installed: {', '.join(complete)}")
    absent: list[str] = []
    for extra, names in sorted(missing.items()):
        if names and len(names) < len(packages[extra]):
            report.warn(f"extra {extra} lacks {', '.join(names)}", how_to_install(extra))
        elif names:
            absent.append(extra)
    if absent:
        report.note(f"optional, and not installed: {', '.join(absent)}; {how_to_install(absent[0])} adds one")


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


async def check_folders(options: Options, report: Report) -> None:
    """Whether what has to be written can be."""
    from a2c_documents.store.store import default_location

    cache = default_location(Path.cwd()).parent
    folders = {
        "the document cache": (cache, "give it to this user, or set XDG_CACHE_HOME to a folder that can be written to"),
        "the temporary folder": (Path(_temporary()), "set TMPDIR to a folder that can be written to"),
    }
    for name, (folder, advice) in folders.items():
        await asyncio.to_thread(_check_folder, name, folder, advice, report)


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # none of the usual ones can be written to
        return os.environ.get("TMPDIR", "/tmp")


def _check_folder(name: str, folder: Path, advice: str, report: Report) -> None:
    try:
        present = next(place for place in (folder, *folder.parents) if place.exists())
        with tempfile.TemporaryFile(dir=present):
            pass
        free = shutil.disk_usage(present).free
    except OSError as error:
        report.fail(f"{name} {folder} cannot be written to: {error.strerror or error}", advice)
        return
    if free >= ROOM:
        report.ok(f"{name} {folder} can be written to; {free / 1e9:.1f} GB are free")
        return
    told = f"{name} {folder} has only {free / 1e6:.0f} MB left"
    if free < NO_ROOM:
        report.fail(told, "make room on that disk")
    else:
        report.warn(told, "make room on that disk")
