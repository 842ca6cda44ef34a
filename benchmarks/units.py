"""Twelve monthly releases of people whose values change: what all symbols of a person tell together of its secret.

    python benchmarks/units.py                   # 12 months, 20,000 people, 30 % of the values change a month
    python benchmarks/units.py --changing 0.03
    python benchmarks/units.py --values 12       # too many histories for sums: what the people drawn were told

The law is known: a secret of two values, a public value of three, a start that depends on the secret, and changes to
another value as likely as it is at the start. One channel is designed for one month. Its symbols are drawn anew every
month; or kept, one a person and value; or kept, and merged in a month where they would exceed the budget together with
what the person has had released before (`subset_merging` under a budget on P(s|earlier, y)/P(s)). Figures of secrets
are exact: sums over all histories, for all sequences of symbols. With more values they are so for each of the people,
by forward sums over a chain, where values themselves are merged. What is kept is counted from the people drawn.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

import sanitize as sz
from sanitize.accounting import joint_release, permanent_release
from sanitize.measures import entropy

ROUNDING = 1e-9  # nats that every verdict allows
P_S = np.array([0.7, 0.3])
P_X = np.array([[0.44, 0.36, 0.20], [0.27, 0.30, 0.43]])


@dataclass(frozen=True)
class Symbols:
    """P(s, c_t, ..., c_T, what was released before)."""

    law: np.ndarray

    @property
    def now(self) -> np.ndarray:
        """P(s, c_t, what was released before)."""
        return self.law.reshape(*self.law.shape[:2], -1).sum(axis=2)

    def then(self, inside: np.ndarray) -> Symbols:
        """The next month, if this one's symbol is one of these."""
        return Symbols(self.law[:, inside].sum(axis=1))


@dataclass(frozen=True)
class Chain:
    """P(s, x_t, what was released before) of values that change as a chain does, P(x'|s, x)."""

    now: np.ndarray
    step: np.ndarray

    def then(self, inside: np.ndarray) -> Chain:
        """The next month, if this one's value is one of these."""
        return Chain(np.einsum("sx,sxy->sy", self.now[:, inside], self.step[:, inside]), self.step)


@dataclass(frozen=True)
class Referred:
    """A budget on P(s|earlier, y)/P(s), for a law of (S, Y) given what is earlier."""

    inner: sz.LiftBudget
    prior: np.ndarray

    def excess(self, released: sz.JointDistribution) -> np.ndarray:
        """Excess of each symbol of a law of (S, Y)."""
        return self.excess_of(sz.lift(released), released.p_s)

    def excess_of(self, lifts: np.ndarray, p_s: np.ndarray) -> np.ndarray:
        """Excess of each column of lifts."""
        return self.inner.excess_of(lifts * (p_s / self.prior)[:, None], self.prior)

    def risk_of(self, lifts: np.ndarray, p_s: np.ndarray) -> np.ndarray:
        """Risk of each column of lifts."""
        return self.inner.risk_of(lifts * (p_s / self.prior)[:, None], self.prior)


@dataclass
class Merged:
    """Kept symbols of every month, merged where those released before leave a person too little."""

    budget: sz.LiftBudget
    people: np.ndarray  # kept symbols, shape (people, months)
    everybody: bool = True  # every sequence that can be, or those of the people alone
    least: float = 0.0
    largest: float = 0.0
    n_designs: int = 0

    def __post_init__(self) -> None:
        self.labels = np.zeros(self.people.shape, int)
        self.lifts = np.zeros((len(P_S), len(self.people)))

    def release(self, law: Symbols | Chain, people: np.ndarray, t: int = 0) -> None:
        """All that may follow a sequence, and what these people, who have it, are released as."""
        now = law.now
        seen = np.flatnonzero(now.any(axis=0))
        joint = sz.JointDistribution.from_matrix(now[:, seen] / now.sum())
        blocks = np.full(now.shape[1], -1)
        blocks[seen] = sz.subset_merging(joint, Referred(self.budget, P_S)).matrix.argmax(axis=1)
        self.n_designs += 1
        for block in np.unique(blocks[seen]):
            inside = blocks == block
            own = people[inside[self.people[people, t]]]
            if not (len(own) or self.everybody):
                continue
            with np.errstate(divide="ignore"):
                lifts = np.log(now[:, inside].sum(axis=1) / now[:, inside].sum() / P_S)
            self.least, self.largest = min(self.least, lifts.min()), max(self.largest, lifts.max())
            self.labels[own, t] = (1 << np.flatnonzero(inside)).sum()
            if t + 1 < self.people.shape[1]:
                self.release(law.then(inside), own, t + 1)
            else:
                self.lifts[:, own] = lifts[:, None]


def changes(p_x: np.ndarray, changing: float) -> np.ndarray:
    """P(x'|s, x), shape (n_s, n_x, n_x): another value as likely as it is at the start."""
    others = p_x[:, None, :] * (1 - np.eye(p_x.shape[1]))
    return (1 - changing) * np.eye(p_x.shape[1]) + changing * others / others.sum(axis=2, keepdims=True)


def histories(months: int, changing: float) -> tuple[np.ndarray, np.ndarray]:
    """Law P(s, history), and all histories, shape (3^months, months)."""
    n_s, n_x = P_X.shape
    step = changes(P_X, changing)
    law = P_S[:, None] * P_X
    for _ in range(months - 1):
        law = np.einsum("s...x,sxy->s...xy", law, step)
    return law.reshape(n_s, -1), np.indices((n_x,) * months).reshape(months, -1).T


def log_lifts(law: np.ndarray) -> np.ndarray:
    """Of sequences, from P(s, sequence); 0 for those that cannot be."""
    lifts = np.zeros(law.shape)
    seen = law.any(axis=0)
    with np.errstate(divide="ignore"):
        lifts[:, seen] = np.log(law[:, seen] / law[:, seen].sum(axis=0) / P_S[:, None])
    return lifts


def kept(values: np.ndarray, labels: np.ndarray) -> float:
    """I(X_t; label_t) / H(X_t) over the people, mean of the months, less about what chance adds (Miller and Madow)."""
    shares = []
    for x, y in zip(values.T, labels.T, strict=True):
        counts = np.zeros((x.max() + 1, y.max() + 1))
        np.add.at(counts, (x, y), 1)
        counts = counts[:, counts.any(axis=0)]
        joint = sz.JointDistribution.from_matrix(counts / len(x))
        by_chance = (np.count_nonzero(counts) - sum(counts.shape) + 1) / (2 * len(x))
        shares.append((sz.mutual_information(joint) - by_chance) / entropy(joint.p_s))
    return float(np.mean(shares))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--values", type=int, default=P_X.shape[1], help="of the public column")
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--changing", type=float, default=0.3, help="share of the values that change a month")
    parser.add_argument("--budget", type=float, nargs=2, default=(0.4, 0.25), metavar=("LOWER", "UPPER"))
    parser.add_argument(
        "--parts", type=float, nargs="+", default=(np.inf, 1.0, 0.5, 0.25, 0.1), help="of it, for one month"
    )
    given = parser.parse_args()
    budget = sz.LiftBudget(lower=given.budget[0], upper=given.budget[1])
    print(f"budget {budget}; {given.months} months, {given.people} people, {given.changing:g} of the values change")
    if given.values == P_X.shape[1]:
        enumerated(budget, given)
    else:
        followed(budget, given)


def enumerated(budget: sz.LiftBudget, given: argparse.Namespace) -> None:
    """Three values: every history and every sequence of symbols."""
    law, all_histories = histories(given.months, given.changing)
    rng = np.random.default_rng(0)
    chosen = rng.choice(law.size, given.people, p=law.ravel() / law.sum())
    values = all_histories[chosen % law.shape[1]]
    month = sz.JointDistribution.from_matrix(P_S[:, None] * P_X)
    for part in given.parts:
        start, rng = time.process_time(), np.random.default_rng(1)
        q = sz.optimal_random_response(
            month, sz.LiftBudget(lower=part * budget.lower, upper=part * budget.upper)
        ).matrix
        shape = (q.shape[1],) * given.months
        permanent = permanent_release(law, all_histories, q)
        cells = np.zeros((len(P_S), *shape))
        cells[:, *np.array(permanent.public.symbols).T] = permanent.pmf
        anew = joint_release(law.reshape(len(P_S), *(P_X.shape[1],) * given.months), [q] * given.months)
        fresh = np.zeros((len(P_S), *shape))
        fresh[:, *np.array(anew.public.symbols).T] = anew.pmf
        drawn = {
            "anew": (q.cumsum(axis=1)[values] < rng.random((*values.shape, 1))).sum(axis=2),
            "kept": np.take_along_axis(
                (q.cumsum(axis=1) < rng.random((given.people, *q.shape[:1], 1))).sum(axis=2), values, axis=1
            ),
        }
        print(f"a month within {part:g} of it: {np.round(q, 3).tolist()}")
        for name, own in (("anew", fresh), ("kept", cells)):
            lifts = log_lifts(own.reshape(len(P_S), -1))
            of_people = lifts[:, np.ravel_multi_index(drawn[name].T, shape)]
            say(name, lifts.min(), lifts.max(), of_people, budget, kept(values, drawn[name]))
        merged = Merged(budget, drawn["kept"])
        merged.release(Symbols(cells), np.arange(given.people))
        say("merged", merged.least, merged.largest, merged.lifts, budget, kept(values, merged.labels))
        whole = (merged.labels == 1 << drawn["kept"]).mean()
        print(
            f"  {whole:.0%} of the kept symbols are released as they are; {merged.n_designs} designs; "
            f"{time.process_time() - start:.0f} s",
            flush=True,
        )


def followed(budget: sz.LiftBudget, given: argparse.Namespace) -> None:
    """More values: what each of the people was told, exactly."""
    start, rng = time.process_time(), np.random.default_rng(0)
    frequent, tilt = (
        1 / np.arange(2, given.values + 2),
        np.linspace(-0.3, 0.3, given.values)[rng.permutation(given.values)],
    )
    p_x = np.stack([frequent * np.exp(sign * tilt) for sign in (1, -1)])
    p_x /= p_x.sum(axis=1, keepdims=True)
    step, month = changes(p_x, given.changing), P_S[:, None] * p_x

    def draw(chances: np.ndarray) -> np.ndarray:
        return (chances.cumsum(axis=-1) < rng.random((*chances.shape[:-1], 1))).sum(axis=-1).clip(max=given.values - 1)

    s = draw(np.broadcast_to(P_S, (given.people, len(P_S))))
    values = [draw(p_x[s])]
    while len(values) < given.months:
        values.append(draw(step[s, values[-1]]))
    q = sz.optimal_random_response(sz.JointDistribution.from_matrix(month), budget).matrix
    anew, told = [], np.broadcast_to(month, (given.people, *month.shape))
    for t, x in enumerate(values):
        anew.append(draw(q[x]))
        told = (np.einsum("psx,sxy->psy", told, step) if t else told) * q.T[anew[-1]][:, None, :]
        told = told / told.sum(axis=(1, 2), keepdims=True)
    lifts = np.log(told.sum(axis=2) / P_S).T
    say("anew", lifts.min(), lifts.max(), lifts, budget, kept(np.array(values).T, np.array(anew).T))
    merged = Merged(budget, np.array(values).T, everybody=False)
    merged.release(Chain(month, step), np.arange(given.people))
    labels = np.unique(merged.labels, return_inverse=True)[1].reshape(merged.labels.shape)
    say("merged", merged.least, merged.largest, merged.lifts, budget, kept(merged.people, labels))
    print(f"  {merged.n_designs} designs; {time.process_time() - start:.0f} s", flush=True)


def say(name: str, least: float, largest: float, people: np.ndarray, budget: sz.LiftBudget, share: float) -> None:
    """One line: of all sequences, and of the people."""
    over = ((people < -budget.lower - ROUNDING) | (people > budget.upper + ROUNDING)).any(axis=0).mean()
    print(
        f"  {name:6} log-lift {least:7.3f} to {largest:6.3f}, of people {people.min():7.3f} to {people.max():6.3f}, "
        f"{over:7.2%} over; keeps {share:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
