"""Randomized response as an estimator."""

from __future__ import annotations

from functools import partial

from sanitize._checks import is_number
from sanitize._release.design import Recipe
from sanitize.budgets import LDPBudget, nats_of
from sanitize.channel import Channel
from sanitize.errors import InvalidBudget
from sanitize.joint import JointDistribution
from sanitize.mechanisms import randomized_response
from sanitize.transformers._sanitizer import Sanitizer


class RandomizedResponse(Sanitizer):
    """Keep each public symbol or replace it by a random one: ε-LDP whatever the law of the data [WXH §4.1].

    Parameters
    ----------
    budget : float or LDPBudget
        Local differential privacy of X in nats; S then has at most the same, usually far less.
        None, the default, raises at fit: there is no silent budget.
    sensitive : str, int, list of them, or callable, optional
        Not needed by the mechanism. Without it the public columns themselves count as sensitive in the report.
    public, bins, release, handle_unknown, missing, smoothing, min_count, confidence, keep_sensitive, random_state
        As in `Watchdog`. Symbols are printed as they are, so ``release`` only matters for pooled ones.

    Attributes
    ----------
    channel_ : Channel
    report_ : LeakageReport
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import RandomizedResponse
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = RandomizedResponse(1.0, sensitive="survived", public="class").fit(df)
    >>> round(sanitizer.report_.summary["ldp_public"], 6)
    1.0
    """

    _needs_sensitive = False

    def _recipe(self) -> Recipe:
        budget = self.budget
        if is_number(budget):
            budget = LDPBudget(nats_of(budget))
        if not isinstance(budget, LDPBudget):
            given = "none" if budget is None else type(budget).__name__
            raise InvalidBudget(f"RandomizedResponse needs its LDP in nats: a number or LDPBudget(eps), got {given}")
        mechanism = partial(_respond, epsilon=budget.eps)
        return self._with_settings("randomized response", mechanism, budget, keeps_symbols=True)


def _respond(joint: JointDistribution, epsilon: float, confidence: object = None) -> Channel:
    # LDP of X bounds LDP of S under every law, so a set of laws changes nothing.
    return randomized_response(len(joint.public), epsilon).renamed(inputs=joint.public)
