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
from a2c_smcp.computer.config.policy import Policy

from .fields import docs_of, rows_of
from .markdown import code, table

INTRODUCTION = """\
# Configuration of a Computer

Here you look up every field of the file that `a2c computer --config FILE` reads. [Running a
Computer](../computer.md) shows the file as a whole; `a2c config check FILE` says what is wrong with yours.

A file has two parts:

| part | is | |
| --- | --- | --- |
| `servers` | an object: a name and a [server](#every-server) for each MCP server | also read under `mcpServers` |
| `inputs` | a list of [inputs](#inputs): values that are not in the file | may be left out |

Any text under `server_parameters` may hold placeholders: `${input:id}` for an input, `${VAR}`, `${VAR:-default}` or
`${env:VAR}` for an environment variable. A *placeholder* in the tables below is one of these as the whole value. The
fields of `server_parameters` may also stand directly in the server, as other hosts have them.
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
    """The page."""
    parts = [INTRODUCTION, "## Every server\n", table(_HEADER, rows_of(BaseServerConfig)), *_server_types()]
    parts += [
        "## Tool metadata\n",
        "In `tool_meta` and `default_tool_meta`. Further keys are kept and reach the Agent.\n",
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
        "`${input:id}` is filled in when it is first needed: from the environment (`A2C_SMCP_ID`, or "
        "`A2C_SMCP_ID_SERVER` for one server alone), else from a command or a person, else from its `default`.\n"
    ]
    for kind in INPUTS:
        parts += [f"### {kind.model_fields['type'].default}\n", table(_HEADER, rows_of(kind))]
    return parts


def _policy() -> list[str]:
    docs = docs_of(Policy)
    rows = [(code(each.name), code(str(each.default)), docs.get(each.name, "")) for each in fields(Policy)]
    return [
        "## Patience with MCP servers\n",
        "`a2c computer --start-timeout` sets the first; in a program of yours, `Computer(…, policy=Policy(…))` sets "
        "all of them. Times are in seconds.\n",
        table(("field", "default", "meaning"), rows),
    ]
