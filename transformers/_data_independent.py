"""Estimators whose channel does not depend on the data: randomized response, exponential and Gaussian channels."""

from __future__ import annotations

from typing import Any

from sanitize.release.recipes.gaussian import GaussianChannelParameters, GaussianChannelRecipe
from sanitize.release.recipes.tuples import (
    ExponentialChannelParameters,
    ExponentialChannelRecipe,
    RandomizedResponseRecipe,
    TupleParameters,
)
from sanitize.transformers._sanitizer import Sanitizer


class RandomizedResponse(TupleParameters, Sanitizer):
    """Keep each public symbol or replace it by a random one: ε-LDP for any distribution of the data [WXH §4.1].

    Parameters
    ----------
    budget : float or LDPBudget
        Local differential privacy of X in nats; the level for S is at most the same, usually far lower.
        None, the default, raises at fit: there is no silent budget.
    sensitive : str, list of str or of positions, or callable, optional
        Not needed by the mechanism. By default, the public columns themselves count as sensitive in the report.
    public : str, list of str or of positions, or callable, optional
        Columns by name or position; None means all but the sensitive ones. Several columns are released as a tuple.
    bins : dict of column to edges or calendar unit, or edges, optional
        Edges of intervals of numbers or dates; for dates also "day", "month", "quarter", "year" or "decade", which are
        released by name. A single list of edges applies to all columns of numbers.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are a symbol of their own, or are refused.
    smoothing : float
        Count added to every cell as a prior, which the report states.
    min_count : int
        Combinations of public values in fewer rows are pooled before the design: they could be traced to people.
    confidence : float, optional
        With None, the budget holds for the frequencies of these rows, which claims that they are everybody. With 0.95,
        say, the rows are a sample: the budget and the report cover every distribution of the values seen that the
        counts allow at this confidence. Not with smoothing or learned bin edges. The channel is the same for every
        confidence, because LDP of X bounds LDP of S under every distribution.
    person : str, optional
        Column that identifies the person of each row, which is not released. Combinations of fewer than ``min_count``
        people are then rare, and a confidence assumes that people were drawn, each with all rows. "row" says that every
        row is a person of its own. By default columns that look like identifiers of people are refused.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for internal work; the report then fails.
    random_state : None, int, RandomState or NoiseKey
        None uses a cryptographic generator keyed by the operating system. Integers are for tests.

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


class ExponentialChannel(ExponentialChannelParameters, Sanitizer):
    """Replace a public symbol by another, less often the more distant it is, within a capacity [WXH §4.3].

    The j-th nearest symbol has probability proportional to e^{-jλ}; λ is calibrated so that the capacity of the
    channel, the most information on X that it can release under any distribution, is within the budget. Only the list
    of symbols depends on the data.

    Parameters
    ----------
    budget : float or CapacityBudget
        Capacity of the channel in nats: I(X;Y), and so I(S;Y), is at most this whatever the distribution. None, the
        default, raises at fit: there is no silent budget.
    distance : {"line", "circle", "hamming"}
        Distance between symbols in ascending order: along a line; around a circle (months, hours); or, for tuples, the
        number of public columns that differ.
    sensitive : str, list of str or of positions, or callable, optional
        Not needed by the mechanism. By default, the public columns themselves count as sensitive in the report.
    public : str, list of str or of positions, or callable, optional
        Columns by name or position; None means all but the sensitive ones. Several columns are released as a tuple.
    bins : dict of column to edges or calendar unit, or edges, optional
        Edges of intervals of numbers or dates; for dates also "day", "month", "quarter", "year" or "decade", which are
        released by name. A single list of edges applies to all columns of numbers.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are a symbol of their own, or are refused.
    smoothing : float
        Count added to every cell as a prior, which the report states.
    min_count : int
        Combinations of public values in fewer rows are pooled before the design: they could be traced to people.
    person : str, optional
        Column that identifies the person of each row, which is not released. Combinations of fewer than ``min_count``
        people are then rare, and a confidence assumes that people were drawn, each with all rows. "row" says that every
        row is a person of its own. By default columns that look like identifiers of people are refused.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for internal work; the report then fails.
    random_state : None, int, RandomState or NoiseKey
        None uses a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    channel_ : Channel
    report_ : LeakageReport
        Report whose verdict is about the certified capacity of ``channel_``.
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


class GaussianChannel(GaussianChannelParameters, Sanitizer):
    """Add Gaussian noise to numeric columns, calibrated so that the channel's capacity is within a budget [WXH §5].

    Each public column is clipped to its declared bounds, rounded to a declared grid, and released on that grid
    with noise; the grid extends beyond the bounds, and values outside the grid are released as its end
    point. The channel is finite, its probabilities are integers, and the report measures them.

    Several columns are released together: each gets its own noise with an equal share of the budget. The joint
    capacity of several channels is the sum of their capacities, so the budget holds for all columns together, however
    they depend on each other.

    Parameters
    ----------
    budget : float or CapacityBudget
        Capacity of the channel of all columns together, in nats, > 0: I(X;Y), and so I(S;Y), is at most this
        whatever the distribution. None, the default, raises at fit: there is no silent budget.
    bounds : dict of column to (low, high), or one pair for all columns
        Range of each public column, from prior knowledge and not from the rows, because the range of the rows reveals
        the most unusual ones. Values outside are clipped, and counted in the report.
    step : dict of column to float, or float, optional
        Distance of grid points; a whole number for a column of integers.
    points : int
        Without a step, the grid has at most this many points within the bounds.
    reach : float
        Number of standard deviations of the noise by which the grid extends beyond the bounds; 0 keeps released values
        within the bounds.
    method : {"exact", "closed_form"}
        Least noise by the amplitude-constrained capacity, or the larger noise of [WXH Cor. 6].
    sensitive : str, list of str or of positions, or callable, optional
        Not needed by the mechanism. By default, the public columns themselves count as sensitive in the report.
    public : str, list of str or of positions, or callable, optional
        Numeric columns by name or position; None means all but the sensitive ones.
    bins : dict of column to edges, optional
        Intervals for numeric sensitive columns only.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for internal work; the report then fails.
    random_state : None, int, RandomState or NoiseKey
        None uses a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    channel_ : Channel
        Channel from every tuple of grid points, whether or not it occurred at fit.
    report_ : LeakageReport
        Report whose verdict is about the certified capacity on the tuples that occur.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import pandas as pd
    >>> from sanitize.transformers import GaussianChannel
    >>> df = pd.DataFrame({"ill": [0, 1, 0, 1], "age": [20, 80, 30, 95]})
    >>> sanitizer = GaussianChannel(0.5, bounds={"age": (17, 90)}, step=1, sensitive="ill").fit(df)
    >>> sanitizer.report_.ok, sanitizer.report_.summary["channel_capacity"] <= 0.5
    (True, True)
    >>> [word for word in sanitizer.report_.facts.warnings if "clipped" in word]
    ["1 rows of column 'age' lay outside the declared edges and were clipped to them"]
    """

    recipe_type = GaussianChannelRecipe

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.allow_nan = False
        return tags
