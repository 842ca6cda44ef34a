"""Several groups of columns, each with a channel of its own, and kept columns, under one joint budget."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from sanitize._checks import positive
from sanitize._release.design import Recipe
from sanitize._release.designers.designer import Designer
from sanitize._release.designers.joint_design import JointLayout, JointPlan
from sanitize._release.designers.roles import _select, require_named, with_sensitive
from sanitize.budgets import as_budget
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.report import ReleaseFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize._release.designers.roles import ColumnSpec
    from sanitize._release.layout import Layout
    from sanitize._sampling.noise import Randomness
    from sanitize._tables.frame import Table
    from sanitize.binning import Bins
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.joint import ContingencyTable, JointDistribution


class JointRelease(Designer):
    """Several groups of public columns, each through a channel of its own, and kept columns, under one budget."""

    # What the base reads of parameters that the parts have.
    public = None
    smoothing = 0.0
    min_count = 0
    keep_sensitive = False

    def __init__(
        self,
        sanitizers: Sequence[tuple[str, Designer]] = (),
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

    @property
    def bins(self) -> dict[str, Any]:  # type: ignore[override]
        """Bins of all parts, by column."""
        found: dict[str, Any] = {}
        for name, part in self.sanitizers:
            own = part.bins
            found |= own if isinstance(own, Mapping) else {} if own is None else {f"(part {name})": own}
        return found

    @property
    def output(self) -> Literal["resample", "label"]:  # type: ignore[override]
        """What the report says of printing: labels where all parts release labels."""
        kinds = {part.output for _, part in self.sanitizers}
        return "label" if kinds == {"label"} else "resample"

    def _recipe(self) -> Recipe:
        budget = as_budget(self.budget)
        self._check_parts()
        # The parts print what they release, and the plan made at fit takes the place of the mechanism.
        return Recipe("joint release", _not_planned, budget, output=self.output, prints=False)

    def _check_parts(self) -> None:
        """Refuse parts that are no pairs, that are not sanitizers, or that contradict the whole."""
        for pair in self.sanitizers:
            if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str)):
                raise InvalidParameter("sanitizers must be a list of (name, sanitizer) pairs")
            name, part = pair
            if isinstance(part, Designer) and not part._is_part:
                raise InvalidParameter(
                    f"part {name!r}: {type(part).__name__} releases a whole table and is no part of a joint release; "
                    "give all columns to it as public, or release apart and record both in one sanitize.Ledger"
                )
            if not isinstance(part, Designer) or isinstance(part, JointRelease):
                raise InvalidParameter(
                    f"part {name!r} must be a sanitizer of sanitize.transformers with channels of its own, "
                    f"got {type(part).__name__}"
                )
            settings = part._parameters()
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
        _check_names([name for name, _ in self.sanitizers], self._parameters())
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
        labelled = {c for name, part in self.sanitizers if part.output == "label" for c in layouts[name].public}
        # Bins of a sensitive column are one part's or another's, but all parts must see the same symbols.
        layouts = {name: _binned(layout, bins) for name, layout in layouts.items()}
        return JointLayout(sensitive, public, bins, self.missing, frozenset(labelled), layouts, keep), source

    def _with_columns(
        self, table: Table, sensitive: tuple[str, ...], keep: tuple[str, ...]
    ) -> list[tuple[str, Designer]]:
        """Clones of the parts, each with the names of its columns."""
        parts = [(name, part._copy()) for name, part in self.sanitizers]
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
        parts = [(name, part._copy()) for name, part in self.sanitizers]
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


def _check_names(names: Sequence[str], parameters: Mapping[str, Any]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidParameter(f"the names of parts are not unique: {name!r} is there twice; rename one")
        if name in parameters or "__" in name:
            raise InvalidParameter(
                f"a part cannot be called {name!r}: it is the name of a parameter, or has two underscores in a row, "
                "which scikit-learn reads as part__parameter; rename it"
            )


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
