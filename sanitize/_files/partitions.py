"""Columns that are names of folders: ``year=2024/region=north/part.parquet``.

A column whose every value is a whole number written plainly is a number, any other is text; the name
``__HIVE_DEFAULT_PARTITION__`` is a missing value. Values may be percent-encoded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from sanitize.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MISSING = "__HIVE_DEFAULT_PARTITION__"
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def partition_schema(root: Path, files: Sequence[Path]) -> pa.Schema:
    """Columns named by the folders of all files; none for a single file or a flat folder.

    Raises
    ------
    SourceError
        If not all files lie under the same columns in the same order.
    """
    if not root.is_dir():
        return pa.schema([])
    found = [_values(root, file) for file in files]
    names = [name for name, _ in found[0]]
    if any([name for name, _ in values] != names for values in found):
        raise SourceError(f"the folders under {root.name!r} do not name the same columns for every file")
    if len(set(names)) < len(names):
        raise SourceError(f"the folders under {root.name!r} name a column twice")
    fields = []
    for j, name in enumerate(names):
        texts = {values[j][1] for values in found} - {None}
        whole = bool(texts) and all(_WHOLE.fullmatch(text) for text in texts if text is not None)
        fields.append(pa.field(name, pa.int64() if whole else pa.string()))
    return pa.schema(fields)


def partition_arrays(
    root: Path, file: Path, schema: pa.Schema, partitions: Sequence[str], n_rows: int
) -> dict[str, pa.Array]:
    """The columns of one file that its folders name, as dictionaries of one value."""
    found = dict(_values(root, file))
    arrays = {}
    for name in partitions:
        dtype, text = schema.field(name).type, found[name]
        value = int(text) if text is not None and pa.types.is_integer(dtype) else text
        values = pa.array([] if value is None else [value], dtype)
        mask = np.full(n_rows, value is None)
        arrays[name] = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32), mask=mask), values)
    return arrays


def _values(root: Path, file: Path) -> list[tuple[str, str | None]]:
    """Columns and values of the folders between root and file; folders without = are only folders."""
    pairs: list[tuple[str, str | None]] = []
    for part in file.relative_to(root).parts[:-1]:
        name, equals, value = part.partition("=")
        if not equals:
            continue
        try:
            name, text = unquote(name, errors="strict"), unquote(value, errors="strict")
            (name + text).encode()
        except UnicodeError:
            raise SourceError(f"a folder under {root.name!r} has a name that is not valid UTF-8") from None
        pairs.append((name, None if text == _MISSING else text))
    return pairs
