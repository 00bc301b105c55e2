"""Make the blocking clients from the asynchronous ones: `python -m scripts.generate_sync` writes them.

Both forms promise the same methods with the same words, and only one of them is written by hand: the other is the same
text without `async` and `await`, and with the names of the blocking classes. What the two forms do in ways of their own
(tasks or threads) is written by hand for each, under the same names, in modules that the sources import; so the sources
need no conditions. `tests/test_generated.py` fails when a committed file is not what this script makes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent

NAMES = {
    "AsyncAgentEventHandler": "AsyncAgentEventHandler",  # the blocking client accepts handlers of both kinds
    "AsyncClient": "Client",
    "AsyncCondition": "Condition",
    "AsyncGenerator": "Generator",
    "AsyncIterator": "Iterator",
    "AsyncSMCPAgentClient": "SMCPAgentClient",
    "StopAsyncIteration": "StopIteration",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "a2c_smcp.agent.waiting": "threading",
    "aclosing": "closing",
    "arriving_async": "arriving",
    "asyncio.Event": "threading.Event",
    "asyncio.Lock": "threading.Lock",
    "asyncio.current_task": "threading.current_thread",
    "asyncio": "threading",
    "asynccontextmanager": "contextmanager",
    "beside_async": "beside",
    "run_async": "run",
    "together_async": "together",
}
"""Names that differ in another way than `AsyncThing` and `SyncThing`, or `async_module` and `sync_module`."""


@dataclass(frozen=True)
class Pair:
    """A source, what is made from it, and the phrases of its docstrings that are true of one form only."""

    source: str
    target: str
    phrases: dict[str, str] = field(default_factory=dict[str, str])


PAIRS = (
    Pair("a2c_smcp/transport/async_internals.py", "a2c_smcp/transport/sync_internals.py", {}),
    Pair("a2c_smcp/transport/async_client.py", "a2c_smcp/transport/sync_client.py", {}),
    Pair(
        "a2c_smcp/agent/async_binaries.py",
        "a2c_smcp/agent/sync_binaries.py",
        {"This is the form for programs with an event loop.": "This is the form for programs without an event loop."},
    ),
    Pair(
        "a2c_smcp/agent/async_skills.py",
        "a2c_smcp/agent/sync_skills.py",
        {"This is the form for programs with an event loop.": "This is the form for programs without an event loop."},
    ),
    Pair(
        "a2c_smcp/agent/async_resources.py",
        "a2c_smcp/agent/sync_resources.py",
        {"This is the form for programs with an event loop.": "This is the form for programs without an event loop."},
    ),
    Pair(
        "a2c_smcp/agent/async_search.py",
        "a2c_smcp/agent/sync_search.py",
        {"This is the form for programs with an event loop.": "This is the form for programs without an event loop."},
    ),
    Pair(
        "a2c_smcp/agent/client.py",
        "a2c_smcp/agent/sync_client.py",
        {
            "The Agent for programs with an event loop.": "The Agent for programs without an event loop.",
            "An Agent: a Socket.IO client that uses": "An Agent that blocks, for any number of threads: it uses",
        },
    ),
)

COROUTINES = (
    (re.compile(r"^ *# Not `async`.*\n", re.MULTILINE), ""),
    (re.compile(r"^from types import CoroutineType\n", re.MULTILINE), ""),
    (re.compile(r"CoroutineType\[Any, Any, (\w+)\]"), r"\1"),
)
"""A function that returns a coroutine instead of being one: its blocking form returns the result."""

_WORDS = re.compile(r"[\w.]+")
_KEYWORDS = re.compile(r"\basync (?=def |with |for )|\bawait ")


def generate(pair: Pair) -> str:
    """The text of the blocking form."""
    text = (ROOT / pair.source).read_text("utf-8")
    for phrase, other in pair.phrases.items():
        if phrase not in text:
            raise ValueError(f"{pair.source}: the phrase {phrase!r} is not there; adapt scripts/generate_sync.py")
        text = text.replace(phrase, other)
    for pattern, other in COROUTINES:
        text = pattern.sub(other, text)
    text = _WORDS.sub(lambda word: _renamed(word[0]), _KEYWORDS.sub("", text))
    note = f"# Generated from {pair.source} by scripts/generate_sync.py: change that, and run the script.\n"
    return _tidied(note + text, pair.target)


def _renamed(word: str) -> str:
    if word in NAMES:
        return NAMES[word]
    parts = word.split(".")
    return ".".join(NAMES.get(part) or re.sub("^(_?)(A|a)sync(?=[A-Z_])", _sync, part) for part in parts)


def _sync(prefix: re.Match[str]) -> str:
    return prefix[1] + ("Sync" if prefix[2] == "A" else "sync")


def _tidied(text: str, path: str) -> str:
    """Imports sorted, loops that only yield shortened to `yield from`, and lines as long as the style wants them."""
    for command in (["check", "--select", "I,UP028", "--fix", "--unsafe-fixes"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", path, "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


def main() -> None:
    """Write every file."""
    for pair in PAIRS:
        (ROOT / pair.target).write_text(generate(pair), "utf-8")


if __name__ == "__main__":
    main()
