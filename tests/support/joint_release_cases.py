"""What the tests split from joint_release share: tables, releases and oracles."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd

import sanitize as sz
from sanitize.core.budgets import LiftBudget
from sanitize.core.channel._stage import SCALE
from sanitize.transformers import (
    ExponentialChannel,
    GaussianChannel,
    JointRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    Watchdog,
)

KEY = bytes(range(32))


def table(n: int = 1500, seed: int = 0) -> pd.DataFrame:
    """Two sensitive columns, two groups of dependent public ones, kept ones that tell a little."""
    rng = np.random.default_rng(seed)
    ill, rich = rng.integers(0, 2, n), rng.integers(0, 2, n)
    s = 2 * ill + rich
    a = (s + rng.integers(0, 3, n) * (rng.random(n) < 0.8)) % 3
    return pd.DataFrame(
        {
            "ill": ill,
            "rich": np.where(rich, "yes", "no"),
            "a": a,
            "b": np.array(["p", "q", None], object)[(a + (rng.random(n) < 0.5) * rng.integers(0, 3, n)) % 3],
            "c": (s + rng.integers(0, 4, n)) % 4,
            "day": pd.to_datetime("2024-02-28") + pd.to_timedelta(rng.integers(0, 2, n), "D"),
            "k": pd.Categorical(np.array(["x", "y"])[rng.integers(0, 2, n)]),
        }
    )


def joint_release(parts, budget=None, **settings) -> JointRelease:
    budget = sz.LiftBudget(lower=1.2, upper=0.8) if budget is None else budget
    budget = LiftBudget.symmetric(budget) if isinstance(budget, float) else budget
    settings = {"sensitive": ["ill", "rich"], "keep": ["k", "day"], "random_state": 0, **settings}
    return JointRelease(parts, budget, **settings)


PARTS = {
    "merged": [("p", SubsetMerging(LiftBudget.symmetric(0.4), public=["a", "b"])), ("q", SubsetMerging(public="c"))],
    "labels": [("p", SubsetMerging(LiftBudget.symmetric(0.4), public=["a", "b"])), ("q", Watchdog(public="c"))],
    "response": [("p", RandomizedResponse(0.5, public=["a", "b"])), ("q", Watchdog(public="c"))],
    "optimal": [
        ("p", OptimalRandomResponse(LiftBudget.symmetric(0.3), public=["a", "b"])),
        ("q", SubsetMerging(public="c", min_count=40)),
    ],
    "capacity": [("p", ExponentialChannel(0.1, public="a")), ("q", Watchdog(public=["b", "c"]))],
    "noise": [("p", GaussianChannel(0.1, public="a", bounds=(0, 2), step=1)), ("q", Watchdog(public=["b", "c"]))],
    "pooled": [("p", RandomizedResponse(0.4, public=["a", "b"], min_count=200)), ("q", SubsetMerging(public="c"))],
}


def columns_of(parts) -> list[list[str]]:
    return [[part.public] if isinstance(part.public, str) else list(part.public) for _, part in parts]


def rows_of_channel(channel) -> dict:
    """Exact P(y|x) of a chain as {x: {y: Fraction}}; y by number."""
    found = {}
    for x, symbol in enumerate(channel.inputs.symbols):
        distribution = {x: Fraction(1)}
        for stage in channel.stages:
            after: dict[int, Fraction] = {}
            for state, mass in distribution.items():
                for entry in range(stage.indptr[state], stage.indptr[state + 1]):
                    y = int(stage.indices[entry])
                    after[y] = after.get(y, Fraction(0)) + mass * Fraction(int(stage.weights[entry]), SCALE)
            distribution = after
        found[symbol] = distribution
    return found


def exact_distribution(df, sensitive, keep, parts, channels) -> dict[tuple, Fraction]:
    """P(s, (y_1, ..., y_d, k)) by summing over the rows of the table, in fractions."""
    plain = df.astype(object).where(df.notna(), None)
    rows = Counter(
        zip(
            zip(*(plain[name] for name in sensitive), strict=True),
            *(
                zip(*(plain[name] for name in group), strict=True) if len(group) > 1 else plain[group[0]]
                for group in columns_of(parts)
            ),
            zip(*(plain[name] for name in keep), strict=True),
            strict=True,
        )
    )
    kernels = [rows_of_channel(channels[name]) for name, _ in parts]
    distribution: dict[tuple, Fraction] = {}
    for (s, *xs, k), count in rows.items():
        for drawn in itertools.product(*(kernel[x].items() for kernel, x in zip(kernels, xs, strict=True))):
            mass = Fraction(count, len(df)) * math.prod((p for _, p in drawn), start=Fraction(1))
            y = (*(number for number, _ in drawn), k)
            distribution[s, y] = distribution.get((s, y), Fraction(0)) + mass
    return distribution


def figures_of(distribution: dict[tuple, Fraction]) -> dict[str, float]:
    p_s: dict = {}
    p_y: dict = {}
    for (s, y), mass in distribution.items():
        p_s[s] = p_s.get(s, 0) + mass
        p_y[y] = p_y.get(y, 0) + mass
    lifts = {(s, y): distribution.get((s, y), Fraction(0)) / p_s[s] / p_y[y] for s in p_s for y in p_y}
    return {
        "max_log_lift": math.log(max(lifts.values())),
        "min_log_lift": math.log(least) if (least := min(lifts.values())) else -math.inf,
        "mutual_information": sum(float(mass) * math.log(lifts[key]) for key, mass in distribution.items() if mass),
        "n": len(p_y),
    }
