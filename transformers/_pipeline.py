"""Audit of the output of a fitted pipeline: its sanitizers, and columns that bypass them, measured together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from sanitize._util.sampling.noise import noise_key
from sanitize.core.channel import ReducedChannel, Stage, Tuples
from sanitize.core.joint import ContingencyTable
from sanitize.errors import ColumnError, InvalidParameter
from sanitize.release.layout import Layout
from sanitize.release.recipes.joint_plan import JointPart, marginal_tables, side_by_side
from sanitize.report import LeakageReport, PartLeakage, ReleaseFacts
from sanitize.tables.frame import Table
from sanitize.transformers._sanitizer import Sanitizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class _Rows:
    """Rows as they reach a step of a pipeline.

    Attributes
    ----------
    native : table
    names : tuple of str
        Names of the columns in the report: those of the table, or names with the step that made the column.
    is_source : bool
        Whether the columns are those of the table itself.
    """

    native: Any
    names: tuple[str, ...]
    is_source: bool = True

    def take(self, columns: Sequence[Any]) -> _Rows:
        """Select columns by label or position."""
        labels = Table.from_native(self.native).labels
        places = [labels.index(column) if isinstance(column, str) else int(column) for column in columns]
        taken = _safe_indexing(self.native, places, axis=1)
        return _Rows(taken, tuple(self.names[place] for place in places), self.is_source)

    def apply_step(self, step: Any, name: str) -> _Rows:
        """Return the rows after a step that precedes the first sanitizer."""
        if not hasattr(step, "transform") or getattr(step.__sklearn_tags__(), "non_deterministic", False):
            raise InvalidParameter(
                f"step {name!r} precedes a sanitizer and gives another output at every call, so the audit cannot know "
                "what the sanitizer releases: put the sanitizer first"
            )
        output = step.transform(self.native)
        return _Rows(output, tuple(f"{name}: {column}" for column in Table.from_native(output)), is_source=False)

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of the rows by their names in the report."""
        table = Table.from_native(self.native)
        return {name: table[column] for name, column in zip(self.names, table, strict=True)}


@dataclass(frozen=True)
class _Sanitized:
    """Sanitizer of a pipeline with the rows that reach it."""

    name: str
    sanitizer: Sanitizer
    rows: _Rows

    @cached_property
    def beside(self) -> JointPart:
        """Return the part of the channel that determines leakage, to be measured jointly with other releases."""
        reduced = ReducedChannel.from_channel(self.sanitizer.channel_)
        merged = Stage.deterministic(reduced.states.astype(np.int32), reduced.n_states)
        return JointPart(f"{self.name}: {', '.join(self.sanitizer._release.layout.read)}", (merged, *reduced.stages))

    @cached_property
    def encoded(self) -> tuple[NDArray[Any], int]:
        """Code of each row's public symbol, and the number of rows whose symbol did not occur at fit."""
        return self.sanitizer._release.encode(self.sanitizer._read(self.rows.native, reset=False))

    @property
    def columns(self) -> dict[str, Any]:
        """Column with the public symbol of each row, by its name in the report."""
        return {self.beside.column: self.encoded[0]}


def audit_pipeline(df: Any, sensitive: tuple[str, ...], pipeline: Any) -> LeakageReport:
    """Measure what the whole output of a fitted pipeline reveals about the sensitive columns; see `sanitize.audit`."""
    table = Table.from_native(df)
    parts = _output_parts(pipeline, _as_fitted(pipeline, table), ())
    sanitized = {part.beside.column: part for part in parts if isinstance(part, _Sanitized)}
    if len(sanitized) > 1:  # Their noise may be the same, and then their joint distribution is another one.
        keys = [key for part in sanitized.values() if (key := noise_key(part.sanitizer.random_state)) is not None]
        if len(set(keys)) < len(keys):
            raise InvalidParameter(
                "two sanitizers of the pipeline draw from the same key or seed, and equal noise is not independent: "
                "leave random_state at None, or give each a key of its own"
            )
    columns: dict[str, Any] = {}
    for part in parts:
        is_source = isinstance(part, _Rows) and part.is_source
        if twice := next((name for name in part.columns if not is_source and name in table.names), None):
            raise ColumnError(
                f"the table has a column {twice!r}, and a step makes one of that name; rename the column", twice
            )
        columns |= part.columns
    if not columns:
        raise ColumnError("the pipeline hands out no column, so there is nothing to audit")
    counts = ContingencyTable.empty(sensitive, list(columns))
    counts.count({**{name: table[name] for name in sensitive}, **columns})
    unsanitized = tuple(name for name in columns if name not in sanitized)
    as_they_are = {"public": Tuples.from_alphabet(counts.public, [unsanitized])[1][0]} if unsanitized else {}
    Layout.refuse_distinct({"sensitive": counts.sensitive, **as_they_are}, int(counts.n))
    tables = zip(columns, marginal_tables(counts, [(name,) for name in columns]), strict=True)
    facts = ReleaseFacts(
        mechanism="audit",
        seeded=any(part.sanitizer.recipe().is_seeded for part in sanitized.values()),
        n_unseen=sum(part.encoded[1] for part in sanitized.values()),
        kept=unsanitized,
        parts=tuple(_part_leakage(name, table_counts, sanitized.get(name)) for name, table_counts in tables),
    )
    return _measure_releases(counts, [part.beside for part in sanitized.values()], facts)


def _measure_releases(
    counts: ContingencyTable, releases: Sequence[JointPart], facts: ReleaseFacts | None = None
) -> LeakageReport:
    distribution = counts.to_joint()
    return LeakageReport.measure(distribution, side_by_side(distribution.public, releases), facts=facts)


def _part_leakage(name: str, counts: ContingencyTable, part: _Sanitized | None) -> PartLeakage:
    """Leakage of one sanitizer alone, or of one column that bypasses all sanitizers."""
    if part is None:
        return PartLeakage.from_summary(name, (name,), None, _measure_releases(counts, []).summary)
    columns, mechanism = part.sanitizer._release.layout.read, part.sanitizer.report_.facts.mechanism
    return PartLeakage.from_summary(name, columns, mechanism, _measure_releases(counts, [part.beside]).summary)


def _as_fitted(pipeline: Any, table: Table) -> _Rows:
    """Select the columns on which the pipeline was fitted, without other columns of the table."""
    rows, names = _Rows(table.native, table.names), getattr(pipeline, "feature_names_in_", None)
    if names is None:
        n = getattr(pipeline, "n_features_in_", len(table))
        if n != len(table):
            raise InvalidParameter(
                f"the pipeline was fitted on {n} columns without names, and the table has {len(table)}: fit it on a "
                "frame, so that its columns are known by name"
            )
        return rows
    if absent := [name for name in names if name not in table.labels]:
        raise ColumnError.absent(absent, table.names)
    return rows if tuple(names) == table.labels else rows.take(names)


def _output_parts(step: Any, rows: _Rows, path: tuple[str, ...]) -> list[_Rows | _Sanitized]:
    """Parts of the output of a step: its sanitizers, and columns passed on unchanged.

    The output of any other step reveals no more than the columns from which the step computes it.
    """
    name = "__".join(path) or type(step).__name__.lower()
    if isinstance(step, Sanitizer):
        check_is_fitted(step, "channel_")
        raw = [rows.take(step._kept)] if step._kept else []
        return [_Sanitized(name, step, rows), *raw]
    if isinstance(step, Pipeline):
        return _pipeline_parts(step, rows, path)
    if isinstance(step, ColumnTransformer):
        check_is_fitted(step)
        labels = getattr(step, "feature_names_in_", range(step.n_features_in_))
        places = step._transformer_to_input_indices
        parts = []
        for key, inner, _ in step.transformers_:
            if columns := [labels[place] for place in places[key]]:
                parts += _output_parts(inner, rows.take(columns), (*path, key))
        return parts
    if isinstance(step, FeatureUnion):
        return [part for key, inner in step.transformer_list for part in _output_parts(inner, rows, (*path, key))]
    if _has_sanitizer(step):
        raise InvalidParameter(
            f"{type(step).__name__} ({name!r}) contains a sanitizer, but the audit cannot know what it passes on: "
            "audit the fitted estimator, such as best_estimator_ of a search, or the sanitizer alone"
        )
    return [] if step == "drop" else [rows]


def _pipeline_parts(pipeline: Pipeline, rows: _Rows, path: tuple[str, ...]) -> list[_Rows | _Sanitized]:
    """Parts of the output of the first step with sanitizers; later steps only transform this output."""
    steps = [(key, step) for key, step in pipeline.steps if step not in (None, "passthrough")]
    first = next((place for place, (_, step) in enumerate(steps) if _has_sanitizer(step)), None)
    if first is None:
        return [rows]
    for key, step in steps[:first]:
        rows = rows.apply_step(step, "__".join((*path, key)))
    parts = _output_parts(steps[first][1], rows, (*path, steps[first][0]))
    if any(isinstance(part, _Rows) for part in parts):
        for key, step in steps[first + 1 :]:
            if _has_sanitizer(step) or isinstance(step, ColumnTransformer):
                raise InvalidParameter(
                    f"step {key!r} chooses among sanitized columns and others that step {steps[first][0]!r} passes "
                    "on, but the audit cannot know which it chooses: choose columns in the first ColumnTransformer"
                )
    return parts


def _has_sanitizer(step: Any) -> bool:
    """Return whether a step is a sanitizer, or has a sanitizer among its parameters."""
    inside = step.get_params(deep=True).values() if hasattr(step, "get_params") else ()
    return isinstance(step, Sanitizer) or any(isinstance(value, Sanitizer) for value in inside)
