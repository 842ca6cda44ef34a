"""How far the mechanism is from a call, in frames of ours on the stack and in files, by the benchmark of that name."""

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("door", "first", "most", "files"),
    [
        ("fit_transform", "Sanitizer.fit", 5, 41),
        ("release_file", "release_file", 7, 51),
        ("sanitize release", "main", 10, 59),
        ("verify_file", None, 0, 53),  # the channel of the receipt is measured, and nothing designed
        ("to_html", None, 0, 20),
        ("optimal response", None, 0, 20),
    ],
)
def test_the_mechanism_is_near_and_few_files_are_entered(frames, tmp_path, door, first, most, files):
    job = frames.doors(tmp_path)[door]
    job()  # for what is imported and kept at first use
    trace = frames.one_run(job)
    if most:
        assert trace.stack[0].startswith(f"{first} in")
        assert trace.stack[-1].startswith("subset_merging in")
    assert len(trace.stack) <= most, "\n".join(trace.stack)
    assert len(trace.files) <= files, "\n".join(sorted(map(frames.inside, trace.files)))
