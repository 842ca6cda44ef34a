"""What the tests split from verify share: tables, releases and oracles."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sanitize as sz
from sanitize.auditing.verify import Verification, verify_file
from sanitize.engines.parquet import release_file
from sanitize.transformers import SubsetMerging

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


def key(number: int) -> bytes:
    return hashlib.sha256(b"test %d" % number).digest()


def release(folder, sanitizer, *, source="raw.parquet", target="out.parquet", rows="shuffle", number=0, **settings):
    """A released file, and its receipt in another folder."""
    settings["receipt"] = receipt_of(folder / target)
    settings["receipt"].parent.mkdir(exist_ok=True)
    release_file(folder / source, folder / target, sanitizer, rows=rows, key=key(number), force=True, **settings)
    return folder / target


def receipt_of(target: Path) -> Path:
    return target.parent / "own" / f"{target.name}.receipt"


def proved(target: Path, source: str, sanitizer, **settings) -> Verification:
    """The verification of a release by its receipt."""
    return verify_file(target, target.parent / source, sanitizer, receipt=receipt_of(target), **settings)


def merging(**settings) -> SubsetMerging:
    return SubsetMerging(BUDGET, **ROLES, **settings)


def failed(verification) -> list[str]:
    return [check.name for check in verification.checks if not check.ok]


def assert_caught(verification, name: str, words: str = "") -> None:
    """The check caught it, said so in words, and told nothing about anybody."""
    assert name in failed(verification), str(verification)
    assert not verification.ok
    assert "SECRET" not in verification.to_text()
    detail = next(check.detail for check in verification.checks if check.name == name)
    assert words in detail


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
