"""Fixtures: the seats of all versions, and our Servers."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.interop.places import Places


@pytest.fixture(scope="session")
def places() -> Generator[Places]:
    """The Servers and seats that the tests of this process share."""
    with Places() as places:
        yield places
