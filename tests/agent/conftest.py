"""Every scenario of the Agent is played by both forms."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.support.agents import Form, Stage, stage


@pytest.fixture(params=["async", "sync"])
def form(request: pytest.FixtureRequest) -> Form:
    return request.param


@pytest.fixture
async def scene(form: Form) -> AsyncGenerator[Stage]:
    async with stage(form) as scene:
        yield scene
