"""Rows in their order under secret_dp: what is released is bounded for one flipped value, and made of noisy counts."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize._util.sampling.count_noise import CountNoise
from sanitize.core.confidence import clopper_pearson
from sanitize.errors import ColumnError, InvalidParameter, RowOrderLeak
from sanitize.over_time import DPLedger
from sanitize.policy import make_plan
from sanitize.release.row_order import NoisyOrderAudit
from sanitize.transformers import (
    JointRelease,
    LatentClassRelease,
    OptimalRandomResponse,
    SecretDP,
    SubsetMerging,
    SubsetRandomResponse,
    Watchdog,
)

EPS = 0.5
DP = SecretDP(EPS, 1e-6, {"s": ["no", "yes"]})
LIMIT = sz.LiftBudget(at_most=2, at_least=0.5)
KEY = b"0123456789abcdef0123456789abcdef"
N = 3000
TUPLES = (OptimalRandomResponse, SubsetMerging, SubsetRandomResponse, Watchdog)


def table(seed: int = 0, n: int = N) -> pd.DataFrame:
    """Public columns, one with rare values, which tell something of a sensitive one."""
    rng = np.random.default_rng(seed)
    s = rng.random(n) < 0.3
    town = np.where(rng.random(n) < np.where(s, 0.6, 0.3), "A", rng.choice(list("BCD"), n))
    rare = np.where(rng.random(n) < 0.004, rng.choice(["u", "v", "w"], n), "most")
    public = {"town": town, "smokes": rng.random(n) < np.where(s, 0.5, 0.2), "kind": rare}
    return pd.DataFrame({**public, "age": rng.integers(18, 80, n) + 5 * s, "s": np.where(s, "yes", "no")})


def tuples(kind: type[Any], **settings: Any) -> Any:
    return kind(LIMIT, sensitive="s", public=["town", "smokes", "kind"], **{"secret_dp": DP} | settings)


def kept(**settings: Any) -> LatentClassRelease:
    asked = {"sensitive": "s", "keep": "smokes", "n_classes": 4, "secret_dp": DP}
    return LatentClassRelease(LIMIT, **asked | settings)


def certified(**settings: Any) -> LatentClassRelease:
    asked = {"sensitive": "s", "confidence": 0.9, "n_classes": 4, "secret_dp": DP}
    return LatentClassRelease(LIMIT, **asked | settings)


MAKERS = {
    **{kind.__name__: (lambda kind=kind, **settings: tuples(kind, **settings)) for kind in TUPLES},
    "kept column": kept,
    "certified classes": certified,
}


# ------------------------------------------------------------------------ a function of noisy counts and public values


def published(make: Any, df: pd.DataFrame, folder: Any) -> dict[str, Any]:
    """All that anybody may get of a fit, with the rows in their order."""
    fitted, raw = make(random_state=3).fit(df), folder / "raw.parquet"
    df.to_parquet(raw)
    report = sz.release_file(raw, folder / "out.parquet", make(), rows="keep", key=KEY, force=True, workers=1)
    views = [report.to_html(), *(report.to_json(audience=who) for who in ("internal", "public"))]
    result = {"file": (folder / "out.parquet").read_bytes(), "report": views, "frame": fitted.transform(df).to_csv()}
    return result | {"estimator": pickle.dumps(fitted), "saved": sz.SavedRelease.of(fitted).to_json()}


def replay(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """Give a look at exact counts the results that it gave before, in the same order; counts the calls since then."""
    drawn, results, calls = getattr(owner, name), [], [0]

    def again(*given: Any) -> Any:
        if calls[0] == len(results):
            results.append(drawn(*given))
        calls[0] += 1
        return results[calls[0] - 1]

    monkeypatch.setattr(owner, name, again)
    return calls


@pytest.mark.parametrize("kind", MAKERS)
def test_rows_in_order_depend_on_noisy_counts_and_public_values_alone(kind, monkeypatch, tmp_path):
    one = table()
    s = one["s"].to_numpy(copy=True)
    one_row = one.assign(s=np.where(np.arange(N) == 17, np.where(s == "no", "yes", "no"), s))
    all_rows = one.assign(s=np.random.default_rng(9).permutation(s))
    looks = replay(monkeypatch, SecretDP, "add_noise"), replay(monkeypatch, NoisyOrderAudit, "from_audit")
    found = []
    for df in (one, one_row, all_rows):
        for calls in looks:
            calls[0] = 0
        found.append(published(MAKERS[kind], df, tmp_path))
        assert [calls[0] for calls in looks] == [2, 1]
        assert [name for name in found[0] if found[0][name] != found[-1][name]] == []


def test_a_look_at_exact_counts_shows(monkeypatch, tmp_path):
    """A planted fault: the public symbols stand in the order of their exact counts of a sensitive value."""
    one, add = table(), SecretDP.add_noise
    two = one.assign(s=np.random.default_rng(9).permutation(one["s"]))

    def careless(self: SecretDP, tables: np.ndarray, key: Any) -> Any:
        noisy = add(self, tables, sz.NoiseKey(KEY))
        return noisy._replace(design=np.maximum(tables[0], 0))

    monkeypatch.setattr(SecretDP, "add_noise", careless)
    found = [published(MAKERS["SubsetMerging"], df, tmp_path) for df in (one, two)]
    assert found[0]["report"] != found[1]["report"]


# --------------------------------------------------------------------------------------- the ratio of chances, exactly

# Rows of each public value, and how many of them have the sensitive value in one of two neighbouring tables.
ROWS, POSITIVE = (2, 2), (1, 0)


def small(positive: tuple[int, ...]) -> pd.DataFrame:
    lines = [(x, "yes" if i < k else "no") for x, n, k in zip("ab", ROWS, positive, strict=True) for i in range(n)]
    return pd.DataFrame(lines, columns=["x", "s"])


def chances_of_files(
    positive: tuple[int, ...], kind: type[Any], monkeypatch: pytest.MonkeyPatch, *, exact: bool = False
) -> np.ndarray:
    """Chance of every file of released rows in order, over all draws of the noise and of the rows.

    Noise beyond the rows of a public value gives the counts that noise as large as they gives: it is summed up there.
    """
    df, reach, a = small(positive), max(ROWS), np.exp(-EPS)
    z = np.arange(-reach, reach + 1)
    chance = (1 - a) / (1 + a) * a ** abs(z)
    chance[[0, -1]] = a**reach / (1 + a)
    if exact:
        z, chance = np.zeros(1, int), np.ones(1)
    channels: dict[bytes, tuple[float, np.ndarray]] = {}
    for i, j in product(range(len(z)), repeat=2):
        drawn = np.array([z[i], z[j]])
        monkeypatch.setattr(CountNoise, "draw", lambda *_, drawn=drawn: np.array([drawn, -drawn]))
        settings = {"sensitive": "s", "public": "x", "min_count": 0, "secret_dp": DP, "random_state": 0}
        matrix = kind(sz.LiftBudget(at_most=1.2, at_least=0.8), **settings).fit(df).channel_.matrix
        before, _ = channels.get(matrix.tobytes(), (0.0, matrix))
        channels[matrix.tobytes()] = before + chance[i] * chance[j], matrix
    assert sum(share for share, _ in channels.values()) == pytest.approx(1)
    x = np.repeat([0, 1], ROWS)
    files = np.array(list(product((0, 1), repeat=len(x))))
    return sum(share * matrix[x, files].prod(axis=1) for share, matrix in channels.values())


@pytest.mark.parametrize("kind", [OptimalRandomResponse, SubsetMerging])
def test_no_file_of_rows_in_order_is_more_than_e_to_the_eps_times_as_likely(kind, monkeypatch):
    """Every file of a small table, with all draws of the noise enumerated; without noise some file is beyond it."""
    neighbour = (POSITIVE[0], POSITIVE[1] + 1)
    one, two = (chances_of_files(positive, kind, monkeypatch) for positive in (POSITIVE, neighbour))
    assert one.sum() == pytest.approx(1)
    assert two.sum() == pytest.approx(1)
    ratios = np.abs(np.log(one) - np.log(two))[(one > 0) | (two > 0)]
    assert ratios.max() <= EPS + 1e-9
    assert ratios.max() > 0.01  # the released rows do hang on the sensitive value
    bare = [chances_of_files(positive, kind, monkeypatch, exact=True) for positive in (POSITIVE, neighbour)]
    with np.errstate(divide="ignore", invalid="ignore"):
        faulty = np.abs(np.log(bare[0]) - np.log(bare[1]))[(bare[0] > 0) | (bare[1] > 0)]
    assert faulty.max() > EPS + 1


@pytest.mark.slow
def test_an_attack_on_many_releases_stays_below_the_bound():
    """False alarms: at most one in 10^6; without noise the same event, that no row is changed, refutes the bound."""
    runs, tables = 250, [small(positive) for positive in ((POSITIVE[0], POSITIVE[1] + 1), POSITIVE)]

    def lower_bound(secret_dp: Any) -> float:
        counts = []
        for frame in tables:
            settings = {"sensitive": "s", "public": "x", "min_count": 0, "secret_dp": secret_dp}
            made = (SubsetMerging(sz.LiftBudget(at_most=1.2, at_least=0.8), **settings).fit(frame) for _ in range(runs))
            counts.append(sum(bool((one.transform(frame)["x"] == frame["x"]).all()) for one in made))
        low, high = clopper_pearson(np.array(counts), np.array([runs, runs]), 1e-6)
        return float(np.log(max(low[0], 1e-300) / high[1]))

    assert lower_bound(DP) <= EPS
    assert lower_bound(None) > EPS


# ------------------------------------------------------------------------------------------------ order, and refusals


def release(df: pd.DataFrame, folder: Any, sanitizer: Any) -> Any:
    df.to_parquet(folder / "raw.parquet")
    return sz.release_file(folder / "raw.parquet", folder / "out.parquet", sanitizer, rows="keep", key=KEY, force=True)


def test_a_file_sorted_by_the_sensitive_column_is_refused(tmp_path):
    ordered = table().sort_values("s", ignore_index=True)
    with pytest.raises(RowOrderLeak, match="blocks of rows"):
        release(ordered, tmp_path, tuples(SubsetMerging))
    with pytest.raises(InvalidParameter, match="too large to test so few rows"):
        release(table(n=200), tmp_path, tuples(SubsetMerging))
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("eps", [0.5, 0.7, 1 / 3, 1.1, 5.0])
def test_counts_and_the_look_at_the_order_share_the_level(eps, monkeypatch, tmp_path):
    looks: list[Any] = []
    original = NoisyOrderAudit.from_audit

    def remember(*given: Any) -> NoisyOrderAudit:
        looks.append(given[3])
        return original(*given)

    monkeypatch.setattr(NoisyOrderAudit, "from_audit", remember)
    promise = SecretDP(eps, 1e-6, DP.values)
    report = release(table(), tmp_path, tuples(SubsetMerging, secret_dp=promise))
    shown = dict(next(section for section in report.sections if section.name == "secret_dp").rows)
    left = 0.75 * eps
    assert shown["noise on each count (standard deviation, rows)"] == pytest.approx(
        SecretDP(left, 1e-6).noise(2).variance ** 0.5
    )
    assert (shown["eps"], len(looks)) == (eps, 1)
    (look,) = looks
    assert look.distribution.rate + Fraction(left) <= Fraction(eps) * (1 + Fraction(1, 2**52))
    assert look.distribution.rate == Fraction(eps) / 4


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tuples(SubsetMerging, confidence=0.9), "cannot combine confidence= with secret_dp="),
        (lambda: tuples(SubsetMerging, person="kind"), "leave person out"),
        (lambda: tuples(SubsetMerging, keep_sensitive=True), "keep_sensitive"),
        (lambda: tuples(SubsetMerging, secret_dp=SecretDP(1.0, 1e-6)), "must declare the values of the column 's'"),
        (lambda: tuples(SubsetMerging, secret_dp=SecretDP(1.0, 1e-6, {"s": ["no", "maybe"]})), "does not declare"),
        (lambda: kept(keep="s"), "sensitive"),
        (lambda: kept(confidence=0.9), "leave out confidence and record_dp"),
        (lambda: JointRelease([("all", tuples(SubsetMerging))], LIMIT, sensitive="s"), "designed from counts without"),
        (lambda: LatentClassRelease(LIMIT, sensitive="s", secret_dp=DP), "secret_dp needs confidence"),
    ],
)
def test_what_would_look_without_noise_is_refused(make, words):
    with pytest.raises((InvalidParameter, ColumnError), match=words):
        make().fit(table())


def test_weights_and_other_looks_are_refused(tmp_path):
    df = table()
    fitted = tuples(SubsetMerging).fit(df)
    for look in (
        lambda: tuples(SubsetMerging).fit(df, sample_weight=np.full(N, 2)),
        lambda: fitted.measure(df),
        lambda: sz.Ledger(tmp_path / "book.json", 1.0).record(df, fitted),
    ):
        with pytest.raises(InvalidParameter, match="secret_dp"):
            look()


# ------------------------------------------------------------------------------------------------------------ the plan


def policy(**settings: Any) -> sz.Policy:
    more = {key: settings.pop(key) for key in ("rows", "ledger") if key in settings}
    columns = {"sensitive": ["s"], "public": ["town", "smokes", "kind"], "drop": ["age"]}
    channel = {"mechanism": "subset-merging", **settings}
    budget = {"at_most": 1.5, "at_least": 0.6}
    return sz.Policy.from_dict({"version": 1, "columns": columns, "budget": budget, "channel": channel, **more})


def test_a_plan_says_what_rows_in_order_cost_and_books_nothing(tmp_path):
    table().to_parquet(tmp_path / "raw.parquet")
    switch = {"eps": EPS, "delta": 1e-6, "values": {"s": ["no", "yes"]}}
    plan = make_plan(policy(rows="keep"), tmp_path / "raw.parquet")
    line = next(change for change in plan.changes if change.name == "secret_dp")
    assert line.is_open
    assert line.why.startswith("rows in order with secret_dp 0.5: keeps ")
    assert not [
        change for change in make_plan(policy(), tmp_path / "raw.parquet").changes if change.name == "secret_dp"
    ]
    DPLedger(tmp_path / "book.json", 10.0, 1e-3, whom="secrets")
    booked = (tmp_path / "book.json").read_bytes()
    private = policy(rows="keep", secret_dp=switch, ledger=str(tmp_path / "book.json"))
    words = make_plan(private, tmp_path / "raw.parquet").to_text()
    assert "rows in order with secret_dp 0.5: keeps " in words
    assert "HOLDS FOR NOISY COUNTS ONLY" in words
    assert (tmp_path / "book.json").read_bytes() == booked
