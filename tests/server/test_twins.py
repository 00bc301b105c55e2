"""The async and the sync Server offer the same names with the same signatures."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from a2c_smcp import server

TWINS = [
    (server.SMCPNamespace, server.SyncSMCPNamespace),
    (server.BaseNamespace, server.SyncBaseNamespace),
    (server.AuthenticationProvider, server.SyncAuthenticationProvider),
    (server.DefaultAuthenticationProvider, server.DefaultSyncAuthenticationProvider),
    (server.CredentialAuthenticationProvider, server.CredentialSyncAuthenticationProvider),
    (server.AnonymousAuthenticationProvider, server.AnonymousSyncAuthenticationProvider),
    (type(server.create_app()), type(server.create_wsgi_app())),
]


ONLY_ASYNC = {"lifespan", "startup", "mount"}
"""WSGI has no lifespan, and no other application runs inside: the gateway for MCP hosts is asynchronous."""
CLUSTER = {"redis", "redis_prefix", "lease"}
"""Only an asynchronous Server can be a node of a cluster."""
CONSOLE = {"console", "console_options"}
"""The console holds streams open, too, and looks into offices through the gateway."""
GATEWAY = {"mcp_path", "mcp_options", "mcp_login", "public_url"}
"""The gateway holds streams open and waits for many Computers at once, in the event loop of the Server."""


def public_methods(cls: type) -> dict[str, list[tuple[str, Any, Any]]]:
    """Own public methods, with parameter names, kinds and defaults."""
    return {
        name: [(p.name, p.kind, p.default) for p in inspect.signature(member).parameters.values()]
        for name in dir(cls)
        if not name.startswith("_")
        and name not in ONLY_ASYNC
        and callable(member := getattr(cls, name))
        and str(getattr(member, "__module__", "")).startswith("a2c_smcp")
    }


@pytest.mark.parametrize("twins", TWINS, ids=lambda twins: twins[0].__name__)
def test_twins_have_equal_public_signatures(twins: tuple[type, type]) -> None:
    asynchronous, synchronous = (public_methods(twin) for twin in twins)
    assert asynchronous == synchronous
    assert asynchronous


@pytest.mark.parametrize("twins", [(server.create_app, server.create_wsgi_app)])
def test_factories_take_the_same_options(twins: tuple[Any, Any]) -> None:
    asynchronous, synchronous = (list(inspect.signature(twin).parameters) for twin in twins)
    assert [name for name in asynchronous if name not in CLUSTER | GATEWAY | CONSOLE] == synchronous
    assert set(asynchronous) > CLUSTER | GATEWAY | CONSOLE


@pytest.mark.parametrize("option", sorted(CLUSTER | GATEWAY | CONSOLE))
def test_the_factory_for_threads_rejects_what_only_the_asynchronous_server_has(option: str) -> None:
    create: Any = server.create_wsgi_app
    with pytest.raises(TypeError, match=option):
        create(**{option: None})


@pytest.mark.parametrize(
    ("asynchronous", "synchronous"),
    [
        (server.aget_computers_in_office, server.get_computers_in_office),
        (server.aget_all_sessions_in_office, server.get_all_sessions_in_office),
    ],
)
def test_queries_take_the_same_arguments(asynchronous: Any, synchronous: Any) -> None:
    assert list(inspect.signature(asynchronous).parameters) == list(inspect.signature(synchronous).parameters)
