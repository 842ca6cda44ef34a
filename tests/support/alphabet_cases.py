"""What the tests split from alphabet share: tables, releases and oracles."""

from __future__ import annotations

import datetime as dt

DAY, NOON = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
