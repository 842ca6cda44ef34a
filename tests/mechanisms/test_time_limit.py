"""A time limit is by the clock: once it has passed, a search begins nothing long and says what it has."""

from __future__ import annotations

import importlib
import math
from types import SimpleNamespace

import numpy as np
import pytest

import sanitize as sz
from sanitize.core.budgets import Chi2LiftBudget, LDPBudget, LiftBudget, MutualInformationBudget, TotalVariationBudget
from sanitize.core.joint import ContingencyTable
from sanitize.mechanisms import _effort, solve_optimal_random_response, subset_random_response
from sanitize.mechanisms._response_solver import certificate

SOLVER, RESPONSE = "sanitize.mechanisms._response_solver.", "sanitize.mechanisms._random_response."
PROGRAMS = [(SOLVER + name, "solve_batch") for name in ("polytope", "certificate")]
# Of each budget the steps of its search.
SEARCHES = [
    (LiftBudget.symmetric(0.3), {}, PROGRAMS),
    (LDPBudget(0.3), {}, PROGRAMS),
    (TotalVariationBudget(0.01), {}, PROGRAMS),
    (
        MutualInformationBudget(0.005),
        {},
        [(SOLVER + "faces", name) for name in ("Price.descend", "Simplices.halves")],
    ),
    (Chi2LiftBudget(lower=math.inf, upper=0.05), {}, [(RESPONSE + "averaged", "BoundedPrice.descend")]),
    (LiftBudget.symmetric(0.1), {"confidence": 0.9}, [(RESPONSE + "robust_cone", "RobustCone._solve")]),
]
# A batch of boxes is tightened a few times, and so is the one that holds all those that were not reached.
MOST = 14


class Clock:
    """A clock that stands until a step was taken so often, and then is far beyond every limit."""

    def __init__(self, monkeypatch, steps, at):
        self.left, self.after = at, 0
        monkeypatch.setattr(_effort, "time", SimpleNamespace(monotonic=lambda: 0.0 if self.left > 0 else 1e6))
        monkeypatch.setattr(certificate, "_BATCH", 8)
        for module, name in steps:
            owner, _, name = name.rpartition(".")
            place = importlib.import_module(module)
            place = getattr(place, owner) if owner else place
            monkeypatch.setattr(place, name, self.counted(getattr(place, name)))

    def counted(self, step):
        def counting(*args, **settings):
            self.after += self.left <= 0
            self.left -= 1
            return step(*args, **settings)

        return counting


@pytest.mark.parametrize("at", [1, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("budget", "settings", "steps"), SEARCHES, ids=lambda value: str(value)[:40])
def test_after_the_time_is_up_few_steps_are_taken(budget, settings, steps, at, monkeypatch):
    joint = sz.datasets.make_joint(*((14, 4) if steps != PROGRAMS else (30, 6)), random_state=0)
    if settings:
        cells = np.random.default_rng(0).integers(500, 1500, (3, 12))
        frequencies = sz.JointDistribution.from_matrix(cells / cells.sum())
        joint = ContingencyTable(frequencies.sensitive, frequencies.public, cells, int(cells.sum())).to_joint()
    clock = Clock(monkeypatch, steps, at)
    made = solve_optimal_random_response(joint, budget, time_limit=60, **settings)
    assert clock.left <= 0, "the search was over before"
    assert clock.after <= MOST
    assert made.status == "time_limit"
    assert made.utility <= made.bound <= sz.core.measures.entropy(joint.p_x) + 1e-9
    assert budget.excess(joint.push(made.channel)).max() <= 0


def test_blocks_that_the_time_does_not_reach_keep_the_groups_of_a_merging(monkeypatch):
    joint, steps = sz.datasets.make_joint(60, 3, random_state=0), [(SOLVER + "mixture", "mix_all_vertices")]
    clock = Clock(monkeypatch, steps, 2)
    channel = subset_random_response(joint, 0.3, block_size=8, time_limit=60)
    assert (clock.left, clock.after) == (0, 0)
    assert channel.optimality.status == "cut short"
    assert LiftBudget.symmetric(0.3).excess(joint.push(channel)).max() <= 0


def test_parts_of_a_search_have_no_more_time_than_is_left(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_effort, "time", SimpleNamespace(monotonic=lambda: now[0]))
    whole = _effort.Effort(100, 10.0)
    now[0] = 7.0
    parts = [whole.part(share) for share in (0.1, 1.0)]
    assert [part.seconds for part in parts] == [1.0, 3.0]
    now[0] = 12.0
    assert whole.part(0.5).is_late()
    assert whole.left == 0
