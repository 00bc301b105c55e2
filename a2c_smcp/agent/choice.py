"""The choice of tools that a model gets to see."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.tool_meta import tool_meta


@dataclass(frozen=True)
class Choice:
    """The tools that a model gets to see: `names`, `tags` and `computers` all allow them, and nothing excludes them."""

    names: Collection[str] | None = None
    """Patterns of tool names, such as `read_*`; None allows all."""
    tags: Collection[str] | None = None
    """Tags, of which a tool needs at least one; None allows all."""
    computers: Collection[str] | None = None
    """The names of Computers; None allows all."""
    exclude_names: Collection[str] = ()
    """Patterns of tool names to leave out."""
    exclude_tags: Collection[str] = ()
    """Tags whose tools to leave out."""
    exclude_computers: Collection[str] = ()
    """The names of Computers to leave out."""

    def allows_computer(self, computer: str) -> bool:
        """Whether a Computer may be shown."""
        return computer not in self.exclude_computers and (self.computers is None or computer in self.computers)

    def allows(self, tool: SMCPTool) -> bool:
        """Whether a tool may be shown."""
        return self.allows_tool(tool["name"], tags_of(tool))

    def allows_tool(self, name: str, tags: Set[str]) -> bool:
        """Whether a tool with this name and these tags may be shown."""
        return (
            (self.names is None or _matches(name, self.names))
            and (self.tags is None or not tags.isdisjoint(self.tags))
            and not _matches(name, self.exclude_names)
            and tags.isdisjoint(self.exclude_tags)
        )


def tags_of(tool: SMCPTool) -> frozenset[str]:
    """The tags that the owner of the Computer gave to a tool."""
    tags = tool_meta(tool).get("tags")
    listed = cast("list[Any]", tags) if isinstance(tags, list) else []
    return frozenset(tag for tag in listed if isinstance(tag, str))


def _matches(name: str, patterns: Iterable[str]) -> bool:
    # Not `fnmatch`, which ignores case on Windows: a choice must mean the same on every system.
    return any(fnmatchcase(name, pattern) for pattern in patterns)
