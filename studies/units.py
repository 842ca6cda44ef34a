"""Twelve monthly releases of people whose values change: what all that a person was released tells of its secret.

    python studies/units.py                   # 12 months, 20,000 people; 30 % and 3 % of the values change a month
    python studies/units.py --months 24 --changing 0.03

The distribution is known: a secret of two values, a public value of three or twelve, a start that depends on the
secret, and changes to another value as likely as it is at the start. The same tables are released month by month by one
channel (the optimal random response for one month within the budget), its symbols drawn anew every month, or kept, one
a person and value; and through a unit ledger. What the symbols of the channel tell together is exact under the known
distribution, for each person, by forward sums over the chain, of what is kept by enumeration of all histories (three
values). What the ledger's releases tell is exact by counting the people; beside it stands what they tell under the
known distribution, which the ledger does not know and does not promise.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import sanitize as sz
from sanitize.core.measures import entropy
from sanitize.over_time import UnitLedger
from sanitize.over_time._unit_book import UnitBook
from sanitize.theory.accounting import permanent_release

ROUNDING = 1e-9  # nats that every verdict allows
P_S = np.array([0.7, 0.3])
P_X = np.array([[0.44, 0.36, 0.20], [0.27, 0.30, 0.43]])


def distribution_of(values: int) -> np.ndarray:
    """P(x|s) at the start, shape (n_s, n_x)."""
    if values == P_X.shape[1]:
        return P_X
    frequent = 1 / np.arange(2, values + 2)
    tilt = np.linspace(-0.3, 0.3, values)[np.random.default_rng(0).permutation(values)]
    p_x = np.stack([frequent * np.exp(sign * tilt) for sign in (1, -1)])
    return p_x / p_x.sum(axis=1, keepdims=True)


def changes(p_x: np.ndarray, changing: float) -> np.ndarray:
    """P(x'|s, x), shape (n_s, n_x, n_x): another value as likely as it is at the start."""
    others = p_x[:, None, :] * (1 - np.eye(p_x.shape[1]))
    return (1 - changing) * np.eye(p_x.shape[1]) + changing * others / others.sum(axis=2, keepdims=True)


def drawn(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A number for each row of chances."""
    return (chances.cumsum(axis=-1) < rng.random((*chances.shape[:-1], 1))).sum(axis=-1).clip(max=chances.shape[-1] - 1)


def people_of(p_x: np.ndarray, step: np.ndarray, n: int, months: int) -> tuple[np.ndarray, np.ndarray]:
    """Secrets (n,), and values (months, n)."""
    rng = np.random.default_rng(0)
    s = drawn(np.broadcast_to(P_S, (n, len(P_S))), rng)
    values = [drawn(p_x[s], rng)]
    while len(values) < months:
        values.append(drawn(step[s, values[-1]], rng))
    return s, np.array(values)


def kept(values: np.ndarray, released: np.ndarray) -> np.ndarray:
    """I(X_t;Y_t) / H(X_t) over the people, of each month, less about what chance adds (Miller and Madow)."""
    shares = []
    for x, y in zip(values, released, strict=True):
        counts = np.zeros((x.max() + 1, y.max() + 1))
        np.add.at(counts, (x, y), 1)
        counts = counts[:, counts.any(axis=0)]
        joint = sz.JointDistribution.from_matrix(counts / len(x))
        by_chance = (np.count_nonzero(counts) - sum(counts.shape) + 1) / (2 * len(x))
        shares.append((sz.mutual_information(joint) - by_chance) / entropy(joint.p_s))
    return np.array(shares)


def lifts_anew(month: np.ndarray, step: np.ndarray, q: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """Log-lifts of each person's symbols where all are drawn anew, shape (n_s, n), by forward sums."""
    told = np.broadcast_to(month, (symbols.shape[1], *month.shape))
    for t, y in enumerate(symbols):
        told = (np.einsum("psx,sxy->psy", told, step) if t else told) * q.T[y][:, None, :]
        told = told / told.sum(axis=(1, 2), keepdims=True)
    return np.log(told.sum(axis=2) / P_S).T


def lifts_kept(month: np.ndarray, step: np.ndarray, q: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """The same where they are kept: all histories, and all sequences of symbols."""
    months, (n_s, n_x) = len(symbols), month.shape
    distribution = month
    for _ in range(months - 1):
        distribution = np.einsum("s...x,sxy->s...xy", distribution, step)
    told = permanent_release(distribution.reshape(n_s, -1), np.indices((n_x,) * months).reshape(months, -1).T, q)
    cells = np.zeros((n_s, *(q.shape[1],) * months))
    cells[:, *np.array(told.public.symbols).T] = told.pmf
    own = cells[:, *symbols]
    with np.errstate(divide="ignore"):
        return np.log(own / own.sum(axis=0) / P_S[:, None])


def by_unit(
    s: np.ndarray,
    values: np.ndarray,
    month: np.ndarray,
    step: np.ndarray,
    budget: sz.LiftBudget,
    confidence: float | None = None,
) -> None:
    """Release through a ledger, and print what it told by counting and under the known distribution."""
    start = time.process_time()
    n, everybody = values.shape[1], np.arange(values.shape[1])
    group, told = np.zeros(n, int), {0: month}
    released = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = UnitLedger(Path(folder) / "people.units", budget, unit="person", confidence=confidence)
        for t, x in enumerate(values):
            table = pd.DataFrame({"person": everybody, "secret": s, "value": x})
            whole = sz.SubsetMerging(sz.LiftBudget.symmetric(100.0), sensitive="secret", public="value").fit(table)
            released.append(ledger.release(table, whole)["value"].to_numpy())
            now = UnitBook.read(ledger.path).group
            before = {g: np.einsum("sx,sxy->sy", state, step) if t else state for g, state in told.items()}
            told = {}
            for g, after in set(zip(group.tolist(), now.tolist(), strict=True)):
                inside = np.ones(month.shape[1], bool)
                if after != g:
                    inside[:] = False
                    inside[x[(group == g) & (now == after)]] = True
                told[after] = before[g] * inside
            group = now
        report = ledger.report()
    own = np.stack([np.log(told[g].sum(axis=1) / told[g].sum() / P_S) for g in group.tolist()], axis=1)
    say(
        "by unit" if confidence is None else f"  {confidence:g}",
        report.least_log_lift,
        report.largest_log_lift,
        0.0 if report.ok else 1.0,
        kept(values, np.array(released)),
    )
    print(
        f"    under the known distribution {own.min():.2f} to {own.max():.2f}, {over(own, budget):.2%} over; "
        f"{report.n_groups} groups; {time.process_time() - start:.1f} s",
        flush=True,
    )


def over(lifts: np.ndarray, budget: sz.LiftBudget) -> float:
    """Share of the people whose log-lifts are over the budget."""
    return float(((lifts < -budget.lower - ROUNDING) | (lifts > budget.upper + ROUNDING)).any(axis=0).mean())


def say(name: str, least: float, largest: float, share: float, shares: np.ndarray) -> None:
    """One line."""
    print(
        f"  {name:8} log-lift {least:6.2f} to {largest:5.2f}, {share:7.2%} over; keeps {shares[0]:.2f} in the first "
        f"month, {shares[-1]:.2f} in the last, {shares.mean():.2f} in the mean",
        flush=True,
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--values", type=int, nargs="+", default=(3, 12), help="of the public column")
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--changing", type=float, nargs="+", default=(0.3, 0.03), help="share of the values, a month")
    parser.add_argument("--budget", type=float, nargs=2, default=(0.4, 0.25), metavar=("LOWER", "UPPER"))
    parser.add_argument("--confidence", type=float, default=0.95, help="of the second unit ledger")
    given = parser.parse_args()
    budget = sz.LiftBudget(lower=given.budget[0], upper=given.budget[1])
    print(f"budget {budget}; {given.months} months, {given.people} people")
    for n_x in given.values:
        for changing in given.changing:
            print(f"{n_x} values, {changing:g} of them change a month")
            p_x = distribution_of(n_x)
            month, step = P_S[:, None] * p_x, changes(p_x, changing)
            s, values = people_of(p_x, step, given.people, given.months)
            q = sz.optimal_random_response(sz.JointDistribution.from_matrix(month), budget).matrix
            rng = np.random.default_rng(1)
            anew = drawn(q[values], rng)
            once = np.take_along_axis(drawn(np.broadcast_to(q, (given.people, *q.shape)), rng), values.T, axis=1).T
            ways = {"anew": (anew, lifts_anew)}
            if n_x == P_X.shape[1]:
                ways["kept"] = (once, lifts_kept)
            for name, (symbols, lifts_of) in ways.items():
                lifts = lifts_of(month, step, q, symbols)
                say(name, lifts.min(), lifts.max(), over(lifts, budget), kept(values, symbols))
            for confidence in (None, given.confidence):
                by_unit(s, values, month, step, budget, confidence)


if __name__ == "__main__":
    main()
