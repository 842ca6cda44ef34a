"""Verification: an honest release passes, with its receipt and without; a receipt catches every fault of its rows."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from verify_cases import BUDGET, ROLES, assert_caught, failed, merging, proved, receipt_of, release, rewrite, table

import sanitize as sz
from sanitize.auditing.verify import Verification, verify_file
from sanitize.auditing.verify import _rows as distribution
from sanitize.core.budgets import LiftBudget
from sanitize.core.channel import Channel
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.transformers import (
    ExponentialChannel,
    GaussianChannel,
    JointRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    Watchdog,
)


def response() -> RandomizedResponse:
    return RandomizedResponse(1.5, **ROLES)


@contextlib.contextmanager
def sampler(monkeypatch, faulty):
    """A channel that draws otherwise while a file is written: ``faulty(channel, codes, draw)``."""
    honest = Channel.sample

    def sample(self, codes, rng=None, *, start=0, out=None):
        drawn = faulty(self, np.asarray(codes), lambda at=start: honest(self, codes, rng, start=at)).astype(np.int32)
        if out is None:
            return drawn
        out[...] = drawn
        return out

    with monkeypatch.context() as patched:
        patched.setattr(Channel, "sample", sample)
        yield


# --------------------------------------------------------------------------------------- honest releases

HONEST = [
    merging(),
    response(),
    Watchdog(
        LiftBudget.symmetric(0.7),
        sensitive="illness",
        public=["town", "age", "wage"],
        bins={"age": [18, 40, 79], "wage": [0, 20, 100]},
    ),
    OptimalRandomResponse(LiftBudget.symmetric(0.5), **ROLES),
    GaussianChannel(0.5, bounds={"age": (18, 80)}, step=5, sensitive="illness", public=["age"]),
    ExponentialChannel(0.5, sensitive="illness", public=["town"]),
    merging(min_count=300),
    RandomizedResponse(3.0, sensitive="illness", public=["age"]),
    SubsetMerging(
        sz.LiftBudget(lower=math.inf, upper=0.5), sensitive=["illness", "floor"], public=["town", "age"], min_count=20
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("sanitizer", HONEST, ids=lambda s: type(s).__name__)
def test_twenty_honest_releases_pass(sanitizer, rows, folder):
    target = release(folder, sanitizer, rows=rows, number=5)
    found = verify_file(target, folder / "raw.parquet", sanitizer, rows=rows)
    assert found.ok, str(found)
    assert found.require() is found
    assert proved(target, "raw.parquet", sanitizer, rows=rows).ok


def test_a_folder_of_parts_passes(folder):
    (folder / "in").mkdir()
    for i in range(3):
        pq.write_table(table(1500, seed=i), folder / "in" / f"{i}.parquet")
    for rows in ("shuffle", "keep"):
        target = release(folder, response(), source="in", target="parts", rows=rows)
        found = verify_file(target, folder / "in", response(), rows=rows)
        assert found.ok, str(found)


def test_a_joint_release_passes(folder):
    def joint():
        parts = [(name, RandomizedResponse(0.5, public=name)) for name in ("town", "floor")]
        return JointRelease(parts, LiftBudget.symmetric(2.0), sensitive="illness")

    for rows in ("shuffle", "keep"):
        found = verify_file(release(folder, joint(), rows=rows), folder / "raw.parquet", joint(), rows=rows)
        assert found.ok, str(found)


def test_kept_columns_are_compared_too(folder):
    def joint():
        return JointRelease(
            [("town", Watchdog(public="town"))], LiftBudget.symmetric(2), sensitive="illness", keep="floor"
        )

    for rows in ("shuffle", "keep"):
        target = release(folder, joint(), rows=rows)
        found = verify_file(target, folder / "raw.parquet", joint(), rows=rows)
        assert found.ok, str(found)
        content = pq.read_table(target)
        other = pa.array((np.asarray(content["floor"]) + 1) % 3)
        rewrite(target, content.set_column(1, "floor", other))
        assert_caught(verify_file(target, folder / "raw.parquet", joint(), rows=rows), "possible", "lost rows")


@pytest.mark.slow
def test_a_release_as_text_passes_and_its_faults_are_caught(folder):
    sanitizer = SubsetMerging(
        BUDGET, sensitive="illness", public=["town", "floor", "wage"], bins={"wage": [0, 20, 100]}
    )
    target = release(folder, sanitizer, target="out.csv", rows="keep")
    found = verify_file(target, folder / "raw.parquet", sanitizer, rows="keep")
    assert found.ok, str(found)
    lines = target.read_text().splitlines()
    told = (lines[0] + ",illness", *(line + ",SECRET influenza" for line in lines[1:]))
    target.write_text("\n".join(told) + "\n")
    found = verify_file(target, folder / "raw.parquet", sanitizer, rows="keep")
    assert_caught(found, "columns", "'illness' should not be there")
    target.write_text("\n".join([lines[0], "Aa,no number,3", *lines[2:]]) + "\n")
    with pytest.raises(ColumnError, match="'floor' of the release has text that cannot be converted to the type int64"):
        verify_file(target, folder / "raw.parquet", sanitizer, rows="keep")


def test_a_release_of_text_from_text_passes(folder):
    import pyarrow.csv

    pyarrow.csv.write_csv(table().select(["illness", "town", "age"]), folder / "raw.csv")
    sanitizer = SubsetMerging(BUDGET, sensitive="illness", public=["town", "age"], bins={"age": [18, 40, 79]})
    for name in ("text.csv", "text.parquet"):
        target = release(folder, sanitizer, source="raw.csv", target=name)
        found = verify_file(target, folder / "raw.csv", sanitizer)
        assert found.ok, str(found)


def test_missing_values_booleans_dates_and_decimals_pass(tmp_path):
    rng = np.random.default_rng(3)
    n = 600
    raw = pa.table(
        {
            "s": pa.array(rng.choice(["p", "q", None], n)),
            "b": pa.array(rng.choice([True, False, None], n)),
            "d": pa.array(rng.choice(np.array(["2020-01-01", "2021-02-03"], "M8[D]"), n)),
            "t": pa.array(rng.choice(np.array(["2020-01-01T10:11", "2021-02-03"], "M8[us]"), n)),
            "m": pa.array(rng.integers(0, 3, n)).cast(pa.decimal128(21, 2)),
            "f": pa.array(rng.choice([0.0, -0.0, 1.5, np.nan], n)),
            "w": pa.array(rng.choice(["", "x", "y" * 5000], n)),
        }
    )
    pq.write_table(raw, tmp_path / "raw.parquet")
    for columns in (["b", "d"], ["t", "m"], ["f", "w"]):
        sanitizer = RandomizedResponse(1.0, sensitive="s", public=columns)
        target = release(tmp_path, sanitizer, rows="keep")
        found = verify_file(target, tmp_path / "raw.parquet", sanitizer, rows="keep")
        assert found.ok, str(found)


def test_numbers_printed_from_bins_of_a_narrow_type_pass(tmp_path):
    """Floats of 32 bits round up to the next edge; a bin without a whole number prints one of its neighbour's."""
    rng = np.random.default_rng(4)
    n = 200_000
    raw = {"s": rng.choice(["p", "q"], n), "x": (1e6 + rng.random(n) * 4).astype("f4"), "i": rng.integers(0, 4, n)}
    pq.write_table(pa.table(raw), tmp_path / "raw.parquet")
    for column, edges in (("x", [1e6, 1e6 + 1, 1e6 + 2, 1e6 + 4]), ("i", [0.2, 0.5, 1.5, 3])):
        sanitizer = SubsetMerging(LiftBudget.symmetric(0.5), sensitive="s", public=[column], bins={column: edges})
        target = release(tmp_path, sanitizer, rows="keep")
        found = verify_file(target, tmp_path / "raw.parquet", sanitizer, rows="keep")
        assert found.ok, str(found)


# ---------------------------------------------------------------------------------- faults of the sampler


def of_another_size(channel, codes, draw):
    """Randomized response among three letters too few."""
    rng, n = np.random.default_rng(0), channel.n_outputs - 3
    kept = rng.random(len(codes)) < math.expm1(1.5) / (math.exp(1.5) + n - 1)
    return np.where(kept, codes, rng.integers(0, n, len(codes)))


def ordered_map(channel, codes, draw):
    """Each group prints its symbols one after another: row order tells which was drawn."""
    released = draw()
    inputs, _ = distribution.communicating_groups(channel, np.ones(channel.n_inputs, bool))
    for group in np.unique(inputs[codes]):
        rows = np.flatnonzero(inputs[codes] == group)
        released[rows] = np.sort(released[rows])
    return released


ILL = np.asarray(table()["illness"].to_pylist()) == "SECRET influenza"
FAULTS = {
    "off by one": lambda channel, codes, draw: (draw() + 1) % channel.n_outputs,
    "another alphabet": of_another_size,
    "the last category as it is": lambda channel, codes, draw: np.where(
        codes == channel.n_inputs - 1, channel.n_outputs - 1, draw()
    ),
    "nothing drawn": lambda channel, codes, draw: codes,
    "a look at the secret": lambda channel, codes, draw: np.where(ILL & (codes == 1), 1, draw()),
    "words from the start": lambda channel, codes, draw: draw(0),
    "in turn": ordered_map,
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_sampler_with_a_fault_is_caught_by_the_receipt(fault, folder, monkeypatch):
    with sampler(monkeypatch, FAULTS[fault]):
        target = release(folder, response(), rows="keep", batch_rows=500 if fault == "words from the start" else 4000)
    assert_caught(proved(target, "raw.parquet", response(), rows="keep"), "rows", "is not what the key draws")


@pytest.mark.parametrize("fault", ["off by one", "another alphabet", "nothing drawn"])
def test_gross_faults_of_counts_are_caught_without(fault, folder, monkeypatch):
    with sampler(monkeypatch, FAULTS[fault]):
        target = release(folder, response(), rows="keep")
    found = verify_file(target, folder / "raw.parquet", response(), rows="keep")
    assert_caught(found, "counts", "not as frequent as the channel makes them")
    assert failed(found) == ["counts"]


def test_parts_of_a_folder_with_the_same_noise_are_caught(folder, monkeypatch):
    (folder / "same").mkdir()
    for i in range(2):
        pq.write_table(table(2500, seed=i), folder / "same" / f"{i}.parquet")
    with monkeypatch.context() as patched:
        patched.setattr("sanitize._util.sampling.noise.NoiseKey.derive", lambda self, label: self)
        target = release(folder, response(), source="same", target="same_out", rows="keep")
    assert_caught(proved(target, "same", response(), rows="keep"), "rows")


def test_a_merged_symbol_that_moves_to_another_group_is_caught(folder):
    target = release(folder, merging(), rows="keep")
    channel = merging().fit(pq.read_table(folder / "raw.parquet")).channel_
    inputs, outputs = distribution.communicating_groups(channel, np.ones(channel.n_inputs, bool))
    assert len(np.unique(inputs)) > 1
    written = pq.read_table(target)
    codes = channel.outputs.encode({name: written[name] for name in written.column_names})
    at = int(np.flatnonzero(outputs[codes] != outputs[codes[0]])[0])
    codes[at] = codes[0]
    moved = release(folder, merging(), rows="keep", target="moved.parquet")
    rewrite(moved, pa.table(channel.outputs.decode(codes)))
    found = verify_file(moved, folder / "raw.parquet", merging(), rows="keep")
    assert_caught(found, "possible", "rows hold a symbol that their own row of the source cannot lead to")
    assert_caught(found, "possible", "groups of symbols that no row leaves gained or lost rows")


def test_a_key_used_twice_is_caught(folder):
    one = release(folder, merging(), number=7)
    two = release(folder, response(), number=7, target="two.parquet")
    other = release(folder, response(), number=8, target="other.parquet")
    found = proved(one, "raw.parquet", merging(), against=[receipt_of(other), receipt_of(two)])
    assert_caught(found, "receipt", "its key is that of another release")
    assert failed(found) == ["receipt"]
    assert proved(one, "raw.parquet", merging(), against=[receipt_of(other)]).ok
    with pytest.raises(InvalidParameter, match="compares other receipts with the receipt of this release"):
        verify_file(one, folder / "raw.parquet", merging(), against=[receipt_of(two)])


# -------------------------------------------------------------------------------------------- row order


def test_a_shuffle_that_does_not_shuffle_is_caught(folder):
    target = release(folder, response(), rows="keep")
    found = verify_file(target, folder / "raw.parquet", response(), rows="shuffle")
    assert_caught(found, "order", "rows have the places of their rows in the raw table")


def test_a_merged_group_that_stands_together_is_caught(folder):
    """Rows of a group side by side, in the order of the source: the group is hidden, the row is not."""
    target = release(folder, merging())
    rewrite(target, pq.read_table(target).sort_by([("town", "ascending"), ("floor", "ascending")]))
    assert_caught(verify_file(target, folder / "raw.parquet", merging()), "order", "not shuffled")


def test_raw_rows_are_caught_by_the_receipt_alone(folder):
    """Merging and resampling keep P_X, so that a copy is as frequent as a release should be."""
    sanitizer = SubsetMerging(LiftBudget.symmetric(0.05), **ROLES)
    target = release(folder, sanitizer, target="copy.parquet")
    raw = pq.read_table(folder / "raw.parquet").select(pq.read_schema(target).names)
    types = pq.read_schema(target).remove_metadata()
    rewrite(target, raw.take(np.random.default_rng(0).permutation(len(raw))).cast(types))
    found = verify_file(target, folder / "raw.parquet", sanitizer)
    assert failed(found) == ["form"], str(found)
    assert "without a receipt its rows are not proved" in Verification(found.checks[:1]).to_text()
    assert_caught(proved(target, "raw.parquet", sanitizer), "rows", "is not what the key draws")


def test_a_merged_group_that_tells_by_its_order_is_caught(tmp_path):
    """A file sorted by S, whose groups are written one by one in its order, with rows declared shuffled."""
    pq.write_table(table().sort_by("illness"), tmp_path / "raw.parquet")
    target = release(tmp_path, merging())
    honest = verify_file(target, tmp_path / "raw.parquet", merging())
    assert honest.ok, str(honest)
    written = release(tmp_path, SubsetMerging(BUDGET, **ROLES), target="sorted.parquet")
    channel = merging().fit(pq.read_table(tmp_path / "raw.parquet")).channel_
    raw = pq.read_table(tmp_path / "raw.parquet")
    codes = channel.sample(channel.inputs.encode({name: raw[name] for name in ROLES["public"]}), 3)
    rewrite(written, pa.table(channel.outputs.decode(codes)))
    found = verify_file(written, tmp_path / "raw.parquet", merging())
    assert_caught(found, "order")


def test_a_release_of_values_that_are_never_printed_is_caught(folder):
    written = release(folder, RandomizedResponse(2.0, **ROLES), rows="keep")
    table = pq.read_table(written)
    other = table.set_column(0, "town", pa.array(["Zz"] * len(table))).replace_schema_metadata(table.schema.metadata)
    pq.write_table(other, written, store_schema=False)
    found = verify_file(written, folder / "raw.parquet", RandomizedResponse(2.0, **ROLES), rows="keep")
    assert_caught(found, "possible")
