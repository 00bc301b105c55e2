"""What is configured: MCP servers, inputs and secrets, read from files and checked before anything starts."""
