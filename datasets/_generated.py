"""Random joint laws and tables drawn from a known law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.errors import InvalidParameter
from sanitize.joint import JointDistribution

if TYPE_CHECKING:
    import pandas as pd


def _at_least(name: str, number: int, smallest: int) -> None:
    if number < smallest:
        raise InvalidParameter(f"{name} must be at least {smallest}, got {number}")


def make_joint(
    n_x: int = 17, n_s: int = 5, *, random_state: int | np.random.Generator | None = None
) -> JointDistribution:
    """Random joint law: independent entries, uniform on [0, 1], divided by their sum.

    The generator of the lift papers. With 17 public and 5 sensitive symbols its largest log-lift lies between
    about 0.02 and 1.64 nats and its smallest between about -12 and -0.06.

    Parameters
    ----------
    n_x : int, default 17
        Number of public symbols.
    n_s : int, default 5
        Number of sensitive symbols.
    random_state : int, numpy.random.Generator or None, default None
        Seed or generator; `None` takes fresh entropy from the operating system.

    Returns
    -------
    JointDistribution
        Its `pmf` has the shape (n_s, n_x).

    Raises
    ------
    InvalidParameter
        If a number of symbols is below 1.

    References
    ----------
    M. A. Zarrabian, N. Ding, P. Sadeghi (2023), "On the Lift, Related Privacy Measures, and Applications to
    Privacy-Utility Trade-Offs", Entropy 25(4), 679.

    Examples
    --------
    >>> from sanitize.datasets import make_joint
    >>> make_joint(n_x=3, n_s=2, random_state=0).pmf.shape
    (2, 3)
    """
    _at_least("n_x", n_x, 1)
    _at_least("n_s", n_s, 1)
    weights = np.random.default_rng(random_state).random((n_s, n_x))
    return JointDistribution.from_matrix(weights / weights.sum())


def make_table(
    joint: JointDistribution, n_records: int, *, random_state: int | np.random.Generator | None = None
) -> pd.DataFrame:
    """Rows drawn independently from a known joint law, as integer codes.

    Parameters
    ----------
    joint : JointDistribution
        The law of one row.
    n_records : int
        Number of rows.
    random_state : int, numpy.random.Generator or None, default None
        Seed or generator; `None` takes fresh entropy from the operating system.

    Returns
    -------
    pandas.DataFrame
        `n_records` rows; the columns `s` and `x` index the rows and columns of `joint.pmf`. Usual choice: `s` is
        sensitive, `x` is public.

    Raises
    ------
    InvalidParameter
        If `n_records` is negative.

    Examples
    --------
    >>> from sanitize.datasets import make_joint, make_table
    >>> table = make_table(make_joint(random_state=0), 1000, random_state=1)
    >>> table.shape, list(table.columns)
    ((1000, 2), ['s', 'x'])
    """
    import pandas as pd

    _at_least("n_records", n_records, 0)
    cells = np.random.default_rng(random_state).choice(joint.pmf.size, size=n_records, p=joint.pmf.ravel())
    s, x = np.unravel_index(cells, joint.pmf.shape)
    return pd.DataFrame({"s": s.astype(np.int64), "x": x.astype(np.int64)})
