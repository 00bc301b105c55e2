"""The page of the Server's settings."""

from __future__ import annotations

from a2c_smcp.server.settings import ServerSettings

from .commands import Option, command_at
from .fields import default_of, docs_of, type_of
from .markdown import code, table

INTRODUCTION = """\
# Settings of the Server

This page lists every setting of `a2c server`. You can set each with a flag, with an environment variable, or with a key
of the TOML file that `--config` (or `A2C_CONFIG`) names. A flag overrides the environment, which overrides the file.
[Run the Server](../server.md) explains the settings.

```toml title="server.toml"
host = "0.0.0.0"
keys_file = "keys.toml"
max_message_bytes = 5000000
log_format = "json"
```
"""


def page() -> str:
    """Return the page."""
    flags = {option.name: option for option in command_at("server").options}
    docs = docs_of(ServerSettings)
    panels: dict[str, list[tuple[str, str, str, str]]] = {}
    panel = "Serving"
    for name, field in ServerSettings.model_fields.items():
        flag = flags.get(name)
        panel = flag.panel or "Serving" if flag is not None else panel
        meaning = " ".join(filter(None, (flag.help if flag is not None else "", docs.get(name))))
        forms = "<br>".join(map(code, (*_flag(flag), f"A2C_{name.upper()}", name)))
        panels.setdefault(panel, []).append((forms, type_of(field), default_of(field), meaning))
    header = ("setting", "type", "default", "meaning")
    return "\n".join([INTRODUCTION, *(f"## {panel}\n\n{table(header, rows)}" for panel, rows in panels.items())])


def _flag(option: Option | None) -> list[str]:
    return [" / ".join(option.flags)] if option is not None else []
