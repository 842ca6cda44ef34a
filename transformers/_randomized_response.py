"""Randomized response as an estimator."""

from __future__ import annotations

from sanitize._release.recipes.randomized_response import RandomizedResponseRecipe
from sanitize._release.recipes.recipe import TupleParameters
from sanitize.transformers._sanitizer import Sanitizer


class RandomizedResponse(TupleParameters, Sanitizer):
    """Keep each public symbol or replace it by a random one: ε-LDP whatever the law of the data [WXH §4.1].

    Parameters
    ----------
    budget : float or LDPBudget
        Local differential privacy of X in nats; S then has at most the same, usually far less.
        None, the default, raises at fit: there is no silent budget.
    sensitive : str, list of str or of positions, or callable, optional
        Not needed by the mechanism. Without it the public columns themselves count as sensitive in the report.
    public : str, list of str or of positions, or callable, optional
        Columns by name or position; None means all but the sensitive ones. Several are released as one tuple.
    bins : dict of column to edges, number or calendar unit, or int, optional
        Intervals of numbers or dates: declared edges, or a number of quantiles; of dates also "day", "month",
        "quarter", "year" or "decade", which are printed by name.
    output : {"resample", "label"}
        Symbols are printed as they are; of pooled ones, one of them drawn anew, or a readable label.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are one symbol, or refused.
    smoothing : float
        Added to every cell of the counts: a prior, reported as such.
    min_count : int
        Combinations of public values in fewer rows are pooled before the design: printed, they would be somebody's.
    confidence : float, optional
        None claims that the rows are everybody, and the budget holds for their frequencies. With 0.95, say, the
        rows are a sample: the budget holds for every law of the values seen that the counts allow at this confidence,
        and the report is about all of them. Not with weights, smoothing or learned bin edges.
        The channel is the same: LDP of X bounds that of S under every law.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for work inside; the report then fails.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.

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

    recipe_type = RandomizedResponseRecipe
