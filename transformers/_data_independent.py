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
        Local differential privacy of X in nats; S then has at most the same, usually far less.
        None, the default, raises at fit: there is no silent budget.
    sensitive : str, list of str or of positions, or callable, optional
        Not needed by the mechanism. Without it the public columns themselves count as sensitive in the report.
    public : str, list of str or of positions, or callable, optional
        Columns by name or position; None means all but the sensitive ones. Several are released as one tuple.
    bins : dict of column to edges or calendar unit, or edges, optional
        Intervals of numbers or dates, by their edges; of dates also "day", "month", "quarter", "year" or "decade",
        which are printed by name. One list of edges cuts all columns of numbers.
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
        rows are a sample: the budget holds for every distribution of the values seen that the counts allow at this
        confidence, and the report is about all of them. Not with smoothing or learned bin edges.
        The channel is the same: LDP of X bounds that of S under every distribution.
    person : str, optional
        Column that says whose a row is: rare are then combinations of fewer than ``min_count`` people, a confidence is
        about people, who were drawn with all of their rows, and the column is not released. "row" says that every row
        is a person of its own. By default columns that look like identifiers of people are refused.
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


class ExponentialChannel(ExponentialChannelParameters, Sanitizer):
    """Replace a public symbol by another, less often the more distant it is, within a capacity [WXH §4.3].

    The j-th nearest symbol has probability proportional to e^{-jλ}; λ is calibrated so that the capacity of the
    channel, the most it can tell about X under any distribution, is within the budget. The distribution of the data
    plays no part beyond the list of symbols.

    Parameters
    ----------
    budget : float or CapacityBudget
        Capacity of the channel in nats: I(X;Y), and so I(S;Y), is at most this whatever the distribution. None, the
        default, raises at fit: there is no silent budget.
    distance : {"line", "circle", "hamming"}
        Between symbols in ascending order: along the line; around a circle (months, hours); or the number of
        public columns that differ, for tuples of several columns.
    sensitive : str, list of str or of positions, or callable, optional
        Not needed by the mechanism. Without it the public columns themselves count as sensitive in the report.
    public : str, list of str or of positions, or callable, optional
        Columns by name or position; None means all but the sensitive ones. Several are released as one tuple.
    bins : dict of column to edges or calendar unit, or edges, optional
        Intervals of numbers or dates, by their edges; of dates also "day", "month", "quarter", "year" or "decade",
        which are printed by name. One list of edges cuts all columns of numbers.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are one symbol, or refused.
    smoothing : float
        Added to every cell of the counts: a prior, reported as such.
    min_count : int
        Combinations of public values in fewer rows are pooled before the design: printed, they would be somebody's.
    person : str, optional
        Column that says whose a row is: rare are then combinations of fewer than ``min_count`` people, a confidence is
        about people, who were drawn with all of their rows, and the column is not released. "row" says that every row
        is a person of its own. By default columns that look like identifiers of people are refused.
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


class GaussianChannel(GaussianChannelParameters, Sanitizer):
    """Add Gaussian noise to numeric columns, calibrated so that the channel's capacity is within a budget [WXH §5].

    Each public column is clipped to its declared bounds, rounded to a declared grid, and released on that grid
    with noise; the grid runs on beyond the bounds, and what would fall outside it is released as its end
    point. The channel is finite, its probabilities are integers, and the report measures them.

    Several columns are released together: each gets its own noise with an equal share of the budget. The
    capacity of channels used side by side is the sum of theirs, so the budget holds for all columns together,
    however they depend on each other.

    Parameters
    ----------
    budget : float or CapacityBudget
        Capacity of the channel of all columns together, in nats, > 0: I(X;Y), and so I(S;Y), is at most this
        whatever the distribution. None, the default, raises at fit: there is no silent budget.
    bounds : dict of column to (low, high), or one pair for all columns
        Range of each public column, from knowledge and not from the rows: the range of the rows is itself a
        fact about the most unusual of them. Values outside are clipped, and counted in the report.
    step : dict of column to float, or float, optional
        Distance of grid points. For a column of integers a whole number.
    points : int
        Where no step is given, the grid has at most this many points within the bounds.
    reach : float
        Standard deviations of noise that the grid extends beyond the bounds; 0 keeps releases within them.
    method : {"exact", "closed_form"}
        Least noise by the amplitude-constrained capacity, or the larger noise that [WXH Cor. 6] prints.
    sensitive : str, list of str or of positions, or callable, optional
        Not needed by the mechanism. Without it the public columns themselves count as sensitive in the report.
    public : str, list of str or of positions, or callable, optional
        Numeric columns by name or position; None means all but the sensitive ones.
    bins : dict of column to edges, optional
        Intervals for numeric sensitive columns only.
    keep_sensitive : bool
        Keep the sensitive columns in the output, for work inside; the report then fails.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    channel_ : Channel
        From every tuple of grid points, seen at fit or not.
    report_ : LeakageReport
        Its verdict is about the certified capacity on the tuples that occur.
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
