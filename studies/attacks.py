"""The family of attacks of `judge`: false alarms, each attack alone, an order of releases, others' releases, and speed.

    python studies/attacks.py alarms --runs 1000     # releases that have nothing to do with their people
    python studies/attacks.py alone --data FOLDER    # each attack on Adult, credit, bank, the survey, heart disease
    python studies/attacks.py order                  # programs, by the family and by shadow releases
    python studies/attacks.py others FOLDER ...      # people.parquet, fresh.parquet, spec.json, NAME.parquet
    python studies/attacks.py speed                  # 48,000 x 13, and 12,000 outsiders

Differences are of 100: people in the data less people outside it; of a ranking above chance, 50. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm, spearmanr
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KernelDensity, NearestNeighbors
from sklearn.preprocessing import QuantileTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sanitize as sz
from sanitize.auditing.attack._family.membership import most_informative_tree

LIMIT = sz.LiftBudget(at_most=1.65, at_least=0.37)
SHADOW = "Shadow releases"
TABLES = {
    "adult": ("adult", "income", ["split", "fnlwgt"]),
    "bank": ("bank_marketing", "y", []),
    "credit": ("credit_default", "default_payment", []),
    "heart_disease": ("heart_disease", "num", ["site"]),
}
Program = Callable[[pd.DataFrame], pd.DataFrame]


# ------------------------------------------------------------------------------------------------------ false alarms


def drawn(rng: np.random.Generator, n: int, n_columns: int) -> pd.DataFrame:
    """Rows of one population: numbers, categories and gaps that go together, and a secret that goes with them."""
    group = rng.integers(0, 3, n)
    kinds = [
        lambda: np.round(rng.normal(group, 1, n), 1),
        lambda: (group + rng.integers(0, 4, n)) % 8,
        lambda: np.where(rng.random(n) < 0.1, None, np.array(["p", "q"])[rng.integers(0, 2, n)]),
    ]
    columns = {f"x{j}": kinds[j % 3]() for j in range(n_columns)}
    return pd.DataFrame({"s": rng.random(n) < 0.2 + 0.2 * group, **columns})


def alarms(runs: int) -> None:
    """How often a release of other people is refuted at an excess of 0; half of them do not hold the secret."""
    refuted = {"promised": 0, "membership": 0, "either": 0}
    nominal = 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        sizes = rng.integers((30, 10, 30), (400, 300, 500))
        people, outsiders, released = (drawn(rng, n, 1 + seed % 7) for n in sizes)
        released = released if seed % 2 else released.drop(columns="s")
        found = sz.auditing.attack.judge(
            released, people, outsiders=outsiders, sensitive="s", excess=0, random_state=seed
        )
        refuted["promised"] += found.promised == "refuted"
        refuted["membership"] += found.membership == "refuted"
        refuted["either"] += not found.ok
        nominal += any(result.chance is not None and result.chance <= 0.03 for result in found.results)
    print(f"{runs} runs: refuted {refuted} (nominal for either: {0.025 * runs:g}); chance at most 3 %: {nominal}")


# ------------------------------------------------------------------------------------------------- releases of tables


def halves(rows: pd.DataFrame, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Half of the rows are people, the others outsiders."""
    rows = rows.sample(frac=1, random_state=seed, ignore_index=True)
    return rows[: len(rows) // 2], rows[len(rows) // 2 :].reset_index(drop=True)


def model(rows: pd.DataFrame, secret: str, n_classes: int | None = None) -> pd.DataFrame:
    """A generated table of the library."""
    return sz.LatentClassRelease(LIMIT, sensitive=secret, n_classes=n_classes).fit_transform(rows)


def sequential(rows: pd.DataFrame, leaf: int = 5, smooth: bool = False) -> pd.DataFrame:
    """One column after the other from the leaves of a tree on the columns before, as common generators do."""
    rng = np.random.default_rng()
    coded = rows.apply(lambda c: c if pd.api.types.is_numeric_dtype(c) else pd.factorize(c, sort=True)[0]).fillna(-1)
    made = pd.DataFrame(index=rows.index)
    for j, name in enumerate(coded):
        if not j:
            made[name] = rng.permutation(coded[name])
            continue
        is_number = pd.api.types.is_numeric_dtype(rows[name]) and rows[name].nunique() > 20
        tree = (DecisionTreeRegressor if is_number else DecisionTreeClassifier)(min_samples_leaf=leaf)
        own = tree.fit(coded.iloc[:, :j], coded[name]).apply(coded.iloc[:, :j])
        donors = pd.Series(coded[name].to_numpy()).groupby(own).apply(np.array)
        values = np.array([rng.choice(donors[leaf]) for leaf in tree.apply(made)], float)
        made[name] = values + rng.normal(0, coded[name].std() / 10, len(made)) * (smooth and is_number)
    for name in rows:
        if not pd.api.types.is_numeric_dtype(rows[name]):
            levels = np.append(pd.factorize(rows[name], sort=True)[1], None)
            made[name] = levels[made[name].round().astype(int)]
        elif pd.api.types.is_integer_dtype(rows[name]):
            made[name] = made[name].round().astype("int64")
    return made


def alone(data: Path, most: int) -> None:
    """Excess of four attacks of the literature, each run alone, and of the family of `judge`."""
    print(f"| table, release | {' | '.join(REFERENCES)} | worst of `judge` | membership | promised |")
    for name in ("adult", "bank", "credit", "heart_disease", "survey"):
        if name == "survey":
            rows, secret = sz.datasets.load_survey(), "depression"
        else:
            file, secret, dropped = TABLES[name]
            rows = pd.read_parquet(data / f"{file}.parquet").drop(columns=dropped, errors="ignore")
        rows = rows.sample(min(len(rows), most), random_state=0, ignore_index=True)
        if name == "heart_disease":
            rows[secret] = rows[secret] > 0
        people, outsiders = halves(rows)
        for kind, released in (("sequential", sequential(people)), ("library", model(people, secret))):
            found = sz.auditing.attack.judge(released, people, outsiders=outsiders, sensitive=secret)
            worst = worst_on_membership(found)
            each = references(*(table.drop(columns=secret, errors="ignore") for table in (released, people, outsiders)))
            cells = [*(f"{100 * each[title]:.1f}" for title in REFERENCES)]
            cells += [
                f"{100 * (worst.difference or 0):.1f} ({worst.title})",
                str(found.membership),
                str(found.promised),
            ]
            print(f"| {name}, {kind} | {' | '.join(cells)} |", flush=True)


def worst_on_membership(found: sz.auditing.attack.Judgement) -> sz.auditing.attack.AttackResult:
    """Attack on membership that finds most."""
    return max((one for one in found.results if one.claim == "membership"), key=lambda one: one.difference or 0)


REFERENCES = ("nearest row", "calibrated nearest row", "density ratio", "local neighbourhood")


def references(released: pd.DataFrame, people: pd.DataFrame, outsiders: pd.DataFrame) -> dict[str, float]:
    """Excess of four attacks of the literature by scikit-learn: area under the curve less a half.

    Distances are sums of differences of ranks, and 1 where categories differ; rows of the same population are all
    targets. The density ratio is that of two kernel estimates on the first principal components.
    """
    tables = pd.concat([released, people, outsiders], keys=range(3))[released.columns]
    columns = []
    for name in tables:
        numbers = pd.to_numeric(tables[name], errors="coerce")
        if pd.api.types.is_numeric_dtype(released[name]) and released[name].nunique() > 2:
            ranks = QuantileTransformer(n_quantiles=min(1000, len(released))).fit(numbers.loc[0].to_frame())
            columns.append(np.nan_to_num(ranks.transform(numbers.to_frame()), nan=2))
        else:
            columns.append(pd.get_dummies(tables[name].astype(str)).to_numpy() / 2)
    coded = np.concatenate(columns, axis=1)
    rows, targets = coded[: len(released)], coded[len(released) :]
    is_person = np.arange(len(targets)) < len(people)
    nearest = manhattan(rows).kneighbors(targets)[0][:, 0]
    population = manhattan(targets).kneighbors(n_neighbors=1)[0][:, 0]  # a target is not its own neighbour
    near = manhattan(rows).radius_neighbors(targets, np.median(nearest), return_distance=False)
    few = PCA(min(4, coded.shape[1]), random_state=0).fit(targets)
    kernels = (KernelDensity(bandwidth=0.1).fit(few.transform(side)) for side in (rows, targets))
    own, usual = (kernel.score_samples(few.transform(targets)) for kernel in kernels)
    scores = (-nearest, (population + 0.01) / (nearest + 0.01), own - usual, np.array([len(found) for found in near]))
    return {title: roc_auc_score(is_person, score) - 0.5 for title, score in zip(REFERENCES, scores, strict=True)}


def manhattan(rows: np.ndarray) -> NearestNeighbors:
    """Search among rows by sums of differences."""
    return NearestNeighbors(n_neighbors=1, metric="manhattan").fit(rows)


# --------------------------------------------------------------------------------------------------- order of releases


def moved(rows: pd.DataFrame, share: float = 0.33) -> pd.DataFrame:
    """A share of the values of each column dealt anew (post-randomization that keeps frequencies)."""
    rng = np.random.default_rng()
    changed = {name: np.where(rng.random(len(rows)) < share, rng.permutation(rows[name]), rows[name]) for name in rows}
    return pd.DataFrame(changed).astype(rows.dtypes.to_dict())


def boxes(rows: pd.DataFrame, secret: str, k: int = 10) -> pd.DataFrame:
    """A k-anonymous release: medians cut the rows by one number after the other; other public columns are one set."""
    numbers = list(rows.drop(columns=secret).select_dtypes("number"))
    made = rows.astype(dict.fromkeys(numbers, object)).assign(
        **dict.fromkeys(rows.columns.difference([*numbers, secret]), "*")
    )

    def cut(own: pd.DataFrame) -> None:
        for name in sorted(numbers, key=lambda name: -own[name].rank(pct=True).std()):
            low = own[name] <= own[name].median()
            if min(low.sum(), (~low).sum()) >= k:
                cut(own[low])
                cut(own[~low])
                return
        made.loc[own.index, numbers] = [f"[{own[name].min()}, {own[name].max()}]" for name in numbers]

    cut(rows.reset_index(drop=True))
    return made


def noisy_tree(rows: pd.DataFrame, epsilon: float = 1.0) -> pd.DataFrame:
    """A tree of most informative pairs with noisy counts, as MST has them; here the tree itself is exact."""
    rng = np.random.default_rng()
    groups = {name: in_groups(rows[name]) for name in rows}
    codes = np.column_stack([code for code, _ in groups.values()])
    sizes = [len(values) for _, values in groups.values()]
    made = np.zeros_like(codes)
    for parent, child in [(-1, 0), *most_informative_tree(codes, sizes)]:
        above, new_above = (np.zeros(len(rows), int) if parent < 0 else side[:, parent] for side in (codes, made))
        counts = np.zeros((sizes[parent] if parent >= 0 else 1, sizes[child]))
        np.add.at(counts, (above, codes[:, child]), 1)
        counts = np.maximum(counts + rng.laplace(0, len(sizes) / epsilon, counts.shape), 1e-3)
        bounds = np.cumsum(counts / counts.sum(axis=1, keepdims=True), axis=1)
        made[:, child] = (rng.random((len(rows), 1)) > bounds[new_above, :-1]).sum(axis=1)
    return pd.DataFrame(
        {
            name: [rng.choice(values[code]) for code in made[:, j]]
            for j, (name, (_, values)) in enumerate(groups.items())
        }
    )


def in_groups(column: pd.Series, most: int = 16) -> tuple[np.ndarray, list[np.ndarray]]:
    """Group of each value, numbers in equally many rows, and the values that each group is written as."""
    if column.nunique() > most:
        edges = np.unique(column.quantile(np.linspace(0, 1, most + 1)).to_numpy())
        code = np.clip(np.searchsorted(edges, column, "right") - 1, 0, len(edges) - 2)
        return code, [np.arange(np.ceil(low), max(high, np.ceil(low) + 1)) for low, high in pairwise(edges)]
    code, values = pd.factorize(column, sort=True)
    return code, [np.array([value]) for value in values]


def copula(rows: pd.DataFrame) -> pd.DataFrame:
    """A Gaussian copula: normal scores with the correlations of the table, read off its own quantiles."""
    rng = np.random.default_rng()
    order = {name: np.argsort(rows[name].to_numpy(), kind="stable") for name in rows}
    scores = np.empty(rows.shape)
    for j, places in enumerate(order.values()):
        scores[places, j] = norm.ppf((np.arange(len(rows)) + 0.5) / len(rows))
    drawn = rng.multivariate_normal(np.zeros(scores.shape[1]), np.corrcoef(scores.T), len(rows))
    places = (norm.cdf(drawn) * len(rows)).astype(int)
    return pd.DataFrame({name: rows[name].to_numpy()[own[places[:, j]]] for j, (name, own) in enumerate(order.items())})


def private(rows: pd.DataFrame, secret: str) -> pd.DataFrame:
    """The library's private rows at eps 1: values of text are declared, numbers cut at round edges."""
    texts = rows.columns[[not pd.api.types.is_numeric_dtype(rows[name]) for name in rows]]
    values = {name: sorted(rows[name].unique()) for name in texts}
    bins = {name: in_groups(rows[name], 8)[1] for name in rows.columns.difference(texts)}
    edges = {
        name: [*(int(np.ceil(group[0])) for group in groups), int(groups[-1][-1]) + 1] for name, groups in bins.items()
    }
    promise = sz.transformers.RecordDP(eps=1, values=values)
    given = {"sensitive": secret, "confidence": 0.95, "bins": edges, "record_dp": promise}
    return sz.LatentClassRelease(LIMIT, n_classes=1, **given).fit_transform(rows)


def programs(secret: str) -> dict[str, Program]:
    """Programs that make a release of a table again, from raw rows to rows by noisy counts.

    Those of other tools are stand-ins of a few lines, so that they can be run seventeen times.
    """

    def tuples(rows: pd.DataFrame) -> pd.DataFrame:
        names = ["occupation", "shifts", "school_years"]
        return sz.frames.release(rows[[*names, secret]], sz.SubsetMerging(LIMIT, sensitive=secret, public=names))

    return {
        "raw rows": lambda rows: rows.sample(frac=1),
        "bootstrap": lambda rows: rows.sample(frac=1, replace=True),
        "sequential trees": sequential,
        "sequential trees, smoothed": lambda rows: sequential(rows, 10, smooth=True),
        "a third of the values moved": moved,
        "boxes of ten rows": lambda rows: boxes(rows, secret),
        "noisy tree of pairs": noisy_tree,
        "Gaussian copula": copula,
        "combinations": tuples,
        "latent classes": lambda rows: model(rows, secret),
        "one class": lambda rows: model(rows, secret, n_classes=1),
        "private rows": lambda rows: private(rows, secret),
    }


def order(n: int) -> None:
    """Rank correlation of the worst attack on membership without shadow releases, and of shadow releases."""
    rows = sz.datasets.load_survey().sample(2 * n, random_state=1, ignore_index=True)
    people, outsiders = halves(rows)
    family, shadow = [], []
    for name, program in programs("depression").items():
        given = {"outsiders": outsiders, "sensitive": "depression", "releaser": program}
        found = sz.auditing.attack.judge(program(people), people, **given)
        # Of all targets, or of those that an attack is surest of, as the judgement has it.
        all_of = {one.title: one.difference or 0 for one in found.results if one.figure == "ranking"}
        shadow.append(all_of.pop(SHADOW))
        family.append(max(all_of.values()))
        worst = max(all_of, key=lambda title: all_of[title])
        print(f"{name}: {worst} {100 * family[-1]:.1f}, shadow releases {100 * shadow[-1]:.1f}", flush=True)
    print(f"rank correlation {spearmanr(family, shadow).statistic:.2f}")


# --------------------------------------------------------------------------------------------- releases of other tools


def others(folders: list[Path]) -> None:
    """A row of a table for each release of a folder."""
    print("| table | release | promised | worst | membership | worst |\n|---|---|---|---|---|---|")
    for folder in folders:
        people, fresh = (pd.read_parquet(folder / f"{name}.parquet") for name in ("people", "fresh"))
        spec = json.loads((folder / "spec.json").read_text())
        for file in sorted(folder.glob("*.parquet")):
            if file.stem in ("people", "fresh"):
                continue
            found = sz.auditing.attack.judge(pd.read_parquet(file), people, outsiders=fresh, sensitive=spec["secret"])
            cells = []
            for claim in ("promised", "membership"):
                one = next(result for result in found.results if result.claim == claim)
                cells += [
                    getattr(found, claim),
                    f"{one.title} {100 * one.people:.1f} / {100 * (one.outsiders or 0):.1f}",
                ]
            print(f"| {folder.name} | {file.stem} | {' | '.join(map(str, cells))} |", flush=True)


def speed() -> None:
    """Seconds of a table of independent columns."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({f"x{j}": rng.integers(0, 4 ** (1 + j % 6), 60_000) for j in range(13)})
    released = pd.DataFrame({name: rng.permutation(rows[name][:48_000]) for name in rows})
    wall, cpu = time.perf_counter(), time.process_time()
    sz.auditing.attack.judge(released, rows[:48_000], outsiders=rows[48_000:], sensitive="x0")
    print(f"48,000 x 13: {time.perf_counter() - wall:.0f} s, {time.process_time() - cpu:.0f} s of CPU time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("alarms", "alone", "order", "others", "speed"))
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the tables as Parquet")
    parser.add_argument("--rows", type=int, default=6000, help="rows of each table at most, half of them people")
    given = parser.parse_args()
    if given.part == "alarms":
        alarms(given.runs)
    elif given.part == "alone":
        alone(given.data, given.rows)
    elif given.part == "order":
        order(given.rows // 4)
    elif given.part == "others":
        others(given.folders)
    else:
        speed()


if __name__ == "__main__":
    main()
