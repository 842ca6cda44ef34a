"""The exponential channel as an estimator."""

from __future__ import annotations

from sanitize._release.recipes.exponential import ExponentialChannelParameters, ExponentialChannelRecipe
from sanitize.transformers._sanitizer import Sanitizer


class ExponentialChannel(ExponentialChannelParameters, Sanitizer):
    """Replace a public symbol by one that is rarer the farther it is, within a capacity [WXH §4.3].

    The j-th nearest symbol has probability proportional to e^{-jλ}; λ is calibrated so that the capacity of the
    channel, the most it can tell about X under any law, is within the budget. The law of the data plays no
    part beyond the list of symbols.

    Parameters
    ----------
    budget : float or CapacityBudget
        Capacity of the channel in nats: I(X;Y), and so I(S;Y), is at most this whatever the law. None, the
        default, raises at fit: there is no silent budget.
    distance : {"line", "circle", "hamming"}
        Between symbols in ascending order: along the line; around a circle (months, hours); or the number of
        public columns that differ, for tuples of several columns.
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
    keep_sensitive : bool
        Keep the sensitive columns in the output, for work inside; the report then fails.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    channel_ : Channel
    report_ : LeakageReport
        Its verdict is about the certified capacity of ``channel_``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import ExponentialChannel
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = ExponentialChannel(0.4, sensitive="survived", public="class").fit(df)
    >>> sanitizer.report_.ok, round(sanitizer.report_.summary["channel_capacity"], 6)
    (True, 0.4)
    """

    recipe_type = ExponentialChannelRecipe
