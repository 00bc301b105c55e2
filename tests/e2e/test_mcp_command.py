"""`a2c mcp` as a host starts it: real processes, hosts of both protocol eras, Servers with and without a gateway."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from a2c_smcp.agent import AsyncSMCPAgentClient
from a2c_smcp.computer.config.model import MCPServerConfig
from a2c_smcp.computer.socketio.client import SMCPComputerClient
from tests.support.hosting import Watched, asking, hosting, raw, shelves
from tests.support.mcp_hosts import Era, HostedCommand, hosted
from tests.support.mcp_servers import received
from tests.support.process import A2C, LineProcess, ServerProcess, a2c, free_port, server_process
from tests.support.systems import SIGKILL, posix_only
from tests.support.terminal import CTRL_C, terminal
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.anyio

KEY = "open-sesame"
ENV = {"A2C_API_KEY": KEY}


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> Era:
    return request.param


@pytest.fixture(params=["gateway", "own seat"])
def server(request: pytest.FixtureRequest) -> Generator[ServerProcess]:
    """A Server that serves MCP hosts, or one that does not."""
    with server_process(*([] if request.param == "gateway" else ["--no-mcp"]), env=ENV) as process:
        yield process


@pytest.fixture
def gateway() -> Generator[ServerProcess]:
    with server_process(env=ENV) as process:
        yield process


@asynccontextmanager
async def computer(url: str, *servers: MCPServerConfig, name: str = "pc") -> AsyncGenerator[Watched]:
    """A Computer in the office; it comes back quickly when the Server restarts."""
    async with hosting(*servers) as hosted_there:
        hosted_there.name = name
        client = SMCPComputerClient(computer=hosted_there, reconnection_delay=0.05, reconnection_delay_max=0.2)
        key = {"x-api-key": KEY}
        await client.connect(url, headers=key, auth=key, transports=["websocket"])
        try:
            await client.join_office("office")
            yield hosted_there
        finally:
            await client.disconnect()


def flags(url: str, *more: str) -> tuple[str, ...]:
    return "--url", url, "--office", "office", *more


# --------------------------------------------------------------------------------------------------------------- hosts


async def test_a_host_of_either_era_uses_tools_windows_and_documents(server: ServerProcess, era: Era) -> None:
    both = shelves("s", "--windows", "1", "--documents", "1")
    async with computer(server.url, both), hosted(era, *flags(server.url), env=ENV) as host:
        await host.until_tool("echo")
        assert await host.text("echo", {"text": "Grüße"}) == "Grüße"
        assert (await host.client.list_resources()).resources
        assert "window://" in await host.text("look_at_desktop")
        assert "dpe://" in await host.text("find_documents")
    assert not host.command.errors


async def test_progress_reaches_the_host(server: ServerProcess, era: Era) -> None:
    reports: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async with computer(server.url, asking()), hosted(era, *flags(server.url), env=ENV) as host:
        await host.until_tool("progress")
        assert await host.text("progress", {"count": 3}, progress_callback=note) == "done"
    assert reports[-1] == (3, 3, "step 3")


@pytest.mark.parametrize("asked_in", ["2025-11-25", "2026-07-28"])
async def test_a_question_of_a_tool_reaches_the_user_of_the_host(
    server: ServerProcess, era: Era, asked_in: str
) -> None:
    questions: list[str] = []

    def answer(params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"name": "Ann"})

    async with computer(server.url, asking(asked_in)), hosted(era, *flags(server.url), env=ENV, answer=answer) as host:
        await host.until_tool("ask")
        assert '"name": "Ann"' in await host.text("ask")
    assert questions == ["asking on pc asks: Who are you?"]


async def test_a_cancelled_call_is_cancelled_at_the_computer(server: ServerProcess, era: Era, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with (
        computer(server.url, raw("raw", "--log", str(log))),
        hosted(era, *flags(server.url), env=ENV) as host,
    ):
        await host.until_tool("sleep")
        call = asyncio.ensure_future(host.text("sleep", {"seconds": 600}))
        await eventually(lambda: received(log, "tools/call"))
        call.cancel()
        await eventually(lambda: received(log, "notifications/cancelled"))
        assert await host.text("echo", {"text": "and on it goes"}) == "and on it goes"


async def test_a_host_that_is_killed_ends_the_command_and_the_tool(
    server: ServerProcess, era: Era, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    program = f"""
import asyncio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

command = StdioServerParameters(command={A2C[0]!r}, args={[*A2C[1:], "mcp", *flags(server.url)]!r}, env={ENV!r})

async def main():
    async with Client(stdio_client(command), mode={era!r}) as client:
        while not any(tool.name == "sleep" for tool in (await client.list_tools(cache_mode="bypass")).tools):
            await asyncio.sleep(0.05)
        await client.call_tool("sleep", {{"seconds": 600}})

asyncio.run(main())
"""
    async with computer(server.url, raw("raw", "--log", str(log))):
        with contextlib.closing(LineProcess([sys.executable, "-c", program])) as host:
            await eventually(lambda: received(log, "tools/call"))
            host.process.send_signal(SIGKILL)
            await eventually(lambda: received(log, "notifications/cancelled"))


async def test_two_hosts_use_an_office_at_the_same_time(gateway: ServerProcess, era: Era) -> None:
    async with (
        computer(gateway.url, raw()),
        hosted(era, *flags(gateway.url), env=ENV) as one,
        hosted("legacy", *flags(gateway.url), env=ENV) as other,
    ):
        for host in (one, other):
            await host.until_tool("echo")
        texts = await asyncio.gather(*(host.text("echo", {"text": f"{n}"}) for n, host in enumerate([one, other] * 5)))
        assert texts == [f"{n}" for n in range(10)]


async def test_a_new_computer_is_announced(server: ServerProcess) -> None:
    async with hosted("legacy", *flags(server.url), env=ENV) as host:
        await host.client.list_tools()
        async with computer(server.url, raw()):
            await host.until_heard("notifications/tools/list_changed")
            await host.until_tool("echo")


async def test_options_choose_what_the_host_sees(server: ServerProcess) -> None:
    async with computer(server.url, raw()), computer(server.url, asking(), name="other"):
        async with hosted("legacy", *flags(server.url, "--computer", "other", "--mode", "direct"), env=ENV) as host:
            await host.until_tool("ask")
            names = {tool.name for tool in (await host.client.list_tools()).tools}
            assert "echo" not in names
            assert "look_at_desktop" not in names
        async with hosted("auto", *flags(server.url, "--computer", "nobody"), env=ENV) as host:
            names = {tool.name for tool in (await host.client.list_tools()).tools}
            assert names == {"look_at_desktop", "find_documents", "read_document"}


async def test_profiles_of_the_server_are_used_by_name(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_text('[mcp_profiles.questions]\ncomputers = ["other"]\nmode = "direct"\n')
    with server_process("--config", str(tmp_path / "server.toml"), env=ENV) as server:
        async with (
            computer(server.url, raw()),
            computer(server.url, asking(), name="other"),
            hosted("legacy", *flags(server.url, "--profile", "questions"), env=ENV) as host,
        ):
            await host.until_tool("ask")
            assert "echo" not in {tool.name for tool in (await host.client.list_tools()).tools}
        refused = a2c("mcp", *flags(server.url, "--profile", "answers"), env=ENV)
    assert refused.returncode == 3
    assert refused.stderr == "a2c: there is no profile 'answers'; the profiles are: questions\n"


# ---------------------------------------------------------------------------------------------------- what goes wrong


async def test_while_another_agent_has_the_seat_every_answer_names_it(server: ServerProcess, era: Era) -> None:
    async with contextlib.AsyncExitStack() as other:
        agent = AsyncSMCPAgentClient.in_office(server.url, "office", "first-agent", api_key=KEY)
        await other.enter_async_context(agent)
        async with hosted(era, *flags(server.url), env=ENV) as host:
            with pytest.raises(MCPError) as refused:
                await host.client.list_tools()
            assert "first-agent" in refused.value.error.message
            assert "disconnect that Agent" in refused.value.error.message
            told: Any = await host.client.call_tool("look_at_desktop", {})
            assert told.is_error
            assert "first-agent" in told.content[0].text
            with pytest.raises(MCPError, match="first-agent"):
                await host.client.list_resources()
            # The host gets the seat as soon as it is free.
            await other.aclose()
            await host.until_tool("look_at_desktop")


async def test_a_person_whose_agent_finds_the_seat_taken_reads_that_hosts_have_it(gateway: ServerProcess) -> None:
    async with hosted("auto", *flags(gateway.url), env=ENV) as host:
        await host.until_tool("look_at_desktop")
        refused = await asyncio.to_thread(a2c, "agent", *flags(gateway.url), "tools", env=ENV)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "'mcp-gateway'; MCP hosts use the office: quit them, and wait a minute (4101)" in refused.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--url", "{url}", "--api-key", "wrong"], "a2c: {url}: the key (A2C_API_KEY) is not accepted\n"),
        (["--url", "{url}"], "a2c: {url}: a key is required: set A2C_API_KEY\n"),
        (["--url", "http://no.such.host.invalid"], "a2c: cannot reach http://no.such.host.invalid: unknown host\n"),
        (
            ["--url", "http://127.0.0.1:1"],
            "a2c: cannot reach http://127.0.0.1:1: connection refused: nothing is listening there\n",
        ),
    ],
)
def test_what_prevents_serving_is_one_line(server: ServerProcess, options: list[str], says: str) -> None:
    outcome = a2c("mcp", "--office", "office", *(option.format(url=server.url) for option in options))
    assert (outcome.returncode, outcome.stdout) == (3, "")
    assert outcome.stderr == says.format(url=server.url)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "a2c: no office: set --office NAME or A2C_OFFICE\n"),
        (["--office", "o", "--url", "ftp://x"], "a2c: --url ftp://x: must start with http://, "),
        (
            ["--url", "http://x/mcp/o/p"],
            "a2c: --url http://x/mcp/o/p: this is for hosts that take a URL; here, --url http",
        ),
        (["--office", "o", "--mode", "merge"], "a2c: --mode merge: must be auto, merged, search or direct; did you"),
        (["--office", "o", "--ca-file", "missing.pem"], "a2c: --ca-file missing.pem: No such file"),
        (["--office", "o", "--log-level", "loud"], "a2c: --log-level loud: must be debug"),
    ],
)
def test_wrong_options_are_one_line(options: list[str], says: str) -> None:
    outcome = a2c("mcp", *options)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(says)
    assert outcome.stderr.count("\n") == 1


@posix_only
def test_a_person_who_starts_it_at_a_terminal_reads_what_it_waits_for(gateway: ServerProcess, tmp_path: Path) -> None:
    with terminal(tmp_path, "mcp", *flags(gateway.url), prompt="none", env=ENV) as shell:
        shell.see("waiting for an MCP host on standard input; `a2c mcp install`")
        shell.type(CTRL_C)
        assert shell.end() == 0


def test_a_key_for_another_office_is_refused(tmp_path: Path) -> None:
    made = a2c("keys", "add", "ann", "--office", "other", "--file", "keys.toml", cwd=tmp_path)
    with server_process("--keys-file", str(tmp_path / "keys.toml")) as server:
        outcome = a2c("mcp", *flags(server.url), env={"A2C_API_KEY": made.stdout.split()[0]})
    assert outcome.returncode == 3
    assert "'office'" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


@posix_only
@pytest.mark.parametrize(
    ("number", "era"), [(signal.SIGTERM, "legacy"), (signal.SIGINT, "auto"), (signal.SIGHUP, "legacy")]
)
async def test_a_signal_ends_the_command(server: ServerProcess, number: signal.Signals, era: Era) -> None:
    with contextlib.closing(HostedCommand(*flags(server.url), env=ENV)) as command:
        async with command.streams() as (incoming, outgoing):

            @asynccontextmanager
            async def given() -> AsyncGenerator[tuple[Any, Any]]:
                yield incoming, outgoing

            async with Client(given(), mode=era) as client:
                await client.list_tools()
                command.process.send_signal(number)
                assert await command.end() == 0
    assert not command.errors


async def test_the_end_of_input_ends_the_command_while_a_tool_runs(server: ServerProcess, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with computer(server.url, raw("raw", "--log", str(log))):
        async with hosted("legacy", *flags(server.url), env=ENV) as host:
            await host.until_tool("sleep")
            call = asyncio.ensure_future(host.text("sleep", {"seconds": 600}))
            await eventually(lambda: received(log, "tools/call"))
            assert host.command.process.stdin is not None
            host.command.process.stdin.close()
            assert await host.command.end() == 0
            with pytest.raises(MCPError):
                await call
        await eventually(lambda: received(log, "notifications/cancelled"))


def test_requests_before_the_end_of_input_are_answered(server: ServerProcess) -> None:
    """As of a person who tries it with a pipe."""
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "me", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    typed = "".join(f"{json.dumps(line)}\n" for line in lines) + "garbage\n"
    outcome = a2c("mcp", *flags(server.url), env=ENV, typed=typed)
    assert outcome.returncode == 0
    assert [json.loads(line)["id"] for line in outcome.stdout.splitlines()] == [1, 2]
    assert outcome.stderr.count("\n") == 1
    assert "not a message: garbage" in outcome.stderr
    assert "error" not in json.loads(outcome.stdout.splitlines()[1])


# ------------------------------------------------------------------------------------------------------------- restarts


class Restarting:
    """Servers on one port, one after another."""

    def __init__(self) -> None:
        self._port = str(free_port())
        self._running: ServerProcess | None = None

    def start(self) -> str:
        """Start a Server; its URL."""
        self._running = ServerProcess("--port", self._port, "--grace", "0.1", env=ENV)
        return self._running.url

    def stop(self, how: int = SIGKILL) -> None:
        """Stop the Server, and wait for its end."""
        if self._running is not None:
            self._running.stop(how)
            self.close()

    async def restart(self, how: int = SIGKILL) -> None:
        await asyncio.to_thread(self.stop, how)
        await asyncio.to_thread(self.start)

    def close(self) -> None:
        if self._running is not None:
            self._running.close()
            self._running = None


@pytest.fixture
def restarting() -> Generator[Restarting]:
    with contextlib.closing(Restarting()) as servers:
        yield servers


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
@pytest.mark.parametrize("how", [signal.SIGTERM, SIGKILL])
async def test_a_session_survives_a_restart_of_the_server(restarting: Restarting, how: signal.Signals) -> None:
    url = restarting.start()
    windows = shelves("s", "--windows", "1")
    async with computer(url, windows), hosted("legacy", *flags(url), env=ENV) as host:
        await host.until_tool("echo")
        uri = next(str(each.uri) for each in (await host.client.list_resources()).resources if "w0000" in str(each.uri))
        await host.client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]  # of this era
        known = len(host.heard)
        await restarting.restart(how)
        # Without a request of the host: it learns that everything may have changed.
        await host.until_heard("notifications/tools/list_changed", known)
        await host.until_heard("notifications/resources/updated", known)
        await host.until_tool("echo")
        assert await host.text("echo", {"text": "again"}) == "again"


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_a_host_watches_on_when_a_computer_returns_after_the_host(restarting: Restarting) -> None:
    url = restarting.start()
    windows = shelves("s", "--windows", "1")
    async with contextlib.AsyncExitStack() as stack:
        pc = await stack.enter_async_context(contextlib.AsyncExitStack())
        await pc.enter_async_context(computer(url, windows))
        host = await stack.enter_async_context(hosted("legacy", *flags(url), env=ENV))
        await host.until_tool("touch")
        uri = next(str(each.uri) for each in (await host.client.list_resources()).resources if "w0000" in str(each.uri))
        await host.client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]  # of this era
        await asyncio.to_thread(restarting.stop)
        await pc.aclose()
        known = len(host.heard)
        await asyncio.to_thread(restarting.start)
        await host.until_heard("notifications/tools/list_changed", known)  # in an office without a Computer
        known = len(host.heard)
        await stack.enter_async_context(computer(url, windows))
        await host.until_heard("notifications/resources/updated", known)  # watched again
        await host.until_tool("touch")
        known = len(host.heard)
        await host.text("touch", {"uri": uri[uri.index("window://") :], "count": 1})
        await host.until_heard("notifications/resources/updated", known)


async def test_a_host_without_a_session_survives_a_restart_of_the_server(restarting: Restarting) -> None:
    url = restarting.start()
    async with computer(url, raw()), hosted("auto", *flags(url), env=ENV) as host:
        await host.until_tool("echo")
        await restarting.restart()
        await host.until_tool("echo")
        assert await host.text("echo", {"text": "again"}) == "again"


async def test_a_request_waits_for_a_server_that_restarts(restarting: Restarting, era: Era) -> None:
    url = restarting.start()
    async with computer(url, raw()), hosted(era, *flags(url), env=ENV) as host:
        await host.until_tool("echo")
        await asyncio.to_thread(restarting.stop)
        listed = asyncio.ensure_future(host.client.list_tools(cache_mode="bypass"))
        await asyncio.to_thread(restarting.start)
        async with asyncio.timeout(PATIENCE):
            assert (await listed).tools


async def test_a_call_that_a_restart_interrupts_fails_and_is_not_repeated(
    restarting: Restarting, era: Era, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    url = restarting.start()
    async with computer(url, raw("raw", "--log", str(log))), hosted(era, *flags(url), env=ENV) as host:
        await host.until_tool("sleep")
        call = asyncio.ensure_future(host.text("sleep", {"seconds": 600}))
        await eventually(lambda: received(log, "tools/call"))
        await restarting.restart()
        with pytest.raises(MCPError):
            async with asyncio.timeout(PATIENCE):
                await call
        await host.until_tool("echo")
        assert await host.text("echo", {"text": "again"}) == "again"
        assert len(received(log, "tools/call")) == 2


async def test_a_key_that_is_revoked_during_a_session_fails_its_requests(tmp_path: Path) -> None:
    made = a2c("keys", "add", "ann", "--office", "office", "--file", "keys.toml", cwd=tmp_path)
    key = made.stdout.split()[0]
    with server_process("--keys-file", str(tmp_path / "keys.toml")) as server:
        async with hosted("legacy", *flags(server.url), env={"A2C_API_KEY": key}) as host:
            await host.client.list_tools()
            assert a2c("keys", "remove", "ann", "--file", "keys.toml", cwd=tmp_path).returncode == 0
            await host.until_refused()
