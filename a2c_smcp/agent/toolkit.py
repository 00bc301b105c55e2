"""The tools of all Computers in an office, for a model.

    toolkit = Toolkit(agent)
    tools = toolkit.openai()                              # or .anthropic(), .openai_responses(), .json_schema()
    answer = await toolkit.call(name, arguments)          # a failure is an answer, too
    answers = await toolkit.call_all([(id, name, arguments), …])
    messages += answers.for_openai()                      # or .for_anthropic(), .for_openai_responses()

A tool that several Computers have is one tool with a `computer` parameter, so that the list that a model reads does not
grow with the office. Once a tool has a name, it keeps it for as long as the toolkit lives: a model refers to the names
of earlier turns.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from a2c_smcp.agent.answers import Answer, Answers, failed_answer, result_answer
from a2c_smcp.agent.builtin_tools import (
    FIND_DOCUMENTS,
    LOOK_AT_DESKTOP,
    READ_DOCUMENT,
    READ_SKILL,
    Act,
    Blueprint,
    BuiltinTools,
    CallTool,
    InvalidCall,
    ModelBackend,
    ModelFlow,
)
from a2c_smcp.agent.calling import OnProgress, OnQuestion
from a2c_smcp.agent.choice import Choice, tags_of
from a2c_smcp.agent.schemas import object_schema, with_choice
from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.flow import run, run_async
from a2c_smcp.protocol.search_requests import OF_DOCUMENT_SERVERS
from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.threads import side_by_side

if TYPE_CHECKING:
    from a2c_smcp.agent.client import AsyncSMCPAgentClient
    from a2c_smcp.agent.sync_client import SMCPAgentClient

CALL_SECONDS = 60
MAX_TEXT = 100_000
"""Characters of text in an answer."""
LONGEST_NAME = 64
"""Characters of a tool's name; OpenAI's APIs accept no more."""

Arguments: TypeAlias = Mapping[str, Any] | str | None
"""An object, or the JSON text of one."""
Call: TypeAlias = tuple[str, str, Arguments]
"""A call of a model: an id, the name of a tool, and its arguments."""

_UNFIT = re.compile("[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class ModelTool:
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema, of type object."""
    tags: frozenset[str] = frozenset()
    computers: tuple[str, ...] = ()
    """The Computers that it can run on."""
    start: Callable[[dict[str, Any]], ModelFlow] = field(repr=False, kw_only=True)


class ToolkitBase(ABC):
    """What both toolkits share; see `Toolkit`."""

    def __init__(
        self,
        agent: AsyncSMCPAgentClient | SMCPAgentClient,
        choice: Choice | None = None,
        *,
        desktop: bool = False,
        documents: bool = False,
        skills: bool = False,
        timeout: float = CALL_SECONDS,
        max_text: int = MAX_TEXT,
        on_progress: OnProgress | None = None,
        on_question: OnQuestion | None = None,
    ) -> None:
        self._agent = agent
        self._backend = ModelBackend(agent, self._side_by_side, on_progress, on_question)
        self._choice = choice or Choice()
        self._desktop = desktop
        self._documents = documents
        self._skills = skills
        self._timeout = timeout
        self._max_text = max_text
        self._names: dict[str, str] = {}
        """The names that tools have been given, by the tool's fingerprint."""
        self._naming = threading.Lock()

    # ---------------------------------------------------------------------------------------------------------- listing

    @property
    def tools(self) -> dict[str, ModelTool]:
        """All current tools, by the name that a model uses."""
        # Made anew each time, because Computers and tools come and go between two turns of a model. The built-in tools
        # are first: a Computer's tool with the same name gets another one, under which a model can still call it.
        found: dict[str, ModelTool] = {}
        if self.computers:
            for tool in self._builtin_tools():
                found[tool.name] = tool
        with self._naming:  # threads may use one toolkit at the same time
            for (name, fingerprint), where in sorted(self._groups().items(), key=_order):
                given = self._name_for(name, fingerprint, found)
                found[given] = self._merged(given, where)
        return found

    @property
    def computers(self) -> tuple[str, ...]:
        """The Computers whose tools a model gets to see."""
        return tuple(computer for computer in self._agent.computers if self._choice.allows_computer(computer))

    # The SDKs declare types for these plain dictionaries. The lists below are typed `Any`, so that a program can pass
    # them to an SDK that is not imported here.

    def json_schema(self) -> list[Any]:
        """The name, description and parameters of each tool."""
        return [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self.tools.values()
        ]

    def openai(self) -> list[Any]:
        """The `tools` of OpenAI's Chat Completions, and of the many APIs that are compatible with it."""
        return [{"type": "function", "function": tool} for tool in self.json_schema()]

    def openai_responses(self) -> list[Any]:
        """The `tools` of OpenAI's Responses API."""
        # This API is strict by default: it then accepts only schemas that require every parameter, as few of MCP do.
        return [{"type": "function", **tool, "strict": False} for tool in self.json_schema()]

    def anthropic(self) -> list[Any]:
        """The `tools` of Anthropic's Messages API."""
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in self.tools.values()
        ]

    def _groups(self) -> dict[tuple[str, str], dict[str, SMCPTool]]:
        """The tools, each with the Computers that have it."""
        groups: dict[tuple[str, str], dict[str, SMCPTool]] = {}
        offered = self._agent.tools
        for computer in sorted(self.computers):  # not in order of arrival: names must not depend on it
            for tool in offered.get(computer, []):
                # A document server marks the tools that do what our built-in tools do. With both, a model would have to
                # choose between two ways to the same documents.
                if self._choice.allows(tool) and not (self._documents and _is_in_finder(tool)):
                    groups.setdefault((tool["name"], _fingerprint(tool)), {})[computer] = tool
        return groups

    def _name_for(self, name: str, fingerprint: str, taken: Collection[str]) -> str:
        """A name that all APIs accept, and that no other tool has or had."""
        known = self._names.get(fingerprint)
        if known is not None and known not in taken:
            return known
        fitting = _UNFIT.sub("_", name)
        # Names of tools that have left the office stay reserved, too: a model that uses a name of an earlier turn
        # must get an error, and not a different tool. Where a name is taken or does not fit, the fingerprint makes it
        # unique, and the same in every process.
        others = {given for whose, given in self._names.items() if whose != fingerprint}
        if not fitting.strip("_-") or len(fitting) > LONGEST_NAME or fitting in taken or fitting in others:
            # Seven characters are left for the underscore and the beginning of the fingerprint. Of a name in another
            # script, such as Chinese, nothing is left.
            stem = fitting.strip("_-")[: LONGEST_NAME - 7] or "tool"
            fitting = f"{stem}_{fingerprint[:6]}"
        self._names[fingerprint] = fitting
        return fitting

    def _merged(self, name: str, where: dict[str, SMCPTool]) -> ModelTool:
        """One tool for all Computers that have the same one."""
        computers = tuple(where)
        tool = where[computers[0]]
        schema, key = with_choice(object_schema(tool["params_schema"]), computers)

        def start(arguments: dict[str, Any]) -> ModelFlow:
            # Removed from the arguments: the tool does not know the parameter, and may reject it.
            computer = _pick(arguments.pop(key, None) if key is not None else None, computers)
            result = yield from CallTool(computer, tool["name"], arguments, self._timeout)
            return result_answer(result, self._max_text)

        place = f"Runs on {computers[0]}." if len(computers) == 1 else f"Runs on the {key} you choose."
        return ModelTool(
            name,
            f"{tool['description'].rstrip()}\n\n{place}".strip(),
            schema,
            tags_of(tool),
            computers,
            start=start,
        )

    # ---------------------------------------------------------------------------------------------------------- calling

    def _calling(self, name: str, arguments: Arguments) -> ModelFlow:
        # A model reads the answer and tries again, so its mistakes and failures of the office become answers. Errors in
        # this program, and the cancellation of the call, are raised.
        tools = self.tools
        tool = tools.get(name)
        if tool is None:
            near = difflib.get_close_matches(name, tools, 3, 0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            return failed_answer(f"there is no tool {name}{hint}")
        try:
            return (yield from tool.start(_read_arguments(arguments)))
        except (SMCPError, InvalidCall) as error:
            code = f" (error {error.code})" if isinstance(error, SMCPError) else ""
            return failed_answer(f"{error}{code}")

    # -------------------------------------------------------------------------------------------- windows and documents

    def _builtin_tools(self) -> Iterable[ModelTool]:
        builtin = BuiltinTools(self._agent, self._max_text)
        if self._desktop:
            yield self._builtin(LOOK_AT_DESKTOP, builtin.look)
        if self._documents:
            yield self._builtin(FIND_DOCUMENTS, builtin.find)
            yield self._builtin(READ_DOCUMENT, builtin.read)
        if self._skills:
            yield self._builtin(READ_SKILL, builtin.read_skill)

    def _builtin(self, blueprint: Blueprint, act: Act) -> ModelTool:
        computers = self.computers
        schema, key = with_choice(object_schema(blueprint.parameters), computers, must_choose=False)

        def start(arguments: dict[str, Any]) -> ModelFlow:
            wanted = arguments.pop(key, None) if key is not None else None
            blueprint.check(arguments)
            return (yield from act(computers if wanted is None else (_pick(wanted, computers),), arguments))

        return ModelTool(blueprint.name, blueprint.description, schema, frozenset(), computers, start=start)

    @abstractmethod
    def _side_by_side(self, work: list[Callable[[], Any]]) -> Any:
        """Call all functions at the same time; return their outcomes, errors included."""


class Toolkit(ToolkitBase):
    """The tools of all Computers in an office, for a model: lists them in the forms of the vendors, and calls them.

    `Toolkit` is for an `AsyncSMCPAgentClient`, `SyncToolkit` for an `SMCPAgentClient`. `desktop` adds a tool that looks
    at windows; `documents` adds tools that find and read documents; `skills` adds a tool that reads skills. `timeout`
    limits a call in seconds, and `max_text` the text of an answer in characters. `on_progress` and `on_question` are
    those of `emit_tool_call`, for all calls: questions of tools go to the program, never to the model.
    """

    async def call(self, name: str, arguments: Arguments = None) -> Answer:
        """Call a tool for a model. `arguments` is an object, or the JSON text of one.

        It does not raise if the model, a tool, a Computer or the Server fails: the answer then has `is_error`.
        """
        return await run_async(self._calling(name, arguments), self._backend)

    async def call_all(self, calls: Iterable[Call]) -> Answers:
        """Make all calls of one turn of a model at the same time: `(id, name, arguments)` of each."""
        made = list(calls)
        answers = await asyncio.gather(*(self.call(name, arguments) for _, name, arguments in made))
        return _by_id(made, answers)

    async def _side_by_side(self, work: list[Callable[[], Any]]) -> Any:
        return await asyncio.gather(*(each() for each in work), return_exceptions=True)


class SyncToolkit(ToolkitBase):
    """The toolkit of an `SMCPAgentClient`."""

    def call(self, name: str, arguments: Arguments = None) -> Answer:
        """Call a tool for a model; see `Toolkit.call`."""
        return run(self._calling(name, arguments), self._backend)

    def call_all(self, calls: Iterable[Call]) -> Answers:
        """Make all calls of one turn of a model at the same time; see `Toolkit.call_all`."""
        made = list(calls)
        return _by_id(made, side_by_side([partial(self.call, name, arguments) for _, name, arguments in made]))

    def _side_by_side(self, work: list[Callable[[], Any]]) -> Any:
        return side_by_side([partial(_outcome, each) for each in work])


def _read_arguments(arguments: Arguments) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}  # for a tool without parameters
        except ValueError as error:
            raise InvalidCall(f"the arguments are not valid JSON: {error}") from None
    if not isinstance(arguments, Mapping | None):
        raise InvalidCall("the arguments must be a JSON object")
    return dict(arguments or {})


def _pick(computer: Any, computers: tuple[str, ...]) -> str:
    if computer in computers:
        return computer
    if computer is None and len(computers) == 1:
        return computers[0]
    raise InvalidCall(f"choose a computer: {', '.join(computers)}")


def _by_id(calls: list[Call], answers: list[Answer]) -> Answers:
    return Answers({call[0]: answer for call, answer in zip(calls, answers, strict=True)})


def _outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        return error


def _fingerprint(tool: SMCPTool) -> str:
    """A hash of name and parameters. It is the same on all Computers and in all processes."""
    # Sorted, because the order of keys means nothing in a schema, and MCP servers write it as they like.
    schema = json.dumps([tool["name"], tool["params_schema"]], sort_keys=True, ensure_ascii=False, default=str)
    return sha256(schema.encode("utf-8", "surrogatepass")).hexdigest()


def _is_in_finder(tool: SMCPTool) -> bool:
    """Whether the tool duplicates the built-in tools for documents."""
    meta = tool.get("meta")
    return isinstance(meta, Mapping) and any(meta.get(mark) is True for mark in OF_DOCUMENT_SERVERS)


def _order(group: tuple[tuple[str, str], dict[str, SMCPTool]]) -> tuple[str, str, str]:
    """By name; of different tools with one name, that of the alphabetically first Computer keeps the name."""
    (name, fingerprint), where = group
    return name, next(iter(where)), fingerprint


__all__ = ["Answer", "Answers", "Choice", "ModelTool", "SyncToolkit", "Toolkit"]
