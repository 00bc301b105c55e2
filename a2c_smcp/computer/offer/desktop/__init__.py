"""The Desktop: the `window://` resources of all MCP servers as one view."""
