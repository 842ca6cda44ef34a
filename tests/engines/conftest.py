"""Fixtures that the tests of Dask share."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def client():
    """Two worker processes that come back when they are killed."""
    import dask
    import distributed

    with (
        dask.config.set({"distributed.worker.daemon": False}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.WARNING
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "raw.parquet"
    rng = np.random.default_rng(0)
    n = 500
    income = rng.choice(["high", "low"], n)
    education = np.where(rng.random(n) < 0.4, income, rng.choice(["a", "b", "c"], n))
    frame = pd.DataFrame({"income": income, "education": education, "occupation": "x", "age": rng.integers(18, 90, n)})
    frame.to_parquet(path, row_group_size=60)
    return path
