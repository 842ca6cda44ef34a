"""Methods ``df.sanitize`` of polars frames, which exist once ``sanitize.polars`` is imported.

Examples
--------
>>> import polars as pl
>>> import sanitize as sz
>>> import sanitize.polars
>>> df = pl.from_pandas(sz.datasets.load_titanic())
>>> released = df.sanitize.watchdog(sz.LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"])
>>> sz.last_report(released).ok
True
"""

from __future__ import annotations

import polars as pl

from sanitize.frames import FrameMethods

__all__: list[str] = []

pl.api.register_dataframe_namespace("sanitize")(FrameMethods)
