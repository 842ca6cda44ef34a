"""Whole tables beside other releases: no part of a joint release, with the way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sanitize as sz
from sanitize.errors import InvalidParameter
from sanitize.transformers import JointRelease, SubsetMerging, TreeMerging, TreeRandomResponse


@pytest.mark.parametrize("kind", [TreeMerging, TreeRandomResponse])
def test_a_whole_table_is_no_part_and_the_error_names_the_way_out(kind):
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"s": rng.integers(0, 2, 500), "a": rng.integers(0, 9, 500), "b": rng.integers(0, 3, 500)})
    parts = [("all", kind(1.0, public="a")), ("b", SubsetMerging(public="b"))]
    with pytest.raises(InvalidParameter, match=r"part 'all': Tree.* give all columns to it as public, or .*Ledger"):
        JointRelease(parts, sz.LiftBudget(lower=1.0, upper=1.0), sensitive="s").fit(df)
