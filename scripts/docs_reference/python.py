"""Generates the pages of the Python API from docstrings and signatures."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from typing_extensions import is_typeddict

from a2c_smcp import errors as error_tree

from . import source
from .errors import classes
from .markdown import code, table
from .source import Member

_CODES = {each.__name__: each.code for each in classes()}


@dataclass(frozen=True)
class Topic:
    """A class or function, or the async and the sync form of one."""

    target: Any
    blocking: Any = None
    bases: tuple[type, ...] = ()
    """Bases whose members are shown as members of the class."""
    inherited: tuple[str, ...] = ()
    """Members of other bases that are shown, too."""
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """Topics below a heading."""

    title: str
    module: str
    about: str
    topics: Sequence[Topic]


def page_of(title: str, about: str, sections: Sequence[Section]) -> Callable[[], str]:
    """Return the generator of a page with these sections."""

    def page() -> str:
        parts = [f"# {title}\n", f"{about}\n"]
        for section in sections:
            parts += [f"## {section.title}\n", f"In `{section.module}`. {section.about}".strip() + "\n"]
            parts += map(_topic, section.topics)
        return "\n".join(parts)

    return page


def _topic(topic: Topic) -> str:
    heading = " and ".join(code(each.__name__) for each in (topic.target, topic.blocking) if each is not None)
    parts = [f"### {heading}\n"]
    if not inspect.isclass(topic.target):
        function = source.function(topic.target)
        return "\n".join([*parts, _signatures(function, None), _prose(function.doc)])
    constructor, other = (source.constructor_of(form) if form else None for form in (topic.target, topic.blocking))
    is_made = not inspect.isabstract(topic.target) and not _is_protocol(topic.target) and "__init__" not in topic.hidden
    if constructor is not None and is_made:
        parts.append(_signatures(constructor, other))
    parts.append(_prose(inspect.getdoc(topic.target) or ""))
    members = _members(topic.target, topic)
    fields = [each for each in members.values() if not each.is_callable]
    if fields:
        parts.append(_fields(fields, topic.target))
    others = _members(topic.blocking, topic) if topic.blocking is not None else {}
    methods = [each for each in members.values() if each.is_callable]
    parts += [_method(each, others.get(each.name)) for each in methods]
    return "\n".join(parts)


def _members(kind: type, topic: Topic) -> dict[str, Member]:
    found = source.members_of(kind, topic.bases)
    for base in kind.__mro__:
        if topic.inherited and base.__module__.startswith("a2c_smcp"):
            more = source.members_of(base)
            found |= {name: more[name] for name in topic.inherited if name in more and name not in found}
    return {name: member for name, member in found.items() if name not in topic.hidden and _says_something(member)}


def _says_something(member: Member) -> bool:
    """Whether it is more than an override that behaves as its base describes."""
    return bool(member.doc) or not member.is_callable


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _fields(fields: Sequence[Member], kind: type) -> str:
    columns = {
        "field" if is_typeddict(kind) else "attribute": [code(each.name) for each in fields],
        "value" if issubclass(kind, Enum) else "type": [code(each.signature) for each in fields],
        "default": [code(each.default) for each in fields],
        "meaning": [_linked(" ".join(each.doc.split())) for each in fields],
    }
    filled = {name: cells for name, cells in columns.items() if any(cells)}
    return table(list(filled), zip(*filled.values(), strict=True))


def _method(member: Member, blocking: Member | None) -> str:
    return "\n".join([f"#### {code(member.name)}\n", _signatures(member, blocking), _prose(member.doc)])


def _signatures(member: Member, blocking: Member | None) -> str:
    """Return the signature, and that of the sync form if they differ in more than `async`."""
    shown = [member] if blocking is None or blocking.is_form_of(member) else [member, blocking]
    text = "\n".join(each.signature for each in shown)
    return f"<!-- not run: a signature -->\n\n```python\n{text}\n```\n"


def _prose(doc: str) -> str:
    """Return a docstring with its `Raises:` section as a list."""
    text, _, raised = doc.partition("\nRaises:\n")
    entries = re.findall(r"^    (\S.*?(?:\n {8}.*)*)$", raised, re.MULTILINE)
    parts = [f"{text.strip()}\n"]
    if entries:
        parts.append("Raises:\n")
        parts.append("\n".join(map(_raised, entries)) + "\n")
    return "\n".join(parts)


def _raised(entry: str) -> str:
    names, _, reason = " ".join(entry.split()).partition(": ")
    return f"- {', '.join(_error(name) for name in names.split(', '))}: {reason}"


def _error(name: str) -> str:
    return f"[{code(name)}](../errors.md#{_CODES[name]})" if name in _CODES else code(name)


def _linked(text: str) -> str:
    return re.sub(r"`(\w+Error)`", lambda found: _error(found[1]) if hasattr(error_tree, found[1]) else found[0], text)
