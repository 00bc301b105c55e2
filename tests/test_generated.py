"""The blocking clients are made from the asynchronous ones, so that the two cannot drift apart."""

from __future__ import annotations

import inspect

import pytest

from a2c_smcp.agent import AsyncSMCPAgentClient, SMCPAgentClient
from scripts.generate_sync import PAIRS, ROOT, Pair, generate


@pytest.mark.process
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.target)
def test_a_generated_file_is_what_its_source_gives(pair: Pair) -> None:
    committed = (ROOT / pair.target).read_text("utf-8")
    assert committed == generate(pair), "run python -m scripts.generate_sync"
    assert committed.splitlines()[0].startswith(f"# Generated from {pair.source}")


def test_both_forms_of_the_agent_have_the_same_methods_with_the_same_parameters() -> None:
    names = [name for name, _ in inspect.getmembers(AsyncSMCPAgentClient, inspect.isfunction) if name[0] != "_"]
    ours = [name for name in names if getattr(AsyncSMCPAgentClient, name).__module__.startswith("a2c_smcp.")]
    assert len(ours) > 20
    for name in ours:
        parameters = inspect.signature(getattr(AsyncSMCPAgentClient, name)).parameters
        assert inspect.signature(getattr(SMCPAgentClient, name)).parameters == parameters
