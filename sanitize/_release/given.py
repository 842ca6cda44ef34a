"""A channel that was designed before, in place of a design: that of a receipt.

It is not trusted. Its distribution is measured like that of any design; what it may print is held against the table
here, because no budget speaks of what a released symbol is called.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from sanitize.alphabet import group_alphabet
from sanitize.channel import Channel
from sanitize.errors import InvalidChannel
from sanitize.mechanisms import response_names

if TYPE_CHECKING:
    from sanitize.joint import JointDistribution


def given_channel(given: Channel, joint: JointDistribution, pooled: Channel | None, *, labels: bool) -> Channel:
    """The channel, if it is one for the public symbols of a table and prints nothing but them.

    Parameters
    ----------
    given : Channel
        From public symbols to what is printed.
    joint : JointDistribution
        Distribution of the table.
    pooled : Channel or None
        Rare symbols made one, which the channel must take as one.
    labels : bool
        Whether it prints labels, which must then say what it does.

    Raises
    ------
    InvalidChannel
    """
    if given.inputs != joint.public:
        raise InvalidChannel("the channel is for other public symbols than those of the source")
    made, distribution = given, joint
    if pooled is not None:
        pool = pooled.stages[0].indices
        members = np.unique(pool, return_index=True)[1]
        if Channel((given.stages[0],)) != Channel((given.stages[0].take(members).take(pool),)):
            raise InvalidChannel("the channel tells rare symbols apart that min_count makes one")
        distribution = joint.push(pooled)
        made = Channel((given.stages[0].take(members), *given.stages[1:]), distribution.public, given.outputs)
    # A joint release prints tuples of its columns' values that no row has.
    prints_own = given.outputs.columns == given.inputs.columns and all(
        own.equals(level) for own, level in zip(given.outputs.levels, given.inputs.levels, strict=True)
    )
    if not (_is_labelled(made, distribution) if labels else prints_own):
        raise InvalidChannel("the channel prints what is no public value of the source and no label that it earns")
    return given


def _is_labelled(made: Channel, distribution: JointDistribution) -> bool:
    """Whether every label names the likeliest public symbols behind it, with their shares to a hundredth."""
    if made.n_outputs == 1 and made.outputs == Channel(made.stages, made.inputs).outputs:
        return True
    if len(made.stages) == 1 and made.stages[0].is_deterministic:  # merged symbols are called by their members
        return made.outputs == group_alphabet(distribution.public, made.stages[0].indices.astype(np.intp))
    if made.outputs.columns != ("+".join(distribution.public.columns),):
        return False
    masses = sparse.csc_array(sparse.diags_array(distribution.p_x) @ made.sparse_matrix())
    masses.sort_indices()
    labels = [str(name) for name in made.outputs.symbols]
    return all(map(_says_the_same, labels, response_names(distribution.public, masses)))


def _says_the_same(label: str, earned: str) -> bool:
    """Whether two labels differ by rounding at most: by one in a hundred, and in the order of equal shares."""
    share, number = re.compile(r"\d{1,3}(?=%)"), r" #\d+$"  # of a label that others would equal
    said, true = (
        sorted(
            (share.sub("", piece), [int(found) for found in share.findall(piece)])
            for piece in re.sub(number, "", text).strip("{}").split(", ")
        )
        for text in (label, earned)
    )
    return [text for text, _ in said] == [text for text, _ in true] and all(
        len(own) == len(other) and all(abs(a - b) <= 1 for a, b in zip(own, other, strict=True))
        for (_, own), (_, other) in zip(said, true, strict=True)
    )
