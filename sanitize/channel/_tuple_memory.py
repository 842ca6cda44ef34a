"""What the channel of a whole tuple takes, estimated before it is made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sanitize.channel._stage import Stage
    from sanitize.channel._tuples import Tuples

# Bytes that a joint release may take. An entry is kept with its weight, and its keys are sorted beside it: estimates.
_MOST_BYTES = 2 << 30
_ENTRY_BYTES, _PART_BYTES = 110, 12


def check_memory(tuples: Tuples, steps: Sequence[tuple[int, Stage]]) -> None:
    """Refuse stages on parts of tuples that would take more memory than there may be, before any is taken.

    Where every part is drawn by one stage and its outputs tell their input (printing of merged symbols), the count of
    entries is exact; elsewhere it is at most all combinations of outputs.

    Parameters
    ----------
    tuples : Tuples
        Those that enter the first of the steps.
    steps : sequence of (int, Stage)
        Part, and the stage that draws it.

    Raises
    ------
    ColumnError
        If they would.
    """
    ways = np.ones(len(tuples))
    sizes = [float(size) for size in tuples.sizes]
    seen: set[int] = set()
    entries, bound = 0.0, float(len(tuples))
    for part, stage in steps:
        lengths = np.diff(stage.indptr)
        own: NDArray[np.float64] | float = float(lengths.max(initial=0))
        if part not in seen:
            own = lengths[tuples.codes[:, part]]
            seen.add(part)
        ways = ways * own
        entries += min(float(ways.sum()), bound * float(lengths.max(initial=0)))
        sizes[part] = float(stage.n_outputs)
        bound = min(float(ways.sum()), math.prod(sizes))
    n_bytes = entries * (_ENTRY_BYTES + _PART_BYTES * len(sizes))
    if n_bytes > _MOST_BYTES:
        raise ColumnError(
            f"{bound:.3g} released combinations would take an estimated {n_bytes / (1 << 30):.3g} GiB, more than "
            f"{_MOST_BYTES / (1 << 30):.3g}: release columns in groups, one part each (public=[...]), take "
            "output='label', whose parts draw nothing after merging, or use TreeMerging or TreeRandomResponse"
        )
