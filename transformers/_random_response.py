"""Estimators of the random responses."""

from __future__ import annotations

from sanitize.release.recipes.tuples import (
    OptimalRandomResponseRecipe,
    OptimalResponseParameters,
    ResponseParameters,
    SubsetRandomResponseRecipe,
)
from sanitize.transformers._sanitizer import Sanitizer


class OptimalRandomResponse(OptimalResponseParameters, Sanitizer):
    """Release through the most useful channel within a budget on lifts or their averages [ZDS §III-A2].

    Parameters
    ----------
    budget : LiftBudget, LDPBudget, L1LiftBudget, Chi2LiftBudget or AlphaLiftBudget
        What each released symbol may leak, as ``LiftBudget(at_most=2, at_least=0.5)``; never a bare number.
        None, the default, raises at fit: there is no silent budget.
    gap : float
        Distance of I(X;Y) from the optimum that is good enough, in nats.
    effort : float, optional
        Entries of linear programs to solve, >= 1; by default about half a minute's. The same effort is the same
        work on every machine; where it cuts the search short, last digits may decide what is found.
    time_limit : float, optional
        Seconds after which the best channel so far is taken; it is within the budget all the same.
    sensitive, public : str, list of str or of positions, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones; several public columns
        are released as one tuple, so that the budget holds for them together.
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
        confidence, and the report is about all of them. Lift and LDP budgets only; not with smoothing or learned
        bin edges. The design is repeated three times, to report what confidence costs and what more rows would
        buy.
    target : str, optional
        Public column T that matters: the channel keeps most of I(T;Y), in place of all public columns alike.
    side_columns : str or list of str
        Public columns that whoever reads a row may know of it, any part of them: the budget then holds for P(s|y,w) /
        P(s|w), too, for whatever w that is. Not with a confidence; for labels it is still the best channel.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in all that is published, rows in their order among it: the
        channel is designed from counts with noise. Not with ``confidence``.
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

    Whoever knows the class of a passenger learns more than 0.5 nats, unless the channel is designed for that:

    >>> joint = sz.JointDistribution.from_frame(df, "survived", ["class", "sex"])
    >>> round(sz.core.measures.side_knowledge(joint, sanitizer.channel_, ["class"])[1], 3)
    1.289
    >>> sanitizer = sanitizer.set_params(side_columns=["class"]).fit(df)
    >>> round(sz.core.measures.side_knowledge(joint, sanitizer.channel_, ["class"])[1], 3)
    0.5
    """

    recipe_type = OptimalRandomResponseRecipe


class SubsetRandomResponse(ResponseParameters, Sanitizer):
    """Apply optimal random response inside blocks of public symbols [ZDS Algorithm 2, with larger blocks].

    Parameters
    ----------
    budget : LiftBudget or LDPBudget
        What each released symbol may leak, as ``LiftBudget(at_most=2, at_least=0.5)``; never a bare number.
        None, the default, raises at fit: there is no silent budget.
    gap : float
        Distance of I(X;Y) from the optimum that is good enough, in nats.
    effort : float, optional
        Entries of linear programs to solve, >= 1; by default about half a minute's. The same effort is the same
        work on every machine; where it cuts the search short, last digits may decide what is found.
    time_limit : float, optional
        Seconds after which the best channel so far is taken; it is within the budget all the same.
    sensitive, public : str, list of str or of positions, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones; several public columns
        are released as one tuple, so that the budget holds for them together.
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
        confidence, and the report is about all of them. Lift and LDP budgets only; not with smoothing or learned
        bin edges. The design is repeated three times, to report what confidence costs and what more rows would
        buy.
    target : str, optional
        Public column T that matters: the channel keeps most of I(T;Y), in place of all public columns alike.
    secret_dp : SecretDP, optional
        Differential privacy of each row's sensitive values in all that is published, rows in their order among it: the
        channel is designed from counts with noise. Not with ``confidence``.
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
    >>> from sanitize.transformers import SubsetRandomResponse
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget.symmetric(0.5)
    >>> sanitizer = SubsetRandomResponse(budget, sensitive="survived", public=["class", "sex"]).fit(df)
    >>> sanitizer.report_.ok
    True
    """

    recipe_type = SubsetRandomResponseRecipe
