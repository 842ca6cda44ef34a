"""What the pictures of a report show, as plain values: a part of the internal document.

Sensitive symbols appear by their rank and their share, never by name. Pictures are of a size to look at, so each
part shows the symbols that matter most and says how many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.lift import lift

if TYPE_CHECKING:
    from collections.abc import Callable

    from sanitize._render.document import Number
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
    shares: dict[str, list[float | None]] = {}
    for position, joint in enumerate((before, after)):
        labels = [joint.public.label(x) for x in range(len(joint.public))]
        names = labels if len(set(labels)) == len(labels) else [f"{name} (#{x})" for x, name in enumerate(labels)]
        for name, share in zip(names, joint.p_x, strict=True):
            shares.setdefault(name, [None, None])[position] = float(share)
    rows = sorted(shares.items(), key=lambda row: -max(share or 0.0 for share in row[1]))[:N_MARGINS]
    return {
        "n_symbols": len(shares),
        "rows": [{"symbol": name, "before": figure(b), "after": figure(a)} for name, (b, a) in rows],
    }
