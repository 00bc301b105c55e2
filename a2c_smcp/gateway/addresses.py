"""The addresses of resources behind an office: `a2c://computer/NAME/SERVER/URI`.

`URI` is the address that the MCP server itself uses, as it is. It is not encoded, so that a template stays a template:
`a2c://computer/laptop/docs/dpe://docs/{doc_ref}`. `computer` is the same in all addresses: programs that normalise the
host of an address would change the name of a Computer there.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

_PREFIX = "a2c://computer/"


@dataclass(frozen=True, slots=True)
class Address:
    """A resource or template of an MCP server on a Computer."""

    computer: str
    server: str
    uri: str
    """As the MCP server writes it."""

    def __str__(self) -> str:
        return f"{_PREFIX}{quote(self.computer, safe='')}/{quote(self.server, safe='')}/{self.uri}"


def parse(text: str) -> Address | None:
    """The address in a text; None if it is another one."""
    if not text.startswith(_PREFIX):
        return None
    computer, _, rest = text[len(_PREFIX) :].partition("/")
    server, slash, uri = rest.partition("/")
    if not computer or not slash or not uri:
        return None
    return Address(unquote(computer), unquote(server), uri)
