"""What a Parquet footer says, read by rules before any other parser believes it.

Asking pyarrow for a column chunk ends the whole process, without an exception, where the chunk is encrypted or its
statistics of sizes do not fit the schema. So a footer is read here first, and pyarrow is never asked for a chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sanitize._files.thrift import DAMAGE, Fields, Thrift
from sanitize.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEEPEST_SCHEMA = 100
REMEMBERED_BYTES = 1 << 25  # of a footer, since a file is opened more than once
# A column chunk that promises more than this out of a thousandth of it is a decompression bomb.
_BOMB_BYTES = 1 << 28
_BOMB_RATIO = 1000


@dataclass(frozen=True)
class Footer:
    """What is asked of a footer that hangs together. Frozen.

    Attributes
    ----------
    row_groups : tuple of int
        Rows of each.
    bombs : tuple of (str, int, int)
        Paths of columns that promise too many bytes, those bytes, and those out of which.
    """

    row_groups: tuple[int, ...]
    bombs: tuple[tuple[str, int, int], ...]

    @classmethod
    def read(cls, raw: bytes, file_size: int, name: str) -> Footer:
        """Read the footer of a file.

        Parameters
        ----------
        raw : bytes
            The footer alone.
        file_size : int
        name : str
            Of the file, for errors.

        Raises
        ------
        SourceError
            If it is damaged, contradicts itself, or speaks of encrypted columns.
        """
        known = (_remembered if len(raw) <= REMEMBERED_BYTES else _parsed)(raw, file_size)
        if isinstance(known, Footer):
            return known
        raise SourceError(known.format(name))

    def refuse_bombs(self, columns: Sequence[str], name: str) -> None:
        """Refuse to read columns whose chunks promise to unfold to far more than they take."""
        # The reader takes every path that is a name or goes on after it with a dot, which may be part of a name.
        prefixes = tuple(f"{column}." for column in columns)
        for path, promised, stored in self.bombs:
            if path in columns or path.startswith(prefixes):
                raise SourceError(
                    f"{name}: a column promises {promised} bytes out of {stored}; refused as a decompression bomb"
                )


class _Encrypted(Exception):
    """Some column can only be read with a key."""


def _parsed(raw: bytes, file_size: int) -> Footer | str:
    """The footer, or what is wrong with it."""
    try:
        return _footer(Thrift(raw).fields(), file_size)
    except _Encrypted:
        return "{} has encrypted columns; decrypt it first"
    except UnicodeDecodeError:
        return "{} has a column whose name is not valid UTF-8; rename it first"
    except RecursionError:
        return f"{{}} has columns nested more than {_DEEPEST_SCHEMA} deep; flatten them first"
    except DAMAGE:
        return "{} is damaged or not supported: its footer does not hang together"


_remembered = lru_cache(maxsize=8)(_parsed)


def _footer(fields: Fields, file_size: int) -> Footer:
    if fields.get(8):
        raise _Encrypted
    paths = _leaves(fields[2])
    groups = [_row_group(group, paths, file_size) for group in fields.get(4, [])]
    if sum(n_rows for n_rows, _ in groups) != fields[3]:
        raise ValueError("rows")
    return Footer(tuple(n_rows for n_rows, _ in groups), tuple(bomb for _, bombs in groups for bomb in bombs))


def _leaves(elements: list[Fields]) -> list[tuple[bytes, ...]]:
    """Paths of the columns, from a schema that is listed from the root, parents before children."""
    found: list[tuple[bytes, ...]] = []
    root, *others = elements
    open_nodes: list[tuple[tuple[bytes, ...], int]] = [((), _whole(root.get(5, 0)))]
    for element in others:
        while open_nodes and not open_nodes[-1][1]:
            open_nodes.pop()
        above, left = open_nodes.pop()
        open_nodes.append((above, left - 1))
        element[4].decode()
        path = (*above, element[4])
        if n_children := _whole(element.get(5, 0)):
            open_nodes.append((path, n_children))
        elif 1 in element:
            found.append(path)
        if len(open_nodes) > _DEEPEST_SCHEMA:
            raise RecursionError
    if any(left for _, left in open_nodes):
        raise ValueError("schema")
    return found


def _row_group(group: Fields, paths: list[tuple[bytes, ...]], file_size: int) -> tuple[int, list[tuple[str, int, int]]]:
    """Rows of a row group, and its bombs."""
    chunks = group[1]
    if len(chunks) != len(paths):
        raise ValueError("columns")
    bombs = []
    for chunk, path in zip(chunks, paths, strict=True):
        if 8 in chunk or 9 in chunk:
            raise _Encrypted
        promised, stored = _sizes(chunk[3], file_size)
        if promised > max(_BOMB_BYTES, _BOMB_RATIO * max(stored, 1)):
            bombs.append((b".".join(path).decode(), promised, stored))
    return _whole(group[3]), bombs


def _sizes(metadata: Fields, file_size: int) -> tuple[int, int]:
    """Bytes that a chunk unfolds to and takes, where it lies inside the file."""
    _whole(metadata[5])
    start, promised, stored = _whole(metadata[9]), _whole(metadata[6]), _whole(metadata[7])
    if 0 < metadata.get(11, 0) < start:
        start = metadata[11]
    if start + stored > file_size:
        raise ValueError("chunk")
    return promised, stored


def _whole(value: Any) -> int:
    """A whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("number")
    return value
