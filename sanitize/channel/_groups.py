"""Readable names of merged symbols."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sanitize.alphabet import Alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHOWN_MEMBERS = 3


def group_alphabet(public: Alphabet, labels: NDArray[np.intp], n_groups: int) -> Alphabet:
    """Readable names of merged symbols: the symbol itself, or a few members in braces."""
    return Alphabet.of_n_labels("+".join(public.columns), n_groups, partial(_group_names, public, labels, n_groups))


def _group_names(public: Alphabet, labels: NDArray[np.intp], n_groups: int) -> list[str]:
    members: list[list[int]] = [[] for _ in range(n_groups)]
    sizes = np.bincount(labels, minlength=n_groups)
    for x, group in enumerate(labels):
        if len(members[group]) < _SHOWN_MEMBERS:
            members[group].append(x)
    names: list[str] = []
    for shown, size in zip(members, sizes, strict=True):
        name = ", ".join(public.label(x) for x in shown)
        if size > len(shown):
            name += f", +{size - len(shown)} more"
        names.append(name if size == 1 else "{" + name + "}")
    return names
