"""A ledger of levels: what fits under differential privacy cost together, booked before anything of them is seen."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import sanitize as sz
from sanitize.cli import main
from sanitize.core.moved_counts import moved_count_sigma
from sanitize.errors import ColumnError, InvalidParameter, LedgerError, PolicyError
from sanitize.over_time import DPLedger, Ledger
from sanitize.over_time._dp_ledger import _Fit, _Form
from sanitize.transformers import LatentClassRelease, RecordDP, SecretDP

VALUES = {"ill": ["no", "yes"], "town": ["a", "b"]}
BUDGET = sz.LiftBudget(lower=1.0, upper=0.7)


def people(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"town": rng.choice(["a", "b"], n), "ill": rng.choice(["no", "yes"], n)})


def record(eps: float, ledger: DPLedger | None = None) -> RecordDP:
    return RecordDP(eps, VALUES, ledger=ledger)


def secret(eps: float, delta: float, ledger: DPLedger | None = None) -> SecretDP:
    return SecretDP(eps, delta, {"ill": ["no", "yes"]}, ledger=ledger)


def estimator(promise: object, **settings: object) -> LatentClassRelease:
    name = "record_dp" if isinstance(promise, RecordDP) else "secret_dp"
    return LatentClassRelease(BUDGET, sensitive="ill", confidence=0.9, n_classes=2, **{name: promise}, **settings)


def test_levels_add_up_to_the_total_and_not_beyond(tmp_path: Path) -> None:
    ledger = DPLedger(tmp_path / "people.dp", eps=1.0)
    for k in range(1, 11):
        ledger.book(record(0.1))
        assert ledger.spent == pytest.approx(0.1 * k, rel=1e-9)
    before = ledger.path.read_bytes()
    with pytest.raises(
        LedgerError, match=r"all 11 fits would cost eps 1\.1, and .* allows eps 1 and delta 0 of rows \(1 spent\)"
    ):
        ledger.book(record(0.1))
    assert (ledger.path.read_bytes(), len(ledger)) == (before, 10)
    assert ledger.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["rows", "secrets"])
def test_many_small_levels_add_up_by_their_squares(whom: str, tmp_path: Path) -> None:
    """ρ = k ε²/2, and ε = ρ + 2 √(ρ log 1/δ); of secrets a row in place of another counts 2 ε [BunSteinke]."""
    delta, eps = 1e-6, 0.01 * (2 if whom == "secrets" else 1)
    ledger = DPLedger(tmp_path / "people.dp", 5.0, delta, whom)
    for _ in range(400):
        ledger.book(record(0.01))
    rho = 400 * eps**2 / 2
    by_squares = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert by_squares < 400 * eps
    assert ledger.spent == pytest.approx(by_squares, rel=1e-9)
    few = DPLedger(tmp_path / "few.dp", 5.0, delta, whom)
    few.book(record(0.01))
    assert few.spent == pytest.approx(eps, rel=1e-9)  # plain addition is less


def test_zero_concentrated_levels_hold_for_the_noise_by_enumeration() -> None:
    """Of k fits: δ(ε) = Σ max(0, p - e^ε q) of the noise itself is at most δ at the ε of the book."""
    k, delta, rate = 40, 1e-4, 0.1
    z = np.arange(-400, 401)
    p = np.exp(-rate * np.abs(z))
    p /= p.sum()
    q = np.roll(p, 1)
    loss, chance = np.log(p[1:] / q[1:]), p[1:]
    values, place = np.unique(np.rint(loss / rate).astype(int), return_inverse=True)
    one = np.zeros(int(values.max() - values.min()) + 1)
    np.add.at(one, values[place] - values.min(), chance)
    many = one
    for _ in range(k - 1):
        many = np.convolve(many, one)
    losses = rate * (np.arange(len(many)) + k * values.min())
    rho = k * rate**2 / 2
    eps = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert eps < 0.75 * k * rate
    over = losses > eps
    assert float((many[over] * -np.expm1(eps - losses[over])).sum()) <= delta


def test_a_probability_of_more_adds_up_and_has_no_squares(tmp_path: Path) -> None:
    """Of secrets a row in place of another is a row less and a row more: (2 ε, δ (1 + e^ε))."""
    found = RecordDP(0.01, VALUES, delta=1e-7)
    ledger = DPLedger(tmp_path / "people.dp", 5.0, 1e-5)
    for _ in range(100):
        ledger.book(found)
    assert ledger.spent == pytest.approx(100 * 0.01, rel=1e-9)
    with pytest.raises(LedgerError, match="all 101 fits would cost"):
        ledger.book(found)
    secrets = DPLedger(tmp_path / "secrets.dp", 5.0, 1e-6, "secrets")
    secrets.book(RecordDP(1.0, VALUES, delta=0.99e-6 / (1 + math.e)))
    assert secrets.spent == pytest.approx(2.0, rel=1e-9)
    with pytest.raises(LedgerError, match="would cost"):
        secrets.book(RecordDP(0.1, VALUES, delta=1e-8))
    with pytest.raises(LedgerError, match="would cost"):
        DPLedger(tmp_path / "pure.dp", 5.0).book(found)


@pytest.mark.parametrize(("eps", "least"), [(0.5, 4.9), (0.1, 4.5)])
def test_one_fit_with_a_delta_leaves_the_squares_of_the_others(eps: float, least: float, tmp_path: Path) -> None:
    """It adds up plainly beside the others, or by its own square but for its δ: it once turned all squares off."""
    ledger = DPLedger(tmp_path / "people.dp", 30.0, 1e-6)
    for _ in range(60):
        ledger.book(record(0.1))
    ledger.book(RecordDP(eps, VALUES, delta=1e-9))
    rho, rest = 60 * 0.1**2 / 2, math.log(1 / (1e-6 - 1e-9))
    plainly = eps + rho + 2 * math.sqrt(rho * rest)
    squared = rho + eps**2 / 2 + 2 * math.sqrt((rho + eps**2 / 2) * rest)
    assert ledger.spent == pytest.approx(min(plainly, squared), rel=1e-9)
    assert ledger.spent < least
    assert (plainly < squared) == (eps == 0.5)


def test_levels_of_both_kinds_hold_for_the_noise_by_enumeration() -> None:
    """Of k geometric noises and one release that shows all with probability δ: the book's ε and δ bound every event."""
    k, rate, eps, own, delta = 30, 0.1, 0.4, 2e-5, 1e-4
    z = np.arange(-400, 401)
    p = np.exp(-rate * np.abs(z)) / np.exp(-rate * np.abs(z)).sum()
    up = p[z <= 0].sum()  # the loss of one noise is -rate or rate
    shift = np.array([math.comb(k, ups) * up**ups * (1 - up) ** (k - ups) for ups in range(k + 1)])
    losses = rate * (2 * np.arange(k + 1) - k)
    # The last release: randomized response of ε but for δ, where the loss is infinite.
    keep = math.exp(eps) / (1 + math.exp(eps))
    both = np.concatenate([losses + eps, losses - eps])
    chance = (1 - own) * np.concatenate([shift * keep, shift * (1 - keep)])
    fits = (*[_Fit(rate, 0.0, rate**2 / 2, 0.0)] * k, _Fit(eps, own, eps**2 / 2, own))
    form = _Form("sanitize/dp", 1, "rows", 9.0, delta, fits, "")
    level = form.spent()
    assert level < k * rate + eps
    over = both > level
    assert own + float((chance[over] * -np.expm1(level - both[over])).sum()) <= delta


def test_noise_on_secrets_counts_by_the_larger_of_both_kinds(tmp_path: Path) -> None:
    delta = 1e-6
    ledger = DPLedger(tmp_path / "people.dp", 10.0, 1e-5, "secrets")
    for _ in range(100):  # more than δ in plain addition, and not by ρ
        ledger.book(secret(0.1, delta))
    assert moved_count_sigma(0.1, delta) ** -2 < 0.1**2 / 2
    rho = 100 * 0.1**2 / 2
    assert ledger.spent == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e5)), rel=1e-9)
    wide = DPLedger(tmp_path / "wide.dp", 50.0, 1e-6, "secrets")
    for _ in range(2):
        wide.book(secret(3.0, 1e-6))
    rho = 2 * max(3.0**2 / 2, moved_count_sigma(3.0, 1e-6) ** -2)
    assert wide.spent == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e6)), rel=1e-9)
    pure = DPLedger(tmp_path / "pure.dp", 10.0, whom="secrets")
    with pytest.raises(LedgerError, match="would cost eps inf"):
        pure.book(secret(0.5, delta))


def test_a_ledger_of_rows_takes_no_promise_of_secrets_alone(tmp_path: Path) -> None:
    ledger = DPLedger(tmp_path / "people.dp", 10.0, 1e-3)
    with pytest.raises(LedgerError, match="secret_dp protects sensitive values only; use record_dp"):
        ledger.book(secret(0.5, 1e-6))
    assert len(ledger) == 0


@pytest.mark.parametrize("make", [lambda ledger: record(1.0, ledger), lambda ledger: secret(1.0, 1e-6, ledger)])
def test_every_fit_is_booked_by_itself_before_it_is_seen(make: object, tmp_path: Path) -> None:
    ledger = DPLedger(tmp_path / "people.dp", 9.0, 1e-3, "secrets")
    promise = make(ledger)  # type: ignore[operator]
    once = 2.0 if isinstance(promise, RecordDP) else 1.0
    fitted = estimator(promise).fit(people())
    assert (len(ledger), ledger.spent) == (1, pytest.approx(once))
    fitted.transform(people())  # draws of the rows' own symbols are no fit
    assert len(ledger) == 1
    clone(fitted).fit(people())
    assert len(ledger) == 2
    people().to_parquet(tmp_path / "raw.parquet")
    sz.release_file(tmp_path / "raw.parquet", tmp_path / "out.parquet", estimator(promise))
    assert len(ledger) == 3
    tight = DPLedger(tmp_path / "tight.dp", 0.5, 1e-3, "secrets")
    refused = estimator(make(tight))  # type: ignore[operator]
    with pytest.raises(LedgerError, match="nothing was fitted"):
        sz.release_file(tmp_path / "raw.parquet", tmp_path / "second.parquet", refused)
    assert not (tmp_path / "second.parquet").exists()
    assert not hasattr(refused, "report_")


def test_a_value_that_is_not_declared_is_refused_before_a_fit_is_booked(tmp_path: Path) -> None:
    ledger = DPLedger(tmp_path / "people.dp", 5.0)
    with pytest.raises(ColumnError):  # before a count got noise: nothing was told
        estimator(record(1.0, ledger)).fit(people().replace("b", "c"))
    assert len(ledger) == 0


def test_two_processes_cannot_both_spend_what_is_left(tmp_path: Path) -> None:
    DPLedger(tmp_path / "people.dp", eps=4.0)

    def one(_: int) -> bool:
        try:
            DPLedger(tmp_path / "people.dp").book(record(1.0))
        except LedgerError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(16))) == 4
    assert len(DPLedger(tmp_path / "people.dp")) == 4


def test_what_a_ledger_of_levels_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "people.dp"
    for settings in ({"eps": 0.0}, {"eps": math.inf}, {"eps": 1.0, "delta": -0.1}, {"eps": 1.0, "whom": "all"}):
        with pytest.raises(InvalidParameter):
            DPLedger(path, **settings)  # type: ignore[arg-type]
    assert not path.exists()
    with pytest.raises(LedgerError, match=r"make it with sanitize\.over_time\.DPLedger"):
        DPLedger(path).book(record(1.0))
    ledger = DPLedger(path, 1.0)
    assert DPLedger(path, 1.0).total == ledger.total == "eps 1 and delta 0 of rows"
    with pytest.raises(LedgerError, match="has the total eps 1 and delta 0 of rows, not eps 2 and delta 0 of rows"):
        DPLedger(path, 2.0)
    text = json.loads(path.read_text())
    path.write_text(json.dumps(text | {"eps": 9.0}))
    with pytest.raises(LedgerError, match="can be trusted"):
        ledger.book(record(1.0))
    with pytest.raises(InvalidParameter, match=r"must be a sanitize\.over_time\.DPLedger, got Ledger"):
        RecordDP(1.0, VALUES, ledger=Ledger(tmp_path / "releases", BUDGET))


POLICY = """
version = 1
ledger = "people.dp"
[columns]
sensitive = ["ill"]
public = ["town"]
[budget]
lower = 1.0
upper = 0.7
[channel]
mechanism = "latent-classes"
confidence = 0.9
record_dp = { eps = 1.0, values = { ill = ["no", "yes"], town = ["a", "b"] } }
"""


def test_a_policy_books_in_the_ledger_it_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people().to_parquet(tmp_path / "raw.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    release = ["release", str(tmp_path / "raw.parquet"), "-p", str(tmp_path / "policy.toml"), "--allow-useless", "-o"]
    assert main([*release, str(tmp_path / "first.parquet")]) != 0
    assert "there is no ledger 'people.dp'" in capsys.readouterr().err
    ledger = DPLedger(tmp_path / "people.dp", 1.5)
    assert main([*release, str(tmp_path / "first.parquet")]) == 0
    assert len(ledger) == 1
    assert main([*release, str(tmp_path / "second.parquet")]) != 0
    assert "with this fit, all 2 fits would cost eps 2" in capsys.readouterr().err
    assert not (tmp_path / "second.parquet").exists()
    by_unit = POLICY.replace("[columns]", '[columns]\nunit = "who"')
    with pytest.raises(
        PolicyError, match=r"columns\.unit asks for a ledger that counts sensitive values without noise"
    ):
        sz.Policy.from_toml(by_unit)
