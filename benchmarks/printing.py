"""What rows printed by a model give away of people, beside outsiders, and what they keep: trees, at defaults.

    python benchmarks/printing.py                          # the tables of printing.md
    python benchmarks/printing.py --tables adult --seeds 2
    python benchmarks/printing.py --density                # of 2,000 and of 50,000 people
    python benchmarks/printing.py --speed

Two thirds of the rows are people, the others were never in the table. "model" and "resample" print the same tree's
cells; "untilted" is a model without kinds of rows, and not tilted towards what each region has. Copies, read-off,
linkability, the secret and membership by the nearest row are those of `sanitize.attack.judge`, people less outsiders.
"Density" ranks people by how much likelier a model of the printed rows makes them than a model of as many outsiders
(AUC); "of the model" is who has the model itself, which is never handed out. "Attribute" guesses each column of a
person from all others by the nearest printed row: right for people less right for outsiders, in the mean of the
columns, and for the one with the largest mean over all seeds. "Analyst" is the mean AUC of `downstream` over up to
eight targets. "TV" is the mean total variation of all pairs of columns in up to 8 groups each, beside that of
outsiders' rows. Mean over seeds, ± half of its interval (95 %, t). Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from scipy.stats import t
from simulated_tables import Source
from sklearn.metrics import roc_auc_score

import sanitize as sz
from sanitize._sampling.noise import NoiseKey
from sanitize.printing import RowModel, _model
from sanitize.printing._values import BETWEEN, MISSING
from sanitize.transformers import TreeRandomResponse

# Table -> file, sensitive column, columns that are left out.
TABLES: dict[str, tuple[str, str, list[str]]] = {
    "adult": ("adult", "income", ["split", "fnlwgt"]),
    "bank": ("bank_marketing", "y", []),
    "credit": ("credit_default", "default_payment", []),
    "generated": ("", "s", []),
    "PUMS": ("pums_ca_1000", "married", []),
}
GENERATED_ROWS = 30_000
BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
TARGETS, GROUPS = 8, 8
SECRET = "Secret by a few columns"
ATTACKED, ASKED = 5_000, 3_000  # people, and as many outsiders, whose columns are guessed; who are told apart


def table(name: str, data: Path) -> pd.DataFrame:
    """A table without the columns that are left out."""
    file, _, dropped = TABLES[name]
    if not file:
        return Source.of(2, 0).draw(GENERATED_ROWS, np.random.default_rng(0))
    return pd.read_parquet(data / f"{file}.parquet").drop(columns=dropped, errors="ignore")


def halves(df: pd.DataFrame, seed: int, share: float = 2 / 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """People and outsiders."""
    df = df.sample(frac=1, random_state=seed, ignore_index=True)
    n = int(len(df) * share)
    return df[:n], df[n:].reset_index(drop=True)


def fitted(people: pd.DataFrame, sensitive: str, output: str, seed: int) -> TreeRandomResponse:
    """A tree of all columns but the sensitive one."""
    return TreeRandomResponse(BUDGET, sensitive=sensitive, output=output, random_state=seed).fit(people)


def one_run(name: str, data: Path, seed: int) -> dict[str, dict[str, float]]:
    """Figures of one seed: release -> figure -> value."""
    sensitive = TABLES[name][1]
    people, outsiders = halves(table(name, data), seed)
    public = [column for column in people if column != sensitive]
    found: dict[str, dict[str, float]] = {}
    for label in ("model", "untilted", "resample"):
        least = _model.KINDS_ROWS
        _model.KINDS_ROWS = len(people) + 1 if label == "untilted" else least
        sanitizer = fitted(people, sensitive, "resample" if label == "resample" else "model", seed)
        _model.KINDS_ROWS = least
        released = sanitizer.transform(people)
        judged = sz.attack.judge(released, people, outsiders=outsiders, sensitive=sensitive, random_state=seed)
        own: dict[str, float] = {}
        for result in judged.results:
            own[result.title] = result.people - result.outsiders
            own[f"{result.title}, outsiders"] = result.outsiders
        if label == "untilted":
            found[label] = {SECRET: own[SECRET]}
            continue
        of_column = attribute(released, people, outsiders, public, seed)
        own["attribute"] = float(of_column.mean())
        own |= {f"attribute, {column}": more for column, more in zip(public, of_column.tolist(), strict=True)}
        own["TV"], own["TV, outsiders"] = variation(people, released), variation(people, outsiders[public])
        areas = np.array(list(analyst(people, released, outsiders, public)))
        own["analyst, raw"], own["analyst"], own["analyst, ignoring"] = areas.mean(axis=0)
        if label == "model":
            own["density"], own["density, model"] = density(table(name, data), sensitive, seed)
            own["impossible"] = impossible(people, released)
        found[label] = own
    return found


def analyst(people: pd.DataFrame, released: pd.DataFrame, outsiders: pd.DataFrame, public: list[str]) -> Any:
    """AUC of models learned from raw rows, from a release, and from one that ignores its rows, target by target."""
    for target in public[:: max(1, len(public) // TARGETS)][:TARGETS]:
        try:
            compared = sz.attack.downstream(people[public], released, target, fresh=outsiders[public])
        except sz.errors.InvalidParameter:  # nearly constant
            continue
        yield compared.raw, compared.released, compared.ignoring


def coded(frames: list[pd.DataFrame], most: int) -> list[np.ndarray]:
    """Columns of several tables in the same groups: quantiles of numbers, frequent texts; shape (n, n_columns)."""
    codes = [np.empty(frame.shape, np.int16) for frame in frames]
    for j, name in enumerate(frames[0]):
        first = frames[0][name]
        if pd.api.types.is_numeric_dtype(first) and first.nunique() > most:
            cuts = np.unique(first.quantile(np.linspace(0, 1, most + 1)[1:-1]))
            for out, frame in zip(codes, frames, strict=True):
                out[:, j] = np.where(frame[name].isna(), -1, np.searchsorted(cuts, frame[name], side="right"))
        else:
            top = {text: place for place, text in enumerate(first.astype(str).value_counts().index[: most - 1])}
            for out, frame in zip(codes, frames, strict=True):
                out[:, j] = frame[name].astype(str).map(top).fillna(most).astype(int)
    return codes


def variation(people: pd.DataFrame, released: pd.DataFrame) -> float:
    """Mean total variation of pairs of columns."""
    one, other = coded([people[list(released)], released], GROUPS)
    wide = GROUPS + 2
    found = []
    for i, j in itertools.combinations(range(one.shape[1]), 2):
        distributions = [
            np.bincount((c[:, i] + 1) * wide + c[:, j] + 1, minlength=wide**2) / len(c) for c in (one, other)
        ]
        found.append(np.abs(distributions[0] - distributions[1]).sum() / 2)
    return float(np.mean(found))


def attribute(
    released: pd.DataFrame, people: pd.DataFrame, outsiders: pd.DataFrame, public: list[str], seed: int
) -> np.ndarray:
    """How much more often the nearest printed row in all others has a column of people than of outsiders, by column."""
    n = min(ATTACKED, len(outsiders))
    asked = [side.sample(n, random_state=seed)[public] for side in (people, outsiders)]
    printed, *asked = coded([released[public], *asked], 16)
    right = []
    for side in asked:
        own = np.zeros((n, len(public)))
        for start in range(0, n, 50):
            differs = side[start : start + 50, None, :] != printed[None]
            unlike = differs.sum(axis=2, dtype=np.int16)
            for j in range(len(public)):
                nearest = (unlike - differs[:, :, j]).argmin(axis=1)
                own[start : start + 50, j] = ~differs[np.arange(len(nearest)), nearest, j]
        right.append(own.mean(axis=0))
    return right[0] - right[1]


def impossible(people: pd.DataFrame, released: pd.DataFrame) -> float:
    """Share of printed rows that break a dependency of one column on another which holds in the whole table."""
    broken = np.zeros(len(released), bool)
    for one, another in itertools.permutations(released, 2):
        both = people[[one, another]].astype(str)
        if both[one].nunique() > len(both) // 10 or both.groupby(one)[another].nunique().max() > 1:
            continue
        known = dict(zip(both[one], both[another], strict=True))
        expected = released[one].astype(str).map(known)
        broken |= (expected.notna() & (expected != released[another].astype(str))).to_numpy()
    return float(broken.mean())


def density(df: pd.DataFrame, sensitive: str, seed: int) -> tuple[float, float]:
    """AUC of the ratio of densities of people and a reference: by models of printed rows, and by the model itself."""
    people, others = halves(df, seed, 1 / 3)
    outsiders, reference = halves(others, seed, 1 / 2)
    asked = pd.concat([side[:ASKED] for side in (people, outsiders)], ignore_index=True)
    of_printed, of_models = [], []
    for rows in (people, reference):
        sanitizer = fitted(rows, sensitive, "model", seed)
        cells = sanitizer.tree_.assign({column: rows[column] for column in sanitizer.tree_.names})
        distribution = np.bincount(cells, minlength=sanitizer.tree_.n_cells)[None] / len(cells)
        of_models.append(log_density(sanitizer._release.printer, sanitizer.channel_.push(distribution)[0], asked))
        printed = sanitizer.transform(rows) if rows is people else rows.drop(columns=sensitive)
        of_printed.append(log_density(*modelled(printed), asked))
    is_member = np.arange(len(asked)) < min(ASKED, len(people))
    printed, model = (float(roc_auc_score(is_member, one - another)) for one, another in (of_printed, of_models))
    return printed, model


def modelled(rows: pd.DataFrame) -> tuple[RowModel, np.ndarray]:
    """What an adversary learns from rows: the same kind of model, and the share of each of its cells."""
    tree = sz.trees.grow(rows, np.zeros(len(rows), np.int64), BUDGET)
    model = RowModel.fit({name: rows[name] for name in rows}, tree.tree, tree.cells, NoiseKey.from_seed(0))
    return model, np.bincount(tree.cells, minlength=model.n_cells) / len(rows)


def densities(data: Path, n_seeds: int) -> None:
    """Both figures of density at the sizes that we aim at."""
    print("| table | people | density | of the model |\n|---|---|---|---|")
    for name, n in [*((name, 2_000) for name in TABLES if name != "PUMS"), ("generated", 50_000)]:
        found = []
        for seed in range(n_seeds):
            drawn = Source.of(2, 0).draw(3 * n, np.random.default_rng(100 + seed))
            df = table(name, data).sample(3 * n, random_state=seed) if TABLES[name][0] else drawn
            found.append(density(df, TABLES[name][1], seed))
        print(
            f"| {name} | {n:,} | {' | '.join(interval(np.array(one)) for one in zip(*found, strict=True))} |",
            flush=True,
        )


def interval(values: np.ndarray) -> str:
    """Mean, and half of its interval."""
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0
    return f"{values.mean():.3f} ± {half:.3f}"


def log_density(model: RowModel, p_y: np.ndarray, rows: pd.DataFrame) -> np.ndarray:
    """Logarithm of how likely a model prints each row, summed over its cells."""
    whole = [node.chances.sum(axis=2 if node.parent >= 0 else (0, 2), keepdims=True) for node in model.nodes]
    tables = [node.chances / total for node, total in zip(model.nodes, whole, strict=True)]
    own = [node.evidence.of_cells(np.arange(model.n_cells)).astype(float) for node in model.nodes]
    below = [np.broadcast_to(one, (len(tables[0]), *one.shape)).copy() for one in own]
    for k in range(len(tables) - 1, 0, -1):
        below[model.nodes[k].parent] *= below[k] @ tables[k].transpose(0, 2, 1)
    total = (tables[0] * below[0]).sum(axis=(0, 2))
    is_used = (p_y > 0) & (total > 0)
    states, found = [], np.zeros((len(tables[0]), len(rows)))
    for node, distribution in zip(model.nodes, tables, strict=True):
        widest = max(node.columns, key=lambda column: rows[column.name].nunique())
        state, value = states_of(widest, rows[widest.name])
        states.append(state)
        given = states[node.parent] if node.parent >= 0 else np.zeros(len(rows), int)
        found += np.log(np.maximum(distribution[:, given, state], 1e-12)) + value
    found = logsumexp(found, 0)
    of_cell = np.log(p_y[is_used] / total[is_used])
    tilts = [np.log(np.maximum(one[is_used], 1e-4)) for one in own]
    for start in range(0, len(rows), 500):
        part = slice(start, start + 500)
        tilted = sum(tilt[:, state[part]].T for tilt, state in zip(tilts, states, strict=True))
        found[part] += logsumexp(of_cell + tilted, 1)
    return found


def states_of(column: Any, values: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Likeliest state of each value, and the logarithm of its chance (or density) in it."""
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    known = {str(value): place for place, value in enumerate(column.values.to_pylist())}
    chance = np.full((len(distinct), len(column.first) - 1), 1e-12)
    for state in range(chance.shape[1]):
        part = slice(column.first[state], column.first[state + 1])
        weights = column.weights[part] / column.weights[part].sum()
        of_place = dict(zip(column.places[part].tolist(), weights, strict=True))
        low, high = (float(end * (column.unit or 1)) for end in column.ends[state])
        for v, value in enumerate(distinct):
            if pd.isna(value):
                chance[v, state] += of_place.get(MISSING, 0.0)
                continue
            chance[v, state] += of_place.get(known.get(str(value), 1 << 40), 0.0)
            if BETWEEN in of_place and low <= float(value) <= high:
                span = max((high - low) / float(column.unit or 1) + (column.unit is not None), 1e-9)
                chance[v, state] += of_place[BETWEEN] / span
    best = chance.argmax(axis=1)
    return best[codes], np.log(chance[np.arange(len(best)), best])[codes]


def speed(data: Path) -> None:
    """CPU seconds of printing alone: learning the model and drawing every row."""
    adult = pd.read_parquet(data / "adult.parquet").drop(columns=["split", "income"])
    for df in (adult, adult.sample(1_000_000, replace=True, random_state=0, ignore_index=True)):
        tree = sz.trees.grow(df, np.zeros(len(df), np.int64), BUDGET)
        began, words = time.process_time(), NoiseKey.from_seed(0)
        model = RowModel.fit({name: df[name] for name in df}, tree.tree, tree.cells, words)
        learned = time.process_time()
        model.decode(tree.cells, words)
        drawn = time.process_time()
        print(f"{len(df):,} x {df.shape[1]}: {learned - began:.1f} s to learn, {drawn - learned:.1f} s to draw")


SHOWN = {
    "Copies": "copies", "The rest of a record": "read off", "Linkability": "linked", "Singling out": "singled out",
    SECRET: "secret", "Nearest row": "nearest", "density": "density", "density, model": "of the model",
    "attribute": "attribute", "attribute, worst": "worst", "TV": "TV", "TV, outsiders": "TV of outsiders",
    "analyst, raw": "raw analyst", "analyst": "analyst", "analyst, ignoring": "ignoring", "impossible": "impossible",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the tables as Parquet")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--density", action="store_true")
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args()
    if given.density:
        densities(given.data, given.seeds)
        return
    if given.speed:
        speed(given.data)
        return
    print(f"| table | release | {' | '.join(SHOWN.values())} |\n{'|---' * (len(SHOWN) + 2)}|")
    for name in given.tables:
        runs = [one_run(name, given.data, seed) for seed in range(given.seeds)]
        for label in runs[0]:
            found = {figure: np.array([run[label][figure] for run in runs]) for figure in runs[0][label]}
            of_columns = [values for figure, values in found.items() if figure.startswith("attribute, ")]
            if of_columns:
                found["attribute, worst"] = max(of_columns, key=np.mean)
            cells = [interval(found[figure]) if figure in found else "" for figure in SHOWN]
            print(f"| {name} | {label} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
