"""Joint leakage of a unit's symbols if the unit draws one answer per value and keeps all answers permanently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.checks import Codes, Vector
from sanitize.core.alphabet import Alphabet
from sanitize.core.channel import channel_matrix
from sanitize.errors import InvalidParameter
from sanitize.theory.accounting._joint_release import check_outputs, check_tensor, distribution_of_tuples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution

# Pairs of a history and its symbols processed at once: their arrays take some ten megabytes.
_BLOCK_PAIRS = 1 << 20


def permanent_release(
    distribution: ArrayLike, histories: ArrayLike, channel: Channel | ArrayLike | Any
) -> JointDistribution:
    """Distribution of (S, (Y_1, ..., Y_T)) if a unit answers y_t = F(x_t), with F(v) drawn once from P(y|v).

    F is drawn once per unit and value v. So P(s, y_1, ..., y_T) = Σ P(s, x_1, ..., x_T) Π P(y_v | v) over the histories
    in which equal values have equal symbols; the product is over the distinct values v of a history. So further rows,
    months or files with a value that was released before reveal nothing new by themselves. But a change of the symbol
    proves that the value changed, so no level of the channel bounds the leakage of changing values. It is measured from
    this distribution, to which every measure and budget applies. If noise is drawn anew each time, use `joint_release`.

    Permanent symbols link all released rows of a unit, and anyone who has the key from which F is drawn can undo it.

    Parameters
    ----------
    distribution : array-like of shape (n_s, n_histories)
        Joint distribution of a unit's sensitive symbol and its history.
    histories : array-like of int, shape (n_histories, T)
        Codes of the values of each history, in the order of release; no two histories are equal.
    channel : Channel, array or fitted estimator
        P(y|x), shape (n_x, n_y).

    Returns
    -------
    JointDistribution
        Released symbols are tuples of output numbers (plain numbers if T = 1); those of probability 0 are left out.

    Raises
    ------
    InvalidDistribution
        If ``distribution`` is not a distribution.
    InvalidChannel
        If the channel is not row-stochastic.
    InvalidParameter
        If the histories do not fit the distribution or the channel, or the released tuples are too many.

    Examples
    --------
    If a bit is released twice and never changes, permanent symbols reveal as much as one symbol; fresh noise reveals
    more.

    >>> from sanitize.theory.accounting import joint_release
    >>> from sanitize.core.lifts import max_log_lift
    >>> flip = [[0.75, 0.25], [0.25, 0.75]]
    >>> max_log_lift(permanent_release([[0.4, 0.1], [0.1, 0.4]], [[0, 0], [1, 1]], flip)).round(4)
    array([0.2624, 0.2624])
    >>> twice = [[[0.4, 0.0], [0.0, 0.1]], [[0.1, 0.0], [0.0, 0.4]]]
    >>> max_log_lift(joint_release(twice, [flip, flip])).round(4)
    array([0.392, 0.   , 0.   , 0.392])

    Whether the bit changes may reveal everything, however noisy the channel:

    >>> distribution = [[0.25, 0.25, 0.0, 0.0], [0.0, 0.0, 0.25, 0.25]]
    >>> max_log_lift(permanent_release(distribution, [[0, 0], [1, 1], [0, 1], [1, 0]], flip)).round(4)
    array([0.3747, 0.6931, 0.6931, 0.3747])
    """
    kernel = channel_matrix(channel, "channel")
    pmf, codes = check_tensor(distribution, "S", "history"), np.asarray(histories)
    n_x, n_y = kernel.shape
    if codes.ndim != 2 or not codes.size or codes.dtype.kind not in "iu" or len(codes) != pmf.shape[1]:
        raise InvalidParameter(
            f"histories must be whole numbers in an array of shape ({pmf.shape[1]}, T), got {codes.dtype} of shape "
            f"{codes.shape}"
        )
    if codes.min() < 0 or codes.max() >= n_x:
        raise InvalidParameter(
            f"histories must be codes of the {n_x} symbols that the channel takes, from 0 to {n_x - 1}"
        )
    if len(np.unique(codes, axis=0)) < len(codes):
        raise InvalidParameter(
            "histories must be different from each other; add up the probabilities of equal histories"
        )
    length = codes.shape[1]
    check_outputs((n_y,) * length)
    released = np.zeros((len(pmf), n_y**length))
    step = max(1, _BLOCK_PAIRS // n_y ** min(length, n_x))
    for start in range(0, len(codes), step):
        rows = slice(start, start + step)
        history, weight, sequence = _answers(codes[rows], kernel)
        for total, mass in zip(released, pmf[:, rows], strict=True):
            total += np.bincount(sequence, mass[history] * weight, len(total))
    return distribution_of_tuples(released, (n_y,) * length, Alphabet.from_size("s", len(pmf)))


def _answers(codes: Codes, kernel: Vector) -> tuple[Codes, Vector, Codes]:
    """Return every history with every possible sequence of symbols: history, probability, index of the sequence."""
    n_y = kernel.shape[1]
    history, weight = np.arange(len(codes)), np.ones(len(codes))
    answers = np.zeros((len(codes), 0), np.intp)
    for t in range(codes.shape[1]):
        # A value that occurred before is answered as it was then, in its first month; a new value refers to itself.
        first = (codes[:, : t + 1] == codes[:, t : t + 1]).argmax(axis=1)[history]
        new = np.flatnonzero(first == t)
        old = np.flatnonzero(first < t)
        drawn = kernel[codes[history[new], t]]
        place, symbol = np.nonzero(drawn)
        weight = np.concatenate([weight[old], weight[new][place] * drawn[place, symbol]])
        answer = np.concatenate([answers[old, first[old]] if t else old, symbol])
        parents = np.concatenate([old, new[place]])
        history, answers = history[parents], np.column_stack([answers[parents], answer])
    return history, weight, np.asarray(np.ravel_multi_index(tuple(answers.T), (n_y,) * answers.shape[1]))
