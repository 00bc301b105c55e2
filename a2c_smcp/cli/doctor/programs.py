"""The programs of MCP servers: whether they are installed, and how to install them."""

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
    "python": "use python3 if it is installed, or install Python: https://www.python.org",
    "python3": "install Python: https://www.python.org, `apt install python3`",
    "a2c": "use the full path of a2c: it is in the `bin` folder of the environment where this package is installed",
}


def check_program(parameters: Mapping[str, Any], report: Report, who: str) -> bool:
    """Whether the command and the folder of a server exist."""
    command, cwd = parameters["command"], parameters.get("cwd")
    env: Mapping[str, Any] = parameters.get("env") or {}
    if isinstance(cwd, str) and "${" not in cwd and not os.path.isdir(cwd):
        report.fail(f"{who}: its folder {cwd} does not exist", "create it, or correct `cwd`")
        return False
    if not isinstance(command, str) or "${" in command:
        return True  # the command depends on inputs, which are resolved only for a start
    # The PATH that the server will get, which may differ from that of this process: MCP servers inherit only a few
    # variables, and `env` of the configuration overrides them.
    path = env.get("PATH") or default_environment().get("PATH")
    if shutil.which(command, path=path) is not None:
        return True
    beside = os.path.join(cwd or "", command)  # a relative path is resolved in the folder of the server
    if os.sep in command and os.path.exists(beside):
        if os.access(beside, os.X_OK):
            return True
        report.fail(f"{who}: {command} is not executable", f"chmod +x {beside}")
        return False
    name = os.path.basename(command).lower().removesuffix(".exe").removesuffix(".cmd")
    how = _HOW_TO_HAVE.get(name, "install it, or correct `command`")
    report.fail(
        f"{who}: command not found: {command}",
        f"{how}. If your shell finds it, use its full path: a service has another PATH",
    )
    return False
