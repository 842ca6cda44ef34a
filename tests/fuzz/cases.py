"""What is mutated, and which command of the library meets the mutant."""

from __future__ import annotations

import contextlib
import gzip
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
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from fuzz.mutations import damage, edit_json, edit_text
from sklearn.base import clone

import sanitize as sz
import sanitize.auditing.verify  # what commands import late is there before children are made
from sanitize._util.sealed_text import compute_seal
from sanitize.cli import _policy_skeleton, main
from sanitize.errors import SanitizeError
from sanitize.over_time import UnitLedger
from sanitize.release.saved import SavedRelease
from sanitize.transformers import LatentClassRelease, RandomizedResponse, SubsetMerging

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
[[channel]]
name = "old"
public = ["age"]
mechanism = "subset-random-response"
effort = 3
[channel.budget]
lower = 2.0
upper = 1.0
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
    """One thing to try: files to write into an empty folder, and what to do there.

    Attributes
    ----------
    files : dict of str to bytes
    run : function without arguments
        Returns an exit code.
    room : int or None
        Bytes that the disk has left then; None for enough.
    """

    files: dict[str, bytes]
    run: Callable[[], int]
    room: int | None = None


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


def from_stdin(name: str, *argv: str) -> Callable[[], int]:
    """The program, with a file as standard input."""

    def run() -> int:
        with Path(name).open("rb") as stream:
            sys.stdin = io.TextIOWrapper(stream)
            return main(list(argv))

    return run


def written(state: Any, rng: Random) -> bytes:
    """A value as JSON, mostly with a seal that fits it if it has one, sometimes with damage to its bytes."""
    if isinstance(state, dict) and "sha256" in state and rng.random() < 0.8:
        with contextlib.suppress(ValueError, TypeError):
            state["sha256"] = compute_seal(state)
    content = json.dumps(state).encode()
    return damage(content, rng) if rng.random() < 0.1 else content


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
                    ["release", "raw.parquet", "-o", "out.parquet", *roles, "-x", "age", "-m", "latent-classes"],
                    ["audit", "raw.parquet", *roles[:4]],
                    ["plan", "raw.parquet", *roles],
                    ["init", "raw.parquet", "-o", "policy.toml"],
                    ["judge", "raw.parquet", "--source", "good.parquet", *roles[:4]],
                    ["verify", "raw.parquet", "--source", "good.parquet", *roles],
                    ["verify", "good.parquet", "--source", "raw.parquet", *roles],
                ]
            )
        )


class Elsewhere(Parquet):
    """The same files by address, and as a data set, which is made without a look at them."""

    @staticmethod
    def _asked(rng: Random) -> Callable[[], int]:
        column, is_dataset = rng.choice(["town", "floor", "age", "day"]), rng.random() < 0.5

        def use() -> None:
            file = Path("raw.parquet").resolve()
            source = ds.dataset(file, schema=table().schema) if is_dataset else f"file://{file}"
            sz.release_file(source, "out.parquet", SubsetMerging(BUDGET, sensitive="illness", public=column))

        return function(use)


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
        run = rng.choice(
            [
                command("release", "raw.csv", "-o", "out.csv", *roles),
                command("release", "raw.csv", "-o", "out.parquet", *roles, "--report", "report.html"),
                from_stdin("raw.csv", "release", "-", "-o", "out.parquet", *roles),
                command("audit", "raw.csv", *roles[:4]),
                command("plan", "raw.csv", *roles, "--html", "plan.html"),
                command("init", "raw.csv", "-o", "policy.toml"),
                command("verify", "raw.csv", "--source", "good.csv", *roles),
                command("judge", "raw.csv", "--source", "good.csv", *roles[:4]),
            ]
        )
        return Mutant({"raw.csv": bytes(bad), "good.csv": self.good}, run)


class Bomb:
    """Files of little that unfold to much: what footers, pages and members of gzip announce, and what they hold."""

    codecs = ("zstd", "gzip", "brotli", "lz4", "snappy")

    def __init__(self) -> None:
        long, ill = "y" * (4 << 20), ["SECRET_ill", "SECRET_well"] * 100
        text = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 100, pa.int32()), pa.array([long, "z"]))
        columns = [text, pa.array([long, "z"] * 8 + ["z"] * 184), pa.array([0.0] * 200)]
        self.whole = [
            _design_written_classes(pa.table({"illness": ill, "town": column}), compression=codec, use_dictionary=plain)
            for codec in self.codecs
            for column in columns
            for plain in (True, False)
        ]
        rows = b"SECRET_ill,Aa\nSECRET_well,Bb\n"
        texts = [b"illness,town\n" + rows * n for n in (1 << 10, 1 << 22)]
        texts += [start + b"y" * (1 << 27) + b"\n" for start in (b"illness,town\nSECRET_ill,", b"illness,town,")]
        self.packed = [gzip.compress(text) for text in texts]

    def draw(self, rng: Random) -> Mutant:
        """A number of a header or footer raised, or members of gzip one after another."""
        asked = ["-s", "illness", "-x", "town", "--lower", "3", "--upper", "2"]
        if rng.random() < 0.2:
            content = b"".join(rng.choices(self.packed, k=rng.choice((1, 1, 2, 8))))
            content = damage(content, rng) if rng.random() < 0.3 else content
            files = {"raw.csv.gz": content}
        else:
            content = rng.choice(self.whole)
            (length,) = struct.unpack("<I", content[-8:-4])
            start = len(content) - 8 - length
            end, size = (start, 4) if rng.random() < 0.5 else (len(content) - 8, start)
            files = {"raw.parquet": raised(content, rng, size, end)}
        (name,) = files
        way = rng.choice([["release", name, "-o", "out.parquet", *asked], ["audit", name, *asked[:4]], ["init", name]])
        return Mutant(files, command(*way))


def _design_written_classes(made: pa.Table, **settings: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(made, sink, write_statistics=False, **settings)
    return sink.getvalue()


def raised(content: bytes, rng: Random, start: int, end: int) -> bytes:
    """Bytes with one to three numbers, as Thrift writes them, replaced by large ones of the same length."""
    made = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(start, end)
        while at < end and made[at] < 0x80:
            at += 1  # more than a byte long, as sizes of bombs are
        while at + 1 < end and made[at] >= 0x80 and rng.random() < 0.95:
            made[at] = rng.choice((0xFE, 0xFF, 0x80, made[at]))
            at += 1
        if at < end:
            made[at] = rng.choice((0x0F, 0x07, 0x7F, 0x01, made[at]))
    return bytes(made)


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


def _classifier() -> SubsetMerging:
    settings = {"sensitive": "illness", "public": ["town", "age"], "bins": {"age": [18, 30, 45, 80]}}
    return SubsetMerging(BUDGET, **settings).fit(table())


class Report:
    """Reports in JSON, for both audiences."""

    def __init__(self) -> None:
        report = _classifier().report_
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
        ledger.record(table(), _classifier(), key=bytes(32))
        self.sanitizer = RandomizedResponse(0.5, sensitive="illness", public="town").fit(table())
        ledger.record(table(), self.sanitizer)
        self.good = json.loads((folder / "book").read_text())

    def draw(self, rng: Random) -> Mutant:
        """A ledger with fields changed, into which one more release is recorded."""
        state = edit_json(self.good, rng)
        sealed = isinstance(state, dict) and rng.random() < 0.8
        content = json.dumps(state | {"sha256": compute_seal(state)} if sealed else state).encode()
        content = damage(content, rng) if rng.random() < 0.1 else content
        return Mutant({"book": content}, function(lambda: sz.Ledger("book").record(table(), self.sanitizer)))


class UnitLedgerText:
    """Ledgers of units, sealed again or not."""

    def __init__(self) -> None:
        self.rows = table().append_column("who", pa.array(range(table().num_rows)))
        ledger = UnitLedger("units", sz.LiftBudget(lower=9.0, upper=9.0), unit="who", min_units=2)
        ledger.release(self.rows, _classifier())
        self.good = json.loads(Path("units").read_text())

    def draw(self, rng: Random) -> Mutant:
        """A ledger with fields changed, through which the units are released once more."""
        state = edit_json(self.good, rng)
        if isinstance(state, dict) and "SECRET" in str(state.get("unit")):
            state["unit"] = "who"  # errors name the column, and the word stands for data
        return Mutant(
            {"units": written(state, rng)}, function(lambda: UnitLedger("units").release(self.rows, _classifier()))
        )


class Saved:
    """Saved releases, signed again or not."""

    def __init__(self) -> None:
        self.good = [json.loads(SavedRelease.of(one).to_json()) for one in self.fitted()]
        self.raw = _parquet()

    @staticmethod
    def fitted() -> list[Any]:
        """Estimators to save."""
        return [_classifier(), RandomizedResponse(1.0, public=["town"]).fit(table())]

    def draw(self, rng: Random) -> Mutant:
        """A saved release with fields changed, through which new rows are released."""
        content = written(edit_json(rng.choice(self.good), rng), rng)
        apply = function(
            lambda: sz.release_file("raw.parquet", "out.parquet", SavedRelease.from_json(Path("saved.json")))
        )
        return Mutant({"saved.json": content, "raw.parquet": self.raw}, apply)


class Classes(Saved):
    """Saved releases of whole tables: latent classes, and what is written of them."""

    @staticmethod
    def fitted() -> list[Any]:
        """Plain and certified."""
        columns = ["town", "floor", "age", "day"]
        made = LatentClassRelease(BUDGET, sensitive="illness", public=columns, n_classes=4)
        return [made.fit(table(1000)), clone(made).set_params(confidence=0.9).fit(table(1000))]


class ChannelText:
    """Channels as text, of one stage and of several."""

    def __init__(self) -> None:
        noisy = RandomizedResponse(1.0, public=["town", "floor"]).fit(table())
        self.good = [json.loads(one.channel_.to_json()) for one in (_classifier(), noisy)]

    def draw(self, rng: Random) -> Mutant:
        """A channel with fields changed, which then draws, and is written again."""

        def use() -> None:
            channel = sz.Channel.from_json(Path("channel.json"))
            drawn = channel.sample(np.arange(min(channel.n_inputs, 1000)), 0)
            channel.outputs.decode(drawn)
            sz.Channel.from_json(channel.to_json())

        return Mutant({"channel.json": written(edit_json(rng.choice(self.good), rng), rng)}, function(use))


PAPERS = ("report.json", "channel.json", "verified.json", "dossier.croissant.json", "dossier.intoto.json")


class Papers:
    """What lies beside a release: its receipt, or its report, channel, verification, metadata and statement."""

    names: tuple[str, ...] = PAPERS

    def __init__(self) -> None:
        Path("raw.parquet").write_bytes(_parquet())
        Path("policy.toml").write_text(POLICY)
        Path("own").mkdir()
        beside = ["--report", "report.json", "--channel", "channel.json", "--receipt", "own/receipt"]
        for argv in (
            ["release", "raw.parquet", "-o", "out.parquet", "-p", "policy.toml", *beside],
            ["verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml", "--json"],
            ["report", "report.json", "--dossier", "dossier.md", "--released", "out.parquet", "-p", "policy.toml"],
        ):
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                assert main([*argv, *(["--channel", "channel.json"] if argv[0] == "report" else [])]) == 0
            if argv[0] == "verify":
                Path("verified.json").write_text(said.getvalue())
        Path("own/receipt").rename("receipt")
        names = ("raw.parquet", "out.parquet", "policy.toml", *self.names)
        self.whole = {name: Path(name).read_bytes() for name in names}

    def draw(self, rng: Random) -> Mutant:
        """One of them with fields changed, and verify or a new dossier over all of them."""
        name = rng.choice(self.names)
        bad = written(edit_json(json.loads(self.whole[name]), rng), rng)
        return Mutant({**self.whole, name: bad}, command(*self.asked(rng)))

    @staticmethod
    def asked(rng: Random) -> list[str]:
        """A command that reads them."""
        given = ["--released", "out.parquet", "-p", "policy.toml", "--channel", "channel.json"]
        dossier = ["report", "report.json", "--dossier", rng.choice(["new.html", "new.md"]), *given]
        return rng.choice(
            [
                [*VERIFIED, "--statement", "dossier.intoto.json"],
                [*dossier, *rng.choice([[], ["--verified", "verified.json"]])],
            ]
        )


VERIFIED = ["verify", "out.parquet", "--source", "raw.parquet", "-p", "policy.toml"]


class ReceiptText(Papers):
    """Receipts, by which a release is drawn again."""

    names = ("receipt",)

    @staticmethod
    def asked(rng: Random) -> list[str]:
        """Verification by the receipt."""
        return [*VERIFIED, "--receipt", "receipt", *rng.choice([[], ["--json"]])]


LATE = (sanitize.auditing.verify, _policy_skeleton)
KINDS: dict[str, Callable[[], Any]] = {
    "parquet": Parquet, "elsewhere": Elsewhere, "csv": Csv, "bomb": Bomb, "policy": PolicyText, "report": Report,
    "ledger": LedgerText, "units": UnitLedgerText, "saved": Saved, "classes": Classes, "channel": ChannelText,
    "papers": Papers, "receipt": ReceiptText,
}  # fmt: skip
