"""The page of the error codes: from the error tree, and for each code who answers it and what to do."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

from a2c_smcp import errors
from a2c_smcp.errors import SMCPError

from .markdown import code, table

INTRODUCTION = """\
# Error codes

Here you find what each code means, who answers it, and what you can do. On the wire an error is an ack:

```json title="an error"
{"error": {"code": 404, "message": "no Computer 'nobody' in this office"}}
```

`details` may say more; it never holds a key, a token, an address or a stack trace. Three requests answer in their own
form:

- `server:join_office` and `server:leave_office` answer `false` and the reason, which ends with the code.
- `client:tool_call` answers MCP's `CallToolResult` with `isError: true` and the code in `meta.error_code`. If it was
  the Server that refused, the `error` object stands beside it.
- A connection that is refused gets a `connect_error` with the code in its data.

In Python each code is an exception of `a2c_smcp.errors`; all are `SMCPError`, with `code`, `message` and `details`.
Trying again never helps with 400, 401, 403, 404 or 501; with 408, 429, 500 and 503 it may, after a pause that grows.
"""


ADVICE: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("advice.toml").read_text("utf-8"))
"""Who answers a code, and what its reader can do."""
GROUPS = {
    "Any request": range(400, 501),
    "Only in the own program": range(501, 600),
    "Tools": range(4001, 4100),
    "Offices": range(4101, 4200),
    "Documents": range(4201, 4300),
}


def classes() -> list[type[SMCPError]]:
    """The classes that own a code, in the order of the codes."""
    found = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, SMCPError)]
    owners = [each for each in found if "code" in vars(each) and each is not SMCPError]
    return sorted(owners, key=lambda each: each.code)


def page() -> str:
    """The page."""
    rows = [(f"[{each.code}](#{each.code})", each.summary, code(each.__name__)) for each in classes()]
    parts = [INTRODUCTION, table(("code", "means", "exception"), rows)]
    for title, codes in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [_section(each) for each in classes() if each.code in codes]
    return "\n".join(parts)


def _section(error: type[SMCPError]) -> str:
    advice = ADVICE[str(error.code)]
    return (
        f'<a id="{error.code}"></a>\n\n### {error.code} {error.summary}\n\n{inspect.getdoc(error)}\n\n'
        f"- **Who answers it:** {advice['who']}\n- **What to do:** {advice['what']}\n"
    )
