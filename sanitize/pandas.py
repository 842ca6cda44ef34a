"""Methods ``df.sanitize`` of pandas frames, which exist once ``sanitize.pandas`` is imported.

Examples
--------
>>> import sanitize as sz
>>> import sanitize.pandas
>>> df = sz.datasets.load_titanic()
>>> released = df.sanitize.watchdog(sz.LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"])
>>> released.sanitize.report.ok
True
"""

from __future__ import annotations

import pandas as pd

from sanitize.frames import FrameMethods

__all__: list[str] = []

pd.api.extensions.register_dataframe_accessor("sanitize")(FrameMethods)
