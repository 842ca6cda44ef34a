"""Whole units under differential privacy: all that is published depends on each through noisy counts of one record.

Two sets of tables differ in one unit: its row of the root, and with it as many rows of the others as it likes.
"""

from __future__ import annotations

import contextlib
import pickle
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from relational_cases import CODES, hospital

import sanitize as sz
from sanitize.core.confidence import clopper_pearson
from sanitize.core.profiles import design_rows
from sanitize.errors import ColumnError, InvalidParameter, LedgerError
from sanitize.over_time import DPLedger
from sanitize.people import Child, UnitRelease, _private, _release
from sanitize.people._private import FlatRecords
from sanitize.release.recipes import record_dp as noisy
from sanitize.release.recipes.private_model import PrivateModel
from sanitize.transformers import RecordDP

BUDGET = sz.LiftBudget(at_most=1.65, at_least=0.37)
EPS, N = 2.0, 1200
BINS = {
    "age": [18, 30, 45, 60, 75, 90],
    "visits: number of rows": [0, 1, 2, 3, 5, 8, 15],
    "visits: first day": ["2024-01-01", "2024-04-01", "2024-07-01", "2024-11-01"],
    "visits: distance of day": [0, 1, 5, 10, 20, 40],
    "visits: cost": [5, 50, 100, 150, 200],
    "items: number of rows": [0, 1, 2, 3, 6],
}
VALUES = {
    "ill": ["no", "yes"],
    "sex": ["f", "m"],
    "visits: code": list(CODES),
    "visits: ward": ["x", "y", None],
    "items: drug": list(CODES),
}
LINKS = {"visits": Child(order="day", id="visit"), "items": Child(key="visit", parent="visits")}
FOUND = RecordDP(8.0, {name: values for name, values in VALUES.items() if name != "sex"}, 1e-3)
DESIGN = design_rows(N, noisy.RECORD_SHARE)
IN_DESIGN, FRESH = (int(np.flatnonzero(part)[7]) for part in (DESIGN, ~DESIGN))
PAIRS = 6  # of distance, code, cost, ward, number of items, and drug
LOOKS = noisy.Looks


def tables_of(seed=0, n=N):
    """A hospital in which a patient has one ward throughout."""
    tables = hospital(n, seed)
    wards = pd.Series(np.array(["x", "y", None], object)[np.arange(n) % 3], tables["patients"]["patient"])
    visits = tables["visits"]
    return tables | {"visits": visits.assign(ward=wards.loc[visits["patient"]].to_numpy())}


def another(tables, place, rows=2000, seed=0):
    """The same but for one unit, all of whose rows are others, and very many."""
    rng, patients, visits, items = np.random.default_rng(seed), *tables.values()
    key, patients = patients["patient"][place], patients.copy()
    own = visits["patient"] == key
    items = items[~items["visit"].isin(visits["visit"][own])]
    patients.loc[place, ["ill", "age", "sex"]] = [
        "no" if patients["ill"][place] == "yes" else "yes",
        (patients["age"][place] + 30) % 72 + 18,
        "m" if patients["sex"][place] == "f" else "f",
    ]
    more = pd.DataFrame(
        {
            "patient": key,
            "visit": np.arange(rows) + 10**7,
            "day": (np.datetime64("2024-05-01") + np.arange(rows)).astype("datetime64[s]"),
            "code": rng.choice(CODES[-2:], rows),
            "cost": rng.choice([-(10**6), 10**9], rows),
            "ward": rng.choice(np.array(["x", "y", None], object), rows),
        }
    )
    drugs = {"visit": np.repeat(more["visit"].to_numpy(), 3), "drug": rng.choice(CODES[:2], 3 * rows)}
    visits = pd.concat([more, visits[~own]]).astype(visits.dtypes)
    return {"patients": patients, "visits": visits, "items": pd.concat([pd.DataFrame(drugs), items])}


def units_of(promise=None, links=LINKS, **settings):
    given = {"sensitive": "ill", "confidence": 0.9, "bins": BINS, "n_classes": 6, "random_state": 3}
    given["record_dp"] = promise or RecordDP(EPS, VALUES)
    design = sz.LatentClassRelease(BUDGET, **given | settings)
    return UnitRelease(design, key="patient", root="patients", children=links)


class Looks:
    """Looks at counts: drawn and kept for the first tables, and the same for the second; all exact counts are kept."""

    def __init__(self):
        self.kept, self.exact, self.shares, self.at = [], [], [], 0

    def __call__(self, *given):
        look, looks = LOOKS(*given), self

        def again(draw, seen, share):
            looks.exact.append(seen.copy())
            if looks.at == len(looks.kept):
                looks.kept.append(draw(seen, share))
                looks.shares.append(share)
            elif np.shape(looks.kept[looks.at]) not in ((), seen.shape):  # of another edge, or of other columns
                looks.kept[looks.at] = draw(seen, share)
            looks.at += 1
            return looks.kept[looks.at - 1]

        class Again:
            deviation = look.deviation

            def __call__(self, counts, share):
                return again(look, counts, share)

            def choose(self, scores, share):
                return again(look.choose, scores, share) % len(scores)  # of other columns there are fewer edges

        return Again()


def published(units, columns):
    """All that anybody may get but what follows from the symbol of one unit, of which the columns are another's."""
    if columns is not None:
        units._rows.columns.update(columns)
    released = units.release()
    return {
        "release": pickle.dumps(units._release),
        "models": pickle.dumps(
            [(rows.name, units._models.get(rows.name), rows.columns, rows.owner) for rows in units._rows.below]
        ),
        "report": pickle.dumps(units.report_),
        "pages": (units.report_.to_html(), units.report_.to_json(audience="public")),
        "tables": {name: table.to_csv() for name, table in released.items()},
    }


def compare(place, *, promise=None, links=LINKS, rows=2000, seed=0):
    """What differs between two sets of tables that differ in a unit, given the same noisy counts; and the looks."""
    one = tables_of(seed)
    two, looks, made = another(one, place, rows, seed), Looks(), []
    columns = None
    with patch.object(noisy, "Looks", looks):
        for number, tables in enumerate((one, two) if seed % 2 else (two, one)):
            looks.at = 0
            units = units_of(promise, links).fit(tables)
            made.append(published(units, columns))
            columns = dict(units._rows.columns) if number == 0 else None
    if looks.at != len(looks.kept):
        return ["looks"], looks
    return [name for name in made[0] if made[0][name] != made[1][name]], looks


def moved(looks):
    """How far the exact counts of each look are from those of the other tables, added up; of scores the largest."""
    n = len(looks.kept)
    d = n // 3  # levels, scores of edges, pairs of edges, and two looks at cells: 3 d - 2 + 2
    found = []
    for at, (one, two) in enumerate(zip(looks.exact[:n], looks.exact[n:], strict=True)):
        if one.shape != two.shape:  # what is looked at hangs on the rows
            found.append(max(one.size, two.size) + 2)
            continue
        steps = np.abs(one - two)
        found.append(int(steps.max() if d <= at < 2 * d - 1 else steps.sum()))
    return found, d


comparison = cache(compare)  # for several tests, which change nothing of it


@pytest.mark.parametrize("place", [IN_DESIGN, FRESH])
def test_all_that_is_published_depends_on_noisy_counts_alone(place):
    assert comparison(place)[0] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_so_it_does_of_eight_pairs(seed):
    rng = np.random.default_rng(seed)
    differs, looks = compare(int(rng.integers(N)), seed=seed, rows=int(rng.choice([0, 1, 2, 100, 5000])))
    assert differs == []
    assert max(moved(looks)[0]) <= 2


def test_another_unit_with_thousands_of_rows_moves_each_count_by_one_less_and_one_more():
    found, d = moved(comparison(IN_DESIGN)[1])
    assert max(found) == 2
    assert found[-1] == 0  # the certified half has not seen it
    assert sum(found[:d]) > d


def test_a_unit_of_the_certified_half_moves_the_last_look_alone():
    found, _ = moved(comparison(FRESH)[1])
    assert found[:-1] == [0] * (len(found) - 1)
    assert found[-1] == 2


def test_records_of_others_do_not_change_and_neither_do_their_columns():
    """The record of a unit is a function of its own rows: the columns, what they may hold, and all other records."""
    one = tables_of()
    recipe = units_of()._recipe.with_changes(public=None, sensitive=["ill"])
    for place, rows in ((0, 0), (5, 1), (N // 2, 4000), (N - 1, 70)):
        records = []
        for tables in (one, another(one, place, rows)):
            root = units_of()._read(tables)
            flat = FlatRecords.from_units(root, recipe)
            records.append((pd.DataFrame({n: c.to_pylist() for n, c in (root.columns | flat.columns).items()}), flat))
        (before, flat), (after, other) = records
        kept = np.arange(N) != place
        pd.testing.assert_frame_equal(before[kept], after[kept])
        assert not before.loc[place].equals(after.loc[place])
        assert {n: c.type for n, c in flat.columns.items()} == {n: c.type for n, c in other.columns.items()}
        assert (flat.recipe.bins, flat.recipe.record_dp) == (other.recipe.bins, other.recipe.record_dp)


@cache
def fitted(found=0):
    """Units that several tests fit, with as many columns whose values are found, and the looks."""
    looks = Looks()
    with patch.object(noisy, "Looks", looks):
        return units_of(FOUND if found else None).fit(tables_of()), looks


@pytest.mark.parametrize("found", [0, 1])
def test_looks_take_the_level_that_is_promised_and_no_more(found):
    units, looks = fitted(found)
    profile = len(units._rows.columns)
    d = profile + 2 * PAIRS
    *of_rows, of_fresh = looks.shares
    assert (len(of_rows), sum(of_rows), of_fresh) == (3 * d - 1, 1, 1)
    assert len(set(of_rows[:d])) == 1 + found


# ------------------------------------------------------------------------------------------ faults that show


@contextlib.contextmanager
def counting_all_rows():
    """Each unit is counted as often as it has visits."""
    right, chosen, many = PrivateModel.learn.__func__, _private._choose_rows, []

    def remembered(above, *rest):
        if above.children and above.children[0].name == "visits":
            n = len(above.owner)
            number = np.bincount(above.children[0].owner, minlength=n).clip(1)
            many[:] = [number[design_rows(n, noisy.RECORD_SHARE)]]
        return chosen(above, *rest)

    def learn(cls, codes, *rest):
        return right(cls, [np.repeat(own, many[0]) for own in codes], *rest)

    with patch.object(_private, "_choose_rows", remembered), patch.object(PrivateModel, "learn", classmethod(learn)):
        yield


@contextlib.contextmanager
def columns_by_what_there_is():
    """Which columns there are follows from the rows, as without noise."""
    right = _release.read_units
    with patch.object(_release, "read_units", lambda *given: right(*given[:5])):
        yield


@contextlib.contextmanager
def choosing_by_all_rows():
    """Which row is chosen follows from how many rows stand before."""
    right = _private._choose_rows

    def chosen(*given):
        for rows, own, before in right(*given):
            start = np.searchsorted(rows.owner, rows.owner[own])
            number = np.bincount(rows.owner)[rows.owner[own]]
            yield rows, np.where(own < 0, -1, start + start % number), before

    with patch.object(_private, "_choose_rows", chosen):
        yield


@contextlib.contextmanager
def raw_profiles():
    """Histories are learned of the profiles that there are."""
    right = FlatRecords.generate_rows
    with patch.object(FlatRecords, "generate_rows", lambda self, made: right(self, {**made, **self.root.columns})):
        yield


@contextlib.contextmanager
def raw_rows():
    """Histories are learned of the rows that there are."""
    with patch.object(FlatRecords, "generate_rows", lambda self, _: self.root):
        yield


@contextlib.contextmanager
def raw_figures():
    """The report tells how many rows there are."""
    right, kept = FlatRecords.generate_rows, []

    def printed(self, made):
        kept[:] = [len(rows.owner) for rows in self.root.below]
        return right(self, made)

    def reported(self, found, ledger):
        made = told(self, found, ledger)
        whole = next(section for section in made.sections if section.name == "units")
        return made.with_section(replace(whole, words=f"{whole.words} Of {kept}.")) if kept else made

    told = UnitRelease._make_report
    with patch.object(FlatRecords, "generate_rows", printed), patch.object(UnitRelease, "_make_report", reported):
        yield


# What a fault shows in: what is published by the same noisy counts, or exact counts that are moved too far.
FAULTS = {
    counting_all_rows: "counts",
    columns_by_what_there_is: "looks",
    choosing_by_all_rows: "counts",
    raw_profiles: "models",
    raw_rows: "models",
    raw_figures: "report",
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_shows(fault):
    with fault():
        differs, looks = compare(IN_DESIGN)
    if FAULTS[fault] == "counts":
        assert max(moved(looks)[0]) > 2
    else:
        assert FAULTS[fault] in differs


# ------------------------------------------------------------------------------------------ an audit of whole fits

SMALL, AUDITED = 40, 0.05
KINDS = ("code", "A"), ("ward", "x")
ERROR = 1e-3  # of a bound, and so of an alarm that is false


def few(*, other):
    """Forty units of a row each, or of two; the first of the design has thousands of another kind or none."""
    place = int(np.flatnonzero(design_rows(SMALL, noisy.RECORD_SHARE))[0])
    of = np.repeat(np.arange(SMALL), 1 + np.arange(SMALL) % 2)
    visits = pd.DataFrame({"patient": of, "code": "A", "ward": np.where(of % 3 == 0, "x", "y")})
    if other:
        many = pd.DataFrame({"patient": place, "code": "B", "ward": ["x", "y"] * 10_000})
        visits = pd.concat([many, visits[visits["patient"] != place]])
    patients = pd.DataFrame({"patient": np.arange(SMALL), "ill": np.where(np.arange(SMALL) // 2 % 2, "yes", "no")})
    return {"patients": patients.assign(sex="f"), "visits": visits}


def figures(tables, label):
    """Numbers of what is published of a fit: of rows, columns, cells, codes, and of the report."""
    values = VALUES | {"visits: code": ["A", "B"], "visits: ward": ["x", "y"]}
    promise = RecordDP(AUDITED, {name: own for name, own in values.items() if "items" not in name})
    given = {"n_classes": 3, "bins": {"visits: number of rows": [0, 1, 2, 5]}}
    key = sz.NoiseKey.from_seed(0).derive(label)
    units = units_of(promise, {"visits": Child()}, random_state=key, **given).fit(tables)
    visits = units.release()["visits"]
    section = next(section for section in units.report_.sections if section.name == "units")
    learned = units._rows.children[0]
    told = [float(word) for word in section.words.replace("[", " ").replace("]", " ").split() if word.isdigit()]
    return [
        *(len(visits), (visits["code"] == "A").mean(), (visits["ward"] == "x").mean()),
        *(len(units._rows.columns), units._classes.n_cells, len(learned.owner), sum(told)),
        # A fault may leave a column out.
        *(np.mean(learned.columns.get(name, pa.array([None])).to_numpy(False) == value) for name, value in KINDS),
    ]


def level(one, two):
    """Lower bound on the level at 99.9 %: an event is chosen on half of the runs, and its chances are of the others."""
    half, best = len(one) // 2, (-np.inf, None)
    sides = ((one, two), (two, one))
    for column in range(one.shape[1]):
        for threshold in np.unique(np.concatenate([one[:half], two[:half]])[:, column]):
            for above in (True, False):
                for side in range(2):
                    counts = [int(((of[:half, column] > threshold) == above).sum()) for of in sides[side]]
                    best = max(best, (bound(counts, half), (column, threshold, above, side)))
    column, threshold, above, side = best[1]
    counts = [int(((of[half:, column] > threshold) == above).sum()) for of in sides[side]]
    return bound(counts, len(one) - half)


def bound(counts, runs):
    low, high = clopper_pearson(counts, runs, ERROR)
    return float(np.log(max(low[0], 1e-300) / high[1]))


def audited(runs):
    with patch.object(_release, "_TRIED", 200):
        return level(
            *(np.array([figures(few(other=other), f"{other} {run}") for run in range(runs)]) for other in (False, True))
        )


@pytest.mark.slow
def test_an_audit_finds_no_more_than_is_promised():
    assert audited(36) <= 2 * AUDITED


@pytest.mark.slow
def test_an_audit_finds_a_fault():
    """Of counts; each of the others changes what `compare` finds, too."""
    with counting_all_rows():
        assert audited(36) > 2 * AUDITED


@pytest.mark.slow
def test_an_audit_finds_rows_that_are_told():
    with raw_figures():
        assert audited(24) > 2 * AUDITED


# ------------------------------------------------------------------------------------------ what is printed, and said


def test_with_a_large_level_histories_are_those_of_the_tables(monkeypatch):
    monkeypatch.setattr(_release, "_TRIED", 3000)
    tables = tables_of(n=4000)
    units = units_of(RecordDP(100.0, VALUES), n_classes=None).fit(tables)
    released = units.release()
    for name, table in tables.items():
        assert list(released[name].columns) == [column for column in table.columns if column != "ill"]
        assert (released[name].dtypes == table.dtypes[released[name].columns]).all()
    visits, items = released["visits"], released["items"]
    assert visits["patient"].isin(released["patients"]["patient"]).all()
    assert items["visit"].isin(visits["visit"]).all()
    assert len(visits) == pytest.approx(len(tables["visits"]), rel=0.1)

    def follows(rows, column="code"):
        rows = rows.sort_values(["patient", "day"])
        last = rows[column].shift().where(rows["patient"] == rows["patient"].shift(), "none")
        return pd.DataFrame({"last": last, column: rows[column]}).value_counts(normalize=True)

    raw = tables["visits"]
    dealt = raw.assign(patient=np.random.default_rng(0).permutation(raw["patient"]))
    far, near = (follows(made).sub(follows(raw), fill_value=0).abs().sum() / 2 for made in (dealt, visits))
    assert near < far / 3
    goes = []
    for made in (tables, released):
        codes = made["visits"].set_index("visit")["code"].loc[made["items"]["visit"]]
        goes.append(pd.crosstab(made["items"]["drug"].to_numpy(), codes.to_numpy()))
    one, two = (table.to_numpy() / table.to_numpy().sum() for table in goes)
    alone = np.outer(one.sum(axis=1), one.sum(axis=0))
    assert np.abs(one - two).sum() < np.abs(one - alone).sum() / 2


def test_what_is_printed_was_declared():
    released = fitted()[0].release()
    visits, items = released["visits"], released["items"]
    assert set(visits["code"]) | set(items["drug"]) <= {*CODES, "(other)"}
    assert set(visits["ward"].dropna()) <= {"x", "y"}
    assert visits["ward"].isna().any()
    assert visits["cost"].between(5, 200).all()
    assert visits["patient"].value_counts().max() <= 15
    assert items["visit"].value_counts().max() <= 6
    steps = visits.sort_values(["patient", "day"]).groupby("patient")["day"].diff().dropna()
    assert steps.between(pd.Timedelta(0), pd.Timedelta(40, "D")).all()
    first = visits.groupby("patient")["day"].min()
    assert first.between("2024-01-01", "2024-11-01").all()


@pytest.mark.parametrize("dtype", [pa.date32(), pa.timestamp("us", "UTC"), pa.int32()], ids=str)
def test_orders_of_any_kind(dtype):
    tables = tables_of(n=300)
    visits = tables["visits"]
    if dtype == pa.int32():
        dated = pa.array((visits["day"] - pd.Timestamp("2024-01-01")).dt.days, dtype)
    else:
        dated = pa.array(visits["day"]).cast(pa.timestamp("us")).cast(dtype)
    visits = pa.Table.from_pandas(visits.drop(columns="day"), preserve_index=False).append_column("day", dated)
    bins = BINS | ({"visits: first day": [0, 100, 200, 300]} if dtype == pa.int32() else {})
    released = units_of(bins=bins).fit(tables | {"visits": visits}).release()["visits"]
    assert released.schema.field("day").type == dtype
    assert released["day"].null_count == 0


def test_other_summaries_are_declared_by_themselves():
    summaries = {"cost": ["sum", "max", "min"], "code": ["count", "last"], "ward": ()}
    links = {"visits": Child(order="day", id="visit", summaries=summaries)}
    values = {name: own for name, own in VALUES.items() if "items" not in name} | {"visits: last code": list(CODES)}
    counts = {f"visits: count of code = {code}": [0, 1, 2, 4, 8] for code in CODES}
    bins = {name: own for name, own in BINS.items() if "items" not in name} | counts
    bins |= {"visits: max of cost": BINS["visits: cost"], "visits: min of cost": [0, 10, 100, 200]}
    tables = {name: tables_of()[name] for name in ("patients", "visits")}
    with pytest.raises(ColumnError, match="must declare the values of the column 'visits: sum of cost'"):
        units_of(RecordDP(EPS, values), links, bins=bins).fit(tables)
    units = units_of(RecordDP(EPS, values), links, bins=bins | {"visits: sum of cost": [0, 200, 500, 1000, 3000]})
    assert len(units.fit(tables).release()["patients"]) == N
    assert "visits: last code" in units._classes.names


def test_a_table_of_keys_alone():
    tables = {"patients": tables_of()["patients"], "visits": tables_of()["visits"][["patient"]]}
    values = {name: own for name, own in VALUES.items() if ":" not in name}
    bins = {name: BINS[name] for name in ("age", "visits: number of rows")}
    released = units_of(RecordDP(EPS, values), {"visits": Child()}, bins=bins).fit(tables).release()
    assert list(released["visits"].columns) == ["patient"]


@pytest.mark.slow
def test_values_that_are_found_are_those_of_the_root():
    assert compare(IN_DESIGN, promise=FOUND)[0] == []
    released = fitted(1)[0].release()
    assert set(released["patients"]["sex"].dropna()) == {"f", "m"}


def test_the_report_speaks_of_units():
    report = fitted()[0].report_
    assert "makes a unit's sensitive value at most 90.1 times as likely" in report.facts.people  # 1.65 e^4, rounded up
    section = report.sections[0]
    assert section.title == "Units under differential privacy"
    assert "row" not in section.words
    assert (
        "4-differentially private for another unit in place of one; how many units there are is public" in section.words
    )
    assert report.facts.record_dp == (2.0, 0.0)
    alone = units_of(n_classes=1).fit(tables_of(n=300)).report_
    assert alone.to_dict()["verdict"]["headline"] == "PRIVATE SYNTHETIC ROWS"


def test_each_fit_is_booked(tmp_path):
    ledger = DPLedger(tmp_path / "people.dp", eps=3.0)
    units = units_of(RecordDP(2.0, VALUES, ledger=ledger))
    units.fit(tables_of(n=300))
    with pytest.raises(LedgerError, match="nothing was fitted"):
        units.fit(tables_of(n=300))
    assert ledger.spent == 2.0


def test_a_policy_declares_what_rows_come_to():
    document = {
        "version": 1,
        "root": "patients",
        "columns": {"sensitive": ["ill"], "public": ["age", "sex"], "unit": "patient"},
        "budget": {"at_most": 1.65, "at_least": 0.37},
        "channel": {"mechanism": "latent-classes", "confidence": 0.9, "bins": BINS},
        "table": [
            {"name": "visits", "order": "day", "id": "visit", "public": ["code", "cost", "ward"]},
            {"name": "items", "parent": "visits", "key": "visit", "public": ["drug"]},
        ],
    }
    values = {name: own for name, own in VALUES.items() if None not in own} | {"visits: ward": ["x", "y", "z"]}
    document["channel"]["record_dp"] = {"eps": 2.0, "values": values}
    tables = tables_of(n=300)
    tables["visits"] = tables["visits"].fillna({"ward": "z"})
    assert UnitRelease(sz.Policy.from_dict(document)).fit(tables).report_.facts.record_dp == (2.0, 0.0)
    document["channel"]["bins"] = BINS | {"calls: cost": [0, 1]}
    with pytest.raises(sz.errors.PolicyError, match="'calls: cost', which is not a"):
        sz.Policy.from_dict(document)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"confidence": None}, "record_dp needs confidence"),
        ({"bins": BINS | {"visits: cost": "year"}}, "bins must have edges"),
        ({"bins": BINS | {"visits: costs": [0, 1]}}, "no column 'visits: costs'"),
        ({"bins": {n: own for n, own in BINS.items() if n != "visits: number of rows"}}, "'visits: number of rows'"),
        (
            {"bins": {n: own for n, own in BINS.items() if n != "visits: first day"}},
            "the column 'visits: first day'",
        ),
        ({"bins": {n: own for n, own in BINS.items() if n != "visits: distance of day"}}, "'visits: distance of day'"),
        ({"promise": RecordDP(1.0, VALUES | {"visits: code": ["A"]})}, "'visits: code' has rows with a value"),
        ({"promise": RecordDP(1.0, VALUES | {"visits: ward": ["x", "y"]})}, "'visits: ward' has rows with a value"),
        (
            {"promise": RecordDP(1.0, VALUES | {"visits: job": ["x"]})},
            "'visits: job', which is not a sensitive or public",
        ),
        ({"promise": RecordDP(1.0, {n: v for n, v in VALUES.items() if n != "items: drug"})}, "'items: drug'"),
    ],
)
def test_what_would_look_at_rows_is_refused(changed, words):
    with pytest.raises((InvalidParameter, ColumnError), match=words):
        units_of(**changed).fit(tables_of())


def test_units_without_a_root_and_rows_of_nobody_are_refused():
    design = sz.LatentClassRelease(BUDGET, sensitive="ill", confidence=0.9, record_dp=RecordDP(1.0, VALUES))
    with pytest.raises(InvalidParameter, match="name it with root="):
        UnitRelease(design, "patient", {"visits": Child()})
    with pytest.raises(ColumnError, match="without a person, which record_dp cannot protect; leave these rows out"):
        units_of().fit(tables_of() | {"visits": hospital(N, nobody=3)["visits"].assign(ward="x")})
