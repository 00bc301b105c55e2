"""This machine: Python, the installed extras, and the folders that the package writes to."""

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
NAMESAKE = "a2c-smcp"
"""The distribution of the official SDK."""
ROOM = 1_000_000_000
"""Free bytes below which a disk is a warning. The document cache uses up to half of this."""
NO_ROOM = 50_000_000
"""Free bytes below which a disk is a problem."""

_OF_AN_EXTRA = re.compile(r"(?P<package>[\w.-]+).*;.*\bextra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")


async def check_software(options: Options, report: Report) -> None:
    """Report the versions, and the extras that are installed, incomplete or missing."""
    _check_namesake(report)
    report.ok(f"Python {platform.python_version()}, {DISTRIBUTION} {a2c_smcp.__version__}, {platform.platform()}")
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        report.warn("this package is not installed: it runs from its source folder", how_to_install())
        return
    # The metadata of the installed distribution, not pyproject.toml: only a clone of the project has that file.
    packages: defaultdict[str, list[str]] = defaultdict(list)
    for line in required:
        if found := _OF_AN_EXTRA.match(line):
            packages[found["extra"]].append(found["package"])
    packages.pop("all", None)  # it only repeats the others
    missing = {extra: [name for name in names if not _is_installed(name)] for extra, names in packages.items()}
    if complete := sorted(extra for extra, names in missing.items() if not names):
        report.ok(f"installed extras: {', '.join(complete)}")
    absent: list[str] = []
    for extra, names in sorted(missing.items()):
        if names and len(names) < len(packages[extra]):
            # A part of an extra is never installed on purpose: an installation has failed half-way.
            report.warn(f"extra {extra} is incomplete: {', '.join(names)} missing", how_to_install(extra))
        elif names:
            absent.append(extra)
    if absent:
        report.note(f"optional extras not installed: {', '.join(absent)}; {how_to_install(absent[0])} adds one")


def _check_namesake(report: Report) -> None:
    """Warn if the official SDK is installed in the same environment: both own the package `a2c_smcp`."""
    if _is_installed(NAMESAKE) and _is_installed(DISTRIBUTION):
        report.warn(
            f"{NAMESAKE} {metadata.version(NAMESAKE)} is installed here, too: each of the two overwrites files of the "
            "other in the package a2c_smcp",
            f"install them in two environments: `pip uninstall {NAMESAKE}`, then "
            f"`pip install --force-reinstall --no-deps {DISTRIBUTION}`",
        )


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


async def check_folders(options: Options, report: Report) -> None:
    """Check that the cache and the temporary folder are writable and have free space."""
    from a2c_documents.store.store import default_location

    cache = default_location(Path.cwd()).parent
    folders = {
        "the document cache": (cache, "make it writable for this user, or set XDG_CACHE_HOME to a writable folder"),
        "the temporary folder": (Path(_temporary()), "set TMPDIR to a writable folder"),
    }
    for name, (folder, advice) in folders.items():
        await asyncio.to_thread(_check_folder, name, folder, advice, report)


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except FileNotFoundError:  # no candidate is writable: report on the one that the environment asks for
        return os.environ.get("TMPDIR", "/tmp")


def _check_folder(name: str, folder: Path, advice: str, report: Report) -> None:
    try:
        # The cache is created on first use. Until then, its nearest parent has to be writable. Only writing proves it:
        # permission bits say nothing about read-only mounts, quotas and sandboxes.
        present = next(place for place in (folder, *folder.parents) if place.exists())
        with tempfile.TemporaryFile(dir=present):
            pass
        free = shutil.disk_usage(present).free
    except OSError as error:
        report.fail(f"{name} {folder} is not writable: {error.strerror or error}", advice)
        return
    if free >= ROOM:
        report.ok(f"{name} {folder} is writable; {free / 1e9:.1f} GB free")
        return
    told = f"{name} {folder} has only {free / 1e6:.0f} MB of free space"
    if free < NO_ROOM:
        report.fail(told, "free space on that disk")
    else:
        report.warn(told, "free space on that disk")
