"""Measures of the number of rows and of the sensitive values in each class: k-anonymity, alpha and l-diversity."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from sanitize._util.checks import whole_number
from sanitize.theory.anonymity._classes import Columns, Others, class_counts, class_sizes


class AlphaK(NamedTuple):
    """Largest share of a sensitive value in a class, and the size of the smallest class."""

    alpha: float
    k: int


def k_anonymity(table: Any, quasi_identifiers: Columns = None) -> int:
    """Number of rows in the smallest class of equal quasi-identifiers [SWE].

    Parameters
    ----------
    table : DataFrame, pyarrow Table, array or ContingencyTable
    quasi_identifiers : str or list of str
        Optional for a ContingencyTable; by default all its public columns.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> [sz.theory.anonymity.k_anonymity(df, known) for known in (["class", "sex"], ["class", "sex", "age"])]
    [23, 1]
    """
    return int(class_sizes(table, quasi_identifiers).min())


def alpha_k_anonymity(
    table: Any, quasi_identifiers: Columns = None, sensitive: Columns = None, *, others: Others = "unknown"
) -> AlphaK:
    """Largest share of a sensitive value in any class, with the k of k-anonymity [WLFW].

    Parameters
    ----------
    table : DataFrame, pyarrow Table, array or ContingencyTable
    quasi_identifiers, sensitive : str or list of str
        Optional for a ContingencyTable; by default all its public and sensitive columns.
    others : {"unknown", "known"}
        ``known`` if a reader may know the other sensitive columns of a row, which then join the quasi-identifiers.

    Returns
    -------
    AlphaK
        Value for the worst sensitive column.

    Examples
    --------
    >>> import sanitize as sz
    >>> alpha, k = sz.theory.anonymity.alpha_k_anonymity(sz.datasets.load_titanic(), ["class", "sex"], "survived")
    >>> round(alpha, 4), k
    (0.9724, 23)
    """
    columns = class_counts(table, quasi_identifiers, sensitive, others)
    return AlphaK(max(float(column.shares.max()) for column in columns), k_anonymity(table, quasi_identifiers))


def l_diversity(
    table: Any, quasi_identifiers: Columns = None, sensitive: Columns = None, *, others: Others = "unknown"
) -> int:
    """Least number of distinct sensitive values in any class (distinct l-diversity) [MGKV].

    Parameters
    ----------
    table : DataFrame, pyarrow Table, array or ContingencyTable
    quasi_identifiers, sensitive : str or list of str
        Optional for a ContingencyTable; by default all its public and sensitive columns.
    others : {"unknown", "known"}
        ``known`` if a reader may know the other sensitive columns of a row, which then join the quasi-identifiers.

    Returns
    -------
    int
        Value for the worst sensitive column.

    Examples
    --------
    >>> import sanitize as sz
    >>> sz.theory.anonymity.l_diversity(sz.datasets.load_titanic(), ["class", "sex", "age"], "survived")
    1
    """
    columns = class_counts(table, quasi_identifiers, sensitive, others)
    return min(int((column.counts > 0).sum(axis=0).min()) for column in columns)


def entropy_l_diversity(
    table: Any, quasi_identifiers: Columns = None, sensitive: Columns = None, *, others: Others = "unknown"
) -> float:
    """Exponential of the smallest entropy of a class's sensitive values: an effective number of values [MGKV].

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
        Value for the worst sensitive column; a table is entropy l-diverse for every l up to this value.

    Notes
    -----
    pyCANON [SL] returns the integer part, computed in floating point, which is one too small for some tables, for
    example 1 if every class contains two values equally often.

    Examples
    --------
    >>> import sanitize as sz
    >>> round(sz.theory.anonymity.entropy_l_diversity(sz.datasets.load_titanic(), ["class", "sex"], "survived"), 4)
    1.1346
    """
    columns = class_counts(table, quasi_identifiers, sensitive, others)
    return min(float(np.exp(entr(column.shares).sum(axis=0).min())) for column in columns)


def recursive_l_diversity(
    table: Any,
    quasi_identifiers: Columns = None,
    sensitive: Columns = None,
    *,
    l: int | None = None,  # noqa: E741 - the letter of the definition
    others: Others = "unknown",
) -> float:
    """Largest ratio r_1 / (r_l + ... + r_m) of any class, r_1 >= ... >= r_m being the counts of its values [MGKV].

    Parameters
    ----------
    table : DataFrame, pyarrow Table, array or ContingencyTable
    quasi_identifiers, sensitive : str or list of str
        Optional for a ContingencyTable; by default all its public and sensitive columns.
    l : int, optional
        Number of values, at least 1; by default the table's own `l_diversity`.
    others : {"unknown", "known"}
        ``known`` if a reader may know the other sensitive columns of a row, which then join the quasi-identifiers.

    Returns
    -------
    float
        Value for the worst sensitive column; a table is recursively (c, l)-diverse for every larger c. It is infinite
        if a class has fewer than l values.

    Notes
    -----
    pyCANON [SL] sorts the counts in the other order: it compares the rarest value with the most frequent ones and
    returns floor(r_m / (r_1 + ... + r_(m-l+1)) + 1), which is 1 or 2 for every table.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> round(sz.theory.anonymity.recursive_l_diversity(df, ["class", "sex"], "survived", l=2), 4)
    35.25
    """
    columns = class_counts(table, quasi_identifiers, sensitive, others)
    if l is None:
        l = min(int((column.counts > 0).sum(axis=0).min()) for column in columns)  # noqa: E741
    l = whole_number("l", l, 1)  # noqa: E741
    worst = 0.0
    for column in columns:
        falling = -np.sort(-column.counts, axis=0)
        remaining = falling[l - 1 :].sum(axis=0)
        worst = max(worst, float((falling[0] / remaining).max()) if len(falling) >= l and remaining.all() else math.inf)
    return worst
