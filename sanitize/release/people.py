"""Detection of columns that identify people, from their names, formats, and dependence on other columns.

A value that ten rows share may belong to one person who has ten rows. So a column that looks like an identifier of
people is refused as public, unless ``person`` names the person of each row or says that every row is its own person.
"""

from __future__ import annotations

import re
import unicodedata
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from sanitize.errors import ColumnError
from sanitize.tables.columns import as_arrow, factorize

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from numpy.typing import NDArray

    from sanitize._util.checks import Mask
    from sanitize._util.sampling.noise import NoiseKey
    from sanitize.core.joint import ContingencyTable
    from sanitize.tables.columns import ArrowColumn

# Value of ``person`` by which every row is a person of its own: the owner says so, where a column looks like people.
ROW = "row"
Reason = Literal["name", "shape", "behaviour"]
# Reasons in words, for errors and drafts, which must not quote a value.
REASONS: dict[Reason, str] = {
    "name": "by its name, the column identifies people",
    "shape": "its values are written like identifiers of people",
    "behaviour": "each of its values is on a few rows, which agree on most other columns",
}

# A column with at most this many values names categories, not people. Values of people have at most these many rows on
# average: in general, and if the column is named like people, when more rows are plausible.
_FEW_VALUES, _MOST_ROWS_EACH, _MOST_ROWS_NAMED = 10, 50, 100
# Share of the values, or of pairs of rows with one value, that must have the pattern: most values, because some cells
# have remarks, and nearly all pairs, because people seldom change.
_MOST, _NEARLY_ALL = 0.5, 0.95
# A column varies if two rows of the table agree on it no more often than this; agreement on other columns is no
# evidence.
_VARIES = 0.8
# Values whose form is examined, values whose rows are compared, and columns on which these rows may agree: samples,
# because every column of a table is examined before a release.
_LOOKED_AT, _VALUES, _OTHERS = 1000, 300, 20

# Words for people in English, German, Spanish, French and Italian: a column named with such a word most likely
# identifies people.
_PEOPLE = (
    "patients?|patienten|persons?|personen|people|customers?|clients?|users?|members?|employees?|students?|subjects?|"
    "participants?|respondents?|insured|policyholders?|accounts?|households?|national|card|tax|kunden?|mitarbeiter|"
    "versicherten?|versicherungs|haushalts?|konto|personal|steuer|sozialversicherungs|telefon|clientes?|pacientes?|"
    "empleados?|hogar|cuenta|compte|foyer|assure|utilisateur|clienti|paziente|conto"
)
# Words that make a name of people a number of people, as in "patient no".
_NUMBERS = "id|ids|ident|no|nr|num|number|nummer|key|code|uuid|guid|hash|numero|identifier|pseudonym"
# Names of contact details and of official numbers of people, in several countries. A count such as "n id" or "number of
# users" is none.
_NAMED = re.compile(
    rf"(?!(?:n|num|number of|count|count of|has|is) )(?:.* )?(?:id|uuid|guid|e ?mails?|mail|email ?address|"
    rf"phones?|telephone|tel|mobile (?:no|nr|number)|telefono?|telefonnummer|"
    rf"ssn|social security.*|national insurance.*|iban|passports?|reisepass|pasaporte|passeport|nino|nif|dni|cpf|curp|"
    rf"aadhaar|bsn|nir|mrn|msisdn|imei|user ?name|login|sur ?name|(?:last|first|full|family|given|maiden) ?name|"
    rf"fore ?name|nachname|vorname|apellidos?|prenom|cognome|accounts?|konto|cuenta|compte|"
    rf"address|adresse|anschrift|direccion|indirizzo|street(?: ?name)?|strasse|calle|rue|"
    rf"patient|person|customer|client|employee|student|participant|respondent|user|kunde|paciente|cliente|"
    rf"dob|date of birth|birth ?(?:date|day)|geburts(?:datum|tag)|date (?:de )?naissance|fecha (?:de )?nacimiento|"
    rf"(?:{_PEOPLE}) ?(?:{_NUMBERS}))"
)
# Words for identifiers that may be of people or of things: the values decide.
_OTHER_ID = re.compile(rf"(?!(?:.* )?(?:{_PEOPLE}) ).+ (?:id|uuid|guid)")
# Forms in which addresses, telephone numbers and official numbers of people are written.
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        r"[^@\s]+@[^@\s]+\.[^@\s]+",
        r"(?=(?:\D*\d){8,15}\D*$)(?:\+|00|0|\()[\d\s().\-/]+",  # a telephone number
        r"\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}",
        r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?",  # an IBAN
        r"\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?",
        r"\d{3}-\d{2}-\d{4}",  # national numbers: USA, UK, Spain, Italy, Nordic countries, France
        r"[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]",
        r"(?:\d{8}|[XYZ]\d{7})-?[A-Z]",
        r"[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]",
        r"\d{6}[-+A]\d{3}[0-9A-Z]",
        r"[12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3}(?: ?\d{2})?",
        r"\d{4}([ -]?)\d{4}\1\d{4}\1\d{4}",  # a payment card
    )
)
# Eight digits or more of one width are numbers of people or things, unless they are dates.
_LONG_NUMBER = re.compile(r"\d{8,}")
_DAY = re.compile(r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")


@dataclass(frozen=True)
class Coded:
    """Distinct values of a column, and the code of each line of a table; missing values share one further code."""

    values: pa.Array
    codes: NDArray[np.intp]


def refuse_people(columns: Mapping[str, Coded], times: NDArray[Any], names: Iterable[str]) -> None:
    """Refuse all columns that look like identifiers of people.

    Parameters
    ----------
    columns : mapping of str to Coded
        All columns that were read, including the sensitive ones.
    times : ndarray of shape (n_lines,)
        Number of rows that each line counts.
    names : iterable of str
        Public columns.

    Raises
    ------
    ColumnError
        The message says what can be done with the columns, and quotes no value.
    """
    _refuse({name: reason for name in names if (reason := looks_like_people(name, columns, times))})


def refuse_by_companions(
    columns: Mapping[str, Coded],
    times: NDArray[Any],
    names: Iterable[str],
    others: Iterable[str],
    read: Callable[[tuple[str, ...]], Mapping[str, Any]],
) -> None:
    """Refuse columns whose values determine most other columns, including columns that are not released.

    Parameters
    ----------
    columns, times
        See `refuse_people`.
    names : iterable of str
        Public columns among them.
    others : iterable of str
        Columns of the table that were not read; they are read only if a value of some column has few rows.
    read : callable
        Returns columns by name, for all rows or a large sample.
    """
    suspects = [name for name in names if may_be_people(columns[name], times)]
    if suspects and (others := [name for name in others if name not in columns]):
        table = read((*columns, *others))
        every = encode_columns(table, suspects, table)
        rows = np.ones(len(every[suspects[0]].codes))
        _refuse({name: "behaviour" for name in suspects if _determines_columns(name, every, rows)})


def _refuse(reasons: Mapping[str, Reason]) -> None:
    if not reasons:
        return
    listed = "; ".join(f"{name!r}: {REASONS[reason]}" for name, reason in reasons.items())
    raise ColumnError(
        f"ten rows with the same value may belong to one person ({listed}). Leave the column out, or give "
        f"person={next(iter(reasons))!r} to count people, or person={ROW!r} if each row is a different person. To "
        "release all rows of a person together, use sanitize.people.UnitRelease",
        next(iter(reasons)) if len(reasons) == 1 else None,
    )


def looks_like_people(name: str, columns: Mapping[str, Coded], times: NDArray[Any]) -> Reason | None:
    """Reason why a column looks like an identifier of people; None if it does not."""
    column = columns[name]
    n_values = len(column.values)
    if n_values <= _FEW_VALUES:
        return None
    rows_each = float(np.sum(times)) / n_values
    if rows_each <= _MOST_ROWS_NAMED and is_named_like_people(name):
        return "name"
    if is_written_like_people(column.values, rows_each):
        return "shape"
    if may_be_people(column, times) and _determines_columns(name, columns, times):
        return "behaviour"
    return None


def may_be_people(column: Coded, times: NDArray[Any]) -> bool:
    """Return whether a value occurs in few rows on average: other columns can then show if values identify people."""
    values, n_values = column.values, len(column.values)
    if n_values <= _FEW_VALUES or not 2 <= float(np.sum(times)) / n_values <= _MOST_ROWS_EACH:
        return False
    if pa.types.is_floating(values.type):  # people have texts, dates or whole numbers; amounts have fractions
        numbers = values.drop_null().to_numpy(zero_copy_only=False)
        return bool((np.trunc(numbers) == numbers).all())
    return not pa.types.is_boolean(values.type)


def is_named_like_people(name: str) -> bool:
    """Return whether a name is typical of identifiers of people.

    Examples
    --------
    >>> names = ["patient_id", "eMail", "Kundennummer", "Telefon", "town_id", "age", "birth_year", "county"]
    >>> [is_named_like_people(name) for name in names]
    [True, True, True, True, False, False, False, False]
    """
    bare = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", " ", bare).lower().strip()
    return bool(_NAMED.fullmatch(words)) and not _OTHER_ID.fullmatch(words)


def is_written_like_people(values: pa.Array, rows_each: float) -> bool:
    """Return whether most values look like identifiers of people: addresses, telephone and other numbers."""
    types, dtype = pa.types, values.type
    if not (types.is_string(dtype) or types.is_large_string(dtype) or types.is_integer(dtype)):
        return False
    sample = [str(value).strip() for value in values[:: len(values) // _LOOKED_AT + 1].to_pylist()]
    numbers = [text for text in sample if _LONG_NUMBER.fullmatch(text) and not _DAY.fullmatch(text)]
    if len(numbers) > _NEARLY_ALL * len(sample) and len({len(text.lstrip("0")) for text in numbers}) <= 2:
        return rows_each <= _MOST_ROWS_EACH  # all of one width, except for leading zeros
    if types.is_integer(dtype):
        return False
    return any(sum(shape.fullmatch(text) is not None for text in sample) > _MOST * len(sample) for shape in _SHAPES)


def _determines_columns(name: str, columns: Mapping[str, Coded], times: NDArray[Any]) -> bool:
    """Return whether rows with the same value agree on most other columns that do not determine one another.

    Samples of the values and of the other columns are examined.
    """
    target = columns[name]
    lines = np.flatnonzero(target.codes % (len(target.values) // _VALUES + 1) == 0)
    target, times = Coded(target.values, target.codes[lines]), times[lines]
    # A column with as many values is another name of the same thing and gives no evidence.
    likely = [label for label, column in columns.items() if 1 < len(column.values) < len(target.values) / 2]
    constant, free = list[Coded](), list[Coded]()
    for label in likely[:: len(likely) // _OTHERS + 1]:
        codes = columns[label].codes[lines]
        shares = np.bincount(codes, times) / np.sum(times)
        if float(shares @ shares) <= _VARIES:
            column = Coded(columns[label].values, codes)
            (constant if _agree(target, column, times) >= _NEARLY_ALL else free).append(column)
        if len(free) >= _OTHERS / 2:
            return False
    constant.sort(key=lambda column: len(column.values))
    # A town determines its region, and a post code both: agreement on them counts once.
    n_independent = sum(
        all(_agree(finer, column, times) < _NEARLY_ALL for finer in constant[place + 1 :])
        for place, column in enumerate(constant)
    )
    return n_independent > max(1, len(free))


def _agree(first: Coded, second: Coded, times: NDArray[Any]) -> float:
    """Chance that two rows with the same value of one column also agree on another column."""
    n_second = int(second.codes.max()) + 1
    pairs, place = np.unique(first.codes * n_second + second.codes, return_inverse=True)
    n_both, n_rows = np.bincount(place, times), np.bincount(first.codes, times)[pairs // n_second]
    is_some = n_rows > 1
    return float((n_both * (n_both - 1))[is_some] @ (1 / (n_rows[is_some] - 1)) / max(n_both[is_some].sum(), 1.0))


def one_row_each(people: ArrowColumn, name: str, key: NoiseKey) -> tuple[Mask, NDArray[np.float64]]:
    """Draw one row of each person; return the mask of these rows, and for every row the person's number of rows."""
    codes = factorize(people, name)[1]
    order = np.lexsort((key.words_at(0, np.arange(len(codes))), codes))
    chosen = np.zeros(len(codes), bool)
    chosen[order[np.diff(codes[order], prepend=-1) > 0]] = True
    return chosen, np.bincount(codes)[codes].astype(float)


def encode_columns(
    table: Mapping[str, Any], names: Collection[str], companions: Iterable[str] = ()
) -> dict[str, Coded]:
    """Encode columns of a table, one line per row; columns of types that are never released are left out."""
    columns = {}
    for name in dict.fromkeys((*names, *companions)):
        with suppress(ColumnError) if name not in names else nullcontext():
            values, codes = factorize(as_arrow(table[name], name), name)
            columns[name] = Coded(values, np.where(codes < 0, len(values), codes).astype(np.intp))
    return columns


def encode_counts(counts: ContingencyTable) -> tuple[dict[str, Coded], NDArray[Any]]:
    """Columns of a contingency table, one line per (s, x) that occurs, and the number of rows of each line."""
    s, x = np.nonzero(counts.seen)
    columns = {}
    for alphabet, codes in ((counts.sensitive, s), (counts.public, x)):
        for j, (name, level) in enumerate(zip(alphabet.columns, alphabet.levels, strict=True)):
            of_lines = alphabet.codes[codes, j].astype(np.intp)
            columns[name] = Coded(level.take(pa.array(np.unique(of_lines[of_lines < len(level)]))), of_lines)
    return columns, counts.seen[s, x]
