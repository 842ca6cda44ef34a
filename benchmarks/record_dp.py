"""Whole rows under differential privacy: what noise costs. The audit is record_dp_audit.py.

    python benchmarks/record_dp.py adult --eps 1 --seeds 3        # what an analyst has left; bank, credit, generated

Two thirds of the rows are people, the others were never in the table, and give
the edges of numbers (31 quantiles) too; values are those of the file. "Analyst" is the mean AUC of
`sanitize.attack.downstream` over up to eight targets, "pairs" the mean total variation of pairs of columns; "plain" is
the same certificate without noise and printed by a model without kinds of rows, "one cell" plain private synthetic
rows. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import printing

from sanitize.printing import _model
from sanitize.transformers import RecordDP, TreeRandomResponse

GENERATED_ROWS = 1_000_000


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
    parser.add_argument("part", choices=("adult", "bank", "credit", "generated"))
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--eps", type=float, default=1.0)
    given = parser.parse_args()
    cost(given.part, given.data, given.eps, given.seeds)


if __name__ == "__main__":
    main()
