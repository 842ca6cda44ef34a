"""Honest releases of all kinds, drawn again by their receipts: how many pass, and what it costs beside the release.

    python studies/receipts.py [--releases N] [--rows N]

Each release is of a table of its own and of one kind of sanitizer, from one file, a folder or CSV to the same or to
CSV, with rows shuffled or in order. Its receipt then proves it. Counted are releases that pass; CPU is that of the
process, verification over release, of each by itself and of all together. What is loaded once is loaded before.
Two rows of each then change places, and it must be refused.

Frames and what Dask's workers write have no receipt: that they were drawn is not proved. Verified is what is exact,
beside one test of counts and of order. A frame's file is first written in its canonical form.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import sanitize as sz
from sanitize.release.saved import SavedRelease
from sanitize.transformers import (
    ExponentialChannel,
    JointRelease,
    LatentClassRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    SubsetRandomResponse,
    Watchdog,
)

BUDGET = sz.LiftBudget(lower=1.0, upper=0.5)
FEW = {"sensitive": "ill", "public": ["town", "floor"]}
WHOLE = {"sensitive": "ill", "public": ["town", "floor", "age"]}
KINDS: dict[str, Callable[[], Any]] = {
    "merging": lambda: SubsetMerging(BUDGET, **FEW),
    "merging, labels": lambda: SubsetMerging(BUDGET, **FEW),
    "merging, bins": lambda: SubsetMerging(
        BUDGET, sensitive="ill", public=["town", "age"], bins={"age": [18.0, 30.0, 45.0, 60.0, 91.0]}
    ),
    "merging, certified": lambda: SubsetMerging(BUDGET, **FEW, confidence=0.9),
    "watchdog": lambda: Watchdog(BUDGET, **FEW),
    "optimal": lambda: OptimalRandomResponse(BUDGET, **FEW),
    "subset response": lambda: SubsetRandomResponse(BUDGET, **FEW),
    "randomized response": lambda: RandomizedResponse(1.0, **FEW),
    "exponential": lambda: ExponentialChannel(1.0, sensitive="ill", public="floor"),
    "joint": lambda: JointRelease(
        [("a", SubsetMerging(public=["town"])), ("b", SubsetMerging(public=["floor"]))], BUDGET, sensitive="ill"
    ),
    "chosen": lambda: sz.BestSanitizer(BUDGET, **FEW),
    "saved": lambda: saved(),
    "classes": lambda: LatentClassRelease(BUDGET, **WHOLE),
    "one class": lambda: LatentClassRelease(BUDGET, **WHOLE, n_classes=1),
    "classes, certified": lambda: LatentClassRelease(BUDGET, **WHOLE, confidence=0.9),
}
# What has no receipt.
UNPROVED = ("frame, no receipt", "Dask, no receipt")
FORMS = (("raw.parquet", "out.parquet"), ("raw.parquet", "out.csv"), ("raw", "out"), ("raw.csv", "out.csv"))


def people(n_rows: int, seed: int) -> pd.DataFrame:
    """A table in which three columns tell the secret a little."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n_rows) < 0.4
    return pd.DataFrame(
        {
            "ill": np.where(ill, "yes", "no"),
            "town": np.array(list("abcd"))[np.minimum(rng.integers(0, 4, n_rows) + ill, 3)],
            "floor": rng.integers(0, 5, n_rows) + 2 * (ill & (rng.random(n_rows) < 0.3)),
            "age": np.round(rng.uniform(18, 90, n_rows), 1),
        }
    )


# Whether the release passed, and the forged one was refused; CPU of the release, and of both verifications.
Result = tuple[bool, bool | None, float, float, float]


def cost(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call gives, and its seconds of CPU."""
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def released_otherwise(kind: str, source: Path, target: Path) -> None:
    """Release by a way that gives no receipt, in random order."""
    merging, given = SubsetMerging(BUDGET, **FEW), {"source": source, "target": target}
    if kind == UNPROVED[0]:
        frame = merging.fit_transform(pd.read_parquet(source)).sample(frac=1, ignore_index=True)
        frame.to_parquet(target.with_stem("own"))
        sz.verify_file(target.with_stem("own"), source, merging, rewrite=target)
    else:
        from sanitize.engines.dask import release_file

        release_file(**given, sanitizer=merging)


def one_without(kind: str, n_rows: int, seed: int) -> Result:
    """The same of a release without a receipt, with nothing forged; what Dask's workers take is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "raw.parquet", Path(folder) / ("out" if kind == UNPROVED[1] else "out.parquet")
        people(n_rows, seed).to_parquet(source)
        _, released = cost(lambda: released_otherwise(kind, source, target))
        found, verified = cost(lambda: sz.verify_file(target, source, SubsetMerging(BUDGET, **FEW)))
        return found.ok, None, released, verified, 0.0


@cache
def saved() -> SavedRelease:
    """A channel that is certified by other rows; without a confidence every other sample would be over the budget."""
    return SavedRelease.of(SubsetMerging(BUDGET, **FEW, confidence=0.9).fit(people(20_000, 0)))


def forge(released: Path) -> None:
    """Let two rows of a release, or of its first part, change places: the same rows, and not in the drawn order."""
    part = min(released.glob("*.parquet")) if released.is_dir() else released
    is_text = part.suffix == ".csv"
    table = pa.csv.read_csv(part) if is_text else pq.read_table(part)
    frame = table.to_pandas()
    order = np.arange(len(frame))
    other = int((frame != frame.iloc[0]).any(axis=1).to_numpy().argmax())
    order[[0, other]] = other, 0
    (pa.csv.write_csv if is_text else pq.write_table)(table.take(order), part)


def one(kind: str, form: tuple[str, str], rows: str, n_rows: int, seed: int) -> Result:
    """Release and verify, honest and forged; whether both ended well, and the costs."""
    with tempfile.TemporaryDirectory() as folder:
        place, table = Path(folder), people(n_rows, seed)
        source, target, receipt = place / form[0], place / form[1], place / "own" / "receipt"
        receipt.parent.mkdir()
        given = {"rows": rows, "receipt": receipt}
        if source.suffix == ".csv":
            table.to_csv(source, index=False)
        elif source.suffix:
            table.to_parquet(source)
        else:
            source.mkdir()
            for part in range(3):
                table[part::3].to_parquet(source / f"{part}.parquet")
        sanitizer, again = KINDS[kind](), KINDS[kind]()
        _, released = cost(lambda: sz.release_file(source, target, sanitizer, **given))
        found, verified = cost(lambda: sz.verify_file(target, source, again, **given))
        forge(target)
        forged, refused = cost(lambda: sz.verify_file(target, source, again, **given))
        return found.ok, not forged.ok, released, verified, refused


def main() -> None:
    """Print a row a kind, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=238)
    parser.add_argument("--rows", type=int, default=20_000)
    given = parser.parse_args()
    for kind in KINDS:
        one(kind, FORMS[0], "shuffle", 2000, 0)
    found: dict[str, list[Result]] = {kind: [] for kind in KINDS}
    for number in range(given.releases):
        turn, place = divmod(number, len(KINDS))
        kind, rows = list(KINDS)[place], ("shuffle", "keep")[turn // len(FORMS) % 2]
        found[kind].append(one(kind, FORMS[turn % len(FORMS)], rows, given.rows, number + 1))
    columns = "kind", "releases", "passed", "release: CPU s", "verify: CPU s", "times, median", "times, most"
    print(f"| {' | '.join(columns)} | refused | times, most |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind in UNPROVED:
        found[kind] = [one_without(kind, given.rows, seed + 1) for seed in range(given.releases // len(KINDS))]
    found["all"] = [result for results in found.values() for result in results]
    for kind, results in found.items():
        passed, refused, released, verified, looked = zip(*results, strict=True)
        times = [after / before for before, after in zip(released, verified, strict=True)]
        share = sum(verified) / sum(released) if kind == "all" else statistics.median(times)
        forged = f"{sum(filter(None, refused))} of {sum(one is not None for one in refused)}"
        most = max(after / before for before, after in zip(released, looked, strict=True))
        print(
            f"| {kind} | {len(results)} | {sum(passed)} | {sum(released):.1f} | {sum(verified):.1f} | {share:.2f} | "
            f"{max(times):.2f} | {forged} | {most:.2f} |"
        )


if __name__ == "__main__":
    main()
