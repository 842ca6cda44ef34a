"""Recipe for several groups of columns, each with its own channel, and kept columns, under one joint budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from sanitize._util.checks import check_number
from sanitize.core.budgets import declared_budget
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.design import Specification
from sanitize.release.fit import Recipe
from sanitize.release.layout import public_columns, require_columns, select
from sanitize.release.recipes.joint_plan import JointLayout, JointPlan
from sanitize.report import ReleaseFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize._util.sampling.noise import Randomness
    from sanitize.core.binning import Bins
    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.joint import JointDistribution
    from sanitize.release.first_pass import RowCounts, TableSource
    from sanitize.release.fit import FitOptions, Missing
    from sanitize.release.layout import ColumnSpec, Layout
    from sanitize.release.release import FittedRelease, Unknown
    from sanitize.tables.frame import Table


@dataclass(eq=False, repr=False, kw_only=True)
class JointReleaseParameters:
    """Parameters of a joint release."""

    sanitizers: Sequence[tuple[str, Recipe]] = field(default=(), kw_only=False)
    budget: Budget | None = field(default=None, kw_only=False)
    sensitive: ColumnSpec = None
    keep: ColumnSpec = None
    weights: Mapping[str, float] | None = None
    missing: Missing = "category"
    handle_unknown: Unknown = "high_risk"
    person: str | None = None
    random_state: Randomness = None


class JointReleaseRecipe(JointReleaseParameters, Recipe):
    """Release several groups of public columns, each through its own channel, and kept columns, under one budget."""

    counts_people = False

    @cached_property
    def parts(self) -> list[tuple[str, Recipe]]:
        """Return the recipe of each part, by name.

        Raises
        ------
        InvalidParameter
            If a part is not a pair, or its sanitizer cannot take part in a joint release.
        """
        entries = []
        for pair in self.sanitizers:
            if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str)):
                raise InvalidParameter(
                    f"sanitizers must be a list of (name, sanitizer) pairs, got {type(pair).__name__}"
                )
            name, part = pair
            recipe = part.recipe() if hasattr(part, "recipe") else part
            if not isinstance(recipe, Recipe) or isinstance(recipe, JointReleaseRecipe):
                raise InvalidParameter(
                    f"part {name!r} must be a sanitizer of sanitize.transformers other than JointRelease, "
                    f"got {type(part).__name__}"
                )
            entries.append((name, recipe))
        return entries

    @property
    def bins(self) -> dict[str, Any]:
        """Bins of the columns of all parts."""
        by_column: dict[str, Any] = {}
        for name, part in self.parts:
            if part.bins is not None:
                by_column |= part.bins if isinstance(part.bins, Mapping) else {f"(part {name})": part.bins}
        return by_column

    def specification(self) -> Specification:
        """Return a specification of the budget alone, because `JointPlan` replaces the mechanism."""
        budget = declared_budget(self.budget)
        for name, part in self.parts:
            if fault := self._find_fault(part):
                raise InvalidParameter(f"part {name!r}: {fault}")
        _check_names([name for name, _ in self.parts], {item.name for item in fields(self)})
        _check_weights(self.weights, {name for name, part in self.parts if part.budget is None})
        if not self.parts and self.keep is None:
            raise InvalidParameter("there is nothing to release: give sanitizers, keep, or both")
        return Specification("joint release", _no_mechanism, budget, prints=False)

    def _find_fault(self, part: Recipe) -> str:
        """Describe why a part contradicts the joint release, and the remedy; empty if there is no contradiction."""
        if not part.is_part:
            return (
                f"{part.estimator()} releases a whole table and cannot be part of a joint release; give all columns to "
                "it as public, or make two releases and record both in a sanitize.Ledger"
            )
        for setting in ("random_state", "keep_sensitive", "person"):
            if (value := vars(part).get(setting)) is not None and value is not False:
                return f"leave {setting} at its default, and give {setting} to JointRelease"
        if part.promise is not None:
            words = "a joint release is designed from counts without noise; leave out"
            return f"{words} {part.promise.keyword}, or release all columns as one tuple"
        if part.confidence is not None:
            return (
                "leave confidence out; a joint release is designed and judged for the frequencies of its table, and "
                "its report adds the worst case of a sample"
            )
        if part.side_columns:
            return (
                "leave side_columns out; its limit covers a single channel, and a joint release has several: release "
                "these columns alone"
            )
        if part.budget is None and not part.takes_any_budget:
            return (
                f"it has no budget, and {part.estimator()} cannot be designed given the other columns: give it a "
                "budget of its own, or use SubsetMerging or Watchdog, which take what the joint budget leaves"
            )
        if part.budget is None and part.smoothing:
            return (
                "it has no budget of its own, so it is designed on the joint frequencies of all columns as they are: "
                f"smoothing must be 0, got {part.smoothing!r}"
            )
        for setting, default in (("missing", "category"), ("handle_unknown", "high_risk")):
            if vars(part).get(setting, default) not in (default, getattr(self, setting)):
                return f"leave {setting} out, and give {setting} to JointRelease for all columns"
        return ""

    def roles(self, table: TableSource) -> Layout:
        """Roles of the columns: first the columns of each part, in order, then the kept columns."""
        head = table.head
        require_columns(head, self.sensitive, *(part.public for _, part in self.parts), self.keep)
        sensitive = self.sensitive_names(table)
        keep = select("keep", self.keep, head)
        layouts: dict[str, Layout] = {}
        bins: dict[str, Bins] = {}
        for name, part in self._with_columns(head, sensitive, keep):
            if part.sensitive is not None and set(select("sensitive", part.sensitive, head)) != set(sensitive):
                raise ColumnError(f"part {name!r} sets sensitive= to other columns than JointRelease; leave it out")
            own_sensitive = None if table.features else list(sensitive)
            layouts[name] = part.with_changes(sensitive=own_sensitive).roles(table)
            for column, binning in layouts[name].bins.items():
                if bins.setdefault(column, binning) != binning:
                    raise ColumnError(
                        f"two parts give different bins to column {column!r}; give its bins in one part only", column
                    )
        public = (*(column for layout in layouts.values() for column in layout.public), *keep)
        for i, name in enumerate(public):
            if name in public[:i]:
                raise ColumnError.fault(name, "is released twice: name it in one part, or in keep")
            if name in sensitive:
                raise ColumnError.fault(name, "is listed both as sensitive and as released; choose one")
        # Any part may give the bins of a sensitive column, but all parts must see the same symbols.
        for name, layout in layouts.items():
            part_bins = {column: bins[column] for column in (*layout.sensitive, *layout.public) if column in bins}
            layouts[name] = replace(layout, bins=part_bins)
        return JointLayout(sensitive, public, bins, self.missing, keep, parts=layouts)

    def _with_columns(
        self, table: Table, sensitive: tuple[str, ...], keep: tuple[str, ...]
    ) -> list[tuple[str, Recipe]]:
        """Return the parts with the names of their columns resolved."""
        open_ = [name for name, part in self.parts if part.public is None]
        if len(open_) > 1:
            raise ColumnError(
                f"parts {open_[0]!r} and {open_[1]!r} both have public=None; name the columns of each part"
            )
        by_part = {name: select("public", part.public, table) for name, part in self.parts if part.public is not None}
        taken = {*sensitive, *keep, *chain(*by_part.values())}
        by_part |= {name: public_columns(table, None, taken) for name in open_}
        return [(name, part.with_changes(public=list(by_part[name]))) for name, part in self.parts]

    def resolve(
        self, spec: Specification, layout: Layout, counts: RowCounts, channel: Channel | None
    ) -> tuple[Specification, Layout]:
        """Design every part given the others; return the specification with the joint plan, and the layout."""
        assert isinstance(layout, JointLayout)
        if channel is not None:
            return replace(spec, facts=ReleaseFacts(kept=layout.keep)), layout
        try:
            plan = JointPlan.design(layout, self.parts, counts.table, spec.budget, self.weights or {})
        except ColumnError as error:
            if error.column is not None:
                raise
            names = ", ".join(repr(name) for name in layout.public)
            raise ColumnError(f"the columns {names} cannot be released together: {error}") from None
        return replace(spec, mechanism=plan, facts=plan.facts), layout

    def finish(self, release: FittedRelease, spec: Specification, options: FitOptions) -> FittedRelease:
        """Return the release with the channel of each part."""
        plan = spec.mechanism
        return replace(release, parts=plan.channels) if isinstance(plan, JointPlan) else release


def _no_mechanism(_: JointDistribution) -> Channel:
    """Stand-in for the mechanism, which the plan of the parts replaces."""
    raise AssertionError("this function stands in for a mechanism and must not be called")  # pragma: no cover


def _check_names(names: Sequence[str], parameters: set[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidParameter(f"two parts have the name {name!r}; rename one of them")
        if name in parameters or "__" in name:
            raise InvalidParameter(
                f"a part cannot have the name {name!r}: it must not be a parameter of JointRelease or contain '__'; "
                "rename the part"
            )


def _check_weights(weights: Any, names: set[str]) -> None:
    if weights is None:
        return
    if not isinstance(weights, Mapping):
        raise InvalidParameter(f"weights must map names of parts to numbers, got {type(weights).__name__}")
    for name, weight in weights.items():
        if name not in names:
            raise InvalidParameter(
                f"weights must name parts without a budget of their own, got {name!r}; leave this name out"
            )
        check_number(f"weights[{name!r}]", weight, "be a finite number > 0", lambda value: 0 < value < math.inf)
