"""Channels of the parts of a tuple, combined into one channel on the whole tuple, and an estimate of its memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import Vector
from sanitize.core.channel._channel import Channel
from sanitize.core.channel._stage import Stage
from sanitize.core.channel._tuples import Tuples
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.core.alphabet import Alphabet

# A larger joint release fails with an estimate at once, not for lack of memory after minutes: 2 GiB fit most machines.
# The other numbers are bytes per entry: the entry, its weight and its sorted keys.
_CHANNEL_BYTES = 2 << 30
_ENTRY_BYTES, _PART_BYTES = 110, 12


def tuple_channel(inputs: Alphabet, groups: Sequence[Sequence[str]], channels: Sequence[Sequence[Channel]]) -> Channel:
    """Channel on tuples that passes each group of columns through its own channels; groups without channels are kept.

    Parameters
    ----------
    inputs : Alphabet
        Alphabet of the tuples; its columns are those of the groups, in order.
    groups : sequence of sequence of str
    channels : sequence of sequence of Channel
        Channels of each group, to be applied in turn. The first channels of all groups are applied first, because
        merging symbols before anything is drawn keeps the tuples few.

    Raises
    ------
    ColumnError
        If there would be too many tuples; raised with an estimate before any memory is allocated.
    """
    tuples, alphabets = Tuples.from_alphabet(inputs, groups)
    ends = [
        part_channels[-1].outputs if part_channels else alphabet
        for part_channels, alphabet in zip(channels, alphabets, strict=True)
    ]
    stages: list[Stage] = []
    merging, drawing = _steps(channels)
    for number, (part, kernel) in enumerate(merging + drawing):
        if number == len(merging):
            check_memory(tuples, drawing)
        stage, tuples = tuples.pass_part(part, kernel)
        stages.append(stage)
    if not stages:
        stages = [Stage.deterministic(np.arange(len(inputs)), len(inputs))]
    return Channel(tuple(stages), inputs, tuples.alphabet(ends))


def _steps(channels: Sequence[Sequence[Channel]]) -> tuple[list[tuple[int, Stage]], list[tuple[int, Stage]]]:
    """Return merging and drawing stages with the numbers of their parts: all parts' first channels, then the second."""
    merging: list[tuple[int, Stage]] = []
    drawing: list[tuple[int, Stage]] = []
    for turn in range(max((len(part_channels) for part_channels in channels), default=0)):
        for part, part_channels in enumerate(channels):
            drawn = turn > 0
            for stage in part_channels[turn].stages if turn < len(part_channels) else ():
                drawn = drawn or not stage.is_deterministic
                (drawing if drawn else merging).append((part, stage))
    return merging, drawing


def check_memory(tuples: Tuples, steps: Sequence[tuple[int, Stage]]) -> None:
    """Refuse stages on parts of tuples that would take too much memory, before any is allocated.

    The estimated number of entries is exact if one stage draws every part and its outputs determine its input (as when
    merged symbols are printed as members). Otherwise it is at most the number of all combinations of outputs.

    Parameters
    ----------
    tuples : Tuples
        Input tuples of the first step.
    steps : sequence of (int, Stage)
        Number of a part, and the stage that draws it.

    Raises
    ------
    ColumnError
        If the stages would take too much memory.
    """
    ways = np.ones(len(tuples))
    sizes = [float(size) for size in tuples.sizes]
    seen: set[int] = set()
    entries, bound = 0.0, float(len(tuples))
    for part, stage in steps:
        lengths = np.diff(stage.indptr)
        row_ways: Vector | float = float(lengths.max(initial=0))
        if part not in seen:
            row_ways = lengths[tuples.codes[:, part]]
            seen.add(part)
        ways = ways * row_ways
        entries += min(float(ways.sum()), bound * float(lengths.max(initial=0)))
        sizes[part] = float(stage.n_outputs)
        bound = min(float(ways.sum()), math.prod(sizes))
    n_bytes = entries * (_ENTRY_BYTES + _PART_BYTES * len(sizes))
    if n_bytes > _CHANNEL_BYTES:
        raise ColumnError(
            f"{bound:.3g} released combinations would take an estimated {n_bytes / (1 << 30):.3g} GiB, more than "
            f"the limit of {_CHANNEL_BYTES / (1 << 30):.3g} GiB: release the columns in several groups "
            "(public=[...]), or all of them with LatentClassRelease"
        )
