"""What a Computer offers to an office: tools, windows and documents of all its MCP servers."""
