"""The gateway: an office as an MCP server, for any MCP host.

All hosts of an office share its one Agent seat. One core serves two transports, stdio and streamable HTTP.
"""
