"""Stages of a channel as plain values for JSON, read back so that the same words draw the same symbols.

A stage that draws one part of a tuple draws from the part's own table, not from rows of tuples: its kernel is written,
and the tuples it starts from, and everything else is derived again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._files.source import bytes_of
from sanitize.channel._stage import Stage
from sanitize.channel._tuples import PartStage, Tuples
from sanitize.errors import ColumnError, InvalidChannel

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

_LARGEST = 1 << 31


def stages_to(stages: Sequence[Stage]) -> list[dict[str, Any]]:
    """Each stage as a dictionary; the tuples of a stage are left out where the one before leads to them."""
    written: list[dict[str, Any]] = []
    left: Tuples | None = None
    for stage in stages:
        after = _derived(stage)
        if after is None or not isinstance(stage, PartStage):
            written.append(_rows_to(stage))
            left = None
            continue
        known = left is not None and left.sizes == stage.tuples.sizes and np.array_equal(left.codes, stage.tuples.codes)
        tuples = None if known else _tuples_to(stage.tuples)
        written.append({"part": stage.part, "kernel": _rows_to(stage.kernel), "tuples": tuples})
        left = after
    return written


def stages_from(state: Sequence[dict[str, Any]]) -> tuple[Stage, ...]:
    """Inverse of `stages_to`; every invariant is checked again.

    Raises
    ------
    InvalidChannel, KeyError, TypeError, ValueError, IndexError
        If they are no stages.
    """
    made: list[Stage] = []
    left: Tuples | None = None
    for entry in state:
        if "kernel" not in entry:
            made.append(_rows_from(entry))
            left = None
            continue
        tuples = left if entry["tuples"] is None else _tuples_from(entry["tuples"])
        part, kernel = entry["part"], _rows_from(entry["kernel"])
        fits = tuples is not None and type(part) is int and 0 <= part < len(tuples.sizes)
        if tuples is None or not fits or tuples.sizes[part] != kernel.n_inputs or kernel.n_outputs > _LARGEST:
            raise InvalidChannel("a stage of this channel draws a part that its tuples do not have")
        try:
            stage, left = tuples.through(part, kernel)
        except ColumnError as error:
            raise InvalidChannel(str(error)) from None
        made.append(stage)
    return tuple(made)


def text_of(text_or_path: str | os.PathLike[str]) -> str:
    """The text itself, or the content of the file of this name."""
    is_path = hasattr(text_or_path, "__fspath__") or (
        isinstance(text_or_path, str) and text_or_path.endswith(".json") and "{" not in text_or_path
    )
    if not is_path:
        return text_or_path  # type: ignore[return-value]  # what is no text at all is refused as no JSON
    return bytes_of(Path(text_or_path)).decode("utf-8", errors="replace")


def _derived(stage: Stage) -> Tuples | None:
    """Tuples after a stage, if it draws a part and can be derived from its kernel; rows taken from one cannot."""
    if not isinstance(stage, PartStage) or not _ascending(stage.tuples):
        return None
    again, after = stage.tuples.through(stage.part, stage.kernel)
    same = again.n_outputs == stage.n_outputs and np.array_equal(again.indices, stage.indices)
    return after if same else None


def _ascending(tuples: Tuples) -> bool:
    """Whether tuples are distinct and in lexicographic order."""
    steps = np.diff(tuples.codes.astype(np.int64), axis=0)
    moved = steps != 0
    return bool(moved.any(axis=1).all() and (steps[np.arange(len(steps)), moved.argmax(axis=1)] > 0).all())


def _rows_to(stage: Stage) -> dict[str, Any]:
    return {
        "indptr": stage.indptr.tolist(),
        "indices": stage.indices.tolist(),
        "weights": stage.weights.tolist(),
        "n_outputs": stage.n_outputs,
    }


def _rows_from(state: dict[str, Any]) -> Stage:
    return Stage(np.array(state["indptr"]), np.array(state["indices"]), np.array(state["weights"]), state["n_outputs"])


def _tuples_to(tuples: Tuples) -> dict[str, Any]:
    return {"codes": tuples.codes.tolist(), "sizes": list(tuples.sizes)}


def _tuples_from(state: dict[str, Any]) -> Tuples:
    codes, sizes = np.array(state["codes"]), tuple(state["sizes"])
    whole = all(type(size) is int and 0 < size <= _LARGEST for size in sizes)
    if codes.ndim != 2 or not codes.size or codes.shape[1] != len(sizes) or codes.dtype.kind != "i" or not whole:
        raise InvalidChannel("the tuples of a stage of this channel are damaged")
    tuples = Tuples(codes.astype(np.int32), sizes)
    if (codes < 0).any() or (codes >= np.array(sizes)).any() or not _ascending(tuples):
        raise InvalidChannel("the tuples of a stage of this channel are not in order")
    return tuples
