"""A fitted release without the law it was fitted on: saved as JSON, read back, applied to new rows.

What is saved is what a new file needs: the channel, the roles of the columns, bins, the budget and the public
figures of the fit. The law of (S, X), counts and keys are not. The channel does tell some of P_X: a released
symbol is printed as a public one with the frequencies of its group. A tree tells more: its thresholds, and the rows
that it prints from. Whoever may write to the saved text decides what is released by it, so keep it like code.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sanitize._files.numbers import Numbers
from sanitize._files.outputs import write_text
from sanitize._files.source import bytes_of
from sanitize._files.strict_json import seal_of
from sanitize._release.design import Recipe
from sanitize._release.layout import Layout
from sanitize._release.prepared import Prepared
from sanitize._release.release import Release, bare_design, no_mechanism
from sanitize._release.tree_layout import plain_tree
from sanitize._sampling.noise import NoiseKey
from sanitize._version import __version__
from sanitize.errors import ColumnError
from sanitize.printing import printer_to_plain
from sanitize.report import standing_from, standing_to
from sanitize.saved._appended import AppendedReport, footer_of
from sanitize.saved._fit import check_fit
from sanitize.saved._json import (
    Damaged,
    bins_from,
    budget_from,
    budget_to,
    channel_from,
    fields,
    level_of,
    listed,
    measure_from,
    measure_to,
    parse,
    standing_of,
    text_of,
)
from sanitize.saved._new_rows import NewRows
from sanitize.saved._tree import OUTPUTS, contents_of, layout_from, printer_from

if TYPE_CHECKING:
    import os

    from sanitize._release.design import ReleaseMode
    from sanitize._release.first_pass import FirstPass
    from sanitize._release.row_order import RowOrder
    from sanitize.budgets import Budget
    from sanitize.channel import Channel
    from sanitize.measures import Measure
    from sanitize.printing import Printer
    from sanitize.transformers import Sanitizer

_FORMAT = "sanitize/release"
# Versions 1 to 3, of no released library: other tables for joint releases, no trees, no secret_dp.
_VERSION = 4
_FIELDS = (
    "format",
    "version",
    "library_version",
    "mechanism",
    "output",
    "sensitive",
    "public",
    "missing",
    "bins",
    "labelled",
    "budget",
    "channel",
    "tree",
    "printer",
    "standing",
    "figures",
    "warnings",
    "secret_dp",
    "sha256",
)


@dataclass(frozen=True, eq=False)
class SavedRelease:
    """A fitted release as a value that can be kept: everything new rows need, and not the law it was fitted on.

    Make one with `SavedRelease.of`, keep it with `to_json`, and hand it to `privatize_parquet` in place of a
    sanitizer: no row of the new file is used to fit. Its verdict holds under the law of the rows that it was
    fitted on; new rows that hold the sensitive columns too are measured as held-out rows. Values that were not
    there at fit are refused and nothing is written.

    Releases of whole tables (`TreeMerging`, `TreeRandomResponse`) keep their tree and what it prints from: see
    ``contents``, and keep such a text like the table itself.

    Attributes
    ----------
    mechanism : str
    output : str
        ``resample``, ``label`` or, of a whole table, ``model``.
    budget : Budget
    channel : Channel
        From public symbols to what is printed; its ``standing`` is what was proved of the design, its gap rounded up.
    figures : tuple of Measure
        Leakage and utility under the law of the fit, rounded like those of a public report.
    warnings : tuple of str
        What the public report of the fit warned of.
    secret_dp : pair of float or None
        (eps, delta) of each row's secret at the fit, whose figures are then of noisy counts; those of new rows are
        not looked at.

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
    output: str
    budget: Budget
    channel: Channel
    figures: tuple[Measure, ...]
    warnings: tuple[str, ...]
    secret_dp: tuple[float, float] | None = field(repr=False)
    _layout: Layout = field(repr=False)
    _printer: Printer | None = field(default=None, repr=False)

    @classmethod
    def of(cls, sanitizer: Sanitizer) -> SavedRelease:
        """What a fitted sanitizer releases with.

        Raises
        ------
        InvalidParameter
            If it is not fitted, keeps the sensitive columns, or has a budget or bins that are not the library's own.
        BudgetExceeded
            If its report is over the budget.
        """
        release = sanitizer.fitted_release()
        # A saved release draws its own noise, so the seed of the sanitizer is not its own.
        public = sanitizer.report_.with_key().to_dict(audience="public")
        standing = standing_from(public["verdict"]["standing"])
        known = {name: bins_from(bins.to_dict()) for name, bins in release.layout.bins.items()}
        return cls(
            release.recipe.name,
            sanitizer.report_.facts.output,
            budget_from(budget_to(release.recipe.budget)),
            release.design.channel.with_standing(standing),
            tuple(measure_from(measure_to(line)) for line in public["measures"]),
            tuple(public["warnings"]),
            sanitizer.report_.facts.secret_dp,
            replace(release.layout, bins=known),
            release.printer,
        )

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
        """What of the table that it was fitted on can be read from it, in words; no value is quoted."""
        words = contents_of(self._layout, self._printer, self.output, self.channel)
        return words if self.secret_dp is None else f"{words}; all figures about secrets are of noisy counts"

    @property
    def summary(self) -> dict[str, Any]:
        """The figures of the fit by name, with the verdict."""
        values: dict[str, Any] = {measure.name: measure.after for measure in self.figures}
        standing = self.channel.standing
        found = {"status": None, "gap": None} if standing is None else {"status": standing.words, "gap": standing.gap}
        return {"ok": True, "mechanism": self.mechanism, "budget": repr(self.budget), **found, **values}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what is saved, in hexadecimal."""
        return seal_of(self._state())

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Text that `from_json` reads; also written to ``path``, readable by its owner only, when one is given."""
        state = self._state()
        text = json.dumps(state | {"sha256": seal_of(state)}, indent=1, allow_nan=False) + "\n"
        if path is not None:
            write_text(path, text)
        return text

    @classmethod
    def from_json(cls, text_or_path: str | os.PathLike[str]) -> SavedRelease:
        """Inverse of `to_json`, from the text or from a file; every field is checked.

        Raises
        ------
        InvalidParameter
            If a field is absent, unknown, of the wrong kind or does not fit the others, or the text was changed.
        SourceError
            If the file cannot be read.
        """
        if isinstance(text_or_path, str) and text_or_path.lstrip().startswith("{"):
            return cls._from_state(parse(text_or_path))
        content = bytes_of(Path(text_or_path))
        try:
            return cls._from_state(parse(content.decode("utf-8")))
        except UnicodeDecodeError:
            raise Damaged("the text is not UTF-8") from None

    def bound(self) -> Release:
        """The release that encodes, draws and prints rows."""
        # Whatever is drawn from cells is drawn by the printer.
        output: ReleaseMode = "label" if self.output == "label" else "resample"
        recipe = Recipe(self.mechanism, no_mechanism, self.budget, output=output)
        return Release(self._layout, recipe, bare_design(self.channel), printer=self._printer)

    @property
    def numbers(self) -> Numbers:
        """Columns that were numbers at fit, which a CSV file does not know."""
        return Numbers(self._layout.numeric)

    def prepare(self, table: FirstPass, order: RowOrder, *, key: bytes | None = None) -> Prepared[AppendedReport]:
        """Read new rows once, and return what the second pass over them needs: for who writes releases to files.

        The noise of a key comes from (key, saved release, symbols of all new rows in their order): another file gets
        other noise, and the same file with the same key the very same output, which tells nothing more.

        Parameters
        ----------
        table : FirstPass
        order : {"shuffle", "keep"}
            Of the released rows; ``keep`` also measures what it tells.
        key : bytes, optional

        Returns
        -------
        Prepared

        Raises
        ------
        UnknownSymbol
            If rows hold a public value that was not there at fit.
        """
        rows = NewRows.read(table, order, self._layout, self.channel, secrets=self.secret_dp is None)
        held_out, warnings = rows.held_out(self.mechanism, self.output, self.budget)
        report = AppendedReport(self, rows.n, held_out, rows.kept, (*self._layout.notes(rows.clipped), *warnings))
        whole = NoiseKey.from_system() if key is None else NoiseKey(key)
        words = whole.derive(f"saved {self.fingerprint} {rows.digest}")
        return Prepared(self.bound(), rows.seen, words, report, footer_of(report, order))

    def _state(self) -> dict[str, Any]:
        layout = self._layout
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "library_version": __version__,
            "mechanism": self.mechanism,
            "output": self.output,
            "sensitive": list(layout.sensitive),
            "public": list(layout.read),
            "missing": layout.missing,
            "bins": [bins.to_dict() for _, bins in sorted(layout.bins.items())],
            "labelled": sorted(layout.labelled),
            "budget": budget_to(self.budget),
            "channel": json.loads(self.channel.to_json()),
            "tree": plain_tree(layout),
            "printer": None if self._printer is None else printer_to_plain(self._printer),
            "standing": standing_to(self.channel.standing),
            "figures": [measure_to(vars(measure)) for measure in self.figures],
            "warnings": list(self.warnings),
            "secret_dp": None if self.secret_dp is None else list(self.secret_dp),
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> SavedRelease:
        if state.get("format") != _FORMAT:
            raise Damaged(f"expected the format {_FORMAT!r}")
        if state.get("version") != _VERSION:
            raise Damaged(f"it has another version of the format than {_VERSION}, which this library writes and reads")
        fields(state, _FIELDS, "it")
        if state["sha256"] != seal_of(state):
            raise Damaged("its SHA-256 does not fit, so it was changed or damaged")
        text_of(state["library_version"], "library_version")
        bins = {made.column: made for made in listed(state["bins"], bins_from, "bins")}
        sensitive, public, labelled = (
            listed(state[kind], lambda name: text_of(name, "a column"), kind)
            for kind in ("sensitive", "public", "labelled")
        )
        if list(labelled) != sorted(set(labelled)) or not set(labelled) <= set(public):
            raise Damaged("its labelled columns are not public, or one is listed twice")
        missing = text_of(state["missing"], "missing", ("category", "error"))
        try:
            layout = Layout(sensitive, public, bins, missing, frozenset(labelled))  # type: ignore[arg-type]
        except ColumnError as error:
            raise Damaged(str(error)) from None
        if len(bins) < len(state["bins"]):
            raise Damaged("a column has bins twice")
        layout = layout_from(layout, state["tree"])
        output = text_of(state["output"], "output", OUTPUTS if state["tree"] else OUTPUTS[:2])
        channel, printer = (
            channel_from(state["channel"]).with_standing(standing_of(state["standing"])),
            printer_from(state["printer"]),
        )
        check_fit(layout, channel, printer, output)
        return cls(
            text_of(state["mechanism"], "mechanism"),
            output,
            budget_from(state["budget"]),
            channel,
            listed(state["figures"], measure_from, "figures"),
            listed(state["warnings"], lambda note: text_of(note, "a warning"), "warnings"),
            level_of(state["secret_dp"]),
            layout,
            printer,
        )
