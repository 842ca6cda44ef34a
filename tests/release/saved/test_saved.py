"""Saved releases: what is in them, what is not, and new rows released through them."""

from __future__ import annotations

import io
import json
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import sanitize as sz
from sanitize._util.sealed_text import compute_seal
from sanitize.core.binning import Bins
from sanitize.core.budgets import BUDGETS, CapacityBudget, LiftBudget
from sanitize.engines.parquet import release_file
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidParameter,
    RowOrderLeak,
    SourceError,
    TargetExists,
    UnknownSymbol,
)
from sanitize.release.saved import SavedRelease
from sanitize.release.saved._form import own_budget
from sanitize.transformers import (
    ExponentialChannel,
    GaussianChannel,
    JointRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    SubsetRandomResponse,
    Watchdog,
)

BUDGET = sz.LiftBudget(lower=math.inf, upper=0.4)
KEY = bytes(range(32))


def table(n: int = 2000, seed: int = 0) -> pa.Table:
    """S depends on x, weakly on age; x has missing values."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 3, n)
    x = (s + np.minimum(rng.integers(0, 5, n), 3)) % 4
    names = np.array(["hush-a", "hush-b", "hush-c"])
    return pa.table(
        {
            "s": names[s],
            "x": pa.array(np.array(["red", "green", "blue", "teal"])[x], mask=rng.random(n) < 0.1),
            "age": rng.integers(0, 90, n) + s,
            "height": 1 + rng.random(n),
        }
    )


@pytest.fixture
def raw(tmp_path) -> Path:
    pq.write_table(table(), tmp_path / "raw.parquet")
    return tmp_path / "raw.parquet"


@pytest.fixture
def new(tmp_path) -> Path:
    pq.write_table(table(700, seed=1), tmp_path / "new.parquet")
    return tmp_path / "new.parquet"


def fitted(**settings) -> SubsetMerging:
    settings = {"sensitive": "s", "public": ["x", "age"], "bins": {"age": [0, 30, 60, 100]}, **settings}
    return SubsetMerging(BUDGET, **settings).fit(table().to_pandas())


@pytest.fixture(scope="module")
def saved() -> SavedRelease:
    return SavedRelease.of(fitted())


# ------------------------------------------------------------------------------------------------- the text


EVERY = [
    SubsetMerging(BUDGET, sensitive="s", public=["x", "age"], bins={"age": [0, 30, 100]}),
    SubsetMerging(BUDGET, sensitive="s", public=["x"]),
    SubsetMerging(BUDGET, sensitive="s", public=["x", "age"], bins={"age": [0, 40, 80]}),
    Watchdog(sz.LDPBudget(2.0), sensitive=["s"], public="x"),
    Watchdog(sz.L1LiftBudget(lower=3.0, upper=1.0), sensitive="s", public="x"),
    Watchdog(sz.Chi2LiftBudget(lower=math.inf, upper=1.0), sensitive="s", public="x"),
    Watchdog(sz.AlphaLiftBudget(2.0, lower=math.inf, upper=1.0), sensitive="s", public="x"),
    RandomizedResponse(1.0, public=["x"]),
    RandomizedResponse(1.0, sensitive="s", public=["x"], min_count=400),
    OptimalRandomResponse(LiftBudget.symmetric(1.0), sensitive="s", public=["x"]),
    SubsetRandomResponse(LiftBudget.symmetric(1.0), sensitive="s", public=["x"]),
    ExponentialChannel(0.3, sensitive="s", public=["x"]),
    GaussianChannel(0.3, sensitive="s", public=["age"], bounds=(0, 100), points=9),
    GaussianChannel(
        0.3,
        sensitive="s",
        public=["age", "height"],
        bounds={"age": (0, 100), "height": (1, 2)},
        points=5,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", EVERY, ids=lambda made: type(made).__name__)
def test_a_saved_release_is_read_back_whole(sanitizer, raw, tmp_path):
    privatize_or_fit = sanitizer.fit(table().to_pandas())
    before = SavedRelease.of(privatize_or_fit)
    text = before.to_json(tmp_path / "saved.json")
    for after in (
        SavedRelease.from_json(text),
        SavedRelease.from_json(tmp_path / "saved.json"),
        SavedRelease.from_json(str(tmp_path / "saved.json")),
    ):
        assert after.channel == before.channel == sanitizer.channel_
        assert after.budget == before.budget == sanitizer.report_.budget
        assert after.figures == before.figures
        assert after.warnings == before.warnings
        assert (after.sensitive, after.public, after.output) == (before.sensitive, before.public, before.output)
        assert after._layout == before._layout
        assert after.to_json() == text
        assert after.fingerprint == before.fingerprint == json.loads(text)["sha256"]
    assert (tmp_path / "saved.json").stat().st_mode & 0o777 == 0o600
    report = release_file(raw, tmp_path / "out.parquet", after)
    assert report.ok
    assert report.n_rows == 2000


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["keep", "shuffle"])
@pytest.mark.parametrize("sanitizer", EVERY, ids=lambda made: type(made).__name__)
def test_what_is_read_back_draws_what_the_fitted_one_draws(sanitizer, rows, raw, tmp_path):
    sanitizer = clone(sanitizer).fit(pq.read_table(raw))
    fitted = SavedRelease.of(sanitizer)
    loaded = SavedRelease.from_json(fitted.to_json())
    # The same rows and the same noise, printed too.
    (own, bound), rows_in = (sanitizer._release, loaded.to_release()), pq.read_table(raw).to_pandas()
    codes = own.encode(rows_in)[0]
    assert np.array_equal(bound.encode(rows_in)[0], codes)
    drawn = [one.channel.sample(codes, sz.NoiseKey(KEY), start=5) for one in (own, bound)]
    assert np.array_equal(*drawn)
    printed = [pa.table(one.decode(drawn[0], sz.NoiseKey(KEY), 5)) for one in (own, bound)]
    assert [part.to_pylist() for part in printed[:1]] == [part.to_pylist() for part in printed[1:2]]
    # The same file and key: the same bytes.
    files = [tmp_path / "fitted.parquet", tmp_path / "loaded.parquet"]
    for saved, target in zip((fitted, loaded), files, strict=True):
        release_file(raw, target, saved, rows=rows, key=KEY)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_neither_sensitive_values_nor_keys_nor_counts_are_saved():
    key = sz.NoiseKey(b"SECRETSECRETSECRETSECRETSECRETSE")
    text = SavedRelease.of(fitted(random_state=key)).to_json()
    for canary in ("hush", "SECRET", key.key.hex(), "2000", "n_rows"):
        assert canary not in text
    state = json.loads(text)
    # Alphabets travel as Arrow, in base64: only those of the public columns are there.
    levels = {tuple(state["channel"][end]["columns"]) for end in ("inputs", "outputs")}
    assert levels == {("x", "age")}
    assert set(state) == {*("format", "version", "library_version", "mechanism", "output", "sensitive", "public")} | {
        *("missing", "bins", "budget", "channel", "partition", "optimality"),
        *("figures", "warnings", "secret_dp", "sha256"),
    }


def test_the_seed_of_a_sanitizer_is_not_the_saved_releases():
    saved = SavedRelease.of(fitted(random_state=3))
    assert not any("seed" in note for note in saved.warnings)


class OwnBudget(sz.LiftBudget):
    """A budget that nobody else knows."""


class OwnBins(Bins):
    """Bins that nobody else knows."""


def with_bins_of_its_own() -> SubsetMerging:
    sanitizer = fitted()
    bins = OwnBins("age", (0.0, 30.0, 60.0, 100.0), learned=False, whole=True)
    layout = replace(sanitizer._release.layout, bins={"age": bins})
    sanitizer._release = replace(sanitizer._release, layout=layout)
    return sanitizer


@pytest.mark.parametrize(
    ("sanitizer", "error", "message"),
    [
        (SubsetMerging(LiftBudget.symmetric(1.0), sensitive="s", public="x"), InvalidParameter, "not fitted yet"),
        (fitted(keep_sensitive=True), InvalidParameter, "keep_sensitive=True"),
        (
            SubsetMerging(OwnBudget(lower=math.inf, upper=1.5), sensitive="s", public="x").fit(table()),
            InvalidParameter,
            "OwnBudget",
        ),
        (with_bins_of_its_own(), InvalidParameter, "bins of column 'age' cannot be saved"),
    ],
)
def test_what_cannot_be_saved_is_refused(sanitizer, error, message):
    with pytest.raises(error, match=message):
        SavedRelease.of(sanitizer)


def test_a_release_over_its_budget_is_not_saved():
    sanitizer = fitted()
    leaky = sz.LeakageReport.measure(
        sanitizer._joint, sz.Channel.identity(len(sanitizer._joint.public), sanitizer._joint.public), sz.LDPBudget(0.01)
    )
    sanitizer.report_ = leaky
    with pytest.raises(BudgetExceeded):
        SavedRelease.of(sanitizer)


def paths(state, here=()):
    """Every place in nested JSON, values and containers, with first items optimality for lists."""
    yield here
    if isinstance(state, dict):
        for name, value in state.items():
            yield from paths(value, (*here, name))
    elif isinstance(state, list) and state:
        yield from paths(state[0], (*here, 0))


def changed(state, path, value):
    """A copy with another value in one place; DROP takes it away."""
    copy = json.loads(json.dumps(state))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    if value is DROP:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copy


DROP = object()
OTHERS = [None, True, -1, 7, 0.5, 10**400, "inf", "odd", [], [[1]], {}, {"a": 1}, DROP]


def joint() -> JointRelease:
    parts = [
        ("x", SubsetMerging(BUDGET, public="x")),
        ("age", GaussianChannel(0.2, public="age", bounds=(0, 100), points=4)),
    ]
    return JointRelease(parts, sz.LiftBudget(lower=math.inf, upper=2.0), sensitive="s").fit(table())


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", [fitted, joint])
def test_every_field_is_checked_when_a_saved_release_is_read(sanitizer):
    """Whatever is put in whatever place, with a SHA-256 that fits: refused, or a release that can be saved again."""
    state = json.loads(SavedRelease.of(sanitizer()).to_json())
    refused = accepted = 0
    said = set()
    for path in paths(state):
        if not path or path == ("sha256",):
            continue
        for value in OTHERS:
            other = changed(state, path, value)
            other["sha256"] = compute_seal(other)
            try:
                again = SavedRelease.from_json(json.dumps(other))
            except InvalidParameter as error:
                said.add(str(error).partition(":")[0])
                refused += 1
            else:
                # Free text, figures and list items may be others; what is read is what was written.
                assert json.loads(again.to_json())[path[0]] == other[path[0]] or path == ("library_version",)
                accepted += 1
    assert said == {"this is not a saved release that can be trusted"}
    assert refused > 300
    assert accepted < refused / 5


def test_a_change_of_any_kind_is_noticed_without_the_digest(saved):
    text = saved.to_json()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(text), 300, replace=False):
        other = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        try:
            again = SavedRelease.from_json(other if other.lstrip().startswith("{") else "{" + other)
        except InvalidParameter:
            continue
        assert again.to_json() == text  # a change of white space


BARE = {"format": "sanitize/release", "version": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"format": 1, "format": 2}', "occurs twice"),
        ('{"format": NaN}', "infinite, NaN"),
        ('{"format": "sanitize/channel"}', "format must be 'sanitize/release'"),
        (
            '{"format": "sanitize/release", "version": 2}',
            "version must be 1, the version of this form that this library",
        ),
        ('{"format": "sanitize/release", "version": 1}', "was changed or damaged after it was written"),
        (json.dumps(BARE | {"sha256": compute_seal(BARE)}), "library_version is missing"),
        ("{" * 100_000, "not JSON"),
    ],
)
def test_other_texts_are_refused(text, message):
    with pytest.raises(InvalidParameter, match=message):
        SavedRelease.from_json(text)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(SourceError):
        SavedRelease.from_json(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(InvalidParameter, match="not in UTF-8"):
        SavedRelease.from_json(tmp_path / "latin.json")
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(InvalidParameter, match="it must be an object"):
        SavedRelease.from_json(tmp_path / "list.json")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="not a regular file"):
        SavedRelease.from_json(tmp_path / "pipe")


def test_every_budget_of_the_library_that_is_a_value_can_be_saved():
    assert own_budget(CapacityBudget(0.25)) == CapacityBudget(0.25)
    named = {name for name in dir(sz) if name.endswith("Budget") and isinstance(getattr(sz, name), type)}
    assert named <= set(BUDGETS)


# ------------------------------------------------------------------------------------------------- new rows


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_new_rows_are_released_by_the_distribution_of_the_channel(rows, saved, new, tmp_path):
    report = release_file(new, tmp_path / "out.parquet", saved, rows=rows)
    released = pq.read_table(tmp_path / "out.parquet")
    assert released.column_names == ["x", "age"]
    assert released.num_rows == report.n_rows == 700
    assert set(released.column("x").to_pylist()) <= {"red", "green", "blue", "teal", None}
    assert json.loads(pq.read_metadata(tmp_path / "out.parquet").metadata[b"sanitize"])["holds_for"].endswith(
        "fitted on"
    )


def test_the_same_rows_get_the_distribution_of_the_fit(raw, saved, tmp_path):
    """Held-out figures of the very rows of the fit are its in-sample figures."""
    report = release_file(raw, tmp_path / "out.parquet", saved)
    in_sample = fitted().report_
    assert in_sample.summary["normalized_utility"] < 0.99  # symbols were merged
    for name in ("max_log_lift", "min_log_lift", "mutual_information", "normalized_utility"):
        assert report.held_out.summary[name] == pytest.approx(in_sample.summary[name], rel=1e-12)
        assert report.summary[name] == pytest.approx(in_sample.summary[name], rel=1e-3)


def test_held_out_figures_are_those_of_measure(new, saved, tmp_path):
    report = release_file(new, tmp_path / "out.parquet", saved)
    other = fitted().measure(pq.read_table(new).to_pandas())
    for name, value in other.summary.items():
        if name not in ("mechanism", "ok"):
            assert report.held_out.summary[name] == value, name
    assert report.held_out.ok == other.ok


def test_new_rows_that_follow_another_distribution_are_called_so(saved, tmp_path):
    frame = table(700, seed=2).to_pandas()
    frame["s"] = np.where(frame["x"] == "red", "hush-a", "hush-b")
    frame.to_parquet(tmp_path / "new.parquet")
    report = release_file(tmp_path / "new.parquet", tmp_path / "out.parquet", saved)
    assert not report.ok
    assert not report.held_out.ok
    assert any("over the budget" in note for note in report.warnings)
    assert "over the budget" in str(report)
    public = str(report.to_dict(audience="public")) + report.to_text(audience="public")
    assert not any(word in public for word in ("hush", "teal", "700"))


def test_rows_without_the_sensitive_columns_are_released_and_not_measured(new, saved, tmp_path):
    pq.write_table(pq.read_table(new).drop_columns(["s"]), tmp_path / "bare.parquet")
    report = release_file(tmp_path / "bare.parquet", tmp_path / "out.parquet", saved)
    assert report.held_out is None
    assert "nothing is known of their own distribution" in str(report)
    assert json.loads(report.to_json(tmp_path / "r.json"))["held_out"] is None
    with pytest.raises(InvalidParameter, match="needs the sensitive columns"):
        release_file(tmp_path / "bare.parquet", tmp_path / "kept.parquet", saved, rows="keep")


def test_unseen_symbols_are_refused_by_columns_and_number_of_rows(saved, tmp_path):
    frame = table(400, seed=3).to_pandas()
    frame.loc[[7, 300], "x"] = "SECRET"
    frame.to_parquet(tmp_path / "new.parquet")
    with pytest.raises(UnknownSymbol, match=r"2 row\(s\) have a value of 'x', 'age'") as caught:
        release_file(tmp_path / "new.parquet", tmp_path / "out.parquet", saved, batch_rows=50)
    assert caught.value.n_rows == 2
    assert "SECRET" not in str(caught.value)
    assert "handle_unknown" not in str(caught.value)
    assert os.listdir(tmp_path) == ["new.parquet"]


def test_order_that_tells_is_not_kept(saved, tmp_path):
    frame = table(5000, seed=4).to_pandas().sort_values("s")
    frame.to_parquet(tmp_path / "new.parquet")
    tight = SavedRelease.of(
        SubsetMerging(sz.LiftBudget(lower=math.inf, upper=0.5), sensitive="s", public="x").fit(table())
    )
    with pytest.raises(RowOrderLeak):
        release_file(tmp_path / "new.parquet", tmp_path / "out.parquet", tight, rows="keep")
    assert os.listdir(tmp_path) == ["new.parquet"]


def test_targets_and_columns_are_checked_as_ever(new, saved, tmp_path):
    (tmp_path / "there.parquet").write_bytes(b"old")
    with pytest.raises(TargetExists):
        release_file(new, tmp_path / "there.parquet", saved)
    pq.write_table(pa.table({"x": ["red"]}), tmp_path / "few.parquet")
    with pytest.raises(ColumnError, match="no column 'age'"):
        release_file(tmp_path / "few.parquet", tmp_path / "out.parquet", saved)
    pq.write_table(table(0), tmp_path / "none.parquet")
    with pytest.raises(SourceError, match="no rows"):
        release_file(tmp_path / "none.parquet", tmp_path / "out.parquet", saved)


def test_csv_and_streams_are_released_too(tmp_path):
    frame = table().to_pandas()
    frame.to_csv(tmp_path / "raw.csv", index=False)
    sanitizer = SubsetMerging(BUDGET, sensitive="s", public=["x", "age"], bins={"age": [0, 30, 60, 100]})
    release_file(tmp_path / "raw.csv", tmp_path / "first.csv", sanitizer)
    saved = SavedRelease.from_json(SavedRelease.of(sanitizer).to_json())
    out = io.BytesIO()
    report = release_file(io.BytesIO((tmp_path / "raw.csv").read_bytes()), out, saved, key=KEY)
    assert report.n_rows == 2000
    assert len(out.getvalue().splitlines()) == 2001
    release_file(tmp_path / "raw.csv", tmp_path / "second.csv", saved, key=KEY)
    assert len(pd.read_csv(tmp_path / "second.csv")) == 2000


def test_symbols_that_were_numbers_at_fit_are_numbers_in_csv_too(tmp_path):
    """A CSV file has text only: all its rows were refused as unknown."""
    frame = table().to_pandas()
    frame["x"] = frame["x"].astype("category").cat.codes.astype("int64")
    saved = SavedRelease.of(SubsetMerging(BUDGET, sensitive="s", public="x").fit(frame))
    frame.to_csv(tmp_path / "raw.csv", index=False)
    report = release_file(tmp_path / "raw.csv", tmp_path / "out.csv", saved, key=KEY)
    assert report.held_out.ok
    assert set(pd.read_csv(tmp_path / "out.csv")["x"]) <= set(frame["x"])


# --------------------------------------------------------------------------------------------------- noise


def draws(tmp_path: Path, rows: pa.Table, saved: SavedRelease, key: bytes | None, **settings) -> list:
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=settings.pop("row_group_size", None))
    release_file(
        tmp_path / "rows.parquet", tmp_path / "out.parquet", saved, key=key, force=True, rows="keep", **settings
    )
    return pq.read_table(tmp_path / "out.parquet").to_pylist()


def noisy() -> SavedRelease:
    return SavedRelease.of(RandomizedResponse(1.0, sensitive="s", public="x").fit(table()))


def test_the_same_key_gives_another_file_other_noise(tmp_path):
    """Two files whose rows hold one symbol each: with shared noise their outputs would agree row by row."""
    saved, n = noisy(), 3000
    secret = np.random.default_rng(0).permutation(["hush-a", "hush-b"] * (n // 2))
    constant = {c: pa.table({"s": secret, "x": [c] * n}) for c in ("red", "blue")}
    one = [row["x"] for row in draws(tmp_path, constant["red"], saved, KEY)]
    longer = pa.concat_tables([constant["red"], constant["red"].slice(0, 1)])
    other = [row["x"] for row in draws(tmp_path, longer, saved, KEY)][:n]
    kept = np.mean(np.array(one) == "red")
    agree = np.mean(np.array(one) == np.array(other))
    # Independent draws of one distribution p agree with probability sum p^2; five standard deviations, alarm below
    # 1e-6.
    expected = sum(np.mean(np.array(one) == v) ** 2 for v in ("red", "blue", "green", "teal", None))
    assert abs(agree - expected) < 5 * math.sqrt(expected / n) + 0.01
    assert agree < kept + 0.1


def test_the_same_key_and_file_give_the_same_rows_however_they_are_cut(tmp_path):
    saved, rows = noisy(), table(900, seed=5)
    first = draws(tmp_path, rows, saved, KEY)
    assert draws(tmp_path, rows, saved, KEY) == first
    assert draws(tmp_path, rows, saved, KEY, batch_rows=17) == first
    assert draws(tmp_path, rows, saved, KEY, row_group_size=100) == first
    assert draws(tmp_path, rows, saved, bytes(32)) != first
    assert draws(tmp_path, rows, saved, None) != draws(tmp_path, rows, saved, None)
    assert [row["x"] for row in draws(tmp_path, rows, saved, KEY)] != fitted_draws(rows)


def fitted_draws(rows: pa.Table) -> list:
    """What a sanitizer with the same key draws for the same rows."""
    sanitizer = RandomizedResponse(1.0, sensitive="s", public="x", random_state=sz.NoiseKey(KEY)).fit(table())
    return sanitizer.transform(rows).column("x").to_pylist()


def test_another_saved_release_draws_other_noise_for_the_same_file(tmp_path):
    rows = table(900, seed=5)
    other = SavedRelease.of(RandomizedResponse(1.0, sensitive="s", public="x").fit(table(seed=9)))
    assert draws(tmp_path, rows, noisy(), KEY) != draws(tmp_path, rows, other, KEY)


@pytest.mark.parametrize("key", [b"short", "text", 7])
def test_a_key_is_32_bytes(key, new, saved, tmp_path):
    with pytest.raises(InvalidParameter, match="32 bytes"):
        release_file(new, tmp_path / "out.parquet", saved, key=key)
