"""The resource templates of one connected MCP server."""

from __future__ import annotations

import re

from mcp.shared.exceptions import MCPError

from a2c_smcp.computer.hosting.kept_list import KeptList
from a2c_smcp.computer.hosting.notes import Notes
from a2c_smcp.computer.mcp.session import Session

# A template may leave its host open, as `dpe://{host}/…` does. Such a template names no host.
_HOST = re.compile(r"dpe://([^/?#{}]+)(?=[/?#{]|$)")


class Templates(KeptList):
    """The templates as the server wrote them. `is_told`: the server announces changes of the list."""

    def __init__(self, session: Session, seconds: float, notes: Notes, *, is_offered: bool, is_told: bool) -> None:
        what = "resource templates"
        super().__init__(what, lambda: session.all_templates(seconds), notes, is_offered=is_offered, is_told=is_told)

    async def hosts(self) -> frozenset[str]:
        """The hosts of `dpe://` templates, in lower case; none where they cannot be read."""
        try:
            templates = await self.listed()
        except (MCPError, TimeoutError):
            return frozenset()
        found = (_HOST.match(template["uriTemplate"]) for template in templates)
        return frozenset(match[1].lower() for match in found if match is not None)
