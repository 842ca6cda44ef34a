"""Releases inside a database: SQL statements that count for a fit and that draw every row.

The random word of a row is the first 62 bits of SHA-256(key | '|' | id): the first 60 bits are compared with a
threshold, and the last two decide ties. So rows are drawn exactly from the measured distribution, in the same integers
over 2**62, without rounding. Further stages of a channel use the other quarters of the hash, and rows are sorted by
another hash, SHA-256(key | 'order|' | id). The key is hexadecimal with a fixed length, so the two hashes never have the
same input. `release` draws the same rows in Python.

Examples
--------
>>> import secrets
>>> import sanitize as sz
>>> from sanitize.engines.sql import Database, release
>>> df = sz.datasets.load_titanic().reset_index(names="id")
>>> sanitizer = sz.SubsetMerging(sz.LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"]).fit(df)
>>> key = secrets.token_bytes(32)
>>> statement = Database("duckdb", "passengers", row_id="id").release(sanitizer)
>>> import duckdb
>>> with duckdb.connect() as connection:
...     relation = connection.register("passengers", df)
...     rows = connection.execute(statement, [key.hex()]).fetchall()
>>> rows == list(release(df, sanitizer, key=key, row_id="id").itertuples(index=False, name=None))
True
"""

from __future__ import annotations

from sanitize.engines.sql._database import Database, release

__all__ = ["Database", "release"]
