"""XML as data: elements become objects. Nothing is fetched and no entity is expanded."""

from __future__ import annotations

import xml.parsers.expat
from typing import Any

from a2c_documents.parsers.common.decoding import clean

MAX_NODES = 500_000


class XmlData:
    """Reads a document once. `indented` is the same document with one element per line."""

    def __init__(self) -> None:
        self.root: Any = None
        self.root_name = ""
        self.entities = False
        self.indented: list[str] = []
        # A stack instead of recursion, because elements may be nested to any depth.
        self._stack: list[tuple[str, dict[str, Any]]] = []
        self._words: list[list[str]] = []
        self._nodes = 0

    def read(self, raw: bytes) -> None:
        """Read a document.

        Raises:
            ValueError: it is not well-formed, or too large; the message is for a person.
        """
        parser = xml.parsers.expat.ParserCreate()
        # Without it, expat reports a text in several pieces, one for each line.
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._entity
        # With a default handler, expat gives it references to the document's own entities, and does not expand them:
        # a few nested entities can expand to gigabytes.
        parser.DefaultHandler = self._other
        try:
            parser.Parse(raw, True)
        except xml.parsers.expat.ExpatError as error:
            raise ValueError(f"{xml.parsers.expat.ErrorString(error.code)} in line {error.lineno}") from None
        except (LookupError, UnicodeError) as error:
            raise ValueError(str(error)) from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise ValueError(f"it has more than {MAX_NODES:,} elements")
        said = "".join(f' {key}="{_escaped(value)}"' for key, value in attributes.items())
        # The indentation is limited, or a deeply nested document would make the output quadratic.
        self.indented.append(f"{'  ' * min(len(self._stack), 40)}<{name}{said}>")
        self._stack.append((name, {f"@{key}": clean(value) for key, value in attributes.items()}))
        self._words.append([])

    def _text(self, words: str) -> None:
        if self._words:
            self._words[-1].append(words)
        if words.strip() and self.indented:
            self.indented.append("  " * min(len(self._stack), 40) + _escaped(words.strip()))

    def _end(self, name: str) -> None:
        _, value = self._stack.pop()
        # An element with words only becomes a string. With attributes or children it becomes an object, and the words
        # are `#text`.
        words = clean(" ".join("".join(self._words.pop()).split()))
        if words and value:
            value["#text"] = words
        self._close(name)
        found: Any = value or words
        if not self._stack:
            self.root, self.root_name = found, name
            return
        above = self._stack[-1][1]
        if name not in above:
            above[name] = found
        elif isinstance(above[name], list):
            above[name].append(found)
        else:
            above[name] = [above[name], found]

    def _close(self, name: str) -> None:
        """Write `<a>` and `</a>` on one line if only a text, or nothing, is between them."""
        indent = "  " * min(len(self._stack), 40)
        opening = f"{indent}<{name}"
        if self.indented[-1].startswith((f"{opening}>", f"{opening} ")) and self.indented[-1].endswith(">"):
            self.indented[-1] = f"{self.indented[-1][:-1]}/>"
        elif len(self.indented) > 1 and self.indented[-2].startswith((f"{opening}>", f"{opening} ")):
            words = self.indented.pop().strip()
            if words.startswith("<"):
                self.indented += [f"{indent}  {words}", f"{indent}</{name}>"]
            else:
                self.indented[-1] += f"{words}</{name}>"
        else:
            self.indented.append(f"{indent}</{name}>")

    def _other(self, words: str) -> None:
        if words.startswith("&"):
            self._text(words)

    def _entity(self, *_: Any) -> None:
        self.entities = True


def _escaped(words: str) -> str:
    return clean(words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
