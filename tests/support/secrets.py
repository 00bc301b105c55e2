"""Configurations of MCP servers with a secret in clear, by the place where it is."""

from __future__ import annotations

from typing import Any

SECRETS: dict[str, dict[str, Any]] = {
    "variable": {"command": "x", "env": {"API_KEY": "s3cret-1"}},
    "password in an address in a variable": {
        "command": "x",
        "env": {"DATABASE_URL": "postgres://bob:s3cret-2@db.example/x"},
    },
    "known form in a variable": {"command": "x", "env": {"OPENAI": "sk-proj-s3cret-31234567890abcdef"}},
    "header": {"url": "https://example.com/mcp", "headers": {"X-Api-Key": "s3cret-4"}},
    "cookie": {"url": "https://example.com/mcp", "headers": {"Cookie": "id=s3cret-5"}},
    "option": {"command": "x", "args": ["--api-key", "s3cret-6"]},
    "option with equals": {"command": "x", "args": ["--token=s3cret-7"]},
    "header in an option": {"command": "x", "args": ["mcp-remote", "--header", "Authorization: Bearer s3cret-8"]},
    "variable in an option": {"command": "docker", "args": ["run", "-e", "GITHUB_TOKEN=s3cret-9", "image"]},
    "address in an argument": {"command": "x", "args": ["postgres://bob:s3cret-10@db.example/x"]},
    "password in an address": {"url": "https://bob:s3cret-11@example.com/mcp"},
    "query": {"url": "https://example.com/mcp?apikey=s3cret-12&x=1"},
    "default of a variable": {"command": "x", "env": {"API_KEY": "${NOT_SET:-s3cret-13}"}},
    "default in an option": {"command": "x", "args": ["--password=${NOT_SET:-s3cret-14}"]},
    "default in a header": {"url": "https://example.com/mcp", "headers": {"X-A": "Bearer ${NOT_SET:-s3cret-15}"}},
    "default in an address": {"command": "x", "args": ["postgres://bob:${NOT_SET:-s3cret-16}@db.example/x"]},
}
