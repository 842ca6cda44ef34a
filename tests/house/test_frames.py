"""How far the mechanism is from a call: frames of ours on the stack, traced by the benchmark of that name."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def frames() -> Any:
    """The benchmark as a module."""
    spec = importlib.util.spec_from_file_location("frames_benchmark", ROOT / "benchmarks" / "frames.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize(
    ("door", "first", "most"),
    [
        ("fit_transform", "Sanitizer.fit", 5),
        ("privatize_parquet", "privatize_parquet", 7),
        ("sanitize release", "main", 10),
    ],
)
def test_the_mechanism_is_near(frames, tmp_path, door, first, most):
    stack = frames.one_run(frames.doors(tmp_path)[door]).stack
    assert stack[0].startswith(f"{first} in")
    assert stack[-1].startswith("subset_merging in")
    assert len(stack) <= most, "\n".join(stack)
