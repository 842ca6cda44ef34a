"""Columns of every Arrow type, and what becomes of each in every file, frame and role: the table of the guide.

``python tests/support/type_cases.py`` prints the table.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import uuid
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import sanitize as sz
from sanitize.cli import main

N = 60
_RNG = np.random.default_rng(0)
CODES = _RNG.integers(0, 3, N)
_HELD = pa.array(CODES, pa.int32(), mask=_RNG.random(N) < 0.1)
OTHERS = {"s": pa.array(_RNG.choice(["p", "q"], N)), "x": pa.array(_RNG.choice(["u", "v"], N))}


def _of(values: Any, dtype: pa.DataType | None = None) -> pa.Array:
    """Rows of three values and some missing ones."""
    return pa.array(values, dtype).take(_HELD)


def _text(values: list[Any], dtype: pa.DataType) -> pa.Array:
    """The same of types that Arrow cannot pick rows from."""
    return pa.array([None if code is None else values[code] for code in _HELD.to_pylist()], dtype)


def _extension(dtype: pa.DataType, values: list[Any]) -> pa.Array:
    return dtype.wrap_array(_of(values, dtype.storage_type))


def _dictionary(indices: Any, values: pa.Array, dtype: pa.DataType | None = None) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, dtype or pa.int8()), values, safe=False)


def _numbers() -> dict[str, pa.Array]:
    whole = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    decimals = [Decimal("1.50"), Decimal("-2.25"), Decimal(0)]
    return {
        **{name: _of([0, 1, 7], getattr(pa, name)()) for name in whole},
        "uint64 above int64": _of([0, 1, 2**64 - 1], pa.uint64()),
        "float16": _of(np.array([0.0, -0.0, 1.5], "f2"), pa.float16()),
        "float32": _of([0.5, -0.0, float("nan")], pa.float32()),
        "float64": _of([0.5, float("inf"), float("nan")], pa.float64()),
        **{f"decimal{bits}": _of(decimals, getattr(pa, f"decimal{bits}")(7, 2)) for bits in (32, 64, 128, 256)},
        "bool": _of([True, False, None], pa.bool_()),
        "bool8": _extension(pa.bool8(), [0, 1, 5]),
        "null": pa.nulls(N),
    }


def _texts() -> dict[str, pa.Array]:
    return {
        **{name: _text(["a", 'b,"', "é"], getattr(pa, name)()) for name in ("string", "large_string", "string_view")},
        "string with NUL": _of(["a\0b", "b", "c"]),
        "string, not UTF-8": _of([b"a", b"\xff", b""], pa.binary()).view(pa.string()),
        **{
            name: _text([b"a", b"\xff", b""], getattr(pa, name)()) for name in ("binary", "large_binary", "binary_view")
        },
        "fixed_size_binary": _of([b"ab", b"cd", b"\xff\xff"], pa.binary(2)),
        "uuid": _extension(pa.uuid(), [uuid.UUID(int=i).bytes for i in range(3)]),
        "json": _extension(pa.json_(), ["1", "{}", "[]"]),
        "opaque": _extension(pa.opaque(pa.string(), "kind", "vendor"), ["1", "2", "3"]),
    }


def _times() -> dict[str, pa.Array]:
    far = [0, 2**62, -(2**62)]
    found = {
        "date32": _of([0, 1, 20_000], pa.date32()),
        "date64": _of([0, 86_400_000, 172_800_000], pa.date64()),
        "date32 beyond year 9999": _of([0, 2**31 - 1, -(2**31)], pa.date32()),
        "time32": _of([0, 60, 3599], pa.time32("s")),
        "time64": _of([0, 60, 3599], pa.time64("us")),
        "time64, nanoseconds": _of([0, 60, 3599], pa.time64("ns")),
    }
    for unit in ("s", "ms", "us", "ns"):
        found[f"timestamp[{unit}]"] = _of([0, 10**6, -1], pa.timestamp(unit))
        found[f"timestamp[{unit}, UTC]"] = _of([0, 10**6, -1], pa.timestamp(unit, "UTC"))
        found[f"timestamp[{unit}, Europe/Paris]"] = _of([0, 10**6, -1], pa.timestamp(unit, "Europe/Paris"))
        found[f"duration[{unit}]"] = _of([0, 10**6, -1], pa.duration(unit))
    return {
        **found,
        "timestamp[us, +05:30]": _of([0, 1, 2], pa.timestamp("us", "+05:30")),
        "timestamp of an unknown zone": _of([0, 1, 2], pa.timestamp("us", "Mars/Olympus")),
        "timestamp beyond year 9999": _of(far, pa.timestamp("us")),
        "timestamp beyond year 9999, UTC": _of(far, pa.timestamp("us", "UTC")),
        "month_day_nano_interval": pa.array([pa.MonthDayNano([c, 1, 1]) for c in CODES.tolist()]),
    }


def _dictionaries() -> dict[str, pa.Array]:
    texts = pa.array(["a", "b", "c"])
    return {
        "dictionary of string": _dictionary(CODES, texts),
        "dictionary, int64 indices": _dictionary(CODES, texts, pa.int64()),
        "dictionary of large_string": _dictionary(CODES, texts.cast(pa.large_string())),
        "dictionary of int64": _of([3, 5, 7]).dictionary_encode(),
        "dictionary of timestamp": _of([0, 10**6, -1], pa.timestamp("us", "Europe/Paris")).dictionary_encode(),
        "dictionary of decimal128": _of([Decimal("1.5"), Decimal("2.5"), Decimal(0)]).dictionary_encode(),
        "dictionary with a value twice": _dictionary(CODES, pa.array(["a", "a", "c"])),
        "dictionary with a null value": _dictionary(CODES, pa.array(["a", None, "c"])),
        "dictionary, negative indices": _dictionary(CODES - 2, texts),
        "dictionary, indices past its end": _dictionary(CODES + 1, texts),
    }


def _nested() -> dict[str, pa.Array]:
    lists = [[1, 2], [2, 3], [0, 0]]
    children = [pa.array(CODES), pa.array(CODES).cast(pa.string())]
    return {
        "list": _of(lists, pa.list_(pa.int32())),
        "large_list": _of(lists, pa.large_list(pa.int32())),
        "list_view": pa.array([lists[code] for code in CODES], pa.list_view(pa.int32())),
        "large_list_view": pa.array([lists[code] for code in CODES], pa.large_list_view(pa.int32())),
        "fixed_size_list": _of(lists, pa.list_(pa.int32(), 2)),
        "struct": _of([{"a": 1}, {"a": 2}, {"a": None}]),
        "map": _of([[("a", 1)], [("b", 2)], []], pa.map_(pa.string(), pa.int32())),
        "sparse_union": pa.UnionArray.from_sparse(pa.array(CODES % 2, pa.int8()), children),
        "dense_union": pa.UnionArray.from_dense(
            pa.array(0 * CODES, pa.int8()), pa.array(range(N), pa.int32()), children
        ),
        "run_end_encoded": pa.RunEndEncodedArray.from_arrays(pa.array([20, N], pa.int32()), pa.array(["a", "b"])),
        "fixed_shape_tensor": _extension(pa.fixed_shape_tensor(pa.int32(), [2]), lists),
    }


COLUMNS = {**_numbers(), **_texts(), **_times(), **_dictionaries(), **_nested()}
BUDGET = ["--lower", "9", "--upper", "9"]
ROLES = {
    "released": ["-s", "s", "-x", "c"],
    "binned": ["-s", "s", "-x", "c", "--bins", "c=-3,0.5,3,9"],
    "whole table": ["-s", "s", "-x", "c", "-x", "x", "-m", "latent-classes"],
    "sensitive": ["-s", "c", "-x", "x"],
    "kept": ["-s", "s", "-x", "x", "-k", "c"],
    "left out": ["-s", "s", "-x", "x"],
}
# Heading of a column of the table: suffix of the source, suffix of the release, role.
WAYS = {
    "released": (".parquet", ".parquet", "released"),
    "to CSV": (".parquet", ".csv", "released"),
    "in bins": (".parquet", ".parquet", "binned"),
    "in classes": (".parquet", ".parquet", "whole table"),
    "sensitive": (".parquet", ".parquet", "sensitive"),
    "kept": (".parquet", ".parquet", "kept"),
    "left out": (".parquet", ".parquet", "left out"),
    "from CSV": (".csv", ".csv", "released"),
    "left out of CSV": (".csv", ".csv", "left out"),
}
FRAMES = ("pandas", "pandas, Arrow", "polars", "pyarrow")
# Arrays that break Arrow's rules, which other libraries take as they come.
DAMAGED = ("dictionary, negative indices", "dictionary, indices past its end", "string, not UTF-8")
NONE, DONE, REFUSED = "–", "yes", "no"


class Fault(AssertionError):
    """Neither a release that verifies nor one clear line."""


def told(*argv: object) -> tuple[int, list[str]]:
    """Exit code and lines of error of a command, warnings left out."""
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        code = main([str(arg) for arg in argv])
    return code, [line for line in errors.getvalue().splitlines() if not line.startswith("sanitize: warning: ")]


def judged(code: int, lines: list[str]) -> str:
    """Whether a command did what was asked, or refused in one line."""
    if code == 0 and not lines:
        return DONE
    is_constant = code == 1 and "NOTHING TO PROTECT" in "".join(lines)
    if (
        (is_constant or code in (2, 3, 4))
        and len(lines) == 1
        and lines[0].startswith("sanitize: ")
        and len(lines[0]) < 300
    ):
        return REFUSED
    raise Fault(f"{code}: {lines}")


def written(name: str, path: Path) -> bool:
    """Whether Arrow writes a table with this column to a file."""
    table = pa.table({**OTHERS, "c": COLUMNS[name]})
    try:
        if path.suffix == ".csv":
            pa.csv.write_csv(table, path)
        else:
            pq.write_table(table, path)
    except pa.ArrowException:
        return False
    return True


def by_command(name: str, folder: Path) -> dict[str, str]:
    """What becomes of a column in every file and role, by the commands."""
    found = {}
    for way, (suffix, to, role) in WAYS.items():
        source, target = folder / f"raw{suffix}", folder / f"out{to}"
        if not source.exists() and not written(name, source):
            source.unlink(missing_ok=True)
            found[way] = NONE
            continue
        settings = [*ROLES[role], *BUDGET]
        found[way] = judged(*told("release", source, "-o", target, *settings, "--allow-useless"))
        if way in ("released", "from CSV"):
            judged(*told("init", source))
            planned = judged(*told("plan", source, *settings))
            if planned != found[way]:
                raise Fault(f"plan {planned}, release {found[way]}")
        if found[way] == DONE:
            verified = told("verify", target, "--source", source, *settings)
            if verified != (0, []):
                raise Fault(f"{way} is not verified: {verified}")
            target.unlink()
        elif target.exists():
            raise Fault(f"{way}: refused, and {target.name} is there")
    return found


def frame(name: str, kind: str) -> Any:
    """A frame with this column; None where its library does not take it from Arrow."""
    table = pa.table({**OTHERS, "c": COLUMNS[name]})
    if kind == "pyarrow":
        return table
    if name in DAMAGED:
        return None
    try:
        if kind == "polars":
            return pl.from_arrow(table)
        return table.to_pandas(types_mapper=pd.ArrowDtype if "Arrow" in kind else None)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError, pl.exceptions.PolarsError):
        return None
    except BaseException as error:  # what polars raises when it panics is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return None


def by_frame(name: str, kind: str) -> str:
    """What becomes of a column of a frame that is released, and of one that is sensitive or left alone."""
    table = frame(name, kind)
    if table is None:
        return NONE
    found = []
    for sensitive, public in (("s", "c"), ("c", "x"), ("s", "x")):
        budget = sz.LiftBudget(lower=9.0, upper=9.0)
        try:
            released = sz.frames.release(table, sz.SubsetMerging(budget, sensitive=sensitive, public=public))
        except sz.SanitizeError as error:
            if "\n" in str(error):
                raise Fault(str(error)) from None
            found.append(REFUSED)
        else:
            names = released.column_names if kind == "pyarrow" else list(released.columns)
            if names != [public] or len(released) != N:
                raise Fault(f"{kind}: {names}")
            found.append(DONE)
    if found[2] != DONE:
        raise Fault(f"{kind}: a column that is left alone stops the release")
    return found[0]


def cells(name: str, folder: Path) -> tuple[str, ...]:
    """The cells of a type in the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (*by_command(name, folder).values(), *(by_frame(name, kind) for kind in FRAMES))


def rows_of(text: str) -> dict[str, tuple[str, ...]]:
    """The table of a page: types to cells; one line may name several types."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    assert lines[0] == ["type", *WAYS, *FRAMES]
    return {name: tuple(line[1:]) for line in lines[2:] for name in line[0].split("; ")}


def print_table() -> None:
    """Print the table, types of equal cells on one line."""
    together: dict[tuple[str, ...], list[str]] = {}
    for name in COLUMNS:
        with tempfile.TemporaryDirectory() as place:
            together.setdefault(cells(name, Path(place)), []).append(name)
    print(f"| {' | '.join(['type', *WAYS, *FRAMES])} |\n|{'---|' * (1 + len(WAYS) + len(FRAMES))}")
    for outcome, names in together.items():
        print(f"| {' | '.join(['; '.join(names), *outcome])} |")


if __name__ == "__main__":
    print_table()
