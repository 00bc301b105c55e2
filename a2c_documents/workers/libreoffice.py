"""LibreOffice: where it is installed, and how it runs without a window, a network, macros and earlier settings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from a2c_smcp.utils.system.paths import by_system
from a2c_smcp.utils.system.processes import LEAST_ENVIRONMENT

PROGRAM = "A2C_LIBREOFFICE"
"""The environment variable with the path of the program; `off` stands for none."""
OFF = "off"
NAMES = ("soffice", "libreoffice")
HOW_TO_INSTALL = (
    "install LibreOffice (`apt install libreoffice-writer-nogui libreoffice-impress-nogui`, "
    "`brew install --cask libreoffice` or `winget install TheDocumentFoundation.LibreOffice`)"
)
_PLACES = by_system(
    linux=(
        "/usr/bin/soffice", "/usr/lib/libreoffice/program/soffice", "/usr/lib64/libreoffice/program/soffice",
        "/opt/libreoffice*/program/soffice", "/snap/bin/libreoffice",
    ),
    macos=("/Applications/LibreOffice.app/Contents/MacOS/soffice", "/opt/homebrew/bin/soffice"),
    windows=(
        r"C:\Program Files\LibreOffice\program\soffice.com",
        r"C:\Program Files (x86)\LibreOffice\program\soffice.com",
    ),
)  # fmt: skip
_KEPT_VARIABLES = ("PATH", "TZ", "SYSTEMROOT", "WINDIR", "COMSPEC")
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
{settings}
</oor:items>
"""
_SECURITY = "/org.openoffice.Office.Common/Security/Scripting"
_SETTINGS = (
    (_SECURITY, "MacroSecurityLevel", "3"),
    (_SECURITY, "DisableMacrosExecution", "true"),
    (_SECURITY, "DisableActiveContent", "true"),
    # Pictures and parts that a document links to are not fetched.
    (_SECURITY, "BlockUntrustedRefererLinks", "true"),
    ("/org.openoffice.Office.Writer/Content/Update", "Link", "2"),
    ("/org.openoffice.Office.Calc/Content/Update", "Link", "2"),
    # A proxy where nothing listens: what reaches for the network in spite of that finds nobody.
    ("/org.openoffice.Inet/Settings", "ooInetProxyType", "1"),
    ("/org.openoffice.Inet/Settings", "ooInetHTTPProxyName", "127.0.0.1"),
    ("/org.openoffice.Inet/Settings", "ooInetHTTPProxyPort", "9"),
    ("/org.openoffice.Inet/Settings", "ooInetHTTPSProxyName", "127.0.0.1"),
    ("/org.openoffice.Inet/Settings", "ooInetHTTPSProxyPort", "9"),
    ("/org.openoffice.Office.Common/Save/Document", "CreateBackup", "false"),
    ("/org.openoffice.Office.Recovery/AutoSave", "Enabled", "false"),
)


def find_program(wanted: str | None = None) -> Path | None:
    """The program: the one that is wanted, else that of `A2C_LIBREOFFICE`, of `PATH`, or of the usual places.

    Raises:
        FileNotFoundError: the wanted one is not a program.
    """
    wanted = wanted or os.environ.get(PROGRAM) or None
    if wanted == OFF:
        return None
    if wanted is not None:
        if (found := shutil.which(wanted)) is None:
            raise FileNotFoundError(wanted)
        return Path(found).absolute()
    if (found := next(filter(None, map(shutil.which, NAMES)), None)) is not None:
        return Path(found).absolute()
    return next((place for place in map(_at, _PLACES) if place is not None), None)


def _at(place: str) -> Path | None:
    path = Path(place)
    # A place with a star has the number of the version in it. The last one is the newest.
    found = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor)))) if "*" in place else [path]
    return next((each for each in reversed(found) if os.access(each, os.X_OK)), None)


def make_profile(folder: Path) -> None:
    """Write the settings for one run into an empty folder: settings of an earlier run could be those of a document."""
    lines = (
        f'<item oor:path="{path}"><prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop></item>'
        for path, name, value in _SETTINGS
    )
    (folder / "user").mkdir(parents=True)
    (folder / "user" / "registrymodifications.xcu").write_text(_PROFILE.format(settings="\n".join(lines)), "utf-8")


def command(program: Path, profile: Path, to: str, source: Path, results: Path) -> list[str]:
    """The command that converts a file."""
    return [
        str(program), f"-env:UserInstallation={profile.as_uri()}", "--headless", "--invisible", "--norestore",
        "--nologo", "--nodefault", "--nolockcheck", "--convert-to", to, "--outdir", str(results), str(source),
    ]  # fmt: skip


def environment(home: Path, mark: Mapping[str, str]) -> dict[str, str]:
    """The environment of the program: nothing of ours that could be a secret."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    own = {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "SAL_USE_VCLPLUGIN": "svp",
    }
    return {**LEAST_ENVIRONMENT, **kept, **own, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(home)), **mark}
