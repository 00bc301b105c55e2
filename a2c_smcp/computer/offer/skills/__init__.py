"""Skills: folders with a `SKILL.md`, of the owner and of MCP servers."""
