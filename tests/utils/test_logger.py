"""Log lines: one record is one line, and nothing in it can look like another, or move the cursor."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from a2c_smcp.utils.logger import HumanFormatter, JsonFormatter

HARMFUL = "\x1b[2J\r\x07\x85\x9b\u202e\u2066\u2028"


def record(message: str, *, fails: bool = False) -> logging.LogRecord:
    error = None
    if fails:
        try:
            raise ValueError(message)
        except ValueError:
            error = sys.exc_info()
    return logging.LogRecord("a2c_smcp.x", logging.INFO, __file__, 1, "%s", (message,), error)


def test_a_line_end_in_a_message_starts_no_line() -> None:
    line = HumanFormatter().format(record("done\n12:00:00 ERROR   server  the disk is full"))
    assert "\n" not in line
    assert "done\\n12:00:00 ERROR" in line


def test_a_traceback_stands_under_its_line_and_looks_like_no_other() -> None:
    first, *rest = HumanFormatter().format(record("oh\n12:00:00 ERROR   server  x", fails=True)).split("\n")
    assert "oh" in first
    assert all(line.startswith("  ") for line in rest)
    assert any("ValueError" in line for line in rest)


@pytest.mark.parametrize("formatter", [HumanFormatter(), JsonFormatter()], ids=["human", "json"])
@pytest.mark.parametrize("fails", [False, True], ids=["message", "traceback"])
def test_control_characters_are_escaped(formatter: logging.Formatter, fails: bool) -> None:
    text = formatter.format(record(HARMFUL, fails=fails))
    assert not {each for each in HARMFUL if not each.isprintable()} & set(text)
    assert "1b" in text


def test_a_json_line_says_what_was_said() -> None:
    entry = json.loads(JsonFormatter().format(record(HARMFUL + "\nend", fails=True)))
    assert entry["message"] == HARMFUL + "\nend"
    assert "ValueError" in entry["traceback"]
