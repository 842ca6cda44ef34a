"""Verification: an honest release passes, and every fault that somebody could plant is caught by the check for it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import sanitize as sz
from sanitize._release.permutation import log_hypergeometric, log_matching
from sanitize.channel import Channel
from sanitize.errors import ColumnError, InvalidParameter, SourceError, VerificationFailed
from sanitize.parquet import privatize_parquet
from sanitize.transformers import (
    ExponentialChannel,
    GaussianChannel,
    JointRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    Watchdog,
)
from sanitize.verify import _chance as law
from sanitize.verify import _noise as noise
from sanitize.verify import verify_parquet
from sanitize.verify._leftovers import Scanner, Spellings, in_base64, spellings
from sanitize.verify._observed import Observed, Streams, printed_of
from sanitize.verify._order import log_chance_of_same_order
from sanitize.verify._pages import Pages
from sanitize.verify._row_checks import RowChecks

ROLES = {"sensitive": ["illness"], "public": ["town", "floor"]}
BUDGET = sz.LiftBudget(lower=1.0, upper=0.7)


def table(n: int = 4000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    illness = rng.choice(["SECRET influenza", "SECRET nothing at all"], n, p=[0.3, 0.7])
    related = np.where(illness == "SECRET influenza", "Aa", "Bb")
    town = np.where(rng.random(n) < 0.4, related, rng.choice(["Aa", "Bb", "Cc", "Dd"], n, p=[0.1, 0.2, 0.3, 0.4]))
    return pa.table(
        {
            "illness": illness,
            "town": town,
            "floor": rng.choice(3, n, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(18, 80, n),
            "wage": (rng.random(n) * 100).astype("f4"),
            "name": [f"SECRET person {i % 500}" for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("verify")
    pq.write_table(table(), place / "raw.parquet")
    pq.write_table(table(seed=1), place / "other.parquet")
    return place


def key(number: int) -> bytes:
    return hashlib.sha256(b"test %d" % number).digest()


def release(folder, sanitizer, *, source="raw.parquet", target="out.parquet", rows="shuffle", number=0, **settings):
    privatize_parquet(folder / source, folder / target, sanitizer, rows=rows, key=key(number), force=True, **settings)
    return folder / target


def merging(**settings) -> SubsetMerging:
    return SubsetMerging(BUDGET, **ROLES, **settings)


def response() -> RandomizedResponse:
    return RandomizedResponse(1.5, **ROLES)


def observed(channel, n_s, s, x, y, rows, blocks=(1, 1)) -> Observed:
    """Rows that are there already, read in so many blocks of the source and of the release."""
    inputs = np.zeros((n_s, channel.n_inputs), np.int64)
    np.add.at(inputs, (s, x), 1)
    streams = Streams(
        lambda: zip(np.array_split(s, blocks[0]), np.array_split(x, blocks[0]), strict=True),
        lambda: iter(np.array_split(y, blocks[1])),
    )
    return Observed.of(channel, inputs, streams, rows)


def failed(verification) -> list[str]:
    return [check.name for check in verification.checks if not check.ok]


def assert_caught(verification, name: str, words: str = "") -> None:
    """The check caught it, said so in words, and told nothing about anybody."""
    assert name in failed(verification), str(verification)
    assert not verification.ok
    assert "SECRET" not in verification.to_text()
    detail = next(check.detail for check in verification.checks if check.name == name)
    assert words in detail


@contextlib.contextmanager
def sampler(monkeypatch, faulty):
    """A channel that draws otherwise while a file is written: ``faulty(channel, codes, draw)``."""
    honest = Channel.sample

    def sample(self, codes, rng=None, *, start=0):
        return faulty(self, np.asarray(codes), lambda at=start: honest(self, codes, rng, start=at)).astype(np.int32)

    with monkeypatch.context() as patched:
        patched.setattr(Channel, "sample", sample)
        yield


# --------------------------------------------------------------------------------------- honest releases

HONEST = [
    merging(),
    merging(release="label"),
    response(),
    Watchdog(
        0.7, sensitive="illness", public=["town", "age", "wage"], bins={"age": [18, 40, 79], "wage": [0, 20, 100]}
    ),
    OptimalRandomResponse(0.5, **ROLES),
    GaussianChannel(0.5, bounds={"age": (18, 80)}, step=5, sensitive="illness", public=["age"]),
    ExponentialChannel(0.5, sensitive="illness", public=["town"]),
    merging(min_count=300),
    RandomizedResponse(3.0, sensitive="illness", public=["age"]),
    SubsetMerging(
        sz.LiftBudget(lower=math.inf, upper=0.5), sensitive=["illness", "floor"], public=["town", "age"], min_count=40
    ),
]


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("sanitizer", HONEST, ids=lambda s: type(s).__name__)
def test_twenty_honest_releases_pass(sanitizer, rows, folder):
    target = release(folder, sanitizer, rows=rows, number=5)
    found = verify_parquet(target, folder / "raw.parquet", sanitizer, rows=rows)
    assert found.ok, str(found)
    assert found.require() is found


def test_two_releases_with_noise_of_their_own_pass(folder):
    for rows in ("shuffle", "keep"):
        one = release(folder, response(), rows=rows, number=1)
        two = release(folder, response(), rows=rows, number=2, target="two.parquet")
        far = release(folder, response(), rows=rows, number=3, target="far.parquet", source="other.parquet")
        others = [(two, folder / "raw.parquet"), (far, folder / "other.parquet")]
        found = verify_parquet(one, folder / "raw.parquet", response(), rows=rows, against=others)
        assert found.ok, str(found)


def test_a_folder_of_parts_passes(folder):
    (folder / "in").mkdir()
    for i in range(3):
        pq.write_table(table(1500, seed=i), folder / "in" / f"{i}.parquet")
    for rows in ("shuffle", "keep"):
        target = release(folder, response(), source="in", target="parts", rows=rows)
        found = verify_parquet(target, folder / "in", response(), rows=rows)
        assert found.ok, str(found)


def test_a_joint_release_passes_and_parts_that_share_their_noise_do_not(folder, monkeypatch):
    def joint():
        parts = [(name, RandomizedResponse(0.5, public=name)) for name in ("town", "floor")]
        return JointRelease(parts, 2.0, sensitive="illness")

    for rows in ("shuffle", "keep"):
        found = verify_parquet(release(folder, joint(), rows=rows), folder / "raw.parquet", joint(), rows=rows)
        assert found.ok, str(found)
    with sampler(monkeypatch, lambda channel, codes, draw: tied(channel, codes)):
        target = release(folder, joint(), rows="keep")
    found = verify_parquet(target, folder / "raw.parquet", joint(), rows="keep")
    assert_caught(found, "noise", "parts share their noise")


def tied(channel, codes):
    """Two parts, each drawn by the inverse of its law from the same random word."""
    word = np.random.default_rng(11).random(len(codes))
    columns = []
    for own in channel.inputs.codes[codes].T:
        k = int(own.max()) + 1
        law_of_row = np.where(np.arange(k)[None, :] == own[:, None], math.exp(0.5), 1) / (math.exp(0.5) + k - 1)
        columns.append((word[:, None] > np.cumsum(law_of_row, axis=1)[:, :-1]).sum(axis=1).tolist())
    place = {tuple(pair): i for i, pair in enumerate(channel.outputs.codes.tolist())}
    return np.array([place[pair] for pair in zip(*columns, strict=True)])


def test_kept_columns_are_compared_too(folder):
    def joint():
        return JointRelease([("town", Watchdog(public="town"))], 2.0, sensitive="illness", keep="floor")

    for rows in ("shuffle", "keep"):
        target = release(folder, joint(), rows=rows)
        found = verify_parquet(target, folder / "raw.parquet", joint(), rows=rows)
        assert found.ok, str(found)
        content = pq.read_table(target)
        other = pa.array((np.asarray(content["floor"]) + 1) % 3)
        rewrite(target, content.set_column(1, "floor", other))
        assert_caught(verify_parquet(target, folder / "raw.parquet", joint(), rows=rows), "possible", "lost rows")


def test_a_release_as_text_passes_and_its_faults_are_caught(folder):
    sanitizer = SubsetMerging(
        BUDGET, sensitive="illness", public=["town", "floor", "wage"], bins={"wage": [0, 20, 100]}
    )
    target = release(folder, sanitizer, target="out.csv", rows="keep")
    found = verify_parquet(target, folder / "raw.parquet", sanitizer, rows="keep")
    assert found.ok, str(found)
    lines = target.read_text().splitlines()
    told = (lines[0] + ",illness", *(line + ",SECRET influenza" for line in lines[1:]))
    target.write_text("\n".join(told) + "\n")
    found = verify_parquet(target, folder / "raw.parquet", sanitizer, rows="keep")
    assert_caught(found, "columns", "'illness' should not be there")
    assert_caught(found, "leftovers", "1 values of column 'illness'")
    target.write_text("\n".join([lines[0], "Aa,no number,3", *lines[2:]]) + "\n")
    with pytest.raises(ColumnError, match="'floor' of the release holds text that is no int64"):
        verify_parquet(target, folder / "raw.parquet", sanitizer, rows="keep")


def test_a_release_of_text_from_text_passes(folder):
    import pyarrow.csv

    pyarrow.csv.write_csv(table().select(["illness", "town", "age"]), folder / "raw.csv")
    sanitizer = SubsetMerging(BUDGET, sensitive="illness", public=["town", "age"], bins={"age": [18, 40, 79]})
    for name in ("text.csv", "text.parquet"):
        target = release(folder, sanitizer, source="raw.csv", target=name)
        found = verify_parquet(target, folder / "raw.csv", sanitizer)
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
        found = verify_parquet(target, tmp_path / "raw.parquet", sanitizer, rows="keep")
        assert found.ok, str(found)


def test_numbers_printed_from_bins_of_a_narrow_type_pass(tmp_path):
    """Floats of 32 bits round up to the next edge; a bin without a whole number prints one of its neighbour's."""
    rng = np.random.default_rng(4)
    n = 200_000
    raw = {"s": rng.choice(["p", "q"], n), "x": (1e6 + rng.random(n) * 4).astype("f4"), "i": rng.integers(0, 4, n)}
    pq.write_table(pa.table(raw), tmp_path / "raw.parquet")
    for column, edges in (("x", [1e6, 1e6 + 1, 1e6 + 2, 1e6 + 4]), ("i", [0.2, 0.5, 1.5, 3])):
        sanitizer = SubsetMerging(0.5, sensitive="s", public=[column], bins={column: edges})
        target = release(tmp_path, sanitizer, rows="keep")
        found = verify_parquet(target, tmp_path / "raw.parquet", sanitizer, rows="keep")
        assert found.ok, str(found)


# ---------------------------------------------------------------------------------- faults of the sampler


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("sanitizer", [merging(), response()], ids=["merging", "response"])
def test_a_sampler_that_is_off_by_one_is_caught(sanitizer, rows, folder, monkeypatch):
    with sampler(monkeypatch, lambda channel, codes, draw: (draw() + 1) % channel.n_outputs):
        target = release(folder, sanitizer, rows=rows)
    found = verify_parquet(target, folder / "raw.parquet", sanitizer, rows=rows)
    assert_caught(found, "frequencies", "do not follow the channel")


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("wrong", [-1, -3])
def test_a_sampler_with_the_wrong_alphabet_size_is_caught(rows, wrong, folder, monkeypatch):
    def respond(channel, codes, draw):
        n = channel.n_outputs + wrong
        rng = np.random.default_rng(0)
        kept = rng.random(len(codes)) < math.expm1(1.5) / (math.exp(1.5) + n - 1)
        return np.where(kept, codes, rng.integers(0, n, len(codes)))

    with sampler(monkeypatch, respond):
        target = release(folder, response(), rows=rows)
    assert_caught(verify_parquet(target, folder / "raw.parquet", response(), rows=rows), "frequencies")


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("mechanism", [RandomizedResponse, ExponentialChannel])
def test_an_unprotected_last_category_is_caught(mechanism, rows, folder, monkeypatch):
    sanitizer = mechanism(0.5, sensitive="illness", public="town")
    last = lambda channel, codes, draw: np.where(codes == channel.n_inputs - 1, channel.n_outputs - 1, draw())  # noqa: E731
    with sampler(monkeypatch, last):
        target = release(folder, sanitizer, rows=rows)
    assert_caught(verify_parquet(target, folder / "raw.parquet", sanitizer, rows=rows), "frequencies")


def test_an_unprotected_last_category_of_a_hundred_rows_is_caught_where_rows_are_kept(folder, monkeypatch):
    last = lambda channel, codes, draw: np.where(codes == channel.n_inputs - 1, channel.n_outputs - 1, draw())  # noqa: E731
    with sampler(monkeypatch, last):
        target = release(folder, response(), rows="keep")
    assert_caught(verify_parquet(target, folder / "raw.parquet", response(), rows="keep"), "frequencies")


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
def test_a_channel_that_does_nothing_is_caught(rows, folder, monkeypatch):
    with sampler(monkeypatch, lambda channel, codes, draw: codes):
        target = release(folder, response(), rows=rows)
    found = verify_parquet(target, folder / "raw.parquet", response(), rows=rows)
    assert_caught(found, "frequencies")


def test_a_merged_symbol_that_moves_to_another_group_is_caught(folder):
    target = release(folder, merging(), rows="keep")
    channel = merging().fit(pq.read_table(folder / "raw.parquet")).channel_
    inputs, outputs = law.closed_groups(channel, np.ones(channel.n_inputs, bool))
    assert len(np.unique(inputs)) > 1
    written = pq.read_table(target)
    codes = channel.outputs.encode({name: written[name] for name in written.column_names})
    at = int(np.flatnonzero(outputs[codes] != outputs[codes[0]])[0])
    codes[at] = codes[0]
    moved = release(folder, merging(), rows="keep", target="moved.parquet")
    rewrite(moved, pa.table(channel.outputs.decode(codes)))
    found = verify_parquet(moved, folder / "raw.parquet", merging(), rows="keep")
    assert_caught(found, "possible", "1 rows hold a symbol that their own row of the source cannot lead to")
    assert_caught(found, "possible", "groups of symbols that no row leaves gained or lost rows")


def test_a_sampler_that_looks_at_the_sensitive_column_is_caught(folder, monkeypatch):
    ill = np.asarray(table()["illness"].to_pylist()) == "SECRET influenza"
    with sampler(monkeypatch, lambda channel, codes, draw: np.where(ill & (codes == 1), 1, draw())):
        target = release(folder, response(), rows="keep")
    found = verify_parquet(target, folder / "raw.parquet", response(), rows="keep")
    assert_caught(found, "leakage", "more than the channel lets through")


# ------------------------------------------------------------------------------------------ reused noise


@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("source", ["raw.parquet", "other.parquet"])
@pytest.mark.parametrize("sanitizer", [SubsetMerging(0.1, **ROLES), response()], ids=["merging", "response"])
def test_a_key_used_twice_is_caught(sanitizer, source, rows, folder):
    one = release(folder, sanitizer, rows=rows, number=7)
    two = release(folder, sanitizer, rows=rows, number=7, target="two.parquet", source=source)
    against = [(two, folder / source)]
    found = verify_parquet(one, folder / "raw.parquet", sanitizer, rows=rows, against=against)
    assert_caught(found, "reuse", "other release number 1: a key was used twice")
    assert failed(found) == ["reuse"]


def test_words_that_start_again_with_every_batch_are_caught(folder, monkeypatch):
    with sampler(monkeypatch, lambda channel, codes, draw: draw(0)):
        target = release(folder, response(), rows="keep", batch_rows=500)
    found = verify_parquet(target, folder / "raw.parquet", response(), rows="keep")
    assert_caught(found, "noise", "noise repeats itself")


def test_parts_of_a_folder_with_the_same_noise_are_caught(folder, monkeypatch):
    (folder / "same").mkdir()
    for i in range(2):
        pq.write_table(table(2500, seed=i), folder / "same" / f"{i}.parquet")
    with monkeypatch.context() as patched:
        patched.setattr("sanitize._sampling.noise.NoiseKey.derive", lambda self, label: self)
        target = release(folder, response(), source="same", target="same_out", rows="keep")
    found = verify_parquet(target, folder / "same", response(), rows="keep")
    assert_caught(found, "noise", "noise repeats itself 2500 rows later")


# -------------------------------------------------------------------------------------------- row order


def test_a_shuffle_that_does_not_shuffle_is_caught(folder):
    target = release(folder, response(), rows="keep")
    found = verify_parquet(target, folder / "raw.parquet", response(), rows="shuffle")
    assert_caught(found, "order", "rows stand where their rows in the source stand")


def test_a_merged_group_that_stands_together_is_caught(folder):
    """Rows of a group side by side, in the order of the source: the group is hidden, the row is not."""
    target = release(folder, merging())
    rewrite(target, pq.read_table(target).sort_by([("town", "ascending"), ("floor", "ascending")]))
    assert_caught(verify_parquet(target, folder / "raw.parquet", merging()), "order", "not shuffled")


def test_a_merged_group_printed_in_turn_is_caught(folder, monkeypatch):
    """Each group prints its symbols one after another instead of at random: row order tells which was drawn."""
    with sampler(monkeypatch, in_turn):
        target = release(folder, merging(), rows="keep")
    found = verify_parquet(target, folder / "raw.parquet", merging(), rows="keep")
    assert_caught(found, "noise", "noise repeats itself")


def test_a_shuffled_copy_of_the_source_is_caught(folder):
    """Merging and resampling keep P_X, so a copy is as frequent as a release should be, only too exactly."""
    sanitizer = SubsetMerging(0.05, **ROLES)
    target = release(folder, sanitizer, target="copy.parquet")
    raw = pq.read_table(folder / "raw.parquet").select(pq.read_schema(target).names)
    types = pq.read_schema(target).remove_metadata()
    rewrite(target, raw.take(np.random.default_rng(0).permutation(len(raw))).cast(types))
    found = verify_parquet(target, folder / "raw.parquet", sanitizer)
    assert failed(found) == ["frequencies"], str(found)
    assert_caught(found, "frequencies", "exactly as frequent as in the source")


def test_the_chance_of_a_copy_is_that_of_every_way_to_draw_it():
    """Enumerated: two groups of rows with one law each, and one symbol that is kept."""
    merged = np.array([[0.25, 0.75, 0, 0, 0], [0.25, 0.75, 0, 0, 0], [0, 0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5, 0]])
    matrix = np.vstack([merged, [0, 0, 0, 0, 1]])
    names = sz.alphabet.Alphabet(("x",), list("abcde"))
    channel = sz.Channel.from_matrix(matrix, names, names)
    counts = np.array([2, 1, 1, 1, 3])
    ways = 3 * 0.25**2 * 0.75 * 2 * 0.5**2
    assert law.log_chance_of_copy(channel, counts, counts, channel.matrix) == pytest.approx(math.log(ways))
    assert law.log_chance_of_copy(channel, counts, counts[[1, 0, 2, 3, 4]], channel.matrix) == 0.0


def in_turn(channel, codes, draw):
    released = draw()
    inputs, _ = law.closed_groups(channel, np.ones(channel.n_inputs, bool))
    for group in np.unique(inputs[codes]):
        rows = np.flatnonzero(inputs[codes] == group)
        released[rows] = np.sort(released[rows])
    return released


def test_a_merged_group_that_tells_by_its_order_is_caught(tmp_path):
    """A file sorted by S, whose groups are written one by one in its order, with rows declared shuffled."""
    pq.write_table(table().sort_by("illness"), tmp_path / "raw.parquet")
    target = release(tmp_path, merging())
    honest = verify_parquet(target, tmp_path / "raw.parquet", merging())
    assert honest.ok, str(honest)
    written = release(tmp_path, SubsetMerging(BUDGET, **ROLES), target="sorted.parquet")
    channel = merging().fit(pq.read_table(tmp_path / "raw.parquet")).channel_
    raw = pq.read_table(tmp_path / "raw.parquet")
    codes = channel.sample(channel.inputs.encode({name: raw[name] for name in ROLES["public"]}), 3)
    rewrite(written, pa.table(channel.outputs.decode(codes)))
    found = verify_parquet(written, tmp_path / "raw.parquet", merging())
    assert_caught(found, "order")


# ----------------------------------------------------------------------------------- what was left behind


def rewrite(path: Path, content: pa.Table, metadata: dict | None = None, **settings) -> None:
    """Write other content into a released file, with the summary it had."""
    summary = pq.read_metadata(path).metadata[b"sanitize"]
    settings = {"store_schema": False, "compression": "zstd", **settings}
    fields = [
        f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) and settings["store_schema"] else f
        for f in content.schema
    ]
    content = content.cast(pa.schema(fields, metadata=content.schema.metadata))
    with pq.ParquetWriter(path, content.schema, **settings) as writer:
        writer.add_key_value_metadata({b"sanitize": summary, **(metadata or {})})
        writer.write_table(content)


@pytest.fixture
def written(folder) -> tuple[Path, pa.Table]:
    target = release(folder, merging(), target="left.parquet")
    return target, pq.read_table(target)


def verified(target: Path):
    return verify_parquet(target, target.parent / "raw.parquet", merging())


def test_a_file_written_again_without_a_fault_passes(written):
    target, content = written
    rewrite(target, content)
    assert verified(target).ok, str(verified(target))


def test_a_sensitive_column_in_the_output_is_caught(written):
    target, content = written
    rewrite(target, content.append_column("illness", table()["illness"]))
    found = verified(target)
    assert_caught(found, "columns", "'illness' should not be there")
    assert_caught(found, "leftovers", "2 values of column 'illness' turn up in its bytes")


def test_a_missing_column_and_another_type_are_caught(written):
    target, content = written
    rewrite(target, content.drop(["floor"]))
    assert_caught(verified(target), "columns", "'floor' should be")
    rewrite(target, content.set_column(1, "floor", content["floor"].cast(pa.int32())))
    assert_caught(verified(target), "columns", "'floor' has the type int32, and int64 was to be released")


def test_rows_too_many_or_too_few_are_caught(written):
    target, content = written
    rewrite(target, content.slice(1))
    assert_caught(verified(target), "rows", "3999 released, 4000 in the source")


SECRET = b"SECRET influenza"


@pytest.mark.parametrize(
    "metadata",
    [{b"note": SECRET}, {b"pandas": b'{"index": "SECRET influenza"}'}, {b"x": base64.b64encode(b"1" + SECRET + b"2")}],
    ids=["plain", "json", "base64"],
)
def test_sensitive_values_in_metadata_are_caught(metadata, written):
    target, content = written
    rewrite(target, content, metadata)
    found = verified(target)
    assert_caught(found, "metadata", "key-value metadata")
    assert_caught(found, "leftovers", "1 values of column 'illness'")


@pytest.mark.parametrize("place", ["schema", "field"])
def test_an_arrow_schema_that_was_inherited_is_caught(place, written):
    target, content = written
    if place == "schema":
        content = content.replace_schema_metadata({b"origin": SECRET})
    else:
        content = content.cast(
            pa.schema([content.schema.field(0).with_metadata({b"origin": SECRET}), content.schema[1]])
        )
    rewrite(target, content, store_schema=True)
    assert_caught(verified(target), "metadata", "the Arrow schema with metadata of its own")


def test_a_field_identifier_is_caught(written):
    target, content = written
    field = content.schema.field(0).with_metadata({b"PARQUET:field_id": b"17"})
    rewrite(target, content.cast(pa.schema([field, content.schema[1]])))
    assert_caught(verified(target), "metadata", "identifier")


def test_a_summary_that_lies_or_says_more_is_caught(written):
    target, content = written
    honest = json.loads(pq.read_metadata(target).metadata[b"sanitize"])
    for lie, words in [
        ({"max_log_lift": 0.01}, "says something else about max_log_lift"),
        ({"within_budget": 1}, "says something else about within_budget"),
        ({"note": "hello"}, "1 entries that no release has"),
        ({"budget": "SECRET influenza"}, "says something else about budget"),
    ]:
        rewrite(target, content, {b"sanitize": json.dumps({**honest, **lie}).encode()})
        assert_caught(verified(target), "metadata", words)
    rewrite(target, content, {b"sanitize": b"{"})
    assert_caught(verified(target), "metadata", "not JSON")


def test_unused_dictionary_values_are_caught(written):
    target, content = written
    town = content["town"].combine_chunks()
    values = pa.concat_arrays([pc_values(town), pa.array(["SECRET influenza"])])
    index = pa.array(np.array([values.to_pylist().index(v) for v in town.to_pylist()], np.int32))
    rewrite(target, content.set_column(0, "town", pa.DictionaryArray.from_arrays(index, values)))
    found = verified(target)
    assert_caught(found, "dictionaries", "column 'town' has 1 dictionary values that no row has")
    assert_caught(found, "leftovers", "1 values of column 'illness'")


def pc_values(column: pa.Array) -> pa.Array:
    return column.dictionary_encode().dictionary.cast(pa.string())


def test_statistics_of_raw_values_are_caught(written):
    """Bytes of a statistic changed in place: no reader would notice."""
    target, _ = written
    data = bytearray(target.read_bytes())
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    at = data.index(b"Dd", footer)
    data[at : at + 2] = b"Zz"
    target.write_bytes(data)
    assert_caught(verified(target), "statistics", "column 'town' has a minimum or maximum that no row has")


def test_statistics_of_a_page_are_looked_at(written):
    target, _ = written
    data = bytearray(target.read_bytes())
    start = pq.read_metadata(target).row_group(0).column(0).data_page_offset
    at = data.index(b"Dd", start)
    data[at : at + 2] = b"Zz"
    target.write_bytes(data)
    assert_caught(verified(target), "statistics")


def test_bytes_that_no_page_owns_are_caught(written):
    target, content = written
    data = target.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    target.write_bytes(data[:footer] + b"SECRET influenza" + data[footer:])
    found = verified(target)
    assert_caught(found, "structure", "16 bytes belong to no page")
    assert_caught(found, "leftovers")
    rewrite(target, content, write_page_index=True)
    assert_caught(verified(target), "structure", "bytes belong to no page (indexes, bloom filters or remains)")


def test_another_writer_is_noticed(written):
    target, _ = written
    data = target.read_bytes()
    target.write_bytes(data.replace(b"parquet-cpp-arrow version", b"SECRET-cpp-arrow versions"))
    assert_caught(verified(target), "metadata", "name of the writer")


# --------------------------------------------------------------------------------- what it is and refuses


def test_a_release_is_verified_with_its_policy(folder):
    text = """
    version = 1
    [columns]
    sensitive = ["illness"]
    public = ["town", "floor"]
    drop = ["age", "wage", "name"]
    [budget]
    upper = 0.7
    lower = 1.0
    """
    policy = sz.Policy.from_toml(text)
    target = release(folder, policy.sanitizer())
    assert verify_parquet(target, folder / "raw.parquet", policy).ok
    with pytest.raises(ColumnError, match="does not list the column 'name'"):
        verify_parquet(target, folder / "raw.parquet", sz.Policy.from_toml(text.replace(', "name"', "")))
    assert not verify_parquet(target, folder / "raw.parquet", sz.Policy.from_toml(text.replace("0.7", "0.1"))).ok


def test_a_design_that_fails_is_a_failed_check(folder, monkeypatch):
    target = release(folder, merging())
    monkeypatch.setattr(
        "sanitize.transformers._merging.subset_merging",
        lambda joint, budget: Channel.identity(len(joint.public), joint.public),
    )
    found = verify_parquet(target, folder / "raw.parquet", SubsetMerging(0.01, **ROLES))
    assert [(check.name, check.ok) for check in found.checks] == [("design", False)]
    with pytest.raises(VerificationFailed, match="fails its verification \\(design\\)") as caught:
        found.require()
    assert caught.value.verification is found
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_sanitizer_is_not_touched(folder):
    sanitizer = merging()
    target = release(folder, merging())
    verify_parquet(target, folder / "raw.parquet", sanitizer)
    assert not hasattr(sanitizer, "channel_")


def test_views_of_a_verification(folder):
    found = verify_parquet(release(folder, merging()), folder / "raw.parquet", merging())
    told = json.loads(found.to_json())
    assert told == found.to_dict()
    assert (told["schema"], told["version"], told["ok"]) == ("sanitize/verification", 1, True)
    names = ["design", "columns", "rows", "metadata", "dictionaries", "statistics", "structure", "leftovers"]
    names += ["possible", "frequencies", "leakage", "noise", "order", "reuse"]
    assert [check["name"] for check in told["checks"]] == names
    assert found.to_text().startswith("VERIFIED")
    assert str(found) == found.to_text()


def test_what_cannot_be_read_is_refused(folder, tmp_path):
    (tmp_path / "text.parquet").write_text("SECRET")
    with pytest.raises(SourceError):
        verify_parquet(tmp_path / "text.parquet", folder / "raw.parquet", merging())
    for settings in ({"rows": "sorted"}, {"false_alarm": 0}, {"false_alarm": 1}):
        with pytest.raises(InvalidParameter):
            verify_parquet(folder / "raw.parquet", folder / "raw.parquet", merging(), **settings)


# ------------------------------------------------------------------------------------ the bounds on chance


def test_evidence_is_an_e_value_for_rows_of_different_laws():
    """Its mean is at most 1: by enumeration of all outcomes of a few rows, each with a law of its own."""
    rng = np.random.default_rng(8)
    for _ in range(5):
        laws = rng.dirichlet(np.ones(3) * 0.7, 5)
        mean = 0.0
        for outcome in np.ndindex(3, 3, 3, 3, 3):
            counts = np.bincount(outcome, minlength=3)
            chance = math.prod(laws[i, y] for i, y in enumerate(outcome))
            mean += chance * math.exp(law.log_evidence(counts[None, :], laws.mean(axis=0, keepdims=True)))
        assert mean <= 1 + 1e-12
        assert mean > 0.3


def test_evidence_grows_with_the_divergence():
    p, q = np.array([[0.5, 0.3, 0.2]]), np.array([[0.45, 0.33, 0.22]])
    n = 20_000
    assert law.log_evidence(n * p, p) < 0
    divergence = float((q * np.log(q / p)).sum())
    assert law.log_evidence(n * q, p) == pytest.approx(n * divergence, abs=15)
    assert law.log_evidence(np.array([[3, 1, 0]]), np.array([[1.0, 0.0, 0.0]])) == math.inf


def test_a_small_fault_of_every_line_shows_in_their_product():
    p, q = np.tile([0.5, 0.5], (60, 1)), np.tile([0.6, 0.4], (60, 1))
    one = law.log_evidence(400 * q[:1], p[:1])
    assert law.log_evidence(400 * q, p) > 20 * max(one, 1.0)


def test_bennett_bounds_the_tail_of_a_binomial():
    for n, p in ((50, 0.1), (400, 0.5), (2000, 0.01)):
        k = np.arange(n + 1)
        away = np.abs(k - n * p)
        exact = np.array([stats.binom.pmf(k[away >= a - 1e-9], n, p).sum() for a in away])
        away, exact = away[exact > 1e-280], exact[exact > 1e-280]
        assert (np.log(exact) <= law.log_bennett(away, n * p * (1 - p)) + 1e-9).all()


def test_the_hypergeometric_bound_bounds():
    n = 60
    for a, b in ((10, 20), (30, 30), (5, 55)):
        k = np.arange(max(0, a + b - n), min(a, b) + 1)
        tails = np.minimum(stats.hypergeom.cdf(k, n, a, b), stats.hypergeom.sf(k - 1, n, a, b))
        logs = log_hypergeometric(k, np.full(len(k), a), np.full(len(k), b), n)
        assert (np.log(tails) <= logs + 1e-9).all()


def test_the_matching_bound_bounds():
    """Matches of 0,0,0,0,1,1,1 with all its permutations."""
    from itertools import permutations

    base = (0, 0, 0, 0, 1, 1, 1)
    found = np.array([sum(a == b for a, b in zip(base, other, strict=True)) for other in permutations(base)])
    expected = found.mean()
    for k in range(8):
        exact = (np.abs(found - expected) >= abs(k - expected) - 1e-9).mean()
        assert math.log(max(exact, 1e-300)) <= log_matching(k, expected) + 1e-9


def test_closed_groups_are_the_components_of_the_support():
    matrix = np.array([[0.5, 0.5, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]])
    channel = Channel.from_matrix(matrix)
    inputs, outputs = law.closed_groups(channel, np.ones(4, bool))
    assert inputs[0] == inputs[1] == outputs[0] == outputs[1]
    assert len({inputs[0], inputs[2], inputs[3]}) == 3
    inputs, outputs = law.closed_groups(channel, np.array([True, True, True, False]))
    assert outputs[3] == -1
    chain = channel.then(channel.reversed(np.ones(4) / 4))
    inputs, outputs = law.closed_groups(chain, np.ones(4, bool))
    assert [list(inputs).index(g) for g in outputs] == [0, 0, 2, 3]


def test_expected_counts_are_exact_and_bounded():
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(4), 3)
    channel, counts = Channel.from_matrix(matrix), np.array([5, 0, 17])
    mean, variance = law.expected_counts(channel, counts, channel.matrix)
    np.testing.assert_allclose(mean[0], counts @ matrix)
    np.testing.assert_allclose(variance[0], counts @ (matrix * (1 - matrix)))
    _, bound = law.expected_counts(channel, counts, None)
    assert (bound >= variance - 1e-12).all()


@pytest.mark.parametrize("rows", ["keep", "shuffle"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 101, 5000])
def test_counts_are_those_of_all_rows_however_they_are_read(n, rows):
    """A slow twin that holds every row, and blocks of the source and of the release that do not meet."""
    rng = np.random.default_rng(n)
    channel = sz.randomized_response(70, 1.0)
    s, x = (
        rng.integers(0, 3, n).astype(np.int32),
        (rng.integers(0, 71, n) * rng.integers(0, 71, n) // 71).astype(np.int32),
    )
    x = np.minimum(x, 69)
    y = np.where(rng.random(n) < 0.01, -1, channel.sample(x, 0)).astype(np.int32)
    for blocks in ((1, 1), (7, 3), (1, 40)):
        seen = observed(channel, 3, s, x, y, rows, blocks)
        assert seen.unknown == (y < 0).sum()
        assert seen.y_counts.tolist() == [(y == one).sum() for one in range(70)]
        sure = y >= 0
        if rows == "keep":
            pairs, told = np.zeros((70, 70), int), np.zeros((3, 70), int)
            for one, other, third in zip(x[sure], y[sure], s[sure], strict=True):
                pairs[one, other] += 1
                told[third, other] += 1
            assert np.array_equal(seen.pairs, pairs)
            assert np.array_equal(seen.told, told)
            assert np.array_equal(seen.first, (x, y))
            assert seen.order is None
            continue
        assert (seen.pairs, seen.told) == (None, None)
        assert seen.order.log_chance() == order_of_all_rows(s, x, y)


@pytest.mark.parametrize("rows", ["keep", "shuffle"])
def test_memory_does_not_grow_with_the_rows(rows, monkeypatch):
    monkeypatch.setattr("sanitize.verify._observed.MOST_ROWS", 1000)
    channel, block = sz.randomized_response(20, 1.0), 1 << 14
    peaks = []
    for n_blocks in (4, 40):
        inputs = np.full((2, 20), n_blocks)

        def codes(n, seed, n_blocks=n_blocks):
            return (np.random.default_rng((seed, k)).integers(0, n, block).astype(np.int32) for k in range(n_blocks))

        streams = Streams(
            lambda codes=codes: zip(codes(2, 0), codes(20, 1), strict=True), lambda codes=codes: codes(20, 2)
        )
        tracemalloc.start()
        Observed.of(channel, inputs, streams, rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def order_of_all_rows(s, x, y) -> tuple[float, str]:
    """The statistics of the order of rows, from arrays of all of them."""
    n = len(y)
    if n < 2:
        return 0.0, "too few rows to tell"

    def pooled(codes, n_codes):
        counts = np.bincount(codes[codes >= 0], minlength=n_codes)
        most = np.argsort(-counts, kind="stable")[:63].tolist()
        return np.array([most.index(code) if code in most else min(n_codes, 63) for code in codes.tolist()])

    def independent(a, n_a, b, n_b):
        found = np.bincount(a * n_b + b, minlength=n_a * n_b).reshape(n_a, n_b)
        logs = log_hypergeometric(found, found.sum(axis=1, keepdims=True), found.sum(axis=0, keepdims=True), n)
        return float(logs.min()) + math.log(n_a * n_b)

    kinds = pooled(y, 70)
    n_blocks = min(max(n // 50, 2), 64)
    blocks = np.minimum(np.arange(n) * n_blocks // n, n_blocks - 1)
    even, odd = kinds[: n // 2 * 2 : 2], kinds[1 : n // 2 * 2 : 2]
    counts = [np.bincount(part, minlength=64) for part in (even, odd)]
    expected = float((counts[0] / len(even) * counts[1]).sum())
    found = [
        (independent(blocks, n_blocks, kinds, 64), "symbols crowd in some parts of the file"),
        (log_matching(float((even == odd).sum()), expected), "neighbours are too often alike or unlike"),
        (independent(pooled(s, 3), 4, kinds, 64), "rows stand where their rows in the source stand"),
        (independent(pooled(x, 70), 64, kinds, 64), "rows stand where their rows in the source stand"),
    ]
    best = min(found)
    return best[0] + math.log(4), best[1]


@pytest.mark.parametrize(("n", "other"), [(0, 5), (1, 1), (2, 2), (1000, 1000), (1001, 700)])
def test_releases_that_go_up_and_down_together_are_compared_in_blocks(n, other):
    rng = np.random.default_rng(n)
    a, b = rng.integers(-1, 9, n).astype(np.int32), rng.integers(-1, 30, other).astype(np.int32)

    def pairs():
        streams = [
            Streams(lambda: iter(()), lambda codes=codes, k=k: iter(np.array_split(codes, k)))
            for codes, k in ((a, 3), (b, 4))
        ]
        return printed_of(*streams)

    m = min(n, other)
    high = [codes[:m] >= np.sort(codes[:m])[m // 2] for codes in (a, b)] if m else []
    expected = 0.0
    if m >= 2:
        one, two = (float(part.mean()) for part in high)
        alike = m * (one * two + (1 - one) * (1 - two))
        expected = log_matching(float((high[0] == high[1]).sum()), alike)
    assert log_chance_of_same_order(pairs, (9, 30)) == pytest.approx(expected)


def test_repeats_are_found_at_the_distance_they_have():
    rng = np.random.default_rng(5)
    n = 3000
    draws = (rng.random(n) < 0.5).astype(float)
    fresh = (draws - 0.5, np.full(n, 0.5))
    assert noise.log_chance_of_repeats(fresh)[0] > math.log(1e-6)
    again = np.concatenate([draws[:1500], draws[:1500]])
    log_chance, distance = noise.log_chance_of_repeats((again - 0.5, np.full(n, 0.5)))
    assert log_chance < math.log(1e-6)
    assert distance == 1500
    shifted = (np.roll(draws, -40) - 0.5, np.full(n, 0.5))
    assert noise.log_chance_of_repeats(fresh, shifted)[1] == -40


def test_false_alarms_are_as_rare_as_stated_when_the_rate_is_large():
    """With false_alarm=0.5, honest rows fail at most half the time: 200 seeds, binomial tail below 1e-9 beyond 140."""
    channel = sz.randomized_response(5, 1.0)
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 5, 300).astype(np.int32)
        y = channel.sample(x, seed)
        seen = observed(channel, 2, rng.integers(0, 2, 300).astype(np.int32), x, y, "keep")
        judged = RowChecks(seen, "keep", 0.5)
        judged.check_support()
        judged.check_frequencies()
        judged.check_leakage()
        judged.check_noise(())
        alarms += any(not check.ok for check in judged.checks)
    assert alarms < 140


# -------------------------------------------------------------------------------------- bytes and pages


def test_values_are_found_wherever_in_base64_they_stand():
    value = b"SECRET influenza"
    for before in range(7):
        for after in range(4):
            text = base64.b64encode(b"\xfa" * before + value + b"\x07" * after)
            assert any(row.tobytes() in text for row in in_base64(np.frombuffer(value, np.uint8)[None]))


def test_the_scanner_finds_what_is_there_and_nothing_else():
    rng = np.random.default_rng(6)
    values = {f"person number {i}".encode() for i in range(500)}
    scanner = Scanner.of([("name", Spellings.of(values))], 10_000, b"person number 17 is public")
    names = sorted(values)
    scanner.scan(rng.bytes(5000) + b"person number 25" + rng.bytes(5000))
    # A value that begins another is there too; one that is public anyway is not searched for, nor what begins it.
    assert {names[i] for i in scanner.found["name"]} == {b"person number 2", b"person number 25"}
    scanner.scan(b"person number 17")
    assert names.index(b"person number 17") not in scanner.found["name"]
    scanner.scan(b"x" + base64.b64encode(b"person number 333"))
    assert names.index(b"person number 333") in scanner.found["name"]
    assert scanner.least >= 8
    scanner = Scanner.of([("name", Spellings.of(values))], 10_000, b"")
    scanner.scan(rng.bytes(200_000))
    assert not scanner.found["name"]


def plainly_found(columns: dict[str, set[bytes]], least: int, data: bytes) -> set[tuple[str, bytes]]:
    """The search of a scanner, value by value."""

    def needles(value: bytes) -> list[bytes]:
        shifted = [(skip, base64.b64encode(b"\0" * skip + value)) for skip in range(3)]
        return [value, *(text[-(-8 * skip // 6) : 8 * (skip + len(value)) // 6] for skip, text in shifted)]

    return {
        (name, value)
        for name, values in columns.items()
        for value in values
        if len(set(value)) >= 4 and any(len(needle) >= least and needle in data for needle in needles(value))
    }


@pytest.mark.parametrize("block", [1 << 20, 64])
def test_the_scanner_finds_what_a_plain_search_finds(block, tmp_path, monkeypatch):
    """Values of many lengths, some in several columns, zero bytes among them, as they are and in base64."""
    monkeypatch.setattr("sanitize.verify._leftovers._BLOCK", block)
    rng = np.random.default_rng(12)
    names = [b"person-%d-of-%s" % (i, b"x" * int(rng.integers(0, 20))) for i in range(400)]
    raw = [rng.integers(0, 3, int(rng.integers(1, 40)), np.uint8).tobytes() for _ in range(200)]
    doubles = [np.float64(value).tobytes() for value in rng.random(100)]
    columns = {"name": set(names), "raw": {*raw, *names[:50]}, "double": set(doubles), "none": set()}
    planted = [rng.choice(names + raw + doubles) for _ in range(80)]
    data = b"".join(
        rng.bytes(int(rng.integers(0, 300))) + (value if i % 2 else base64.b64encode(b"ab"[: i % 3] + value))
        for i, value in enumerate(planted)
    )
    (tmp_path / "file").write_bytes(data)
    scanner = Scanner.of([(name, Spellings.of(values)) for name, values in columns.items()], len(data), b"")
    expected = plainly_found(columns, scanner.least, data)
    assert len(expected) > 40
    for scan in (lambda one: one.scan(data), lambda one: one.scan_file(tmp_path / "file")):
        scanner = Scanner.of([(name, Spellings.of(values)) for name, values in columns.items()], len(data), b"")
        scan(scanner)
        kept = {name: sorted(values) for name, values in columns.items()}
        assert {(name, kept[name][i]) for name, found in scanner.found.items() for i in found} == expected
        assert scanner.n_bytes == len(data)
    # What legitimate text holds is not searched for, wherever else it stands.
    scanner = Scanner.of([(name, Spellings.of(values)) for name, values in columns.items()], len(data), data)
    scanner.scan(data)
    assert not any(scanner.found.values())


def test_spellings_of_numbers_and_text():
    assert spellings(pa.array(["a", None, "b"]).dictionary_encode()) == {b"a", b"b"}
    assert spellings(pa.array([123456789, None])) == {b"123456789"}
    third = np.float64(1 / 3)
    assert spellings(pa.array([third])) == {repr(float(third)).encode(), third.tobytes()}
    assert spellings(pa.array([True])) == spellings(pa.array([[1]])) == set()


def test_pages_fill_a_file_of_every_encoding(tmp_path):
    content = table(3000).append_column("flag", pa.array(np.arange(3000) % 2 == 0))
    for i, (codec, version, dictionary) in enumerate(
        [("none", "1.0", True), ("snappy", "2.0", True), ("gzip", "1.0", False), ("brotli", "2.0", False)]
    ):
        path = tmp_path / f"{i}.parquet"
        pq.write_table(
            content, path, compression=codec, data_page_version=version, use_dictionary=dictionary, row_group_size=900
        )
        pages = Pages.of(path)
        assert pages.unaccounted == 0
        assert len(pages.row_groups) == 4
        n = sum(page.header.get(5, page.header.get(8, {})).get(1, 0) for c in pages.row_groups[0] for page in c.pages())
        assert n == 900 * content.num_columns
        if dictionary:
            town = pages.row_groups[0][1]
            assert [town.dictionary(page) for page in town.pages() if page.is_dictionary] == [
                {b"Aa", b"Bb", b"Cc", b"Dd"}
            ]


def test_a_damaged_release_is_refused_or_fails_and_nothing_else(tmp_path):
    """One bit of a released file changed, anywhere: an error of the library, or a failed check, or a harmless bit."""
    pq.write_table(table(300), tmp_path / "raw.parquet")
    data = release(tmp_path, merging(), rows="keep").read_bytes()
    rng = np.random.default_rng(9)
    refused = passed = 0
    for _ in range(60):
        broken = bytearray(data)
        broken[int(rng.integers(4, len(broken)))] ^= 1 << int(rng.integers(0, 8))
        (tmp_path / "out.parquet").write_bytes(broken)
        try:
            passed += verify_parquet(tmp_path / "out.parquet", tmp_path / "raw.parquet", merging(), rows="keep").ok
        except SourceError as error:
            refused += 1
            told = str(error)
            assert "SECRET" not in told
            assert "\n" not in told
    assert refused > 10
    assert passed < 10
