"""Power of verify: how small a share of rows it catches, of ten faults, by mechanism and number of rows.

Run by ``python benchmarks/verify.py --power``. Every fault is put into an honest release of a simulated table (one
sensitive column of 2 values, two public ones with 12 combinations) that is written anew, and the shares go down until a
draw passes. As a control the release without a fault is written anew as well, and must pass.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sanitize as sz
from sanitize.transformers import RandomizedResponse, Sanitizer, SubsetMerging, SubsetRandomResponse, Watchdog

ROLES = {"sensitive": "illness", "public": ["town", "floor"]}
SHARES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
TIGHT, LOOSE = sz.LiftBudget(lower=0.5, upper=0.4), sz.LiftBudget(lower=2.0, upper=1.5)
MECHANISMS: dict[str, Callable[[sz.LiftBudget], Sanitizer]] = {
    "subset merging": lambda budget: SubsetMerging(budget, **ROLES),
    "subset random response": lambda budget: SubsetRandomResponse(budget, **ROLES),
    "watchdog": lambda budget: Watchdog(budget, **ROLES),
    "randomized response": lambda budget: RandomizedResponse(2 * budget.lower, **ROLES),
}


class Rows:
    """A source and two releases of it in its order: public and released symbols as numbers.

    Attributes
    ----------
    s, x, y, loose : ndarray of int, shape (n,)
        Sensitive and public symbol, the released one, and the one that a looser budget released.
    """

    def __init__(self, folder: Path, mechanism: str, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.s = (rng.random(n) < 0.3).astype(int)
        town = np.where(rng.random(n) < 0.4, self.s, rng.choice(4, n, p=[0.1, 0.2, 0.3, 0.4]))
        self.x = 3 * town + rng.choice(3, n, p=[0.6, 0.3, 0.1])
        self.source, self.folder = folder / f"raw-{seed}.parquet", folder
        pq.write_table(self.table(self.x).append_column("illness", pa.array(self.s)), self.source)
        self.sanitizer = MECHANISMS[mechanism](TIGHT)
        self.y, self.metadata = self._released(self.sanitizer)
        self.loose, _ = self._released(MECHANISMS[mechanism](LOOSE))

    @staticmethod
    def table(symbols: np.ndarray) -> pa.Table:
        """Symbols as columns."""
        return pa.table({"town": pa.array(symbols // 3), "floor": pa.array(symbols % 3)})

    def _released(self, sanitizer: Sanitizer) -> tuple[np.ndarray, dict[str, dict[bytes, bytes]]]:
        metadata = {}
        for rows in ("shuffle", "keep"):
            path = self.folder / "out.parquet"
            sz.privatize_parquet(self.source, path, sanitizer, rows=rows, force=True)
            released = pq.read_table(path)
            metadata[rows] = released.schema.metadata
        return 3 * released["town"].to_numpy() + released["floor"].to_numpy(), metadata

    def passes(self, symbols: np.ndarray, rows: str) -> bool:
        """Whether verify takes these released symbols for a release."""
        path = self.folder / "tampered.parquet"
        pq.write_table(self.table(symbols).replace_schema_metadata(self.metadata[rows]), path, store_schema=False)
        return sz.verify_parquet(path, self.source, self.sanitizer, rows=rows).ok


def shuffled(rows: Rows, symbols: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """In an order that tells nothing."""
    return symbols[rng.permutation(len(rows.s))]


def sorted_by(values: np.ndarray, rows: Rows, share: float, rng: np.random.Generator) -> np.ndarray:
    """Shuffled, then the first rows sorted by what their source says."""
    order = rng.permutation(len(values))
    k = int(share * len(values))
    order[:k] = order[:k][np.argsort(values[order[:k]], kind="stable")]
    return rows.y[order]


def repeated(rows: Rows, chosen: np.ndarray) -> np.ndarray:
    """Rows that are drawn as the last row before them with the same public symbol was."""
    made = rows.y.copy()
    for symbol in np.unique(rows.x):
        own = np.flatnonzero(rows.x == symbol)
        made[own[1:]] = np.where(chosen[own[1:]], made[own[:-1]], made[own[1:]])
    return made


def most(rows: Rows) -> list[int]:
    """Released symbols, the most frequent first."""
    return np.argsort(-np.bincount(rows.y, minlength=12), kind="stable").tolist()


def _chosen(rows: Rows, share: float, rng: np.random.Generator) -> np.ndarray:
    return rng.random(len(rows.s)) < share


Fault = Callable[[Rows, float, np.random.Generator], np.ndarray]
FAULTS: dict[str, tuple[str, Fault]] = {
    "raw rows": ("shuffle", lambda r, p, g: shuffled(r, np.where(_chosen(r, p, g), r.x, r.y), g)),
    "a looser budget": ("shuffle", lambda r, p, g: shuffled(r, np.where(_chosen(r, p, g), r.loose, r.y), g)),
    "copies of one row": ("shuffle", lambda r, p, g: shuffled(r, np.where(_chosen(r, p, g), most(r)[2], r.y), g)),
    "a symbol for another": (
        "shuffle",
        lambda r, p, g: shuffled(r, np.where(_chosen(r, p, g) & (r.y == most(r)[0]), most(r)[1], r.y), g),
    ),
    "sorted by S": ("shuffle", lambda r, p, g: sorted_by(r.s, r, p, g)),
    "sorted by a public column": ("shuffle", lambda r, p, g: sorted_by(r.x // 3, r, p, g)),
    "raw rows, in order": ("keep", lambda r, p, g: np.where(_chosen(r, p, g), r.x, r.y)),
    "symbols that say S": ("keep", lambda r, p, g: np.where(_chosen(r, p, g), np.array(most(r))[r.s], r.y)),
    "noise drawn again": ("keep", lambda r, p, g: repeated(r, _chosen(r, p, g))),
    "a value never printed": ("keep", lambda r, p, g: np.where(_chosen(r, p, g), 99, r.y)),
}


def smallest(mechanism: str, fault: str, n: int, repeats: int) -> str:
    """Smallest share of which every draw was caught, with all larger ones."""
    rows, make = FAULTS[fault]
    caught = "-"
    with tempfile.TemporaryDirectory() as folder:
        draws = [Rows(Path(folder), mechanism, n, seed) for seed in range(repeats)]
        rngs = [np.random.default_rng(100 + seed) for seed in range(repeats)]
        for share in SHARES:
            if any(draw.passes(make(draw, share, rng), rows) for draw, rng in zip(draws, rngs, strict=True)):
                break
            caught = f"{share:g}"
    return caught


def control(mechanism: str, n: int) -> bool:
    """Whether an honest release that is written anew passes, in both orders."""
    with tempfile.TemporaryDirectory() as folder:
        draw = Rows(Path(folder), mechanism, n, 0)
        return draw.passes(draw.y, "keep") and draw.passes(shuffled(draw, draw.y, np.random.default_rng(0)), "shuffle")


def lines(sizes: list[int], repeats: int) -> Iterator[str]:
    """The table, a line at a time."""
    yield f"| rows | fault | {' | '.join(MECHANISMS)} |"
    yield f"|---|---|{'---|' * len(MECHANISMS)}"
    for n in sizes:
        honest = ["passes" if control(mechanism, n) else "CAUGHT" for mechanism in MECHANISMS]
        yield f"| {n:,} | none | {' | '.join(honest)} |"
        for fault in FAULTS:
            found = [smallest(mechanism, fault, n, repeats) for mechanism in MECHANISMS]
            order = ", kept" if FAULTS[fault][0] == "keep" and "order" not in fault else ""
            yield f"| {n:,} | {fault}{order} | {' | '.join(found)} |"
