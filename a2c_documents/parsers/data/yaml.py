"""YAML, read safely: no Python objects, no alias bombs, limited depth."""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 100
MAX_NODES = 500_000
"""Values, each counted as often as it is referenced."""


def load_yaml(words: str) -> list[Any]:
    """The documents in a text, which `---` separates.

    Raises:
        ValueError: it is not valid YAML, or would grow too large; the message is for a person.
    """
    loader = _LOADER(words)
    found: list[Any] = []
    try:
        _check_depth(words)
        while loader.check_node():
            node = loader.get_node()
            _check_size(node)
            found.append(loader.construct_document(node))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise ValueError(f"{getattr(error, 'problem', None) or error}{where}") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except (TypeError, AttributeError, OverflowError) as error:  # keys that are lists, dates that do not exist
        raise ValueError(str(error)) from None
    finally:
        loader.dispose()
    return found


def _tagged(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> Any:
    kind = node.id
    if kind == "scalar":
        return f"!{tag} {loader.construct_scalar(node)}".strip()
    return loader.construct_sequence(node, True) if kind == "sequence" else loader.construct_mapping(node, True)


_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # without libyaml there is only the slow one
# A class of our own: adding constructors to the library's class would change it for all code in the process.
_LOADER: type[yaml.SafeLoader] = type("Loader", (_BASE,), {})
# Custom tags, such as `!Ref` in CloudFormation and `!reference` in GitLab files, are kept as values. Without this, one
# such tag makes the safe loader reject the whole file.
_LOADER.add_multi_constructor("!", _tagged)


def _check_depth(words: str) -> None:
    """Check the depth by parser events, before nodes are built."""
    depth = 0
    # Building nodes recurses in C, where too much nesting crashes the process instead of raising an exception.
    for event in yaml.parse(words, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError("it is nested too deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _check_size(root: yaml.Node) -> None:
    """Count the values bottom-up, before any is made.

    A few lines of aliases to aliases ("billion laughs") stand for billions of values. A node that is referenced ten
    times counts ten times, but is visited once.
    """
    sizes: dict[int, int] = {}
    waiting: list[tuple[yaml.Node, bool]] = [(root, False)]
    being_read: set[int] = set()
    while waiting:
        node, children_known = waiting.pop()
        if id(node) in sizes:
            continue
        children = _children(node)
        if children_known or not children:
            sizes[id(node)] = 1 + sum(sizes.get(id(child), 0) for child in children)
            being_read.discard(id(node))
            if sizes[id(node)] > MAX_NODES:
                raise ValueError("its aliases would make it too large")
            continue
        being_read.add(id(node))
        waiting.append((node, True))
        for child in children:
            # An alias may refer to the node that contains it (`&a [*a]`), and its value would have no end.
            if id(child) in being_read:
                raise ValueError("it refers to itself")
            waiting.append((child, False))


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return []
