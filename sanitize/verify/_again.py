"""A release again: designed from its source, or, where a clock may have cut the design off, read and measured on it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sanitize._files.kept import KeptRows
from sanitize._files.names import path_of
from sanitize._files.open import open_source
from sanitize._files.source import BATCH_ROWS, bytes_of
from sanitize._release.designers.secret_dp import refuse_secret_dp
from sanitize._release.first_pass import FirstPass
from sanitize.channel import Channel
from sanitize.errors import InvalidParameter, SourceError
from sanitize.policy import Policy, designer_of
from sanitize.saved import SavedRelease
from sanitize.verify._row_checks import Check
from sanitize.verify._twice import MOST_BYTES, SourceCounts

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from sanitize._files.open import SourceLike
    from sanitize._release.designers.designer import Designer
    from sanitize._release.row_order import RowOrder

    ChannelLike = Channel | SavedRelease | str | os.PathLike[str]

_LIMIT = "time_limit"
_NO_VERIFY = (
    "what verify says of a release would tell of them, and a design again would have other noise; keep the report with "
    "the digest of the released file"
)
_WAY_OUT = (
    "it was cut short, and the release perhaps by a clock or with another SciPy: give the channel of the release, "
    "which release --channel writes and a saved release has"
)


def designed(
    source: SourceLike, sanitizer: Designer | Policy, rows: RowOrder, channel: Channel | None = None
) -> tuple[Designer, SourceCounts]:
    """Design the release again, from the counts of its source, or measure the channel that was given on them."""
    if isinstance(sanitizer, Policy):
        with open_source(source) as table:
            sanitizer.check(table.schema.names)
        again = designer_of(sanitizer)
    else:
        again = copy.deepcopy(sanitizer)
    refuse_secret_dp(again, _NO_VERIFY)
    with open_source(source, again.numbers) as table:
        kept = KeptRows(MOST_BYTES)
        counts = again._fit_counted(FirstPass(table, BATCH_ROWS, kept=kept), rows, channel).table
    pa.default_memory_pool().release_unused()  # Arrow keeps what reading took, which the search for values needs next
    return again, SourceCounts(counts, kept)


def channel_of(given: ChannelLike, sanitizer: Designer | Policy, against: Sequence[Any]) -> Channel:
    """The channel that a release went through, from what keeps it.

    Raises
    ------
    InvalidParameter, InvalidChannel, SourceError
        If it cannot be read, or the design needs none.
    """
    whole = designer_of(sanitizer) if isinstance(sanitizer, Policy) else sanitizer
    if not _limits(whole):
        raise InvalidParameter(
            f"{type(whole).__name__} has no time limit, so its channel is designed again; leave the channel out"
        )
    if against:
        raise InvalidParameter("other releases went through channels of their own; compare them without a channel")
    if isinstance(given, Channel):
        return given
    if isinstance(given, SavedRelease):
        return given.channel
    path = path_of(given, SourceError)
    text = bytes_of(path).decode("utf-8", errors="replace")
    return SavedRelease.from_json(path).channel if '"sanitize/release"' in text[:200] else Channel.from_json(text)


def design_check(again: Designer, channel: Channel | None) -> Check:
    """What stands behind the channel that the rows are compared with."""
    mechanism = again.report_.facts.mechanism
    if channel is not None:
        return Check.passed("design", f"{mechanism}, as it was given, within its budget on the source")
    return Check.passed("design", f"{mechanism}, designed again from the source")


def with_way_out(checks: list[Check], again: Designer, channel: Channel | None) -> list[Check]:
    """The checks; where one failed and a clock, or another solver, could be why, the design says what to do."""
    design = checks[0]
    standing = again.channel_.standing
    is_cut = any(value is not None for value in _limits(again)) or (standing and standing.status == "cut short")
    if channel is not None or not design.ok or not is_cut or all(check.ok for check in checks):
        return checks
    return [Check.passed("design", f"{design.detail}; {_WAY_OUT}"), *checks[1:]]


def _limits(sanitizer: Designer) -> list[Any]:
    """Time limits of a sanitizer and its parts, None where they could be set."""
    parts = [part for _, part in getattr(sanitizer, "sanitizers", ())]
    return [getattr(one, _LIMIT) for one in (sanitizer, *parts) if hasattr(one, _LIMIT)]
