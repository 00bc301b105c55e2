"""The tools of all Computers in an office, for a model: named, described and called as models do it.

    toolkit = Toolkit(agent)
    tools = toolkit.openai()                              # or .anthropic(), .openai_responses(), .json_schema()
    answer = await toolkit.call(name, arguments)          # whatever goes wrong is an answer as well
    answers = await toolkit.call_all([(id, name, arguments), …])
    messages += answers.for_openai()                      # or .for_anthropic(), .for_openai_responses()

A tool that several Computers have is one tool with a `computer` parameter. A name, once given, stays the same for as
long as the toolkit lives.
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
    Act,
    Blueprint,
    BuiltinTools,
    CallTool,
    ModelBackend,
    ModelFlow,
    Unclear,
)
from a2c_smcp.agent.choice import Choice, tags_of
from a2c_smcp.agent.schemas import object_schema, with_choice
from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.flow import run, run_async
from a2c_smcp.smcp import SMCPTool
from a2c_smcp.utils.threads import side_by_side

if TYPE_CHECKING:
    from a2c_smcp.agent.client import AsyncSMCPAgentClient
    from a2c_smcp.agent.sync_client import SMCPAgentClient

CALL_SECONDS = 60
MAX_TEXT = 100_000
LONGEST_NAME = 64

Arguments: TypeAlias = Mapping[str, Any] | str | None
"""An object, or the JSON text of one."""
Call: TypeAlias = tuple[str, str, Arguments]
"""What a model asks for: an id, the name of a tool, and its arguments."""

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
    """Where it can run."""
    start: Callable[[dict[str, Any]], ModelFlow] = field(repr=False, kw_only=True)


class ToolkitBase(ABC):
    """The tools, as they are now.

    `desktop` and `documents` add tools to look at windows, and to find and read documents; `timeout` bounds a call in
    seconds, and `max_text` what a model is told of its result in characters.
    """

    def __init__(
        self,
        agent: AsyncSMCPAgentClient | SMCPAgentClient,
        choice: Choice | None = None,
        *,
        desktop: bool = False,
        documents: bool = False,
        timeout: float = CALL_SECONDS,
        max_text: int = MAX_TEXT,
    ) -> None:
        self._agent = agent
        self._backend = ModelBackend(agent, self._side_by_side)
        self._choice = choice or Choice()
        self._desktop = desktop
        self._documents = documents
        self._timeout = timeout
        self._max_text = max_text
        self._names: dict[str, str] = {}
        """The names that were given, by what they were given to."""
        self._naming = threading.Lock()

    # ---------------------------------------------------------------------------------------------------------- listing

    @property
    def tools(self) -> dict[str, ModelTool]:
        """All tools, by the name a model knows them by."""
        found: dict[str, ModelTool] = {}
        if self.computers:
            for tool in self._own_tools():
                found[tool.name] = tool
        with self._naming:  # several threads may call
            for (name, fingerprint), where in sorted(self._groups().items(), key=_order):
                given = self._name_for(name, fingerprint, found)
                found[given] = self._merged(given, where)
        return found

    @property
    def computers(self) -> tuple[str, ...]:
        """The Computers whose tools are shown."""
        return tuple(computer for computer in self._agent.computers if self._choice.allows_computer(computer))

    # What the SDKs declare as types of their own are plain dictionaries, so the lists below say no more than `Any`:
    # they can be given to an SDK without it being imported here.

    def json_schema(self) -> list[Any]:
        """Name, description and parameters of each tool, plainly."""
        return [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self.tools.values()
        ]

    def openai(self) -> list[Any]:
        """The `tools` of OpenAI's Chat Completions, and of the many that are compatible with it."""
        return [{"type": "function", "function": tool} for tool in self.json_schema()]

    def openai_responses(self) -> list[Any]:
        """The `tools` of OpenAI's Responses API."""
        return [{"type": "function", **tool, "strict": False} for tool in self.json_schema()]

    def anthropic(self) -> list[Any]:
        """The `tools` of Anthropic's Messages API."""
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in self.tools.values()
        ]

    def _groups(self) -> dict[tuple[str, str], dict[str, SMCPTool]]:
        """Tools that are the same, with the Computers that have them."""
        groups: dict[tuple[str, str], dict[str, SMCPTool]] = {}
        offered = self._agent.tools
        for computer in sorted(self.computers):
            for tool in offered.get(computer, []):
                if self._choice.allows(tool) and not (self._documents and _is_in_finder(tool)):
                    groups.setdefault((tool["name"], _fingerprint(tool)), {})[computer] = tool
        return groups

    def _name_for(self, name: str, fingerprint: str, taken: Collection[str]) -> str:
        """A name that fits, and that nothing else has or had."""
        known = self._names.get(fingerprint)
        if known is not None and known not in taken:
            return known
        fitting = _UNFIT.sub("_", name)
        others = {given for whose, given in self._names.items() if whose != fingerprint}
        if not fitting.strip("_-") or len(fitting) > LONGEST_NAME or fitting in taken or fitting in others:
            stem = fitting.strip("_-")[: LONGEST_NAME - 7] or "tool"
            fitting = f"{stem}_{fingerprint[:6]}"
        self._names[fingerprint] = fitting
        return fitting

    def _merged(self, name: str, where: dict[str, SMCPTool]) -> ModelTool:
        """One tool for all Computers that have it."""
        computers = tuple(where)
        tool = where[computers[0]]
        schema, key = with_choice(object_schema(tool["params_schema"]), computers)

        def start(arguments: dict[str, Any]) -> ModelFlow:
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
        tools = self.tools
        tool = tools.get(name)
        if tool is None:
            near = difflib.get_close_matches(name, tools, 3, 0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            return failed_answer(f"there is no tool {name}{hint}")
        try:
            return (yield from tool.start(_read_arguments(arguments)))
        except (SMCPError, Unclear) as error:
            code = f" (error {error.code})" if isinstance(error, SMCPError) else ""
            return failed_answer(f"{error}{code}")

    # -------------------------------------------------------------------------------------------- windows and documents

    def _own_tools(self) -> Iterable[ModelTool]:
        own = BuiltinTools(self._agent, self._max_text)
        if self._desktop:
            yield self._own(LOOK_AT_DESKTOP, own.look)
        if self._documents:
            yield self._own(FIND_DOCUMENTS, own.find)
            yield self._own(READ_DOCUMENT, own.read)

    def _own(self, blueprint: Blueprint, act: Act) -> ModelTool:
        computers = self.computers
        schema, key = with_choice(object_schema(blueprint.parameters), computers, must_choose=False)

        def start(arguments: dict[str, Any]) -> ModelFlow:
            wanted = arguments.pop(key, None) if key is not None else None
            blueprint.check(arguments)
            return (yield from act(computers if wanted is None else (_pick(wanted, computers),), arguments))

        return ModelTool(blueprint.name, blueprint.description, schema, frozenset(), computers, start=start)

    @abstractmethod
    def _side_by_side(self, work: list[Callable[[], Any]]) -> Any:
        """The outcomes of all, errors included."""


class Toolkit(ToolkitBase):
    """The tools of all Computers in an office, for a model: listed, named and called as models do it.

    `Toolkit` is for an `AsyncSMCPAgentClient`, `SyncToolkit` for an `SMCPAgentClient`. `desktop` and `documents` add
    tools to look at windows, and to find and read documents. `timeout` bounds a call in seconds, and `max_text` the
    text that a model gets of its result in characters.
    """

    async def call(self, name: str, arguments: Arguments = None) -> Answer:
        """Call a tool as a model asks for it; `arguments` is an object, or the JSON text of one.

        It does not raise for what the model, a tool, a Computer or the Server did wrong: that is an answer with
        `is_error`.
        """
        return await run_async(self._calling(name, arguments), self._backend)

    async def call_all(self, calls: Iterable[Call]) -> Answers:
        """Call all the tools that a model asks for in one turn, side by side: `(id, name, arguments)` of each."""
        made = list(calls)
        answers = await asyncio.gather(*(self.call(name, arguments) for _, name, arguments in made))
        return _by_id(made, answers)

    async def _side_by_side(self, work: list[Callable[[], Any]]) -> Any:
        return await asyncio.gather(*(each() for each in work), return_exceptions=True)


class SyncToolkit(ToolkitBase):
    """The toolkit of an `SMCPAgentClient`."""

    def call(self, name: str, arguments: Arguments = None) -> Answer:
        """Call a tool as a model asks for it; see `Toolkit.call`."""
        return run(self._calling(name, arguments), self._backend)

    def call_all(self, calls: Iterable[Call]) -> Answers:
        """Call all the tools that a model asks for in one turn, side by side; see `Toolkit.call_all`."""
        made = list(calls)
        return _by_id(made, side_by_side([partial(self.call, name, arguments) for _, name, arguments in made]))

    def _side_by_side(self, work: list[Callable[[], Any]]) -> Any:
        return side_by_side([partial(_outcome, each) for each in work])


def _read_arguments(arguments: Arguments) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except ValueError as error:
            raise Unclear(f"the arguments are no JSON: {error}") from None
    if not isinstance(arguments, Mapping | None):
        raise Unclear("the arguments must be a JSON object")
    return dict(arguments or {})


def _pick(computer: Any, computers: tuple[str, ...]) -> str:
    if computer in computers:
        return computer
    if computer is None and len(computers) == 1:
        return computers[0]
    raise Unclear(f"which computer? One of: {', '.join(computers)}")


def _by_id(calls: list[Call], answers: list[Answer]) -> Answers:
    return Answers({call[0]: answer for call, answer in zip(calls, answers, strict=True)})


def _outcome(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        return error


def _fingerprint(tool: SMCPTool) -> str:
    """The same for the same tool, on whichever Computer and in whichever process."""
    schema = json.dumps([tool["name"], tool["params_schema"]], sort_keys=True, ensure_ascii=False, default=str)
    return sha256(schema.encode("utf-8", "surrogatepass")).hexdigest()


def _is_in_finder(tool: SMCPTool) -> bool:
    """Whether it only does what the tools for documents do."""
    meta = tool.get("meta")
    return isinstance(meta, Mapping) and meta.get("a2c_finder") is True


def _order(group: tuple[tuple[str, str], dict[str, SMCPTool]]) -> tuple[str, str, str]:
    """By name; of several with one name, the one on the alphabetically first Computer takes it."""
    (name, fingerprint), where = group
    return name, next(iter(where)), fingerprint


__all__ = ["Answer", "Answers", "Choice", "ModelTool", "SyncToolkit", "Toolkit"]
