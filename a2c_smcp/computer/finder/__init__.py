"""The Finder: all `dpe://` documents of all MCP servers as one catalogue."""
