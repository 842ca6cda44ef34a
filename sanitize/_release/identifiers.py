"""Columns that name their row: nothing of them can be released that is not somebody's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sanitize._tables.columns import as_arrow, factorize
from sanitize.errors import ColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

# Below this many rows most columns look distinct, and nothing follows from it.
FEW_ROWS = 50
_MOSTLY, _NEARLY_ALL = 0.5, 0.99
_LONG = 6  # digits


def refuse_identifiers(table: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse all columns that name their row: text, dates or times that are mostly distinct, or numbers of an index.

    Amounts are mostly distinct too, and name nobody: whole numbers must also be consecutive, in the order of the rows,
    or all of one width of six digits and more.

    Raises
    ------
    ColumnError
        It says what can be done with them.
    """
    found = []
    for name in names:
        values, codes = factorize(as_arrow(table[name], name), name)
        codes = codes[codes >= 0]
        if len(codes) >= FEW_ROWS and names_rows(values, len(codes), codes):
            found.append(name)
    if found:
        raise ColumnError(
            f"direct identifier: nearly every row has a value of its own in {', '.join(map(repr, found))}, and what is "
            "printed of it is somebody's: leave it out, or cut numbers and dates at edges with bins and group text "
            "with hierarchies",
            found[0] if len(found) == 1 else None,
        )


def names_rows(values: pa.Array, n: int, codes: NDArray[np.int32] | None = None) -> bool:
    """Whether ``n`` rows with these distinct values are told apart by them; ``codes`` say in which order they come."""
    if len(values) <= _MOSTLY * n:
        return False
    types, dtype = pa.types, values.type
    if not types.is_integer(dtype):
        is_text = types.is_string(dtype) or types.is_binary(dtype) or types.is_fixed_size_binary(dtype)
        return bool(is_text or types.is_timestamp(dtype) or types.is_date(dtype) or types.is_time(dtype))
    if len(values) < _NEARLY_ALL * n:
        return False
    numbers = values.to_numpy()
    least, most = int(numbers.min()), int(numbers.max())
    is_wide = least > 0 and len(str(least)) == len(str(most)) >= _LONG
    steps = np.ones(1) if codes is None else np.diff(numbers[codes].astype(np.float64))
    in_order = codes is not None and bool((steps >= 0).all() or (steps <= 0).all())
    return most - least < len(numbers) / _NEARLY_ALL or is_wide or in_order
