"""A folder of real files as documents, pages and elements at `dpe://`: an MCP server of its own."""
