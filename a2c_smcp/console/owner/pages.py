"""The pages of a Computer, for its owner."""

from __future__ import annotations

from a2c_smcp.console.web.operations import Page

PAGES = (
    Page("/", "owner/servers.html", "MCP servers", "owner/servers"),
    Page("/approvals", "owner/approvals.html", "Approvals", "owner/approvals"),
    Page("/tools", "owner/tools.html", "Tools", "owner/tools"),
    Page("/history", "owner/history.html", "History", "owner/history"),
    Page("/windows", "owner/windows.html", "Windows", "owner/windows"),
    Page("/documents", "owner/documents.html", "Documents", "owner/documents"),
    Page("/add", "owner/add.html", "Add a server", "owner/add"),
)
"""All of them, in the order of the menu. Their modules fetch the data from the API."""
