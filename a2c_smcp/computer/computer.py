"""The Computer: hosts MCP servers and offers their tools, windows and documents to an office.

This class connects the layers below it. Their rules are in `config`, `hosting` and `offer`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.inputs import InputResolver, Source
from a2c_smcp.computer.config.model import MCPServerConfig, MCPServerInput, input_configs
from a2c_smcp.computer.config.policy import Policy
from a2c_smcp.computer.hosting.status import ServerStatus
from a2c_smcp.computer.mcp.oauth.access import LOGIN_SECONDS, OpenUrl
from a2c_smcp.computer.mcp.oauth.logins import LOGIN_COMMAND
from a2c_smcp.computer.mcp.oauth.store import LoginStore
from a2c_smcp.computer.offer.announcer import Announcer, Change
from a2c_smcp.computer.offer.approvals import Approvals
from a2c_smcp.computer.offer.asking import Asking
from a2c_smcp.computer.offer.blobs import BLOB_BYTES, Blobs
from a2c_smcp.computer.offer.calls import OURSELVES, Continuation, ToolCalls
from a2c_smcp.computer.offer.confirmation import Caller, ConfirmCallback
from a2c_smcp.computer.offer.desktop.aggregator import MAX_BYTES
from a2c_smcp.computer.offer.finder.aggregator import PATIENCE
from a2c_smcp.computer.offer.finder.documents import INDEX_BYTES
from a2c_smcp.computer.offer.finder.organize import DEFAULT_LIMIT
from a2c_smcp.computer.offer.history import History, ToolCallRecord
from a2c_smcp.computer.offer.manager import CACHE_BYTES, MCPServerManager
from a2c_smcp.computer.offer.progress import SILENT, Listener, SendLog, SendProgress
from a2c_smcp.computer.offer.prompting import Prompts
from a2c_smcp.computer.offer.reading import Reader
from a2c_smcp.computer.offer.running import Call
from a2c_smcp.computer.offer.skills.catalogue import Skills
from a2c_smcp.computer.offer.uploads import Uploads
from a2c_smcp.errors import NotFoundError
from a2c_smcp.smcp import (
    Completion,
    CompletionArgument,
    CompletionReference,
    Desktop,
    DPEDocumentSummary,
    GetComputerConfigRet,
    GetSkillRet,
    Prompt,
    ResourceContents,
    ResourceInfo,
    ResourceTemplate,
    SkillReference,
    SMCPTool,
)
from a2c_smcp.utils.listeners import Listeners
from a2c_smcp.utils.results import CallToolResult
from a2c_smcp.utils.tracing import in_trace

if TYPE_CHECKING:
    from a2c_smcp.computer.socketio.client import SMCPComputerClient

logger = logging.getLogger(__name__)

BOOT_PATIENCE = 30.0
"""Seconds that booting waits for slow servers. They continue to start; their tools appear when they are ready."""


class Computer:
    """A host of MCP servers. `async with Computer(…)` starts them and shuts them down.

    `confirm_callback(req_id, server, tool, parameters)` decides about calls of tools without `auto_apply`; it may be
    sync or async, and may wait for a person.

    `on_status_changed(server)` is called in the event loop, once for each change of an MCP server: of its state, or of
    the list of its tools, windows or documents. `status` has the new state. The function must not wait, and an
    exception that it raises is logged.

    An MCP server is `starting`, `ready`, `stopping` and `stopped`. If it ends by itself, it is `restarting`, or
    `failed` if it is not restarted. A remote server that demands a login is `waiting for login`: `alogin` logs in. Its
    tools can be called while it is `ready`. Logins are kept for this user; `login_store` keeps them elsewhere. The
    status of such a server names `login_command`, followed by the server.

    `skills` is a folder of skills for Agents: `NAME/SKILL.md`, and the files beside it. `landing` is a folder for files
    that Agents upload; without it, every upload is rejected.
    """

    def __init__(
        self,
        name: str,
        inputs: Iterable[MCPServerInput] | None = None,
        mcp_servers: Iterable[MCPServerConfig] | None = None,
        auto_connect: bool = True,
        auto_reconnect: bool = True,
        confirm_callback: ConfirmCallback | None = None,
        input_resolver: InputResolver | None = None,
        *,
        policy: Policy | None = None,
        on_status_changed: Callable[[str], None] | None = None,
        require_subscribe: bool = True,
        cache_bytes: int = CACHE_BYTES,
        index_bytes: int = INDEX_BYTES,
        blob_bytes: int = BLOB_BYTES,
        patience: float = PATIENCE,
        login_store: LoginStore | None = None,
        login_command: str = LOGIN_COMMAND,
        skills: str | os.PathLike[str] | None = None,
        landing: str | os.PathLike[str] | None = None,
    ) -> None:
        self.name = name
        self._resolver = input_resolver or InputResolver()
        if inputs is not None:
            self._resolver.replace_inputs(inputs)
        self._configured = list(mcp_servers or ())
        # The host keeps its servers by name: of two with the same name, the first would disappear silently.
        names = [config.name for config in self._configured]
        if len(set(names)) < len(names):
            raise ValueError(f"two MCP servers have the same name: {', '.join(sorted(names))}")
        self._booted = False
        self._history = History()
        self._announcer = Announcer()
        self.mcp_manager = MCPServerManager(
            auto_connect=auto_connect,
            auto_reconnect=auto_reconnect,
            resolver=self._resolver,
            policy=policy,
            announce=self._announcer.announce,
            announce_resource=self._announcer.announce_resource,
            on_status_changed=on_status_changed,
            require_subscribe=require_subscribe,
            cache_bytes=cache_bytes,
            index_bytes=index_bytes,
            login_store=login_store,
            login_command=login_command,
        )
        self.blobs = Blobs(blob_bytes)
        """The binaries that Agents fetch in parts."""
        self._patience = patience
        asking = Asking(self.mcp_manager, self._resolver.secrets.redact)
        self._prompts = Prompts(asking)
        self._reader = Reader(asking, self._prompts, patience)
        self.skills = Skills(
            Path(skills) if skills is not None else None,
            asking,
            self.blobs,
            lambda: self._announcer.announce(Change.SKILLS),
        )
        """The skills of the owner and of the MCP servers."""
        self.uploads = Uploads(Path(landing) if landing is not None else None)
        """The files that Agents upload."""
        self._calls = ToolCalls(self.mcp_manager, self._history, confirm_callback, self._resolver.secrets.redact)

    # ------------------------------------------------------------------------------------------------------------- life

    async def boot_up(self, patience: float | None = BOOT_PATIENCE) -> None:
        """Start all MCP servers side by side, unless `auto_connect` is off; wait at most `patience` seconds for them.

        A server that fails does not affect the others: `status` has the reason.
        """
        if self._booted:
            return
        await self.mcp_manager.ainitialize(self._configured)
        # Set before the servers start, which may take half a minute: a change of the configuration during that time
        # must reach the manager, which has already read the list.
        self._booted = True
        self.skills.start()
        self.uploads.start()
        if self.mcp_manager.auto_connect:
            await self.mcp_manager.astart_all(patience)

    async def shutdown(self) -> None:
        """End running calls and stop all MCP servers."""
        # Servers may have been added or removed since the start. The Computer can be booted again, with the same ones.
        self._configured = list(self.mcp_servers)
        self._booted = False
        # Calls end first, while their servers still run, so that each gets `notifications/cancelled`. The secrets go
        # last: what servers write while they stop is logged without them.
        await self._calls.aclose()
        await self.skills.aclose()
        await self.uploads.aclose()
        await self.blobs.aclose()
        await self.mcp_manager.aclose()
        await self._announcer.aclose()
        await self._resolver.aclose()

    async def __aenter__(self) -> Self:
        try:
            await self.boot_up()
        except BaseException:  # `__aexit__` is not called after a failed `__aenter__`
            await self.shutdown()
            raise
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.shutdown()

    # ---------------------------------------------------------------------------------------------------------- servers

    @property
    def mcp_servers(self) -> tuple[MCPServerConfig, ...]:
        """The configuration of each MCP server."""
        return self.mcp_manager.configs if self._booted else tuple(self._configured)

    def _named(self, mcp_server: str | None) -> str | None:
        """The name of the MCP server that an Agent names, perhaps by its `bundle_id`."""
        if mcp_server is None or any(config.name == mcp_server for config in self.mcp_servers):
            return mcp_server
        return next((config.name for config in self.mcp_servers if config.identity == mcp_server), mcp_server)

    @property
    def status(self) -> list[ServerStatus]:
        """The state of every MCP server."""
        return self.mcp_manager.get_server_status()

    async def aadd_or_aupdate_server(self, server: MCPServerConfig | Mapping[str, Any]) -> None:
        """Add an MCP server, or change one, while the Computer runs.

        Raises:
            ConfigError: the configuration is invalid.
        """
        if isinstance(server, Mapping):
            server = await asyncio.to_thread(server_from, server)  # it may check a VRL script, in another process
        if not self._booted:
            self._configured = [*(known for known in self._configured if known.name != server.name), server]
            return
        await self.mcp_manager.aadd_or_aupdate_server(server)

    async def aremove_server(self, name: str) -> None:
        """Stop an MCP server and remove it from the configuration.

        Raises:
            NotFoundError: there is no such server.
        """
        if self._booted:
            await self.mcp_manager.aremove_server(name)
            return
        if not any(known.name == name for known in self._configured):
            raise NotFoundError(f"there is no MCP server {name}")
        self._configured = [known for known in self._configured if known.name != name]

    async def alogin(
        self, server: str, open_url: OpenUrl = webbrowser.open, *, patience: float = LOGIN_SECONDS
    ) -> None:
        """Log in to a remote MCP server, and wait until it has connected with the new login, or failed to.

        `open_url` gets the address where a person logs in; it may be sync or async. The login is given up after
        `patience` seconds. A server whose `oauth` names a flow without a person is logged in at once.

        Raises:
            NotFoundError: there is no such server, or the Computer has not been booted.
            LoginRefusedError: the login failed, was rejected, or was not completed in time.
        """
        await self.mcp_manager.alogin(server, open_url, patience)

    async def alogout(self, server: str) -> bool:
        """Forget the login at a remote MCP server, which then waits for another one. Returns whether there was one.

        Raises:
            NotFoundError: there is no such server, or the Computer has not been booted.
            LoginRefusedError: the stored login cannot be removed.
        """
        return await self.mcp_manager.alogout(server)

    def get_config(self) -> GetComputerConfigRet:
        """The configuration as an Agent gets it: with placeholders, and without secrets."""
        servers = {config.name: config.shown() for config in self.mcp_servers}
        inputs = [wanted.shown() for wanted in self.inputs]
        return cast("GetComputerConfigRet", {"inputs": inputs or None, "servers": servers})

    # ------------------------------------------------------------------------------------------------------------ tools

    async def aget_available_tools(self) -> list[SMCPTool]:
        """Every tool that an Agent may call now. The list is kept current: no MCP server is asked."""
        return self.mcp_manager.book.tools

    async def aexecute_tool(
        self,
        req_id: str,
        tool_name: str,
        parameters: dict[str, Any],
        timeout: float | None = None,
        *,
        caller: Caller = OURSELVES,
        send_progress: SendProgress | None = None,
        send_log: SendLog | None = None,
        log_level: str | None = None,
        continuation: Continuation | None = None,
        traceparent: str | None = None,
    ) -> CallToolResult:
        """Call a tool, as an Agent does. A failure is a result with `is_error` and `error_code`; nothing is raised.

        `req_id` identifies the call: `acancel_tool` cancels it. `send_progress(progress, total, message)` is awaited
        for reports of the tool, and `send_log(messages)` for log messages of its MCP server from `log_level` on, as far
        as the configuration keeps them; each at most ten times a second. If the tool asks a question, the result has
        `meta["a2c_input_required"]`; the same tool and parameters with a `continuation` give it the answer. The MCP
        server gets `traceparent` (W3C Trace Context), if it is valid.
        """
        hears = send_progress is not None or send_log is not None
        with in_trace(traceparent):
            return await self._calls.execute(
                req_id,
                tool_name,
                parameters,
                timeout,
                caller,
                listener=Listener(send_progress, send_log, log_level) if hears else SILENT,
                continuation=continuation,
            )

    async def acancel_tool(self, req_id: str, *, caller: Caller | None = None) -> bool:
        """Cancel a running call, of one caller or of any. Returns whether there was one."""
        return self._calls.cancel(req_id, caller)

    async def acancel_office(self, office_id: str, agent: str | None = None) -> bool:
        """Cancel every running call of an office, or of one Agent there, end what is watched from there, and drop the
        binaries that were not fetched and the uploads that were not finished. Returns whether there was a call."""
        self.blobs.drop(office_id, agent)
        self.uploads.drop(office_id, agent)
        self.mcp_manager.end_watches(self.mcp_manager.watches.end_all(office_id, agent))
        return self._calls.cancel_all(office_id, agent)

    async def aget_tool_call_history(self) -> tuple[ToolCallRecord, ...]:
        """The last 10 calls, oldest first."""
        return tuple(self._history)

    @property
    def approvals(self) -> Approvals:
        """The calls that wait for approval, and the rules that decide which calls do."""
        return self._calls.approvals

    @property
    def changes(self) -> Listeners[Change]:
        """Functions that hear of each change of the tools, windows, documents or configuration."""
        return self._announcer.changes

    @property
    def ended_calls(self) -> Listeners[Call]:
        """Functions that hear of each call that has ended."""
        return self._calls.ended

    @property
    def confirm_callback(self) -> ConfirmCallback | None:
        """What a program decides about calls of tools without `auto_apply`: one of the channels of `approvals`."""
        return self._calls.approvals.callback.callback

    @confirm_callback.setter
    def confirm_callback(self, callback: ConfirmCallback | None) -> None:
        self._calls.approvals.callback.callback = callback

    # ----------------------------------------------------------------------------------------------- windows, documents

    async def get_desktop(
        self, size: int | None = None, window_uri: str | None = None, *, max_bytes: int = MAX_BYTES
    ) -> list[Desktop]:
        """The windows of all MCP servers as text: all, at most `size`, or the one at `window_uri`.

        Raises:
            TooLargeError: the windows hold more than `max_bytes`; no more than that is read.
        """
        if size is not None and size <= 0:
            return []
        return await self.mcp_manager.desktop.look(
            size, window_uri, self._history, patience=self._patience, max_bytes=max_bytes
        )

    async def get_finder(
        self,
        keywords: Iterable[str] | None = None,
        file_type: str | None = None,
        offset: int = 0,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[list[DPEDocumentSummary], int]:
        """A page of the documents of all MCP servers that match, and how many match in all.

        Raises:
            MalformedRequestError: `offset` or `limit` is negative.
        """
        return await self.mcp_manager.finder.find(
            keywords, file_type, self._history, offset, limit, patience=self._patience
        )

    @property
    def unindexed_documents(self) -> int:
        """How many documents `get_finder` does not know, because its index is full (`index_bytes`)."""
        return self.mcp_manager.finder.left_out

    async def read_resource(self, uri: str, mcp_server: str | None = None) -> list[ResourceContents]:
        """Read a document, page, element or window, or anything else that some MCP server lists or has a template for.
        A server that is named is asked for any address.

        Raises:
            InvalidDPEUriError: it is a `dpe://` URI and not a valid one.
            DocumentNotFoundError, PageOutOfRangeError, ElementNotFoundError: the server does not have it.
            NotFoundError: no server has it; `MCPServerNotFoundError`: `mcp_server` does not exist or is not ready.
            MalformedRequestError: several servers have it, and `mcp_server` names none of them.
            TimedOutError: the server did not answer in time.
            SMCPError: the server failed.
        """
        return await self._reader.read(uri, self._named(mcp_server))

    async def get_resources(
        self, mcp_server: str | None = None, cursor: str | None = None
    ) -> tuple[list[ResourceInfo], str | None]:
        """A page of the resources of all MCP servers, or of one; and the cursor of the next page.

        Raises:
            MCPServerNotFoundError: there is no such MCP server, or it is not ready.
            CapabilityMissingError: the one MCP server that was asked has no resources.
            MalformedRequestError: there is no such cursor.
            SMCPError: the one MCP server that was asked failed.
        """
        return await self._reader.resources(self._named(mcp_server), cursor)

    async def watch_resource(
        self, uri: str, mcp_server: str | None = None, *, watch: bool = True, caller: Caller = OURSELVES
    ) -> None:
        """Let an Agent watch a resource, or stop watching it. It gets `notify:update_resource` for each change, until
        it leaves the office, or this Computer does.

        Raises:
            CapabilityMissingError: the MCP server announces no changes of resources.
            RateLimitedError: too many resources are watched.
            SMCPError: as `read_resource`.
        """
        if watch:
            await self._reader.watch(uri, self._named(mcp_server), caller)
        else:
            self._reader.unwatch(uri, self._named(mcp_server), caller)

    async def list_prompts(
        self, mcp_server: str | None = None, cursor: str | None = None
    ) -> tuple[list[Prompt], str | None]:
        """A page of the prompts of all MCP servers, or of one; and the cursor of the next page.

        Raises:
            MCPServerNotFoundError: there is no such MCP server, or it is not ready.
            CapabilityMissingError: the one MCP server that was asked has no prompts.
            MalformedRequestError: there is no such cursor.
            SMCPError: the one MCP server that was asked failed.
        """
        return await self._prompts.listed(self._named(mcp_server), cursor)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        mcp_server: str | None = None,
        *,
        continuation: Continuation | None = None,
    ) -> dict[str, Any]:
        """The messages of a prompt, as its MCP server writes them. With a `continuation`, whose parts are empty at
        first, there may be none, and questions in `_meta["a2c_input_required"]` instead.

        Raises:
            NotFoundError: no MCP server has it; `MCPServerNotFoundError`: `mcp_server` does not exist or is not ready.
            MalformedRequestError: several MCP servers have it, or the arguments are invalid.
            SMCPError: the MCP server failed.
        """
        return await self._prompts.get(name, arguments, self._named(mcp_server), continuation)

    async def list_resource_templates(
        self, mcp_server: str | None = None, cursor: str | None = None
    ) -> tuple[list[ResourceTemplate], str | None]:
        """A page of the resource templates of all MCP servers, or of one; and the cursor of the next page.

        Raises:
            NotFoundError: there is no such MCP server, or it is not ready.
            MalformedRequestError: there is no such cursor.
            SMCPError: the one MCP server that was asked failed.
        """
        return await self._reader.templates(self._named(mcp_server), cursor)

    async def complete(
        self,
        ref: CompletionReference,
        argument: CompletionArgument,
        context: Mapping[str, str] | None = None,
        mcp_server: str | None = None,
    ) -> Completion:
        """What an MCP server suggests for an argument of one of its resource templates or prompts.

        Raises:
            NotFoundError: no MCP server has it, or the one that has it does not offer completion.
            MalformedRequestError: the MCP server does not know this argument.
            SMCPError: the MCP server failed.
        """
        return await self._reader.complete(ref, argument, context, self._named(mcp_server))

    async def acomplete_uri(self, start: str) -> list[str]:
        """Addresses that begin with `start`: what is listed, and the pages and elements that MCP servers offer."""
        return await self._reader.complete_uri(start)

    async def get_skills(self) -> list[SkillReference]:
        """The skills of the owner, then those of the MCP servers that are ready.

        Raises:
            TimedOutError: the folder does not answer.
        """
        return await self.skills.references()

    async def get_skill(
        self, name: str, rel_path: str | None = None, *, caller: Caller = OURSELVES, req_id: str = ""
    ) -> GetSkillRet:
        """A file of a skill; without `rel_path`, its `SKILL.md` after the front matter. A file that is large, or no
        text, has a handle for the caller in place of its contents.

        Raises:
            SkillNameError: this cannot be the name of a skill.
            MCPServerNotFoundError: there is no such skill.
            SkillFileError: the file does not exist, is not part of the skill, or is too large.
            SMCPError: its MCP server fails, or does not answer in time.
        """
        return await self.skills.read(name, rel_path, caller, req_id)

    # ----------------------------------------------------------------------------------------------------------- inputs

    @property
    def inputs(self) -> tuple[MCPServerInput, ...]:
        """The inputs that are defined now."""
        return self._resolver.inputs

    def update_inputs(self, inputs: Iterable[MCPServerInput | Mapping[str, Any]]) -> None:
        """Replace the definitions of all inputs."""
        self._resolver.replace_inputs([_input_from(wanted) for wanted in inputs])
        self._announcer.announce(Change.CONFIG)

    def add_or_update_input(self, wanted: MCPServerInput | Mapping[str, Any]) -> None:
        """Define an input, or change its definition."""
        self._resolver.define(_input_from(wanted))
        self._announcer.announce(Change.CONFIG)

    def remove_input(self, input_id: str) -> bool:
        """Remove an input. Returns whether there was one."""
        removed = self._resolver.undefine(input_id)
        if removed:
            self._announcer.announce(Change.CONFIG)
        return removed

    def get_input(self, input_id: str) -> MCPServerInput | None:
        """The definition of an input; None if there is none."""
        return self._resolver.get(input_id)

    def list_inputs(self) -> tuple[MCPServerInput, ...]:
        """The inputs that are defined now."""
        return self._resolver.inputs

    def get_input_value(self, input_id: str) -> Any:
        """The stored value of an input; None if there is none."""
        return self._resolver.values.get(input_id)

    def set_input_value(self, input_id: str, value: Any) -> bool:
        """Store the value of an input. Returns whether there is such an input."""
        return self._resolver.set_value(input_id, value)

    async def keep_input_value(self, input_id: str, value: str) -> bool:
        """Store the value of an input that a person gives. Returns whether the keyring has it, too.

        Raises:
            InputMissing: there is no such input, or the value is not one of its options.
        """
        return await self._resolver.keep(input_id, value)

    def input_source(self, input_id: str, servers: Iterable[str] = ()) -> Source | None:
        """Where the value of an input comes from, for these MCP servers; None if nobody has given it yet."""
        return self._resolver.source(input_id, servers)

    def input_variable(self, input_id: str) -> str:
        """The environment variable that gives an input its value."""
        return self._resolver.variable(input_id)

    def remove_input_value(self, input_id: str) -> bool:
        """Remove the stored value of an input. Returns whether there was one."""
        return self._resolver.remove_value(input_id)

    def list_input_values(self) -> dict[str, Any]:
        """The stored values of all inputs, secrets included."""
        return self._resolver.values

    def clear_input_values(self, input_id: str | None = None) -> None:
        """Remove the stored value of one input, or of all."""
        self._resolver.clear_values(input_id)

    # ------------------------------------------------------------------------------------------------------- the office

    @property
    def socketio_client(self) -> SMCPComputerClient | None:
        """The client that connects this Computer to a Server; None if there is none."""
        return cast("SMCPComputerClient | None", self._announcer.client)

    @socketio_client.setter
    def socketio_client(self, client: SMCPComputerClient | None) -> None:
        self._announcer.client = client

    def catch_up(self) -> None:
        """The Computer is in an office again: announce what changed meanwhile."""
        self._announcer.catch_up()


def _input_from(wanted: MCPServerInput | Mapping[str, Any]) -> MCPServerInput:
    return input_configs.validate_python(dict(wanted)) if isinstance(wanted, Mapping) else wanted
