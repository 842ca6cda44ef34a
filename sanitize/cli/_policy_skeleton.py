"""A policy to start from: every column of a table with a role to be reviewed, and no value of any."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from sanitize._files.open import SourceLike, open_source
from sanitize._files.source import Numbers, Source
from sanitize._formatting import quoted
from sanitize._limits import TUPLE_ROWS
from sanitize._progress import begin
from sanitize._release.first_pass import FirstPass
from sanitize._release.people import REASONS, coded, looks_like_people
from sanitize._release.survey import MANY_NUMBERS
from sanitize._tables.columns import check_type, comparable, factorize
from sanitize.binning import holds_dates, is_numeric
from sanitize.errors import ColumnError
from sanitize.policy import N_BINS
from sanitize.report import rendered

# Different values are told up to here; so many are held of columns that are looked at together.
_MOST_VALUES = 10_000
_HELD_VALUES = 1 << 21
# Rows that are looked at together for what goes with what, and rows of a person on average from which they are several.
_MOST_ROWS, _ROWS_EACH = 1 << 18, 1.5
_SENSITIVE = re.compile(
    r"(?i)(income|salary|wage|earning|credit|loan|debt|default|disease|diagnos|illness|sick|health|hiv|cancer|medic|"
    r"drug|therap|depress|psych|disab|pregnan|race|ethnic|nationalit|citizen|religio|faith|sex(?!_?code)|gender|"
    r"orient|politic|party|union|crime|criminal|arrest|convict|survived|target|death|died|genetic|biometric)"
)


@dataclass
class _Survey:
    """One column: what it holds, and how many different values in the rows that were looked at."""

    name: str
    kind: str
    numeric: bool
    dated: bool
    nested: bool
    n_values: int = 0
    n_rows: int = 0
    missing: bool = False
    people: str = ""  # why it looks like an identifier of people

    @property
    def distinct(self) -> bool:
        """Whether most rows have a value of their own."""
        return self.n_values > max(self.n_rows / 2, 1)

    @property
    def needs_bins(self) -> bool:
        """Whether it has so many numbers or dates that no distribution of them can be learned."""
        return (self.numeric or self.dated) and self.n_values > MANY_NUMBERS

    def look(self, column: Any, held: set[Any], most: int) -> None:
        """Take another batch into account; values are held until there are more than so many."""
        if self.n_values > most:
            return
        values, codes = factorize(column, self.name)
        self.n_rows += len(codes)
        self.missing = self.missing or bool((codes < 0).any())
        self.n_values = len(values)
        if self.n_values <= most:  # as values of Python a larger batch would take ten times the memory
            held.update(comparable(values))
            self.n_values = len(held)
        if self.n_values > most:
            held.clear()


def skeleton(source: SourceLike) -> str:
    """Text of a policy that lists every column of a table."""
    with open_source(source, Numbers(found=lambda _: True)) as table:
        surveys, n_rows = _survey(table)
        _look_for_people(table, surveys, n_rows)
    roles: dict[str, list[_Survey]] = {"sensitive": [], "public": [], "drop": []}
    for survey in surveys:
        role = "public" if survey.numeric or survey.dated or not survey.distinct else "drop"
        if not survey.nested and _SENSITIVE.search(survey.name):
            role = "sensitive"
        roles["drop" if survey.nested or survey.people else role].append(survey)
    # Combinations of the public columns that would have too few rows each.
    sizes = (N_BINS if survey.needs_bins else survey.n_values + survey.missing for survey in roles["public"])
    is_whole = math.prod(sizes) * TUPLE_ROWS > n_rows and len(roles["public"]) > 1
    # A tree counts rows: whoever has several is released whole, or by tuples.
    several = [survey for survey in roles["drop"] if survey.people and survey.n_values * _ROWS_EACH <= n_rows]
    person = max(several, key=lambda survey: survey.n_values, default=None)
    if person is not None and not is_whole:
        roles["drop"].remove(person)
    wide = [s for s in (*roles["sensitive"], *(() if is_whole else roles["public"])) if s.needs_bins]
    told = {"n_rows": n_rows, "most": _MOST_VALUES, "tuple_rows": TUPLE_ROWS}
    return rendered("cli/policy.toml.jinja", **roles, **told, is_whole=is_whole, wide=wide, person=person)


def _look_for_people(table: Source, surveys: list[_Survey], n_rows: int) -> None:
    """Say of each column that looks like an identifier of people why it does."""
    names = tuple(survey.name for survey in surveys if not survey.nested)
    if not names or not n_rows:
        return
    columns = coded(FirstPass(table).sample(names, _MOST_ROWS), names)
    times = np.ones(min(n_rows, _MOST_ROWS))
    for survey in surveys:
        if survey.name in columns and (reason := looks_like_people(survey.name, columns, times)):
            survey.people = REASONS[reason]


def _survey(table: Source) -> tuple[list[_Survey], int]:
    times = Counter(table.schema.names)
    twice = next((name for name in times if times[name] > 1), None)
    if twice is not None:
        raise ColumnError(f"{table.root.name} has two columns named {twice!r}; rename one first", twice)
    surveys = {}
    for column in table.schema:
        plain = getattr(column.type, "value_type", column.type)
        numeric, dated, nested = is_numeric(column.type), holds_dates(column.type), False
        try:
            check_type(column.type, column.name)
        except ColumnError:
            plain, numeric, dated, nested = str(column.type).partition("<")[0], False, False, True
        kind = quoted(str(plain))[1:-1]  # the name of a time zone may be any text
        surveys[column.name] = _Survey(column.name, kind, numeric=numeric, dated=dated, nested=nested)
    names = [survey.name for survey in surveys.values() if not survey.nested]
    n_rows, groups = 0, list(table.apart(names))
    begin(None if table.known_rows is None else table.known_rows * len(groups))
    for group in groups:
        held: dict[str, set[Any]] = {name: set() for name in group}
        most, n_rows = max(_MOST_VALUES, _HELD_VALUES // len(group)), 0
        for file in table.files:
            for batch in table.batches(file, group):
                for name in group:
                    surveys[name].look(batch[name], held[name], most)
                n_rows += len(batch[group[0]])
    return list(surveys.values()), n_rows
