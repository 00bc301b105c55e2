"""The page of the error codes: from the error tree, and for each code its origin and what to do."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

from a2c_smcp import errors
from a2c_smcp.errors import SMCPError

from .markdown import code, table

INTRODUCTION = """\
# Error codes

This page describes each error code: its meaning, its origin, and what to do. On the wire, an error is an ack:

```json title="an error"
{"error": {"code": 404, "message": "no Computer 'nobody' in this office"}}
```

`details` can contain more information, but never a key, a token, an address or a stack trace. Some answers have another
form:

- `server:join_office` and `server:leave_office` answer `false` and the reason, which ends with the code.
- `client:tool_call` answers MCP's `CallToolResult` with `isError: true` and the code in `meta.error_code`. If the
  Server rejected the request, the ack also contains the `error` object.
- A client whose connection is rejected receives a `connect_error` with the code in its data.

In Python, each code is an exception of `a2c_smcp.errors`. All are subclasses of `SMCPError`, with `code`, `message` and
`details`. An unchanged retry does not help after 400, 401, 403, 404 or 501.
After 408, 429, 500 and 503, retry with increasing delays.
"""


ADVICE: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("advice.toml").read_text("utf-8"))
"""The origin of each code, and what to do about it."""
GROUPS = {
    "Any request": range(400, 501),
    "Errors of your own client": range(501, 600),
    "Tools": range(4001, 4010),
    "MCP servers": range(4010, 4100),
    "Offices": range(4101, 4200),
    "Documents": range(4201, 4300),
}


def classes() -> list[type[SMCPError]]:
    """Return the classes that define a code, in the order of the codes."""
    found = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, SMCPError)]
    owners = [each for each in found if "code" in vars(each) and each is not SMCPError]
    return sorted(owners, key=lambda each: each.code)


def page() -> str:
    """Return the page."""
    rows = [(f"[{each.code}](#{each.code})", each.summary, code(each.__name__)) for each in classes()]
    parts = [INTRODUCTION, table(("code", "meaning", "exception"), rows)]
    for title, codes in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_section(each) for each in classes() if each.code in codes]
    return "\n".join(parts)


def _section(error: type[SMCPError]) -> str:
    advice = ADVICE[str(error.code)]
    return (
        f'<a id="{error.code}"></a>\n\n### {error.code} {error.summary}\n\n{inspect.getdoc(error)}\n\n'
        f"- **Origin:** {advice['origin']}\n- **What to do:** {advice['action']}\n"
    )
