"""What a `SKILL.md` says about its skill, and the names of skills and their files. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from a2c_smcp.computer.offer.skills.front_matter import FrontMatterError, Value, parse, split
from a2c_smcp.errors import MCPServerNotFoundError, SkillFileError, SkillNameError
from a2c_smcp.smcp import SkillReference

SKILL_FILE = "SKILL.md"
MAX_SKILL_BYTES = 1_000_000
"""The largest `SKILL.md`."""
MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_WORDS = 500
"""Characters of any other text, and items of a list."""

_FIELDS = ("name", "description", "license", "compatibility", "allowed-tools", "version", "tags", "metadata")
_KEBAB = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")
_NAME = re.compile("(?:(?:mcp:[A-Za-z0-9_-]+|[a-z0-9-]+):)?([a-z0-9-]+)")
_TOOL = re.compile(r"[^\s,()]+(?:\([^)]*\))?")
_TAG = re.compile(r"[^\s,][^,]*")
_UNSAFE = re.compile('[\x00-\x1f\x7f\\\\:<>"|?*]')
"""Characters that no path within a skill has: some systems give them a meaning."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill, as its `SKILL.md` describes it."""

    name: str
    fields: Mapping[str, Any]
    """What the reference has beside its name, source, path and address."""
    body: str
    """The text after the front matter."""

    def reference(self, name: str, source: str, path: str, uri: str | None = None) -> SkillReference:
        """The skill as an Agent sees it, under this name."""
        description: str = self.fields["description"]
        reference = SkillReference(name=name, source=source, path=path, description=description)
        if uri is not None:
            reference["uri"] = uri
        reference.update({key: value for key, value in self.fields.items() if key != "description"})  # type: ignore[typeddict-item]
        return reference


def is_skill_name(name: str) -> bool:
    """Whether this may be the name of a skill, without the prefix of its source."""
    return _KEBAB.fullmatch(name) is not None and len(name) <= MAX_NAME


def check_name(name: str) -> None:
    """Reject the name of a skill that an Agent sends.

    Raises:
        SkillNameError: it cannot be the name of a skill.
    """
    parts = _NAME.fullmatch(name)
    if parts is None or not is_skill_name(parts[1]):
        raise SkillNameError(f"{name!r} cannot be the name of a skill", details={"name": name})


def check_path(rel_path: str) -> tuple[str, ...]:
    """The steps of the path of a file within a skill.

    Raises:
        SkillFileError: it may lead out of the skill.
    """
    steps = tuple(rel_path.split("/"))
    if _UNSAFE.search(rel_path) or any(step in ("", ".", "..") for step in steps):
        raise file_error("traversal", rel_path, "a relative path within the skill is expected")
    # What is hidden is not part of a skill: the history of a repository, or a file with secrets.
    if any(step.startswith(".") for step in steps):
        raise file_error("forbidden", rel_path, "it is hidden")
    return steps


def no_skill(name: str) -> MCPServerNotFoundError:
    """The error for a skill that does not exist."""
    return MCPServerNotFoundError(f"this Computer has no skill {name}", details={"name": name})


def file_error(reason: str, rel_path: str, problem: str, total_size: int | None = None) -> SkillFileError:
    """The error for a file of a skill that cannot be read."""
    details: dict[str, Any] = {"reason": reason, "rel_path": rel_path}
    if total_size is not None:
        details["total_size"] = total_size
    return SkillFileError(f"{rel_path}: {problem}", details=details)


def read_skill(name: str, text: str) -> Skill:
    """The skill of this name, from its `SKILL.md`.

    Raises:
        FrontMatterError: it does not describe a skill of this name.
    """
    if not is_skill_name(name):
        raise FrontMatterError(f"{name!r} is no name of a skill: a-z, 0-9 and single hyphens, at most {MAX_NAME}")
    lines, body = split(text)
    given = parse(lines, _FIELDS)
    if given.get("name", name) != name:
        raise FrontMatterError(f"its name is {given['name']!r}, and its folder {name!r}")
    description = _text(given, "description", MAX_DESCRIPTION)
    if description is None:
        raise FrontMatterError("it has no description")
    fields: dict[str, Any] = {"description": description}
    for key in ("license", "compatibility", "version"):
        if (value := _text(given, key, MAX_WORDS)) is not None:
            fields[key] = value
    if tools := _list(given, "allowed-tools", _TOOL):
        fields["allowed_tools"] = tools
    if tags := _list(given, "tags", _TAG):
        fields["tags"] = tags
    metadata = given.get("metadata")
    if metadata and not isinstance(metadata, dict):
        raise FrontMatterError("metadata: names and texts are expected")
    if metadata:
        fields["skill_metadata"] = metadata
    return Skill(name, fields, body)


def _text(given: Mapping[str, Value], key: str, most: int) -> str | None:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise FrontMatterError(f"{key}: a text is expected")
    text = value.strip()
    if len(text) > most:
        raise FrontMatterError(f"{key}: {len(text)} characters; at most {most} are allowed")
    return text or None


def _list(given: Mapping[str, Value], key: str, item: re.Pattern[str]) -> list[str]:
    """A list, which may also be written as one text."""
    value = given.get(key, "")
    if isinstance(value, dict):
        raise FrontMatterError(f"{key}: a list is expected")
    items = [each.strip() for each in item.findall(value)] if isinstance(value, str) else value
    if len(items) > MAX_WORDS:
        raise FrontMatterError(f"{key}: {len(items)} items; at most {MAX_WORDS} are allowed")
    return items
