"""Releases of the same rows side by side: each draws by itself, given its own symbol of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize.alphabet import Alphabet
from sanitize.channel import Channel, Stage, Tuples, tuple_channel

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Beside:
    """A release as it is measured beside others.

    Attributes
    ----------
    column : str
        Name of its symbols among those of all releases.
    stages : tuple of Stage
        From the number of a symbol to what is drawn; none where the symbol itself is told.
    """

    column: str
    stages: tuple[Stage, ...]

    def channels(self, symbols: Alphabet) -> list[Channel]:
        """Channel from the symbols that occur to what is drawn, if anything is."""
        if not self.stages:
            return []
        first, *others = self.stages
        stages = (first.take(np.asarray(symbols.symbols)), *others)
        return [Channel(stages, symbols, Alphabet.of_size(self.column, stages[-1].n_outputs))]


def side_by_side(public: Alphabet, releases: Sequence[Beside]) -> Channel:
    """Channel of all releases together, on tuples of their symbols; columns of no release are kept as they are.

    Raises
    ------
    ColumnError
        If the tuples would be too many.
    """
    by_column = {release.column: release for release in releases}
    groups = [(name,) for name in public.columns]
    channels = [
        by_column[name].channels(symbols) if name in by_column else []
        for name, symbols in zip(public.columns, Tuples.split(public, groups)[1], strict=True)
    ]
    return tuple_channel(public, groups, channels)
