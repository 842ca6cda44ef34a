"""Columns of new rows that are not what they were at fit: numbers become text, or the same words written otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sanitize._tables.columns import UNSEEN, factorize, look_up
from sanitize.binning import is_numeric
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from numpy.typing import NDArray

    from sanitize._tables.columns import ArrowColumn
    from sanitize.alphabet import Alphabet


def refuse_changed(columns: Mapping[str, ArrowColumn], known: Alphabet, binned: Container[str]) -> None:
    """Refuse columns most rows of which are unknown only because of their type, their case or spaces around them.

    Each row would be released like the riskiest symbol: within the budget, and of no use to anybody.

    Raises
    ------
    ColumnError
        It names all such columns and quotes no value.
    """
    told: dict[str, str] = {}
    for name, level in zip(known.columns, known.levels, strict=True):
        if name in binned:
            continue
        values, codes = factorize(columns[name], name)
        unknown = np.append(look_up(values, level) == UNSEEN, [False])  # the last is missing
        if unknown[codes].sum() * 2 <= len(codes):
            continue
        was, now = _kind(level.type), _kind(values.type)
        if was != now:
            told[name] = f"{name!r} holds {now} where there was {was}"
        elif was == "text" and _spelt_otherwise(values, level)[codes].sum() * 2 > len(codes):
            told[name] = f"{name!r} writes the values of the fit with other capitals or spaces"
    if told:
        raise ColumnError(
            f"most rows are unknown to this fit: column {'; column '.join(told.values())}. Convert them to what they "
            "were, or fit again",
            next(iter(told)),
        )


def _kind(dtype: pa.DataType) -> str:
    if pa.types.is_boolean(dtype):
        return "True or False"
    if is_numeric(dtype):
        return "a number"
    if pa.types.is_temporal(dtype):
        return "a date or time"
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype):
        return "text"
    return str(dtype)


def _spelt_otherwise(values: pa.Array, level: pa.Array) -> NDArray[np.bool_]:
    """Which values are the level's but for capitals and spaces around them; a last entry is for missing."""
    plain = {_plain(text) for text in level.to_pylist()}
    return np.array([*(_plain(text) in plain for text in values.to_pylist()), False])


def _plain(text: str) -> str:
    return text.strip().casefold()
