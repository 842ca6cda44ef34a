"""Everything published of a table but its rows' own symbols depends on the rows through noisy counts alone."""

from __future__ import annotations

import itertools
import math
import pickle
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sanitize as sz
from sanitize.core.binning import LearnedEdges
from sanitize.core.conversions import power_from_dp, rho_from_dp
from sanitize.core.profiles import design_rows
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.over_time import DPLedger
from sanitize.people import UnitRelease
from sanitize.policy import make_plan
from sanitize.release import fit
from sanitize.release.first_pass import MemoryTable
from sanitize.release.fit import PLAIN
from sanitize.release.recipes import classes as recipe
from sanitize.release.recipes import record_dp as noisy
from sanitize.tables.frame import Table
from sanitize.transformers import LatentClassRelease, RecordDP, SecretDP

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGET = sz.LiftBudget(lower=1.0, upper=0.7)
VALUES = {"town": ["A", "B", "C", None], "zip": list(range(9)), "s": ["no", "yes"], "age": [None]}
BINS = {"age": [18, 30, 45, 60, 80], "pay": [0.0, 1.5, 3.0]}
DP = RecordDP(2.0, VALUES)
KEY = b"0123456789abcdef0123456789abcdef"
N = 1500
PUBLIC = ("age", "town", "zip", "pay")


def table(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    s = rng.random(N) < 0.4
    age = pd.Series(rng.integers(18, 70, N) + 5 * s, dtype="Int64").mask(rng.random(N) < 0.1)
    town = np.array(["A", "B", "C", None], object)[(rng.integers(0, 4, N) + s) % 4]
    public = {"age": age, "town": town, "zip": rng.integers(0, 9, N), "pay": rng.random(N) * 3}
    return pd.DataFrame({**public, "s": np.where(s, "yes", "no")})


def estimator(**settings: Any) -> LatentClassRelease:
    given = {"sensitive": "s", "confidence": 0.9, "record_dp": DP, "bins": BINS, "n_classes": 6, "random_state": 3}
    return LatentClassRelease(BUDGET, **given | settings)


def another(df: pd.DataFrame, row: int) -> pd.DataFrame:
    """The same table with other values in one row."""
    rng = np.random.default_rng(row)
    other = df.copy()
    other.loc[row, "age"] = 79 if df["age"].isna()[row] else pd.NA
    other.loc[row, "town"] = "C" if df["town"][row] in ("A", None) else "A"
    other.loc[row, "zip"] = (df["zip"][row] + 1 + rng.integers(8)) % 9
    other.loc[row, "pay"] = 3 - df["pay"][row]
    other.loc[row, "s"] = "no" if df["s"][row] == "yes" else "yes"
    return other


class Replay:
    """Looks at counts: drawn and kept for the first table, and the same for the second; some of them without noise."""

    def __init__(self, exact: tuple[int, ...] = ()) -> None:
        self.kept: list[Any] = []
        self.exact, self.at, self.shares = exact, 0, []

    def __call__(self, *given: Any) -> Any:
        look, replay = LOOKS(*given), self

        def again(draw: Callable[..., Any], exact: Callable[..., Any], seen: np.ndarray, share: Fraction) -> Any:
            if replay.at == len(replay.kept):
                replay.kept.append(draw(seen, share))
                replay.shares.append(share)
            elif np.shape(replay.kept[replay.at]) not in ((), seen.shape):  # of another edge
                replay.kept[replay.at] = draw(seen, share)
            replay.at += 1
            return exact(seen) if replay.at - 1 in replay.exact else replay.kept[replay.at - 1]

        class Again:
            deviation, noise = look.deviation, look.noise

            def __call__(self, counts: np.ndarray, share: Fraction) -> np.ndarray:
                return again(look, np.copy, counts, share)

            def choose(self, scores: np.ndarray, share: Fraction) -> int:
                return again(look.choose, lambda scores: int(scores.sum()) % len(scores), scores, share)

        return Again()


LOOKS = noisy.Looks
DESIGN = design_rows(N, noisy.RECORD_SHARE)
IN_DESIGN, FRESH = (int(np.flatnonzero(part)[7]) for part in (DESIGN, ~DESIGN))


def published(df: pd.DataFrame, row: int, promise: RecordDP) -> dict[str, Any]:
    """All that anybody may get of a fit but the symbol of one row, and the fitted estimator itself, as bytes."""
    fitted = estimator(record_dp=promise).fit(df)
    report, released = fitted.report_, fitted.transform(df)
    return {
        "estimator": pickle.dumps(fitted),
        "report": pickle.dumps(report),
        "frame": released.drop(index=row).to_csv(),
        "text": str(report),
        "pages": [report.to_html(), *(report.to_json(audience=who) for who in ("internal", "public"))],
        "saved": sz.SavedRelease.of(fitted).to_json(),
    }


def differing(
    monkeypatch: pytest.MonkeyPatch,
    row: int,
    exact: tuple[int, ...] = (),
    seed: int = 0,
    promise: RecordDP = DP,
    unique: str | None = None,
) -> list[str]:
    """What differs between two tables that differ in a row, when both are given the same noisy counts."""
    df, replay = table(seed), Replay(exact)
    other = another(df, row)
    if unique is not None:
        other.loc[row, "town"] = unique
    monkeypatch.setattr(noisy, "Looks", replay)
    made = []
    for one in (df, other):
        replay.at = 0
        made.append(published(one, row, promise))
    assert replay.at == len(replay.kept)
    return [name for name in made[0] if made[0][name] != made[1][name]]


@pytest.mark.parametrize("row", [IN_DESIGN, FRESH])
def test_all_that_is_published_depends_on_noisy_counts_alone(row, monkeypatch):
    assert differing(monkeypatch, row) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_so_it_does_of_fifty_pairs(seed, monkeypatch):
    assert differing(monkeypatch, int(np.random.default_rng(seed).integers(N)), seed=seed) == []


@pytest.mark.parametrize(("settings", "whole"), [({}, False), ({"n_classes": 1}, True)])
def test_looks_take_the_level_that_is_promised_and_no_more(settings, whole, monkeypatch):
    """Of five columns, the edges between them, and secrets in cells of either part; of one class all rows, no cells."""
    replay = Replay()
    monkeypatch.setattr(noisy, "Looks", replay)
    estimator(**settings).fit(table())
    n_edges = 3 if whole else 4  # the secret is not written
    levels, rest, cells = np.split(np.array(replay.shares), [5, 5 + 2 * n_edges])
    assert sum(levels) + sum(rest) + sum(cells[:1]) == 1
    assert cells.tolist() == ([] if whole else [Fraction(3, 20), 1])


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_share_of_the_level_is_that_of_the_noise(delta):
    """A share s of ρ has Gaussian noise of variance 1/(2sρ) at least, and a choice of a rate of √(2sρ) at most."""
    look, share = replace(DP, delta=delta).look(sz.NoiseKey.from_seed(0)), Fraction(1, 7)
    rho = rho_from_dp(2.0, 1e-5)
    if delta:
        assert 1 / (2 * float(share) * rho) <= look.noise(share).variance < 1.01 / (2 * float(share) * rho)
    else:
        assert look.noise(share).rate == share * 2
    rate = (2 * float(share) * rho) ** 0.5 if delta else float(share)
    drawn = np.array([look.choose(np.array([20, 0, 10]), share) for _ in range(2000)])
    expected = np.exp(rate * np.array([0.0, -20.0, -10.0]))
    expected *= 2000 / expected.sum()
    # Chi-squared of two degrees: beyond 20.7 with a chance of 3e-5. A rate a fifth too high is seen nine times in ten.
    assert ((np.bincount(drawn, minlength=3) - expected) ** 2 / expected).sum() < 20.7


@pytest.mark.parametrize("n", [2, 3, 50, N, N + 1])
def test_another_row_in_place_of_one_moves_no_other(n):
    """Halves follow from places and the number of rows; a row less moves others, so that nothing is said of it."""
    halves = design_rows(n, noisy.RECORD_SHARE)
    assert np.array_equal(halves, design_rows(n, noisy.RECORD_SHARE))
    if n > 3:
        fewer = design_rows(n - 1, noisy.RECORD_SHARE)
        assert (halves[:-1] != fewer).sum() > n / 20


def test_halves_do_not_follow_from_what_rows_hold():
    """They are those of the fit itself, of a table and of one with another row."""
    recipe, tables = estimator().recipe(), [MemoryTable(Table.from_native(df)) for df in (table(), another(table(), 7))]
    halves = [recipe.learn_layout(recipe.roles(table), table, PLAIN).design for table in tables]
    assert np.array_equal(*halves)


def test_words_promise_nothing_for_a_row_more_or_less():
    """By dropping the last of 4,000 rows a town that is told by halves was told in 24 of 24 fits at eps 1."""
    words = estimator().fit(table()).report_.sections[0].words
    assert "4-differentially private for another row in place of one; how many rows there are is public" in words
    root = Path(__file__).resolve().parents[2]
    pages = [*root.glob("docs/**/*.md"), *root.glob("*.md")]
    promised = re.compile(r"private[^.|]{0,60}\bfor (a|one) (row|unit|person) more or\s+less")
    for text in (words, RecordDP.__doc__, DPLedger.__doc__, UnitRelease.__doc__, *(page.read_text() for page in pages)):
        assert promised.search(text) is None


# Looks whose noise is forgotten: all levels, choices of the edges, their pairs, secrets in cells.
FAULTS = {"levels": (0, 1, 2, 3, 4), "structure": (5, 6, 7, 8), "pairs": (9, 10, 11, 12), "channel": (13,)}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_look_without_noise_shows(fault, monkeypatch):
    """Of some rows of the design at least one tells, were the noise on these counts forgotten."""
    rows = np.flatnonzero(DESIGN)[:12]
    assert any(differing(monkeypatch, int(row), FAULTS[fault]) for row in rows)


def test_the_certificate_without_noise_shows(monkeypatch):
    assert "saved" in differing(monkeypatch, FRESH, (14,))


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """Exact counts of (secret, cell) of the latest fit, for a fault that reads them."""
    kept: list[np.ndarray] = []
    right = recipe.add_noise

    def remembered(layout: Any, counts: Any, *rest: Any) -> Any:
        kept[:] = [counts.table.counts.copy()]
        return right(layout, counts, *rest)

    monkeypatch.setattr(recipe, "add_noise", remembered)
    return kept


def test_an_exact_count_in_the_report_shows(exact, monkeypatch):
    told = fit.with_level

    def telling(*given: Any, **more: Any) -> Any:
        facts = told(*given, **more)
        return replace(facts, warnings=(*facts.warnings, f"{exact[0][0].sum()} rows have the first secret"))

    monkeypatch.setattr(fit, "with_level", telling)
    assert "report" in differing(monkeypatch, FRESH)


def test_a_threshold_on_an_exact_count_shows(exact, monkeypatch):
    """The least number of rows is what the first secret has in one of the two tables, and not in the other."""
    rows = [(df["s"] == "no").sum() for df in (table(), another(table(), FRESH))]

    def doubts(*_: Any) -> tuple[list[str], None]:
        return (["too few"] if exact[0][0].sum() < max(rows) else []), None

    monkeypatch.setattr(recipe, "rare_secrets", doubts)
    assert "report" in differing(monkeypatch, FRESH)


@pytest.mark.parametrize("row", [IN_DESIGN, FRESH])
def test_classes_of_the_rows_themselves_show(row, monkeypatch):
    def raw_rows(_: RecordDP, layout: Any, source: Any, *rest: Any) -> tuple[dict[str, pa.Array], None]:
        return {name: pa.array(source[name]) for name in (*layout.sensitive, *layout.public)}, None

    monkeypatch.setattr(RecordDP, "model_rows", raw_rows)
    assert {"report", "saved"} & set(differing(monkeypatch, row))


FOUND = RecordDP(8.0, {"s": ["no", "yes"], "age": [None]}, delta=1e-3)  # of town and zip


@pytest.mark.parametrize(("row", "unique"), [(IN_DESIGN, None), (FRESH, None), (FRESH, "Z")])
def test_values_that_are_found_depend_on_noisy_counts_alone(row, unique, monkeypatch):
    assert differing(monkeypatch, row, promise=FOUND, unique=unique) == []


class Shifted:
    """A look that adds noise that is given, by a function of the counts."""

    def __init__(self, noise: Callable[[np.ndarray], Any], deviation: float = 1.0) -> None:
        self.add, self.deviation = noise, lambda _: deviation

    def __call__(self, counts: np.ndarray, _: Fraction) -> np.ndarray:
        return counts + self.add(counts)

    def choose(self, scores: np.ndarray, _: Fraction) -> int:
        return int(scores.argmax())


def test_values_of_a_single_row_get_beyond_the_threshold_with_a_chance_of_delta_and_no_more():
    column = pa.array(["rare", *["usual"] * 500])
    for sigma, delta in itertools.product((0.5, 3.0, 40.0), (0.1, 1e-3, 1e-9)):

        def kept(z: int, sigma: float = sigma, delta: float = delta) -> bool:
            look = Shifted(lambda counts: z * (counts == 1), sigma)
            return "rare" in noisy._find_values(column, "c", Fraction(1), delta, look)[0].symbols

        least = next(z for z in itertools.count() if kept(z))
        z = np.arange(-50 * math.ceil(sigma), 50 * math.ceil(sigma) + 1)
        distribution = np.exp(-((z / sigma) ** 2) / 2)
        assert distribution[z >= least].sum() / distribution.sum() <= delta


def test_values_that_are_found_are_counted_by_the_noisy_look_and_by_nothing_else():
    """Beyond the look only the number of rows is known, which is public: the rest of it is what prints as missing."""
    column = pa.array(["b"] * 300 + [None] * 20 + ["rare"] + ["a"] * 500)
    noise = np.array([7, -5, 2])  # of a, b, rare
    found, counted = noisy._find_values(column, "c", Fraction(1), 1e-3, Shifted(lambda _: noise))
    assert dict(zip(found.symbols, counted.tolist(), strict=True)) == {"a": 507, "b": 295, None: 821 - 507 - 295}
    _, none_left = noisy._find_values(column, "c", Fraction(1), 1e-3, Shifted(lambda _: 900))
    assert none_left[-1] == 0


def test_found_values_take_a_part_of_the_level_and_the_probability_is_told(monkeypatch):
    replay = Replay()
    monkeypatch.setattr(noisy, "Looks", replay)
    fitted = estimator(record_dp=FOUND).fit(table())
    *of_rows, of_fresh = replay.shares
    assert (len(of_rows), sum(of_rows), of_fresh) == (2 + 3 + 8 + 1, 1, 1)
    report = fitted.report_
    beyond = 1e-3 * (1 + math.exp(0.7 + 8))
    assert beyond > 1
    assert "but for a probability of 1." in report.facts.people
    assert report.facts.record_dp == (8.0, 1e-3)
    small = estimator(record_dp=RecordDP(2.0, FOUND.values, 1e-6), n_classes=1).fit(table()).report_
    words = " ".join(str(small).split())
    assert f"times as likely, but for a probability of {1e-6 * (1 + math.exp(2)):.3g}" in words
    assert sz.LeakageReport.from_json(report.to_json()).to_html() == report.to_html()


def test_found_values_are_printed_and_rare_ones_are_missing():
    df = table()
    df.loc[::300, "town"] = "rare"
    printed = estimator(record_dp=FOUND).fit(df).transform(df)
    assert set(printed["town"].dropna()) == {"A", "B", "C"}
    assert set(printed["zip"].dropna()) <= set(range(9))
    with pytest.raises(ColumnError, match="must declare the values of the column 's'"):
        estimator(record_dp=RecordDP(1.0, {"age": [None]}, delta=1e-6)).fit(df)


def test_noise_that_leaves_less_than_no_rows_is_no_error(monkeypatch):
    monkeypatch.setattr(noisy, "Looks", lambda *_: Shifted(lambda _: -1000))
    assert "at most 110 times as likely" in estimator().fit(table()).report_.facts.people


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_depend_on_a_secret_through_noisy_counts_alone(suffix, monkeypatch, tmp_path):
    df, replay = table(), Replay()
    df["age"] = df["age"].fillna(18).astype(int)
    monkeypatch.setattr(noisy, "Looks", replay)
    zips = list(map(str if suffix == "csv" else int, range(9)))  # columns of a CSV file without bins are text
    promise = RecordDP(2.0, VALUES | {"zip": zips})
    made = []
    for secret in ("no", "yes"):
        replay.at = 0
        df.loc[FRESH, "s"] = secret
        raw, out = tmp_path / f"raw.{suffix}", tmp_path / f"out.{suffix}"
        df.to_parquet(raw) if suffix == "parquet" else df.to_csv(raw, index=False)
        given = estimator(random_state=sz.NoiseKey(KEY), record_dp=promise)
        report = sz.release_file(raw, out, given, force=True)
        made.append((out.read_bytes(), report.to_json()))
    assert made[0] == made[1]
    assert len(pd.read_parquet(out) if suffix == "parquet" else pd.read_csv(out)) == N


def test_one_class_makes_synthetic_rows_and_takes_no_budget():
    df = table()
    fitted = estimator(n_classes=1).fit(df)
    assert fitted.bare_release().layout.partition.n_cells == 1
    words = " ".join(str(fitted.report_).split())
    assert f"at most {np.exp(4):.4g} times as likely" in words
    # Whatever the limit is, and however little of a row its symbol tells.
    assert words.startswith("PRIVATE SYNTHETIC ROWS | ")
    assert "in the population" not in words
    assert "is kept of" not in words
    for audience in ("internal", "public"):
        text = fitted.report_.to_json(audience=audience)
        assert sz.LeakageReport.from_json(text).to_html().count("PRIVATE SYNTHETIC ROWS") == 2
    moved = fitted.transform(df.assign(town="A", zip=0, pay=0.0))
    assert moved.equals(fitted.transform(df))


def test_the_report_says_what_is_promised_and_that_seeds_void_it():
    report = estimator().fit(table()).report_
    text = " ".join(report.to_html().split())
    assert "at most 110 times as likely" in text  # e^(0.7 + 2 * 2), rounded up
    assert "but for a chance of 10 % that the certificate is wrong" in text
    assert "Differential privacy covers everything except the values drawn" in text
    assert any("record_dp is void" in note for note in report.facts.warnings)
    assert (report.facts.record_dp, report.facts.secret_dp, report.facts.promise) == ((2.0, 0.0), None, "record_dp")
    assert {line.kind for line in report.measures} == {"estimate"}
    assert sz.LeakageReport.from_json(report.to_json()).to_html() == report.to_html()
    keyed = estimator(random_state=None).fit(table()).report_
    assert not any("void" in note for note in keyed.facts.warnings)


def test_an_upper_limit_that_is_none_is_no_limit_of_the_file():
    report = estimator().set_params(budget=sz.LiftBudget(lower=0.5, upper=np.inf)).fit(table()).report_
    assert "at most infinitely many times" in report.facts.people
    assert sz.LeakageReport.from_json(report.to_json()).to_html() == report.to_html()


def test_equal_columns_are_looked_at_with_noise_of_their_own():
    look = noisy.Looks(sz.NoiseKey(KEY), 1.0, None)
    counts = np.arange(50)
    first, second = look(counts, Fraction(1, 2)), look(counts, Fraction(1, 2))
    assert (first != second).sum() > 10
    again = noisy.Looks(sz.NoiseKey(KEY), 1.0, None)
    assert np.array_equal(again(counts, Fraction(1, 2)), first)
    assert (again(counts + 1, Fraction(1, 2)) - 1 != second).sum() > 10


def test_what_is_printed_are_declared_values():
    printed = estimator().fit(table()).transform(table())
    assert set(printed["town"].dropna()) <= {"A", "B", "C"}
    assert set(printed["zip"]) <= set(range(9))
    assert printed["age"].dropna().between(18, 80).all()
    assert printed["pay"].between(0, 3).all()


def test_dates_are_declared_by_edges():
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.random.default_rng(3).integers(0, 300, N), "D")
    df = table().assign(day=days)
    fitted = estimator(bins=BINS | {"day": ["2020-01-01", "2020-05-01", "2020-12-31"]}).fit(df)
    printed = fitted.transform(df)
    assert printed["day"].dtype == df["day"].dtype
    assert printed["day"].between("2020-01-01", "2020-12-31").all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"confidence": None}, "record_dp needs confidence"),
        ({"keep_sensitive": True}, "keep_sensitive"),
        ({"bins": BINS | {"pay": "year"}}, "bins must have edges"),
        ({"bins": BINS | {"pay": LearnedEdges([0.0, 1.5, 3.0])}}, "learned edges depend on the rows"),
        ({"public": lambda _: ["age"]}, "public must be a list of names"),
        ({"random_state": np.random.RandomState(0)}, "random_state must be None or a NoiseKey"),
        ({"record_dp": 1.0}, "record_dp must be a RecordDP"),
        ({"secret_dp": SecretDP(1.0, 1e-6, {"s": ["no", "yes"]})}, "leave secret_dp out"),
        ({"record_dp": RecordDP(1.0, {"s": ["no", "yes"]})}, "must declare the values of the column 'town'"),
        ({"record_dp": RecordDP(1.0, VALUES | {"zip": [1, 2]})}, "'zip' has rows with a value"),
        ({"record_dp": RecordDP(1.0, VALUES | {"pay": [1.0]})}, "'pay', whose bins"),
        ({"record_dp": RecordDP(1.0, {k: v for k, v in VALUES.items() if k != "age"})}, "'age' has rows with a value"),
        ({"record_dp": RecordDP(1.0, VALUES | {"job": ["x"]})}, "'job', which is not a sensitive or public column"),
        ({"record_dp": RecordDP(1.0, VALUES | {"s": ["yes", "yes"]})}, "lists a value of 's' twice"),
    ],
)
def test_what_would_look_at_rows_is_refused(settings, words):
    with pytest.raises((InvalidParameter, ColumnError), match=words):
        estimator(**settings).fit(table())


@pytest.mark.parametrize(
    "given", [(0.0, {}), (np.inf, {}), (1e-9, {}), (1.0, {"s": "no"}), (1.0, ["s"]), (1.0, {}, 0.5), (1.0, {}, -1e-9)]
)
def test_a_promise_that_is_none_is_refused(given):
    with pytest.raises(InvalidParameter):
        RecordDP(*given)


def test_whoever_would_look_again_is_refused(tmp_path):
    df, raw = table(), tmp_path / "raw.parquet"
    df.to_parquet(raw)
    fitted = estimator().fit(df)
    channel = {"mechanism": "latent-classes", "confidence": 0.9, "record_dp": {"eps": 2, "values": {"s": ["no"]}}}
    policy = sz.Policy.from_dict(
        {
            "version": 1,
            "columns": {"sensitive": ["s"], "public": list(PUBLIC)},
            "budget": {"lower": 1.0, "upper": 0.7},
            "channel": channel,
        }
    )
    book, out = sz.Ledger(tmp_path / "book.json", 1.0), tmp_path / "out.parquet"
    for look in (
        lambda: fitted.measure(df),
        lambda: fitted.report_.with_findings(),
        lambda: book.check(df, fitted),
        lambda: sz.release_file(raw, out, estimator(random_state=None), ledger=book),
        lambda: sz.engines.parquet.plan_file(raw, estimator()),
        lambda: make_plan(policy, raw),
        lambda: sz.verify_file(raw, raw, estimator()),
        lambda: sz.release_file(raw, out, estimator(), rows="keep"),
        lambda: sz.release_file(raw, out, sz.SavedRelease.of(fitted), rows="keep"),
    ):
        with pytest.raises(InvalidParameter, match=r"record_dp"):
            look()
    assert not out.exists()


def test_saved_releases_say_so_and_do_not_look_at_new_secrets(tmp_path):
    df = table()
    saved = sz.SavedRelease.from_json(sz.SavedRelease.of(estimator().fit(df)).to_json())
    assert (saved.record_dp, saved.secret_dp) == ((2.0, 0.0), None)
    assert "learned from noisy counts" in saved.contents
    df.to_parquet(tmp_path / "new.parquet")
    report = sz.release_file(tmp_path / "new.parquet", tmp_path / "out.parquet", saved)
    assert report.held_out is None


def test_nobody_finds_a_row_among_three_more_often_than_said():
    """Who knows all other rows guesses from three noisy counts, each of which one of three rows would be in."""
    eps = 0.8
    z = np.arange(-40, 42)
    one, none = (np.exp(-eps * abs(z - place)) for place in (1, 0))
    one, none = one / one.sum(), none / none.sum()
    seen = [np.einsum("i,j,k->ijk", *np.where(np.arange(3)[:, None] == row, one, none)) for row in range(3)]
    best = float(np.max(seen, axis=0).sum()) / 3
    said = RecordDP(eps, VALUES).success_bound(1 / 3)
    assert 1 / 3 < best <= said < math.exp(2 * eps) / 3
    two = max(float(np.maximum(seen[0], seen[1]).sum()) / 2, 0.5)
    assert two == pytest.approx((1 + math.tanh(eps / 2)) / 2, abs=1e-6)


# α of Rényi divergence.
ORDERS = 1 + np.geomspace(1e-5, 1e5, 4000)


def test_the_bound_on_attacks_is_that_of_all_halves_and_has_room_for_delta():
    chances = (0.0, 1e-5, 0.01, 0.3, 0.6, 1.0)
    for eps in (0.05, 1.0, 6.0):
        plain, found = RecordDP(eps, VALUES), RecordDP(eps, VALUES, delta=1e-6)
        rho = rho_from_dp(eps, 1e-6) * 2.2  # a choice costs twice what a count does, for another row
        for chance in chances:
            bound = plain.success_bound(chance)
            assert bound >= max(power_from_dp(p, chance) for p in ([eps] * 2, [eps * 0.9] * 2 + [eps * 0.2])) - 1e-12
            assert chance <= bound <= power_from_dp([2 * eps], chance) + 1e-12
            by_orders = float(np.exp(((1 - 1 / ORDERS) * (math.log(max(chance, 1e-300)) + ORDERS * rho)).min()))
            extra = 1e-6 * (1 + math.exp(eps))
            said = min(1.0, max(power_from_dp([eps] * 2, chance), by_orders) + extra)
            assert found.success_bound(chance) == pytest.approx(said, rel=1e-3, abs=1e-9)
    with pytest.raises(InvalidParameter):
        plain.success_bound(1.5)


def test_one_class_writes_the_chances_of_the_private_model():
    """Shares of single columns and of the pairs of the tree, of 1<<16 rows that spread evenly."""
    rng = np.random.default_rng(5)
    df = table()
    assert estimator(n_classes=1).fit(df).bare_release().layout.partition.model.is_even
    promise, n = RecordDP(4.0, VALUES, 1e-5), 1 << 16
    many = df.iloc[rng.integers(0, N, 20_000)].reset_index(drop=True)
    seen: dict[str, Any] = {}
    right = noisy.RecordDP.learn_model

    def kept(*given: Any) -> Any:
        seen["model"], seen["alphabets"] = right(*given)
        return seen["model"], seen["alphabets"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noisy.RecordDP, "learn_model", kept)
        fitted = estimator(record_dp=promise, n_classes=1).fit(many)
    written = fitted.bare_release().layout.partition.decode(np.zeros(n, np.int32), sz.NoiseKey.from_seed(2))
    model, names = seen["model"], list(seen["alphabets"])
    margins: dict[int, np.ndarray] = {}
    codes = {}
    for name in written:
        column = written[name]
        if name in BINS:
            edges = np.array(BINS[name][1:-1])
            numbers = np.array([np.nan if v is None else v for v in column.to_pylist()], float)
            codes[name] = np.where(np.isnan(numbers), len(edges) + 1, np.searchsorted(edges, numbers, side="right"))
        else:
            codes[name] = seen["alphabets"][name].encode({name: column})
    for child, parent, chances in zip(model.order, model.parents, model.chances, strict=True):
        given = chances / chances.sum(axis=1, keepdims=True)
        pairs = given if parent < 0 else margins[parent][:, None] * given
        margins[child] = pairs.sum(axis=0)
        if names[child] in written:
            above = np.zeros(n, np.intp) if parent < 0 else codes[names[parent]]
            found = np.zeros(pairs.shape)
            np.add.at(found, (above, codes[names[child]]), 1 / n)
            assert abs(found - pairs).sum() / 2 < 0.004  # independent rows: .008 and more of 40 pairs


def test_even_rows_are_those_of_their_numbers_in_any_batch():
    fitted = estimator(n_classes=1).fit(table())
    partition, key = fitted.bare_release().layout.partition, sz.NoiseKey.from_seed(2)
    n = (1 << 16) + 300
    whole = pa.table(partition.decode(np.zeros(n, np.int32), key))
    part = pa.table(partition.decode(np.zeros(600, np.int32), key, start=n - 600))
    assert whole.slice(n - 600).to_pandas().astype(str).equals(part.to_pandas().astype(str))
    other = pa.table(partition.decode(np.zeros(600, np.int32), sz.NoiseKey.from_seed(3), start=n - 600))
    assert not other.to_pandas().astype(str).equals(part.to_pandas().astype(str))
