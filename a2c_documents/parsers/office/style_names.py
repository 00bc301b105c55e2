"""The meaning of paragraph styles by their names, in the languages in which programs name them."""

from __future__ import annotations

import re

# Programs can store the names of styles in the language of their user interface.
_HEADINGS = (
    "heading", "überschrift", "titre", "título", "titulo", "encabezado", "titolo", "kop", "rubrik", "overskrift",
    "otsikko", "nagłówek", "nadpis", "címsor", "titlu", "заголовок", "επικεφαλίδα", "标题", "標題", "見出し", "제목",
)  # fmt: skip
_HEADING = re.compile(rf"(?:{'|'.join(_HEADINGS)}) ?([1-9])")
_NAMES = {
    "title": ("title", "titel", "titre", "título", "titulo", "titolo", "titul", "标题", "標題", "表題"),
    "subtitle": ("subtitle", "untertitel", "sous-titre", "subtítulo", "sottotitolo", "副标题", "副標題", "副題"),
    "caption": ("caption", "beschriftung", "légende", "leyenda", "didascalia", "题注", "図表番号"),
    "code": ("source code", "html preformatted", "code", "macro", "macro text", "preformatted text"),
    "continued": ("list continue", *(f"list continue {number}" for number in range(2, 6))),
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names}
_CONTENTS = re.compile(r"toc ([1-9])")


def kind_of(name: str) -> tuple[str, int]:
    """The kind and level that the name of a style stands for."""
    # The whole name must match. A style of the author, such as “heading 1 numbered”, is judged by its parent and its
    # outline level.
    if found := _HEADING.fullmatch(name):
        return "heading", int(found[1])
    if name == "toc heading":
        return "heading", 1
    if found := _CONTENTS.fullmatch(name):
        return "contents", int(found[1]) - 1
    if name == "table of figures":
        return "contents", 0
    kind = _KINDS.get(name, "")
    return kind, {"title": 1, "subtitle": 2}.get(kind, 0)
