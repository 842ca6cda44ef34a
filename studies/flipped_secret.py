"""What released rows reveal of one sensitive value to somebody who knows every other value of the table.

    python studies/flipped_secret.py                              # the survey, and the default number of classes
    python studies/flipped_secret.py --classes 5 10 20 50
    python studies/flipped_secret.py --data adult.parquet --secret income
    python studies/flipped_secret.py --keep shifts                # a column that stays as it is
    python studies/flipped_secret.py --tuples sex shifts          # tuples of columns, in order
    python studies/flipped_secret.py --tuples sex shifts --eps 0.5 --releases 40    # the same under secret_dp

One sensitive value is flipped. Classes never see it, so both tables have the same classes, byte for byte, and only the
channel differs. She asks by a likelihood ratio which of the two channels drew the rows. "No key": she does not know the
key, as nobody does, and takes the mean over fits of her own with other keys. "Key": she has the key of the classes too,
and all but the noise of the channel, which is more than anybody gets. AUC over releases by fresh keys of both tables,
as of normal scores; 0.5 is guessing. Of tuples there is no key, and she sees the released symbol of each row.
Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.base import clone

import sanitize as sz
from sanitize.core.alphabet import Alphabet
from sanitize.release.classes._integers import to_fixed_point
from sanitize.release.recipes.classes import _design_written_classes
from sanitize.transformers import OptimalRandomResponse, SecretDP, SubsetMerging

BUDGET = sz.LiftBudget(at_most=2, at_least=0.5)
STEP = 1 / to_fixed_point(np.ones(1))[0]  # of the logarithms that a model keeps as whole numbers


class Fit:
    """Classes of a table under one key, and the channel for the table and for a neighbour."""

    def __init__(self, df: pd.DataFrame, secret: str, n_classes: int | None, keep: list[str], seed: int) -> None:
        self.key = sz.NoiseKey.from_seed(seed)
        settings: dict[str, Any] = {"n_classes": n_classes, "keep": keep or None, "random_state": self.key}
        made = sz.LatentClassRelease(BUDGET, sensitive=secret, **settings).fit(df)
        self.release = made.bare_release()
        self.partition: Any = self.release.classes
        self.symbols, self.keep = made.channel_.inputs, keep
        table = {name: pa.array(df[name]) for name in self.partition.names}
        self.classes = self.release.encode(table, first=0)[0]  # of kept values too, where there are some
        self.secrets, self.n = pd.factorize(df[secret], sort=True)[0], len(df)
        counts = np.zeros((self.secrets.max() + 1, len(self.symbols)))
        np.add.at(counts, (self.secrets, self.classes), 1)
        self.counts, self.matrix = counts, self.designed(counts)
        assert np.allclose(self.matrix, made.channel_.matrix)

    def designed(self, counts: np.ndarray) -> np.ndarray:
        """The channel of the default rule to the classes that rows are written from."""
        joint = sz.JointDistribution(counts / counts.sum(), Alphabet.from_size("secret", len(counts)), self.symbols)
        settings = {"keep": self.keep} if self.keep else {}
        design = partial(sz.optimal_random_response, budget=BUDGET, **settings)
        return np.asarray(_design_written_classes(joint, design).matrix)

    def flipped(self, row: int) -> np.ndarray:
        """Channel of the table in which one row has the next secret."""
        counts, s, cell = self.counts.copy(), self.secrets[row], self.classes[row]
        counts[s, cell] -= 1
        counts[(s + 1) % len(counts), cell] += 1
        return self.designed(counts)

    def draw(self, matrix: np.ndarray, seed: int) -> tuple[np.ndarray, dict[str, pa.Array]]:
        """Class that each row is written from, and the rows; one seed is the same noise for both channels."""
        totals = np.cumsum(matrix, axis=1)[self.classes, :-1]
        drawn = (totals <= np.random.default_rng(seed).random((self.n, 1))).sum(axis=1)
        return drawn, self.release.decode(drawn, sz.NoiseKey.from_seed(10_000 + seed))

    def density(self, rows: dict[str, pa.Array]) -> np.ndarray:
        """P(groups of a row | class), shape (n, n_classes); 0 beside other kept values."""
        writers, classes = self.partition.model.writers, self.partition.classes
        codes = [writer.column.encode(rows[writer.column.name]) for writer in writers]
        found = np.zeros((len(codes[0]), len(classes)))
        for writer, own in list(zip(writers, codes, strict=True))[len(self.keep) :]:
            logs = np.repeat(writer.base[classes][None] * STEP, len(own), axis=0)
            for given, slope in zip(writer.given, writer.slopes, strict=True):
                logs += slope[codes[given]][:, None] * STEP
            top = logs.max(axis=2)
            found += np.take_along_axis(logs, own[:, None, None], 2)[..., 0] - top
            found -= np.log(np.exp(logs - top[..., None]).sum(axis=2))
        density = np.exp(np.maximum(found, -600))[:, self.symbols.codes[:, -1]]
        for name, level, codes_of in zip(self.keep, self.symbols.levels, self.symbols.codes.T, strict=False):
            density *= np.asarray(level.to_pylist())[codes_of] == np.array(rows[name].to_pylist())[:, None]
        return density

    def ratios(self, density: np.ndarray, other: np.ndarray) -> tuple[float, float]:
        """Log-likelihood ratios of the other channel and this one, of rows shuffled and in order."""
        sizes = np.bincount(self.classes, minlength=len(other))
        shuffled = np.log(density @ (sizes @ other)) - np.log(density @ (sizes @ self.matrix))
        one, two = ((density * matrix[self.classes]).sum(axis=1) for matrix in (self.matrix, other))
        in_order = np.log(np.maximum(two, 1e-290)) - np.log(np.maximum(one, 1e-290))
        return float(shuffled.sum()), float(np.clip(in_order.sum(), -50, 50))


def auc(one: np.ndarray, two: np.ndarray) -> float:
    """Of scores of the table and of its neighbour, which are about normal and have the same noise pair by pair."""
    spread = np.sqrt(one.var(ddof=1) + two.var(ddof=1))
    return 0.5 if spread < 1e-12 else NormalDist().cdf(float((two - one).mean() / spread))


def attacked_tuples(df: pd.DataFrame, secret: str, sanitizer: Any, people: int, releases: int = 400) -> np.ndarray:
    """AUC for each person, of released tuples in order."""
    secrets, values = pd.factorize(df[secret], sort=True)
    fits = [clone(sanitizer).fit(df)]
    for row in range(people):
        other = df.copy()
        other.loc[row, secret] = values[(secrets[row] + 1) % len(values)]
        fits.append(clone(sanitizer).fit(other))
    inputs, rng = fits[0].channel_.inputs, np.random.default_rng(0)
    codes = inputs.encode({name: pa.array(df[name]) for name in inputs.columns})
    rows, scores = np.bincount(codes, minlength=len(inputs)), []
    for fit in fits[1:]:
        one, two = (np.maximum(each.channel_.matrix, 1e-12) for each in (fits[0], fit))
        drawn = [[rng.multinomial(n, p / p.sum(), releases) for n, p in zip(rows, m, strict=True)] for m in (one, two)]
        ratio = np.log(two) - np.log(one)
        sides = [sum(counts @ line for counts, line in zip(each, ratio, strict=True)) for each in drawn]
        below = (sides[0][:, None] < sides[1]).mean() + (sides[0][:, None] == sides[1]).mean() / 2
        scores.append(float(below))
    return np.array(scores)


def attacked_noisy(df: pd.DataFrame, sanitizer: Any, values: list[Any], people: int, releases: int) -> np.ndarray:
    """AUC for each person of tuples in order whose channels are designed from noisy counts.

    She knows the level of the noise and takes the mean of the chance of the rows over as many channels of her own of
    both tables, which is the likelihood ratio of the release as well as so many channels tell it. The releases are of
    other channels: those of one half of the draws are judged by those of the other.
    """
    secret, rng = sanitizer.sensitive, np.random.default_rng(0)
    secrets = df[secret].to_numpy()

    def channels(frame: pd.DataFrame) -> np.ndarray:
        return np.stack([clone(sanitizer).fit(frame).channel_.matrix for _ in range(2 * releases)])

    base = channels(df)
    inputs = clone(sanitizer).fit(df).channel_.inputs
    codes = inputs.encode({name: pa.array(df[name]) for name in inputs.columns})
    rows, scores = np.bincount(codes, minlength=len(inputs)), []
    for row in range(people):
        other = df.copy()
        other.loc[row, secret] = values[(values.index(secrets[row]) + 1) % len(values)]
        both, sides = (base, channels(other)), []
        for made in both:
            drawn = [
                np.stack([rng.multinomial(n, p / p.sum()) for n, p in zip(rows, m, strict=True)])
                for m in made[releases:]
            ]
            chances = []
            for own in both:
                logs = np.log(np.maximum(own[:releases], 1e-12))
                each = np.einsum("kxy,rxy->kr", np.stack(drawn), logs)
                chances.append(np.logaddexp.reduce(each, axis=1))
            sides.append(chances[1] - chances[0])
        below = (sides[0][:, None] < sides[1]).mean() + (sides[0][:, None] == sides[1]).mean() / 2
        scores.append(float(below))
    return np.array(scores)


def attacked(
    df: pd.DataFrame, secret: str, n_classes: int | None, people: int, own: int, releases: int, keep: list[str]
) -> np.ndarray:
    """AUC for each person: no key, shuffled and in order, and with the key."""
    shadows = [Fit(df, secret, n_classes, keep, 1000 + seed) for seed in range(own)]
    made = [Fit(df, secret, n_classes, keep, seed) for seed in range(releases)]
    bases = []
    for seed, fit in enumerate(made):
        drawn, rows = fit.draw(fit.matrix, seed)
        bases.append((drawn, [each.density(rows) for each in (*shadows, fit)]))
    found = []
    for row in range(people):
        others = [each.flipped(row) for each in shadows]
        scores = np.zeros((2, releases, 4))
        for seed, (fit, (drawn, densities)) in enumerate(zip(made, bases, strict=True)):
            other = fit.flipped(row)
            again, rows = fit.draw(other, seed)
            moved = np.flatnonzero(again != drawn)
            few = {name: column.take(pa.array(moved)) for name, column in rows.items()}
            for side in (0, 1):
                if side and len(moved):
                    densities = [density.copy() for density in densities]
                    for each, density in zip((*shadows, fit), densities, strict=True):
                        density[moved] = each.density(few)
                each_own = [each.ratios(d, o) for each, d, o in zip(shadows, densities, others, strict=False)]
                scores[side, seed] = [*np.mean(each_own, axis=0), *fit.ratios(densities[-1], other)]
        found.append([auc(*scores[:, :, kind]) for kind in range(4)])
    return np.array(found)


def in_words(found: np.ndarray) -> str:
    """Mean and largest AUC, and the share of people whom she recognizes at .6 or more."""
    return f"{found.mean():.3f}, {found.max():.3f}; {(found >= 0.6).mean():.0%}"


def main() -> None:
    """Print a line for each number of classes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a Parquet file; by default the survey of the library")
    parser.add_argument("--secret", default="depression")
    parser.add_argument("--classes", type=int, nargs="*", default=[0], help="0 is the default of the library")
    parser.add_argument("--keep", nargs="*", default=[], help="columns that stay as they are")
    parser.add_argument("--tuples", nargs="*", help="columns that are released as tuples, in order")
    parser.add_argument("--eps", type=float, help="of tuples designed under secret_dp")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--own", type=int, default=4, help="fits of her own")
    parser.add_argument("--releases", type=int, default=24)
    given = parser.parse_args()
    df = sz.datasets.load_survey() if given.data is None else pd.read_parquet(given.data)
    df = df.drop(columns=[name for name in ("fnlwgt", "split") if name in df])
    df = df.sample(given.rows, random_state=0, ignore_index=True)
    if given.tuples:
        values = sorted(df[given.secret].unique())
        for kind in (OptimalRandomResponse, SubsetMerging):
            sanitizer = kind(BUDGET, sensitive=given.secret, public=given.tuples, person="row")
            if given.eps:
                sanitizer.set_params(secret_dp=SecretDP(given.eps, 1e-6, {given.secret: values}))
                found = attacked_noisy(df, sanitizer, values, given.people, given.releases)
                # Of two laws within e^eps of one another none is told with more, by randomized response of their odds.
                bound = np.exp(given.eps) / (1 + np.exp(given.eps))
                error = found.std() / np.sqrt(len(found))
                words = f"{in_words(found)}, ± {2 * error:.3f}, at most {bound:.3f} stated"
                print(f"| {kind.__name__}, in order, secret_dp {given.eps:g} | {words} |", flush=True)
                continue
            found = attacked_tuples(df, given.secret, sanitizer, given.people)
            print(f"| {kind.__name__}, in order | {in_words(found)} |", flush=True)
        return
    print("| classes | no key, shuffled: mean, largest | no key, in order | key, shuffled | key, in order |")
    print("|---" * 5 + "|")
    for n in given.classes:
        found = attacked(df, given.secret, n or None, given.people, given.own, given.releases, given.keep)
        print(f"| {n or 'default'} | {' | '.join(map(in_words, found.T))} |", flush=True)


if __name__ == "__main__":
    main()
