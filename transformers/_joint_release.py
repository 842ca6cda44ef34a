"""Several groups of columns, each with its own channel, and kept columns, under one joint budget."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils.metaestimators import _BaseComposition

from sanitize.release.recipes.joint import JointReleaseParameters, JointReleaseRecipe
from sanitize.transformers._sanitizer import PREFIX, Sanitizer, budget_parameters, with_bounds


class JointRelease(JointReleaseParameters, Sanitizer, _BaseComposition):  # type: ignore[misc]
    """Release several groups of public columns, each through its own channel, and kept columns, under one budget.

    The verdict is about everything that is released together: every tuple of released symbols and kept values must be
    within the joint budget, exactly, under the joint distribution of the table. Budgets of parts do not add up to a
    joint one: two columns that tell little each can tell much together
    (`sanitize.theory.accounting.independent_release_budget`).

    A part with a budget is designed with it alone. Parts whose budget is None are designed after those, **given what
    all others release and the kept columns**, so that the joint budget is met: it can be whenever the kept columns and
    the parts with budgets of their own meet it. They are designed in turns, for the largest weighted mean of the
    shares of information that they keep: the budget rises in steps, and at each the part that keeps least for its
    weight goes first. Where a part would keep nothing, other orders are tried for a larger mean with no fewer parts
    that keep something. The order in which parts are given decides nothing. A part that keeps nothing is a warning.

    The output holds the columns of the parts in order, then the kept ones.

    Parameters
    ----------
    sanitizers : list of (str, Sanitizer)
        Each names its own ``public`` columns, which differ from those of all others, with its own mechanism, bins,
        release, smoothing and min_count. Its ``sensitive`` is None or the same, its ``random_state`` and
        ``confidence`` None. One part may leave ``public`` at None: it takes the columns that nobody else names. May be
        empty where ``keep`` is not. Parts without a budget are Watchdog or SubsetMerging.
    budget : Budget
        What every released tuple may leak, as ``LiftBudget(at_most=2, at_least=0.5)``; never a bare number. None, the
        default, raises at fit: there is no silent budget.
    sensitive : str, list of str or of positions, or callable, optional
        Columns by name or position, unless they come to fit as ``sensitive_features``.
    keep : str, list of str or of positions, or callable, optional
        Columns that are released as they are. They count in the joint budget like any other.
    weights : dict of str to float, optional
        Of parts without a budget, by name, > 0 and 1 by default: of two parts, the one of twice the weight is meant to
        keep twice the share.
    missing : {"category", "error"}
        Missing values are one symbol, or refused.
    handle_unknown : {"high_risk", "error"}
        Rows whose tuple was not seen at fit are released like the riskiest tuple, kept columns included, or refused.
    person : {"row"}, optional
        Every row is a person of its own. By default columns that look like identifiers of people are refused; where
        people have several rows, see `sanitize.people.UnitRelease`.
    random_state : None, int, Generator or NoiseKey
        None is a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    channel_ : Channel
        From tuples of all columns to released tuples.
    channels_ : dict of str to Channel
        Of each part.
    report_ : LeakageReport
        Of everything together; ``report_.to_frame("parts")`` has what each part and each kept column tells by itself.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    sanitize.theory.accounting.joint_release : the joint distribution of releases that are there already.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import JointRelease, SubsetMerging, Watchdog
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = JointRelease(
    ...     [("class", Watchdog(public="class")), ("sex", SubsetMerging(public="sex"))],
    ...     sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", keep="age")
    >>> released = sanitizer.fit_transform(df)
    >>> list(released.columns), sanitizer.report_.ok
    (['class', 'sex', 'age'], True)
    >>> sanitizer.report_.to_frame("parts")["role"].tolist()
    ['watchdog', 'subset merging', 'kept as it is']
    """

    recipe_type = JointReleaseRecipe

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Parameters of the estimator and, as ``name__parameter``, of its parts."""
        params: dict[str, Any] = self._get_params("sanitizers", deep=deep)
        return params | budget_parameters(self.budget) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, replace a part by its name, or set ``name__parameter`` of a part."""
        bounds = {name: params.pop(name) for name in list(params) if name.startswith(PREFIX)}
        self._set_params("sanitizers", **params)
        if bounds:
            self.budget = with_bounds(self.budget, bounds)
        return self
