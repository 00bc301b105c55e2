"""Changes one entry in the configuration of an MCP host, and nothing else in the file.

The text of an existing file is edited, not written anew: comments, order and layout of everything else stay. A file in
which that is not possible is left alone.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from a2c_smcp.utils import jsonc
from a2c_smcp.utils.system.files import replace_file, write_private_file
from a2c_smcp.utils.toml_lines import has_comment, statements_of

BACKUP = ".a2c-backup"


class CannotEdit(Exception):
    """A file that cannot be changed without losing something. The message says why."""


def read_text(path: Path) -> str | None:
    """The text of a file, with its line ends as they are; None if it does not exist.

    Raises:
        CannotEdit: it is not UTF-8.
        OSError: it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise CannotEdit("it is not UTF-8 text") from None


def write_text(path: Path, before: str | None, after: str) -> Path | None:
    """Replace a file, or create one that only its owner can read; returns the copy of the first version, if this is the
    first change.

    Raises:
        CannotEdit: the file is not as it was read: the host changed it meanwhile.
        OSError: it cannot be written, and is unchanged.
    """
    if read_text(path) != before:
        raise CannotEdit("another program is changing it: quit the host, and try again")
    if before is None:
        write_private_file(path, after.encode())
        return None
    copy = path.with_name(path.name + BACKUP)
    is_first = not copy.exists()
    if is_first:
        # Private, whatever the mode of the file is: it may have keys.
        write_private_file(copy, before.encode())
    replace_file(path, after.encode())
    return copy if is_first else None


# ----------------------------------------------------------------------------------------------------------------- JSON


def json_entry(text: str | None, section: str, name: str) -> dict[str, Any] | None:
    """The entry of an MCP server; None if there is none.

    Raises:
        CannotEdit: the file is not the configuration of a host.
    """
    data = _parse_json(text)
    servers: Any = data.get(section)
    if not isinstance(servers, dict | None):
        raise CannotEdit(f"{section} is not an object")
    entry: Any = cast("dict[str, Any]", servers or {}).get(name)
    if not isinstance(entry, dict | None):
        raise CannotEdit(f"{section}.{name} is not an object")
    return cast("dict[str, Any] | None", entry)


def with_json_entry(text: str | None, section: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with an entry.

    Raises:
        CannotEdit: that would change something else.
    """
    data = _parse_json(text)
    servers: dict[str, Any] = data.get(section) or {}
    wanted = {**data, section: {**servers, name: dict(entry)}}
    if text is None or (not data and not jsonc.has_comments(text)):
        return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
    changed = jsonc.with_value(text, (section, name), dict(entry))
    if _parse_json(changed) != wanted:
        raise CannotEdit("its syntax is unusual")
    return changed


def _parse_json(text: str | None) -> dict[str, Any]:
    if text is None or not text.strip("\ufeff \t\r\n"):
        return {}
    try:
        data: Any = jsonc.parse(text)[0]
    except jsonc.JSONCError as error:
        raise CannotEdit(str(error)) from None
    if not isinstance(data, dict):
        raise CannotEdit("it is not an object")
    return cast("dict[str, Any]", data)


# ----------------------------------------------------------------------------------------------------------------- TOML


def toml_entry(text: str | None, section: str, name: str) -> dict[str, Any] | None:
    """The table of an MCP server; None if there is none.

    Raises:
        CannotEdit: the file is not the configuration of a host.
    """
    servers: Any = _parse_toml(text or "").get(section)
    if not isinstance(servers, dict | None):
        raise CannotEdit(f"{section} is not a table")
    entry: Any = cast("dict[str, Any]", servers or {}).get(name)
    if not isinstance(entry, dict | None):
        raise CannotEdit(f"{section}.{name} is not a table")
    return cast("dict[str, Any] | None", entry)


def with_toml_entry(text: str | None, section: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with a table for an MCP server, which replaces the one that it has.

    Raises:
        CannotEdit: that would change something else.
    """
    text = text or ""
    data = _parse_toml(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    written = toml_table((section, name), entry).replace("\n", newline)
    path = (section, name)
    old = [statement for statement in statements_of(text) if statement.path[:2] == path]
    if old:
        if any(has_comment(text[statement.start : statement.end]) for statement in old):
            raise CannotEdit(f"[{section}.{name}] has comments")
        place, following = old[0].start, old[-1].end
        for statement in reversed(old):
            # With the empty lines between two of them.
            is_next = not text[statement.end : following].strip()
            text = text[: statement.start] + text[following if is_next else statement.end :]
            following = statement.start
        changed = text[:place] + written + text[place:]
    else:
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        changed = text + gap + written
    wanted = {**data, section: {**data.get(section, {}), name: dict(entry)}}
    try:
        is_as_wanted = tomllib.loads(changed) == wanted
    except tomllib.TOMLDecodeError:
        is_as_wanted = False
    if not is_as_wanted:
        raise CannotEdit(f"it does not have [{section}.…] tables")
    return changed


def toml_table(path: tuple[str, ...], entry: Mapping[str, Any]) -> str:
    """A table in TOML, and the tables below it.

    Raises:
        CannotEdit: it has a value that this function does not write.
    """
    plain = {name: value for name, value in entry.items() if not isinstance(value, Mapping)}
    lines = [f"[{'.'.join(map(_toml_key, path))}]", *(f"{_toml_key(k)} = {_toml_value(v)}" for k, v in plain.items())]
    below = [
        toml_table((*path, name), cast("Mapping[str, Any]", value))
        for name, value in entry.items()
        if isinstance(value, Mapping)
    ]
    return "\n".join(["\n".join(lines) + "\n", *below])


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"invalid TOML: {error}") from None


def _toml_key(key: str) -> str:
    is_bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if is_bare else json.dumps(key, ensure_ascii=False)


def _toml_value(value: Any) -> str:
    if isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=False)  # such JSON is valid TOML
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, cast('list[Any]', value)))}]"
    raise CannotEdit("its values are unusual")
