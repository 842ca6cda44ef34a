"""Attack by the Bayes-optimal adversary, who knows the distribution and the channel and sees one released symbol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr, xlogy

from sanitize._util.checks import Vector
from sanitize._util.formatting import Told, figure, percent, spell_infinities
from sanitize._util.tolerances import SAME
from sanitize.core.measures import mutual_information

if TYPE_CHECKING:
    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution


@dataclass(frozen=True, eq=False)
class BayesAttack(Told):
    """Gain of the Bayes-optimal adversary about S from one released symbol, compared with her prior alone.

    Attributes
    ----------
    accuracy, prior_accuracy : float
        Chance of guessing S right in one try, with and without the released symbol: the posterior and the prior
        Bayes vulnerability, exp(-H_inf(S|Y)) and exp(-H_inf(S)) [ACMMPS].
    log_loss, prior_log_loss : float
        Expected -log P(s|y) and -log P(s) of the true symbol, in nats: H(S|Y) and H(S).
    group_accuracy, prior_group_accuracy : ndarray of shape (n_s,)
        Chance of guessing right for the rows of each sensitive symbol; ties between guesses count in equal parts.
    group_information : ndarray of shape (n_s,)
        Mean E[log P(s|Y) / P(s) | S = s] in nats; the average under P_S is I(S;Y).
    """

    accuracy: float
    prior_accuracy: float
    log_loss: float
    prior_log_loss: float
    group_accuracy: Vector
    prior_group_accuracy: Vector
    group_information: Vector
    columns: tuple[str, ...]
    _released: JointDistribution = field(repr=False)

    @property
    def advantage(self) -> float:
        """Gain in the chance of a right guess from the released symbol."""
        return max(0.0, self.accuracy - self.prior_accuracy)

    @property
    def information(self) -> float:
        """Information I(S;Y) in nats, the reduction of log-loss by the released symbol."""
        return mutual_information(self._released)

    @property
    def posterior(self) -> Vector:
        """Posterior P(s|y), shape (n_s, n_y), the adversary's belief after each released symbol. Internal."""
        return self._released.posterior

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences that state the result and name no symbol."""
        return (
            f"The best possible adversary, who knows the joint distribution and the channel, guesses the sensitive "
            f"columns right in {percent(self.accuracy)} of rows, against {percent(self.prior_accuracy)} without the "
            f"release; a released value is worth {figure(self.information)} nats to her",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for the owner of the table."""
        names = ("accuracy", "prior_accuracy", "advantage", "log_loss", "prior_log_loss", "information")
        values: dict[str, Any] = {"attack": "bayes", "columns": list(self.columns)}
        values |= {name: getattr(self, name) for name in names} | {"summary": list(self.summary)}
        groups = np.stack([self.group_accuracy, self.prior_group_accuracy, self.group_information], axis=1)
        keys = ("accuracy", "prior_accuracy", "information")
        values["groups"] = [dict(zip(keys, group, strict=True)) for group in groups.tolist()]
        return spell_infinities(values)


def bayes(joint: JointDistribution, channel: Channel | None = None) -> BayesAttack:
    """Measure exactly how well the Bayes-optimal adversary guesses S through a channel; no adversary does better.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X), or of (S, Y) if there is no channel.
    channel : Channel, optional
        From X to the released symbols.

    Returns
    -------
    BayesAttack
        ``accuracy`` is Σ_y max_s P(s, y), ``log_loss`` is H(S|Y).

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.1, 0.4]])
    >>> keep = sz.Channel.from_matrix([[0.75, 0.25], [0.25, 0.75]])
    >>> before, after = sz.auditing.attack.bayes(joint), sz.auditing.attack.bayes(joint, keep)
    >>> round(before.accuracy, 4), round(after.accuracy, 4), round(after.prior_accuracy, 4)
    (0.8, 0.65, 0.5)
    >>> print(after)  # doctest: +ELLIPSIS
    The best possible adversary, ..., guesses the sensitive columns right in 65 % of rows, against 50 % without ...
    """
    released = joint if channel is None else joint.push(channel)
    pmf, p_s = released.pmf, released.p_s
    best = pmf >= pmf.max(axis=0) * (1 - SAME)
    right = np.where(best, pmf, 0.0) / best.sum(axis=0)
    likeliest = p_s >= p_s.max() * (1 - SAME)
    lifts = pmf / p_s[:, None] / released.p_x
    return BayesAttack(
        accuracy=float(pmf.max(axis=0).sum()),
        prior_accuracy=float(p_s.max()),
        log_loss=float(-xlogy(pmf, released.posterior).sum()) + 0.0,
        prior_log_loss=float(entr(p_s).sum()),
        group_accuracy=right.sum(axis=1) / p_s,
        prior_group_accuracy=likeliest / likeliest.sum(),
        group_information=xlogy(pmf, lifts).sum(axis=1) / p_s,
        columns=released.public.columns,
        _released=released,
    )
