"""Fixtures that the tests of this folder share."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread():
    """Many small fits: threads that wait for each other would take most of the time."""
    with threadpool_limits(1):
        yield
