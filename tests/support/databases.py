"""Three databases with a table each, for tests and for `benchmarks/sql.py`; PostgreSQL in a cluster of its own."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from sanitize.engines.sql import Database

_TYPES = {"i": "BIGINT", "f": "DOUBLE PRECISION", "b": "BOOLEAN"}


def programs() -> Path | None:
    """Folder of PostgreSQL's programs, as Debian's package or any other puts them."""
    named = shutil.which("initdb")
    found = [Path(named).parent] if named else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(found) if (folder / "initdb").exists()), None)


def absent() -> str | None:
    """Why there is no PostgreSQL here."""
    try:
        import psycopg  # noqa: F401
    except ModuleNotFoundError:
        return "psycopg is not installed"
    return None if programs() else "there is no PostgreSQL: apt-get install postgresql"


@contextmanager
def postgres():
    """Connection to a cluster that lives as long: on a socket in a folder, and never as root, which it refuses."""
    import psycopg

    user = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # the path of a socket is short
    if user:
        shutil.chown(folder, **user)

    def run(program: str, *arguments: str) -> None:
        command = [str(programs() / program), "-D", str(folder / "data"), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **user)

    try:
        run("initdb", "-A", "trust", "-U", "test", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        settings = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_parallel_workers_per_gather=1"
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", settings, "start")
        try:
            with psycopg.connect(host=str(folder), user="test", dbname="postgres", autocommit=True) as connection:
                yield connection
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@contextmanager
def loaded(dialect: str, df: pd.DataFrame, table: str, connection=None):
    """A function that runs a statement on a table of these rows; one of PostgreSQL uses a connection that is there."""
    quoted = '"' + table.replace('"', '""') + '"'
    if dialect == "duckdb":
        with duckdb.connect() as own:
            own.register("_df", df)
            own.execute(f"CREATE TABLE {quoted} AS SELECT * FROM _df")
            yield lambda statement, *values: own.execute(statement, list(values)).fetchall()
    elif dialect == "sqlite":
        with closing(sqlite3.connect(":memory:")) as own:
            df.to_sql(table, own, index=False)
            Database.register(own)
            yield lambda statement, *values: own.execute(statement, values).fetchall()
    else:
        import psycopg

        columns = ", ".join(f'"{name}" {_TYPES.get(df[name].dtype.kind, "TEXT")}' for name in df.columns)
        with psycopg.RawCursor(connection) as cursor:
            cursor.execute(f"CREATE TEMPORARY TABLE {quoted} ({columns})")
            with cursor.copy(f"COPY {quoted} FROM STDIN") as copy:
                for row in _rows(df):
                    copy.write_row(row)

            def run(statement: str, *values: object) -> list[tuple[object, ...]] | None:
                cursor.execute(statement, values)
                return cursor.fetchall() if cursor.description else None

            try:
                yield run
            finally:
                cursor.execute(f"DROP TABLE {quoted}")


def plain(rows) -> list[tuple[object, ...]]:
    """Rows as tuples in which NaN is None: SQLite has no NaN, and pandas no None among numbers."""
    listed = rows.itertuples(index=False, name=None) if isinstance(rows, pd.DataFrame) else rows
    return [tuple(None if value != value else value for value in row) for row in listed]


def _rows(df: pd.DataFrame):
    """Rows with None for what is missing, but NaN of numbers as it is."""
    columns = [df[name].astype(object) for name in df.columns]
    clean = [c if df[c.name].dtype.kind == "f" else c.where(c.notna(), None) for c in columns]
    return zip(*(column.tolist() for column in clean), strict=True)


def people(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """A table of text, booleans, whole numbers and doubles on and beside the edges of bins, some missing."""
    edges = np.array([18.0, 30.0, 45.5, 65.1, 90.0])
    near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), [-np.inf, np.inf, -0.0]])
    ill = rng.integers(0, 2, n)
    df = pd.DataFrame(
        {
            "id": rng.permutation(10 * n)[:n] - 5 * n,
            "ill": np.where(ill, "yes", "no"),
            "town ; --": rng.choice(["O'Hara", 'a"b\\', "Łódź", "$1 ? :key %s", ""], n),
            "children": rng.integers(0, 4, n) * (1 + ill),
            "age": rng.choice(near, n),
            "score": rng.choice([0.1, 0.25, -3.0, 1e-7], n),
            "owner": rng.random(n) < 0.3 + 0.4 * ill,
        }
    )
    df.loc[rng.random(n) < 0.1, "town ; --"] = None
    df.loc[rng.random(n) < 0.1, ["age", "score"]] = np.nan
    return df
