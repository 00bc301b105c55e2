"""The document server: an MCP server that serves the files of a folder as documents, pages and elements (`dpe://`)."""
