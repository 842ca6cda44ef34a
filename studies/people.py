"""Whole people: what is left of histories, and what somebody who reads a whole one learns of the secret.

    python studies/people.py told --samples 200              # adversaries against the distribution they come from
    python studies/people.py kept --data FOLDER              # analysts and copies, people apart
    python studies/people.py private --people 37500 --visits 6    # with record_dp of whole people
    python studies/people.py speed --people 10000 --visits 40

Sources are generated, so that people beyond the table can be had from the distribution itself: patients with a secret,
visits whose codes, costs, wards and dates depend on it, on a target and on who they are, and items of the visits. In
`told` latent classes are fitted to a sample within 1.65 and 0.37 times at a confidence of 0.95, once over whole people
and once over rows; 100,000 fresh people say what their symbols tell. In `kept` an analyst trains on the release of some
people and is tested on raw histories of others. credit_default is a table of shared data made relational: 30,000
clients, and six months of each with status, bill and payment; its target is the default, its secret the marriage.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sanitize as sz
from sanitize.people import Child, UnitRelease

BUDGET = sz.LiftBudget(at_most=1.65, at_least=0.37)
CODES = np.array(list("ABCDEFGHIJKL"))
LINKS = {"visits": Child(order="day", id="visit"), "items": Child(key="visit", parent="visits")}


def people(n: int, seed: int, visits: float) -> dict[str, pd.DataFrame]:
    """Patients, visits and items drawn from one distribution; people are independent."""
    fixed, rng = np.random.default_rng(0), np.random.default_rng(seed)
    base = fixed.dirichlet(np.full(12, 3.0))
    ill, age = rng.random(n) < 0.3, rng.integers(18, 90, n)
    target = rng.random(n) < 1 / (1 + np.exp(-(age - 55) / 15))
    of_secret = np.exp(np.where(ill[:, None], np.linspace(0.5, -0.5, 12), 0.0))
    of_target = np.exp(np.where(target[:, None], np.linspace(-0.6, 0.6, 12) * np.tile([1, -1], 6), 0.0))
    weights = base * of_secret * of_target * rng.gamma(2, 0.5, (n, 12))
    weights /= weights.sum(axis=1, keepdims=True)
    of = np.repeat(np.arange(n), rng.poisson(np.exp(rng.normal(0, 0.5, n)) * visits * (1 + 0.4 * target)))
    first = np.append(True, of[1:] != of[:-1])[: len(of)]
    code = (rng.random(len(of))[:, None] > weights.cumsum(axis=1)[of]).sum(axis=1).clip(max=11)
    stays = ~first & (rng.random(len(of)) < 0.4)
    code = code[np.maximum.accumulate(np.where(stays, 0, np.arange(len(of))))]
    gaps = np.where(first, 0, rng.geometric(1 / (20 + 10 * (code % 3))))
    days = np.cumsum(gaps)
    days += np.repeat(
        rng.integers(0, 300, first.sum()) - days[first], np.diff(np.append(np.flatnonzero(first), len(of)))
    )
    ward = np.where(rng.random(len(of)) < 0.7, np.array(["x", "y", "z"])[code % 3], "w")
    table = pd.DataFrame(
        {
            "patient": of,
            "visit": rng.permutation(len(of)),
            "day": (np.datetime64("2020-01-01") + days).astype("datetime64[s]"),
            "code": CODES[code],
            "cost": np.round(np.exp(rng.normal(3 + 0.1 * code, 0.6)), 2),
            "ward": ward,
        }
    )
    of = np.repeat(np.arange(len(table)), rng.poisson(1 + 0.2 * code))
    drug = CODES[(code[of] + rng.integers(0, 3, len(of))) % 12]
    items = {"visit": table["visit"].to_numpy()[of], "drug": drug, "dose": rng.integers(1, 5, len(of)) * 10}
    patients = {"patient": np.arange(n), "ill": ill, "age": age, "target": target, "sex": rng.choice(["f", "m"], n)}
    return {"patients": pd.DataFrame(patients), "visits": table, "items": pd.DataFrame(items)}


def units_of(by: object = None, **changed: object) -> UnitRelease:
    design = by or sz.LatentClassRelease(BUDGET, sensitive="ill", confidence=0.95)
    return UnitRelease(design, **{"key": "patient", "children": LINKS, "root": "patients", **changed})


# ------------------------------------------------------------------------------------- what is told


def told_by(samples: int, n: int, visits: float, n_tables: int) -> None:
    """Largest lifts of whole histories, and with two tables of rows, over samples, under the distribution."""
    links = LINKS if n_tables == 3 else {"visits": LINKS["visits"]}

    def profiles(seed: int, size: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        tables = people(size, seed, visits)
        if n_tables == 3:
            return units_of().profiles(tables), None
        rows = tables["visits"].merge(tables["patients"], on="patient").drop(columns=["visit", "day"])
        return units_of(children=links).profiles(tables), rows.astype({"ill": int})

    fresh, fresh_rows = profiles(10**6, 100_000 if n_tables == 2 else 60_000)
    secret = fresh["ill"].to_numpy()
    found = {"people": [], "rows": []}
    over = {"people": 0, "rows": 0}
    for sample in range(samples):
        whole, rows = profiles(sample, n)
        sides = [("people", whole, fresh)]
        if rows is not None:
            sides.append(("rows", rows.drop(columns="patient"), fresh_rows))
        for name, table, other in sides:
            design = sz.LatentClassRelease(BUDGET, sensitive="ill", confidence=0.95).fit(table)
            classes, matrix = design.bare_release().layout.partition, design.channel_.sparse_matrix().toarray()
            cells = classes.assign(other)
            if name == "people":
                told = np.stack([np.bincount(cells[secret == s], minlength=len(matrix)) @ matrix for s in (0, 1)])
            else:
                drawn = (np.random.default_rng(sample).random(len(cells))[:, None] > matrix.cumsum(axis=1)[cells]).sum(
                    axis=1
                )
                told = read_whole(drawn, other, matrix, classes.assign(table), table, secret)
            lifts = told / told.sum(axis=0) / (told.sum(axis=1) / told.sum())[:, None]
            enough = told.sum(axis=0) >= len(fresh) / 200
            found[name].append((lifts[:, enough].max(), lifts[:, enough].min()))
            over[name] += bool(found[name][-1][0] > 1.65 or found[name][-1][1] < 0.37)
    for name, figures in ((name, figures) for name, figures in found.items() if figures):
        most, least = np.array(figures).T
        print(
            f"| {name} | {over[name]} of {samples} | {np.median(most):.2f} (at most {most.max():.2f}) "
            f"| {np.median(least):.2f} (at least {least.min():.2f}) |"
        )


def read_whole(drawn, other, matrix, cells, table, secret):
    """Fresh people by the secret and how likely all of their symbols make it, in hundredths of them."""
    ill = table["ill"].to_numpy()
    told = np.stack([np.bincount(cells[ill == s], minlength=len(matrix)) @ matrix for s in (0, 1)]) + 0.5
    score = np.log(told[1] / told[1].sum()) - np.log(told[0] / told[0].sum())
    total = np.bincount(other["patient"], score[drawn], len(secret))
    groups = np.searchsorted(np.quantile(total, np.linspace(0, 1, 101)[1:-1]), total, side="right")
    return np.stack([np.bincount(groups[secret == s], minlength=100) for s in (0, 1)])


# ---------------------------------------------------------------------------------------- what is kept


def hospital_features(tables: dict[str, pd.DataFrame]) -> np.ndarray:
    """What an analyst makes of histories: counts of codes, shares of wards, money, number of visits."""
    visits = tables["visits"]
    made = pd.crosstab(visits["patient"], visits["code"]).reindex(columns=CODES, fill_value=0)
    made["n"], made["cost"] = made.sum(axis=1), visits.groupby("patient")["cost"].mean()
    made["all"] = visits.groupby("patient")["cost"].sum()
    for ward in "wxyz":
        made[ward] = (visits["ward"] == ward).groupby(visits["patient"]).mean()
    return made.reindex(tables["patients"]["patient"]).fillna(0).to_numpy()


def credit_features(tables: dict[str, pd.DataFrame]) -> np.ndarray:
    """Mean, largest, first and last of each column of the months."""
    by = tables["months"].sort_values("month").groupby("client")[["status", "bill", "paid"]]
    made = pd.concat([by.mean(), by.max(), by.first(), by.last()], axis=1)
    return made.reindex(tables["clients"]["client"]).fillna(0).to_numpy()


def credit(data: Path) -> dict[str, pd.DataFrame]:
    """credit_default as clients and months, the first of them April."""
    table = pd.read_parquet(data / "credit_default.parquet").rename(columns=str.lower)
    own = ["limit_bal", "sex", "education", "age", "marriage", "default_payment"]
    clients = table[own].assign(client=np.arange(len(table)))
    months = []
    for month, number in enumerate((6, 5, 4, 3, 2, 1), 1):
        names = {
            "status": f"pay_{0 if number == 1 else number}",
            "bill": f"bill_amt{number}",
            "paid": f"pay_amt{number}",
        }
        own = {new: table[old] for new, old in names.items()}
        months.append(pd.DataFrame({"client": clients["client"], "month": month, **own}))
    return {"clients": clients, "months": pd.concat(months)}


def some(tables: dict[str, pd.DataFrame], root: str, key: str, chosen: np.ndarray) -> dict[str, pd.DataFrame]:
    """Tables of some of the people."""
    made = {root: tables[root][chosen]}
    for name, table in tables.items():
        if name != root:
            link = key if key in table else "visit"
            owners = made[root] if link == key else made["visits"]
            made[name] = table[table[link].isin(owners[link])]
    return made


def kept(name, tables, units, root, key, child, columns, target, features) -> None:
    """Figures of one source: people of four fifths are released, the others judge."""
    chosen = np.random.default_rng(1).random(len(tables[root])) < 0.8
    inside, outside = (some(tables, root, key, mask) for mask in (chosen, ~chosen))
    released = units.fit(inside).release()
    section = next(part for part in units.report_.sections if part.name == "units")
    for row in section.rows:
        print(f"{name}, {row[0]}: {row[1]:.0f} rows, {row[2]:.0f} printed; KS {row[3]:.3f}, transitions {row[4]:.3f}")
    learners = (
        ("boosting", HistGradientBoostingClassifier(random_state=0)),
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))),
    )
    truth = outside[root][target].astype(int)
    for learner, model in learners:
        aucs = []
        for training in (inside, released):
            model.fit(features(training), training[root][target].astype(int))
            aucs.append(roc_auc_score(truth, model.predict_proba(features(outside))[:, 1]))
        raw, made = aucs
        print(
            f"{name}, {learner}: AUC raw {raw:.3f}, released {made:.3f}: {(made - 0.5) / (raw - 0.5):.2f} of the excess"
        )
    histories = [told(of[child], key, columns) for of in (inside, outside, released)]
    few = min(map(len, histories[:2]))
    rng, printed = np.random.default_rng(2), histories[2]
    for who, known in (("people", rng.choice(histories[0], few, replace=False)), ("outsiders", histories[1])):
        print(f"{name}: {np.isin(printed, known).mean():.4f} of printed histories are those of as many {who}")
    profiles, people_of, others = (units.profiles(of) for of in (released, inside, outside))
    print(
        sz.auditing.attack.judge(profiles, people_of, outsiders=others, sensitive=units.sanitizer.sensitive).to_text()
    )
    released, people_of, others = (units.halves(of) for of in (released, inside, outside))
    half = [column for column in released if column.startswith("later")]
    judged = sz.auditing.attack.judge(
        released, people_of, outsiders=others, sensitive=units.sanitizer.sensitive, half=half
    )
    linked = next(result for result in judged.results if result.title == "Linkability")
    print(f"{name}, halves of a history: {100 * linked.people:.1f} of 100 people linked; {100 * linked.outsiders:.1f}")


def told(rows: pd.DataFrame, key: str, columns: list[str]) -> np.ndarray:
    """The history of each person as one text."""
    lines = rows[columns].astype(str).agg("|".join, axis=1)
    return lines.groupby(rows[key].to_numpy()).agg("/".join).to_numpy()


# --------------------------------------------------------------------------------------------- private

CODES_AND_SUCH = {
    "ill": [False, True],
    "target": [False, True],
    "sex": ["f", "m"],
    "visits: code": list(CODES),
    "visits: ward": list("wxyz"),
    "items: drug": list(CODES),
    "items: dose": [10, 20, 30, 40],
}
EDGES = {
    "age": [18, 30, 40, 50, 60, 70, 90],
    "visits: number of rows": [0, 1, 2, 4, 7, 11, 18, 40],
    "visits: first day": ["2020-01-01", "2020-04-01", "2020-07-01", "2020-10-27"],
    "visits: distance of day": [0, 5, 10, 20, 40, 80, 200],
    "visits: cost": [0, 10, 20, 30, 50, 100, 300],
    "items: number of rows": [0, 1, 2, 3, 4, 6, 12],
}


def transitions(visits: pd.DataFrame) -> pd.Series:
    """Shares of each pair of a code and the one before, of all visits."""
    visits = visits.sort_values(["patient", "day"])
    last = visits["code"].shift().where(visits["patient"] == visits["patient"].shift(), "none")
    return pd.DataFrame({"last": last, "code": visits["code"]}).value_counts(normalize=True)


def private(n: int, visits: float, runs: int) -> None:
    """Releases with record_dp beside the one without, raw rows, and rows that are dealt to others at random."""
    tables = people(n, 0, visits)
    chosen = np.random.default_rng(1).random(n) < 0.8
    inside, outside = (some(tables, "patients", "patient", mask) for mask in (chosen, ~chosen))
    truth, raw = outside["patients"]["target"].astype(int), transitions(inside["visits"])

    def figures(name: str, made: list[dict[str, pd.DataFrame]]) -> None:
        aucs, moved = [], []
        for training in made:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            model.fit(hospital_features(training), training["patients"]["target"].astype(int))
            aucs.append(roc_auc_score(truth, model.predict_proba(hospital_features(outside))[:, 1]))
            moved.append(transitions(training["visits"]).sub(raw, fill_value=0).abs().sum() / 2)
        print(f"| {name} | {' '.join(f'{x:.2f}' for x in aucs)} | {' '.join(f'{x:.2f}' for x in moved)} |", flush=True)

    figures("raw", [inside])
    dealt = inside["visits"].assign(patient=np.random.default_rng(0).permutation(inside["visits"]["patient"]))
    figures("rows dealt to others at random", [inside | {"visits": dealt}])
    figures("without record_dp", [units_of().fit(inside).release() for _ in range(runs)])
    for few in (True, False):
        nothing = {name: () for name in ("code", "ward", "cost") if few}
        items = {name: () for name in ("drug", "dose") if few}
        links = {"visits": Child(order="day", id="visit", summaries=nothing)}
        links["items"] = Child(key="visit", parent="visits", summaries=items)
        for eps in (1.0, 3.0, 10.0):
            promise = sz.transformers.RecordDP(eps, CODES_AND_SUCH)
            design = sz.LatentClassRelease(BUDGET, sensitive="ill", confidence=0.95, bins=EDGES, record_dp=promise)
            made = [units_of(by=design, children=links).fit(inside).release() for _ in range(runs)]
            figures(f"eps {eps:g}, profiles {'without shares and means' if few else 'of all'}", made)


# ------------------------------------------------------------------------------------------------ speed


def speed(n: int, visits: float) -> None:
    """Seconds of a processor, and memory."""
    tables = people(n, 0, visits)
    size = {name: len(table) for name, table in tables.items()}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start, units = time.process_time(), units_of()
    units.fit(tables)
    fitted = time.process_time()
    units.release()
    end = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{size}: fit {fitted - start:.1f} s, release {end - fitted:.1f} s; {peak:.0f} MiB, {before:.0f} before")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("told", "kept", "private", "speed"))
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--people", type=int, default=15_000)
    parser.add_argument("--visits", type=float, default=20.0)
    parser.add_argument("--tables", type=int, choices=(2, 3), default=2)
    parser.add_argument("--data", type=Path, default=Path("data"))
    args = parser.parse_args()
    if args.part == "told":
        told_by(args.samples, args.people, args.visits, args.tables)
    elif args.part == "private":
        private(args.people, args.visits, 3)
    elif args.part == "speed":
        speed(args.people, args.visits)
    else:
        tables = people(args.people, 0, args.visits)
        columns = ["code", "ward", "cost"]
        kept("hospital", tables, units_of(), "patients", "patient", "visits", columns, "target", hospital_features)
        design = sz.LatentClassRelease(BUDGET, sensitive="marriage", confidence=0.95)
        summaries = dict.fromkeys(("status", "bill", "paid"), ("mean", "max", "first", "last"))
        links = {"months": Child(order="month", summaries=summaries)}
        clients = UnitRelease(design, key="client", children=links, root="clients")
        columns = ["status", "bill", "paid"]
        kept(
            "credit",
            credit(args.data),
            clients,
            "clients",
            "client",
            "months",
            columns,
            "default_payment",
            credit_features,
        )


if __name__ == "__main__":
    main()
