"""What the tests split from attack share: tables, releases and oracles."""

from __future__ import annotations

import numpy as np
import pandas as pd

import sanitize as sz
from sanitize import datasets
from sanitize.report import LeakageReport

N_X, N_S = 7, 3

JOINT = datasets.make_joint(n_x=N_X, n_s=N_S, random_state=5)


def keep_or_draw(n: int, keep: float) -> sz.Channel:
    return sz.Channel.from_matrix(keep * np.eye(n) + (1 - keep) / n)


def table(seed: int, n: int = 2000) -> pd.DataFrame:
    return datasets.make_table(JOINT, n, random_state=seed)


def report_of(df: pd.DataFrame, channel: sz.Channel) -> LeakageReport:
    joint = sz.JointDistribution.from_frame(df, "s", "x")
    assert len(joint.public) == channel.n_inputs
    return LeakageReport.measure(joint, channel.renamed(inputs=joint.public, outputs=joint.public))
