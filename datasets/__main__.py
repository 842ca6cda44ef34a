"""Command ``python -m sanitize.datasets NAME FILE``, which writes a bundled table as Parquet or CSV."""

from __future__ import annotations

import argparse
from pathlib import Path

from sanitize import datasets

# Tables by their names, which need no second list.
_LOADERS = {name.removeprefix("load_"): name for name in dir(datasets) if name.startswith("load_")}


def main() -> None:
    """Write the requested table to a file: CSV if its name ends in .csv, else Parquet."""
    parser = argparse.ArgumentParser(prog="python -m sanitize.datasets", description="Write a bundled table.")
    parser.add_argument("name", choices=sorted(_LOADERS), help="table to write")
    parser.add_argument("file", type=Path, help="file to write: CSV if it ends in .csv, else Parquet")
    arguments = parser.parse_args()
    table = getattr(datasets, _LOADERS[arguments.name])()
    write = table.to_csv if arguments.file.suffix.lower() == ".csv" else table.to_parquet
    write(arguments.file, index=False)
    print(f"{arguments.file}: {len(table)} rows, columns {', '.join(table.columns)}")


if __name__ == "__main__":
    main()
