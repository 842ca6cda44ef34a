"""Hypothesis strategies for distributions, channels and budgets; general inputs, zeros included."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from sanitize.core.budgets import AlphaLiftBudget, Chi2LiftBudget, L1LiftBudget, LDPBudget, LiftBudget
from sanitize.core.channel import Channel
from sanitize.core.joint import JointDistribution

ORDERS = (1.0, 1 + 1e-9, 1.5, 2.0, 100.0, np.inf)


def _cells(n: int):
    """Weights of n cells: many zeros and ties, small integers, and a wide range of magnitudes; drawn at once."""
    return st.binary(min_size=n, max_size=n).map(_weights)


def _weights(data: bytes):
    place, kind = np.divmod(np.frombuffer(data, np.uint8).astype(int), 4)
    return np.choose(kind, [0.0, 1.0 + place % 4, 1.0 + 16 * place, 10 ** (-6 * place / 64)])


@st.composite
def matrices(draw, max_s: int = 5, max_x: int = 8, min_s: int = 1, min_x: int = 1):
    """Joint distributions as matrices: zero cells allowed, margins positive."""
    n_s, n_x = draw(st.integers(min_s, max_s)), draw(st.integers(min_x, max_x))
    cells = draw(_cells(n_s * n_x)).reshape(n_s, n_x)
    for s in range(n_s):
        if not cells[s].any():
            cells[s, draw(st.integers(0, n_x - 1))] = 1
    for x in range(n_x):
        if not cells[:, x].any():
            cells[draw(st.integers(0, n_s - 1)), x] = 1
    return cells / cells.sum()


@st.composite
def frames(draw, max_rows: int = 40):
    """Tables with two sensitive and two public columns of mixed kinds, missing values included."""
    n = draw(st.integers(1, max_rows))
    columns = {
        "illness": ["flu", "none", None],
        "rich": [False, True],
        "town": ["A", "B", "C", None],
        "age": [20.0, 35.0, -0.0, 0.0, float("nan")],
    }
    drawn = np.frombuffer(draw(st.binary(min_size=4 * n, max_size=4 * n)), np.uint8).reshape(4, n).tolist()
    cells = {
        name: [values[byte % len(values)] for byte in of]
        for (name, values), of in zip(columns.items(), drawn, strict=True)
    }
    return pd.DataFrame({name: pd.Series(column) for name, column in cells.items()})


def _from_frame(frame: pd.DataFrame) -> JointDistribution:
    return JointDistribution.from_frame(frame, sensitive=["illness", "rich"], public=["town", "age"])


def joints(**sizes: int):
    """Distributions of (S, X): from matrices, and every fourth counted from a table with two sensitive columns."""
    of_matrix = matrices(**sizes).map(JointDistribution.from_matrix)
    return st.one_of(of_matrix, of_matrix, of_matrix, frames().map(_from_frame))


@st.composite
def stages(draw, n_inputs: int, max_outputs: int = 6):
    """One row-stochastic matrix: sparse, or deterministic."""
    n_outputs = draw(st.integers(1, max_outputs))
    if draw(st.booleans()):
        return np.eye(n_outputs)[draw(st.lists(st.integers(0, n_outputs - 1), min_size=n_inputs, max_size=n_inputs))]
    rows = draw(_cells(n_inputs * n_outputs)).reshape(n_inputs, n_outputs)
    for row in rows:
        if not row.any():
            row[draw(st.integers(0, n_outputs - 1))] = 1
    return rows / rows.sum(axis=1, keepdims=True)


@st.composite
def chains(draw, n_inputs: int):
    """The matrices of a chain of one to three stages."""
    matrices_, n = [], n_inputs
    for _ in range(draw(st.integers(1, 3))):
        matrices_.append(draw(stages(n)))
        n = matrices_[-1].shape[1]
    return matrices_


def channel_of(matrices_) -> Channel:
    """The channel of a chain of matrices."""
    channel = Channel.from_matrix(matrices_[0])
    for matrix in matrices_[1:]:
        channel = channel.then(Channel.from_matrix(matrix))
    return channel


def channels(n_inputs: int):
    return chains(n_inputs).map(channel_of)


@st.composite
def joints_and_channels(draw, **sizes: int):
    joint = draw(joints(**sizes))
    return joint, draw(channels(len(joint.public)))


_NATS = st.one_of(st.just(0.0), st.sampled_from([0.1, 0.5, 1.0, 2.0]), st.floats(0.0, 5.0), st.just(np.inf))
KINDS = {
    "lift": LiftBudget,
    "ldp": LDPBudget,
    "l1": L1LiftBudget,
    "chi2": Chi2LiftBudget,
    "alpha": AlphaLiftBudget,
}


@st.composite
def budgets(draw, kinds=tuple(KINDS), nats=_NATS):
    """A budget, with its kind and bounds for the oracles: ``(budget, kind, bounds)``."""
    kind = draw(st.sampled_from(kinds))
    bounds = {"eps": draw(nats)} if kind == "ldp" else {"lower": draw(nats), "upper": draw(nats)}
    if draw(st.booleans()):
        bounds[draw(st.sampled_from(sorted(bounds)))] = np.inf  # one side alone, or none
    if kind == "alpha":
        bounds["alpha"] = draw(st.sampled_from([1.5, 2.0, 3.0, 10.0, np.inf]))
    return KINDS[kind](**bounds), kind, bounds
