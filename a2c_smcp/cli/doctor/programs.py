"""The programs that MCP servers are started with: whether they are there, and how they are had."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any

from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.computer.mcp.processes import default_environment

_NODE = "install Node.js: https://nodejs.org, `apt install npm`, `brew install node` or `winget install OpenJS.NodeJS`"
_UV = "install uv: `pip install uv`, `pipx install uv` or `brew install uv`"
_BUN = "install Bun: https://bun.sh"
_HOW_TO_HAVE = {
    "node": _NODE,
    "npm": _NODE,
    "npx": _NODE,
    "uv": _UV,
    "uvx": _UV,
    "pipx": "install pipx: `pip install pipx`, `apt install pipx` or `brew install pipx`",
    "bun": _BUN,
    "bunx": _BUN,
    "deno": "install Deno: https://deno.com",
    "docker": "install Docker: https://docs.docker.com/engine/install/",
    "podman": "install Podman: https://podman.io",
    "go": "install Go: https://go.dev",
    "java": "install a Java runtime: `apt install default-jre` or `brew install openjdk`",
    "dotnet": "install .NET: https://dotnet.microsoft.com",
    "python": "write python3 if that is there, or install Python: https://www.python.org",
    "python3": "install Python: https://www.python.org, `apt install python3`",
    "a2c": "write the full path of a2c: it is in the `bin` of the environment that this package is installed in",
}


def check_program(parameters: Mapping[str, Any], report: Report, who: str) -> bool:
    """Whether the command and the folder of a server are there."""
    command, cwd = parameters["command"], parameters.get("cwd")
    env: Mapping[str, Any] = parameters.get("env") or {}
    if isinstance(cwd, str) and "${" not in cwd and not os.path.isdir(cwd):
        report.fail(f"{who}: its folder {cwd} does not exist", "make it, or mend `cwd`")
        return False
    if not isinstance(command, str) or "${" in command:
        return True  # known when its inputs are
    path = env.get("PATH") or default_environment().get("PATH")
    if shutil.which(command, path=path) is not None:
        return True
    beside = os.path.join(cwd or "", command)
    if os.sep in command and os.path.exists(beside):
        if os.access(beside, os.X_OK):
            return True
        report.fail(f"{who}: {command} may not be run", f"chmod +x {beside}")
        return False
    name = os.path.basename(command).lower().removesuffix(".exe").removesuffix(".cmd")
    how = _HOW_TO_HAVE.get(name, "install it, or mend `command`")
    report.fail(
        f"{who}: command not found: {command}",
        f"{how}. If your shell has it, write its full path: a service sees another PATH",
    )
    return False
