"""A plan: the report of the release that a policy asks for, and what would be different under another policy."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.formatting import clip, percent
from sanitize._util.outputs import write_text
from sanitize._util.progress import progress, show_progress
from sanitize._util.system import n_workers
from sanitize.errors import BudgetExceeded, ColumnError, InvalidParameter, NothingToProtect
from sanitize.policy._alternatives import Drafts, resolve_auto
from sanitize.policy._declaration import AUTO, CLASSES
from sanitize.policy._policy import designer_of, is_joint
from sanitize.policy._proposals import Proposal, proposals_text, propose
from sanitize.policy._remedies import remedies
from sanitize.release.choosing import room
from sanitize.release.designer import refuse_noisy
from sanitize.release.first_pass import RememberedPass
from sanitize.release.layout import Layout
from sanitize.report import Section, render_template
from sanitize.tables.columns import factorize
from sanitize.tables.files.open import attach_description, open_source
from sanitize.tables.files.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from sanitize.policy._policy import Policy
    from sanitize.release.designer import Designer
    from sanitize.release.first_pass import TableCounter
    from sanitize.report import LeakageReport, TradeoffCurve
    from sanitize.tables.files.open import SourceLike


# Rows below which no adversary can be tried, and what the third figure of one is of.
_FEWEST_ROWS, _DEALT = 100, "with the values dealt at random"


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of a release from a table, next to other mechanisms and budgets, with proposed lines.

    Everything but the report is made of further figures of the same table, so it is for internal use only.

    Attributes
    ----------
    report : LeakageReport or None
        Of the release that the policy asks for, with the curve of its mechanism; None where it cannot be designed. Of
        what is over budget too, and then nothing else is planned.
    curves : tuple of TradeoffCurve
        Of the policy's mechanism first, then of the others that fit.
    proposals : tuple of Proposal
        Lines that the policy could gain.
    changes : tuple of Proposal
        What would keep more and claim or limit less, as lines to be thought about.
    refusal : ColumnError, BudgetExceeded, NothingToProtect or None
        Why there is no report, or none of a release.
    """

    report: LeakageReport | None
    curves: tuple[TradeoffCurve, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    changes: tuple[Proposal, ...] = ()
    refusal: ColumnError | BudgetExceeded | NothingToProtect | None = None
    _found: Section | None = None
    _others: Section | None = None
    _recommended: tuple[str, ...] = ()
    _chosen: int | None = None  # place of the policy's own budget on the first curve

    @property
    def full_report(self) -> LeakageReport | None:
        """The report with comparison, curves and proposals as sections, for JSON and pages."""
        if self.report is None:
            return None
        report = self.report
        sections = [self._found, self._others, _budgets_section(self.curves) if self.curves else None]
        for name, title, lines in self._lines:
            rows = tuple((f"[{line.table}] {line.setting}", line.why) for line in lines)
            sections.append(Section(name, title, "", ("Line", "why"), rows))
        for section in filter(None, sections):
            report = report.with_section(section)
        return report

    @property
    def _lines(self) -> list[tuple[str, str, tuple[Proposal, ...]]]:
        """Lines of a policy that there are to say: name, title and lines."""
        proposed = ("proposals", "Proposed lines of the policy", self.proposals)
        return [entry for entry in (proposed, ("changes", "What would change it", self.changes)) if entry[2]]

    def with_origin(self, **origin: str | None) -> Plan:
        """The plan with a heading on its report, see `LeakageReport.with_origin`."""
        return self if self.report is None else replace(self, report=self.report.with_origin(**origin))

    def to_text(self, *, full: bool = True) -> str:
        """Return the recommendation, the report or its first lines, curves of all mechanisms, and proposed lines."""
        first_curve = self.curves[0] if self.curves and self.report is not None else None
        return render_template(
            "policy/plan.txt.jinja",
            plan=self,
            report=None if self.report is None else self.report.to_text(full=full),
            curve=first_curve
            and first_curve.to_text(chosen=None if self._chosen is None else first_curve[self._chosen]),
            budgets=_budgets_section(self.curves) if len(self.curves) > 1 else None,
            lines=[(title, proposals_text(lines)) for _, title, lines in self._lines],
            fill=partial(fill, width=80, subsequent_indent="  "),
            clip=clip,
            percent=percent,
        ).rstrip("\n")

    def to_json(self) -> str:
        """The report's JSON; without a report the proposals alone."""
        report = self.full_report
        if report is not None:
            return report.to_json()
        lines = [vars(proposal) for proposal in self.proposals]
        return json.dumps({"refused": str(self.refusal), "proposals": lines}, indent=2) + "\n"

    def to_html(self, path: str | Path | None = None) -> str:
        """The plan as one page without scripts or requests; written to ``path`` in one step when one is given.

        Raises
        ------
        InvalidParameter
            If there is no report.
        """
        report = self.full_report
        if report is None:
            raise InvalidParameter("there is no design to draw a page of; take over the proposed lines first")
        document = report.to_dict()
        page = render_template(
            "policy/plan.html.jinja",
            recommended=self._recommended,
            refusal=None if self.refusal is None else str(self.refusal),
            proposals=proposals_text(self.proposals).splitlines(),
            curves=[curve.to_dict() for curve in self.curves],
            chosen=self._chosen,
            document=document,
            **document,
        )
        return write_text(page, path)


def make_plan(policy: Policy, source: SourceLike, *, advise: bool = True) -> Plan:
    """Design what a policy asks for, by the path that a release takes, and with it what else could be.

    Other mechanisms and budgets are designed under all settings of the policy. What takes long is shown on a terminal,
    with the time that is left.

    Parameters
    ----------
    policy : Policy
    source : path, table or stream
        As `release_file` takes it.
    advise : bool
        False makes the report alone, which is all that the public may see.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import sanitize as sz
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "raw.parquet"
    >>> sz.datasets.load_titanic().to_parquet(file)
    >>> policy = sz.Policy.from_dict({
    ...     "version": 1,
    ...     "columns": {"sensitive": ["survived"], "public": ["class", "sex"], "drop": ["age"]},
    ...     "budget": {"lower": 1.0, "upper": 0.7},
    ... })
    >>> plan = make_plan(policy, file)
    >>> plan.report
    LeakageReport(subset merging, holds for these rows only)
    >>> [curve.mechanism for curve in plan.curves]
    ['subset merging', 'watchdog', 'optimal random response']
    """
    sanitizer = designer_of(policy)
    refuse_noisy(sanitizer, "designs of a plan would be further fits; release, and read the report, or plan without")
    if not isinstance(source, Source):  # which is read as its own description says
        source = attach_description(source, policy.description)
    with open_source(source, sanitizer.numbers) as table:
        first = RememberedPass(table, workers=n_workers(policy.workers))
        proposals: tuple[Proposal, ...] = ()
        with show_progress():
            if advise and (n_rows := table.n_rows):
                names = (*policy.sensitive, *policy.public)
                proposals = propose(policy, first.sample(names, 100_000), n_rows)
            try:
                prepared = sanitizer.prepare(first, policy.rows)
            except (BudgetExceeded, NothingToProtect) as error:
                return Plan(error.report, proposals=proposals, refusal=error)
            except ColumnError as error:
                if not proposals:
                    raise
                return Plan(None, proposals=proposals, refusal=error)
            report = prepared.report
            if not advise:
                return Plan(report)
        drafts = Drafts(resolve_auto(policy, report), report, sanitizer.channel_.n_inputs, prepared.release.classes)
        if report.lack is not None:  # curves of nothing show nothing: the lines that mend the release come alone
            lines = remedies(drafts, first)
            said = {(line.table, line.key) for line in lines}
            return Plan(report, proposals=(*lines, *(one for one in proposals if (one.table, one.key) not in said)))
        drafts.know(getattr(sanitizer, "compared_", {}))
        with progress("designs", len(drafts.places())) as step:
            for name, _ in drafts.design(first):
                step(name)
        changes = _changes(drafts, first)
        found = _before_and_after(sanitizer, policy, first)
    curves = drafts.curves()
    if curves and not is_joint(drafts.policy) and drafts.mechanism != CLASSES:
        report = report.with_curve(curves[0])
    recommended, better = drafts.recommendation(), _better(drafts)
    is_said = len(drafts.within) == 1 or policy.channels[0].mechanism == AUTO  # which has a comparison of its own
    comparison = None if is_said else drafts.comparison(" ".join(recommended))
    proposals = (*better, *(proposal for proposal in proposals if proposal.key not in {line.key for line in better}))
    return Plan(
        report,
        curves,
        proposals,
        changes,
        _found=found,
        _others=comparison,
        _recommended=recommended,
        _chosen=drafts.place_of_own(),
    )


def _before_and_after(sanitizer: Designer, policy: Policy, table: TableCounter) -> Section | None:
    """How often the one of two people with a sensitive value is found by raw rows, and by released ones."""
    from sanitize.release.before_after import MOST_ROWS, found_by_raw_rows
    from sanitize.report import found_by_released_rows

    layout = sanitizer._release.layout
    rows = table.sample((*policy.sensitive, *policy.public), MOST_ROWS)
    if len(rows[policy.sensitive[0]]) < _FEWEST_ROWS or not policy.public:
        return None
    bins = {name: bins for name, bins in layout.bins.items() if name in layout.sensitive}
    secrets = Layout(layout.sensitive, layout.sensitive, bins, layout.missing).columns(rows)
    codes = np.stack([factorize(secrets[name], name)[1] for name in layout.sensitive], axis=1)
    secret = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    raw, dealt = found_by_raw_rows({name: rows[name] for name in policy.public}, secret)
    released = found_by_released_rows(sanitizer._joint, sanitizer.channel_)
    words = (
        "Of two people, one with a sensitive value and one without, the one is found so often, of 100, by whoever "
        "learns from other rows; 50 is guessing."
    )
    figures = {"by the raw rows": raw, "by the released rows": released, f"by the raw rows, {_DEALT}": dealt}
    heads = ("The one with the value is found", "of 100")
    return Section(
        "guesses",
        "The adversary, before and after",
        words,
        heads,
        tuple((who, round(100 * share, 1)) for who, share in figures.items()),
    )


def _better(drafts: Drafts) -> tuple[Proposal, ...]:
    """The mechanism, or the tighter budget, that keeps more within the policy's budget."""
    place = drafts.better()
    if place is None:
        return ()
    name, multiple = place
    if multiple < 1:
        more, current = (percent(drafts.utility((name, factor))) for factor in (multiple, 1.0))
        why = f"keeps {more} within the same budget, in place of {current}"
        bounds = drafts.policy_at(name, multiple).budget.bounds
        return tuple(Proposal("budget", key, f"{value:g}", why) for key, value in bounds.items())
    name, why = drafts.line
    return (Proposal("channel", "mechanism", json.dumps(name), why),)


def _changes(drafts: Drafts, table: TableCounter) -> tuple[Proposal, ...]:
    """A looser limit, rare values pooled, and no claim beyond the rows, where that keeps more."""
    looser, current = drafts.mechanism, drafts.utility((drafts.mechanism, 1.0))
    words, proposals = f"in place of {percent(current)}", []
    if (looser, 2.0) in drafts.reports and drafts.utility((looser, 2.0)) > current + room(drafts.report):
        words_of_it = f"a looser limit: keeps {percent(drafts.utility((looser, 2.0)))}, {words}"
        bounds = drafts.policy_at(looser, 2.0).budget.bounds
        proposals = [
            Proposal("budget", key, f"{value:.3g}", words_of_it, is_open=True) for key, value in bounds.items()
        ]
    for key, value, change in (
        ("min_count", 50, "values in fewer rows pooled"),
        ("confidence", None, "taken out, if these rows are everybody"),
    ):
        utility = drafts.utility_with_setting(table, key, value)
        if utility is not None:
            written = f"{drafts.policy.channels[0].settings.get(key) if value is None else value}"
            proposals.append(
                Proposal("channel", key, written, f"{change}: keeps {percent(utility)}, {words}", is_open=True)
            )
    return tuple(proposals)


def _budgets_section(curves: tuple[TradeoffCurve, ...]) -> Section:
    """Section on what every mechanism keeps within every budget."""
    utilities = [{point.label: point.normalized_utility for point in reversed(curve.points)} for curve in curves]
    rows = tuple((point.label, *(shares.get(point.label) for shares in utilities)) for point in curves[0].points)
    words = (
        "The share of the information that each mechanism keeps within each budget: of a lift, the least and the most "
        "times as likely that a released value may make a secret; else nats."
    )
    heads = ("Budget", *(curve.mechanism for curve in curves))
    return Section("budgets", "Within other budgets", words, heads, rows)
