"""Distances of a class's sensitive values from those of the whole table: t, delta and beta."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from sanitize._util.checks import check_choice
from sanitize.core.lifts import lift
from sanitize.theory.anonymity._classes import Columns, Others, class_counts

Distance = Literal["auto", "equal", "ordered"]


def t_closeness(
    table: Any,
    quasi_identifiers: Columns = None,
    sensitive: Columns = None,
    *,
    distance: Distance = "auto",
    others: Others = "unknown",
) -> float:
    """Largest earth mover's distance of a class's sensitive values from those of the table [LLV].

    Parameters
    ----------
    table : DataFrame, pyarrow Table, array or ContingencyTable
    quasi_identifiers, sensitive : str or list of str
        Optional for a ContingencyTable; by default all its public and sensitive columns.
    distance : {"auto", "equal", "ordered"}
        ``equal``: any two values are 1 apart, which gives the total variation. ``ordered``: the i-th and j-th of
        m values in ascending order are |i - j| / (m - 1) apart. ``auto``: ordered for numeric columns without
        missing values, which have no place in an order; the equal distance is never smaller.
    others : {"unknown", "known"}
        ``known`` if a reader may know the other sensitive columns of a row, which then join the quasi-identifiers.

    Returns
    -------
    float
        Value between 0 and 1 for the worst sensitive column; a table is t-close for this t and every larger one.

    Notes
    -----
    pyCANON [SL] agrees: its distance for numbers is the ordered one, of ranks and not of the numbers themselves.
    It divides by zero for a numeric column with a single value, for which t is 0.

    Examples
    --------
    >>> import sanitize as sz
    >>> round(sz.theory.anonymity.t_closeness(sz.datasets.load_titanic(), ["class", "sex"], "survived"), 4)
    0.6494
    """
    check_choice("distance", distance, "auto", "equal", "ordered")
    distances = []
    for column in class_counts(table, quasi_identifiers, sensitive, others):
        difference = column.shares - (column.counts.sum(axis=1) / column.counts.sum())[:, None]
        if distance == "equal" or (distance == "auto" and not column.numeric):
            distances.append(float(np.abs(difference).sum(axis=0).max() / 2))
            continue
        steps = len(difference) - 1
        distances.append(float(np.abs(np.cumsum(difference, axis=0)).sum(axis=0).max() / steps) if steps else 0.0)
    return max(distances)


def delta_disclosure(
    table: Any,
    quasi_identifiers: Columns = None,
    sensitive: Columns = None,
    *,
    absent: Literal["infinite", "ignore"] = "infinite",
    others: Others = "unknown",
) -> float:
    """Largest |log(share of a value in a class / share in the table)|, in nats: the largest |log-lift| [BS].

    Parameters
    ----------
    table : DataFrame, pyarrow Table, array or ContingencyTable
    quasi_identifiers, sensitive : str or list of str
        Optional for a ContingencyTable; by default all its public and sensitive columns.
    absent : {"infinite", "ignore"}
        A class without some value rules it out, and by definition delta is then infinite. ``ignore`` leaves such values
        out, as pyCANON [SL] does, which understates what a class reveals.
    others : {"unknown", "known"}
        ``known`` if a reader may know the other sensitive columns of a row, which then join the quasi-identifiers.

    Returns
    -------
    float
        Value for the worst sensitive column; a table has delta-disclosure privacy for every larger delta.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> joint = sz.JointDistribution.from_frame(df, "survived", ["class", "sex"])
    >>> delta = sz.theory.anonymity.delta_disclosure(df, ["class", "sex"], "survived")
    >>> round(delta, 4), round(float(abs(sz.log_lift(joint)).max()), 4)
    (3.2003, 3.2003)
    """
    check_choice("absent", absent, "infinite", "ignore")
    largest = 0.0
    for column in class_counts(table, quasi_identifiers, sensitive, others):
        lifts = lift(column.distribution)
        if absent == "ignore":
            lifts = lifts[lifts > 0]
        largest = max(largest, math.inf if (lifts == 0).any() else float(np.abs(np.log(lifts)).max()))
    return largest


def beta_likeness(
    table: Any, quasi_identifiers: Columns = None, sensitive: Columns = None, *, others: Others = "unknown"
) -> float:
    """Largest relative gain (q - p) / p of a value's share in a class over its share in the table: max-lift - 1 [CK].

    Parameters
    ----------
    table : DataFrame, pyarrow Table, array or ContingencyTable
    quasi_identifiers, sensitive : str or list of str
        Optional for a ContingencyTable; by default all its public and sensitive columns.
    others : {"unknown", "known"}
        ``known`` if a reader may know the other sensitive columns of a row, which then join the quasi-identifiers.

    Returns
    -------
    float
        Value for the worst sensitive column; a table has basic beta-likeness for this beta and every larger one.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> joint = sz.JointDistribution.from_frame(df, "survived", ["class", "sex"])
    >>> beta = sz.theory.anonymity.beta_likeness(df, ["class", "sex"], "survived")
    >>> round(beta, 4), round(float(sz.max_lift(joint).max()) - 1, 4)
    (2.0102, 2.0102)
    """
    columns = class_counts(table, quasi_identifiers, sensitive, others)
    return max(float(lift(column.distribution).max()) - 1 for column in columns)


def enhanced_beta_likeness(
    table: Any, quasi_identifiers: Columns = None, sensitive: Columns = None, *, others: Others = "unknown"
) -> float:
    """Smallest beta for which every relative gain (q - p) / p is at most min(beta, -log p) [CK].

    Parameters
    ----------
    table : DataFrame, pyarrow Table, array or ContingencyTable
    quasi_identifiers, sensitive : str or list of str
        Optional for a ContingencyTable; by default all its public and sensitive columns.
    others : {"unknown", "known"}
        ``known`` if a reader may know the other sensitive columns of a row, which then join the quasi-identifiers.

    Returns
    -------
    float
        `beta_likeness`, or infinity if a value gains more than its own -log p, which no beta allows.

    Notes
    -----
    pyCANON [SL] returns min(beta, -log of the smallest share), which sets the gain of one value against the limit
    of another and calls every table enhanced beta-like for some finite beta.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> sz.theory.anonymity.enhanced_beta_likeness(df, ["class", "sex"], "survived")
    inf
    >>> round(sz.theory.anonymity.enhanced_beta_likeness(df, "age", "survived"), 4)
    0.6188
    """
    worst = 0.0
    for column in class_counts(table, quasi_identifiers, sensitive, others):
        distribution = column.distribution
        gains = lift(distribution).max(axis=1) - 1
        # A value with share 1 cannot gain; rounding must not turn this into a breach.
        limit = -np.log(distribution.p_s) * (1 + 1e-12) + 1e-12
        worst = max(worst, math.inf if (gains > limit).any() else float(gains.max()))
    return worst
