"""What the pictures of a report show, as plain values: a part of the internal document.

Sensitive symbols appear by their rank and their share, never by name. Pictures are of a size to look at, so each
part shows the symbols that matter most and says how many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.lifts import lift

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sanitize._formatting import Number
    from sanitize.joint import JointDistribution

# Rows and columns of the lift map, rows of the margins.
N_SYMBOLS, N_SENSITIVE, N_MARGINS = 24, 12, 16


def lift_map(
    before: JointDistribution,
    after: JointDistribution,
    figure: Callable[[float | None], Number],
    n_symbols: int = N_SYMBOLS,
    n_sensitive: int = N_SENSITIVE,
) -> dict[str, Any]:
    """Log-lift of the riskiest symbols before and after, for the most frequent sensitive symbols.

    Rows are symbols, those with the largest |log-lift| first (the more frequent of equals); columns are sensitive
    symbols, the most frequent first.
    """
    frequent = np.argsort(-before.p_s, kind="stable")[:n_sensitive]

    def side(joint: JointDistribution) -> dict[str, Any]:
        with np.errstate(divide="ignore"):
            logs = np.log(lift(joint))
        order = np.lexsort((-joint.p_x, -np.abs(logs).max(axis=0)))[:n_symbols]
        return {
            "n_symbols": len(joint.public),
            "symbols": [joint.public.label(int(y)) for y in order],
            "shares": [figure(float(joint.p_x[y])) for y in order],
            "log_lift": [[figure(float(logs[s, y])) for s in frequent] for y in order],
        }

    return {
        "n_sensitive": len(before.p_s),
        "prior": [figure(float(before.p_s[s])) for s in frequent],
        "before": side(before),
        "after": side(after),
    }


def margins(
    before: JointDistribution, after: JointDistribution, figure: Callable[[float | None], Number]
) -> dict[str, Any]:
    """Share of the most frequent symbols before and after; None on the side where a symbol does not exist."""
    if before.public == after.public:
        sides = [np.arange(len(before.public))] * 2
        n_symbols = len(before.public)
    else:
        sides = _positions(before, after)
        n_symbols = len(sides[0])
    shares = [np.where(at < 0, 0.0, joint.p_x[at]) for joint, at in zip((before, after), sides, strict=True)]
    order = np.argsort(-np.maximum(*shares), kind="stable")[:N_MARGINS]
    return {
        "n_symbols": n_symbols,
        "rows": [
            {
                "symbol": before.public.label(int(sides[0][i]))
                if sides[0][i] >= 0
                else after.public.label(sides[1][i]),
                "before": figure(float(shares[0][i])) if sides[0][i] >= 0 else None,
                "after": figure(float(shares[1][i])) if sides[1][i] >= 0 else None,
            }
            for i in order
        ],
    }


def _positions(before: JointDistribution, after: JointDistribution) -> list[NDArray[np.intp]]:
    """Code of every symbol of either side on both sides, -1 where it does not exist; labels say which are one."""
    labels = [[joint.public.label(x) for x in range(len(joint.public))] for joint in (before, after)]
    known = {label: x for x, label in enumerate(labels[0])}
    if len(known) < len(labels[0]):  # labels that several symbols share say nothing
        known = {}
    found = np.array([known.get(label, -1) for label in labels[1]], dtype=np.intp)
    if len(set(labels[1])) < len(labels[1]):
        found[:] = -1
    fresh = np.flatnonzero(found < 0)
    at_after = np.full(len(labels[0]), -1, dtype=np.intp)
    at_after[found[found >= 0]] = np.flatnonzero(found >= 0)
    return [
        np.concatenate([np.arange(len(labels[0])), np.full(len(fresh), -1, dtype=np.intp)]),
        np.concatenate([at_after, fresh]),
    ]
