"""What a channel keeps of each column, straight from the definition: a twin of the reports' figures."""

from __future__ import annotations

import numpy as np

import sanitize as sz


def kept_by_column(distributions, channel):
    """I(X_j;Y) / H(X_j) of each column, from distributions of (X_j, X) by name; 1 where a column is constant."""
    found = {}
    for name, distribution in distributions.items():
        out = channel.push(distribution)
        p, q = out.sum(axis=1), out.sum(axis=0)
        inside = out > 0
        information = (out[inside] * np.log(out[inside] / np.outer(p, q)[inside])).sum()
        entropy = sz.core.measures.entropy(p)
        found[name] = information / entropy if np.count_nonzero(p) > 1 else 1.0
    return found
