"""Reports read from JSON as untrusted input, which show the same views as when they were saved."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sanitize._util.checks import check_choice
from sanitize._util.declared import (
    Cell,
    Count,
    Declared,
    Number,
    SchemaError,
    Share,
    field_note,
    form,
    list_form,
    read,
    require,
)
from sanitize._util.formatting import exact
from sanitize._util.sealed_text import NotStrict, strict_json
from sanitize.core.budgets import BUDGETS, BudgetForm, budget_from_dict
from sanitize.core.measures import Kind, Measure, Scope
from sanitize.core.profiles import RelationState
from sanitize.errors import InvalidParameter, SanitizeError, SourceError
from sanitize.report._document import LEFT_OUT, SCHEMA, VERSION, Audience, OptimalityForm, fact_warnings, publish
from sanitize.report._headline import (
    VERDICT_TOLERANCE,
    Lack,
    State,
    is_useless,
    is_worst_case,
    limit_words,
    measure_excess,
    relations_of,
    report_state,
    short,
    with_headline,
)
from sanitize.report._judgement_form import JUDGEMENT_OF_REPORT
from sanitize.report._views import ReportViews

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

# Largest file; a report of a million symbols takes half of this.
_MOST_BYTES = 1 << 28
# A bound follows from the budget by a formula with rounding of its own, so a figure may exceed it by this.
_ROUNDING = 1e-6

# Figures that were not computed are null.
_FIGURE = Number | None


class MeasureForm(Declared, frozen=True):
    """A line of a report as plain values; see `Measure`."""

    name: str
    label: str
    unit: str
    kind: Kind
    before: Number | None
    after: Number | None
    bound: Number | None
    low: Number | None
    high: Number | None
    scope: Scope

    @classmethod
    def from_measure(cls, measure: Measure) -> MeasureForm:
        """Make the form of a measure."""
        return read(cls, {name: exact(value) for name, value in vars(measure).items()})

    def measure(self) -> Measure:
        """Return the measure."""
        values = (self.before, self.after, self.bound, self.low, self.high)
        before, after, bound, low, high = (None if value is None else float(value) for value in values)
        return Measure(self.name, self.label, self.unit, self.kind, before, after, bound, low, high, self.scope)


class _Side(Declared, frozen=True):
    n_symbols: Count
    symbols: list[str]
    shares: list[Share]
    log_lift: list[list[Number]]


class _LiftMap(Declared, frozen=True):
    n_sensitive: Count
    prior: list[Share]
    before: _Side
    after: _Side

    def __post_init__(self) -> None:
        for side in (self.before, self.after):
            require(len(side.symbols) == len(side.shares) == len(side.log_lift), "is not rectangular")
            require(all(len(row) == len(self.prior) for row in side.log_lift), "is not rectangular")


# Fields of a verdict in every report, and fields that only the internal report adds.
_CLAIM = {
    **dict.fromkeys(("ok", "counted", "seeded"), bool),
    **dict.fromkeys(("headline", "sentence", "allowed", "mechanism", "output", "people", "alone"), str),
    "state": State,
    "side_columns": list[str],
    "budget": BudgetForm | None,
    "confidence": Share | None,
    "recorded": Count | None,
}
# All claims of the verdict and their public content, by which a saved report is judged again.
_VERDICT = form(
    **_CLAIM,
    **dict.fromkeys(("useless", "chosen", "refuted"), bool),
    lack=Lack | None,
    worst_excess=_FIGURE,
    tolerance=Number,
    optimality=OptimalityForm | None,
)
# Points of a curve and symbols have these figures in common.
_LIFTS = dict.fromkeys(("max_log_lift", "min_log_lift"), Number)
_CURVE = form(mechanism=str, of=str, points=list_form(form(label=str, mutual_information=Number, **_LIFTS, kept=Share)))
_Row = Annotated[list[Cell], field_note("a row of one cell or more", min_length=1)]
_Pair = Annotated[list[str], field_note("two names", min_length=2, max_length=2)]
# Fields of both kinds of reports; the public one has no others with figures.
_COMMON = {
    "schema": str,
    "version": int,
    "library_version": str,
    "origin": form(**dict.fromkeys(("title", "date", "table", "policy", "digest"), str | None)) | None,
    "sections": list_form(form(name=str, title=str, words=str, columns=list[str], rows=list[_Row])),
}
_ROLES = dict.fromkeys(("sensitive", "released", "kept"), list[str])
_FORMS = {
    "public": form(
        **_COMMON,
        audience=Literal["public"],
        verdict=form(**_CLAIM),
        columns=form(**_ROLES),
        left_out=Literal[LEFT_OUT],
    ),
    "internal": form(
        **_COMMON,
        audience=Literal["internal"],
        verdict=_VERDICT,
        columns=form(**_ROLES, constant=list[str], binned=list[str], replaced=(list[str], [])),
        kept=list_form(form(column=str, share=Share, before=_FIGURE, after=_FIGURE)),
        of_cells=bool,
        measures=list[MeasureForm],
        warnings=list[str],
        **dict.fromkeys(("n_rows", "n_unseen", "n_single"), Count | None),
        **dict.fromkeys(("n_combinations", "n_symbols"), Count),
        pairs=list_form(form(columns=_Pair, raw=Share, released=Share, state=RelationState)),
        symbols=list_form(form(symbol=str, probability=Share, **_LIFTS, excess=_FIGURE)),
        judgement=JUDGEMENT_OF_REPORT | None,
        lift=_LiftMap | None,
        margins=form(n_symbols=Count, rows=list_form(form(symbol=str, before=Share | None, after=Share | None))) | None,
        shapes=list_form(form(column=str, symbol=str, before=Share, after=Share)),
        curve=_CURVE | None,
    ),
}


@dataclass(frozen=True, eq=False)
class SavedReport(ReportViews):
    """Report read from a file: figures without the distribution on which they were measured. Frozen.

    Build it with `LeakageReport.from_json`. It is checked for form and for contradictions, not for truth: anyone who
    can write the file can write another verdict.
    """

    _saved: dict[str, Any] = field(repr=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> SavedReport:
        """Read a report from text that `to_json` returned.

        The saved report has every view of a report, but cannot be measured again, because it has figures and not the
        distribution.

        Raises
        ------
        SourceError
            If the text is not a report of a version this library knows, or contradicts itself.

        Examples
        --------
        >>> import sanitize as sz
        >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
        >>> report = sz.LeakageReport.measure(joint, sz.watchdog(joint, 0.3), sz.LiftBudget.symmetric(0.3))
        >>> saved = sz.LeakageReport.from_json(report.to_json())
        >>> saved.ok, saved.to_html() == report.to_html()
        (True, True)
        """
        if len(text) > _MOST_BYTES:
            raise SourceError(f"the report is longer than {_MOST_BYTES >> 20} MiB; it was not read")
        try:
            document = strict_json(text)
        except NotStrict as error:
            raise SourceError(f"the report cannot be read: {error}") from None
        return cls.from_dict(document)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> SavedReport:
        """Read a report from a mapping that `to_dict` returned; see `from_json`."""
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise SourceError(f"this is not a report: its schema is not {SCHEMA!r}")
        if document.get("version") != VERSION or isinstance(document["version"], bool):
            raise SourceError(
                f"the report has another version than {VERSION}; read it with the sanitize version that wrote it"
            )
        if document.get("audience") not in ("internal", "public"):
            raise SourceError("the report's audience must be one of 'internal', 'public'")
        try:
            read(_FORMS[document["audience"]], document)
        except SchemaError as error:
            raise SourceError(f"the report is damaged, or was not written by sanitize: {error}") from None
        saved = copy.deepcopy(dict(document))
        _check_sense(saved)
        return cls(saved)

    @property
    def ok(self) -> bool:
        """True if the report states that the release is within its budget."""
        return bool(self._saved["verdict"]["ok"])

    @property
    def state(self) -> State:
        """State of the report: ``"source"``, ``"rows"``, ``"nothing"``, ``"refused"`` or ``"audit"``; see `Verdict`."""
        return self._saved["verdict"]["state"]

    @property
    def useless(self) -> bool:
        """True if the report says that most released columns keep under 5 % of their information; False if public."""
        return bool(self._saved["verdict"].get("useless"))

    @property
    def summary(self) -> dict[str, Any]:
        """Figures of the release by name, with the verdict; for a public report only the verdict."""
        verdict, lines = self._saved["verdict"], self._saved.get("measures", [])
        values = {m["name"]: None if m["after"] is None else float(m["after"]) for m in lines}
        optimality = verdict.get("optimality") or {"words": None, "gap": None}
        design = {"mechanism": verdict["mechanism"], "budget": verdict["allowed"]}
        return {"ok": self.ok, **design, "status": optimality["words"], "gap": optimality["gap"], **values}

    def to_frame(self, table: Literal["measures", "symbols"] = "measures") -> pd.DataFrame:
        """Return one of the report's tables as a pandas DataFrame; a public report has none."""
        import pandas as pd

        check_choice("table", table, "measures", "symbols")
        rows = self._saved.get(table, [])
        return pd.DataFrame([{k: float(v) if v in ("inf", "-inf") else v for k, v in row.items()} for row in rows])

    @property
    def _audience(self) -> Audience:
        return self._saved["audience"]

    def _document(self, audience: Audience, n_symbols: int | None = None, *, is_drawn: bool = True) -> dict[str, Any]:
        check_choice("audience", audience, "internal", "public")
        if audience == self._saved["audience"]:
            document = copy.deepcopy(self._saved)
            return document if audience == "public" else document | {"symbols": document["symbols"][:n_symbols]}
        if audience == "internal":
            raise InvalidParameter("this is a public report: it has no internal view; read the internal report")
        return copy.deepcopy(publish(self._saved))

    def __repr__(self) -> str:
        return f"SavedReport({self._saved['verdict']['mechanism']!r}, {short(self.state, useless=self.useless)})"


def _refuse(wrong: object, words: str) -> None:
    if wrong:
        raise SourceError(words)


def _check_sense(document: dict[str, Any]) -> None:
    """Raise an error if parts of a report contradict each other."""
    verdict, columns = document["verdict"], document["columns"]
    budget = verdict["budget"]
    # A user's budget class has its own words, and limits by value name no values in the public report.
    kind = None if budget is None else budget.get("type", "LiftBudget")
    if not isinstance(kind, str) or kind in BUDGETS:
        try:
            saved_budget = None if budget is None else budget_from_dict(budget)
        except (SanitizeError, TypeError, ValueError):
            raise SourceError("the report's budget cannot be read") from None
        words = limit_words(saved_budget, verdict["side_columns"])
        _refuse(verdict["allowed"] != words, "the report's words on its budget contradict the budget")
    _refuse(set(verdict["side_columns"]) - set(columns["released"]), "a column that may be known is not released")
    is_internal, ok = document["audience"] == "internal", verdict["ok"]
    # The public page does not say which columns are constant.
    is_constant = _is_constant(document) if is_internal else verdict["state"] == "nothing" and not ok
    has_budget, confidence = budget is not None, verdict["confidence"]
    state = report_state(ok=ok, has_budget=has_budget, confidence=confidence, is_constant=is_constant)
    exposed = bool(set(columns["kept"]) & set(columns["sensitive"]))
    _refuse(ok and exposed, "the report's verdict contradicts its columns")
    _refuse(verdict["state"] != state, "the report's verdict contradicts its state")
    if is_internal:
        _check_figures(document, exposed=exposed)
    _refuse(with_headline(document) != document, "the report's headline contradicts its figures")


def _is_constant(document: dict[str, Any]) -> bool:
    """Return whether all sensitive columns of a table have one value."""
    columns = document["columns"]
    is_asked = document["verdict"]["counted"] and columns["sensitive"] != columns["released"]
    return is_asked and set(columns["sensitive"]) <= set(columns["constant"])


def _check_figures(document: dict[str, Any], *, exposed: bool) -> None:
    """Refuse figures of an internal report that contradict its verdict."""
    verdict = document["verdict"]
    _refuse(verdict["tolerance"] != VERDICT_TOLERANCE, f"the report's tolerance is not {VERDICT_TOLERANCE:g}")
    has_budget, excess = verdict["budget"] is not None, verdict["worst_excess"]
    _refuse(has_budget == (excess is None), "the report has a budget without an excess, or an excess without a budget")
    over = excess is not None and float(excess) > VERDICT_TOLERANCE
    void = over or exposed or (_is_constant(document) and has_budget) or verdict["refuted"]
    _refuse(verdict["ok"] is void, "the report's verdict contradicts its figures")
    names = [measure["name"] for measure in document["measures"]]
    _refuse(len(set(names)) < len(names), "the report lists a measure twice")
    computed = {m["name"] for m in document["measures"] if m["before"] is not None and m["after"] is not None}
    missing = {"max_log_lift", "min_log_lift", "utility", "normalized_utility"} - computed
    _refuse(missing, f"the report lacks the measure {min(missing, default='')!r}")
    for measure in document["measures"]:
        is_over = verdict["ok"] and measure["kind"] == "exact" and measure_excess(measure) > _ROUNDING
        _refuse(is_over, f"the report is said to be within its budget, and its {measure['name']} is not")
    worst = {m["name"] for m in document["measures"] if is_worst_case(m) and m["after"] is not None}
    expected = {f"worst_{name}" for name in ("max_log_lift", "min_log_lift", "ldp_sensitive")}
    # Latent classes are certified symbol by symbol; other releases have a worst case over a set of distributions.
    lacks = not worst and verdict["confidence"] is not None and verdict["mechanism"] != "latent classes"
    _refuse(lacks or (worst and worst != expected), "the report's worst case lacks a figure")
    shares = [column["share"] for column in document["kept"]]
    useless = is_useless(verdict["state"], shares, relations_of(document["measures"]))
    wrong = verdict["useless"] != useless or verdict["useless"] > bool(verdict["lack"])
    wrong |= (document["n_rows"] is not None) != verdict["counted"]
    _refuse(wrong, "the report's state contradicts its figures")
    wanted = fact_warnings(document)
    _refuse(document["warnings"][: len(wanted)] != wanted, "the report lacks a warning that its figures call for")
    _refuse(len(document["symbols"]) > document["n_symbols"], "the report lists more symbols than it counts")
