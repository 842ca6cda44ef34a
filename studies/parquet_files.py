"""Every Parquet file of a folder, read as pyarrow reads it, or refused in one line; each in a process of its own.

    python studies/parquet_files.py FOLDER

Made for the files of apache/parquet-testing. Prints a line for each file: how many of its columns have the same values
as in pyarrow, and with which sentence others are refused. It fails where a value differs, an error is not one line,
pyarrow reads what is called damaged, or the process ends.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sanitize.errors import SanitizeError
from sanitize.tables.files.parquet import ParquetSource

SECONDS, COLUMNS = 120, 200  # of one file
SUFFIXES = (".parquet", ".encrypted")


def values_of(chunks: list[pa.Array]) -> list[str]:
    """Values as texts, so that NaN equals itself; bytes of texts that are not UTF-8."""
    try:
        return [repr(value) for chunk in chunks for value in chunk.to_pylist()]
    except UnicodeDecodeError:
        return [repr(value) for chunk in chunks for value in chunk.cast(pa.string()).cast(pa.binary()).to_pylist()]


def by_pyarrow(file: Path, name: str) -> list[str] | None:
    """Values of a column as pyarrow reads them, each page checked; None where it does not."""
    try:
        return values_of(pq.ParquetFile(file, page_checksum_verification=True).read([name])[name].chunks)
    except (pa.ArrowException, OSError, ValueError, KeyError, NotImplementedError):
        return None


def outcome(file: Path, source: ParquetSource, name: str) -> str:
    """What becomes of one column."""
    try:
        source.check([name])
        mine = values_of([batch[name] for batch in source.batches(file, [name])])
    except SanitizeError as error:
        if "\n" in str(error):
            return f"FAULT: {error!r}"
        is_damaged = "damaged" in str(error) and by_pyarrow(file, name) is not None
        return f"FAULT, pyarrow reads it: {error}" if is_damaged else str(error).replace(repr(name), "...")
    return "same" if mine == by_pyarrow(file, name) else "FAULT: other values than pyarrow's"


def read(file: Path, sender: Any) -> None:
    """Send what becomes of each column of a file, or of the file."""
    try:
        source = ParquetSource.open(file)
        found = Counter(outcome(file, source, name) for name in source.schema.names[:COLUMNS])
    except SanitizeError as error:
        found = Counter([str(error) if "\n" not in str(error) else f"FAULT: {error!r}"])
    except Exception as error:
        found = Counter([f"FAULT: {error!r}"])
    sender.send(found)


def main(folder: Path) -> int:
    """Print the outcomes of all files."""
    context, n_faults = multiprocessing.get_context("fork"), 0
    files = sorted(file for file in folder.rglob("*") if file.suffix in SUFFIXES)
    for file in files:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=read, args=(file, sender))
        child.start()
        sender.close()
        try:
            found = receiver.recv() if receiver.poll(SECONDS) else Counter(["FAULT: takes too long"])
        except EOFError:
            found = Counter(["FAULT: the process ended"])
        child.kill()
        child.join()
        n_faults += any(said.startswith("FAULT") for said in found)
        print(
            file.relative_to(folder), "; ".join(f"{n} x {said}" for said, n in found.items()) or "no columns", sep=": "
        )
    print(f"{len(files)} files, {n_faults} with a fault")
    return n_faults > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    sys.exit(main(parser.parse_args().folder))
