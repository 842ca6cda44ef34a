"""Fixtures that the tests of this folder share."""

from __future__ import annotations

import pytest

from sanitize.mechanisms._random_response import compiled as _compiled


@pytest.fixture
def loops():
    """Compiled loops for vertices and for mixtures."""
    pytest.importorskip("numba")
    found = [
        _compiled.loops(f"sanitize.mechanisms._random_response.{name}") for name in ("vertex_loops", "mixture_loops")
    ]
    if None in found:
        pytest.skip("this numba does not take this NumPy")
    return found
