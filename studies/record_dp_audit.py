"""Whole rows under differential privacy: an audit of all that is published of tables that differ in a row.

    python studies/record_dp_audit.py counts --runs 1000000    # the noisy counts alone
    python studies/record_dp_audit.py fits --runs 12500        # whole fits of small tables
    python studies/record_dp_audit.py removal --runs 2500      # one class, and the last of 4,000 rows is left out
    python studies/record_dp_audit.py faults --runs 1000       # one fault each, and the same tables without it

The audit is that of secret_dp.py: an event is chosen on half of the runs, and its level bounded from below on the
others. A row is another one, so that two levels are stated. Figures are those of report, channel and classes, and of
2000 rows that are written for them. Beside them stands the level of all looks of a fit together, of which everything
else is made: Σ r (|z - c'| - |z - c|) for counts z of the one table, c and c' exact ones of both, and of each choice of
an edge the logarithm of the ratio of its chances. The latter are those of a fit of the other table that is given the
same looks, and must publish the same. They are found for each fit, since the class of a row is drawn by its key.

A fault needs tables by which it shows, so each has its own: where a level, an edge, a cell, a certificate, a note are
decided by that row. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations, count
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from secret_dp import audit

import sanitize as sz
from sanitize._util.sampling.count_noise import Geometric
from sanitize.core.profiles import design_rows
from sanitize.release import fit
from sanitize.release.recipes import classes, promise, record_dp
from sanitize.release.recipes.private_model import PrivateModel
from sanitize.tables.columns import as_arrow
from sanitize.transformers import LatentClassRelease, RecordDP

EPS = 1.0
PRINTED = 2000
LOOKS = record_dp.Looks
Fault = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Case:
    """Two tables that differ in a row, how they are fitted, and a fault that shows by them."""

    tables: tuple[pd.DataFrame, pd.DataFrame]
    settings: dict[str, Any] = field(default_factory=dict)
    fault: Fault = nullcontext

    def fit(self, number: int, key: sz.NoiseKey) -> LatentClassRelease:
        """Release of one of the tables."""
        df = self.tables[number]
        given: dict[str, Any] = {
            "budget": sz.LiftBudget(lower=2.0, upper=1.5),
            "sensitive": "s",
            "confidence": 0.9,
            "record_dp": RecordDP(EPS, {"s": [0, 1]}),
            "bins": {name: [0, 1, 2] for name in df if name != "s"},
            "n_classes": 3,
            "random_state": key,
        }
        return LatentClassRelease(**given | self.settings).fit(df)


def case(rows: dict[str, Any], *, of_design: bool, another: dict[str, int], **given: Any) -> Case:
    """Columns in which all rows of the design and all others are listed by turns; one of either is another one."""
    n = len(rows["s"])
    chosen = design_rows(n, record_dp.RECORD_SHARE)
    places = np.empty(n, int)
    places[chosen], places[~chosen] = np.arange(0, n, 2), np.arange(1, n, 2)
    df = pd.DataFrame({name: np.asarray(values)[places] for name, values in rows.items()})
    other = df.copy()
    row = int(np.flatnonzero(places == (0 if of_design else 1))[0])
    for name, value in another.items():
        other.loc[row, name] = value
    return Case((df, other), **given)


class Looks:
    """Looks of a fit, which it keeps; or those of another fit again, whatever is looked at."""

    def __init__(self, told: list[Any] | None = None) -> None:
        self.again = told
        self.told: list[Any] = []
        self.exact: list[np.ndarray] = []
        self.shares: list[Fraction] = []

    def __call__(self, *given: Any) -> Any:
        """Stand in for the looks of the library."""
        look, looks = LOOKS(*given), self

        def tell(draw: Callable[..., Any], seen: np.ndarray, share: Fraction) -> Any:
            looks.exact.append(seen)
            looks.shares.append(share)
            looks.told.append(draw(seen, share) if looks.again is None else looks.again[len(looks.told)])
            return looks.told[-1]

        class Kept:
            deviation = look.deviation

            def __call__(self, counts: np.ndarray, share: Fraction) -> np.ndarray:
                """Counts with noise."""
                return tell(look, counts, share)

            def choose(self, scores: np.ndarray, share: Fraction) -> int:
                """Place of a score."""
                return tell(look.choose, scores, share)

        return Kept()


def with_level(case: Case, number: int) -> np.ndarray:
    """What is published of one of the tables, and the level of its noisy counts against the other."""
    key, looks = sz.NoiseKey.from_system(), Looks()
    with patch.object(record_dp, "Looks", looks):
        found = published(case.fit(number, key))
    other = Looks(looks.told)
    with patch.object(record_dp, "Looks", other):
        assert np.array_equal(published(case.fit(1 - number, key)), found)
    level = 0.0
    for told, own, theirs, share in zip(looks.told, looks.exact, other.exact, looks.shares, strict=True):
        rate = EPS * float(share)
        if isinstance(told, int):
            chances = [rate / 2 * scores[told] - logsumexp(rate / 2 * scores) for scores in (own, theirs)]
            level += chances[0] - chances[1]
        else:
            level += rate * float((abs(told - theirs) - abs(told - own)).sum())
    return np.append(found, level * (1 if number == 0 else -1))


def published(fitted: LatentClassRelease) -> np.ndarray:
    """Figures of report, channel, classes, and of rows written for them."""
    report, partition = fitted.report_, fitted.bare_release().layout.partition
    measured = [value for line in report.measures for value in (line.before, line.after) if value is not None]
    notes = report.facts.warnings
    noted = [float(number) for note in notes for number in re.findall(r"\d+", note)]
    channel = np.zeros((3, 3))
    matrix = fitted.channel_.matrix
    channel[: matrix.shape[0], : matrix.shape[1]] = matrix
    sizes = int(sum(abs(writer.base).sum() for writer in partition.model.writers))
    printed = partition.decode(np.arange(PRINTED) % partition.n_cells, sz.NoiseKey.from_seed(0))
    columns = [np.array(column.to_pylist(), float) > 0 for column in printed.values()]
    shown = [*(column.mean() for column in columns), *((a == b).mean() for a, b in combinations(columns, 2))]
    held = [report.worst_excess, *channel.ravel(), *matrix.shape, partition.n_cells, sizes, *shown, len(notes)]
    # How many there are may tell something, too.
    padded = [*(noted + [0.0] * 12)[:12], len(measured), *(measured + [0.0] * 40)[:40]]
    return np.nan_to_num(np.array([*held, *padded], float), posinf=1e9, neginf=-1e9)


def small(*, of_design: bool) -> Case:
    """Twenty rows, in which one alone has a value."""
    return case({"a": [0] * 20, "s": [0, 0, 1, 1] * 5}, of_design=of_design, another={"a": 1, "s": 1})


class Exact:
    """Looks without noise."""

    def __init__(self, look: Any, first: int, last: int) -> None:
        self.look, self.deviation, self.span, self.at = look, look.deviation, range(first, last), count()

    def __call__(self, counts: np.ndarray, share: Fraction) -> np.ndarray:
        """Exact counts."""
        return counts if next(self.at) in self.span else self.look(counts, share)

    def choose(self, scores: np.ndarray, share: Fraction) -> int:
        """Place of the largest score."""
        return int(scores.argmax()) if next(self.at) in self.span else self.look.choose(scores, share)


@contextmanager
def unnoised(first: int, last: int) -> Iterator[None]:
    """Some looks of the model without their noise."""
    right = PrivateModel.learn

    def forgetful(*given: Any) -> PrivateModel:
        *rest, look, known, alone = given
        return right(*rest, Exact(look, first, last), known, alone)

    with patch.object(PrivateModel, "learn", forgetful):
        yield


def on_raw_rows() -> AbstractContextManager[Any]:
    """Classes are fitted to the rows themselves."""
    return patch.object(RecordDP, "model_rows", raw_rows)


def raw_rows(_: RecordDP, layout: Any, source: Any, *rest: Any) -> tuple[dict[str, Any], None]:
    """The rows themselves in place of those of a private model."""
    return {name: as_arrow(source[name], name) for name in (*layout.sensitive, *layout.public)}, None


@contextmanager
def remembered(use: Callable[[list[np.ndarray]], AbstractContextManager[Any]]) -> Iterator[None]:
    """Exact counts of (part, secret, cell) of a fit, for a fault that reads them."""
    kept: list[np.ndarray] = []
    right = promise._exact_counts

    def declared(*given: Any) -> np.ndarray:
        kept[:] = right(*given)
        return np.stack(kept)

    with patch.object(promise, "_exact_counts", declared), use(kept):
        yield


def of_channel(kept: list[np.ndarray]) -> AbstractContextManager[Any]:
    """The channel is designed and certified by exact counts."""
    right = classes.add_noise

    def exact(*given: Any) -> Any:
        made = right(*given)
        noisy = made.noisy._replace(design=kept[0], fresh=kept[1].astype(float), noise=None)
        return replace(made, noisy=noisy)

    return patch.object(classes, "add_noise", exact)


def of_threshold(kept: list[np.ndarray]) -> AbstractContextManager[Any]:
    """Whether secrets are too rare is decided by exact counts."""
    recipe = classes.LatentClassReleaseRecipe
    right = recipe._certificate_facts

    def doubted(self: Any, spec: Any, layout: Any, counts: Any, n_design: int) -> Any:
        exact = copy(counts)
        exact.counts = kept[0] + kept[1]
        return right(self, spec, layout, exact, n_design)

    return patch.object(recipe, "_certificate_facts", doubted)


def of_report(kept: list[np.ndarray]) -> AbstractContextManager[Any]:
    """A note of the report tells an exact count."""
    right = fit.with_promise

    def told(*given: Any) -> Any:
        made = right(*given)
        notes = (*made.report.facts.warnings, f"{kept[1][0].sum()} rows have the first secret")
        return replace(made, report=replace(made.report, facts=replace(made.report.facts, warnings=notes)))

    return patch.object(fit, "with_promise", told)


def hub() -> Case:
    """Columns b and c follow a alike, but for the row, and each other more: in the model one alone follows a."""
    kinds = {(0, 1): 100, (1, 0): 99, (0, 0): 651, (1, 1): 150}  # whether b and c are not a
    flips = np.repeat(list(kinds), list(kinds.values()), axis=0)
    a, b, c = np.array([(a, a ^ b, a ^ c) for a in (0, 1) for b, c in flips]).T
    s = a ^ (np.arange(len(a)) % 10 == 9)
    rows = {name: np.repeat(column, 2) for name, column in {"a": a, "b": b, "c": c, "s": s}.items()}
    fault = partial(unnoised, 4, 7)
    return case(rows, of_design=True, another={"b": 1, "c": 0}, settings={"n_classes": 2}, fault=fault)


def cases() -> dict[str, Case]:
    """A fault each, on tables of which a row decides what the fault tells."""
    by_turns = [0, 0, 1, 1]
    few, rare = np.repeat([1, 0], [8, 32]), np.repeat([1, 0], [18, 22])
    return {
        # A level that one row has is drawn three times as often as one that none has.
        "levels": case(
            {**{name: [0] * 20 for name in "abcde"}, "s": by_turns * 5},
            of_design=True,
            another=dict.fromkeys("abcdes", 1),
            fault=partial(unnoised, 0, 6),
        ),
        "structure": hub(),
        "rows": case({"a": few, "s": by_turns * 10}, of_design=True, another={"a": 0}, fault=on_raw_rows),
        # With a row more of a secret no other symbol passes than the one that tells nothing, or fewer do.
        "channel": case(
            {"a": np.repeat([0, 1], 80), "s": by_turns * 40},
            of_design=False,
            another={"s": 1},
            fault=partial(remembered, of_channel),
        ),
        # 18 rows of 40 are enough for the classes of this budget, 17 are not.
        "threshold": case(
            {"a": by_turns * 10, "s": rare},
            of_design=False,
            another={"s": 0},
            settings={"budget": sz.LiftBudget(lower=6.0, upper=5.0)},
            fault=partial(remembered, of_threshold),
        ),
        "report": replace(small(of_design=False), fault=partial(remembered, of_report)),
    }


def of_faults(only: str, runs: int) -> None:
    """Each fault on tables of its own, and the same tables without it."""
    for name, pair in cases().items():
        if only in name:
            for kind, fault in (("fault", pair.fault), ("right", nullcontext)):
                begin = time.monotonic()
                with fault():
                    one, two = (
                        np.array([published(pair.fit(number, sz.NoiseKey.from_system())) for _ in range(runs)])
                        for number in (0, 1)
                    )
                print(
                    f"{kind}, {name}: {runs} runs a table, eps >= {audit(one, two):.4f} (stated {2 * EPS:g}; "
                    f"{time.monotonic() - begin:.0f} s)",
                    flush=True,
                )


def of_counts(runs: int) -> None:
    """The sharpest figure of noisy counts: that of the row's own count."""
    drawn = [Geometric(Fraction(EPS)).draw(sz.NoiseKey.from_system(), runs) for _ in range(2)]
    made = [(z + moved)[:, None].astype(float) for z, moved in zip(drawn, (1, 0), strict=True)]
    print(f"counts: {runs} runs a table, eps >= {audit(*made):.4f} (stated {EPS:g})", flush=True)


def of_fits(runs: int) -> None:
    """Whole fits of tables that differ in a row of the design, or in one of the others; prints as it goes."""
    for kind, of_design in (("design", True), ("others", False)):
        pair, begin = small(of_design=of_design), time.monotonic()
        found: list[list[np.ndarray]] = [[], []]
        for run in range(1, runs + 1):
            for number in (0, 1):
                found[number].append(with_level(pair, number))
            if run % 2500 == 0 or run == runs:
                one, two = (np.array(rows) for rows in found)
                print(
                    f"fits, a row of the {kind}: {run} runs a table, {one.shape[1] - 1} figures, eps >= "
                    f"{audit(one[:, :-1], two[:, :-1]):.4f}; all noisy counts together, eps >= "
                    f"{audit(one[:, -1:], two[:, -1:]):.4f} (stated {2 * EPS:g}; {time.monotonic() - begin:.0f} s)",
                    flush=True,
                )


def of_removal(runs: int) -> None:
    """The last of 4,000 rows alone has a value, and is there or not; one class, by counts with and without a δ."""
    df = pd.DataFrame({"a": [0] * 3999 + [1], "b": [0, 1] * 2000, "s": [0, 0, 1, 1] * 1000})
    for delta in (0.0, 1e-5):
        settings = {"n_classes": 1, "record_dp": RecordDP(EPS, {"s": [0, 1]}, delta)}
        pair, begin = Case((df, df[:-1]), settings), time.monotonic()
        one, two = (
            np.array([published(pair.fit(number, sz.NoiseKey.from_system())) for _ in range(runs)]) for number in (0, 1)
        )
        seconds = time.monotonic() - begin
        print(
            f"removal, delta {delta:g}: {runs} runs a table, eps >= {audit(one, two):.4f} (stated {EPS:g}; "
            f"{seconds:.0f} s)",
            flush=True,
        )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("counts", "fits", "faults", "removal"))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="of the faults")
    given = parser.parse_args()
    parts = {"counts": of_counts, "fits": of_fits, "removal": of_removal, "faults": partial(of_faults, given.only)}
    parts[given.part](given.runs)


if __name__ == "__main__":
    main()
