"""Built-in tools for a model: it looks at windows, finds and reads documents, and reads skills, on one Computer or on
all.

The tools are flows, like the rules of `a2c_smcp.protocol`, so that both toolkits run the same code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from a2c_smcp.agent.answers import Answer, resource_answer, text_answer
from a2c_smcp.agent.calling import OnProgress, OnQuestion
from a2c_smcp.errors import DocumentNotFoundError, MCPServerNotFoundError
from a2c_smcp.protocol.flow import Effect, Flow, MaybeAwaitable
from a2c_smcp.protocol.requests import LARGEST_LIMIT
from a2c_smcp.smcp import GetFinderRet
from a2c_smcp.utils.dpe_uri import is_dpe_uri, parse_dpe_uri

if TYPE_CHECKING:
    from a2c_smcp.agent.client import AsyncSMCPAgentClient
    from a2c_smcp.agent.sync_client import SMCPAgentClient


@dataclass(frozen=True, slots=True)
class ModelBackend:
    """Performs the effects of a model's calls, with either Agent.

    `side_by_side` calls several functions at the same time and returns their outcomes, errors included.
    """

    agent: AsyncSMCPAgentClient | SMCPAgentClient
    side_by_side: Callable[[list[Callable[[], Any]]], MaybeAwaitable[list[Any]]]
    on_progress: OnProgress | None = None
    on_question: OnQuestion | None = None


@dataclass(frozen=True, slots=True)
class CallTool(Effect[ModelBackend, Any]):
    """Call a tool of a Computer."""

    computer: str
    tool: str
    arguments: dict[str, Any]
    timeout: float

    def perform(self, backend: ModelBackend) -> Any:
        """Ask the Agent."""
        return backend.agent.emit_tool_call(
            self.computer,
            self.tool,
            self.arguments,
            self.timeout,
            on_progress=backend.on_progress,
            on_question=backend.on_question,
        )


@dataclass(frozen=True, slots=True)
class AskEach(Effect[ModelBackend, list[Any]]):
    """Ask several Computers at the same time; the answers or errors are in their order."""

    computers: tuple[str, ...]
    ask: Callable[[str], Any]

    def perform(self, backend: ModelBackend) -> MaybeAwaitable[list[Any]]:
        """Call `ask` for each Computer."""
        return backend.side_by_side([partial(self.ask, computer) for computer in self.computers])


ModelFlow: TypeAlias = Flow[ModelBackend, Answer]
Act: TypeAlias = Callable[[tuple[str, ...], dict[str, Any]], ModelFlow]


class InvalidCall(Exception):
    """A model calls a tool with invalid arguments. The message tells the model what to change."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The name, description and parameters of a built-in tool."""

    name: str
    description: str
    parameters: dict[str, Any]

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raise `InvalidCall` if the arguments do not fit the parameters."""
        # For other tools, the MCP server checks them. Here an unknown argument would be a `TypeError` of Python, which
        # ends the program instead of telling the model what to change.
        properties = self.parameters["properties"]
        for name, value in arguments.items():
            if name not in properties:
                raise InvalidCall(f"unknown parameter {name}; the parameters are {', '.join(properties)}")
            # A bool is an int in Python, but not in JSON.
            if not isinstance(value, _PYTHON_TYPES[properties[name]["type"]]) or isinstance(value, bool):
                raise InvalidCall(f"the parameter {name} must be of type {properties[name]['type']}")
        for name in self.parameters.get("required", ()):
            if name not in arguments:
                raise InvalidCall(f"the required parameter {name} is missing")


_PYTHON_TYPES = {"string": str, "integer": int, "array": list}

LOOK_AT_DESKTOP = Blueprint(
    "look_at_desktop",
    "See what the windows of a computer show now, the most important first. Without computer: of all.",
    {
        "properties": {
            "size": {"type": "integer", "description": "At most this many windows.", "minimum": 1},
            "window": {"type": "string", "description": "Only the window at this window:// address."},
        }
    },
)
FIND_DOCUMENTS = Blueprint(
    "find_documents",
    "Search the documents (reports, sheets, slides, notes …). Gives the title, type, number of pages and dpe:// "
    "address of each; read_document reads it. Without keywords: all, newest first, 20 at a time. No computer: all.",
    {
        "properties": {
            "keywords": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Any of these in title, keywords or summary.",
            },
            "file_type": {"type": "string", "description": "Only this type, such as pdf or xlsx."},
            "offset": {"type": "integer", "description": "Skip this many.", "minimum": 0},
        }
    },
)
READ_DOCUMENT = Blueprint(
    "read_document",
    "Read a document. With only its address: what it is, and which pages it has. With page: that page. With element: "
    "one table, picture or other element in full.",
    {
        "properties": {
            "uri": {"type": "string", "description": "The dpe:// address, from find_documents."},
            "page": {"type": "integer", "description": "A page, counted from 0.", "minimum": 0},
            "element": {"type": "string", "description": "The id of an element."},
        },
        "required": ["uri"],
    },
)


READ_SKILL = Blueprint(
    "read_skill",
    "Read a skill: instructions for a kind of task. Without name: which skills there are, and when to use each. With "
    "name: its instructions. With file: a file that they mention.",
    {
        "properties": {
            "name": {"type": "string", "description": "The name of the skill."},
            "file": {"type": "string", "description": "The path of a file of the skill."},
        }
    },
)


class BuiltinTools:
    """The flows of the built-in tools. The texts of their answers have at most `max_text` characters."""

    def __init__(self, agent: AsyncSMCPAgentClient | SMCPAgentClient, max_text: int) -> None:
        self._agent = agent
        self._max_text = max_text

    def look(self, computers: tuple[str, ...], arguments: dict[str, Any]) -> ModelFlow:
        """Show the windows."""
        look = self._agent.get_desktop_from_computer
        answers = yield from self._of_each(computers, lambda computer: look(computer, **arguments))
        shown: list[str] = []
        for computer, answer in answers.items():
            windows = "\n\n---\n\n".join(answer["desktops"]) or "There are no windows."
            shown.append(windows if len(computers) == 1 else f"## {computer}\n\n{windows}")
        return text_answer("\n\n".join(shown), self._max_text)

    def find(self, computers: tuple[str, ...], arguments: dict[str, Any]) -> ModelFlow:
        """List the documents that match."""
        get_finder = self._agent.get_finder
        answers = yield from self._of_each(computers, lambda computer: get_finder(computer, **arguments))
        listings = {computer: _listing(answer) for computer, answer in answers.items()}
        shown = listings if len(computers) > 1 else next(iter(listings.values()))
        return text_answer(json.dumps(shown, ensure_ascii=False, indent=1), self._max_text)

    def read(self, computers: tuple[str, ...], arguments: dict[str, Any]) -> ModelFlow:
        """Show a document, a page or an element, from the first Computer that has it."""
        # An address does not say which Computer has the document, and a model need not know: all are asked.
        bodies = yield from self._of_each(computers, lambda computer: self._body(computer, **arguments))
        return _shown(next(iter(bodies.values())), self._max_text)

    def read_skill(self, computers: tuple[str, ...], arguments: dict[str, Any]) -> ModelFlow:
        """List the skills, or show one, or a file of it, from the first Computer that has it."""
        name, file = arguments.get("name"), arguments.get("file")
        if name is None:
            found = yield from self._of_each(computers, self._agent.skills)
            listings = {
                computer: {skill["name"]: skill["description"] for skill in skills}
                for computer, skills in found.items()
            }
            shown = listings if len(computers) > 1 else next(iter(listings.values()))
            return text_answer(json.dumps(shown, ensure_ascii=False, indent=1), self._max_text)
        answers = yield from self._of_each(computers, lambda computer: self._agent.skill(computer, name, file))
        answer = next(iter(answers.values()))
        mention = f"[{answer['rel_path']}, {answer['mime_type']}, {answer['total_size']} bytes]"
        return text_answer(answer.get("body", mention), self._max_text)

    def _body(self, computer: str, uri: str, page: int | None = None, element: str | None = None) -> Any:
        """Request the document, page or element."""
        if element is not None:
            return self._agent.read_element(computer, uri, element)
        if page is not None:
            return self._agent.read_page(computer, uri, page, "markdown")
        # The address of a document without anything else: with the list of pages, from which a model chooses one.
        if is_dpe_uri(uri) and parse_dpe_uri(uri).level == 1:
            return self._agent.read_document_pages(computer, uri, 0, LARGEST_LIMIT)
        return self._agent.read_resource(computer, uri)

    def _of_each(self, computers: tuple[str, ...], ask: Callable[[str], Any]) -> Flow[ModelBackend, dict[str, Any]]:
        """Ask the Computers at the same time. A Computer that fails is left out, unless all fail."""
        outcomes = yield from AskEach(computers, ask)
        pairs = zip(computers, outcomes, strict=True)
        answers = {computer: outcome for computer, outcome in pairs if not isinstance(outcome, BaseException)}
        if not answers:
            raise min(outcomes, key=_rank)
        return answers


def _listing(found: GetFinderRet) -> dict[str, Any]:
    """A page of documents without the fields that mean nothing to a model."""
    internal = ("server", "file_uri", "doc_ref")
    documents = [{key: value for key, value in each.items() if key not in internal} for each in found["documents"]]
    further = {"unindexed_count": found["unindexed_count"]} if "unindexed_count" in found else {}
    return {"documents": documents, "total_count": found["total_count"], **further}


def _rank(error: Any) -> int:
    """How much an error says, the most informative first: every Computer without the document or skill answers "not
    found"."""
    return 1 if isinstance(error, DocumentNotFoundError | MCPServerNotFoundError) else 0


def _shown(body: dict[str, Any], max_text: int) -> Answer:
    """The answer for a document, page or element: MCP contents and Markdown as they are, anything else as JSON."""
    if isinstance(contents := body.get("contents"), list):
        return resource_answer(cast("list[Any]", contents), max_text)
    markdown = body.get("content_markdown")
    if isinstance(markdown, str):
        title = body.get("title")
        return text_answer(f"# {title}\n\n{markdown}" if title else markdown, max_text)
    return text_answer(json.dumps(body, ensure_ascii=False, indent=1), max_text)
