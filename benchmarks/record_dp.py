"""Whole rows under differential privacy: an audit of what is published of neighbouring tables, and what noise costs.

    python benchmarks/record_dp.py counts --runs 1000000          # the noisy counts alone
    python benchmarks/record_dp.py fits --runs 50000              # whole fits, everything in report, tree and channel
    python benchmarks/record_dp.py faults --runs 1000             # the same, the noise of a few looks forgotten
    python benchmarks/record_dp.py adult --eps 1 --seeds 3        # what an analyst has left; bank, credit, generated

The audit is that of secret_dp.py. Its tables differ in one row, which is another row; two levels are stated for that,
eps for either row more or less. Costs: two thirds of the rows are people, the others were never in the table, and give
the edges of numbers (31 quantiles) too; values are those of the file. "Analyst" is the mean AUC of
`sanitize.attack.downstream` over up to eight targets, "pairs" the mean total variation of pairs of columns; "plain" is
the same certificate without noise and printed by a model without kinds of rows, "one cell" plain private synthetic
rows. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import printing
from secret_dp import audit

import sanitize as sz
from sanitize._release.recipes import record_dp
from sanitize._sampling.count_noise import two_sided_geometric
from sanitize.printing import _model
from sanitize.transformers import RecordDP, TreeRandomResponse

EPS = 0.5
ROWS, GENERATED_ROWS = 300, 1_000_000
VALUES = {"a": [0, 1, 2], "b": [0, 1], "s": [0, 1]}


def tables(row: int) -> list[pd.DataFrame]:
    """Two tables of two small public columns; one row is another one."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame({name: rng.integers(0, len(values), ROWS) for name, values in VALUES.items()})
    other = df.copy()
    other.loc[row] = (df.loc[row] + 1) % [len(values) for values in VALUES.values()]
    return [df, other]


def told(fitted: TreeRandomResponse) -> np.ndarray:
    """Figures of report and channel, and of the tree and what it prints."""
    tree, printer = fitted.tree_, fitted._release.printer
    assert printer is not None
    columns = [len(values) for values in printer.values.values()]
    labels = sum(map(len, map(str, tree.labels_of([np.array([0])])[0].values())))
    channel = np.zeros(8)
    channel[: len(fitted.channel_.matrix)] = (fitted.channel_.matrix**2).sum(axis=1)[:8]
    report = fitted.report_
    measured = [value for line in report.measures for value in (line.before, line.after) if value is not None]
    found = [*measured, *channel, tree.n_cells, labels, *columns, *tree.n_rows[:3], *report_numbers(report)]
    return np.nan_to_num(np.array(found, float), posinf=1e9, neginf=-1e9)


def report_numbers(report: sz.LeakageReport) -> list[float]:
    """P(s) of the law that the report is of."""
    return [report.n_rows, report.worst_excess]


def of_counts(runs: int) -> None:
    """The sharpest figure of noisy counts: that of the row's own count."""
    drawn = [two_sided_geometric(sz.NoiseKey.from_system(), Fraction(EPS), runs) for _ in range(2)]
    made = [(z + moved)[:, None].astype(float) for z, moved in zip(drawn, (1, 0), strict=True)]
    print(f"counts: {runs} runs a table, eps >= {audit(*made):.4f} (stated {EPS:g})", flush=True)


def of_fits(runs: int, name: str = "fits") -> None:
    """Whole fits of tables that differ in a row of the design, and in one of the others; prints as it goes."""
    chosen = sz.trees.design_rows(ROWS, record_dp.RECORD_SHARE)
    for kind, row in (("design", np.flatnonzero(chosen)[3]), ("others", np.flatnonzero(~chosen)[3])):
        found: list[list[np.ndarray]] = [[], []]
        begin = time.monotonic()
        for _ in range(runs):
            for table, into in zip(tables(int(row)), found, strict=True):
                made = TreeRandomResponse(
                    sz.LiftBudget(lower=2.0, upper=1.5),
                    sensitive="s",
                    confidence=0.9,
                    record_dp=RecordDP(EPS, VALUES),
                    max_cells=3,
                    random_state=None,
                    output="model",
                )
                into.append(told(made.fit(table)))
        one, two = (np.array([row[: min(map(len, rows))] for row in rows]) for rows in found)
        width = min(one.shape[1], two.shape[1])
        print(
            f"{name}, a row of the {kind}: {runs} runs a table, {width} figures, eps >= "
            f"{audit(one[:, :width], two[:, :width]):.4f} (stated {2 * EPS:g}; {time.monotonic() - begin:.0f} s)",
            flush=True,
        )


def with_faults(runs: int) -> None:
    """The noise on some looks of a fit forgotten."""
    right = record_dp.looking
    faults = {"levels": (1, 2, 3), "structure": (4, 5), "pairs of edges": (6, 7), "cells": (8, 9)}
    for name, places in faults.items():
        at = [0]  # looks of a fit: seven of the model, two of cells

        def forgetful(key: sz.NoiseKey, places: tuple[int, ...] = places, at: list[int] = at) -> Any:
            look = right(key)

            def looked(counts: np.ndarray, rate: Fraction) -> np.ndarray:
                at[0] = at[0] % 9 + 1
                return counts if at[0] in places else look(counts, rate)

            return looked

        with patch.object(record_dp, "looking", forgetful):
            of_fits(runs, f"fault, exact {name}")


def declared(whole: pd.DataFrame, outsiders: pd.DataFrame) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values and bins that somebody may declare: values of the file, edges of people who are not in the table."""
    values: dict[str, Any] = {}
    bins: dict[str, Any] = {}
    for name, column in whole.items():
        if not pd.api.types.is_numeric_dtype(column) or column.nunique() <= 20:
            values[name] = [None if pd.isna(value) else value for value in pd.unique(column)]
            continue
        least, most = float(column.min()), float(column.max())
        inner = np.quantile(outsiders[name].dropna(), np.linspace(0, 1, 33)[1:-1]).round(6).tolist()
        zero = [0.0, 1.0] if (column == 0).mean() > 0.5 else []
        bins[name] = sorted({least, most, *(edge for edge in inner + zero if least < edge < most)})
        if column.isna().any():
            values[name] = [None]
    return values, bins


def cost(name: str, data: Path, eps: float, seeds: int) -> None:
    """What an analyst has left of a table, release by release."""
    sensitive, found = printing.TABLES[name][1], {}
    with patch.object(printing, "GENERATED_ROWS", GENERATED_ROWS * 3 // 2):
        whole = printing.table(name, data)
    for seed in range(seeds):
        people, outsiders = printing.halves(whole, seed)
        public = [column for column in people if column != sensitive]
        values, bins = declared(whole, outsiders)
        promise: dict[str, Any] = {"record_dp": RecordDP(eps, values), "bins": bins}
        for kind, settings in {"plain": {}, "record_dp": promise, "one cell": promise | {"max_cells": 1}}.items():
            least = len(people) + 1 if kind == "plain" else _model.KINDS_ROWS
            with patch.object(_model, "KINDS_ROWS", least):
                begin = time.process_time()
                made = TreeRandomResponse(
                    printing.BUDGET, sensitive=sensitive, confidence=0.95, random_state=seed, **settings
                )
                released = made.fit(people).transform(people)
                taken = time.process_time() - begin
            few = people.sample(min(len(people), 100_000), random_state=seed)
            fresh = outsiders.sample(min(len(outsiders), 50_000), random_state=seed)
            shown = released.sample(len(few), random_state=seed)
            areas = np.array(list(printing.analyst(few, shown, fresh, public)))
            figures_of = (*areas.mean(axis=0)[:2], printing.variation(few, shown), made.tree_.n_cells, taken)
            found.setdefault(kind, []).append(figures_of)
            print(name, eps, seed, kind, np.round(figures_of, 4), areas[:, 1].round(3), flush=True)
    for kind, rows in found.items():
        raw, analyst, pairs, cells, taken = np.mean(rows, axis=0)
        print(f"| {name} | {eps:g} | {kind} | {raw:.3f} | {analyst:.3f} | {pairs:.3f} | {cells:.0f} | {taken:.0f} |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("counts", "fits", "faults", "adult", "bank", "credit", "generated"))
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--eps", type=float, default=1.0)
    given = parser.parse_args()
    if given.part in printing.TABLES:
        cost(given.part, given.data, given.eps, given.seeds)
    else:
        {"counts": of_counts, "fits": of_fits, "faults": with_faults}[given.part](given.runs)


if __name__ == "__main__":
    main()
