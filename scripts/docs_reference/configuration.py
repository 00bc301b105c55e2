"""The page of a Computer's configuration."""

from __future__ import annotations

from dataclasses import fields

from pydantic import BaseModel

from a2c_smcp.computer.config.model import (
    BaseServerConfig,
    MCPServerCommandInput,
    MCPServerPickStringInput,
    MCPServerPromptStringInput,
    SseParameters,
    SseServerConfig,
    StdioParameters,
    StdioServerConfig,
    StreamableHttpParameters,
    StreamableHttpServerConfig,
    ToolMeta,
)
from a2c_smcp.computer.config.oauth import OAuthParameters
from a2c_smcp.computer.config.policy import Policy

from .fields import docs_of, rows_of
from .markdown import code, table

INTRODUCTION = """\
# Configuration of a Computer

This page lists every field of the file that `a2c computer --config FILE` reads. [Run a
Computer](../computer.md) shows a complete file. `a2c config check FILE` checks yours.

A file has two parts:

| part | contents | |
| --- | --- | --- |
| `servers` | an object: a name and a [server](#every-server) for each MCP server | also read under `mcpServers` |
| `inputs` | a list of [inputs](#inputs): values that are not in the file | optional |

Any text under `server_parameters` can contain placeholders: `${input:id}` for an input, and `${VAR}`, `${VAR:-default}`
or `${env:VAR}` for an environment variable. In the tables below, *placeholder* means one of these as the whole value.
The fields of `server_parameters` can also be written directly in the server, as in the files of other hosts.
"""

SERVERS: dict[str, tuple[type[BaseServerConfig], type[BaseModel]]] = {
    "A server that the Computer starts": (StdioServerConfig, StdioParameters),
    "A server over streamable HTTP": (StreamableHttpServerConfig, StreamableHttpParameters),
    "A server over SSE": (SseServerConfig, SseParameters),
}
INPUTS: tuple[type[BaseModel], ...] = (
    MCPServerPromptStringInput,
    MCPServerPickStringInput,
    MCPServerCommandInput,
)
_HEADER = ("field", "type", "default", "meaning")


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION, "## Every server\n", table(_HEADER, rows_of(BaseServerConfig)), *_server_types()]
    parts += [
        "## Logins\n",
        "These fields belong in `oauth` of a server over HTTP. [Log in to remote MCP servers](../login.md) shows them "
        "in use.\n",
        table(_HEADER, rows_of(OAuthParameters)),
    ]
    parts += [
        "## Tool metadata\n",
        "These fields belong in `tool_meta` and `default_tool_meta`. Other keys are kept and passed to the Agent.\n",
    ]
    parts += [table(_HEADER, rows_of(ToolMeta)), "## Inputs\n", *_inputs(), *_policy()]
    return "\n".join(parts)


def _server_types() -> list[str]:
    parts: list[str] = []
    shared = {name for name, *_ in rows_of(BaseServerConfig)}
    for title, (server, parameters) in SERVERS.items():
        own = [row for row in rows_of(server) if row[0] not in shared]
        parts += [
            f"## {title}\n",
            table(_HEADER, own),
            "Its `server_parameters`:\n",
            table(_HEADER, rows_of(parameters)),
        ]
    return parts


def _inputs() -> list[str]:
    parts = [
        "The Computer fills in `${input:id}` when it first needs the value: from the environment (`A2C_SMCP_ID`, or "
        "`A2C_SMCP_ID_SERVER` for one server only), else from a command or the owner, else from its `default`.\n"
    ]
    for kind in INPUTS:
        parts += [f"### {kind.model_fields['type'].default}\n", table(_HEADER, rows_of(kind))]
    return parts


def _policy() -> list[str]:
    docs = docs_of(Policy)
    rows = [(code(each.name), code(str(each.default)), docs.get(each.name, "")) for each in fields(Policy)]
    return [
        "## Timeouts and restarts of MCP servers\n",
        "`a2c computer --start-timeout` sets the first. In your own program, `Computer(…, policy=Policy(…))` sets all "
        "of them. Times are in seconds.\n",
        table(("field", "default", "meaning"), rows),
    ]
