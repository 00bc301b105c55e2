"""The conformance tests run against each form of the Server, and against three nodes with scattered members."""

from __future__ import annotations

import pytest

from tests.support.running import Kind


@pytest.fixture(params=["async", "sync", "cluster"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param
