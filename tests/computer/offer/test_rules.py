"""The rules for tools: what decides, and how the owner's file looks after a change."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from mcp_types import Tool

from a2c_smcp.computer.config.files import load_config
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.offer.grants import Grants
from a2c_smcp.computer.offer.manager import MCPServerManager
from a2c_smcp.computer.offer.rules import Rule, Rules
from a2c_smcp.computer.offer.tools import DescribedTools, describe_tools
from a2c_smcp.errors import NotFoundError

pytestmark = pytest.mark.anyio

BEFORE = """{
  // my servers
  "mcpServers": {
    "files": {
      "command": "never-started", // it is disabled
      "disabled": true,
      "forbidden_tools": [
        "purge", // for ever
        "drop"
      ],
      "default_tool_meta": {"auto_apply": "read-only"}
    }
  }
}
"""


def contents(file: Path) -> str:
    return file.read_text("utf-8")


def edit(file: Path) -> None:
    file.write_text(BEFORE + "// mine\n", "utf-8")


class Described(MCPServerManager):
    """A manager whose servers need not run to have tools."""

    def described(self) -> list[tuple[MCPServerConfig, DescribedTools]]:
        names = ("list", "purge", "drop", "put")
        tools = [
            Tool(name=name, input_schema={"type": "object"}, annotations={"readOnlyHint": name == "list"})  # type: ignore[arg-type]
            for name in names
        ]
        return [(config, describe_tools(config, tools)) for config in self.configs]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "mcp.json"
    file.write_text(BEFORE, "utf-8")
    return file


@pytest.fixture
async def rules(file: Path) -> AsyncGenerator[Rules]:
    manager = Described()
    await manager.ainitialize(load_config(file).servers)
    yield Rules(manager, Grants())
    await manager.aclose()


async def test_each_rule_says_where_it_comes_from(rules: Rules) -> None:
    found = {each.entry.original_name: (each.rule, each.source, each.detail) for each in rules.all()}
    assert found == {
        "list": ("run", "default_tool_meta", "read-only"),
        "purge": ("forbid", "forbidden_tools", None),
        "drop": ("forbid", "forbidden_tools", None),
        "put": ("ask", "default_tool_meta", "read-only"),
    }


async def test_a_changed_rule_is_in_force_and_in_the_file_with_its_comments(rules: Rules, file: Path) -> None:
    saved = await rules.set("files", "put", Rule.RUN)
    assert (saved.path, rules.of("files", "put").rule) == (file, "run")
    await rules.set("files", "drop", Rule.ASK)
    await rules.set("files", "list", Rule.FORBID)
    text = contents(file)
    assert "// my servers" in text
    assert '"purge", // for ever' in text
    assert '"drop"\n' not in text.partition("tool_meta")[0]
    again = load_config(file).servers[0]
    assert again.forbidden_tools == ["purge", "list"]
    assert {name: meta.auto_apply for name, meta in again.tool_meta.items()} == {"put": True, "drop": False}
    assert [rules.of("files", name).rule for name in ("drop", "list")] == ["ask", "forbid"]


async def test_a_file_that_somebody_edits_is_left_alone_and_the_rule_applies(rules: Rules, file: Path) -> None:
    edit(file)
    saved = await rules.set("files", "list", Rule.FORBID)
    assert (saved.path, bool(saved.problem)) == (None, True)
    assert contents(file) == BEFORE + "// mine\n"
    assert rules.of("files", "list").rule == "forbid"


async def test_a_server_is_enabled_in_the_file(rules: Rules, file: Path) -> None:
    await rules.switch("files", disabled=False)
    assert contents(file) == BEFORE.replace('"disabled": true', '"disabled": false')


async def test_unknown_servers_and_tools_are_reported(rules: Rules, file: Path) -> None:
    for server, tool in (("files", "nothing"), ("nobody", "list")):
        with pytest.raises(NotFoundError):
            await rules.set(server, tool, Rule.RUN)
    assert contents(file) == BEFORE
