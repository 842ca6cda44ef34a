"""How often the limit that a certificate of latent classes states is exceeded in the population.

    OMP_NUM_THREADS=1 python studies/certificates.py                     # all sources, 400 samples each
    OMP_NUM_THREADS=1 python studies/certificates.py rare --samples 50

Each source is a known distribution of (S, X), so that the leakage of a released class is exact: P(class | x) is read
from the integers that classes are drawn by, and the channel from its own. Each sample draws rows, fits a release with
confidence 0.95 under a new key, and asks whether any symbol makes a sensitive value likelier, or less likely, than the
limit allows in the source. At most one sample in twenty may.

smooth: S follows the kind of a row by degrees. limit: the kind all but says S, so that every lift is what the design
makes of it. rare: S of 1 %, half of it in one kind of twelve. many: six sensitive values whose shares differ by kind at
random. Next to them stands how many of 40 samples without a confidence exceed the limit: half or more where it binds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

import sanitize as sz
from sanitize.release.classes._integers import powers_of_two

CONFIDENCE = 0.95
# Kinds of rows, all as frequent.
N_KINDS = 12
PLAIN = 40
LIMIT = sz.LiftBudget(at_most=2, at_least=0.5)


def smooth() -> np.ndarray:
    """P(S = 1 | kind) from a fiftieth to nine tenths."""
    share = 1 / (1 + np.exp(-np.linspace(-4, 2.2, N_KINDS)))
    return np.stack([1 - share, share])


def limit() -> np.ndarray:
    """Three kinds nearly all have S, and the others hardly ever: every lift is what the design makes of it."""
    share = np.where(np.arange(N_KINDS) < 3, 0.9, 0.02)
    return np.stack([1 - share, share])


def rare() -> np.ndarray:
    """S of 1 %; one kind has half of it."""
    share = np.where(np.arange(N_KINDS) == 0, 0.06, 0.06 / 11)
    return np.stack([1 - share, share])


def many() -> np.ndarray:
    """Six sensitive values whose shares of each kind are drawn once."""
    return np.random.default_rng(1).dirichlet(np.full(6, 0.3), N_KINDS).T


SOURCES = {source.__name__: source for source in (smooth, limit, rare, many)}


def columns(cells: np.ndarray) -> dict[str, Any]:
    """Four columns of a cell: three say of which kind it is, the fourth is a coin."""
    kind, coin = np.divmod(cells, 2)
    numbers = {"a": kind // 3, "b": kind % 6, "c": kind // 2, "d": coin}
    return {name: column.astype(str).astype(object) for name, column in numbers.items()}


def class_shares(release: sz.LatentClassRelease) -> np.ndarray:
    """P(class | cell), exactly as classes are drawn, shape (n_cells, n_classes)."""
    partition: Any = release.bare_release().layout.partition
    table = columns(np.arange(2 * N_KINDS))
    logs = np.repeat(partition.model.log_sizes[None, partition.classes], 2 * N_KINDS, axis=0)
    for writer in partition.model.writers:
        logs += writer.chances[:, partition.classes][writer.column.encode(table[writer.column.name])]
    weights = powers_of_two(logs)
    return weights / weights.sum(axis=1, keepdims=True)


def sample(p_sx: np.ndarray, n: int, rng: np.random.Generator, confidence: float | None) -> tuple[float, float]:
    """Largest excess over the limit in the source, in nats, and the share of information that is kept."""
    n_s, n_x = p_sx.shape
    drawn = rng.choice(n_s * n_x, n, p=p_sx.ravel() / p_sx.sum())
    table = pd.DataFrame({"s": (drawn // n_x).astype(str), **columns(drawn % n_x)})
    release = sz.LatentClassRelease(LIMIT, sensitive="s", n_classes=16, confidence=confidence)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release.fit(table)
    p_sy = p_sx @ class_shares(release) @ release.channel_.matrix
    p_s, p_y = p_sx.sum(axis=1), p_sy.sum(axis=0)
    with np.errstate(divide="ignore"):
        lifts = np.log(p_sy / np.outer(p_s, p_y))
    seen = p_y > 0
    excess = np.maximum(lifts - LIMIT.upper, -lifts - LIMIT.lower)[:, seen].max()
    return float(excess), float(release.report_.summary["normalized_utility"])


def study(name: str, samples: int, n: int) -> None:
    """Print how many samples exceed the limit."""
    rng, begin = np.random.default_rng(0), time.process_time()
    p_sx = np.repeat(SOURCES[name](), 2, axis=1) / (2 * N_KINDS)
    results = np.array([sample(p_sx, n, rng, CONFIDENCE) for _ in range(samples)])
    plain = sum(sample(p_sx, n, rng, None)[0] > 1e-9 for _ in range(PLAIN))
    over = int((results[:, 0] > 1e-9).sum())
    bound = float(beta.ppf(0.975, over + 1, samples - over)) if over < samples else 1.0
    print(
        f"{name}: {over} of {samples} samples of {n} rows exceed the limit (at most {bound:.3f} of all, 97.5 % sure); "
        f"largest excess {results[:, 0].max():+.3f} nats; kept {results[:, 1].mean():.3f}; "
        f"without a confidence {plain} of {PLAIN} "
        f"({time.process_time() - begin:.0f} CPU s)",
        flush=True,
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", default=list(SOURCES))
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--rows", type=int, default=3000)
    given = parser.parse_args()
    for name in given.sources:
        study(name, given.samples, given.rows)


if __name__ == "__main__":
    main()
