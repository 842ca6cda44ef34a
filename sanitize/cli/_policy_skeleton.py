"""Draft of a policy, with a role to review for every column, and without values."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sanitize._util.formatting import quote_toml
from sanitize._util.limits import TUPLE_ROWS
from sanitize._util.progress import begin
from sanitize.cli._meanings import Traits, column_meaning
from sanitize.core.binning import holds_dates, is_numeric
from sanitize.errors import ColumnError
from sanitize.policy import N_BINS
from sanitize.release.first_pass import TableCounter
from sanitize.release.people import REASONS, encode_columns, is_named_like_people, looks_like_people
from sanitize.release.survey import MANY_NUMBERS
from sanitize.report import render_template
from sanitize.tables.columns import check_type, comparable, factorize
from sanitize.tables.files.csv import CsvSource
from sanitize.tables.files.description import TableDescription
from sanitize.tables.files.open import Described, SourceLike, open_source
from sanitize.tables.files.source import Source

# Counting stops here, because more distinct values need memory and their number says little. Two million values are
# held at a time, so a few columns are counted further, and whether most values differ is seen in longer tables.
_MOST_VALUES = 10_000
_HELD_VALUES = 1 << 21
# Dependences show in a sample of 262,144 rows; 16 million values take about a hundred megabytes. With fewer than 1.5
# rows per person on average, most people have one row, and rows may be taken for people.
_MOST_ROWS, _TOGETHER_VALUES, _ROWS_EACH = 1 << 18, 1 << 24, 1.5
# Words in names of columns that are usually sensitive: a proposal, which the owner reviews.
_SENSITIVE = re.compile(
    r"(?i)(income|salary|wage|earning|credit|loan|debt|default|disease|diagnos|illness|sick|health|hiv|cancer|medic|"
    r"drug|therap|depress|psych|disab|pregnan|race|ethnic|nationalit|citizen|religio|faith|sex(?!_?code)|gender|"
    r"orient|politic|party|union|crime|criminal|arrest|convict|survived|target|death|died|genetic|biometric)"
)


# A row number identifies rows, a weight is not released, and identifiers and free text identify people, so that none of
# them is proposed for release; neither is a column of unknown type.
_ROWS = ("row number", "weight")
_DROPPED = ("", "identifier", "free text", *_ROWS)


@dataclass
class _Survey:
    """Survey of one column, with the number of distinct values in the rows read."""

    name: str
    kind: str
    numeric: bool
    dated: bool
    nested: bool
    dtype: Any = None
    n_values: int = 0
    n_rows: int = 0
    missing: bool = False
    is_round: bool = True
    traits: Traits = field(default_factory=Traits)
    type: str = ""
    reason: str = ""
    people: str = ""  # reason why the column looks like an identifier of people

    @property
    def distinct(self) -> bool:
        """True if most rows have different values."""
        return self.n_values > max(self.n_rows / 2, 1)

    @property
    def count_text(self) -> str:
        """Number of distinct values in words; above the number at which counting stops, "more than" this number."""
        return f"more than {_MOST_VALUES}" if self.n_values > _MOST_VALUES else f"{self.n_values}"

    @property
    def needs_bins(self) -> bool:
        """True if a column has too many numbers or dates to learn their distribution."""
        return (self.type in ("quantity", "date")) and self.n_values > MANY_NUMBERS

    def look(self, column: Any, distinct: set[Any], most: int) -> None:
        """Add a batch; its values are stored until there are too many."""
        values, codes = factorize(column, self.name)
        self.traits.look(values, codes)
        if self.n_values > most:
            return
        self.n_rows += len(codes)
        self.is_round = self.numeric and self.is_round and bool(pc.all(_ends_in_nought(values), min_count=0).as_py())
        self.missing = self.missing or bool((codes < 0).any())
        self.n_values = len(values)
        if self.n_values <= most:  # as Python values, a larger batch would take ten times the memory
            distinct.update(comparable(values))
            self.n_values = len(distinct)
        if self.n_values > most:
            distinct.clear()


def skeleton(source: SourceLike, description: TableDescription | None = None) -> str:
    """Draft the text of a policy that lists every column of a table."""
    with open_source(Described(source, TableDescription.coerce(description), infers_header=True)) as raw:
        table, readers, source_lines = _infer_types(raw)
        surveys, n_rows = _survey(table)
        _look_for_people(table, surveys, n_rows)
    roles: dict[str, list[_Survey]] = {"sensitive": [], "public": [], "drop": []}
    names = [survey.name for survey in surveys]
    for survey in surveys:
        if not survey.nested:
            survey.type, survey.reason = column_meaning(survey, names)
        role = "drop" if survey.type in _DROPPED else "public"
        if not survey.nested and survey.type not in _ROWS and _SENSITIVE.search(survey.name):
            role = "sensitive"
        roles["drop" if survey.nested or survey.people else role].append(survey)
    # If combinations of the public columns have too few rows each, only a model of the whole table keeps something.
    sizes = (N_BINS if survey.needs_bins else survey.n_values + survey.missing for survey in roles["public"])
    is_whole = math.prod(sizes) * TUPLE_ROWS > n_rows and len(roles["public"]) > 1
    # A certificate of latent classes counts rows: people with several rows are released whole, or by tuples.
    several = [survey for survey in roles["drop"] if survey.people and survey.n_values * _ROWS_EACH <= n_rows]
    person = max(several, key=lambda survey: survey.n_values, default=None)
    if person is not None and not is_whole:
        roles["drop"].remove(person)
    wide = [s for s in (*roles["sensitive"], *(() if is_whole else roles["public"])) if s.needs_bins]
    for survey in surveys:
        survey.type = readers[survey.name] if survey.type == "date" and survey.name in readers else survey.type
    context = {"n_rows": n_rows, "tuple_rows": TUPLE_ROWS, "source": source_lines}
    context["types"] = [(quote_toml(one.name), one.type, one.reason) for one in surveys if not one.nested]
    return render_template("cli/policy.toml.jinja", **roles, **context, is_whole=is_whole, wide=wide, person=person)


def _look_for_people(table: Source, surveys: list[_Survey], n_rows: int) -> None:
    """Store the reason in the survey of each column that looks like an identifier of people."""
    # Amounts that few rows share neither identify nor describe people.
    amounts = [one.name for one in surveys if one.numeric and one.distinct and not one.traits.is_whole]
    flat = (survey.name for survey in surveys if not survey.nested)
    names = tuple(name for name in flat if name not in amounts or is_named_like_people(name))
    if not names or not n_rows:
        return
    most = min(n_rows, _MOST_ROWS, _TOGETHER_VALUES // len(names) + 1)
    columns = encode_columns(TableCounter(table).sample(names, most), names)
    times = np.ones(most)
    for survey in surveys:
        if survey.name in columns and (reason := looks_like_people(survey.name, columns, times)):
            survey.people = REASONS[reason]


def _infer_types(table: Source) -> tuple[Source, dict[str, str], list[tuple[str, str, str]]]:
    """Return the table with texts converted to their types, its date formats, and policy lines for reading its file."""
    if not isinstance(table, CsvSource):
        return table, {}, []
    times = Counter(table.schema.names)
    texts = [field.name for field in table.schema if pa.types.is_string(field.type) and times[field.name] == 1]
    form, readers = table.infer_types([name for name in texts if name not in table.partitions])
    is_named = "the first line is unlike the rows below it"
    is_row = "the first line looks like the rows below it, so columns are named by their places"
    fields = "between the fields of the first rows"
    if len(table.schema) == 1:
        fields = "no usual sign is between the fields of the first rows; name another one with --delimiter"
    marks = ", ".join(quote_toml(mark) for mark in form.missing or ())
    lines = [
        ("delimiter", quote_toml(form.delimiter or ","), fields),
        ("header", "true" if form.header else "false", is_named if form.header else is_row),
        ("missing", f"[{marks}]", "next to empty fields" if marks else "only empty fields; write marks here"),
        ("decimal", quote_toml(form.decimal or "."), "before the decimals of numbers"),
        ("thousands", quote_toml(form.thousands or ""), "between the thousands of numbers; empty for no sign"),
    ]
    return table.reading(readers), {name: reader.form for name, reader in readers.items() if reader.form}, lines


def _ends_in_nought(values: Any) -> Any:
    """Mask of numbers that are multiples of ten, like rounded amounts."""
    tenths = pc.divide(values.cast(pa.float64(), safe=False), 10.0)
    return pc.equal(pc.subtract(pc.floor(tenths), tenths), 0.0)


def _survey(table: Source) -> tuple[list[_Survey], int]:
    times = Counter(table.schema.names)
    if (twice := next((name for name in times if times[name] > 1), None)) is not None:
        raise ColumnError(f"{table.root.name} has two columns named {twice!r}; rename one first", twice)
    surveys = {}
    for column in table.schema:
        plain = getattr(column.type, "value_type", column.type)
        numeric, dated, nested = is_numeric(column.type), holds_dates(column.type), False
        try:
            check_type(column.type, column.name)
        except ColumnError:
            plain, numeric, dated, nested = str(column.type).partition("<")[0], False, False, True
        kind = quote_toml(str(plain))[1:-1]  # the name of a time zone may contain any text
        surveys[column.name] = _Survey(
            column.name, kind, numeric=numeric, dated=dated, nested=nested, dtype=column.type
        )
    names = [survey.name for survey in surveys.values() if not survey.nested]
    n_rows, groups = 0, list(table.column_groups(names))
    begin(None if table.known_rows is None else table.known_rows * len(groups))
    for group in groups:
        distinct: dict[str, set[Any]] = {name: set() for name in group}
        most, n_rows = max(_MOST_VALUES, _HELD_VALUES // len(group)), 0
        for file in table.files:
            for batch in table.batches(file, group):
                for name in group:
                    surveys[name].look(batch[name], distinct[name], most)
                n_rows += len(batch[group[0]])
    return list(surveys.values()), n_rows
