"""Releases inside a database: counting for a fit, and the statement that draws every row, in SQL.

The word of a row is the first 62 bits of SHA-256(key | '|' | id): the first 60 decide, and where they tie with a
threshold the last two do. So what is drawn is the distribution that was measured, in the same integers over 2**62, and
nothing is rounded. Further stages of a channel take the further quarters of the hash, and rows are in the order of
another one, SHA-256(key | 'order|' | id). The key is hexadecimal and of a fixed length, so no id of one hash is that of
the other. Python draws the same rows by `release`.

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
