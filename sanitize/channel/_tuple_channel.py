"""Channels of the parts of a tuple, applied in turn, as one channel on the whole tuple."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sanitize.channel._channel import Channel
from sanitize.channel._stage import Stage
from sanitize.channel._tuple_memory import check_memory
from sanitize.channel._tuples import Tuples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sanitize.alphabet import Alphabet


def tuple_channel(inputs: Alphabet, groups: Sequence[Sequence[str]], channels: Sequence[Sequence[Channel]]) -> Channel:
    """Channel on tuples whose groups of columns pass through channels of their own; groups without one are kept.

    Parameters
    ----------
    inputs : Alphabet
        The tuples; its columns are those of the groups, in order.
    groups : sequence of sequence of str
    channels : sequence of sequence of Channel
        Channels of each group, to be applied in turn. The first ones of all groups come first: what merges symbols
        before anything is drawn keeps the tuples few.

    Raises
    ------
    ColumnError
        If the tuples would be too many, with an estimate and before their memory is taken.
    """
    tuples, alphabets = Tuples.split(inputs, groups)
    ends = [given[-1].outputs if given else alphabet for given, alphabet in zip(channels, alphabets, strict=True)]
    stages: list[Stage] = []
    merging, drawing = _steps(channels)
    for number, (part, kernel) in enumerate(merging + drawing):
        if number == len(merging):
            check_memory(tuples, drawing)
        stage, tuples = tuples.through(part, kernel)
        stages.append(stage)
    if not stages:
        stages = [Stage.deterministic(np.arange(len(inputs)), len(inputs))]
    return Channel(tuple(stages), inputs, tuples.alphabet(ends))


def _steps(channels: Sequence[Sequence[Channel]]) -> tuple[list[tuple[int, Stage]], list[tuple[int, Stage]]]:
    """Stages of all parts that merge, and the others: the first channel of each part, then the second, and so on."""
    merging: list[tuple[int, Stage]] = []
    others: list[tuple[int, Stage]] = []
    for turn in range(max((len(given) for given in channels), default=0)):
        for part, given in enumerate(channels):
            drawn = turn > 0
            for stage in given[turn].stages if turn < len(given) else ():
                drawn = drawn or not stage.is_deterministic
                (others if drawn else merging).append((part, stage))
    return merging, others
