"""What printed labels stand for: ``[20, 30)``, ``20-29``, ``30 or more``, ``{A, B}``, ``130**``, ``*``."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._limits import JOINT_CELLS
from sanitize._tables.columns import as_arrow, python_values
from sanitize.binning import as_numbers, as_seconds, holds_dates, is_numeric
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_END = r"-?[^,;\s\[\](){}]+"
# How an interval is written, and whether its lower and its upper end belong to it.
_INTERVALS = (
    (re.compile(rf"\[\s*(?P<low>{_END})?\s*[,;]\s*(?P<high>{_END})?\s*\]"), True, True),
    (re.compile(rf"\[\s*(?P<low>{_END})?\s*[,;]\s*(?P<high>{_END})?\s*\)"), True, False),
    (re.compile(rf"\(\s*(?P<low>{_END})?\s*[,;]\s*(?P<high>{_END})?\s*\]"), False, True),
    (re.compile(rf"\(\s*(?P<low>{_END})?\s*[,;]\s*(?P<high>{_END})?\s*\)"), False, False),
    (re.compile(r"(?P<low>-?[\d.]+)\s*(?:-|–|\.\.|to)\s*(?P<high>-?[\d.]+)"), True, True),
    (re.compile(rf"(?:>=|≥)\s*(?P<low>{_END})(?P<high>)|(?P<from>{_END})(?:\+| or more)"), True, True),
    (re.compile(rf">\s*(?P<low>{_END})(?P<high>)"), False, True),
    (re.compile(rf"(?P<low>)(?:<=|≤)\s*(?P<high>{_END})|(?P<until>{_END}) or less"), True, True),
    (re.compile(rf"(?P<low>)(?:<|less than)\s*(?P<high>{_END})"), True, False),
)


def numbers_of(values: Any, name: str) -> NDArray[np.float64] | None:
    """Values that have an order, as numbers; None for categories."""
    if is_numeric(values.type):
        return as_numbers(values)
    return as_seconds(values, name)[0].astype(np.float64) if holds_dates(values.type) else None


def meanings(labels: Sequence[str], values: Any, name: str) -> NDArray[np.bool_] | None:
    """Which values each label stands for, shape (n_labels, 1 + n_values): missing comes first, then each value.

    A label that says nothing stands for none. None where labels and values are too many.
    """
    if len(labels) * (1 + len(values)) > JOINT_CELLS:
        return None
    texts = [str(value) for value in python_values(values, name)]
    places = {text: place for place, text in enumerate(texts, 1)} | {"missing": 0}
    numbers = numbers_of(values, name)
    found = np.zeros((len(labels), 1 + len(values)), bool)
    for row, label in zip(found, labels, strict=True):
        text = label.strip()
        if text.endswith(" or missing"):
            row[0], text = True, text.removesuffix(" or missing")
        if text in places:
            row[places[text]] = True
        elif text in ("*", "any", "any value"):
            row[:] = True
        elif text.endswith("}"):
            head, _, inner = text.partition("{")
            members = [places[one] for one in re.split(r",\s*", inner[:-1]) if one in places]
            row[members] = True
            if head == "all but ":
                row[:] = ~row
        elif text.endswith("*"):
            start = text.rstrip("*")
            row[1:] = [one.startswith(start) and len(one) == len(text) for one in texts]
        elif numbers is not None:
            row[1:] |= _inside(text, numbers, values, name)
    return found


def _inside(text: str, numbers: NDArray[np.float64], values: Any, name: str) -> NDArray[np.bool_]:
    """Which numbers lie in an interval that is written in one of the usual ways, or are the one that is written."""
    for pattern, with_low, with_high in _INTERVALS:
        if (match := pattern.fullmatch(text)) is not None:
            ends = match.groupdict()
            low = _number(ends.get("low") or ends.get("from"), -math.inf, values, name)
            high = _number(ends.get("high") or ends.get("until"), math.inf, values, name)
            above = numbers >= low if with_low else numbers > low
            return above & (numbers <= high if with_high else numbers < high)
    return numbers == _number(text, math.nan, values, name)


def _number(text: str | None, otherwise: float, values: Any, name: str) -> float:
    """A number or date as it is written; NaN, which lies in no interval, for anything else."""
    if not text:
        return otherwise
    try:
        if holds_dates(values.type) and "inf" not in text:
            return float(as_seconds(as_arrow([text], name), name)[0][0])
        return float(text.replace("∞", "inf"))
    except (ValueError, ColumnError):
        return math.nan
