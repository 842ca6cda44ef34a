"""Description of the format of a table, given by its owner in a policy or in Python, otherwise inferred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Self

from sanitize._util.checks import short_repr
from sanitize.errors import InvalidParameter
from sanitize.tables.files.csv_stream import is_delimiter
from sanitize.tables.files.spelling import is_date_format

# Types of numbers, of dates, and of text that stays unchanged. A weight is a number that is not released.
NUMBERS, DATES = ("quantity", "weight"), ("date",)
TYPES = (*NUMBERS, *DATES, "code", "category", "identifier", "free text", "row number")
# Signs that are in use within numbers; any other sign is more likely a separator of columns.
DECIMALS, THOUSANDS = (".", ","), ("", ",", ".", " ", "'")


@dataclass(frozen=True)
class TableDescription:
    """Format and column types of a text file; settings that are left out are inferred from the file.

    Attributes
    ----------
    delimiter : str or None
        Sign between the fields of a CSV file, optionally followed by a blank, as in ``", "``.
    header : bool or None
        Whether the first line names the columns. Without a header they are ``column_1``, ``column_2``, ...
    missing : tuple of str or None
        Texts that stand for a missing value in every column, such as ``NA``. An empty field is always missing; ``""``
        is missing if the empty text is listed.
    decimal, thousands : str or None
        Signs inside numbers; an empty text means no sign between thousands.
    types : mapping of column to type
        ``quantity``, ``weight``, ``date``, ``code``, ``category``, ``identifier``, ``free text`` or ``row number``; or
        the format of dates, such as ``%d.%m.%Y``. A quantity is a number; a code such as 01234 stays unchanged.
    weights : str or None
        Column with the weight of each row in the distribution; not possible with a confidence. The column is not
        released, and ``min_count`` still counts rows.

    Examples
    --------
    >>> TableDescription(delimiter=";", decimal=",", missing=["NA"], types={"zip": "code", "born": "%d.%m.%Y"})
    TableDescription(delimiter=';', missing=('NA',), decimal=',', types={'zip': 'code', 'born': '%d.%m.%Y'})
    """

    delimiter: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] | None = None
    decimal: str | None = None
    thousands: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    weights: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and not is_separator(self.delimiter):
            got = repr(self.delimiter[:10]) if isinstance(self.delimiter, str) else type(self.delimiter).__name__
            raise InvalidParameter(f'delimiter must be one character that separates fields, such as ";", got {got}')
        if self.header not in (None, True, False):
            raise InvalidParameter(
                "header must be True if the first line names the columns, otherwise False, "
                f"got {short_repr(self.header)}"
            )
        if isinstance(self.missing, str) or not all(isinstance(mark, str) for mark in self.missing or ()):
            raise InvalidParameter(
                f'missing must be a list of strings, such as ["NA", "."], got {short_repr(self.missing)}'
            )
        object.__setattr__(self, "missing", None if self.missing is None else tuple(self.missing))
        for name, allowed in (("decimal", DECIMALS), ("thousands", THOUSANDS)):
            if getattr(self, name) not in (None, *allowed):
                got = short_repr(getattr(self, name))
                raise InvalidParameter(f"{name} must be one of {', '.join(map(repr, allowed))}, got {got}")
        if self.decimal is not None and self.decimal == self.thousands:
            raise InvalidParameter(f"decimal and thousands must be different, but both are {self.decimal!r}")
        for column, kind in self.types.items():
            check_column_type(column, kind)

    def __repr__(self) -> str:
        settings = {name: value for name, value in vars(self).items() if value not in (None, {})}
        return f"TableDescription({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

    @classmethod
    def coerce(cls, description: Any) -> Self:
        """Return the description, or an empty one in place of None."""
        if description is None:
            return cls()
        if not isinstance(description, cls):
            raise InvalidParameter(f"description must be a TableDescription, got {type(description).__name__}")
        return description

    def with_changes(self, **values: Any) -> Self:
        """Return a copy with some settings changed."""
        return replace(self, **values)


def is_separator(text: Any) -> bool:
    """Return whether a text can separate fields: one sign, optionally followed by a blank."""
    return isinstance(text, str) and is_delimiter(text[:1]) and text[1:] in ("", " ")


def check_column_type(column: str, kind: Any) -> None:
    """Refuse a word that is neither a column type nor a date format."""
    if kind in TYPES or (isinstance(kind, str) and is_date_format(kind)):
        return
    near = get_close_matches(kind, TYPES, n=1) if isinstance(kind, str) else []
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise InvalidParameter(
        f"the type of column {column!r} must be one of {', '.join(TYPES)}, or the format of its dates, such as "
        f"%d.%m.%Y, got {short_repr(kind)}{hint}"
    )


def is_dated(kind: str) -> bool:
    """Return whether a column of this type has dates."""
    return kind in DATES or is_date_format(kind)
