"""A saved release applied to new rows: read them all first, then draw and write."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._files.open import opened, place_of
from sanitize._release.design import restrict
from sanitize._sampling.noise import NoiseKey
from sanitize._version import __version__
from sanitize.errors import InvalidParameter, SourceError, UnknownSymbol
from sanitize.parquet._order import OrderAudit
from sanitize.parquet._second_pass import SecondPass
from sanitize.report import LeakageReport, ReleaseFacts

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from sanitize._files.open import From, To
    from sanitize._files.source import Source
    from sanitize.parquet._second_pass import Rows
    from sanitize.report import Audience
    from sanitize.saved import SavedRelease

LAW = "the law of the rows that the channel was fitted on"


@dataclass(frozen=True, eq=False)
class AppendedReport:
    """What is known of a release of new rows through a saved channel.

    The verdict is that of the fit and holds under its law, if the new rows follow it. Whether they do is measured
    where they hold the sensitive columns: `held_out` is the same channel under the frequencies of the new rows.

    Attributes
    ----------
    saved : SavedRelease
    n_rows : int
    held_out : LeakageReport or None
        Exact for the new rows; None where they have no sensitive columns. Its verdict may fail.
    warnings : tuple of str

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> folder, df = pathlib.Path(tempfile.mkdtemp()), sz.datasets.load_titanic()
    >>> sanitizer = SubsetMerging(sz.LiftBudget(1.0, 0.7), sensitive="survived", public=["class", "sex"])
    >>> saved = sz.SavedRelease.of(sanitizer.fit(df))
    >>> df.iloc[::5].to_parquet(folder / "march.parquet")
    >>> report = sz.privatize_parquet(folder / "march.parquet", folder / "released.parquet", saved)
    >>> report.n_rows, report.ok, report.held_out.ok
    (441, True, True)
    """

    saved: SavedRelease
    n_rows: int
    held_out: LeakageReport | None
    warnings: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Verdict of the fit; no other release can be saved."""
        return True

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the fit by name, and under which law they hold."""
        return {**self.saved.summary, "law": LAW}

    def to_dict(self, *, audience: Audience = "internal") -> dict[str, Any]:
        """The report as plain values; the public one holds no counts."""
        state = json.loads(self.saved.to_json())
        document = {
            "schema": "sanitize/appended-report",
            "version": 1,
            "library_version": __version__,
            "audience": audience,
            "law": LAW,
            "saved_release": state["sha256"],
            "mechanism": state["mechanism"],
            "budget": state["budget"],
            "columns": {"sensitive": state["sensitive"], "released": state["public"]},
            "figures": state["figures"],
            "held_out": None if self.held_out is None else self.held_out.to_dict(audience=audience),
            "warnings": [*self.saved.warnings, *self.warnings],
        }
        return document if audience == "public" else document | {"n_rows": self.n_rows}

    def to_json(self, path: str | os.PathLike[str] | None = None, *, audience: Audience = "internal") -> str:
        """The report as JSON; written to ``path``, readable by its owner only, when one is given."""
        from sanitize._files.target import write_text

        text = json.dumps(self.to_dict(audience=audience), indent=2, allow_nan=False) + "\n"
        if path is not None:
            write_text(path, text)
        return text

    def to_text(self, *, audience: Audience = "internal") -> str:
        """The report as text."""
        saved = self.saved
        lines = [
            f"WITHIN BUDGET UNDER THE LAW OF THE FIT | saved {saved.mechanism}, {saved.release}",
            f"sensitive: {', '.join(saved.sensitive)}    released: {', '.join(saved.public)}",
            f"budget: {saved.budget!r}",
            f"largest log-lift {_shown(saved, 'max_log_lift')}, smallest {_shown(saved, 'min_log_lift')} nats, "
            f"share of information kept {_shown(saved, 'normalized_utility')}",
            f"These figures hold under {LAW}.",
        ]
        if audience == "internal":
            lines.insert(2, f"new rows: {self.n_rows}")
        lines += [f"! {note}" for note in (*saved.warnings, *self.warnings)]
        if self.held_out is None:
            lines.append("The new rows have no sensitive columns, so nothing is known of their own law.")
        else:
            lines += ["", "Held out: the same channel under the frequencies of the new rows", ""]
            lines.append(self.held_out.to_text(audience=audience))
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"AppendedReport({self.saved.mechanism}, {self.n_rows} rows, held out: {self.held_out!r})"


def _shown(saved: SavedRelease, name: str) -> str:
    value = saved.summary.get(name)
    return "-" if value is None else f"{value:.4g}"


@dataclass(frozen=True)
class _FirstPass:
    """What reading the new rows once told."""

    seen: NDArray[np.int64]
    stream: str
    report: AppendedReport


def release_saved(
    source: From,
    target: To | None,
    saved: SavedRelease,
    *,
    rows: Rows,
    key: bytes | None,
    force: bool,
    batch_rows: int,
) -> AppendedReport:
    """Apply a saved release to new rows; without a target they are only read and measured.

    The noise of a key comes from (key, saved release, symbols of all new rows in their order): another file gets
    other noise, and the same file with the same key the very same output, which tells nothing more.
    """
    place = None if target is None else place_of(target, source, force=force)
    numeric = tuple(saved.bound().layout.bins)
    with opened(source, numeric) as table:
        first = _read(table, saved, rows, batch_rows)
        if place is None:
            return first.report
        whole = NoiseKey.from_system() if key is None else NoiseKey(key)
        words = whole.derive(f"saved {saved.fingerprint} {first.stream}")
        passed = SecondPass(table, saved.bound(), first.seen, words, batch_rows)
        passed.write(place, rows, _footer(saved, rows))
    return first.report


def _read(table: Source, saved: SavedRelease, rows: Rows, batch_rows: int) -> _FirstPass:
    """Count and identify the new rows, and refuse symbols that were not there at fit."""
    layout, channel = saved.bound().layout, saved.channel
    own = layout.sensitive == layout.public
    measured = own or set(layout.sensitive) <= set(table.schema.names)
    order = None
    if rows == "keep" and not own:
        if not measured:
            raise InvalidParameter(
                "rows='keep' needs the sensitive columns in the new file, to measure what its order tells; use "
                "rows='shuffle', the default"
            )
        order = OrderAudit.of(layout.sensitive, table.n_rows)
    names = list(dict.fromkeys((*(layout.sensitive if measured else ()), *layout.public)))
    table.check(names)
    counts = layout.empty_table()
    seen = np.zeros(channel.n_inputs, np.int64)
    clipped: Counter[str] = Counter()
    stream = hashlib.sha256()
    n_unseen = n_rows = 0
    for file in table.files:
        n_here = 0
        for batch in table.batches(file, names, batch_rows):
            columns = layout.columns(batch)
            codes = channel.inputs.encode(columns)
            unseen = codes < 0
            n_unseen += int(unseen.sum())
            n_here += len(codes)
            seen += np.bincount(codes[~unseen], minlength=len(seen))
            stream.update(codes.astype("<i4").tobytes())
            if measured:
                counts.count(columns)
            if order is not None:
                order.count(columns, len(codes))
            clipped.update(columns.clipped)
        stream.update(f"end {n_here} {table.label(file)}".encode())
        n_rows += n_here
    table.unchanged()
    if n_unseen:
        raise UnknownSymbol(layout.public, n_unseen, "A saved release never passes such rows: fit again on all rows.")
    if not n_rows:
        raise SourceError(f"{table.root.name} has no rows, so there is nothing to release")
    notes = list(layout.notes(clipped))
    held_out = None
    if measured:
        facts = ReleaseFacts(mechanism=f"{saved.mechanism}, held out", release=saved.release)
        held_out = LeakageReport.measure(*restrict(counts, channel, 0), saved.budget, facts=facts)
        if order is not None:
            held_out = order.checked(held_out, saved.budget)
        if not held_out.ok:
            notes.append(
                f"under the frequencies of the new rows the release is {held_out.worst_excess:.4g} nats over the "
                "budget; they are a sample, but if they differ from the rows of the fit, fit again"
            )
    return _FirstPass(seen, stream.hexdigest(), AppendedReport(saved, n_rows, held_out, tuple(notes)))


def _footer(saved: SavedRelease, rows: str) -> bytes:
    """What the file says about itself."""
    figures = saved.summary
    text = {
        "sanitize": __version__,
        "mechanism": saved.mechanism,
        "budget": repr(saved.budget),
        "within_budget": True,
        "law": LAW,
        "saved_release": saved.fingerprint,
        **{name: str(figures.get(name)) for name in ("max_log_lift", "min_log_lift", "normalized_utility")},
        "rows": rows,
    }
    return json.dumps(text).encode()
