"""Lists of tools and configurations, between the form of this project and those of other dialects.

Every function returns the object that it was given if nothing has to change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, cast

from a2c_smcp.utils.bundle_id import bundle_id

Options: TypeAlias = Literal["any", "texts", "objects"]
"""How the options of a `pickString` input are written: as texts, as objects of `label` and `value`, or as they come."""


def with_bundle_ids(answer: dict[str, Any], computer: str) -> dict[str, Any]:
    """A list of tools in which each has a `bundle_id`; that of the Computer, where none is known."""
    if "tools" not in answer:
        return answer
    # A Computer's name without usable characters needs an id of its own as well.
    fallback = bundle_id(computer, "computer", {"url": computer})
    return _mapped(answer, "tools", lambda tool: tool if _id_of(tool) else {**tool, "bundle_id": fallback})


def keyed_by_name(answer: dict[str, Any]) -> dict[str, Any]:
    """A configuration with the names of MCP servers as keys. Where a name repeats, the key stays the `bundle_id`."""
    servers = _servers(answer)
    if servers is None:
        return answer
    names = {key: name for key, entry in servers.items() if isinstance(name := entry.get("name"), str) and name}
    # A key that stays must not be the name of another entry, either.
    taken = Counter(names.values()) + Counter(key for key in servers if names.get(key) != key)
    keys = {key: name if (name := names.get(key)) and taken[name] == 1 else key for key in servers}
    # A key that is replaced must not be lost.
    kept = {key: entry if _id_of(entry) else {**entry, "bundle_id": key} for key, entry in servers.items()}
    return _rekeyed(answer, kept, keys, before=servers)


def keyed_by_bundle_id(answer: dict[str, Any]) -> dict[str, Any]:
    """A configuration with a `bundle_id` in each entry and as its key."""
    servers = _servers(answer)
    if servers is None:
        return answer
    keys: dict[str, str] = {}
    taken: set[str] = set()
    for key, entry in servers.items():
        wanted = _id_of(entry) or _derived_id(key, entry)
        # Two MCP servers with one id are a mistake of the owner. Neither is left out.
        found, number = wanted, 2
        while found in taken:
            found, number = f"{wanted}-{number}", number + 1
        taken.add(found)
        keys[key] = found
    with_ids = {
        key: entry if entry.get("bundle_id") == keys[key] else {**entry, "bundle_id": keys[key]}
        for key, entry in servers.items()
    }
    return _rekeyed(answer, with_ids, keys, before=servers)


def with_options(answer: dict[str, Any], options: Options) -> dict[str, Any]:
    """A configuration whose inputs write their options in one way."""
    if options == "any":
        return answer
    write = _write_texts if options == "texts" else _write_objects
    return _mapped(answer, "inputs", lambda entry: write(entry) if entry.get("type") == "pickString" else entry)


def _write_texts(entry: dict[str, Any]) -> dict[str, Any]:
    return _mapped_options(entry, _value)


def _write_objects(entry: dict[str, Any]) -> dict[str, Any]:
    written = _mapped_options(entry, _labelled)
    options = written.get("options")
    if not isinstance(options, list):
        return entry
    # Peers reject the whole answer because of an empty label or value, or a default that is none of the values.
    usable = [option for option in cast("list[Any]", options) if _is_usable(option)]
    if len(usable) != len(cast("list[Any]", options)):
        written = {**written, "options": usable}
    default = written.get("default")
    if default is not None and all(option["value"] != default for option in usable):
        written = {key: value for key, value in written.items() if key != "default"}
    return written


def _value(option: Any) -> Any:
    return cast("dict[str, Any]", option).get("value") if isinstance(option, dict) else option


def _labelled(option: Any) -> Any:
    if not isinstance(option, dict):
        return {"label": option, "value": option}
    given = cast("dict[str, Any]", option)
    return given if given.get("label") else {**given, "label": given.get("value")}


def _is_usable(option: Any) -> bool:
    fields = (option.get("label"), option.get("value"))
    return all(isinstance(field, str) and field for field in fields)


def _mapped_options(entry: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    options: Any = entry.get("options")
    if not isinstance(options, list):
        return entry
    before = cast("list[Any]", options)
    after = [change(option) for option in before]
    return entry if _are_same(before, after) else {**entry, "options": after}


def _mapped(answer: dict[str, Any], field: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """The answer with each object in one of its lists changed."""
    listed: Any = answer.get(field)
    if not isinstance(listed, list):
        return answer
    before = cast("list[Any]", listed)
    after = [change(cast("dict[str, Any]", item)) if isinstance(item, dict) else item for item in before]
    return answer if _are_same(before, after) else {**answer, field: after}


def _are_same(before: list[Any], after: list[Any]) -> bool:
    return all(one is other for one, other in zip(before, after, strict=True))


def _servers(answer: dict[str, Any]) -> dict[str, dict[str, Any]] | None:
    servers: Any = answer.get("servers")
    if not isinstance(servers, dict) or not all(isinstance(entry, dict) for entry in cast("Any", servers).values()):
        return None
    return cast("dict[str, dict[str, Any]]", servers)


def _rekeyed(
    answer: dict[str, Any],
    servers: dict[str, dict[str, Any]],
    keys: dict[str, str],
    *,
    before: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    if all(key == new and servers[key] is before[key] for key, new in keys.items()):
        return answer
    return {**answer, "servers": {keys[key]: entry for key, entry in servers.items()}}


def _id_of(entry: dict[str, Any]) -> str | None:
    found = entry.get("bundle_id")
    return found if isinstance(found, str) and found else None


def _derived_id(key: str, entry: dict[str, Any]) -> str:
    name, kind, parameters = entry.get("name"), entry.get("type"), entry.get("server_parameters")
    known = cast("dict[str, Any]", parameters) if isinstance(parameters, dict) else {}
    called = name if isinstance(name, str) and name else key
    try:
        return bundle_id(called, kind if isinstance(kind, str) else "", known)
    except (AttributeError, TypeError):  # parameters of the wrong types, which no MCP server runs with
        return bundle_id(called, "", {})
