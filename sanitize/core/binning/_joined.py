"""Joining of values of a column under chosen names, such as rare diagnoses under "other"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sanitize._util.declared import require
from sanitize.core.alphabet import MISSING_TEXT
from sanitize.core.binning._bins import Bins, Grid
from sanitize.core.binning._dates import DateBins
from sanitize.errors import InvalidParameter
from sanitize.tables.columns import ArrowColumn, factorize, python_values


class Joined(Bins, frozen=True, tag="joined"):
    """Join of values of a column: a value in a group becomes the group's name, other values stay; all results are text.

    Parameters
    ----------
    column : str
    edges, learned, whole
        See `Bins`; a join has no edges.
    groups : dict of str to tuple of str
        Values of each group as texts; ``(missing)`` stands for a missing value.
    """

    groups: dict[str, tuple[str, ...]]
    prints_labels: ClassVar[bool] = True  # a group has a name and no values of its own

    def __post_init__(self) -> None:
        require(not self.edges and not self.learned and not self.whole, "has no edges", "edges")
        members = [value for values in self.groups.values() for value in values]
        require(bool(members) and len(set(members)) == len(members), "must name values, each once", "groups")

    @classmethod
    def from_groups(cls, column: str, groups: Mapping[Any, Sequence[Any]]) -> Joined:
        """Build the join from groups that somebody declared."""
        lists = {str(name): values for name, values in groups.items() if not isinstance(values, str)}
        members = [_text(value) for values in lists.values() for value in values]
        if len(lists) < len(groups) or not members or len(set(members)) < len(members):
            raise InvalidParameter(
                f"the join of {column!r} must list values under new names, each value once, as in "
                'join = {"other": ["A", "B"]}'
            )
        joined = {name: tuple(map(_text, values)) for name, values in lists.items()}
        return cls(column, (), learned=False, whole=False, groups=joined)

    @property
    def order(self) -> None:
        """Return None: the order of values that are not joined is known only from rows."""
        return

    def assign(self, values: ArrowColumn) -> tuple[pa.DictionaryArray, int]:
        """Return the group name of each row, or its value as text, and 0 clipped rows."""
        levels, codes = factorize(values, self.column)
        name_of = {value: name for name, members in self.groups.items() for value in members}
        texts = [name_of.get(_text(value), _text(value)) for value in python_values(levels, self.column)]
        texts.append(name_of.get(MISSING_TEXT, ""))  # the last entry is for missing values
        names = list(dict.fromkeys(texts))
        places = np.array([names.index(text) for text in texts], np.int32)[codes]
        missing = None if MISSING_TEXT in name_of else pa.array(codes < 0).to_numpy(zero_copy_only=False)
        return pa.DictionaryArray.from_arrays(pa.array(places, mask=missing), pa.array(names, pa.string())), 0


# Kinds of bins that a saved release may have; other kinds are written by users.
AnyBins = Bins | Grid | DateBins | Joined


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value).lower() if isinstance(value, bool) else str(value)
