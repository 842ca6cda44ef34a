"""Blocks of cells that are likely to pass, put together from the cells of a tree: worst first, at the least loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize.mechanisms._trees.foresight import foreseen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.mechanisms._trees.foresight import Foresight
    from sanitize.trees import Profiles

STEPS = 32  # of each column, by which losses are compared
# Times what is asked that blocks must show on the rows of the design: the mildest ones may fail on fresh rows.
_SURE = (1.0, 1.5, 2.2, 3.3, 5.0, 8.0, 12.0)
_SHORTLIST = 8  # partners where none makes a block that shows enough


@dataclass(frozen=True, eq=False)
class Agglomeration:
    """Blocks, each of two earlier ones from the first n_cells on, which are the cells.

    Attributes
    ----------
    blocks : ndarray of bool, shape (n_blocks, n_cells)
    parts : ndarray of int, shape (n_blocks - n_cells, 2)
        The two blocks that each later one is made of.
    """

    blocks: NDArray[np.bool_]
    parts: NDArray[np.intp]

    def finest(self, passed: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Block of each cell, of the finest partition into blocks that passed; one block if there is none."""
        n_blocks, n_cells = self.blocks.shape
        found: list[list[int]] = [[i] if passed[i] else [] for i in range(n_cells)]
        for own, pair in enumerate(self.parts, n_cells):
            sides = [found[part] for part in pair]
            found.append(sides[0] + sides[1] if all(sides) else [own] if passed[own] else [])
        tops = np.setdiff1d(np.arange(n_blocks), self.parts)
        if not all(found[top] for top in tops):
            return np.zeros(n_cells, np.intp)
        chosen = self.blocks[[block for top in tops for block in found[top]]]
        return chosen[np.argsort(chosen.argmax(axis=1))].argmax(axis=0)  # blocks are numbered by their first cell


def agglomerated(profiles: Profiles, foresight: Foresight) -> Agglomeration:
    """Put the block that shows least to another one until all show enough, and then again until they show more.

    The other one is that with which it shows enough and loses least; where there is none, of those with which it shows
    most.

    Parameters
    ----------
    profiles : Profiles
        What is to be kept.
    foresight : Foresight
        What the rows of the design let expect.
    """
    counts = list(foresight.design.T.astype(np.float64))
    blocks = list(np.eye(len(counts), dtype=bool))
    lost = list(profiles.lost(np.eye(len(counts))))
    sizes = [1.0] * len(counts)
    shown = list(foreseen(foresight, foresight.design, np.ones(len(counts))))
    alive, parts = list(range(len(counts))), []
    for sure in _SURE:
        enough = sure * foresight.needed
        while len(alive) > 1:
            worst = min(alive, key=lambda block: (shown[block], block))
            if shown[worst] >= enough:
                break
            others = [block for block in alive if block != worst]
            joined = counts[worst][:, None] + np.array([counts[block] for block in others]).T
            told = foreseen(foresight, joined, sizes[worst] + np.array([sizes[block] for block in others]))
            may = np.flatnonzero(told >= enough)
            if not len(may):
                may = np.argsort(-told, kind="stable")[:_SHORTLIST]
            together = profiles.lost(np.array([blocks[worst] | blocks[others[i]] for i in may], np.float64))
            best = int(np.argmin(np.round(together - np.array([lost[others[i]] for i in may]), 6)))
            other = others[may[best]]
            parts.append((worst, other))
            blocks.append(blocks[worst] | blocks[other])
            counts.append(joined[:, may[best]])
            sizes.append(sizes[worst] + sizes[other])
            shown.append(float(told[may[best]]))
            lost.append(float(together[best]))
            alive = [*(block for block in others if block != other), len(blocks) - 1]
    return Agglomeration(np.array(blocks), np.array(parts, np.intp).reshape(-1, 2))
