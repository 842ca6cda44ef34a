"""Estimator for several groups of columns, each with its own channel, and kept columns, under one joint budget."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils.metaestimators import _BaseComposition

from sanitize.release.recipes.joint import JointReleaseParameters, JointReleaseRecipe
from sanitize.transformers._sanitizer import PREFIX, Sanitizer, budget_parameters, with_bounds


class JointRelease(JointReleaseParameters, Sanitizer, _BaseComposition):  # type: ignore[misc]
    """Release several groups of public columns, each through its own channel, and kept columns, under one budget.

    The verdict is about everything that is released together: every tuple of released symbols and kept values must be
    within the joint budget, exactly, under the joint distribution of the table. Budgets of parts do not add up to a
    joint one: two columns that reveal little each can reveal much together
    (`sanitize.theory.accounting.independent_release_budget`).

    A part with a budget is designed for this budget alone. Parts whose budget is None are designed afterwards, **given
    the kept columns and what all others release**, so that the joint budget is met. This is possible whenever the kept
    columns and the parts with budgets of their own meet the joint budget. The other parts are designed in turns, for
    the largest weighted mean of the shares of information that they keep: the budget rises in steps, and at each step
    the part that keeps least for its weight goes first. If a part would keep nothing, other orders are tried for a
    larger mean with no fewer parts that keep something. The order of the parts has no effect. A part that keeps nothing
    gives a warning.

    The output has the columns of the parts in order, followed by the kept columns.

    Parameters
    ----------
    sanitizers : list of (str, Sanitizer)
        Parts, each with its own ``public`` columns, mechanism, bins, smoothing and min_count; no two parts share a
        column. ``sensitive`` of a part is None or the same, ``random_state`` and ``confidence`` are None. One part may
        leave ``public`` at None to take the remaining columns. Parts without a budget must be Watchdog or
        SubsetMerging. The list may be empty if ``keep`` is given.
    budget : Budget
        Limit on the leakage of every released tuple, such as ``LiftBudget(at_most=2, at_least=0.5)``; never a number.
        None, the default, raises at fit: there is no silent budget.
    sensitive : str, list of str or of positions, or callable, optional
        Columns by name or position, unless they are passed to fit as ``sensitive_features``.
    keep : str, list of str or of positions, or callable, optional
        Columns that are released unchanged, and that count in the joint budget like all others.
    weights : dict of str to float, optional
        Weights > 0 of parts without a budget, by name; 1 by default. A part with twice the weight of another should
        keep twice the share.
    missing : {"category", "error"}
        Missing values are a symbol of their own, or are refused.
    handle_unknown : {"high_risk", "error"}
        Rows whose tuple was not seen at fit are released like the riskiest tuple, kept columns included, or refused.
    person : {"row"}, optional
        "row" says that every row is a person of its own. By default columns that look like identifiers of people are
        refused; if people have several rows, see `sanitize.people.UnitRelease`.
    random_state : None, int, RandomState or NoiseKey
        None uses a cryptographic generator keyed by the operating system. Integers are for tests.

    Attributes
    ----------
    channel_ : Channel
        Channel from tuples of all columns to released tuples.
    channels_ : dict of str to Channel
        Channel of each part, by name.
    report_ : LeakageReport
        Report on everything together; ``report_.to_frame("parts")`` has the leakage through each part and each kept
        column alone.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    sanitize.theory.accounting.joint_release : the joint distribution of releases that exist already.

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
        """Return the parameters of the estimator and, as ``name__parameter``, the parameters of its parts."""
        params: dict[str, Any] = self._get_params("sanitizers", deep=deep)
        return params | budget_parameters(self.budget) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, replace a part by its name, or set ``name__parameter`` of a part."""
        bounds = {name: params.pop(name) for name in list(params) if name.startswith(PREFIX)}
        self._set_params("sanitizers", **params)
        if bounds:
            self.budget = with_bounds(self.budget, bounds)
        return self
