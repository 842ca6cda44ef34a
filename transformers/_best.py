"""The estimator that chooses its mechanism: all that fit are designed, and the one that keeps most is taken."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sanitize._release.design import Recipe, design
from sanitize._release.release import no_mechanism
from sanitize.budgets import as_budget
from sanitize.suggestion import comparison_section, kinds_for, most_useful
from sanitize.transformers._merging import SubsetMerging, Watchdog
from sanitize.transformers._random_response import OptimalRandomResponse, SubsetRandomResponse
from sanitize.transformers._sanitizer import Sanitizer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sanitize._release.design import Design
    from sanitize._release.layout import Layout
    from sanitize.joint import ContingencyTable
    from sanitize.report import ReleaseFacts

_ESTIMATORS: dict[str, type[Sanitizer]] = {
    "watchdog": Watchdog,
    "subset merging": SubsetMerging,
    "optimal random response": OptimalRandomResponse,
    "subset random response": SubsetRandomResponse,
}
# Robust responses take longer: with a confidence they fit up to so many public symbols.
_MOST_ROBUST = 60


class BestSanitizer(Sanitizer):
    """The mechanism that keeps most of what is printed, of those that fit the table and the budget.

    Watchdog, subset merging, and for lift and LDP budgets the optimal and the subset random response are designed
    for the same budget; equals to a millionth go to the simplest. The report names the one that was chosen as its
    mechanism, and lists the others inside. The same table and settings choose the same one on every machine.

    Parameters
    ----------
    budget : Budget or float
        What each released symbol may leak; a number is symmetric local information privacy (LIP) in nats.
        None, the default, raises at fit: there is no silent budget.
    sensitive, public : str, list of str or of positions, or callable, optional
        Columns by name or position. ``public=None`` means all but the sensitive ones; several public columns
        are released as one tuple, so that the budget holds for them together.
    bins : dict of column to edges or number, or int, optional
        Intervals for numeric columns: declared edges, or a number of quantile bins.
    release : {"resample", "label"}
        Print a released symbol as a public one drawn from P(x|y), or as a readable label.
    handle_unknown : {"high_risk", "error"}
        Symbols not seen at fit are released like the riskiest one, or refused.
    missing : {"category", "error"}
        Missing values are one symbol, or refused.
    smoothing : float
        Added to every cell of the counts: a prior, reported as such.
    min_count : int
        Public symbols in fewer rows are pooled before the design.
    confidence : float, optional
        None claims that the rows are everybody, and the budget holds for their frequencies. With 0.95, say, the
        rows are a sample: the budget holds for every law that the counts allow at this confidence, and the report
        is about all of them. Lift and LDP budgets only; not with weights, smoothing or learned bin edges.
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
    sanitize.compare : the same comparison, as a table.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import BestSanitizer
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = BestSanitizer(0.5, sensitive="survived", public=["class", "sex"], release="label").fit(df)
    >>> sanitizer.report_.facts.mechanism
    'optimal random response'
    """

    _is_part = False

    def _recipe(self) -> Recipe:
        return self._with_settings("auto", no_mechanism, as_budget(self.budget))

    def _design(
        self,
        layout: Layout,
        counts: ContingencyTable,
        recipe: Recipe,
        facts: ReleaseFacts,
        clipped: Mapping[str, int],
    ) -> tuple[Recipe, Design]:
        kinds = kinds_for(counts.counts.shape[1], recipe.budget)
        if self.confidence is not None and counts.counts.shape[1] > _MOST_ROBUST:
            kinds = [kind for kind in kinds if not kind.is_response]
        recipes = [_ESTIMATORS[kind.name](**self.get_params(deep=False))._recipe() for kind in kinds]
        designs = [design(layout, counts, one, facts, clipped) for one in recipes]
        chosen = most_useful([one.report.summary["normalized_utility"] for one in designs])
        words = f"{recipes[chosen].name} was chosen, because it keeps most."
        section = comparison_section([one.report for one in designs], words)
        made = designs[chosen]
        return recipes[chosen], replace(made, report=made.report.with_section(section))
