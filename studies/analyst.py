"""How often the intervals of `sanitize.auditing.analyze` cover the truth, beside those of released rows taken as data.

    OMP_NUM_THREADS=1 python studies/analyst.py --runs 1000      # the table of analyst.md

Each run draws rows from a known distribution, designs a channel on them, draws a release, and asks for the shares of
towns, for the mean number of rooms of owners and others, and for the logistic regression of owning on rooms and town.
Truth is the distribution. ``covered`` is the share of 95 % intervals that hold it, over runs and estimates; ``least``
and ``most`` are those of single estimates. ``as data`` treats released rows as rows of the source. ``told`` is the
share of runs whose channel tells apart what the question needs; only they count. A table gives merged cells as one,
whose truth is their sum. `coverage` returns the same as a DataFrame.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import expit

import sanitize as sz
from sanitize.core.alphabet import Alphabet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sanitize.auditing.analyze import Estimates

TOWNS = ("A", "B", "C")
TOWN_SHARES = (0.5, 0.3, 0.2)
OWNS = ("no", "yes")
ROOMS = (1, 2, 3, 4)
INTERCEPT, ROOM, TOWN = -1.0, 0.5, (0.0, 0.7, -0.4)
SYMBOLS = Alphabet(("town", "owns"), [(town, owns) for town in TOWNS for owns in OWNS])
# What rounding leaves of the error of an estimate that has none, such as the share of all towns merged.
ROUNDING = 1e-9


def _keeping(joint: sz.JointDistribution) -> sz.Channel:
    return sz.optimal_random_response(joint, 0.4, keep_margin=True)


MECHANISMS: Mapping[str, Callable[[sz.JointDistribution], sz.Channel]] = {
    "randomized response, 2.0": lambda _: sz.randomized_response(len(SYMBOLS), 2.0),
    "exponential channel, 1.0": lambda _: sz.exponential_channel(len(SYMBOLS), capacity=1.0),
    "optimal random response, 0.4": lambda joint: sz.optimal_random_response(joint, 0.4),
    "the same, margin kept": _keeping,
    "subset merging, 0.4": lambda joint: sz.subset_merging(joint, 0.4),
}


def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Illness, public symbol and rooms of rows: owning follows the model, illness leaks through town and owning."""
    town, rooms = rng.choice(len(TOWNS), n, p=TOWN_SHARES), rng.choice(ROOMS, n)
    owns = rng.random(n) < expit(INTERCEPT + ROOM * rooms + np.array(TOWN)[town])
    ill = rng.random(n) < 0.15 + 0.2 * (town == 1) + 0.15 * owns
    return ill.astype(int), 2 * town + owns, rooms


def released(
    n: int, design: Callable[[sz.JointDistribution], sz.Channel], seed: Sequence[int]
) -> tuple[pa.Table, sz.Channel]:
    """One simulated release, and the channel it went through."""
    rng = np.random.default_rng(seed)
    ill, public, rooms = draw(n, rng)
    counts = np.zeros((2, len(SYMBOLS)))
    np.add.at(counts, (ill, public), 1)
    channel = design(sz.JointDistribution.from_matrix(counts / n))
    outputs = SYMBOLS if channel.n_outputs == len(SYMBOLS) else None
    channel = channel.renamed(inputs=SYMBOLS, outputs=outputs)
    columns = channel.outputs.decode(channel.sample(public, rng.bytes(32)))
    return pa.table({**columns, "rooms": rooms}), channel


def truths() -> dict[str, dict[str, float]]:
    """Every figure under the distribution."""
    cells = [(town, rooms) for town in range(len(TOWNS)) for rooms in ROOMS]
    share = np.array([TOWN_SHARES[town] / len(ROOMS) for town, _ in cells])
    rooms = np.array([rooms for _, rooms in cells])
    owning = expit(INTERCEPT + ROOM * rooms + np.array([TOWN[town] for town, _ in cells]))
    return {
        "table": dict(zip(TOWNS, TOWN_SHARES, strict=True)),
        "mean": {
            name: float(share * p @ rooms / (share @ p)) for name, p in zip(OWNS, (1 - owning, owning), strict=True)
        },
        "logistic": {"(intercept)": INTERCEPT, "rooms": ROOM, "town=B": TOWN[1], "town=C": TOWN[2]},
    }


QUESTIONS: Mapping[str, Callable[[pa.Table, sz.Channel], Estimates]] = {
    "table": lambda rows, channel: sz.auditing.analyze.table(rows, channel, "town"),
    "mean": lambda rows, channel: sz.auditing.analyze.mean(rows, channel, "rooms", by="owns"),
    "logistic": lambda rows, channel: sz.auditing.analyze.logistic(rows, channel, "owns", ["rooms", "town"]),
}


def answer(question: str, rows: pa.Table, channel: sz.Channel) -> Estimates | None:
    """Estimates, or None where the channel does not tell apart what the question needs."""
    try:
        found = QUESTIONS[question](rows, channel)
    except sz.errors.InvalidParameter:
        return None
    return None if question == "mean" and len(found.names) < len(OWNS) else found


def held(found: Estimates, truth: Mapping[str, float]) -> dict[str, bool]:
    """Whether each interval holds the truth; that of merged cells is the sum of theirs; all merged are left out."""
    right = [sum(truth[part] for part in name.strip("{}").split(", ")) for name in found.names]
    inside = (found.low <= right) & (right <= found.high)
    return {
        name: bool(holds)
        for name, holds, error in zip(found.names, inside, found.standard_error, strict=True)
        if error > ROUNDING
    }


def coverage(mechanism: str, n: int, runs: int) -> pd.DataFrame:
    """One row a question; see the module's docstring."""
    right, untouched = truths(), sz.Channel.identity(1)
    counted: dict[str, list[dict[str, bool]]] = {question: [] for question in QUESTIONS}
    as_data: dict[str, list[dict[str, bool]]] = {question: [] for question in QUESTIONS}
    for run in range(runs):
        rows, channel = released(n, MECHANISMS[mechanism], (run, n))
        for question in QUESTIONS:
            if (found := answer(question, rows, channel)) is None:
                continue
            counted[question].append(held(found, right[question]))
            if channel.outputs is SYMBOLS and (naive := answer(question, rows, untouched)) is not None:
                as_data[question].append(held(naive, right[question]))
    return pd.DataFrame(
        {
            "mechanism": mechanism,
            "n": n,
            "question": question,
            "told": len(covers) / runs,
            **_shares(pd.DataFrame(covers)),
            "as data": _shares(pd.DataFrame(as_data[question]))["covered"],
        }
        for question, covers in counted.items()
    )


def _shares(covers: pd.DataFrame) -> dict[str, float]:
    if covers.empty:
        return dict.fromkeys(("covered", "least", "most"), float("nan"))
    often = covers.loc[:, covers.count() >= len(covers) / 10]  # a cell that is rarely merged says little by itself
    return {
        "covered": float(covers.stack().mean()),
        "least": float(often.mean().min()),
        "most": float(often.mean().max()),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--mechanisms", nargs="+", choices=MECHANISMS, default=list(MECHANISMS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10000])
    args = parser.parse_args()
    print("| mechanism | n | question | told | covered | least | most | as data |\n|" + "---|" * 8)
    for mechanism in args.mechanisms:
        for n in args.sizes:
            for row in coverage(mechanism, n, args.runs).itertuples(index=False):
                cells = [f"{100 * cell:.1f} %" if isinstance(cell, float) else str(cell) for cell in row]
                print("| " + " | ".join(cells).replace("nan %", "-") + " |", flush=True)


if __name__ == "__main__":
    main()
