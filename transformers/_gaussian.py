"""The Gaussian channel as an estimator: numeric columns with declared bounds."""

from __future__ import annotations

from typing import Any

from sanitize._release.recipes.gaussian import GaussianChannelParameters, GaussianChannelRecipe
from sanitize.transformers._sanitizer import Sanitizer


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
        whatever the law. None, the default, raises at fit: there is no silent budget.
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
    bins : dict of column to edges or number, optional
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
