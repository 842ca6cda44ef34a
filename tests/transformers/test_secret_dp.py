"""Everything published of a table depends on its secrets through the noisy counts alone; and who is refused."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize._util.sampling.count_noise import CountNoise, Gaussian, Geometric
from sanitize.core.moved_counts import moved_count_delta
from sanitize.core.profiles import cell_counts, design_rows
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.policy import make_plan
from sanitize.release import fit
from sanitize.release.recipes import classes as recipe
from sanitize.release.recipes import promise as noisy
from sanitize.transformers import LatentClassRelease, SecretDP

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGET = sz.LiftBudget(lower=1.0, upper=0.7)
VALUES = ("no", "yes", None)
DP = SecretDP(1.0, 1e-6, {"s": VALUES})
KEY = b"0123456789abcdef0123456789abcdef"
N = 3000


def table(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    s = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    public = {"age": rng.integers(18, 80, N) + 5 * s, "town": rng.choice(list("ABCD"), N), "zip": rng.integers(0, 9, N)}
    return pd.DataFrame({**public, "s": np.array(VALUES, object)[s]})


def estimator(**settings: Any) -> LatentClassRelease:
    return LatentClassRelease(
        BUDGET, **{"sensitive": "s", "confidence": 0.9, "secret_dp": DP, "n_classes": 12, "random_state": 3} | settings
    )


def layout_classes(fitted: LatentClassRelease, df: pd.DataFrame) -> tuple[np.ndarray, int]:
    """Class of each row, and how many there are."""
    partition = fitted.bare_release().layout.partition
    return partition.assign(df.drop(columns="s")), partition.n_cells


def another(df: pd.DataFrame, kind: str) -> pd.DataFrame:
    """The same public columns with other secrets."""
    s = df["s"].to_numpy(copy=True)
    if kind == "one row":
        s[17] = "yes" if s[17] == "no" else "no"
    elif kind == "a row of the design":
        row = int(np.flatnonzero(design_rows(N, recipe.FIT_SHARE))[5])
        s[row] = None if s[row] == "no" else "no"
    elif kind == "nobody has a value":
        s[pd.isna(s)] = "yes"
    else:
        s = np.random.default_rng(9).permutation(s)
    return df.assign(s=s)


def published(df: pd.DataFrame, folder: Any) -> dict[str, Any]:
    """All that anybody may get of a fit, and the fitted estimator itself, as bytes."""
    fitted = estimator().fit(df)
    report, released = fitted.report_, fitted.transform(df)
    raw = folder / "raw.parquet"
    df.to_parquet(raw)
    of_file = sz.release_file(raw, folder / "out.parquet", estimator(random_state=None), key=KEY, force=True)
    saved = sz.SavedRelease.of(fitted)
    again = sz.release_file(raw, folder / "again.parquet", saved, key=KEY, force=True)
    return {
        "estimator": pickle.dumps(fitted),
        "report": pickle.dumps(report),
        "frame": released.to_csv(),
        "text": str(report),
        "pages": [report.to_html(), *(report.to_json(audience=who) for who in ("internal", "public"))],
        "file": (folder / "out.parquet").read_bytes(),
        "report of the file": of_file.to_json(),
        "saved": saved.to_json(),
        "new rows": [(folder / "again.parquet").read_bytes(), again.to_text()],
    }


def under_same_noisy_counts(
    monkeypatch: pytest.MonkeyPatch, one: pd.DataFrame, two: pd.DataFrame, folder: Any
) -> list[dict[str, Any]]:
    """What is published of two tables whose noise makes up for their difference."""
    kept: list[tuple[np.ndarray, Any]] = []
    drawn, differ, at = SecretDP.add_noise, [], 0

    def again(self: SecretDP, tables: np.ndarray, key: Any) -> Any:
        nonlocal at
        if at == len(kept):
            kept.append((tables.copy(), drawn(self, tables, key)))
        differ.append((kept[at][0] != tables).any())
        at += 1
        return kept[at - 1][1]

    monkeypatch.setattr(SecretDP, "add_noise", again)
    made = []
    for df in (one, two):
        at = 0
        made.append(published(df=df, folder=folder))
    assert any(differ)
    return made


KINDS = ("one row", "a row of the design", "nobody has a value", "all rows")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_published_depends_on_noisy_counts_alone(kind, monkeypatch, tmp_path):
    df = table()
    first, second = under_same_noisy_counts(monkeypatch, df, another(df, kind), tmp_path)
    assert [name for name in first if first[name] != second[name]] == []


def unnoised(layout: Any, counts: Any, secret_dp: Any, key: Any) -> Any:
    """A fault: the distribution that is measured is that of the exact counts."""
    made = noisy.add_noise(layout, counts, secret_dp, key)
    made.table.sensitive, made.table.counts = counts.table.sensitive, counts.table.counts
    return made


def told_in_passing(layout: Any, counts: Any, secret_dp: Any, key: Any) -> Any:
    """A fault: the number of rows that the report shows has the last bit of an exact count in it."""
    made = noisy.add_noise(layout, counts, secret_dp, key)
    made.table.n += int(counts.table.counts[0, 0]) % 2
    return made


@pytest.mark.slow
@pytest.mark.parametrize("fault", [unnoised, told_in_passing])
def test_a_planted_look_at_the_counts_shows(fault: Callable[..., Any], monkeypatch, tmp_path):
    df = table()
    cell = layout_classes(estimator().fit(df), df)[0]
    moved = int(np.flatnonzero((cell == 0) & (df["s"] == "no"))[0])
    other = df.assign(s=np.where(np.arange(N) == moved, "yes", df["s"].to_numpy()))
    other.loc[df["s"].isna(), "s"] = None
    monkeypatch.setattr(recipe, "add_noise", fault)
    monkeypatch.setattr(fit, "with_promise", lambda release, *_: release)
    first, second = under_same_noisy_counts(monkeypatch, df, other, tmp_path)
    assert {"report", "text"} <= {name for name in first if first[name] != second[name]}


def test_counts_hold_noise_from_then_on_and_add_up_to_the_rows_of_each_cell():
    df = table()
    noisy = estimator().fit(df)
    cells, n_cells = layout_classes(noisy, df)
    secrets = np.array([VALUES.index(None if pd.isna(value) else value) for value in df["s"]])
    before = cell_counts(cells, secrets, n_cells, 3)
    after = noisy._joint.pmf * N
    assert np.allclose(after.sum(axis=0), before.sum(axis=0))
    assert np.allclose(after, after.round(), atol=1e-6)
    assert not np.allclose(after, before)
    assert abs(after - before).max() < 24 * DP.noise(3).variance ** 0.5


def test_fits_draw_their_own_noise_and_a_key_draws_one_for_each_table():
    df = table()
    fresh = [estimator(random_state=None).fit(df)._joint.pmf for _ in range(2)]
    assert not np.array_equal(*fresh)
    same = [estimator(random_state=sz.NoiseKey(KEY)).fit(df)._joint.pmf for _ in range(2)]
    assert np.array_equal(*same)
    other = estimator(random_state=sz.NoiseKey(KEY)).fit(another(df, "one row"))._joint.pmf
    assert (abs(same[0] - other) * N > 1.5).sum() > 4  # not the same noise on neighbouring tables


def test_the_report_says_what_is_promised_and_that_seeds_void_it():
    report = estimator().fit(table()).report_
    assert "(1, 1e-06)-differentially private" in " ".join(str(report).split())
    assert any("secret_dp is void" in note for note in report.facts.warnings)
    assert report.facts.secret_dp == (1.0, 1e-6)
    plain = estimator(secret_dp=None).fit(table()).report_
    wording = ("protects the sensitive values only", "This is not differential privacy")
    assert [[words in " ".join(one.to_html().split()) for words in wording] for one in (report, plain)] == [
        [True, False],
        [False, True],
    ]
    assert sz.LeakageReport.from_json(report.to_json()).to_html() == report.to_html()
    keyed = estimator(random_state=None).fit(table()).report_
    assert not any("void" in note for note in keyed.facts.warnings)
    kinds = {line.name: line.kind for line in keyed.measures}
    assert (kinds["max_log_lift"], kinds["mean_column_utility"]) == ("estimate", "exact")


def test_a_key_for_the_draws_does_not_undo_the_seed_of_the_counts(tmp_path):
    table().to_parquet(tmp_path / "raw.parquet")
    report = sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", estimator(), key=KEY)
    assert any("secret_dp is void" in note for note in report.facts.warnings)


def test_intervals_of_bins_are_values_and_clipped_secrets_are_not_counted():
    df = table().drop(columns="s").assign(s=np.random.default_rng(0).normal(50, 30, N))
    fitted = estimator(secret_dp=SecretDP(1.0, 1e-6), bins={"s": [0, 50, 100]}).fit(df)
    assert len(fitted._joint.sensitive) == 2
    assert not any("outside" in note for note in fitted.report_.facts.warnings)
    with pytest.raises(ColumnError, match=r"'s' has rows with a value, or with a missing value"):
        estimator(secret_dp=SecretDP(1.0, 1e-6), bins={"s": [0, 50, 100]}).fit(df.assign(s=df["s"].where(df.index > 3)))


def test_several_columns_have_all_combinations_of_their_values():
    df = table().assign(t=np.random.default_rng(4).integers(0, 2, N))
    fitted = estimator(sensitive=["s", "t"], secret_dp=SecretDP(3.0, 1e-6, {"s": VALUES, "t": [1, 0]})).fit(df)
    assert fitted._joint.sensitive.symbols == tuple((s, t) for s in VALUES for t in (0, 1))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"confidence": None}, "secret_dp needs confidence"),
        ({"keep_sensitive": True}, "keep_sensitive"),
        ({"bins": {"s": "year"}}, "bins must have edges"),
        ({"bins": [0, 1]}, "bins must have edges"),
        ({"public": lambda _: ["age"]}, "public must be a list of names"),
        ({"random_state": np.random.RandomState(0)}, "random_state must be None or a NoiseKey"),
        ({"secret_dp": (1.0, 1e-6)}, "secret_dp must be a SecretDP"),
        ({"secret_dp": SecretDP(1.0, 1e-6)}, "must declare the values of the column 's'"),
        ({"secret_dp": SecretDP(1.0, 1e-6, {"s": ["no", "yes"]})}, "'s' has rows with a value"),
        ({"secret_dp": SecretDP(1.0, 1e-6, {"s": VALUES, "age": [1]})}, "'age', which is not a sensitive column"),
        ({"secret_dp": SecretDP(1.0, 1e-6, {"s": ["no", "no"]})}, "lists a value of 's' twice"),
        ({"secret_dp": SecretDP(1.0, 1e-6, {"s": ["no"]})}, "needs 2 to 64 combinations of declared sensitive values"),
    ],
)
def test_what_would_look_at_secrets_is_refused(settings, words):
    with pytest.raises((InvalidParameter, ColumnError), match=words) as caught:
        estimator(**settings).fit(table())
    assert "yes" not in str(caught.value)


def test_the_noise_is_the_smaller_one_of_two_kinds_and_of_the_level_asked_for():
    pair, three = SecretDP(1.0, 1e-6).noise(2), SecretDP(1.0, 1e-6).noise(3)
    assert pair == CountNoise(Geometric(Fraction(1)), 2)  # one draw a cell: the counts add up to its rows
    assert three == CountNoise(Geometric(Fraction(1, 2)), 3)
    for n_secrets in (2, 3):
        large = SecretDP(0.1, 0.01).noise(n_secrets)
        assert isinstance(large.distribution, Gaussian)
        assert moved_count_delta(0.1, float(large.distribution.sigma)) <= 0.01
        assert large.variance < CountNoise.geometric(Fraction(0.1), n_secrets).variance
        assert isinstance(SecretDP(0.1, 0.1 / 250).noise(n_secrets).distribution, Geometric)
    report = estimator().fit(table()).report_
    shown = next(figure for name, figure in report.sections[0].rows if name.startswith("noise on each count"))
    assert shown == pytest.approx(three.variance**0.5)


@pytest.mark.parametrize(
    "given", [(0.0, 1e-6, {}), (1.0, 0.0, {}), (1e-3, 1e-6, {}), (1.0, 1e-6, {"s": "no"}), (1.0, 1e-6, ["s"])]
)
def test_a_promise_that_is_none_is_refused(given):
    with pytest.raises(InvalidParameter):
        SecretDP(*given)


def test_merging_is_certified_by_noisy_counts_too():
    fitted = estimator(rule="subset-merging").fit(table())
    assert fitted.report_.ok
    assert fitted.report_.facts.secret_dp == (1.0, 1e-6)


def test_whoever_would_look_again_is_refused(tmp_path):
    df, raw = table(), tmp_path / "raw.parquet"
    df.to_parquet(raw)
    fitted = estimator().fit(df)
    policy = sz.Policy.from_dict(
        {
            "version": 1,
            "columns": {"sensitive": ["s"], "public": ["age", "town", "zip"]},
            "budget": {"lower": 1.0, "upper": 0.7},
            "channel": {
                "mechanism": "latent-classes",
                "confidence": 0.9,
                "secret_dp": {"eps": DP.eps, "delta": DP.delta, "values": {"s": ["no", "yes"]}},
            },
        }
    )
    out = tmp_path / "out.parquet"
    for look in (
        lambda: fitted.measure(df),
        lambda: fitted.report_.with_findings(),
        lambda: sz.Ledger(tmp_path / "book.json", 1.0).check(df, fitted),
        lambda: sz.Ledger(tmp_path / "book.json", 1.0).record(df, fitted),
        lambda: sz.release_file(raw, out, estimator(random_state=None), ledger=sz.Ledger(tmp_path / "book.json", 1.0)),
        lambda: sz.engines.parquet.plan_file(raw, estimator()),
        lambda: make_plan(policy, raw, advise=False),
        lambda: sz.verify_file(raw, raw, estimator()),
        lambda: sz.release_file(raw, out, sz.SavedRelease.of(fitted), rows="keep"),
    ):
        with pytest.raises(InvalidParameter, match=r"secret_dp"):
            look()
    assert not out.exists()


def test_saved_releases_say_which_figures_are_noisy_and_do_not_look_at_new_secrets(tmp_path):
    df = table()
    saved = sz.SavedRelease.from_json(sz.SavedRelease.of(estimator().fit(df)).to_json())
    assert saved.secret_dp == (1.0, 1e-6)
    assert "figures about sensitive values are of noisy counts" in saved.contents
    df.to_parquet(tmp_path / "new.parquet")
    report = sz.release_file(tmp_path / "new.parquet", tmp_path / "out.parquet", saved)
    assert report.held_out is None
