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
from a2c_smcp.protocol.document_search import DocumentSearch
from a2c_smcp.protocol.flow import Effect, Flow, MaybeAwaitable
from a2c_smcp.protocol.questions import Progress
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


INDEX_SECONDS = 2.0
"""How long a model's search waits for files that are not indexed: to search again costs a model more than that."""


@dataclass(frozen=True, slots=True)
class SearchDocuments(Effect[ModelBackend, DocumentSearch]):
    """Search the documents of some Computers."""

    search: Callable[..., Any]
    query: str
    computers: tuple[str, ...]

    def perform(self, backend: ModelBackend) -> MaybeAwaitable[DocumentSearch]:
        """Search, and report each Computer that has answered."""
        on_progress = backend.on_progress

        def on_found(found: DocumentSearch) -> None:
            if on_progress is not None:
                done = len(self.computers) - len(found.waiting)
                message = f"{len(found.documents)} documents found"
                on_progress(Progress("", FIND_DOCUMENTS.name, done, len(self.computers), message))

        return self.search(self.query, self.computers, wait=INDEX_SECONDS, on_found=on_found)


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
    "Find documents (reports, sheets, slides, notes …). With query: by what is written in them; gives the best places "
    "with their text, page and dpe:// address. With keywords: by title and summary. Without both: all, newest first, "
    "20 at a time. read_document reads one. No computer: all.",
    {
        "properties": {
            "query": {"type": "string", "description": "Words to look for in the full text; goes without the others."},
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
        """Search the text of the documents, or list those that match."""
        if (query := arguments.get("query")) is not None:
            if len(arguments) > 1 or not query.strip():
                raise InvalidCall("query: words are expected, and no further parameter but computer")
            found = yield from SearchDocuments(self._agent.search_documents, query, computers)
            return text_answer(json.dumps(_found(found), ensure_ascii=False, indent=1), self._max_text)
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


def _found(search: DocumentSearch) -> dict[str, Any]:
    """What a search found, without what means nothing to a model.

    Raises:
        SMCPError: no Computer could be searched.
    """
    failures = {each.computer: each.error for each in search.failures if each.error is not None}
    if failures and len(search.failures) == len(search.sources):
        raise next(iter(failures.values()))
    if not search.sources:
        return {"documents": [], "searched": "no computer has a document server"}
    documents: list[dict[str, Any]] = []
    for document in search.documents:
        passages = [{"text": each.text, "page": each.page_index, "uri": each.uri} for each in document.passages]
        shown: dict[str, Any] = {"title": document.title, "uri": document.uri, "computer": document.computer}
        if document.state in ("changed", "partial"):
            shown["state"] = _STATES[document.state]
        if document.other_places:
            shown["same_as"] = [f"{place.uri} on {place.computer}" for place in document.other_places[:MOST_SAME]]
        documents.append({**shown, "passages": passages})
    searched = f"{search.indexed_count} of {search.document_count} files"
    if search.document_count > search.indexed_count:
        searched += "; the others are not indexed yet, or cannot be read"
    failed = {"failed": {name: error.message for name, error in failures.items()}} if failures else {}
    return {"documents": documents, "searched": searched, **failed}


MOST_SAME = 5
"""Other places of a document that a model sees."""
_STATES = {"changed": "the file has changed since", "partial": "only a part of it is searched yet"}


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
