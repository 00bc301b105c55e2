"""Imports point one way: smcp, errors, utils <- protocol <- server | agent | computer <- cli; wire <- server;
protocol <- transport <- agent | computer; agent <- gateway <- cli; server | agent | computer | gateway <- console;
console <- cli; errors, utils <- a2c_documents <- cli.

Inside the Computer: config <- mcp <- hosting <- offer <- computer.py <- socketio."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE, DOCUMENTS = ROOT / "a2c_smcp", ROOT / "a2c_documents"
BASE = {"smcp", "errors", "types", "utils", ""}
ALLOWED = {
    "smcp": {"types"},
    "types": set[str](),
    "errors": {"smcp", "types"},
    "utils": {"errors", "smcp", "types"},
    "protocol": BASE,
    "transport": BASE | {"protocol"},
    "wire": {""},
    "server": BASE | {"protocol", "wire"},
    "agent": BASE | {"protocol", "transport"},
    "computer": BASE | {"protocol", "transport"},
    "gateway": BASE | {"protocol", "agent"},
    "console": BASE | {"protocol", "server", "agent", "computer", "gateway"},
    "": {""},
    "cli": BASE | {"protocol", "wire", "server", "agent", "computer", "gateway", "console"},
}
CORE_REFUSES = {"socketio", "engineio", "mcp", "asyncio", "redis", "uvicorn", "threading"}
modules = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Every module name a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path}: a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def part_of(module: str) -> str:
    """`a2c_smcp.server.app` -> `server`; the package itself -> empty."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ALLOWED else ""


@pytest.mark.parametrize("path", modules, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    relative = path.relative_to(PACKAGE).with_suffix("")
    part = part_of("a2c_smcp." + ".".join(relative.parts)) if relative.parts != ("__init__",) else ""
    ours = {part_of(name) for name in imports(path) if name.split(".")[0] == "a2c_smcp"}
    assert ours <= ALLOWED[part] | {part}
    assert part == "cli" or not any(name.startswith("a2c_documents") for name in imports(path))


COMPUTER_LAYERS = ["config", "mcp", "hosting", "offer", "computer", "socketio"]
"""The Computer, from the bottom to the top. Its other modules are old import paths: nothing in a layer imports them."""
TYPES = {"computer": {"a2c_smcp.computer.socketio.client.SMCPComputerClient"}}
"""`Computer.socketio_client` has the type of the layer above; the import is for the type checker only."""


@pytest.mark.parametrize("layer", COMPUTER_LAYERS)
def test_a_layer_of_the_computer_imports_those_below_it(layer: str) -> None:
    folder = PACKAGE / "computer" / layer
    files = sorted(folder.rglob("*.py")) or [folder.with_suffix(".py")]
    assert files[0].exists()
    prefix = "a2c_smcp.computer."
    ours = {name for path in files for name in imports(path) if name.startswith(prefix)} - TYPES.get(layer, set())
    allowed = COMPUTER_LAYERS[: COMPUTER_LAYERS.index(layer) + 1]
    assert [name for name in ours if name.removeprefix(prefix).split(".")[0] not in allowed] == []


@pytest.mark.parametrize("path", sorted(DOCUMENTS.rglob("*.py")), ids=lambda path: str(path.relative_to(DOCUMENTS)))
def test_documents_need_addresses_errors_and_helpers_of_the_protocol(path: Path) -> None:
    ours = {part_of(name) for name in imports(path) if name.split(".")[0] == "a2c_smcp"}
    assert ours <= {"utils", "errors", ""}


DOCUMENT_LAYERS = ("folder", "store", "workers", "recognition", "library", "server")
"""The folders on the way of a page, each of which imports those before it; parsers are loaded by the registry."""


@pytest.mark.parametrize("layer", DOCUMENT_LAYERS)
def test_each_folder_of_the_documents_imports_those_below_it(layer: str) -> None:
    names = {name for path in (DOCUMENTS / layer).glob("*.py") for name in imports(path)}
    imported = {name.split(".")[1] for name in names if name.startswith("a2c_documents.")}
    assert not imported & set(DOCUMENT_LAYERS[DOCUMENT_LAYERS.index(layer) + 1 :])


@pytest.mark.process
def test_the_document_server_starts_without_parsers() -> None:
    check = (
        "import sys, a2c_documents.server.serving;"
        "libraries = {'lxml', 'python_calamine', 'pypdfium2', 'selectolax', 'PIL', 'numpy', 'cv2', 'rapidocr'};"
        "refused = libraries | {'a2c_documents.recognition.rapid', 'a2c_documents.recognition.rules'};"
        "sys.exit(any(m in refused or m.startswith('a2c_documents.parsers.') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


CORES = [path for core in ("protocol", "wire") for path in sorted((PACKAGE / core).glob("*.py"))]


@pytest.mark.parametrize("path", CORES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_core_does_no_io(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & CORE_REFUSES


@pytest.mark.process
def test_the_wire_imports_lightly() -> None:
    check = "import sys, a2c_smcp.smcp; sys.exit(any(m in sys.modules for m in ('pydantic', 'socketio', 'mcp')))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.process
@pytest.mark.parametrize("package", ["agent", "computer", "server"])
def test_a_package_costs_nothing_until_it_is_used(package: str) -> None:
    heavy = ("pydantic", "socketio", "mcp", "aiohttp", "asyncio")
    check = f"import sys, a2c_smcp.{package}; sys.exit(any(m in sys.modules for m in {heavy}))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.process
def test_what_supervises_an_office_leaves_the_libraries_to_its_parts() -> None:
    heavy = ("socketio", "mcp", "uvicorn")
    check = f"import sys, a2c_smcp.cli.up.supervisor; sys.exit(any(m in sys.modules for m in {heavy}))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.process
@pytest.mark.parametrize("module", ["agent.client", "agent.sync_client", "computer.socketio.client", "server.serving"])
def test_libraries_of_a_client_are_imported_when_it_connects(module: str) -> None:
    heavy = ("aiohttp", "requests", "websocket")
    check = (
        f"import sys, a2c_smcp.{module}; early = any(m in sys.modules for m in {heavy});"
        "import engineio.client as sync, engineio.async_client as asynchronous;"
        "sync.requests.Session, sync.websocket.WebSocket, asynchronous.aiohttp.ClientError;"
        f"late = all(m in sys.modules for m in {heavy}); sys.exit(early or not late)"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.process
def test_a_server_that_no_mcp_host_uses_does_without_its_libraries() -> None:
    check = "import sys, a2c_smcp.server.serving; sys.exit(any(m in sys.modules for m in ('mcp', 'starlette', 'jwt')))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize("package", ["agent", "computer", "server"])
def test_every_public_name_is_there_and_no_other(package: str) -> None:
    module = importlib.import_module(f"a2c_smcp.{package}")
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        module.Nonsense  # noqa: B018


def test_the_client_leaves_mcp_to_the_computer() -> None:
    names = {name for path in (PACKAGE / "computer" / "socketio").glob("*.py") for name in imports(path)}
    assert "a2c_smcp.computer.socketio.requests.RequestHandlers" in names
    assert not [
        name for name in names if name.startswith(("mcp", "a2c_smcp.computer.mcp", "a2c_smcp.computer.hosting"))
    ]
