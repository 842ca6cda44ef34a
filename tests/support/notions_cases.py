"""What the tests split from notions share: tables, releases and oracles."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from hypothesis import strategies as st

SLACK = 1e-12  # rounding allowed to a theorem

INF = math.inf

FLIP = np.array([[0.75, 0.25], [0.25, 0.75]])

WEIGHTS = st.one_of(st.just(0), st.integers(1, 4), st.integers(1, 10**6), st.floats(1e-12, 1))


@st.composite
def kernels(draw, n_x=None, max_y=5, positive=False):
    n_x = draw(st.integers(1, 4)) if n_x is None else n_x
    n_y = draw(st.integers(1, max_y))
    cells = np.array(draw(st.lists(WEIGHTS, min_size=n_x * n_y, max_size=n_x * n_y)), float).reshape(n_x, n_y)
    cells[np.arange(n_x), draw(st.lists(st.integers(0, n_y - 1), min_size=n_x, max_size=n_x))] += 1
    cells += float(positive)
    return cells / cells.sum(axis=1, keepdims=True)


@st.composite
def databases(draw, positive=False):
    """Letters of each record, and a channel from such databases."""
    sizes = draw(st.sampled_from([(2,), (4,), (2, 2), (3, 2), (2, 2, 2), (1, 3), (2, 1, 2)]))
    return sizes, draw(kernels(n_x=math.prod(sizes), positive=positive))


def rows_of(matrix):
    """The rows a kernel normalises to, as fractions."""
    return [[Fraction(float(v)) for v in row] for row in matrix / matrix.sum(axis=1, keepdims=True)]


def ordered_pairs(n, neighbours=None):
    pairs = list(combinations(range(n), 2)) if neighbours is None else [tuple(pair) for pair in neighbours]
    return [*pairs, *((b, a) for a, b in pairs)]


def hamming_pairs(sizes):
    letters = list(product(*(range(size) for size in sizes)))
    return [
        (a, b)
        for a, b in combinations(range(len(letters)), 2)
        if sum(u != v for u, v in zip(letters[a], letters[b], strict=True)) == 1
    ]


def log(value):
    with localcontext() as context:
        context.prec = 60
        return (Decimal(value.numerator) / Decimal(value.denominator)).ln() if value else Decimal("-Infinity")


def log_ratio(p, q):
    """Log p/q in fractions; None for 0/0."""
    if p == 0 and q == 0:
        return None
    if q == 0:
        return INF
    return -INF if p == 0 else float(log(p / q))


def events(n_y):
    return [event for k in range(n_y + 1) for event in combinations(range(n_y), k)]


def delta_exact(p, q, epsilon):
    """Largest P(A) - e^ε Q(A), by trying every event."""
    with localcontext() as context:
        context.prec = 60
        factor = Fraction(Decimal(epsilon).exp())
    return float(max(sum(p[y] for y in a) - factor * sum(q[y] for y in a) for a in events(len(p))))
