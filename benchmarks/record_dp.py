"""Whole rows under differential privacy: what noise costs. The audit is record_dp_audit.py.

    python benchmarks/record_dp.py adult --eps 1 --seeds 3        # what an analyst has left; bank, credit, generated
    python benchmarks/record_dp.py adult --shares --seeds 2       # the same by how eps is shared out

Two thirds of the rows are people, the others were never in the table, and give
the edges of numbers (31 quantiles) too; values are those of the file. "Analyst" is the mean AUC of
`sanitize.attack.downstream` over up to eight targets, "pairs" the mean total variation of pairs of columns; "plain" is
the same certificate without noise and printed by a model without kinds of rows, "one cell" plain private synthetic
rows, "found" rows of which no public column but those with edges was declared, with a delta of 1e-6. Shares are moved
one at a time, the others in proportion. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import printing

from sanitize._release.recipes import private_model as _private_model
from sanitize._release.recipes import record_dp
from sanitize.printing import _model
from sanitize.transformers import RecordDP, TreeRandomResponse

GENERATED_ROWS = 1_000_000
DELTA = 1e-6
MODEL = ("_LEVELS", "_CHOICE", "_PAIRS")  # shares of what the model takes, which sum to one
TRIED = {
    "_LEVELS": ("1/10", "1/5", "1/2"),
    "_CHOICE": ("1/20", "1/5"),
    "_CELLS": ("1/20", "3/10"),
    "_VALUES": ("1/20", "1/10", "3/10"),
}


def shared_out(name: str, share: Fraction) -> AbstractContextManager[Any]:
    """Eps with another share for one kind of counts."""
    if name not in MODEL:
        return patch.object(record_dp, name, share)
    rest = (1 - share) / (1 - getattr(_private_model, name))
    others = {other: rest * getattr(_private_model, other) for other in MODEL}
    return patch.multiple(_private_model, **others | {name: share})


def declared(whole: pd.DataFrame, outsiders: pd.DataFrame) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values and bins that somebody may declare: values of the file, edges of people who are not in the table."""
    values: dict[str, Any] = {}
    bins: dict[str, Any] = {}
    for name, column in whole.items():
        if not pd.api.types.is_numeric_dtype(column) or column.nunique() <= 20:
            values[name] = [None if pd.isna(value) else value for value in pd.unique(column)]
            continue
        least, most = float(column.min()), float(column.max())
        inner = np.quantile(outsiders[name].dropna(), np.linspace(0, 1, 33)[1:-1])
        inner = (np.ceil(inner) if pd.api.types.is_integer_dtype(column) else inner.round(6)).tolist()
        zero = [0.0, 1.0] if (column == 0).mean() > 0.5 else []
        bins[name] = sorted({least, most, *(edge for edge in inner + zero if least < edge < most)})
        if column.isna().any():
            values[name] = [None]
    return values, bins


def cost(name: str, data: Path, eps: float, seeds: int, *, by_share: bool) -> None:
    """What an analyst has left of a table, release by release."""
    sensitive, found = printing.TABLES[name][1], {}
    with patch.object(printing, "GENERATED_ROWS", GENERATED_ROWS * 3 // 2):
        whole = printing.table(name, data)
    for seed in range(seeds):
        people, outsiders = printing.halves(whole, seed)
        values, bins = declared(whole, outsiders)
        promise: dict[str, Any] = {"record_dp": RecordDP(eps, values), "bins": bins}
        some = {column: own for column, own in values.items() if column == sensitive or column in bins}
        undeclared = promise | {"record_dp": RecordDP(eps, some, DELTA)}
        releases: dict[str, dict[str, Any]] = {"record_dp": promise, "found": undeclared}
        patches: dict[str, AbstractContextManager[Any]] = {}
        if by_share:
            for share, value in ((share, value) for share, tried in TRIED.items() for value in tried):
                releases[kind := f"{share} {value}"] = undeclared if share == "_VALUES" else promise
                patches[kind] = shared_out(share, Fraction(value))
        else:
            releases = {"plain": {}, **releases, "one cell": promise | {"max_cells": 1}}
        for kind, settings in releases.items():
            with patches.get(kind, nullcontext()):
                found.setdefault(kind, []).append(figures(people, outsiders, sensitive, seed, settings))
            print(name, eps, seed, kind, np.round(found[kind][-1], 4), flush=True)
    for kind, rows in found.items():
        raw, analyst, pairs, cells, taken = np.mean(rows, axis=0)
        print(f"| {name} | {eps:g} | {kind} | {raw:.3f} | {analyst:.3f} | {pairs:.3f} | {cells:.0f} | {taken:.0f} |")


def figures(
    people: pd.DataFrame, outsiders: pd.DataFrame, sensitive: str, seed: int, settings: dict[str, Any]
) -> tuple[float, ...]:
    """An analyst's mean AUC by raw and by released rows, variation of pairs, cells, seconds of CPU."""
    least = _model.KINDS_ROWS if settings else len(people) + 1
    with patch.object(_model, "KINDS_ROWS", least):
        begin = time.process_time()
        made = TreeRandomResponse(printing.BUDGET, sensitive=sensitive, confidence=0.95, random_state=seed, **settings)
        released = made.fit(people).transform(people)
        taken = time.process_time() - begin
    for name in released.columns.intersection(people.select_dtypes("integer").columns):
        # A value that is not found prints as missing.
        released[name] = released[name].fillna(-1).astype(people[name].dtype)
    few = people.sample(min(len(people), 100_000), random_state=seed)
    fresh = outsiders.sample(min(len(outsiders), 50_000), random_state=seed)
    shown = released.sample(len(few), random_state=seed)
    areas = np.array(list(printing.analyst(few, shown, fresh, [name for name in people if name != sensitive])))
    return (*areas.mean(axis=0)[:2], printing.variation(few, shown), made.tree_.n_cells, taken)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("adult", "bank", "credit", "generated"))
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--eps", type=float, default=1.0)
    parser.add_argument("--shares", action="store_true")
    given = parser.parse_args()
    cost(given.part, given.data, given.eps, given.seeds, by_share=given.shares)


if __name__ == "__main__":
    main()
