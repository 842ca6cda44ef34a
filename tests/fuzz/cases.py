"""What is mutated, and which command of the library meets the mutant."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from fuzz.mutations import damage, edit_json, edit_text

import sanitize as sz
import sanitize.verify  # what commands import late is there before children are made
from sanitize._files.strict_json import seal_of
from sanitize.cli import _policy_skeleton, main
from sanitize.errors import SanitizeError
from sanitize.ledger import UnitLedger
from sanitize.saved import SavedRelease
from sanitize.transformers import RandomizedResponse, SubsetMerging

BUDGET = sz.LiftBudget(lower=3.0, upper=2.0)
SETTINGS = ["-s", "illness", "-x", "town", "--lower", "3", "--upper", "2"]
POLICY = """version = 1
rows = "shuffle"
audience = "internal"
missing = "category"
[columns]
sensitive = ["illness"]
public = ["town", "age"]
drop = ["floor", "name", "day"]
[budget]
notion = "lift"
lower = 3.0
upper = 2.0
[channel]
mechanism = "subset-merging"
min_count = 2
smoothing = 0.5
[channel.bins]
age = [18, 30, 45, 80]
"""
CHANNELS = """version = 1
[columns]
sensitive = ["illness"]
keep = ["floor"]
drop = ["name", "day"]
[budget]
lower = 3.0
upper = 2.0
[[channel]]
name = "where"
public = ["town"]
mechanism = "watchdog"
output = "label"
[[channel]]
name = "old"
public = ["age"]
mechanism = "subset-random-response"
confidence = 0.9
effort = 3
[channel.bins]
age = [18, 40, 80]
"""
GRID = """version = 1
[columns]
sensitive = ["illness"]
public = ["age"]
drop = ["town", "floor", "name", "day"]
[budget]
notion = "capacity"
nats = 1.0
[channel]
mechanism = "gaussian-channel"
[channel.bounds]
age = [18, 80]
[channel.step]
age = 1
"""
TOML = (
    "1", "0", "-1", "inf", "-inf", "nan", "1e-12", "1e308", "9" * 400, "-" + "9" * 400, "0x" + "f" * 400, "1000000000",
    "true", '""', '"strange"', "[]", "[[]]", "[" * 500, "{}", "{a = 1}", "1979-05-27", "[columns]", "[[channel]]", "\n",
    '"\\u0000"', '"town"', '["town"]', "public", "bins", "grid", "ledger", '"."', '"/"', '"../x"', "a.b.c = 1\n", "#",
    "'''", "age = 1000000000", "bounds", "step", "points", "\ud800", "\0",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One thing to try: files to write into an empty folder, and what to do there."""

    files: dict[str, bytes]
    run: Callable[[], int]


def table(n: int = 200) -> pa.Table:
    """Rows whose sensitive and dropped columns hold a word that must not come out."""
    rng = np.random.default_rng(0)
    ill = rng.random(n) < 0.3
    town = np.where(rng.random(n) < 0.4, np.where(ill, "Aa", "Bb"), rng.choice(["Aa", "Bb", "Cc"], n))
    return pa.table(
        {
            "illness": np.where(ill, "SECRET_ill", "SECRET_well"),
            "town": pa.array(town, mask=rng.random(n) < 0.05),
            "floor": pa.array(rng.integers(0, 3, n), pa.int8()),
            "age": rng.integers(18, 80, n).astype(float),
            "name": [f"SECRET_{i}" for i in range(n)],
            "day": pa.array(rng.integers(0, 5, n).astype(np.int32), pa.date32()),
        }
    )


def _parquet(**settings: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table(), sink, **settings)
    return sink.getvalue()


def _csv() -> bytes:
    sink = io.BytesIO()
    pa.csv.write_csv(table(), sink)
    return sink.getvalue()


def command(*argv: str) -> Callable[[], int]:
    """The program, with these arguments."""
    return lambda: main(list(argv))


def function(call: Callable[[], object]) -> Callable[[], int]:
    """A call of the library as the program would answer it."""

    def run() -> int:
        try:
            call()
        except SanitizeError as error:
            print(f"sanitize: {str(error).splitlines()[0]}", file=sys.stderr)
            return 3
        return 0

    return run


class Parquet:
    """Footers, page headers, dictionaries and statistics."""

    def __init__(self) -> None:
        self.whole = [
            _parquet(),
            _parquet(compression="none", store_schema=False),
            _parquet(data_page_version="2.0", compression="zstd", write_page_index=True, row_group_size=64),
            _parquet(use_dictionary=False, compression="none", write_page_checksum=True),
            _parquet(
                use_dictionary=["town"], column_encoding={"age": "BYTE_STREAM_SPLIT", "floor": "DELTA_BINARY_PACKED"}
            ),
        ]

    def draw(self, rng: Random) -> Mutant:
        """A file with damage in its footer (whose length is mended), in its pages, or anywhere."""
        good = rng.choice(self.whole)
        (length,) = struct.unpack("<I", good[-8:-4])
        start = len(good) - 8 - length
        where = rng.randrange(5)
        if where < 2:
            footer = damage(good[start:-8], rng)
            bad = good[:start] + footer + struct.pack("<I", len(footer)) + b"PAR1"
        elif where < 4:
            at = rng.randrange(4, start)  # lengths stay, so that what follows is found where the footer says
            bad = damage(good, rng, at, min(at + 64, start))
            bad = bad if len(bad) == len(good) else damage(good, rng, start, len(good) - 8)
        else:
            bad = damage(good, rng)
        return Mutant({"raw.parquet": bad, "good.parquet": good}, self._asked(rng))

    @staticmethod
    def _asked(rng: Random) -> Callable[[], int]:
        column = rng.choice(["town", "floor", "age", "day", "illness"])
        roles = ["-s", "illness" if column != "illness" else "town", "-x", column, "--lower", "3", "--upper", "2"]
        return command(
            *rng.choice(
                [
                    ["release", "raw.parquet", "-o", "out.parquet", *roles],
                    ["release", "raw.parquet", "-o", "out.csv", *roles],
                    ["audit", "raw.parquet", *roles[:4]],
                    ["init", "raw.parquet"],
                    ["verify", "raw.parquet", "--source", "good.parquet", *roles],
                    ["verify", "good.parquet", "--source", "raw.parquet", *roles],
                ]
            )
        )


class Csv:
    """Quotes, line ends, encodings, numbers."""

    pieces = (
        b'"', b'""', b",", b"\r", b"\n", b"\r\n", b"\0", b"\xef\xbb\xbf", b"\xff", b"\xc3", b";", b"\t", b"9" * 400,
        b"1e999", b"-", b"=1+1", b"\xed\xa0\x80", b'"' + b"x" * 3000, b",,,,,,", b"\x1f\x8b",
    )  # fmt: skip

    def __init__(self) -> None:
        self.good = _csv()

    def draw(self, rng: Random) -> Mutant:
        """A text with damage, sometimes in its first line only."""
        end = rng.choice([None, None, 60])
        bad = bytearray(damage(self.good, rng, 0, end))
        for _ in range(rng.randrange(3)):
            at = rng.randrange(len(bad) + 1)
            bad[at:at] = rng.choice(self.pieces)
        bins = rng.choice([[], ["--bins", "age=18,30,80"]])
        roles = ["-s", "illness", "-x", "age" if bins else "town", "--lower", "3", "--upper", "2", *bins]
        asked = rng.choice(
            [
                ["release", "raw.csv", "-o", "out.csv", *roles],
                ["release", "raw.csv", "-o", "out.parquet", *roles],
                ["audit", "raw.csv", *roles[:4]],
                ["init", "raw.csv"],
                ["verify", "raw.csv", "--source", "good.csv", *roles],
            ]
        )
        return Mutant({"raw.csv": bytes(bad), "good.csv": self.good}, command(*asked))


class PolicyText:
    """Policies in TOML, of which three cover every kind of key."""

    def __init__(self) -> None:
        self.raw = _parquet()

    def draw(self, rng: Random) -> Mutant:
        """A policy with a few words changed."""
        text = edit_text(rng.choice([POLICY, POLICY, CHANNELS, GRID]), TOML, rng)
        asked = rng.choice(
            [["plan", "raw.parquet"], ["release", "raw.parquet", "-o", "out.parquet"], ["audit", "raw.parquet"]]
        )
        content = text.encode("utf-8", "surrogatepass")
        return Mutant({"policy.toml": content, "raw.parquet": self.raw}, command(*asked, "-p", "policy.toml"))


def _fitted() -> SubsetMerging:
    settings = {"sensitive": "illness", "public": ["town", "age"], "bins": {"age": [18, 30, 45, 80]}}
    return SubsetMerging(BUDGET, **settings).fit(table())


class Report:
    """Reports in JSON, for both audiences."""

    def __init__(self) -> None:
        report = _fitted().report_
        self.good = [json.loads(report.to_json(audience=audience)) for audience in ("internal", "public")]

    def draw(self, rng: Random) -> Mutant:
        """A report with fields changed, printed again in some form."""
        text = json.dumps(edit_json(rng.choice(self.good), rng))
        content = damage(text.encode(), rng) if rng.random() < 0.1 else text.encode()
        shown = rng.choice([[], ["--json"], ["-o", "out.html"], ["-o", "out.json"], ["--audience", "public"]])
        return Mutant({"report.json": content}, command("report", "report.json", *shown))


class LedgerText:
    """Ledgers, sealed again or not."""

    def __init__(self) -> None:
        folder = Path.cwd()
        ledger = sz.Ledger(folder / "book", sz.LiftBudget(lower=9.0, upper=9.0))
        ledger.record(table(), _fitted(), key=bytes(32))
        self.sanitizer = RandomizedResponse(0.5, sensitive="illness", public="town").fit(table())
        ledger.record(table(), self.sanitizer)
        self.good = json.loads((folder / "book").read_text())

    def draw(self, rng: Random) -> Mutant:
        """A ledger with fields changed, into which one more release is recorded."""
        state = edit_json(self.good, rng)
        sealed = isinstance(state, dict) and rng.random() < 0.8
        content = json.dumps(state | {"sha256": seal_of(state)} if sealed else state).encode()
        content = damage(content, rng) if rng.random() < 0.1 else content
        return Mutant({"book": content}, function(lambda: sz.Ledger("book").record(table(), self.sanitizer)))


class UnitLedgerText:
    """Ledgers of units, sealed again or not."""

    def __init__(self) -> None:
        self.rows = table().append_column("who", pa.array(range(table().num_rows)))
        ledger = UnitLedger("units", sz.LiftBudget(lower=9.0, upper=9.0), unit="who", min_units=2)
        ledger.release(self.rows, _fitted())
        self.good = json.loads(Path("units").read_text())

    def draw(self, rng: Random) -> Mutant:
        """A ledger with fields changed, through which the units are released once more."""
        state = edit_json(self.good, rng)
        if isinstance(state, dict) and "SECRET" in str(state.get("unit")):
            state["unit"] = "who"  # errors name the column, and the word stands for data
        if isinstance(state, dict) and rng.random() < 0.8:
            with contextlib.suppress(ValueError, TypeError):
                state["sha256"] = seal_of(state)
        content = json.dumps(state).encode()
        content = damage(content, rng) if rng.random() < 0.1 else content
        return Mutant({"units": content}, function(lambda: UnitLedger("units").release(self.rows, _fitted())))


class Saved:
    """Saved releases, signed again or not."""

    def __init__(self) -> None:
        saved = (SavedRelease.of(_fitted()), SavedRelease.of(RandomizedResponse(1.0, public=["town"]).fit(table())))
        self.good = [json.loads(one.to_json()) for one in saved]
        self.raw = _parquet()

    def draw(self, rng: Random) -> Mutant:
        """A saved release with fields changed, through which new rows are released."""
        state = edit_json(rng.choice(self.good), rng)
        if isinstance(state, dict) and rng.random() < 0.8:
            with contextlib.suppress(ValueError, TypeError):
                state["sha256"] = seal_of(state)
        content = json.dumps(state).encode()
        content = damage(content, rng) if rng.random() < 0.1 else content
        apply = function(
            lambda: sz.privatize_parquet("raw.parquet", "out.parquet", SavedRelease.from_json(Path("saved.json")))
        )
        return Mutant({"saved.json": content, "raw.parquet": self.raw}, apply)


LATE = (sanitize.verify, _policy_skeleton)
KINDS: dict[str, type[Any]] = {
    "parquet": Parquet, "csv": Csv, "policy": PolicyText, "report": Report, "ledger": LedgerText,
    "units": UnitLedgerText, "saved": Saved,
}  # fmt: skip
