"""Profile of one table with all measures of the k-anonymity family, as a frozen value and as sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sanitize._util.formatting import Told, figure, percent, spell_infinities
from sanitize.theory.anonymity._classes import Columns, Others, class_names, class_sizes
from sanitize.theory.anonymity._closeness import beta_likeness, delta_disclosure, enhanced_beta_likeness, t_closeness
from sanitize.theory.anonymity._diversity import (
    alpha_k_anonymity,
    entropy_l_diversity,
    l_diversity,
    recursive_l_diversity,
)

# Function that measures each field of `AnonymityProfile`; the others have arguments or results of another kind.
_MEASURES: dict[str, Callable[..., Any]] = {
    "distinct_l": l_diversity,
    "entropy_l": entropy_l_diversity,
    "recursive_c": recursive_l_diversity,
    "t": t_closeness,
    "delta": delta_disclosure,
    "beta": beta_likeness,
    "enhanced_beta": enhanced_beta_likeness,
}


@dataclass(frozen=True)
class AnonymityProfile(Told):
    """All measures of the k-anonymity family for one table.

    Attributes
    ----------
    k : int
        `k_anonymity`.
    n_classes : int
        Number of classes of equal quasi-identifiers.
    unique : float
        Share of rows that are alone in their class.
    alpha, distinct_l, entropy_l, recursive_c, t, delta, beta, enhanced_beta
        Values of the functions of these names for the worst sensitive column; ``recursive_c`` is for l =
        ``distinct_l``.
    """

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    k: int
    n_classes: int
    unique: float
    alpha: float
    distinct_l: int
    entropy_l: float
    recursive_c: float
    t: float
    delta: float
    beta: float
    enhanced_beta: float

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentence that states the measures without naming a symbol."""
        return (
            f"Each class of rows with equal {', '.join(self.quasi_identifiers)} has at least k = {self.k} rows "
            f"({percent(self.unique)} of rows are alone); their sensitive values: l = {self.distinct_l} distinct "
            f"(entropy {figure(self.entropy_l)}), alpha = {figure(self.alpha)}, t = {figure(self.t)}, "
            f"delta = {figure(self.delta)}, beta = {figure(self.beta)}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as plain values, for the owner of the table."""
        return spell_infinities({"attack": "anonymity", **vars(self), "summary": list(self.summary)})


def anonymity_profile(
    table: Any, quasi_identifiers: Columns = None, sensitive: Columns = None, *, others: Others = "unknown"
) -> AnonymityProfile:
    """Compute every measure of the k-anonymity family at once.

    Parameters
    ----------
    table : DataFrame, pyarrow Table, array or ContingencyTable
    quasi_identifiers, sensitive : str or list of str
        Optional for a ContingencyTable; by default all its public and sensitive columns.
    others : {"unknown", "known"}
        ``known`` if a reader may know the other sensitive columns of a row, which then join the quasi-identifiers.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget.symmetric(0.5)
    >>> sanitizer = sz.Watchdog(budget, sensitive="survived", public=["class", "sex"], random_state=0)
    >>> released = sz.frames.release(df, sanitizer)
    >>> raw = sz.theory.anonymity.anonymity_profile(df, ["class", "sex"], "survived")
    >>> written = released.assign(survived=df["survived"])
    >>> after = sz.theory.anonymity.anonymity_profile(written, ["class", "sex"], "survived")
    >>> raw.k, round(raw.delta, 2), after.delta < raw.delta
    (23, 3.2, True)
    """
    public, secret = class_names(table, quasi_identifiers, sensitive)
    sizes = class_sizes(table, public)
    alone = float((sizes == 1).sum() / sizes.sum())
    alpha = alpha_k_anonymity(table, public, secret, others=others).alpha
    figures = {name: measure(table, public, secret, others=others) for name, measure in _MEASURES.items()}
    return AnonymityProfile(public, secret, int(sizes.min()), len(sizes), alone, alpha, **figures)
