"""What an MCP server says about an error, on its way to the Agent and into logs: searched for secrets, at a bounded
cost."""

from __future__ import annotations

from typing import Any

import pytest

from a2c_smcp.computer.config.secrets import HIDDEN, Secrets
from a2c_smcp.computer.mcp.failures import MAX_WORDS, in_words
from a2c_smcp.computer.mcp.messages import WIDTH, MessageLog
from a2c_smcp.computer.offer.error_details import MAX_READ, presentable

SECRET = "hunter2-s3cr3t-" * 14
"""Long, so that a text full of secrets becomes short."""


@pytest.fixture
def secrets() -> Secrets:
    secrets = Secrets()
    secrets.add(SECRET)
    secrets.forget()  # the loggers of libraries need no filter here
    return secrets


def test_details_that_are_too_large_are_not_even_searched(secrets: Secrets) -> None:
    searched: list[str] = []

    def redact(text: str) -> str:
        searched.append(text)
        return secrets.redact(text)

    many: dict[str, Any] = {f"key {number}": "words" for number in range(MAX_READ)}
    assert list(presentable(many, redact)) == ["data"]
    assert searched == []
    assert presentable({"why": SECRET, "traceback": "x" * 100_000}, redact) == {"why": HIDDEN}


@pytest.mark.parametrize("text", [SECRET * 1_000, "x" * (WIDTH - 3) + SECRET, f"{SECRET} " * 200])
def test_a_text_full_of_secrets_shows_no_part_of_one(secrets: Secrets, text: str) -> None:
    log = MessageLog("info", secrets.redact)
    log.take({"level": "info", "data": text})
    (message,) = log.messages
    words = in_words(ValueError(text), secrets.redact)
    assert (len(message.text) <= WIDTH, len(words) <= MAX_WORDS) == (True, True)
    assert "hun" not in message.text + words
