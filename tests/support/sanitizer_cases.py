"""What the tests split from sanitizer share: tables, releases and oracles."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

import sanitize as sz
from sanitize.transformers import RandomizedResponse, SubsetMerging, Watchdog

MERGING = [Watchdog, SubsetMerging]

ALL = [*MERGING, RandomizedResponse]

S = ["illness", "rich"]

X = ["town", "job"]


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Two sensitive columns, two public ones that tell about them, and a number."""
    rng = np.random.default_rng(seed)
    illness = rng.choice(["flu", "none", "cancer"], n, p=[0.3, 0.6, 0.1])
    town = np.where(rng.random(n) < 0.3, np.where(illness == "flu", "A", "B"), rng.choice(list("ABCDEF"), n))
    rich = rng.random(n) < 0.4
    job = np.where(rich & (rng.random(n) < 0.5), "distribution", rng.choice(["distribution", "shop", "farm"], n))
    age = rng.integers(18, 80, n) + 5 * (illness == "cancer")
    return pd.DataFrame({"town": town, "job": job, "age": age, "illness": illness, "rich": rich})


DF = people()

LIP = sz.LiftBudget(lower=math.inf, upper=1.2)


def released_distribution(sanitizer, df, sensitive, public, weights=None) -> tuple[np.ndarray, np.ndarray]:
    """P(s, y) and P(s) from a pandas crosstab and the channel's matrix, by code of its own."""
    index = df[sensitive].astype(object).apply(lambda row: repr(tuple(row)), axis=1)
    columns = df[public].astype(object).apply(lambda row: repr(tuple(row)), axis=1)
    values = np.ones(len(df)) if weights is None else np.asarray(weights, float)
    counts = pd.crosstab(index, columns, values=values, aggfunc="sum").fillna(0.0)
    known = sanitizer.channel_.inputs.symbols
    order = [repr(symbol if isinstance(symbol, tuple) else (symbol,)) for symbol in known]
    p_sx = counts[order].to_numpy() / values.sum()
    p_sy = p_sx @ sanitizer.channel_.matrix
    return p_sy[:, p_sy.sum(axis=0) > 0], p_sx.sum(axis=1)


def violation(budget, p_sy, p_s) -> float:
    """How far a released distribution exceeds a budget, from the definitions, as a share of what is allowed."""
    lifts = p_sy / p_s[:, None] / p_sy.sum(axis=0)
    with np.errstate(divide="ignore"):
        inverse, logs = 1 / lifts, np.log(lifts)
    name = type(budget).__name__
    prior = p_s[:, None]

    def over(value, bound):
        return -math.inf if math.isinf(bound) else float(np.max(value)) - bound

    if name == "LDPBudget":
        return over(logs.max(axis=0) - logs.min(axis=0), budget.eps)
    if name == "LiftBudget":
        return max(over(logs.max(axis=0), budget.upper), over(-logs.min(axis=0), budget.lower))
    e_u, e_l = math.exp(budget.upper), math.exp(budget.lower)
    if name == "L1LiftBudget":
        return max(
            over((prior * abs(lifts - 1)).sum(axis=0), e_u - 1),
            over((prior * abs(inverse - 1)).sum(axis=0), e_l - 1),
        )
    if name == "Chi2LiftBudget":
        return max(
            over((prior * (lifts - 1) ** 2).sum(axis=0), (e_u - 1) ** 2),
            over((prior * (inverse - 1) ** 2).sum(axis=0), (e_l - 1) ** 2),
        )
    assert name == "AlphaLiftBudget"
    if math.isinf(budget.alpha):
        return max(over(lifts, e_u), over(inverse, e_l))
    a = budget.alpha
    return max(
        over((prior * lifts**a).sum(axis=0) ** (1 / a), e_u),
        over((prior * inverse**a).sum(axis=0) ** (1 / a), e_l),
    )
