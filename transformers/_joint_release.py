"""Several groups of columns, each with a channel of its own, and kept columns, under one joint budget."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _BaseComposition

from sanitize._checks import positive
from sanitize._release.design import Recipe
from sanitize.budgets import as_budget
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.report import ReleaseFacts
from sanitize.transformers._bounds import PREFIX, bounds_of, with_bounds
from sanitize.transformers._joint_design import JointLayout, JointPlan
from sanitize.transformers._roles import _select, require_named, with_sensitive
from sanitize.transformers._sanitizer import Sanitizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._release.layout import Layout
    from sanitize._sampling.noise import Randomness
    from sanitize._tables.frame import Table
    from sanitize.binning import Bins
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable, JointDistribution
    from sanitize.transformers._roles import ColumnSpec


class JointRelease(Sanitizer, _BaseComposition):  # type: ignore[misc]
    """Several groups of public columns, each through a channel of its own, and kept columns, under one budget.

    The verdict is about everything that is released together: every tuple of released symbols and kept values must be
    within the joint budget, exactly, under the joint law of the table. Budgets of parts do not add up to a joint one:
    two columns that tell little each can tell much together (`sanitize.accounting.independent_release_budget`).

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
    budget : Budget or float
        What every released tuple may leak; a number is symmetric local information privacy (LIP) in nats. None, the
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
    sanitize.accounting.joint_release : the joint law of releases that are there already.

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

    # What the base reads of parameters that the parts have.
    public = None
    smoothing = 0.0
    min_count = 0
    keep_sensitive = False

    def __init__(
        self,
        sanitizers: Sequence[tuple[str, Sanitizer]] = (),
        budget: Budget | float | None = None,
        *,
        sensitive: ColumnSpec = None,
        keep: ColumnSpec = None,
        weights: Mapping[str, float] | None = None,
        missing: Literal["category", "error"] = "category",
        handle_unknown: Literal["high_risk", "error"] = "high_risk",
        random_state: Randomness = None,
    ) -> None:
        self.sanitizers = sanitizers
        self.budget = budget
        self.sensitive = sensitive
        self.keep = keep
        self.weights = weights
        self.missing = missing
        self.handle_unknown = handle_unknown
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Parameters of the estimator and, as ``name__parameter``, of its parts."""
        params: dict[str, Any] = self._get_params("sanitizers", deep=deep)
        return params | bounds_of(self.budget) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, replace a part by its name, or set ``name__parameter`` of a part."""
        bounds = {name: params.pop(name) for name in list(params) if name.startswith(PREFIX)}
        self._set_params("sanitizers", **params)
        if bounds:
            self.budget = with_bounds(self.budget, bounds)
        return self

    @property
    def bins(self) -> dict[str, Any]:  # type: ignore[override]
        """Bins of all parts, by column."""
        found: dict[str, Any] = {}
        for name, part in self.sanitizers:
            own = part.bins
            found |= own if isinstance(own, Mapping) else {} if own is None else {f"(part {name})": own}
        return found

    @property
    def release(self) -> Literal["resample", "label"]:  # type: ignore[override]
        """What the report says of printing: labels where all parts release labels."""
        kinds = {part.release for _, part in self.sanitizers}
        return "label" if kinds == {"label"} else "resample"

    def _recipe(self) -> Recipe:
        budget = as_budget(self.budget)
        self._check_parts()
        # The parts print what they release, and the plan made at fit takes the place of the mechanism.
        return Recipe("joint release", _not_planned, budget, release=self.release, prints=False)

    def _check_parts(self) -> None:
        """Refuse parts that are no pairs, that are not sanitizers, or that contradict the whole."""
        for pair in self.sanitizers:
            if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str)):
                raise InvalidParameter("sanitizers must be a list of (name, sanitizer) pairs")
            name, part = pair
            if isinstance(part, Sanitizer) and not part._is_part:
                raise InvalidParameter(
                    f"part {name!r}: {type(part).__name__} releases a whole table and is no part of a joint release; "
                    "give all columns to it as public, or release apart and record both in one sanitize.Ledger"
                )
            if not isinstance(part, Sanitizer) or isinstance(part, JointRelease):
                raise InvalidParameter(
                    f"part {name!r} must be a sanitizer of sanitize.transformers with channels of its own, "
                    f"got {type(part).__name__}"
                )
            settings = part.get_params(deep=False)
            for setting, whole in (("random_state", None), ("keep_sensitive", False)):
                if settings.get(setting) not in (None, whole):
                    raise InvalidParameter(
                        f"part {name!r}: leave {setting} at its default; it is JointRelease's matter"
                    )
            if settings.get("confidence") is not None:
                raise InvalidParameter(
                    f"part {name!r}: leave confidence out; a joint release is designed and judged for the "
                    "frequencies of its table, and its report adds the worst case of a sample"
                )
            for setting, default in (("missing", "category"), ("handle_unknown", "high_risk")):
                if settings.get(setting, default) not in (default, getattr(self, setting)):
                    raise InvalidParameter(f"part {name!r}: give {setting} to JointRelease, for all columns alike")
        self._validate_names([name for name, _ in self.sanitizers])
        _check_weights(self.weights, {name for name, part in self.sanitizers if part.budget is None})
        if not self.sanitizers and self.keep is None:
            raise InvalidParameter("there is nothing to release: give sanitizers, keep, or both")

    def _layout(
        self, table: Table, sensitive_features: Any, weights: NDArray[np.float64] | None
    ) -> tuple[Layout, Mapping[str, Any]]:
        """Roles of the columns, those of the parts in order and then the kept ones."""
        require_named(table, self.sensitive, *(part.public for _, part in self.sanitizers), self.keep)
        sensitive, source = with_sensitive(table, self.sensitive, sensitive_features)
        if not sensitive:
            raise ColumnError(
                "JointRelease needs to know what is sensitive: name columns with sensitive=, or pass them to fit as "
                "sensitive_features (y is never taken as sensitive)"
            )
        keep = _select(self.keep, "keep", table)
        layouts: dict[str, Layout] = {}
        bins: dict[str, Bins] = {}
        for name, part in self._with_columns(table, sensitive, keep):
            if part.sensitive is not None and set(_select(part.sensitive, "sensitive", table)) != set(sensitive):
                raise ColumnError(f"part {name!r} has other sensitive columns than JointRelease; leave them at None")
            part.sensitive = None if sensitive_features is not None else list(sensitive)
            layouts[name], _ = part._layout(table, sensitive_features, weights)
            for column, own in layouts[name].bins.items():
                if bins.setdefault(column, own) != own:
                    raise ColumnError(f"the parts bin the column {column!r} differently; bin it once", column)
        public = (*(column for layout in layouts.values() for column in layout.public), *keep)
        _check_disjoint(public, sensitive)
        labelled = {c for name, part in self.sanitizers if part.release == "label" for c in layouts[name].public}
        # Bins of a sensitive column are one part's or another's, but all parts must see the same symbols.
        layouts = {name: _binned(layout, bins) for name, layout in layouts.items()}
        return JointLayout(sensitive, public, bins, self.missing, frozenset(labelled), layouts, keep), source

    def _with_columns(
        self, table: Table, sensitive: tuple[str, ...], keep: tuple[str, ...]
    ) -> list[tuple[str, Sanitizer]]:
        """Clones of the parts, each with the names of its columns."""
        parts = [(name, clone(part)) for name, part in self.sanitizers]
        open_ = [(name, part) for name, part in parts if part.public is None]
        if len(open_) > 1:
            raise ColumnError(f"parts {open_[0][0]!r} and {open_[1][0]!r} both have public=None; name their columns")
        taken = {*sensitive, *keep}
        for _, part in parts:
            if part.public is not None:
                part.public = list(_select(part.public, "public", table))
                taken |= set(part.public)
        for name, part in open_:
            part.public = [column for column in table.names if column not in taken]
            if not part.public:
                raise ColumnError(
                    f"no public column is left for part {name!r}: the table has {len(table)} feature(s) and all "
                    "are sensitive, kept or another part's"
                )
        return parts

    def _fit_counts(self, layout: Layout, counts: ContingencyTable, recipe: Recipe, clipped: Mapping[str, int]) -> Self:
        assert isinstance(layout, JointLayout)
        layout.check_distinct(counts)
        if recipe.given is not None:
            facts = ReleaseFacts(kept=layout.keep)
            return super()._fit_counts(layout, counts, replace(recipe, facts=facts), clipped)
        parts = [(name, clone(part)) for name, part in self.sanitizers]
        with _naming(layout.public):
            plan = JointPlan.of(layout, parts, counts, recipe.budget, self.weights or {})
        super()._fit_counts(layout, counts, replace(recipe, mechanism=plan.mechanism, facts=plan.facts), clipped)
        self.channels_: dict[str, Channel] = plan.channels
        return self


@contextlib.contextmanager
def _naming(columns: tuple[str, ...]) -> Iterator[None]:
    """Errors about all columns together, with their names."""
    try:
        yield
    except ColumnError as error:
        if error.column is not None:
            raise
        names = ", ".join(repr(name) for name in columns)
        raise ColumnError(f"the columns {names} cannot be released together: {error}") from None


def _check_weights(weights: Any, names: set[str]) -> None:
    if weights is None:
        return
    if not isinstance(weights, Mapping):
        raise InvalidParameter(f"weights must map names of parts to numbers, got {type(weights).__name__}")
    for name, weight in weights.items():
        if name not in names:
            raise InvalidParameter(f"weights: there is no part {name!r} without a budget of its own")
        if not 0 < positive(f"weights[{name!r}]", weight) < math.inf:
            raise InvalidParameter(f"weights[{name!r}] must be finite, got {weight!r}")


def _not_planned(_: JointDistribution) -> Channel:
    raise AssertionError("a joint release is planned from counts")  # pragma: no cover


def _check_disjoint(public: tuple[str, ...], sensitive: tuple[str, ...]) -> None:
    for i, name in enumerate(public):
        if name in public[:i]:
            raise ColumnError(f"column {name!r} is released twice: it belongs to one part, or to keep", name)
        if name in sensitive:
            raise ColumnError(f"column {name!r} is listed both as sensitive and as released; choose one", name)


def _binned(layout: Layout, bins: Mapping[str, Bins]) -> Layout:
    """Layout of a part with the bins of sensitive columns that other parts brought."""
    own = {name: bins[name] for name in (*layout.sensitive, *layout.public) if name in bins}
    return type(layout)(layout.sensitive, layout.public, own, layout.missing)
