"""Recipe that adds Gaussian noise to numeric columns with declared bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sanitize._util.limits import CHANNEL_CELLS
from sanitize.core.alphabet import Alphabet
from sanitize.core.binning import Grid
from sanitize.core.budgets import as_capacity_budget
from sanitize.core.channel import Channel
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.mechanisms import gaussian_channel, product_channel
from sanitize.release.design import Specification
from sanitize.release.fit import Recipe
from sanitize.release.layout import Layout
from sanitize.release.people import ROW
from sanitize.tables.columns import as_arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize._util.sampling.noise import Randomness
    from sanitize.core.budgets import CapacityBudget
    from sanitize.core.joint import JointDistribution
    from sanitize.mechanisms import Method
    from sanitize.release.first_pass import TableSource
    from sanitize.release.fit import FitOptions
    from sanitize.release.layout import ColumnSpec
    from sanitize.release.release import FittedRelease
    from sanitize.tables.columns import ArrowColumn

    Pair = Sequence[float]


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianChannelParameters:
    """Parameters of a Gaussian channel."""

    budget: CapacityBudget | float | None = field(default=None, kw_only=False)
    bounds: Mapping[str, Pair] | Pair | None = None
    step: Mapping[str, float] | float | None = None
    points: int = 33
    reach: float = 4.0
    method: Method = "exact"
    sensitive: ColumnSpec = None
    public: ColumnSpec = None
    bins: Mapping[str, Sequence[float] | int] | None = None
    keep_sensitive: bool = False
    random_state: Randomness = None


class GaussianChannelRecipe(GaussianChannelParameters, Recipe):
    """Add Gaussian noise to numeric columns, calibrated so that the channel's capacity is within a budget [WXH §5]."""

    # Grid points are released unchanged, none is pooled or unseen, and missing or infinite values are refused.
    needs_sensitive = False
    takes_channel = False
    # Numbers between declared bounds get noise: no number of the table is released, so nobody is identified by one.
    person = ROW
    handle_unknown = "error"

    def specification(self) -> Specification:
        """Return the budget, the Gaussian mechanism and the settings, after checking the parameters."""
        budget = as_capacity_budget(self.budget, "GaussianChannel")
        if not 0 < budget.nats < math.inf:
            raise InvalidParameter(
                f"budget must be a finite capacity > 0 (0 would need infinite noise), got {budget.nats}"
            )
        return Specification("Gaussian channel", _Noise(budget.nats, self.reach, self.method), budget, prints=False)

    def roles(self, table: TableSource) -> Layout:
        """Return the roles of the columns, with a grid of values for each public column."""
        layout = super().roles(table)
        binned = sorted(set(layout.bins) & set(layout.public))
        if binned:
            raise ColumnError(
                f"bins are for sensitive columns only; give bounds= for public column {binned[0]!r}", binned[0]
            )
        grids = {name: self._grid(name, as_arrow(table.columns[name], name)) for name in layout.public}
        return _GridLayout(layout.sensitive, layout.public, {**layout.bins, **grids})

    def _grid(self, name: str, column: ArrowColumn) -> Grid:
        """Grid of a public column, from its declared bounds and step."""
        pair = self.bounds.get(name) if isinstance(self.bounds, Mapping) else self.bounds
        if pair is None:
            raise ColumnError.fault(
                name,
                f"needs bounds={{{name!r}: (low, high)}}. Choose them without looking at the rows, "
                "because the smallest and the largest value belong to single people",
            )
        step = self.step.get(name) if isinstance(self.step, Mapping) else self.step
        return Grid.from_bounds(name, pair, step, self.points, column)

    def finish(self, release: FittedRelease, spec: Specification, options: FitOptions) -> FittedRelease:
        """Return the release with a channel for all grid points, including points that do not occur."""
        names, bins = release.layout.public, release.layout.bins
        assert isinstance(spec.mechanism, _Noise)
        return replace(release, channel=spec.mechanism.grid_channel(names, [bins[name].labels for name in names]))


@dataclass(frozen=True)
class _GridLayout(Layout):
    """Layout whose public columns may have a different value in every row, because no distribution is learned."""

    learns_public = False


@dataclass(frozen=True)
class _Noise:
    """Mechanism that adds Gaussian noise to every column and divides the capacity equally among the columns."""

    capacity: float
    reach: float
    method: Literal["exact", "closed_form"]

    def __call__(self, joint: JointDistribution) -> Channel:
        """Return the channel whose inputs are the tuples that occur and whose outputs are all tuples on the grid."""
        full = self.grid_channel(joint.public.columns, joint.public.levels)
        rows = full.inputs.encode(joint.public.decode(np.arange(len(joint.public))))
        return Channel((full.stages[0].take(rows), *full.stages[1:]), joint.public, full.outputs)

    def grid_channel(self, names: tuple[str, ...], levels: Sequence[Any]) -> Channel:
        """Channel on all tuples of grid points, given the grid of each column."""
        grids = tuple(tuple(level.to_pylist()) for level in levels)
        # 1 and 1.0 are equal as keys of a cache, but differ as symbols.
        return _product(self, names, grids, tuple(isinstance(grid[0], int) for grid in grids))


@lru_cache(maxsize=4)
def _product(
    noise: _Noise, names: tuple[str, ...], grids: tuple[tuple[float, ...], ...], whole: tuple[bool, ...]
) -> Channel:
    """Channel on all tuples of grid points."""
    share = noise.capacity / len(grids)
    channels = [
        gaussian_channel(grid, share, step=grid[1] - grid[0], reach=noise.reach, method=noise.method) for grid in grids
    ]
    n_x, n_y = (math.prod(sizes) for sizes in zip(*((c.n_inputs, c.n_outputs) for c in channels), strict=True))
    if n_x * n_y > CHANNEL_CELLS:
        raise InvalidParameter(
            f"{n_x} combinations of grid points with {n_y} released combinations are too many to measure; "
            "give a larger step, a smaller reach, or fewer columns"
        )
    released = [
        [round(y) for y in channel.outputs.symbols] if ints else list(channel.outputs.symbols)
        for channel, ints in zip(channels, whole, strict=True)
    ]
    return product_channel(channels, _tuples(names, grids), _tuples(names, released))


def _tuples(names: tuple[str, ...], grids: Sequence[Sequence[float]]) -> Alphabet:
    """Alphabet of all tuples of grid points in lexicographic order."""
    places = np.indices([len(grid) for grid in grids]).reshape(len(grids), -1)
    return Alphabet.from_table({n: np.asarray(g)[p] for n, g, p in zip(names, grids, places, strict=True)}, names)
