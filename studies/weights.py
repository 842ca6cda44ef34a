"""How often channels designed on weighted samples break their budget in the population, and what they keep.

    python studies/weights.py                                        # the tables of weights.md
    python studies/weights.py --runs 40 --mechanism "subset merging"

The population is a bundled table, drawn from with replacement in two strata, half of the rows from the small one, so
that a row has the weight of its stratum. Each sample is designed for in three ways: with its rows as they are (weights
ignored), with Clopper-Pearson intervals of as many rows as its effective size says (Kish: the square of the sum of the
weights over the sum of their squares, a cluster counting as one row), and with `ConfidenceSet.weighted`. A run is over
budget when any released symbol is, by more than 1e-9 nats in the population; a set misses when it does not hold the
population. NMI is I(X;Y)/H(X) in the population. Of the last population clusters of 12 rows are drawn, of which the
first way knows nothing. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import multiprocessing
from functools import cache, partial

import numpy as np

import sanitize as sz
from sanitize.core.confidence import ConfidenceSet, clopper_pearson, level_of_each
from sanitize.core.confidence._boxes import total_variation_radius

MECHANISMS = {"watchdog": sz.watchdog, "subset merging": sz.subset_merging}
BUDGETS = {
    "1/1": sz.LiftBudget(lower=1.0, upper=1.0),
    "1/0.5": sz.LiftBudget(lower=1.0, upper=0.5),
    "0.5/0.5": sz.LiftBudget(lower=0.5, upper=0.5),
}
WAYS = ["weights ignored", "effective size", "weighted set"]
OVER = 1e-9


@cache
def populations() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
    """Codes of S and X and stratum of each row of a population, and how many rows a cluster has."""
    rng = np.random.default_rng(0)
    people, heart = sz.datasets.load_survey(), sz.datasets.load_framingham()
    ill = (people["depression"] == "yes").to_numpy().astype(int)
    work = people.groupby(["occupation", "shifts", "sex"]).ngroup().to_numpy()
    sick = (people["sick_days"] > 10).to_numpy().astype(int)
    listed = (rng.random(len(ill)) < np.where(ill, 0.8, 0.01)).astype(int)
    disease = (heart["heart_disease"] == "Yes").to_numpy().astype(int)
    risk = heart.groupby(["cholesterol", "blood_pressure"]).ngroup().to_numpy()
    pressure = heart["blood_pressure"].isin([">=167", "147-166"]).to_numpy().astype(int)
    many = np.repeat(np.arange(len(heart)), 20)  # clusters are of one stratum, and alike in both X and S
    wards = many[np.lexsort((risk[many] + 4 * disease[many] + rng.normal(0, 6, len(many)), pressure[many]))]
    return {
        "survey, strata by sick days": (ill, work, sick, 1),
        "survey, strata by a list of the ill": (ill, work, listed, 1),
        "framingham, strata by blood pressure": (disease, risk, pressure, 1),
        "framingham, strata by the disease": (disease, risk, disease, 1),
        "framingham, clusters that are alike": (disease[wards], risk[wards], pressure[wards], 12),
    }


def effective(counts: np.ndarray, n: float, confidence: float) -> ConfidenceSet:
    """The set that so many independent rows with these frequencies would give, if it were known to hold for them."""
    cells = counts / counts.sum() * n
    rows, level = cells.sum(axis=1), level_of_each(*cells.shape, confidence)
    given, prior = clopper_pearson(cells, rows[:, None], level), clopper_pearson(rows, rows.sum(), level)
    joint = sz.JointDistribution.from_matrix(cells / n)
    distance = total_variation_radius(cells.shape[1], rows, level)
    center = cells / rows[:, None]
    return ConfidenceSet(center, *given, distance, *prior, cells, confidence, joint.sensitive, joint.public)


def run(seed: int, name: str, n: int, mechanism: str, budget: str, confidence: float) -> np.ndarray:
    """Violated, missed and NMI of each way; shape (3, 3)."""
    s, x, stratum, size = populations()[name]
    rng = np.random.default_rng([seed, n])
    within, drawn, weights, clusters = [], [], [], []
    for h in (0, 1):
        first = np.flatnonzero(stratum == h)[::size]
        first = first[: len(first) - (size > 1)]  # the last cluster may reach into the other stratum
        chosen = rng.choice(first, n // 2 // size)
        within.append((first[:, None] + np.arange(size)).ravel())
        drawn.append((chosen[:, None] + np.arange(size)).ravel())
        clusters.append(np.repeat(h * n + np.arange(len(chosen)), size))
        weights.append(np.full(drawn[-1].size, len(first) / len(chosen)))
    everybody, rows, w, c = map(np.concatenate, (within, drawn, weights, clusters))
    whole, counts = np.zeros((2, 2, x.max() + 1))
    np.add.at(whole, (s[everybody], x[everybody]), 1.0)
    np.add.at(counts, (s[rows], x[rows]), w)
    seen = counts.sum(axis=0) > 0
    truth = sz.JointDistribution.from_matrix(whole[:, seen] / whole[:, seen].sum())
    plain = np.zeros_like(counts)
    np.add.at(plain, (s[rows], x[rows]), 1.0)
    df = {"s": s[rows], "x": x[rows]}
    sets = (
        effective(plain[:, seen], len(rows), confidence),
        effective(counts[:, seen], w.sum() ** 2 / (np.bincount(c, w) ** 2).sum(), confidence),
        ConfidenceSet.weighted(
            df,
            "s",
            "x",
            w,
            clusters=c if size > 1 else None,
            largest_total=size * w.max() if size > 1 else None,
            confidence=confidence,
        ),
    )
    found = []
    for distributions in sets:
        joint = sz.JointDistribution.from_matrix(distributions.counts / distributions.counts.sum())
        channel = MECHANISMS[mechanism](joint, BUDGETS[budget], confidence=distributions)
        excess = BUDGETS[budget].excess(truth.push(channel)).max()
        found.append((excess > OVER, not distributions.contains(truth), sz.normalized_utility(truth, channel)))
    return np.array(found, float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[6000, 24000])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--mechanism", choices=MECHANISMS, default="watchdog")
    parser.add_argument("--budget", choices=BUDGETS, default="1/0.5")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    print(f"| population | n | {' | '.join(f'{way}: over budget, missed, NMI' for way in WAYS)} |")
    print("|---" * (2 + len(WAYS)) + "|")
    with multiprocessing.Pool(given.jobs) as pool:
        for name in populations():
            for n in given.rows:
                task = partial(
                    run, name=name, n=n, mechanism=given.mechanism, budget=given.budget, confidence=given.confidence
                )
                found = np.array(pool.map(task, range(given.runs), chunksize=1))
                cells = [
                    f"{over:.0f}, {missed:.0f}, {kept:.3f}"
                    for over, missed, kept in zip(*found.sum(axis=0).T[:2], found[:, :, 2].mean(axis=0), strict=True)
                ]
                print(f"| {name} | {n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
