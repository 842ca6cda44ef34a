"""Estimators whose mechanisms are random responses."""

from __future__ import annotations

from sanitize.release.recipes.tuples import (
    OptimalRandomResponseRecipe,
    OptimalResponseParameters,
    ResponseParameters,
    SubsetRandomResponseRecipe,
)
from sanitize.transformers._sanitizer import Sanitizer


class OptimalRandomResponse(OptimalResponseParameters, Sanitizer):
    """Release public columns through the most useful channel within a budget on lifts or their averages [ZDS §III-A2].

    Released symbols are written as values, which loses some information; a merging may then keep more, above all with a
    confidence. `BestSanitizer` takes the better of both.

    Parameters
    ----------
    budget : LiftBudget, LDPBudget, L1LiftBudget, Chi2LiftBudget or AlphaLiftBudget
        Limit on the leakage of each released symbol, such as ``LiftBudget(at_most=2, at_least=0.5)``; never a number.
        None, the default, raises at fit: there is no silent budget.
    gap : float
        Distance of I(X;Y) from the optimum, in nats, at which the search ends.
    effort : float, optional
        Entries of linear programs to solve, >= 1; by default, about half a minute of work. An effort is the same work
        on every machine; if it cuts the search short, the result may depend on last digits.
    time_limit : float, optional
        Seconds after which the best channel so far is used, which is within the budget, too.
    sensitive, public : str, list of str or of positions, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones; several public columns
        are released as one tuple, so that the budget holds for them together.
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
        counts allow at this confidence. Lift and LDP budgets only; not with smoothing or learned bin edges. The design
        is repeated three times, to report the cost of confidence and the gain from more rows.
    target : str, optional
        Public column T of interest: the channel maximizes I(T;Y) instead of the information on all public columns.
    side_columns : str or list of str
        Public columns that a reader may know about a row, all or some of them. The budget then also holds for
        P(s|y,w) / P(s|w), for all values w of any such columns. Not with a confidence. If labels are released, the
        channel is still the best.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in everything published, including rows in their order: the
        channel is designed from counts with noise. Not with ``confidence``.
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

    See Also
    --------
    SubsetRandomResponse : nearly as useful, for thousands of public symbols.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import OptimalRandomResponse
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget.symmetric(0.5)
    >>> sanitizer = OptimalRandomResponse(budget, sensitive="survived", public=["class", "sex"]).fit(df)
    >>> sanitizer.report_.ok
    True

    A reader who knows the class of a passenger learns more than 0.5 nats, unless the channel is designed for this case:

    >>> joint = sz.JointDistribution.from_frame(df, "survived", ["class", "sex"])
    >>> round(sz.core.measures.side_knowledge(joint, sanitizer.channel_, ["class"])[1], 3)
    1.289
    >>> sanitizer = sanitizer.set_params(side_columns=["class"]).fit(df)
    >>> round(sz.core.measures.side_knowledge(joint, sanitizer.channel_, ["class"])[1], 3)
    0.5
    """

    recipe_type = OptimalRandomResponseRecipe


class SubsetRandomResponse(ResponseParameters, Sanitizer):
    """Apply optimal random response within blocks of public symbols [ZDS Algorithm 2, with larger blocks].

    Released symbols are written as values, which loses some information; a merging may then keep more, above all with a
    confidence. `BestSanitizer` takes the better of both.

    Parameters
    ----------
    budget : LiftBudget or LDPBudget
        Limit on the leakage of each released symbol, such as ``LiftBudget(at_most=2, at_least=0.5)``; never a number.
        None, the default, raises at fit: there is no silent budget.
    gap : float
        Distance of I(X;Y) from the optimum, in nats, at which the search ends.
    effort : float, optional
        Entries of linear programs to solve, >= 1; by default, about half a minute of work. An effort is the same work
        on every machine; if it cuts the search short, the result may depend on last digits.
    time_limit : float, optional
        Seconds after which the best channel so far is used, which is within the budget, too.
    sensitive, public : str, list of str or of positions, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones; several public columns
        are released as one tuple, so that the budget holds for them together.
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
        counts allow at this confidence. Lift and LDP budgets only; not with smoothing or learned bin edges. The design
        is repeated three times, to report the cost of confidence and the gain from more rows.
    target : str, optional
        Public column T of interest: the channel maximizes I(T;Y) instead of the information on all public columns.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in everything published, including rows in their order: the
        channel is designed from counts with noise. Not with ``confidence``.
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
    >>> from sanitize.transformers import SubsetRandomResponse
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget.symmetric(0.5)
    >>> sanitizer = SubsetRandomResponse(budget, sensitive="survived", public=["class", "sex"]).fit(df)
    >>> sanitizer.report_.ok
    True
    """

    recipe_type = SubsetRandomResponseRecipe
