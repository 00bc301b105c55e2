"""The inputs of a Computer for its owner: which have a value, and where it comes from. A value goes in, never out."""

from __future__ import annotations

import asyncio

from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.config.input_sources import InputMissing
from a2c_smcp.computer.config.model import MCPServerInput, MCPServerPickStringInput, MCPServerPromptStringInput
from a2c_smcp.computer.config.placeholders import input_ids
from a2c_smcp.console.owner import shapes
from a2c_smcp.errors import ConflictError, MalformedRequestError, NotFoundError


class Inputs:
    """Shows the inputs of one Computer, and takes their values."""

    def __init__(self, computer: Computer) -> None:
        self._computer = computer

    def all(self) -> list[shapes.InputView]:
        """All inputs, in the order of the configuration."""
        return [self._view(wanted) for wanted in self._computer.inputs]

    async def set(self, input_id: str, value: str) -> shapes.InputChange:
        """Take a value, and start the MCP servers that use it again.

        Raises:
            NotFoundError: there is no such input.
            ConflictError: its value comes from elsewhere.
            MalformedRequestError: the value is not one of its options.
        """
        computer = self._computer
        wanted = computer.get_input(input_id)
        if wanted is None:
            raise NotFoundError(f"there is no input {input_id}")
        servers = self._servers_of(input_id)
        match computer.input_source(input_id, servers):
            case "environment":
                raise ConflictError(
                    f"the environment of the Computer sets this input: {computer.input_variable(input_id)}"
                )
            case "command":
                raise ConflictError("a command prints the value of this input")
            case _:
                pass
        try:
            is_remembered = await computer.keep_input_value(input_id, value)
        except InputMissing as error:
            raise MalformedRequestError(str(error)) from None
        await asyncio.gather(*(self._restart(name) for name in servers))
        return {"input": self._view(wanted), "remembered": is_remembered, "restarted": servers}

    async def _restart(self, name: str) -> None:
        try:
            await self._computer.mcp_manager.arestart_client(name)
        except NotFoundError:  # it was removed meanwhile
            return

    def _view(self, wanted: MCPServerInput) -> shapes.InputView:
        servers = self._servers_of(wanted.id)
        options = wanted.labels if isinstance(wanted, MCPServerPickStringInput) else {}
        return {
            "id": wanted.id,
            "description": wanted.description,
            "is_secret": isinstance(wanted, MCPServerPromptStringInput) and bool(wanted.password),
            "options": [{"value": value, "label": label} for value, label in options.items()],
            "source": self._computer.input_source(wanted.id, servers),
            "variable": self._computer.input_variable(wanted.id),
            "servers": servers,
        }

    def _servers_of(self, input_id: str) -> list[str]:
        """The MCP servers that use an input, and are not disabled."""
        return [
            config.name
            for config in self._computer.mcp_servers
            if not config.disabled and input_id in input_ids(config.parameters())
        ]
