"""Receipts: the release is drawn again, byte for byte; whatever else is handed out is refused."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands_cases import assert_line
from verify_cases import failed

import sanitize as sz
from sanitize._util.sealed_text import compute_seal
from sanitize.auditing.verify import Verification, verify_file
from sanitize.cli import main
from sanitize.core.budgets import LiftBudget
from sanitize.engines.parquet import release_file
from sanitize.errors import InvalidParameter, SourceError, TargetError, TargetExists
from sanitize.release.saved import Receipt, SavedRelease
from sanitize.transformers import (
    ExponentialChannel,
    JointRelease,
    LatentClassRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SecretDP,
    SubsetMerging,
    Watchdog,
)

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
ROLES = {"sensitive": "ill", "public": ["town", "floor"]}
BINS = {"age": [18.0, 30.0, 45.0, 60.0, 91.0]}
MADE = {
    "merging": lambda: SubsetMerging(BUDGET, **ROLES),
    "rare": lambda: SubsetMerging(BUDGET, sensitive="ill", public=["age"], min_count=5),
    "one symbol": lambda: SubsetMerging(LiftBudget.symmetric(0.001), **ROLES),
    "watchdog": lambda: Watchdog(BUDGET, **ROLES),
    "bins": lambda: SubsetMerging(BUDGET, sensitive="ill", public=["town", "age"], bins=BINS),
    "optimal": lambda: OptimalRandomResponse(BUDGET, **ROLES),
    "a time limit": lambda: OptimalRandomResponse(BUDGET, **ROLES, time_limit=60.0),
    "randomized response": lambda: RandomizedResponse(1.0, **ROLES),
    "by rank": lambda: ExponentialChannel(1.0, sensitive="ill", public="floor"),
    "certified": lambda: SubsetMerging(BUDGET, **ROLES, confidence=0.9),
    "joint": lambda: JointRelease(
        [("a", SubsetMerging(public=["town"])), ("b", SubsetMerging(public=["floor"]))],
        BUDGET,
        sensitive="ill",
    ),
    "classes": lambda: LatentClassRelease(BUDGET, sensitive="ill", public=["town", "floor", "age"], n_classes=4),
    "one class": lambda: LatentClassRelease(BUDGET, sensitive="ill", public=["town", "age"], n_classes=1),
    "certified classes": lambda: LatentClassRelease(BUDGET, sensitive="ill", public=["town", "age"], confidence=0.9),
}  # fmt: skip


def people(seed, n=3000):
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "ill": np.where(ill, "yes", "no"),
            "town": np.array(list("abcd"))[np.minimum(rng.integers(0, 4, n) + ill, 3)],
            "floor": rng.integers(0, 5, n) + 2 * ill,
            "age": np.round(rng.uniform(18, 90, n), 1),
            "who": [f"person {k}" for k in range(n)],
        }
    )


@pytest.fixture
def place(tmp_path):
    """A folder with a source, and one for receipts."""
    people(1).to_parquet(tmp_path / "raw.parquet")
    people(1).to_csv(tmp_path / "raw.csv", index=False)
    (tmp_path / "raw").mkdir()
    for part in range(3):
        people(part, 700).to_parquet(tmp_path / "raw" / f"{part}.parquet")
    (tmp_path / "own").mkdir()
    return tmp_path


def release(place, sanitizer, *, source="raw.parquet", target="out.parquet", rows="shuffle", **settings):
    release_file(place / source, place / target, sanitizer, rows=rows, receipt=place / "own" / "r", **settings)


def judged(place, sanitizer, *, source="raw.parquet", target="out.parquet", rows="shuffle"):
    return verify_file(place / target, place / source, sanitizer, rows=rows, receipt=place / "own" / "r")


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["shuffle", "keep"])
@pytest.mark.parametrize("kind", MADE)
def test_a_release_is_drawn_again_byte_for_byte(kind, rows, place):
    release(place, MADE[kind](), rows=rows)
    assert (place / "own" / "r").stat().st_mode & 0o777 == 0o600
    found = judged(place, MADE[kind](), rows=rows).require()
    assert [check.name for check in found.checks] == ["receipt", "design", "rows"]
    assert "every byte as it is released" in found.checks[-1].detail
    assert found.to_text().startswith("VERIFIED (drawn again by its receipt)\nThe release: ")
    assert Verification.from_dict(json.loads(found.to_json())) == found


@pytest.mark.slow
@pytest.mark.parametrize(("source", "target"), [("raw", "out"), ("raw", "out.csv"), ("raw.csv", "out.csv")])
@pytest.mark.parametrize("kind", ["merging", "classes"])
def test_folders_and_csv_are_drawn_again(kind, source, target, place):
    release(place, MADE[kind](), source=source, target=target)
    assert judged(place, MADE[kind](), source=source, target=target).ok
    if target == "out":
        (place / "out" / "note.txt").write_text("one more file")
        assert not judged(place, MADE[kind](), source=source, target=target).ok


def raw_columns(path, table):
    """The raw columns, shuffled."""
    raw = pq.read_table(path.parent / "raw.parquet", columns=table.schema.names)
    order = np.random.default_rng(0).permutation(len(raw))
    pq.write_table(raw.take(order).cast(table.schema), path, store_schema=False, compression="zstd")


def one_value(path, table):
    values = table["town"].to_pylist()
    values[7] = "a" if values[7] != "a" else "b"
    pq.write_table(table.set_column(0, "town", pa.array(values)), path, store_schema=False, compression="zstd")


def another_order(path, table):
    pq.write_table(table.take(np.arange(len(table))[::-1]), path, store_schema=False, compression="zstd")


def fewer_rows(path, table):
    pq.write_table(table.slice(1), path, store_schema=False, compression="zstd")


def another_column(path, table):
    raw = pq.read_table(path.parent / "raw.parquet", columns=["ill"])
    pq.write_table(table.append_column("ill", raw["ill"]), path, store_schema=False, compression="zstd")


def row_groups(path, table):
    """The same rows in row groups whose sizes say something."""
    pq.write_table(table, path, store_schema=False, compression="zstd", row_group_size=1234)


def metadata(path, table):
    pq.write_table(table.replace_schema_metadata({"note": "person 5"}), path, store_schema=False, compression="zstd")


def writer(path, _):
    content = path.read_bytes()
    at = content.rindex(b"parquet-cpp-arrow version ")
    path.write_bytes(content[: at + 26] + b"9" + content[at + 27 :])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "name", "words"),
    [
        (raw_columns, "rows", "column .* is not what the key draws"),
        (one_value, "rows", "column 'town' is not what the key draws"),
        (another_order, "rows", "is not what the key draws"),
        (fewer_rows, "rows", "2999 rows, and the release has 3000"),
        (another_column, "rows", "other columns or types"),
        (row_groups, "form", "the bytes differ from those that this library writes"),
        (metadata, "form", "the bytes differ from those that this library writes"),
        (writer, "form", "the bytes differ from those that this library writes"),
    ],
)
def test_what_the_key_does_not_draw_is_refused(fault, name, words, place):
    release(place, MADE["merging"]())
    fault(place / "out.parquet", pq.read_table(place / "out.parquet"))
    found = judged(place, MADE["merging"]())
    (wrong,) = (check for check in found.checks if not check.ok)
    assert wrong.name == name
    assert re.search(words, wrong.detail)
    assert "person 5" not in found.to_text()


@pytest.mark.slow
def test_a_receipt_is_of_one_release_source_policy_and_order(place):
    release(place, MADE["merging"]())
    for other in ("watchdog", "randomized response", "classes"):
        assert not judged(place, MADE[other]()).ok
    assert not judged(place, SubsetMerging(LiftBudget.symmetric(0.1), **ROLES)).ok
    assert not judged(place, MADE["merging"](), rows="keep").ok
    people(1).assign(who="x").to_parquet(place / "more.parquet")
    found = judged(place, MADE["merging"](), source="more.parquet")
    assert [check.name for check in found.checks if not check.ok] == ["receipt"]
    release(place, MADE["merging"](), target="second.parquet", force=True)
    assert not judged(place, MADE["merging"]()).ok  # the receipt is of the second one now
    assert judged(place, MADE["merging"](), target="second.parquet").ok


@pytest.mark.slow
def test_a_channel_in_a_receipt_is_held_to_the_budget(place):
    """A receipt with another channel, sealed again: within the budget it is measured, beyond it refused."""
    release(place, MADE["optimal"]())
    state = json.loads((place / "own" / "r").read_text())
    raw = SavedRelease.of(SubsetMerging(LiftBudget.symmetric(9.0), **ROLES, min_count=0).fit(people(1)))
    for channel in (raw.channel, sz.Channel.from_json(json.dumps(state["channel"]))):
        own = state | {"channel": json.loads(channel.to_json())}
        (place / "own" / "r").write_text(json.dumps(own | {"sha256": compute_seal(own)}))
        assert judged(place, MADE["optimal"]()).ok is (channel is not raw.channel)


@pytest.mark.slow
def test_a_damaged_receipt_is_refused(place):
    release(place, MADE["merging"]())
    path = place / "own" / "r"
    text = path.read_text()
    state = json.loads(text)
    key = state["key"]
    for name in state:
        path.write_text(json.dumps({**state, name: 77}))
        with pytest.raises(SourceError, match="receipt") as error:
            Receipt.read(path)
        assert key not in str(error.value)
    path.write_text(text[:-9])
    with pytest.raises(SourceError, match="is not a receipt"):
        Receipt.read(path)
    other = state | {"made_with": state["made_with"] | {"pyarrow": "1.0"}}
    path.write_text(json.dumps(other | {"sha256": compute_seal(other)}))
    assert judged(place, MADE["merging"]()).ok  # bytes are equal whatever it says
    row_groups(place / "out.parquet", pq.read_table(place / "out.parquet"))
    assert "made with pyarrow 1.0" in judged(place, MADE["merging"]()).to_text()
    assert key not in repr(Receipt.read(path))


@pytest.mark.slow
def test_one_key_draws_other_noise_for_every_source_and_never_is_the_receipt_s(place):
    key = sz.NoiseKey(bytes(range(32)))
    release(place, SubsetMerging(BUDGET, **ROLES, random_state=key))
    first = Receipt.read(place / "own" / "r")
    people(2).to_parquet(place / "other.parquet")
    release(place, SubsetMerging(BUDGET, **ROLES, random_state=key), source="other.parquet", target="o", force=True)
    second = Receipt.read(place / "own" / "r")
    assert len({first.key.key, second.key.key, key.key}) == 3
    shutil.copy(place / "out.parquet", place / "before.parquet")
    release(place, SubsetMerging(BUDGET, **ROLES, random_state=key), force=True)
    assert (place / "out.parquet").read_bytes() == (place / "before.parquet").read_bytes()


@pytest.mark.slow
def test_what_cannot_be_drawn_again_has_no_receipt(place):
    class Own(sz.LiftBudget):
        pass

    private = LatentClassRelease(
        LiftBudget.symmetric(1.0), sensitive="ill", public=["town"], confidence=0.9, secret_dp=SecretDP(1.0, 1e-6)
    )
    refused = [
        (private, "the noise of the fit is not stored"),
        (SubsetMerging(BUDGET, **ROLES, random_state=3), "a seed can be guessed"),
        (SubsetMerging(BUDGET, **ROLES, random_state=np.random.RandomState(3)), "a seed can be guessed"),
        (SubsetMerging(Own(lower=1.0, upper=0.5), **ROLES), "budget"),
    ]
    for sanitizer, words in refused:
        with pytest.raises(InvalidParameter, match=words):
            release(place, sanitizer)
    with pytest.raises(TargetError, match="would be next to the release"):
        release_file(place / "raw.parquet", place / "out.parquet", MADE["merging"](), receipt=place / "r")
    with pytest.raises(TargetError, match="would be next to the release"):
        release_file(place / "raw", place / "out", MADE["merging"](), receipt=place / "out" / "r")
    (place / "own" / "r").write_text("mine")
    with pytest.raises(TargetExists):
        release(place, MADE["merging"]())
    assert (place / "own" / "r").read_text() == "mine"
    assert not (place / "out.parquet").exists()


@pytest.mark.slow
def test_what_a_saved_channel_released_is_drawn_again(place):
    """Another saved channel gives other rows, or is over the budget on these; without a receipt nothing is said."""
    saved, other = (SavedRelease.of(MADE["merging"]().fit(people(seed))) for seed in (2, 3))
    files = place / "out.parquet", place / "raw.parquet"
    release(place, saved)
    found = verify_file(*files, saved, receipt=place / "own" / "r")
    assert found.ok, found.to_text()
    assert "as it was saved; within its budget on the source" in found.to_text()
    assert "rows" in failed(verify_file(*files, other, receipt=place / "own" / "r"))
    bare = pq.read_table(files[1]).drop_columns(["ill"])
    pq.write_table(bare, place / "bare.parquet")
    release_file(place / "bare.parquet", files[0], saved, receipt=place / "own" / "r", force=True)
    found = verify_file(files[0], place / "bare.parquet", saved, receipt=place / "own" / "r")
    assert found.ok, found.to_text()
    assert "no sensitive columns to measure it on" in found.to_text()
    tight = SavedRelease.of(SubsetMerging(sz.LiftBudget(lower=0.2, upper=0.1), **ROLES).fit(people(0)))
    leaking = pq.read_table(files[1]).to_pandas()
    leaking["ill"] = np.where(leaking["town"] == leaking["town"].iloc[0], "yes", "no")
    leaking.to_parquet(place / "other.parquet")
    release_file(place / "other.parquet", files[0], tight, receipt=place / "own" / "r", force=True)
    found = verify_file(files[0], place / "other.parquet", tight, receipt=place / "own" / "r")
    assert failed(found) == ["design"], found.to_text()
    for settings in ({}, {"receipt": place / "own" / "r", "statement": place / "none.json"}):
        with pytest.raises(InvalidParameter, match="is verified by its receipt"):
            verify_file(*files, saved, **settings)


def test_receipts_from_the_command_line(place, monkeypatch, capsys):
    monkeypatch.chdir(place)

    def run(*arguments):
        code = main(arguments)
        return code, *capsys.readouterr()

    design = ("-s", "ill", "-x", "town", "-x", "floor", "--lower", "1", "--upper", "0.5")
    assert run("release", "raw.csv", "-o", "out.csv", *design, "--receipt", "own/r")[0] == 0
    code, out, _ = run("verify", "out.csv", "--source", "raw.csv", *design, "--receipt", "own/r")
    assert (code, out.split("\n")[0]) == (0, "VERIFIED (drawn again by its receipt)")
    code, _, err = run("release", "raw.csv", "-o", "two.csv", *design, "--receipt", "r")
    assert code != 0
    assert_line(err, "would be next to the release")
    lines = (place / "out.csv").read_text().split("\n")
    (place / "out.csv").write_text("\n".join([lines[0], *sorted(lines[1:-1]), ""]))
    assert run("verify", "out.csv", "--source", "raw.csv", *design, "--receipt", "own/r")[0] == 1
