"""Linkage attack, in which an adversary with a table of named people looks for their rows in a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sanitize._util.checks import Vector
from sanitize._util.formatting import Told, percent, spell_infinities
from sanitize._util.tolerances import SAME
from sanitize.core.alphabet import Alphabet
from sanitize.core.channel import Channel
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.tables.frame import Table


@dataclass(frozen=True)
class Linkage:
    """Success of an adversary in finding people's rows in one table.

    Attributes
    ----------
    unique : float
        Share of the people for whom exactly one row of the table is possible.
    expected : float
        Mean over the people of the Bayes matcher's own estimate of her chance to name the right row, if they are in.
    observed : float or None
        Mean chance that she names the true row (she draws among equally likely rows); None if the true rows were not
        given.
    """

    unique: float
    expected: float
    observed: float | None


@dataclass(frozen=True)
class LinkAttack(Told):
    """Result of a linkage attack: re-identification in the raw table and in the release.

    Attributes
    ----------
    before, after : Linkage
        Success in the raw columns and in the release.
    chance : float
        Success of a guess at random, 1 / n_rows.
    columns : tuple of str
        Columns that she knows of her people.
    n_targets, n_unknown, n_rows : int
        Number of people she looks for, number of these whose symbols do not occur in the raw table (never found), and
        number of rows of the release.
    """

    before: Linkage
    after: Linkage
    chance: float
    columns: tuple[str, ...]
    n_targets: int
    n_unknown: int
    n_rows: int

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences that state the result and name no symbol."""
        return (
            f"An adversary who knows {', '.join(self.columns)} of some people picks the right row for "
            f"{percent(self.after.expected)} of them in the release, against {percent(self.before.expected)} in the "
            f"raw table; only one row is possible for {percent(self.after.unique)} "
            f"(raw: {percent(self.before.unique)})",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for the owner of the table."""
        values = vars(self) | {"before": vars(self.before), "after": vars(self.after)}
        return spell_infinities({"attack": "link", **values, "summary": list(self.summary)})


def link(
    original: Any,
    released: Any,
    channel: Channel,
    *,
    known: Any = None,
    on: Sequence[str] | None = None,
    positions: ArrayLike | None = None,
) -> LinkAttack:
    """Measure the chance that an adversary with a table of named people finds their rows in a release.

    She knows the channel, the frequencies of X, and the true x of her target (or some columns of x). For her, row j is
    the target's with probability proportional to P(y_j|x) / P(y_j), if the other rows are draws from P_X; she names the
    likeliest row. She does not use the order of rows; for that see `infer` with ``rows="keep"``.

    Parameters
    ----------
    original : DataFrame, pyarrow Table or array
        The raw table, for the frequencies of X.
    released : the same kind of table
        Release of the raw table.
    channel : Channel
        From the symbols of X to released symbols, for example ``sanitizer.channel_``.
    known : the same kind of table, optional
        Her table of people; by default the original table, for an adversary who knows everybody in it.
    on : list of str, optional
        Columns that she matches on; by default the columns of the channel's inputs that ``known`` has.
    positions : array-like of int, optional
        Row of ``released`` that truly belongs to each row of ``known``; gives the observed success.

    Returns
    -------
    LinkAttack

    Raises
    ------
    ColumnError
        If the tables hold symbols that the channel does not know, or there is no column to match on.

    Notes
    -----
    ``expected`` before is the mean of 1 / (size of the target's class), the prosecutor's risk of k-anonymity.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()[["class", "sex", "age"]]
    >>> response = sz.transformers.RandomizedResponse(1.0, public=["class", "sex", "age"], random_state=0).fit(df)
    >>> found = sz.auditing.attack.link(df, response.transform(df), response.channel_, positions=range(len(df)))
    >>> round(found.before.expected * len(df), 6), found.after.expected < found.before.expected
    (14.0, True)
    """
    raw, out = Table.from_native(original), Table.from_native(released)
    inputs, outputs = channel.inputs, channel.outputs
    x, y = inputs.encode(raw), outputs.encode(out)
    for codes, what in ((x, "original"), (y, "released")):
        if not len(codes):
            raise ColumnError(f"the {what} table has no rows")
        if (codes < 0).any():
            raise ColumnError(
                f"the {what} table contains symbols that the channel does not know; if columns were binned, give the "
                "table with intervals instead of numbers"
            )
    hers = raw if known is None else Table.from_native(known)
    names = tuple(on) if on is not None else tuple(name for name in inputs.columns if name in hers.names)
    if not names or not set(names) <= set(inputs.columns):
        raise ColumnError(
            "on must name input columns of the channel, and the table known must have at least one of them"
        )
    decoded = inputs.decode(np.arange(len(inputs), dtype=np.int32))
    groups = Alphabet.from_table(decoded, names)
    share = np.bincount(x, minlength=len(inputs)) / len(x)
    # An adversary who knows only some columns of x believes in P(x|g), row g of `within`.
    group_of = groups.encode(decoded)
    within = sparse.csr_array((share, (group_of, np.arange(len(inputs)))), shape=(len(groups), len(inputs)))
    mass = np.bincount(group_of, share, len(groups))
    within = sparse.csr_array(within / np.where(mass > 0, mass, 1)[:, None])
    targets = groups.encode(hers)
    targets[(targets >= 0) & (mass[targets] == 0)] = -1
    if not len(targets):
        raise ColumnError("the known table has no rows")
    true = None if positions is None else _positions(positions, len(targets), len(y))
    after = sparse.csr_array(within @ channel.sparse_matrix())
    return LinkAttack(
        before=_linkage(within, share, x, targets, None if len(x) != len(y) else true),
        after=_linkage(after, channel.push(share[None])[0], y, targets, true),
        chance=1 / len(y),
        columns=names,
        n_targets=len(targets),
        n_unknown=int((targets < 0).sum()),
        n_rows=len(y),
    )


def _linkage(
    believed: sparse.csr_array,
    p_y: Vector,
    rows: NDArray[np.int32],
    targets: NDArray[np.int32],
    true: NDArray[np.int64] | None,
) -> Linkage:
    """Measure the success of an adversary who knows symbol g of a person and weighs rows y by P(y|g) / P(y)."""
    counts = np.bincount(rows, minlength=len(p_y))
    present = counts > 0
    # A released symbol of probability 0 under the channel belongs to nobody.
    inverse = np.divide(1.0, p_y, out=np.zeros_like(p_y), where=present & (p_y > 0))
    odds = sparse.csr_array(believed * inverse[None, :])
    odds.eliminate_zeros()
    total = odds @ counts
    top = odds.max(axis=1).toarray().ravel()
    possible = (odds > 0) @ counts
    entries = sparse.coo_array(odds)
    best = entries.data >= top[entries.row] * (1 - SAME)
    likeliest = np.bincount(entries.row[best], counts[entries.col[best]], len(top))
    sought, n = targets >= 0, len(targets)
    sought_targets = targets[sought]
    success = np.divide(top, total, out=np.zeros_like(top), where=total > 0)
    observed = None
    if true is not None:
        target_odds = odds[sought_targets, rows[true[sought]]]
        hit = (target_odds > 0) & (target_odds >= top[sought_targets] * (1 - SAME))
        observed = float((hit / np.maximum(likeliest[sought_targets], 1)).sum() / n)
    unique, expected = (possible[sought_targets] == 1).sum() / n, success[sought_targets].sum() / n
    return Linkage(float(unique), float(expected), observed)


def _positions(positions: ArrayLike, n_targets: int, n_rows: int) -> NDArray[np.int64]:
    true = np.asarray(positions)
    is_whole = true.shape == (n_targets,) and np.issubdtype(true.dtype, np.integer)
    if not is_whole or (true < 0).any() or (true >= n_rows).any():
        raise InvalidParameter(
            f"positions must be one whole number between 0 and {n_rows - 1}, a row of the release, for each of the "
            f"{n_targets} people"
        )
    return true.astype(np.int64)
