"""The Desktop: all `window://` resources of all MCP servers as one view."""
