"""How often a whole table's release is over its budget under the truth, from sources whose distribution is known.

    python benchmarks/simulated_tables.py                                 # the table of simulated_tables.md
    python benchmarks/simulated_tables.py --rows 2000 --samples 50

A source has 12 columns of 2 to 12 values and 2 to 5 secrets: each row has a hidden kind, which depends on its secret,
and its columns are independent given the kind. So the probability of any cell of a tree, a product over columns, is
known exactly, and with it the lift of every released symbol under the truth. Each sample is fitted with and without
confidence; "over" is the share of samples with any released symbol over the budget; "at most" is its
one-sided upper bound at 95 % (Clopper and Pearson). Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

import sanitize as sz
from sanitize.transformers import TreeMerging, TreeRandomResponse

COLUMNS, KINDS = 12, 4
BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
ESTIMATORS = {"tree merging": TreeMerging, "tree random response": TreeRandomResponse}


@dataclass(frozen=True)
class Source:
    """A distribution of S, of a hidden kind given S, and of each column given the kind."""

    p_s: np.ndarray
    kind: np.ndarray
    columns: list[np.ndarray]

    @classmethod
    def of(cls, n_s: int, seed: int) -> Source:
        """A source drawn from a seed; rare secrets have at least 4 % of the rows."""
        rng = np.random.default_rng(seed)
        p_s = 0.04 + (1 - 0.04 * n_s) * rng.dirichlet(np.full(n_s, 2.0))
        sizes = rng.integers(2, 13, COLUMNS)
        distributions = [rng.dirichlet(np.full(size, 1.5), KINDS) for size in sizes]
        return cls(p_s, rng.dirichlet(np.full(KINDS, 1.0), n_s), distributions)

    def draw(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Rows of the source; columns of even number are texts."""
        s = rng.choice(len(self.p_s), n, p=self.p_s)
        kind = (rng.random(n)[:, None] > self.kind.cumsum(axis=1)[s]).sum(axis=1)
        table: dict[str, Any] = {"s": s}
        for j, distribution in enumerate(self.columns):
            codes = np.minimum(
                (rng.random(n)[:, None] > distribution.cumsum(axis=1)[kind]).sum(axis=1), distribution.shape[1] - 1
            )
            table[f"x{j}"] = (
                np.array([f"v{code}" for code in range(distribution.shape[1])])[codes] if j % 2 == 0 else codes
            )
        return pd.DataFrame(table)

    def cells(self, tree: sz.trees.Tree) -> np.ndarray:
        """P(s, cell), exactly, shape (n_s, n_cells): down the tree, what is left of each column's values."""
        left = [np.ones(distribution.shape[1], bool) for distribution in self.columns]
        sides = {j: self._sides(tree, j) for j in range(COLUMNS)}
        found = np.zeros((len(self.p_s), tree.n_cells))
        numbers = {int(node): cell for cell, node in enumerate(tree.cell_nodes)}
        stack: list[tuple[int, list[np.ndarray]]] = [(0, left)]
        while stack:
            node, box = stack.pop()
            j = int(tree.column[node])
            if j < 0:
                given_kind = np.prod(
                    [distribution[:, own].sum(axis=1) for distribution, own in zip(self.columns, box, strict=True)],
                    axis=0,
                )
                found[:, numbers[node]] = self.p_s * (self.kind @ given_kind)
                continue
            goes_left = tree.goes_left[node][sides[j]]
            for side, goes in zip(tree.sides[node], (goes_left, ~goes_left), strict=True):
                stack.append((int(side), [*box[:j], box[j] & goes, *box[j + 1 :]]))
        return found

    def _sides(self, tree: sz.trees.Tree, j: int) -> np.ndarray:
        """Level of each value of a column, as the tree has it."""
        values = np.arange(self.columns[j].shape[1])
        column = np.array([f"v{value}" for value in values]) if j % 2 == 0 else values
        return tree.columns[j].encode(column)


def is_over(source: Source, fitted: Any, budget: sz.LiftBudget = BUDGET) -> tuple[bool, float]:
    """Whether any released symbol is over the budget under the truth, and the share of mass that is."""
    pmf = fitted.channel_.push(source.cells(fitted.tree_))
    pmf = pmf[:, pmf.sum(axis=0) > 0]
    lifts = pmf / source.p_s[:, None] / pmf.sum(axis=0)
    over = budget.excess_of(lifts, source.p_s) > 1e-9
    return bool(over.any()), float(pmf[:, over].sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--secrets", type=int, nargs="+", default=[2, 3, 4, 5])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--plain-samples", type=int, default=200, help="samples that are fitted without confidence too")
    given = parser.parse_args()
    print(
        "| rows | secrets | release | over with 0.95 | at most | kept | over without | mass over without | kept | s |"
    )
    print("|---" * 10 + "|")
    for n in given.rows:
        for n_s in given.secrets:
            source = Source.of(n_s, n_s)
            for label, estimator in ESTIMATORS.items():
                began, figures = time.process_time(), []
                for sample in range(given.samples):
                    df = source.draw(n, np.random.default_rng([n, n_s, sample]))
                    for confidence in (0.95, None) if sample < given.plain_samples else (0.95,):
                        fitted = estimator(BUDGET, sensitive="s", confidence=confidence, random_state=0).fit(df)
                        kept = fitted.report_.summary["mean_column_utility"]
                        figures.append((confidence is None, *is_over(source, fitted), kept))
                every = np.array(figures, dtype=float)
                certain, plain = every[every[:, 0] == 0, 1:], every[every[:, 0] == 1, 1:]
                bad = int(certain[:, 0].sum())
                most = beta.ppf(0.95, bad + 1, given.samples - bad)
                seconds = (time.process_time() - began) / len(figures)
                print(
                    f"| {n} | {n_s} | {label} | {bad / given.samples:.3f} | {most:.3f} | {certain[:, 2].mean():.2f} | "
                    f"{plain[:, 0].mean():.3f} | {plain[:, 1].mean():.3f} | {plain[:, 2].mean():.2f} | {seconds:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
