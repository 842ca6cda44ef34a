"""Latent class of each row, drawn from P(class | row); the class replaces the row as input of a channel."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sanitize._util.declared import Declared, Digest, require
from sanitize._util.limits import LOOKUP_ROWS
from sanitize._util.sampling.noise import NoiseKey
from sanitize._util.system import ordered_map
from sanitize.core.binning import is_numeric
from sanitize.release.classes._integers import draw_states, powers_of_two
from sanitize.release.classes._model import LatentClassModel
from sanitize.tables.columns import as_arrow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sanitize._util.checks import Codes
    from sanitize._util.sampling.noise import RandomWords
    from sanitize.release.classes._column import ClassColumn

# Lane of the random source between those of the model for classes and for columns, so that no random word is used
# twice.
_LANE = (1 << 21) + 8


class ClassPartition(Declared, frozen=True, eq=False, dict=True):
    """Draw a latent class for each row, reproducibly for the same rows in the same order; generate rows of classes.

    S - X - class is a Markov chain, so a bound certified for classes holds for whole rows. A batch of rows draws its
    classes from a digest of all its rows in order. So the same batch always draws the same classes, because a second
    draw would reveal more of the rows, and another batch draws others.

    Attributes
    ----------
    model : LatentClassModel
    classes : ndarray of int, shape (n_cells,)
        Classes of the model that are drawn; the other classes had too few rows.
    key : str
        Key of the draws in hexadecimal.
    fitted : str or None
        Digest of the fitted rows, which draw by row number; None if all rows draw by row number.
    """

    model: LatentClassModel
    classes: NDArray[np.int64]
    key: Digest
    fitted: Digest | None

    def __post_init__(self) -> None:
        require(self.classes.ndim == 1 and len(self.classes) > 0 and (np.diff(self.classes) > 0).all())
        require(self.classes[0] >= 0 and self.classes[-1] < self.model.n_classes)

    def __repr__(self) -> str:
        """Show the number of classes, but not the key, because tracebacks contain this text."""
        return f"ClassPartition({len(self.classes)} classes)"

    @classmethod
    def from_model(cls, model: LatentClassModel, key: NoiseKey, table: Mapping[str, Any] | None) -> Self:
        """Make a partition into all classes of a model; without the fitted table, draws depend on row numbers only."""
        digest = None if table is None else _digest(_groups(model, table))
        return cls(model, np.arange(model.n_classes), key.key.hex(), digest)

    def drop_cells(self, cells: NDArray[np.bool_]) -> Self:
        """Return a copy without some classes; their rows draw from the remaining classes."""
        return self.__replace__(classes=self.classes[~cells])

    def with_key(self, key: NoiseKey) -> Self:
        """Return a copy that draws classes with another key."""
        return self.__replace__(key=key.key.hex())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the public columns."""
        return self.model.names

    @property
    def n_cells(self) -> int:
        """Number of classes that are drawn."""
        return len(self.classes)

    @property
    def numeric(self) -> frozenset[str]:
        """Names of the columns that were numeric at fit."""
        return frozenset(name for name, values in self.values.items() if is_numeric(values.type))

    @property
    def values(self) -> dict[str, pa.Array]:
        """Values that may be written for each column."""
        return self.model.values

    @property
    def columns(self) -> list[ClassColumn]:
        """Columns of the model, in order."""
        return self.model.columns

    @property
    def words(self) -> NoiseKey:
        """Random words from which classes are drawn."""
        return NoiseKey(bytes.fromhex(self.key))

    def encode(self, table: Mapping[str, Any]) -> list[NDArray[np.int32]]:
        """Group of each row in each column; pass the groups to `assign`, which then need not compute them again."""
        return _groups(self.model, table)

    def assign(
        self,
        table: Mapping[str, Any],
        workers: int = 1,
        first: int | Codes | None = None,
        groups: list[NDArray[np.int32]] | None = None,
    ) -> NDArray[np.int32]:
        """Draw the class of each row, from 0 to n_cells - 1.

        Parameters
        ----------
        table : mapping of name to column
        workers : int
        first : int, or ndarray of int of shape (n,), optional
            Number of the first row, or of each row, in the table that the classes were fitted on. By default, any other
            table draws by a digest of all its rows.
        groups : list of ndarray of int, optional
            Result of `encode` for the table.
        """
        codes = self.encode(table) if groups is None else groups
        digest = self.fitted if first is not None or self.fitted is None else _digest(codes)
        words = self.words.derive("rows of the fit" if digest == self.fitted else f"rows {digest}")
        cells = np.empty(len(codes[0]), np.int32)
        numbers = first if isinstance(first, np.ndarray) else (first or 0) + np.arange(len(cells))

        def draw(at: int) -> None:
            part = slice(at, min(at + LOOKUP_ROWS, len(cells)))
            logs = np.repeat(self.model.log_sizes[None, self.classes], part.stop - at, axis=0)
            for writer, column_codes in zip(self.model.writers, codes, strict=True):
                logs += writer.chances[:, self.classes][column_codes[part]]
            drawn = words.words_at(_LANE, numbers[part])
            cells[part] = draw_states(powers_of_two(logs), drawn >> np.uint64(32))

        for _ in ordered_map(draw, range(0, len(cells), LOOKUP_ROWS), workers):
            pass
        return cells

    def decode(
        self,
        cells: NDArray[np.integer[Any]],
        words: RandomWords,
        start: int = 0,
        workers: int = 1,
        kept: Mapping[str, pa.Array] | None = None,
    ) -> dict[str, pa.Array]:
        """Generate rows of released classes, given kept columns; row i of a table is the same in any batch."""
        return self.model.decode(self.classes[cells], words, start, workers, kept)

    @property
    def people(self) -> str:
        """Sentences on what generated rows reveal about membership, the same for every table."""
        words = "A model generates the rows; one that equals a raw row does so by chance"
        if self.model.kept:
            words = (
                "The kept columns of each row belong to a person, and a model generates the others: a row belongs to "
                "that person again, and only the limit protects her"
            )
        return f"{words}. Whether a given person is in the data is not protected."

    @property
    def membership(self) -> str:
        """Sentence for the owner on how well an attacker can find out who is in the table."""
        if self.model.n_rows < MODELLED_ROWS or self.model.membership > _MOST_TOLD:
            return "There are too few rows to hide who is in the data."
        right = f"{100 * self.model.membership:.0f} % of the time (50 % is chance)"
        who = "an attacker who knows everyone else, but not the key (the secret number behind the random changes)"
        return (
            f"By an estimate, {who}, would be right about who is in the data {right}; an attacker who knows less is "
            "right no more often."
        )


# Below this many rows a model hides nobody, and from this share of right guesses on it hides people badly: a sentence
# says so in place of a figure that would look like a guarantee.
MODELLED_ROWS, _MOST_TOLD = 1000, 0.8


def _groups(model: LatentClassModel, table: Mapping[str, Any]) -> list[NDArray[np.int32]]:
    """Group of each row in each column."""
    names = [writer.column.name for writer in model.writers]
    return [
        writer.column.encode(as_arrow(table[name], name)) for writer, name in zip(model.writers, names, strict=True)
    ]


def _digest(codes: list[NDArray[np.int32]]) -> str:
    digest = hashlib.sha256(b"%d" % len(codes[0]))
    for column_codes in codes:
        digest.update(np.ascontiguousarray(column_codes, "<i4").data)
    return digest.hexdigest()
