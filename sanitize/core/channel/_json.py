"""Stages of a channel as plain values for JSON, read back so that the same random words give the same symbols.

A stage that draws one part of a tuple uses the part's own table, not rows of tuples. Its form holds only that kernel
and the input tuples; everything else is derived again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from sanitize._util.declared import Count, Declared, field_note, require
from sanitize.core.alphabet import is_ascending
from sanitize.core.channel._stage import Stage
from sanitize.core.channel._tuples import PartStage, Tuples
from sanitize.errors import ColumnError, InvalidChannel
from sanitize.tables.files.source import read_small_file

# Symbols are numbered by 32-bit integers with a sign.
_LARGEST_SIZE = 1 << 31


class TuplesForm(Declared, frozen=True):
    """Form of tuples in JSON: the codes of their parts, in order, and the number of symbols of each part."""

    codes: list[list[Count]]
    sizes: tuple[Annotated[int, field_note("a number of symbols", ge=1, le=_LARGEST_SIZE)], ...]

    def __post_init__(self) -> None:
        require(self.codes and all(len(row) == len(self.sizes) for row in self.codes))
        codes = np.array(self.codes)
        require(
            (codes < np.array(self.sizes)).all() and is_ascending(codes),
            "must be distinct and in ascending order",
            "codes",
        )

    def tuples(self) -> Tuples:
        """Return the tuples as arrays."""
        return Tuples(np.array(self.codes, np.int32), self.sizes)


class StageForm(Declared, frozen=True, omit_defaults=True):
    """Form of a stage: its rows or, if it draws one part of a tuple, the rows of that part and the input tuples."""

    indptr: list[Count]
    indices: list[Count]
    weights: list[Count]
    n_outputs: Annotated[int, field_note("a number of symbols", ge=1, le=_LARGEST_SIZE)]
    part: Count | None = None
    tuples: TuplesForm | None = None

    @classmethod
    def from_stage(cls, stage: Stage, **part: Any) -> StageForm:
        """Return the form that lists the rows of a stage, with the fields in ``part``."""
        return cls(stage.indptr.tolist(), stage.indices.tolist(), stage.weights.tolist(), stage.n_outputs, **part)


def stages_to(stages: Sequence[Stage]) -> list[StageForm]:
    """Return the form of each stage, without input tuples that follow from the stage before."""
    written: list[StageForm] = []
    left: Tuples | None = None
    for stage in stages:
        after = None
        # The kernel determines what a stage draws and the tuples after it, unless the stage was cut to some of its
        # inputs.
        if isinstance(stage, PartStage) and is_ascending(stage.tuples.codes):
            next_stage, tuples_after = stage.tuples.pass_part(stage.part, stage.kernel)
            same = next_stage.n_outputs == stage.n_outputs and np.array_equal(next_stage.indices, stage.indices)
            after = tuples_after if same else None
        if after is None or not isinstance(stage, PartStage):
            written.append(StageForm.from_stage(stage))
            left = None
            continue
        codes, sizes = stage.tuples.codes, stage.tuples.sizes
        is_derivable = left is not None and left.sizes == sizes and np.array_equal(left.codes, codes)
        tuples = None if is_derivable else TuplesForm(codes.tolist(), sizes)
        written.append(StageForm.from_stage(stage.kernel, part=stage.part, tuples=tuples))
        left = after
    return written


def stages_from(forms: Sequence[StageForm]) -> tuple[Stage, ...]:
    """Read stages from their forms; every invariant is checked again.

    Raises
    ------
    InvalidChannel
        If the forms do not describe stages.
    """
    stages: list[Stage] = []
    left: Tuples | None = None
    for form in forms:
        rows = Stage(np.array(form.indptr), np.array(form.indices), np.array(form.weights), form.n_outputs)
        if form.part is None:
            stages.append(rows)
            left = None
            continue
        tuples = left if form.tuples is None else form.tuples.tuples()
        fits = tuples is not None and form.part < len(tuples.sizes) and tuples.sizes[form.part] == rows.n_inputs
        if tuples is None or not fits:
            raise InvalidChannel("this channel is damaged: a stage draws a part of a tuple that does not exist")
        try:
            stage, left = tuples.pass_part(form.part, rows)
        except ColumnError as error:
            raise InvalidChannel(str(error)) from None
        stages.append(stage)
    return tuple(stages)


def read_text(text_or_path: str | os.PathLike[str]) -> str:
    """Return the argument if it is text, or the content of the file if it is a file name."""
    is_path = hasattr(text_or_path, "__fspath__") or (
        isinstance(text_or_path, str) and text_or_path.endswith(".json") and "{" not in text_or_path
    )
    if not is_path:
        return text_or_path  # type: ignore[return-value]  # what is no text at all is refused as no JSON
    return read_small_file(Path(text_or_path)).decode("utf-8", errors="replace")
