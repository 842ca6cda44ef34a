"""What the tests split from ledger share: tables, releases and oracles."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

import sanitize as sz
from sanitize.transformers import (
    RandomizedResponse,
)

WIDE = sz.LiftBudget(lower=math.inf, upper=math.inf)

KEY = bytes(range(32))


def table(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "s": np.array(["u", "v", "w"])[s],
            "a": (s + rng.integers(0, 3, n) * (rng.random(n) < 0.8)) % 3,
            "b": np.array(["p", "q", None], object)[(s + rng.integers(0, 3, n)) % 3],
            "age": np.round(40 + 5 * s + rng.normal(0, 20, n)),
        }
    )


def respond(public="a", eps: float = 0.5, **settings):
    return RandomizedResponse(eps, sensitive="s", public=public, **settings).fit(table())
