"""The values of inputs: resolved when they are needed, asked for once, kept until they are cleared."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from a2c_smcp.computer.config.input_sources import (
    InputMissing,
    Keyring,
    Prompter,
    environment_names,
    from_command,
    from_environment,
)
from a2c_smcp.computer.config.model import (
    MCPServerCommandInput,
    MCPServerInput,
    MCPServerPickStringInput,
    MCPServerPromptStringInput,
)
from a2c_smcp.computer.config.placeholders import fill, input_ids
from a2c_smcp.computer.config.secrets import Secrets

logger = logging.getLogger(__name__)

ENVIRONMENT_PREFIX = "A2C_SMCP_"
Source: TypeAlias = Literal["environment", "command", "person", "default"]


class InputResolver:
    """Gives inputs their values: environment, then a command or a person, then the default."""

    def __init__(
        self,
        inputs: Iterable[MCPServerInput] = (),
        *,
        prompter: Prompter | None = None,
        keyring: Keyring | None = None,
        prefix: str = ENVIRONMENT_PREFIX,
        secrets: Secrets | None = None,
    ) -> None:
        self._inputs: dict[str, MCPServerInput] = {}
        self._values: dict[str, Any] = {}
        self._asking: dict[str, asyncio.Task[Any]] = {}
        self._prefix = prefix
        self.prompter = prompter
        self.keyring = keyring
        self.secrets = secrets or Secrets()
        self.replace_inputs(inputs)

    # ------------------------------------------------------------------------------------------------------ definitions

    @property
    def inputs(self) -> tuple[MCPServerInput, ...]:
        """What is defined now."""
        return tuple(self._inputs.values())

    def replace_inputs(self, inputs: Iterable[MCPServerInput]) -> None:
        """Define these inputs and no others. A value stays where its definition did not change."""
        defined = {wanted.id: wanted for wanted in inputs}
        for input_id in [i for i in self._values if defined.get(i) != self._inputs.get(i)]:
            self._values.pop(input_id)
        self._inputs = defined

    def define(self, wanted: MCPServerInput) -> None:
        """Add an input, or change one."""
        self.replace_inputs((self._inputs | {wanted.id: wanted}).values())

    def undefine(self, input_id: str) -> bool:
        """Remove an input and its value; whether there was one."""
        if input_id not in self._inputs:
            return False
        self.replace_inputs(wanted for wanted in self.inputs if wanted.id != input_id)
        return True

    def get(self, input_id: str) -> MCPServerInput | None:
        """An input's definition."""
        return self._inputs.get(input_id)

    # ----------------------------------------------------------------------------------------------------------- values

    @property
    def values(self) -> dict[str, Any]:
        """The values that are remembered."""
        return dict(self._values)

    def set_value(self, input_id: str, value: Any) -> bool:
        """Remember a value; whether there is such an input."""
        wanted = self._inputs.get(input_id)
        if wanted is None:
            return False
        self._remember(wanted, value)
        return True

    async def keep(self, input_id: str, value: str) -> bool:
        """Remember a value that a person gives. Whether the keyring has it, too: it keeps passwords.

        Raises:
            InputMissing: there is no such input, or the value is not one of its options.
        """
        wanted = self._inputs.get(input_id)
        if wanted is None:
            raise InputMissing(f"there is no input {input_id}")
        if isinstance(wanted, MCPServerPickStringInput) and value not in wanted.labels:
            raise InputMissing(f"input {input_id}: the value is not one of its options, {', '.join(wanted.labels)}")
        self._remember(wanted, value)
        if self.keyring is None or not _is_password(wanted):
            return False
        await self.keyring.set(input_id, value)
        return await self.keyring.get(input_id) == value

    def source(self, input_id: str, servers: Iterable[str] = ()) -> Source | None:
        """Where the value of an input comes from, for these servers; None if nobody has given it yet."""
        wanted = self._inputs.get(input_id)
        if wanted is None:
            return None
        if any(from_environment(self._prefix, input_id, server) is not None for server in (None, *servers)):
            return "environment"
        if isinstance(wanted, MCPServerCommandInput):
            return "command"
        # A default that was used is remembered like a value.
        if self._values.get(input_id, wanted.default) != wanted.default:
            return "person"
        return "default" if wanted.default is not None else None

    def variable(self, input_id: str) -> str:
        """The environment variable that gives an input its value, in characters that every shell accepts."""
        return list(environment_names(self._prefix, input_id))[-1]

    def remove_value(self, input_id: str) -> bool:
        """Forget a value; whether there was one."""
        return self._values.pop(input_id, self) is not self

    def clear_values(self, input_id: str | None = None) -> None:
        """Forget one value, or all."""
        if input_id is None:
            self._values.clear()
        else:
            self._values.pop(input_id, None)

    async def forget(self, input_id: str | None = None) -> None:
        """Forget one value, or all, in the keyring too."""
        self.clear_values(input_id)
        if self.keyring is not None:
            for wanted in self.inputs:
                if input_id in (None, wanted.id) and getattr(wanted, "password", None):
                    await self.keyring.delete(wanted.id)

    async def resolve(self, input_id: str, server: str | None = None, tool: str | None = None) -> Any:
        """The value of an input. Several servers may need it at the same time; a person is asked once.

        Raises:
            InputMissing: there is no such input, it has no value, or the value is not one of its options.
        """
        wanted = self._inputs.get(input_id)
        if wanted is None:
            raise InputMissing(f"there is no input {input_id}")
        value = from_environment(self._prefix, input_id, server, tool)
        if value is not None:
            if isinstance(wanted, MCPServerPickStringInput) and value not in wanted.labels:
                options = ", ".join(wanted.labels)
                raise InputMissing(
                    f"input {input_id}: its value in the environment is not one of its options, {options}"
                )
            self._keep_secret(wanted, value)
            return value
        if input_id in self._values:
            return self._values[input_id]
        # The question is a task of its own: several servers may wait for it, and each of them may be stopped meanwhile.
        task = self._asking.get(input_id)
        if task is None:
            task = self._asking[input_id] = asyncio.create_task(self._obtain(wanted), name=f"input {input_id}")
            task.add_done_callback(lambda _: self._asking.pop(input_id, None))
        try:
            return await asyncio.shield(task)  # a server that is stopped must not cancel the question for the others
        except asyncio.CancelledError:
            # Either this task is cancelled, because its server is stopped, or the question is, by Ctrl-C at the prompt.
            # The second is an answer: the input has no value, and the server fails with that reason.
            asker = asyncio.current_task()
            if task.cancelled() and (asker is None or not asker.cancelling()):
                raise InputMissing(f"input {input_id} was not given") from None
            raise

    async def render(self, value: Any, server: str | None = None) -> Any:
        """A configuration value with its placeholders filled in. An undefined input's placeholder stays as it is.

        Raises:
            InputMissing: an input has no value.
        """
        values: dict[str, Any] = {}
        for input_id in input_ids(value):
            if input_id in self._inputs:
                values[input_id] = await self.resolve(input_id, server)
            else:
                logger.warning("%s refers to the input %s, which is not defined", server or "a configuration", input_id)
        return fill(value, values)

    async def aclose(self) -> None:
        """Cancel all open questions."""
        questions = list(self._asking.values())
        for question in questions:
            question.cancel()
        if questions:
            await asyncio.wait(questions)
        self.secrets.forget()

    async def _obtain(self, wanted: MCPServerInput) -> Any:
        if isinstance(wanted, MCPServerCommandInput):
            value: Any = await from_command(wanted)
            self._remember(wanted, value)
            return value
        remembers = self.keyring is not None and _is_password(wanted)
        value = await self.keyring.get(wanted.id) if remembers and self.keyring is not None else None
        if value is None and self.prompter is not None:
            value = await self.prompter.ask(wanted)
            if value is not None and remembers and self.keyring is not None:
                await self.keyring.set(wanted.id, value)
        if value is None:
            value = wanted.default
        if value is None:
            name = self.variable(wanted.id)
            raise InputMissing(f"input {wanted.id} has no value: set {name}, or give it at the prompt")
        self._remember(wanted, value)
        return value

    def _remember(self, wanted: MCPServerInput, value: Any) -> None:
        self._keep_secret(wanted, value)
        self._values[wanted.id] = value

    def _keep_secret(self, wanted: MCPServerInput, value: Any) -> None:
        if isinstance(wanted, MCPServerCommandInput) or _is_password(wanted):
            self.secrets.add(value)


def _is_password(wanted: MCPServerInput) -> bool:
    return isinstance(wanted, MCPServerPromptStringInput) and bool(wanted.password)
