"""What the tests of Dask and Spark share: a source of many row groups, its release on one machine, and faults."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import sanitize as sz
import sanitize.engines.parquet
from sanitize.core.channel import Channel
from sanitize.transformers import (
    LatentClassRelease,
    Sanitizer,
    SecretDP,
    SubsetMerging,
)

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult.parquet"
KEY = bytes(range(100, 132))
COLUMNS = ["income", "education", "occupation", "age"]
# Files of unequal size: the first takes two tasks, and one of these reads more rows than one batch has.
REPEATS = (7, 1, 2)
GROUP_ROWS = 140_000
TASK_ROWS = 300_000


def merging(upper: float = 0.5, **settings: Any) -> SubsetMerging:
    """A sanitizer whose output has text columns and a number drawn inside its bin."""
    settings = {"public": ["education", "occupation", "age"], "bins": {"age": [0, 25, 40, 60, 100]}, **settings}
    return SubsetMerging(sz.LiftBudget(lower=math.inf, upper=upper), sensitive="income", **settings)


def make_source(folder: Path) -> Path:
    """Adult, ten times: files of three, three and one row groups, and an empty one."""
    if not ADULT.is_file():
        pytest.skip("adult.parquet of the shared tables is not on this machine")
    adult = pq.read_table(ADULT, columns=COLUMNS).replace_schema_metadata(None)
    source = folder / "source"
    (source / "deep").mkdir(parents=True)
    for number, repeats in enumerate(REPEATS):
        table = pa.concat_tables([adult] * repeats)
        path = source / ("deep" if number == 1 else ".") / f"{number}.parquet"
        pq.write_table(table, path, row_group_size=17_000 if number == 1 else GROUP_ROWS)
    pq.write_table(adult.slice(0, 0), source / "none.parquet")
    return source


@dataclass(frozen=True)
class Single:
    """A release on one machine, to compare with."""

    sanitizer: Sanitizer
    rows: pa.Table


def release_alone(source: Path, target: Path, rows: str) -> Single:
    sanitizer = merging()
    sz.release_file(source, target, sanitizer, rows=rows, key=KEY)
    return Single(sanitizer, rows_of(target))


def whole_tables() -> dict[str, Sanitizer]:
    """Sanitizers of whole tables, one with a certificate, and one whose counts of secrets hold noise."""
    budget = sz.LiftBudget(lower=1.0, upper=0.5)
    # Clones share the key, of which the noise on the counts is drawn wherever they were made.
    noisy = {"secret_dp": SecretDP(1.0, 1e-6, {"ill": [False, True]}), "random_state": sz.NoiseKey(bytes(range(32)))}
    return {
        "classes": LatentClassRelease(budget, sensitive="ill", n_classes=6),
        "certified": LatentClassRelease(budget, sensitive="ill", confidence=0.9, n_classes=6),
        "noisy": LatentClassRelease(budget, sensitive="ill", confidence=0.9, n_classes=4, **noisy),
        "kept": LatentClassRelease(budget, sensitive="ill", n_classes=4, keep=["town", "seen"], bins={"seen": "year"}),
        "noisy tuples": SubsetMerging(budget, sensitive="ill", public=["town", "smokes"], **noisy),
    }


def make_whole(folder: Path) -> Path:
    """Columns of many kinds in three files of several row groups, and an empty one."""
    rng = np.random.default_rng(0)
    n = 3000
    ill = rng.random(n) < 0.3
    table = pa.table(
        {
            "ill": ill,
            "age": np.where(ill, rng.normal(60, 12, n), rng.normal(45, 15, n)).round(),
            "town": pa.array(rng.choice(["A", "B", "C"], n), mask=rng.random(n) < 0.1),
            "smokes": rng.random(n) < np.where(ill, 0.5, 0.2),
            "rent": rng.lognormal(7, 0.5, n).round(2),
            "seen": np.datetime64("2020-01-01") + rng.integers(0, 700, n).astype("timedelta64[D]"),
        }
    )
    (folder / "whole").mkdir()
    for number, (start, end) in enumerate(((0, 1700), (1700, 1700), (1700, 2100), (2100, n))):
        pq.write_table(table.slice(start, end - start), folder / "whole" / f"{number}.parquet", row_group_size=150)
    return folder / "whole"


def assert_as_alone(release: Any, folder: Path) -> None:
    """An engine releases whole tables as one machine does: channel, report, and rows in their order."""
    source = make_whole(folder)
    orders = ("keep", "shuffle", "keep", "keep", "keep")
    for (name, sanitizer), rows in zip(whole_tables().items(), orders, strict=True):
        alone, again = clone(sanitizer), clone(sanitizer)
        sz.release_file(source, folder / "alone", alone, rows=rows, key=KEY, force=True)
        release(source, folder / name, again, rows=rows, key=KEY, task_rows=500)
        assert_same(folder / name, again, Single(alone, rows_of(folder / "alone")))


def rows_of(target: Path) -> pa.Table:
    """All rows, the parts one after another."""
    parts = sorted(target.iterdir()) if target.is_dir() else [target]
    assert all(part.name.startswith("part-") for part in parts) or len(parts) == 1
    return pa.concat_tables([pq.read_table(part) for part in parts])


def assert_same(target: Path, sanitizer: Sanitizer, single: Single) -> None:
    """Same channel bit for bit, same report, same rows in the same order."""
    assert sanitizer.channel_ == single.sanitizer.channel_
    assert sanitizer.report_.to_json() == single.sanitizer.report_.to_json()
    assert rows_of(target).equals(single.rows)


WIDE = sz.LiftBudget(lower=math.inf, upper=math.inf)


def two_ledgers(folder: Path, source: Path) -> tuple[Path, Path]:
    """A ledger with one release of the source, and a copy of it: their digests have the same salt."""
    ledger, copy = folder / "alone.ledger", folder / "engine.ledger"
    first = SubsetMerging(sz.LiftBudget(lower=math.inf, upper=0.3), sensitive="income", public="education")
    sz.engines.parquet.plan_file(source, first)
    sz.Ledger(ledger, WIDE).record(source, first)
    shutil.copy(ledger, copy)
    return ledger, copy


def book_of(ledger: Path) -> dict[str, Any]:
    """What the file of a ledger says, but for the random numbers of its entries and the seal over them."""
    state: dict[str, Any] = json.loads(ledger.read_text())
    del state["sha256"]
    for entry in state["releases"]:
        del entry["number"]
    return state


def left_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def make_leaky(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the mechanism design a channel over its budget."""
    monkeypatch.setattr(
        "sanitize.mechanisms.subset_merging",
        lambda joint, budget, **_: Channel.identity(len(joint.public), joint.public),
    )


@dataclass(frozen=True)
class Faulty:
    """Work whose second task ends badly the first time, after its file is written."""

    work: Any
    marker: Path
    fault: str

    def __call__(self, item: Any) -> Any:
        outcome = self.work(item)
        if item.number == 1 and not self.marker.exists():
            self.marker.touch()
            if getattr(self.work, "folder", None):
                (self.work.folder / ".part-00001.parquet.0bad.tmp").write_bytes(b"what a killed worker leaves")
            if self.fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError("the network is away for a moment")
        return outcome


def with_faults(monkeypatch: pytest.MonkeyPatch, engine: type, folder: Path, fault: str, names: set[str]) -> None:
    """Let one task of each of these passes fail the first time."""
    run = engine.run

    def faulty(self: Any, work: Any, items: Any, name: str) -> Any:
        return run(self, Faulty(work, folder / f"failed-{name}", fault) if name in names else work, items, name)

    monkeypatch.setattr(engine, "run", faulty)


def interrupted_after(monkeypatch: pytest.MonkeyPatch, engine: type, name: str) -> list[Any]:
    """Interrupt the asking machine when the tasks of a pass have done their work; gives what they ran."""
    run = engine.run
    ran: list[Any] = []

    def interrupted(self: Any, work: Any, items: Any, given: str) -> Any:
        outcome = run(self, work, items, given)
        if given == name:
            ran.append((work, items[0]))
            raise KeyboardInterrupt
        return outcome

    monkeypatch.setattr(engine, "run", interrupted)
    return ran
