"""Every example does what it says, as a process of its own, and ends in good order."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import re
import shlex
import signal
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import psutil
import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient, SMCPAgentClient
from tests.support.mcp_servers import stdio, write_config
from tests.support.model_api import ModelApi, Round, model_api
from tests.support.process import LineProcess, a2c, computer_process, free_port, server_process, watching
from tests.support.shop import make_shop
from tests.support.terminal import CTRL_C, ENTER
from tests.support.terminal import terminal as in_terminal
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.name for path in EXAMPLES.glob("*.py"))
MODELS = ["agent_openai.py", "agent_anthropic.py"]
CONFIG = ("--config", "examples/mcp.json", "--office", "demo", "--name", "my-laptop")
KEY = "a-secret-key"


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    """A Server; its address."""
    with server_process() as server:
        yield server.url


@pytest.fixture(scope="module")
def office(server: str) -> Generator[str]:
    """`my-laptop` is in the office `demo`; the Server's address."""
    with computer_process("--url", server, *CONFIG, cwd=ROOT, env={"PYTHON": sys.executable}) as computer:
        computer.wait_for("in office demo")
        computer.wait_for("2 of 2 MCP servers ready")
        yield server


# --------------------------------------------------------------------------------------------------- Agents with models


def example_with_model(name: str, url: str, api: ModelApi) -> LineProcess:
    """An Agent that asks the stand-in of its model."""
    env = {
        "A2C_URL": url,
        "OPENAI_API_KEY": "a-key",
        "OPENAI_BASE_URL": f"{api.url}/v1",
        "ANTHROPIC_API_KEY": "a-key",
        "ANTHROPIC_BASE_URL": api.url,
    }
    return LineProcess([sys.executable, str(EXAMPLES / name), "What", "is due?"], env=env)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_answers_by_means_of_tools_windows_and_documents(name: str, office: str) -> None:
    page = {"uri": "dpe://notes.example/notes", "page": 0}
    plan: list[Round] = [[("greet", {"who": "model"})], [("look_at_desktop", {}), ("read_document", page)]]
    with model_api(*plan) as api, contextlib.closing(example_with_model(name, office, api)) as agent:
        agent.wait_for("^The tools say: hello model and window://notes.example/latest")
        assert agent.process.wait(PATIENCE) == 0
        assert agent.log[0] == "Computers: my-laptop\n"
        assert [line.split()[1] for line in agent.log if line.startswith("calls ")] == [
            "greet",
            "look_at_desktop",
            "read_document",
        ]
        assert "gets: hello model\n" in agent.log
        assert "gets: # Note 0 Milk is out.\n" in agent.log
        assert {"greet", "write_note", "look_at_desktop", "find_documents", "read_document"} == set(api.offered)
        question = api.requests[0].get("input") or api.requests[0]["messages"]
        assert question == [{"role": "user", "content": "What is due?"}]


@pytest.mark.parametrize("name", MODELS)
def test_what_a_tool_does_wrong_is_told_to_the_model(name: str, office: str) -> None:
    plan: list[Round] = [[("no_such_tool", {})], [("greet", {"whom": "x"})]]
    with model_api(*plan) as api, contextlib.closing(example_with_model(name, office, api)) as agent:
        agent.wait_for("^The tools say: there is no tool no_such_tool and .*greet")
        assert agent.process.wait(PATIENCE) == 0
        assert len([line for line in agent.log if line.startswith("fails: ")]) == 2


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_never_answers_is_given_up(name: str, office: str) -> None:
    plan: list[Round] = [[("greet", {"who": "again"})]] * 50
    with model_api(*plan) as api, contextlib.closing(example_with_model(name, office, api)) as agent:
        agent.wait_for("^No answer after 10 rounds")
        assert agent.process.wait(PATIENCE) == 1
        assert len(api.requests) == 10


@pytest.mark.parametrize("name", MODELS)
def test_ctrl_c_while_the_model_thinks_frees_the_office(name: str, office: str) -> None:
    with model_api() as api, contextlib.closing(example_with_model(name, office, api)) as agent:
        api.may_answer.clear()
        assert api.was_asked.wait(PATIENCE), agent.text
        assert agent.stop(signal.SIGINT) != 0
        assert_office_is_free(office)


def assert_office_is_free(url: str) -> None:
    with SMCPAgentClient.in_office(url, "demo", "next") as agent:
        assert agent.computers == ("my-laptop",)


@pytest.mark.parametrize("name", [*MODELS, "computer_embedded.py"])
def test_without_a_server_it_says_so_in_one_line(name: str) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with model_api() as api, contextlib.closing(example_with_model(name, url, api)) as program:
        program.wait_for(
            f"^cannot reach {url}: connection refused: nothing is listening there .error 503.$", patience=3 * PATIENCE
        )
        assert program.process.wait(PATIENCE) == 1
        assert "Traceback" not in program.text


# ---------------------------------------------------------------------------------------------------- FastAPI and Flask


UVICORN = ["--timeout-graceful-shutdown", "5", "--ws-max-size", "20000000", "--ws-per-message-deflate", "false"]
SERVE = ["-m", "uvicorn", "examples.server_fastapi:app", *UVICORN, "--port"]


@pytest.mark.parametrize("is_program", [True, False], ids=["python", "uvicorn"])
def test_the_server_lives_in_a_fastapi_application(is_program: bool) -> None:
    port = str(free_port())
    arguments = [str(EXAMPLES / "server_fastapi.py")] if is_program else [*SERVE, port]
    env = {"A2C_API_KEY": KEY, "PORT": port, "PYTHON": sys.executable}
    url = f"http://127.0.0.1:{port}"
    with contextlib.closing(LineProcess([sys.executable, *arguments], env=env, cwd=ROOT)) as server:
        server.wait_for("Uvicorn running")
        with computer_process("--url", url, *CONFIG, env=env, cwd=ROOT) as computer:
            computer.wait_for("in office demo")
            computer.wait_for("2 of 2 MCP servers ready")
            assert httpx.get(f"{url}/offices/demo").status_code == 401
            assert httpx.get(f"{url}/offices/demo", headers={"x-api-key": KEY}).json() == ["my-laptop"]
            assert httpx.get(f"{url}/readyz").json() == {"status": "ready"}
            assert a2c("agent", "--url", url, "--office", "demo", "tools").returncode == 3
            tools = a2c("agent", "--url", url, "--office", "demo", "tools", env=env)
            assert "greet" in tools.stdout
            assert server.stop(signal.SIGINT) == 0
            assert "Application shutdown complete." in server.text
            computer.wait_for("lost the connection to the Server")


FLASK = ["-m", "flask", "--app", "examples/agent_flask.py", "run", "--port"]
GUNICORN = ["-m", "gunicorn", "--workers", "1", "--threads", "20", "examples.agent_flask:create_app()", "--bind"]


@pytest.mark.parametrize("is_gunicorn", [False, True], ids=["flask", "gunicorn"])
def test_an_agent_lives_in_a_flask_application(is_gunicorn: bool, office: str) -> None:
    port = free_port()
    arguments = [*GUNICORN, f"127.0.0.1:{port}"] if is_gunicorn else [*FLASK, str(port)]
    with contextlib.closing(LineProcess([sys.executable, *arguments], env={"A2C_URL": office}, cwd=ROOT)) as process:
        process.wait_for("Booting worker" if is_gunicorn else "Running on")
        transport = httpx.HTTPTransport(retries=5)  # a worker of gunicorn listens before it has joined
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, transport=transport) as http:
            assert http.get("/tools").json() == {"my-laptop": ["greet", "write_note"]}
            unknown = http.post("/my-laptop/call/no_such_tool", json={}).json()
            assert unknown.keys() == {"content", "structuredContent", "isError", "meta"}
            with ThreadPoolExecutor(8) as threads:
                answers = list(threads.map(partial(greet, http), range(24)))
            assert answers == [f"hello nr. {number}" for number in range(24)]
            assert http.get("/my-laptop/desktop").json()[0].startswith("window://notes.example/latest")
            [document] = http.get("/my-laptop/documents", params={"keyword": "notes"}).json()
            page = http.get("/my-laptop/read", params={"uri": f"{document['uri']}/pages/0"}).json()
            assert page["elements"][0]["content"] == {"text": "Milk is out."}
            assert http.get("/my-laptop/documents", params={"keyword": "nothing"}).json() == []
            missing = http.get("/my-laptop/read", params={"uri": f"{document['uri']}/pages/99"})
            assert (missing.status_code, missing.json()["code"]) == (404, 4202)
            assert http.get("/nobody/desktop").json() == {"code": 404, "message": "no Computer 'nobody' in this office"}
        assert process.stop(signal.SIGTERM if is_gunicorn else signal.SIGINT) == 0
        assert "Traceback" not in process.text
        assert_office_is_free(office)


def greet(http: httpx.Client, number: int) -> str:
    return http.post("/my-laptop/call/greet", json={"who": f"nr. {number}"}).json()["content"][0]["text"]


# ---------------------------------------------------------------------------------------------------------- MCP servers


def docstring(name: str) -> str:
    return ast.get_docstring(ast.parse((EXAMPLES / name).read_text("utf-8"))) or ""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "some.log"
    file.write_text("".join(f"line {number}\n" for number in range(30)))
    return file


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_shop(tmp_path / "shop.db")


PROMPTS = {
    "notes_server.py": {"call write_note": "^note 2", "desktop": r"Call Ann\.", "read": r"Milk is out\."},
    "windows_server.py": {"add": "✓ +log", "desktop": "line 29"},
    "documents_server.py": {"add": "✓ +tables", "finder": "^orders  sqlite, 3 pages", "read": r"item\|49"},
}


@pytest.mark.parametrize("name", PROMPTS)
def test_what_is_to_be_typed_at_the_prompt_works(
    name: str, tmp_path: Path, log: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    [start] = re.findall(r"^ +a2c (computer --name my-laptop.*)$", docstring(name), re.MULTILINE)
    typed = re.findall(r"^ +my-laptop> (.+)$", docstring(name), re.MULTILINE)
    assert [any(line.startswith(command) for line in typed) for command in PROMPTS[name]] == [True] * len(typed)
    with in_terminal(tmp_path, *start.split(), prompt="my-laptop>", env={"PYTHON": sys.executable}) as shell:
        for line in typed:
            expected = next(text for command, text in PROMPTS[name].items() if line.startswith(command))
            line = line.replace("python ", f"{shlex.quote(sys.executable)} ")
            line = line.replace("/var/log/syslog", str(log)).replace("shop.db", str(shop))
            shell.run(line, expected)
        assert shell.leave() == 0


def test_the_hello_server_greets() -> None:
    [command] = re.findall(r"^ +a2c (.+)$", docstring("hello_server.py"), re.MULTILINE)
    outcome = a2c(*command.split(), cwd=ROOT, env={"PYTHON": sys.executable})
    assert (outcome.returncode, outcome.stdout) == (0, "hello world\n")


@contextlib.contextmanager
def computer_with(url: str, folder: Path, name: str, file: Path) -> Generator[None]:
    """A Computer `pc` in the office `side` that runs one of the examples."""
    config = write_config(folder, {"it": stdio([sys.executable, str(EXAMPLES / name), str(file)])})
    with computer_process("--url", url, "--config", str(config), "--office", "side", "--name", "pc") as computer:
        computer.wait_for("in office side")
        computer.wait_for("1 of 1 MCP servers ready")
        yield


@pytest.mark.anyio
async def test_a_window_shows_the_end_of_a_file_as_it_grows(server: str, tmp_path: Path, log: Path) -> None:
    with computer_with(server, tmp_path, "windows_server.py", log):
        async with AsyncSMCPAgentClient.in_office(server, "side", "agent") as agent:
            [window] = (await agent.get_desktop_from_computer("pc"))["desktops"]
            expected = "".join(f"line {number}\n" for number in range(10, 30))
            assert window == f"window://log.example/end?priority=50\n\n{expected}"
            changes = agent.changes()
            await asyncio.to_thread(append, log, "one more\n")
            async with asyncio.timeout(PATIENCE):
                async for change in changes:
                    [window] = (await agent.get_desktop_from_computer("pc"))["desktops"]
                    if change.kind == "desktop" and window.endswith("line 29\none more\n"):
                        break


def append(file: Path, text: str) -> None:
    with file.open("a") as end:
        end.write(text)


# ----------------------------------------------------------------------------------------------------------- a Computer


EMBEDDED = (sys.executable, str(EXAMPLES / "computer_embedded.py"))
WRITE = ("call", "my-desk", "write_note", "text=Call Ann.")


def test_a_computer_in_a_program_asks_before_a_call_and_leaves_on_ctrl_c(server: str, tmp_path: Path) -> None:
    env = {"A2C_URL": server, "A2C_OFFICE": "desk"}
    command = [sys.executable, "-m", "a2c_smcp.cli", "agent", "--office", "desk", *WRITE]
    with in_terminal(tmp_path, prompt="", program=EMBEDDED, env=env) as desk:
        desk.see("^notes: ready")
        desk.see("^my-desk is in the office desk")
        for key, code, said in (("y", 0, "note 2"), ("", 1, "did not allow")):
            start = desk.mark()
            with contextlib.closing(LineProcess(command, env=env)) as agent:
                desk.see(r"May an Agent call write_note of notes with .*Call Ann.*\? \[y/N\]", start)
                desk.type(key + ENTER)
                agent.wait_for(said)
                assert agent.process.wait(PATIENCE) == code
        children = psutil.Process(desk.process.pid).children(recursive=True)
        with watching([child.pid for child in children]) as watch:
            desk.type(CTRL_C)
            desk.see("my-desk has left")
            desk.see("^notes: stopped")
            assert desk.process.wait(PATIENCE) == 0
            assert "Traceback" not in desk.screen.text
            assert watch.still_alive() == set()


def test_ctrl_c_ends_a_computer_that_waits_for_an_answer(server: str, tmp_path: Path) -> None:
    env = {"A2C_URL": server, "A2C_OFFICE": "desk"}
    with in_terminal(tmp_path, prompt="", program=EMBEDDED, env=env) as desk:
        desk.see("^my-desk is in the office desk")
        command = [sys.executable, "-m", "a2c_smcp.cli", "agent", "--office", "desk", *WRITE]
        with contextlib.closing(LineProcess(command, env=env)) as agent:
            desk.see("May an Agent call")
            desk.type(CTRL_C)
            assert desk.process.wait(PATIENCE) == 0
            assert agent.process.wait(PATIENCE) != 0


# ------------------------------------------------------------------------------------------------------------- the list


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_listed_and_says_how_it_is_run(name: str) -> None:
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert f"[{name}]({name})" in listed
    assert re.search(r"^    \S", docstring(name), re.MULTILINE)


def test_the_commands_of_the_list_are_those_of_the_examples() -> None:
    for command in re.findall(r"\| `(.+)` \|$", (EXAMPLES / "README.md").read_text("utf-8"), re.MULTILINE):
        [name] = re.findall(r"examples/(\w+\.py)", command)
        if name not in ("hello_server.py", "notes_server.py"):
            assert command in docstring(name)
