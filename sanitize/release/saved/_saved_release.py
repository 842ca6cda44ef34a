"""Fitted release that is saved as JSON, without the distribution of the fit, and applied to new rows.

The saved text contains only the information that a new file needs: the channel, the roles of the columns, bins, the
budget and the figures of the fit in four digits. It does not contain the distribution of (S, X), counts or keys. The
channel reveals a part of P_X: a released symbol is written as a public symbol with the frequencies of its group. Latent
classes reveal more: how frequent values are in each class. Anyone who can change the saved text decides what it
releases, so protect it like code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from sanitize._util.declared import UNSET, SchemaError, read, read_sealed, seal_text, to_builtin
from sanitize._util.formatting import round_figure
from sanitize._util.outputs import json_text, write_text
from sanitize._util.sampling.noise import NoiseKey, hidden
from sanitize._util.sealed_text import compute_seal
from sanitize._version import __version__
from sanitize.core.binning import AnyBins, is_numeric
from sanitize.core.budgets import budget_from_dict, budget_to_dict, nameless
from sanitize.errors import InvalidParameter, SanitizeError
from sanitize.release.designer import Designer, Prepared
from sanitize.release.layout import CellLayout, layout_classes
from sanitize.release.release import FittedRelease
from sanitize.release.saved._form import SavedForm, check_fit, damage_error, own_budget
from sanitize.release.saved._new_rows import NewRows
from sanitize.report import (
    ALONE,
    LEFT_OUT,
    NOTE_FORMAT,
    MeasureForm,
    OptimalityForm,
    claims,
    grave,
    release_note,
    render_template,
)
from sanitize.tables.files.source import Numbers, read_small_file

if TYPE_CHECKING:
    import os

    from sanitize.core.budgets import Budget
    from sanitize.core.channel import Channel
    from sanitize.core.measures import Measure
    from sanitize.release.first_pass import RowOrder, TableCounter
    from sanitize.release.layout import Layout
    from sanitize.release.saved._form import Output
    from sanitize.report import Audience, LeakageReport

# A saved release was certified on the rows of its fit, so no report on new rows may claim more than this.
_HOLDS = "HOLDS FOR THE DISTRIBUTION OF THE FIT"
# Every figure of such a report holds under this distribution, and says so.
DISTRIBUTION = "the distribution of the rows that the channel was fitted on"


@dataclass(frozen=True, eq=False)
class SavedRelease:
    """A fitted release that can be saved and applied to new rows, without the distribution of the fit.

    Make a saved release with `SavedRelease.of`, store it with `to_json`, and pass it to `release_file` in place of a
    sanitizer: no row of the new file is used to fit. Its verdict holds under the distribution of the fitted rows; new
    rows that include the sensitive columns are also measured, as held-out rows. If a value did not occur at fit,
    nothing is written.

    A release of a whole table (`LatentClassRelease`) contains its latent classes: see ``contents``, and protect the
    saved text like the table itself.

    Attributes
    ----------
    mechanism : str
    output : str
        ``resample``, ``label`` or, for a whole table, ``model``.
    budget : Budget
    channel : Channel
        Channel from public symbols to released ones; ``optimality`` is what was proved, with the gap rounded up.
    figures : tuple of Measure
        Leakage and utility under the distribution of the fit, rounded as in a public report.
    warnings : tuple of str
        Warnings of the public report of the fit.
    secret_dp, record_dp : pair of float or None
        (eps, delta) of differential privacy of each row's sensitive value, or of whole rows, at fit. The figures are
        then from noisy counts, and sensitive values of new rows are never read.

    Examples
    --------
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", public=["class", "sex"])
    >>> saved = SavedRelease.of(sanitizer.fit(sz.datasets.load_titanic()))
    >>> again = SavedRelease.from_json(saved.to_json())
    >>> again.channel == sanitizer.channel_, again.budget, again.public
    (True, LiftBudget(lower=1.0, upper=0.7), ('class', 'sex'))
    """

    mechanism: str
    output: Output
    budget: Budget
    channel: Channel
    figures: tuple[Measure, ...]
    warnings: tuple[str, ...]
    secret_dp: tuple[float, float] | None = field(repr=False)
    record_dp: tuple[float, float] | None = field(repr=False)
    _layout: Layout = field(repr=False)

    @classmethod
    def of(cls, sanitizer: Designer) -> SavedRelease:
        """Make a saved release from a fitted sanitizer.

        Raises
        ------
        InvalidParameter
            If the sanitizer is not fitted, keeps the sensitive columns, or has a budget or bins of a user's class.
        BudgetExceeded
            If the report of the sanitizer is over the budget.
        """
        release = sanitizer.bare_release()
        # A saved release draws its own noise and does not use the seed of the sanitizer.
        report = sanitizer.report_.with_key()
        optimality = report.facts.optimality
        if optimality is not None and optimality.gap is not None:
            optimality = replace(optimality, gap=float(f"{optimality.gap * 1.0005:.4g}"))  # four digits, rounded up
        for name, bins in release.layout.bins.items():
            if type(bins) not in get_args(AnyBins):
                raise InvalidParameter(
                    f"the bins of column {name!r} cannot be saved; give edges or a calendar unit in bins="
                )
        facts = report.facts
        design = own_budget(release.budget), release.channel.with_optimality(optimality)
        document = {**claims(report), "measures": list(map(vars, report.measures))}
        rounded = ({name: round_figure(value) for name, value in vars(line).items()} for line in report.measures)
        statements = tuple(read(MeasureForm, line).measure() for line in rounded), tuple(grave(document))
        mechanism = release_note(report)["mechanism"]  # files of new rows use the same name
        output, promises = cast("Output", facts.output), (facts.secret_dp, facts.record_dp)
        return cls(mechanism, output, *design, *statements, *promises, release.layout)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Names of the sensitive columns."""
        return self._layout.sensitive

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the columns that are released."""
        return self._layout.read

    @property
    def contents(self) -> str:
        """Description of what the saved release reveals about the fitted table; it quotes no value."""
        n_seen, classes = self.channel.n_inputs, layout_classes(self._layout)
        words = f"the {n_seen} public symbols that were seen, and the frequencies of those written alike"
        if classes is not None:
            frequencies = "how often each level of a column, or of two, is in each of them; no row"
            words = f"{classes.n_cells} latent classes: {frequencies}"
        if self.record_dp is not None:
            return f"{words}; all of it was learned from noisy counts"
        return words if self.secret_dp is None else f"{words}; all figures about sensitive values are of noisy counts"

    @property
    def summary(self) -> dict[str, Any]:
        """Figures of the fit by name, including the verdict."""
        values: dict[str, Any] = {measure.name: measure.after for measure in self.figures}
        optimality = self.channel.optimality
        design = {"status": optimality and optimality.words, "gap": optimality and optimality.gap}
        return {"ok": True, "mechanism": self.mechanism, "budget": repr(self.budget), **design, **values}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the saved text, in hexadecimal."""
        return compute_seal(to_builtin(self._form()))

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the text that `from_json` reads; if ``path`` is given, also write it, readable by its owner only."""
        return write_text(seal_text(self._form()), path)

    @classmethod
    def from_json(cls, text_or_path: str | os.PathLike[str]) -> SavedRelease:
        """Read a release from the text or file of `to_json`; every field is checked.

        Raises
        ------
        InvalidParameter
            If a field is absent, unknown, of the wrong kind or does not fit the others, or the text was changed.
        SourceError
            If the file cannot be read.
        """
        is_text = isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{")
        text = cast("str", text_or_path) if is_text else read_small_file(Path(text_or_path))
        try:
            form = read_sealed(SavedForm, text)
            layout, optimality = form.layout(), None if form.optimality is None else form.optimality.optimality
            channel = form.channel.channel().with_optimality(optimality)
            check_fit(layout, channel, form.output)
            budget, figures = budget_from_dict(form.budget), tuple(figure.measure() for figure in form.figures)
            promises = form.secret_dp, form.record_dp or None
            return cls(form.mechanism, form.output, budget, channel, figures, form.warnings, *promises, layout)
        except (SchemaError, SanitizeError) as error:
            raise damage_error(error) from None

    def to_release(self, layout: Layout | None = None) -> FittedRelease:
        """Make the object that encodes, draws and writes rows; ``layout`` may have another key for latent classes."""
        return FittedRelease.from_channel(self.channel, layout or self._layout, self.budget)

    @property
    def numbers(self) -> Numbers:
        """Columns to read as numbers, as at fit, because a CSV file does not state types."""
        symbols = self.channel.inputs
        typed = {name for name, levels in zip(symbols.columns, symbols.levels, strict=True) if is_numeric(levels.type)}
        return Numbers(self._layout.numeric | typed & set(self._layout.read))

    def _releaser(self) -> SavedRelease:
        return self

    def prepare(self, table: TableCounter, order: RowOrder, *, key: bytes | None = None) -> Prepared[AppendedReport]:
        """Read new rows once, and return the input of the second pass over them; used by code that writes files.

        The noise is derived from the key, the saved release, and the symbols of all new rows in order. So another file
        gets other noise, and the same file with the same key gives the same output, which reveals nothing more.

        Parameters
        ----------
        table : TableCounter
        order : {"shuffle", "keep"}
            Order of the released rows; ``keep`` also measures what this order reveals.
        key : bytes, optional

        Returns
        -------
        Prepared

        Raises
        ------
        UnknownSymbol
            If a row has a public value that did not occur at fit.
        """
        key = hidden(key)
        looks = self.secret_dp is None and self.record_dp is None
        whole = NoiseKey.from_system() if key is None else NoiseKey(key)
        layout = self._layout
        self.to_release().check_order(order)
        if isinstance(layout, CellLayout):
            layout = layout.with_key(whole.derive("classes"))
            if key is not None:  # the draws of classes also depend on the rows
                digest = NewRows.read(table, "shuffle", layout, self.channel, secrets=False).digest
                layout = layout.with_key(whole.derive(f"classes {self.fingerprint} {digest}"))
        rows = NewRows.read(table, order, layout, self.channel, secrets=looks)
        held_out, warnings = rows.holdout_report(self.mechanism, self.output, self.budget)
        notes = (*self._layout.notes(rows.counts.clipped), *warnings)
        report = AppendedReport(self, int(rows.seen.sum()), held_out, rows.utility, notes)
        words = whole.derive(f"saved {self.fingerprint} {rows.digest}")
        return Prepared(self.to_release(layout), rows.seen, words, report, new_rows_footer(report, order))

    def _form(self) -> SavedForm:
        layout, channel = self._layout, self.channel
        mechanism, output, record_dp = self.mechanism, self.output, self.record_dp or UNSET
        bins = tuple(bins for _, bins in sorted(layout.bins.items()))
        columns = layout.sensitive, layout.read, layout.missing, bins
        optimality = OptimalityForm.from_optimality(channel.optimality)
        design = budget_to_dict(self.budget), channel.form(), layout_classes(layout), optimality
        statements = tuple(map(MeasureForm.from_measure, self.figures)), self.warnings, self.secret_dp, ""
        contents = *columns, *design, *statements, record_dp
        return SavedForm("sanitize/release", 1, __version__, mechanism, output, *contents)


@dataclass(frozen=True, eq=False)
class AppendedReport:
    """Report on a release of new rows through a saved channel.

    Figures of the fit are quoted from the saved text. If the new rows have the sensitive columns, the applied channel
    is measured under their frequencies, and the verdict is that of `held_out`. If they do not, the verdict is quoted
    from the saved text. In both cases `kept` is computed from the applied channel.

    Attributes
    ----------
    saved : SavedRelease
    n_rows : int
    held_out : LeakageReport or None
        Exact report for the new rows, whose verdict may fail; None if they have no sensitive columns.
    kept : float
        I(X;Y) / H(X) of the applied channel under the frequencies of X in the new rows, between 0 and 1.
    warnings : tuple of str

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sanitize as sz
    >>> from sanitize.transformers import SubsetMerging
    >>> folder, df = pathlib.Path(tempfile.mkdtemp()), sz.datasets.load_titanic()
    >>> sanitizer = SubsetMerging(sz.LiftBudget(lower=1.0, upper=0.7), sensitive="survived", public=["class", "sex"])
    >>> saved = sz.SavedRelease.of(sanitizer.fit(df))
    >>> df.iloc[::5].to_parquet(folder / "march.parquet")
    >>> report = sz.release_file(folder / "march.parquet", folder / "released.parquet", saved)
    >>> report.n_rows, report.ok, report.held_out.ok
    (441, True, True)
    """

    saved: SavedRelease
    n_rows: int
    held_out: LeakageReport | None
    kept: float
    warnings: tuple[str, ...] = field(default=())

    def with_notes(self, notes: tuple[str, ...]) -> AppendedReport:
        """Return the report with further notes, which must not name a symbol."""
        return replace(self, warnings=(*self.warnings, *notes))

    @property
    def ok(self) -> bool:
        """True if the channel is within its budget on the new rows; the verdict of the fit if the new rows lack S."""
        return self.held_out is None or self.held_out.ok

    @property
    def headline(self) -> str:
        """Headline that states what the verdict covers, or that the new rows contradict it."""
        return _HOLDS if self.ok else "OVER BUDGET ON THE NEW ROWS"

    @property
    def summary(self) -> dict[str, Any]:
        """Figures of the fit by name, with the distribution under which they hold."""
        return {**self.saved.summary, "ok": self.ok, "kept": self.kept, "distribution": DISTRIBUTION}

    def to_dict(self, *, audience: Audience = "internal") -> dict[str, Any]:
        """Return the report as plain values; the public report contains only what its owner declared."""
        state = json.loads(self.saved.to_json())
        document = {
            "schema": "sanitize/appended-report",
            "version": 1,
            "library_version": __version__,
            "audience": audience,
            "distribution": DISTRIBUTION,
            "mechanism": state["mechanism"],
            "columns": {"sensitive": state["sensitive"], "released": state["public"]},
            "alone": ALONE,
        }
        if audience == "public":
            return document | {"budget": nameless(state["budget"]), "left_out": LEFT_OUT}
        return document | {
            "budget": state["budget"],
            "saved_release": state["sha256"],
            "ok": self.ok,
            "kept": self.kept,
            "figures": state["figures"],
            "held_out": None if self.held_out is None else self.held_out.to_dict(),
            "warnings": [*self.saved.warnings, *self.warnings],
            "n_rows": self.n_rows,
            "contents": self.saved.contents,
        }

    def to_json(self, path: str | os.PathLike[str] | None = None, *, audience: Audience = "internal") -> str:
        """Return the report as JSON; if ``path`` is given, also write it, readable by its owner only."""
        return json_text(self.to_dict(audience=audience), path)

    def to_text(self, *, audience: Audience = "internal") -> str:
        """Return the report as text."""
        values = {"document": self.to_dict(audience=audience), "of_fit": _HOLDS, "left_out": LEFT_OUT}
        held_out = None if self.held_out is None else self.held_out.to_text()
        return render_template(
            "release/saved/appended.txt.jinja", report=self, audience=audience, held_out=held_out, **values
        )

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"AppendedReport({self.saved.mechanism}, {self.n_rows} rows, held out: {self.held_out!r})"


def new_rows_footer(report: AppendedReport, order: RowOrder) -> bytes:
    """Footer of a file of new rows, as JSON, with the verdict of the fit.

    The footer omits all findings on the new rows, because these depend on the rows. It also omits the digest of the
    saved release, with which an attacker who knows all rows of the fit but one could test guesses of the last row.
    """
    text = {
        "sanitize": __version__,
        "format": NOTE_FORMAT,
        "mechanism": report.saved.mechanism,
        "budget": repr(report.saved.budget),
        "holds_for": DISTRIBUTION,
        "rows": order,
    }
    return json.dumps(text).encode()
