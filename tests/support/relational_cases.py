"""Patients, visits and items of visits, drawn from a known distribution."""

from __future__ import annotations

import numpy as np
import pandas as pd

CODES = np.array(list("ABCDEF"))
# Of patients and visits; what else visits have is still to be listed.
POLICY = """
version = 1
root = "patients"
[columns]
sensitive = ["ill"]
public = ["age"]
drop = ["sex"]
unit = "patient"
[budget]
at_most = 1.65
at_least = 0.37
[channel]
mechanism = "latent-classes"
[[table]]
name = "visits"
order = "day"
id = "visit"
public = ["code"]
"""


def hospital(n=2000, seed=0, nobody=0):
    """Patients, their visits (codes that stick, dates that ascend), and items of visits."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    patients = pd.DataFrame(
        {
            "patient": [f"old-{i}" for i in rng.permutation(n)],
            "ill": np.where(ill, "yes", "no"),
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    of = np.repeat(np.arange(n), rng.poisson(3 + 2 * ill))
    first = np.append(True, of[1:] != of[:-1])
    shares = np.where(ill[:, None], [5, 3, 1, 1, 1, 1], [2, 2, 2, 2, 2, 1]) / np.where(ill, 12, 11)[:, None]
    code = (rng.random(len(of))[:, None] > shares.cumsum(axis=1)[of]).sum(axis=1).clip(max=5)
    for row in np.flatnonzero(~first & (rng.random(len(of)) < 0.5)):
        code[row] = code[row - 1]
    days = rng.integers(0, 300, n)[of] + np.cumsum(rng.integers(1, 20, len(of)))
    days -= np.repeat(
        days[first] - rng.integers(0, 300, first.sum()), np.diff(np.append(np.flatnonzero(first), len(of)))
    )
    visits = pd.DataFrame(
        {
            "patient": patients["patient"].to_numpy()[of],
            "visit": rng.permutation(len(of)) + 10_000,
            "day": (np.datetime64("2024-01-01") + days).astype("datetime64[s]"),
            "code": CODES[code],
            "cost": rng.integers(1, 40, len(of)) * 5,
        }
    )
    visits.loc[rng.choice(len(visits), nobody, replace=False), "patient"] = None
    of = np.repeat(np.arange(len(visits)), rng.poisson(1, len(visits)))
    items = pd.DataFrame(
        {"visit": visits["visit"].to_numpy()[of], "drug": CODES[(code[of] + rng.integers(0, 2, len(of))) % 6]}
    )
    return {"patients": patients, "visits": visits.sample(frac=1, random_state=seed), "items": items}
