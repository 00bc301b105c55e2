"""The Finder: the `dpe://` documents of all MCP servers as one catalogue."""
