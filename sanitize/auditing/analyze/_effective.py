"""Size of a sample of original rows that gives a test the same power as the release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize.auditing.analyze._records import open_release
from sanitize.core.channel import Channel, check_channel
from sanitize.core.joint import JointDistribution
from sanitize.core.measures import effective_share

if TYPE_CHECKING:
    import os

# Least share of a symbol: the distribution that best explains the release may give some symbols no mass, although a
# JointDistribution needs some, too little to change the result.
_LEAST = 1e-12


def effective_rows(released: Any, channel: Channel | str | os.PathLike[str]) -> float:
    """Number of original rows that give a test the same power as this release, on average over hypotheses.

    The number is `sanitize.core.measures.effective_share` times the released rows, at the distribution of X that
    explains the released rows best. It is an average over all hypotheses about the columns that went through the
    channel: a test of differences that the channel preserves has more power, and a test of differences that it merges
    has none.

    Parameters
    ----------
    released : pandas or polars DataFrame, or pyarrow Table
        Released rows, with all columns that the channel releases.
    channel : Channel, or path or text of `Channel.to_json`
        Channel that the rows went through, ``sanitizer.channel_``.

    Raises
    ------
    ColumnError
        If a column is absent or the rows did not come from this channel.
    InvalidParameter
        If there are too few rows, or too many symbols.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = sz.RandomizedResponse(2.0, sensitive="survived", public="class", random_state=0).fit(df)
    >>> len(df), round(effective_rows(sanitizer.transform(df), sanitizer.channel_))
    (2201, 759)
    """
    from scipy.optimize import nnls

    checked_channel = check_channel(channel if isinstance(channel, Channel) else Channel.from_json(channel))
    table, hidden, _, _ = open_release(released, checked_channel, checked_channel.inputs.columns, 0.95)
    frequencies = np.bincount(hidden.codes, minlength=checked_channel.n_outputs) / len(hidden.codes)
    # The raw rows are not at hand, so X has the distribution that best explains the frequencies of released symbols.
    p_x = np.maximum(nnls(np.asarray(checked_channel.matrix).T, frequencies)[0], _LEAST)
    return table.n_rows * effective_share(JointDistribution.from_matrix((p_x / p_x.sum())[None]), checked_channel)
