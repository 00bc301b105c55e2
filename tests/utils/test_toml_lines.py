"""The lines of a TOML file."""

from __future__ import annotations

import tomllib

from a2c_smcp.utils.toml_lines import lines_of

TEXT = '''\
# first = 1
port = 8000 # [x]

"a \\" key" = """
first = 2 \\"""
[first]
"""
literal = @@@
first = 3@@@
listed = [ # ]
  "first = 4", 'x]',
  ["nested"],
]
inline = {first = 5, second = [1]}

  [table]
first = 6
a.b = 7
[[array."of tables"]]
first = 8
last = 9'''
LINES = {
    (): 1,
    ("port",): 2,
    ('a " key',): 4,
    ("literal",): 8,
    ("listed",): 10,
    ("inline",): 14,
    ("table",): 16,
    ("table", "first"): 17,
    ("table", "a", "b"): 18,
    ("array", "of tables"): 19,
    ("array", "of tables", "first"): 20,
    ("array", "of tables", "last"): 21,
}


def test_every_key_has_its_line_and_nothing_else_has() -> None:
    text = TEXT.replace("@", "'")
    tomllib.loads(text)
    assert lines_of(text) == LINES
    assert lines_of(text.replace("\n", "\r\n")) == LINES
