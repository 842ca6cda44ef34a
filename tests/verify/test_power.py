"""The benchmark that says how small a share of a fault is caught: honest rows pass in it, and gross faults do not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import verify_power as power


@pytest.mark.parametrize("mechanism", power.MECHANISMS)
def test_what_is_written_anew_without_a_fault_passes(mechanism):
    assert power.control(mechanism, 400)


@pytest.mark.parametrize("fault", ["copies of one row", "a value never printed"])
def test_a_gross_fault_is_caught(fault):
    assert power.smallest("randomized response", fault, 1000, 1) != "-"
