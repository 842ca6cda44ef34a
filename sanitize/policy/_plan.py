"""Plan of a release: the report of the release that a policy describes, and alternatives under other policies."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, replace
from functools import partial, reduce
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.formatting import clip, percent
from sanitize._util.outputs import write_text
from sanitize._util.progress import progress, show_progress
from sanitize._util.system import n_workers
from sanitize.errors import (
    BudgetExceeded,
    ColumnError,
    InvalidParameter,
    NothingToProtect,
    SanitizeError,
    UselessRelease,
)
from sanitize.policy._advice import Drafts, draft_designer, resolve_auto, with_channel, with_lines
from sanitize.policy._declaration import AUTO, CLASSES, OWNERS
from sanitize.policy._policy import is_joint
from sanitize.policy._proposals import Proposal, proposals_text, propose, to_toml
from sanitize.release.designer import refuse_noisy
from sanitize.release.first_pass import RememberedPass
from sanitize.release.layout import Layout
from sanitize.release.recipes.secret_dp import SecretDP
from sanitize.report import WHOLES, LeakageReport, Section, claims, release_kind, render_template
from sanitize.tables.columns import factorize
from sanitize.tables.files.open import attach_description, open_source
from sanitize.tables.files.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from sanitize.policy._policy import Policy
    from sanitize.release.designer import Designer
    from sanitize.release.first_pass import TableCounter
    from sanitize.report import TradeoffCurve
    from sanitize.tables.files.open import SourceLike


# Usual privacy level at which a plan states the cost of keeping rows in order; the owner changes it in the line.
_EPS, _DELTA = 0.5, 1e-6
# With fewer rows, an adversary's figure is chance. Shuffled values stand in its third line, to show what chance is.
_FEWEST_ROWS, _DEALT = 100, "with the values shuffled"


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of a release, compared with other mechanisms and budgets, with lines proposed for the policy.

    Everything except the report consists of further figures of the same table, so a plan is for internal use only.

    Attributes
    ----------
    report : LeakageReport or None
        Report of the release that the policy describes, with the curve of its mechanism; None if it cannot be designed.
        If the release is over budget, it still has a report, and nothing else is planned.
    curves : tuple of TradeoffCurve
        Curves of the policy's mechanism first, then of the other mechanisms that apply.
    proposals : tuple of Proposal
        Lines that could be added to the policy.
    changes : tuple of Proposal
        Lines that would keep more but claim or limit less, which the owner has to weigh.
    refusal : ColumnError, BudgetExceeded, NothingToProtect, UselessRelease or None
        Error that explains why there is no report, or no release.
    """

    report: LeakageReport | None
    curves: tuple[TradeoffCurve, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    changes: tuple[Proposal, ...] = ()
    refusal: ColumnError | BudgetExceeded | NothingToProtect | UselessRelease | None = None
    _found: Section | None = None
    _others: Section | None = None
    _recommended: tuple[str, ...] = ()
    _taken: LeakageReport | None = None  # report of the recommended release, if it is another
    _chosen: int | None = None  # place of the policy's own budget on the first curve

    @property
    def full_report(self) -> LeakageReport | None:
        """Report with comparison, curves and proposals as sections, for JSON and pages; None after a refusal."""
        if self.report is None:
            return None
        sections = [self._found, self._others, _budgets_section(self.curves) if self.curves else None]
        for name, title, lines in self._lines:
            rows = tuple((f"[{line.table}] {line.assignment}", line.why) for line in lines)
            sections.append(Section(name, title, "", ("Line", "why"), rows))
        return reduce(LeakageReport.with_section, filter(None, sections), self.report)

    @property
    def _kinds(self) -> str:
        """Sentence on the kind of the policy's release and of the recommended release; empty after a refusal."""
        if self.report is None or self.refusal is not None:
            return ""
        own, taken = (release_kind(claims(report)) for report in (self.report, self._taken or self.report))
        return f"Kind of release: {own}" + ("." if own == taken else f"; the recommended one is {taken}.")

    @property
    def _lines(self) -> list[tuple[str, str, tuple[Proposal, ...]]]:
        """Proposed lines of a policy, in groups with name, title and lines."""
        proposed = ("proposals", "Proposed lines of the policy", self.proposals)
        return [entry for entry in (proposed, ("changes", "Other settings", self.changes)) if entry[2]]

    def with_origin(self, **origin: str | None) -> Plan:
        """Return the plan with a heading on its report; see `LeakageReport.with_origin`."""
        return self if self.report is None else replace(self, report=self.report.with_origin(**origin))

    def to_text(self, *, full: bool = True) -> str:
        """Return the recommendation, the report or its first lines, curves of all mechanisms, and proposed lines."""
        curve = None
        if self.curves and self.report is not None:
            curve = self.curves[0].to_text(chosen=None if self._chosen is None else self.curves[0][self._chosen])
        return render_template(
            "policy/plan.txt.jinja",
            plan=self,
            report=None if self.report is None else self.report.to_text(full=full),
            curve=curve,
            budgets=_budgets_section(self.curves) if len(self.curves) > 1 else None,
            lines=[(title, proposals_text(lines)) for _, title, lines in self._lines],
            fill=partial(fill, width=80, subsequent_indent="  "),
            clip=clip,
            percent=percent,
        ).rstrip("\n")

    def __str__(self) -> str:
        return self.to_text()

    def to_json(self) -> str:
        """Return the report as JSON; without a report, only the proposals."""
        report = self.full_report
        if report is not None:
            return report.to_json()
        names = ("table", "key", "value", "why", "channel", "is_open")
        lines = [{name: getattr(proposal, name) for name in names} for proposal in self.proposals]
        return json.dumps({"refused": str(self.refusal), "proposals": lines}, indent=2) + "\n"

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the plan as a page without scripts or requests; if a path is given, also write it in one step.

        Raises
        ------
        InvalidParameter
            If there is no report.
        """
        report = self.full_report
        if report is None:
            raise InvalidParameter("there is no design to show; first add the proposed lines to the policy")
        document = report.to_dict()
        page = render_template(
            "policy/plan.html.jinja",
            recommended=self._recommended,
            kinds=self._kinds,
            refusal=None if self.refusal is None else str(self.refusal),
            proposals=proposals_text(self.proposals).splitlines(),
            curves=[curve.to_dict() for curve in self.curves],
            chosen=self._chosen,
            document=document,
            **document,
        )
        return write_text(page, path)


def make_plan(policy: Policy, source: SourceLike, *, advise: bool = True) -> Plan:
    """Design the release that a policy describes, and alternatives to it.

    Other mechanisms and budgets are designed under all settings of the policy. Long steps show their progress on a
    terminal, with the remaining time. If the policy sets no ``effort``, the search for a random response has a
    hundredth of a release's effort, so that a large release may keep a little more or less than the plan states.

    Parameters
    ----------
    policy : Policy
    source : path, table or stream
        Table to plan for, as for `release_file`.
    advise : bool
        Whether to design alternatives; with False the plan has only the report, which is all that the public may see.

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
    settings = policy.channels[0].settings
    is_priced = advise and "secret_dp" in settings  # the cost of noise is for the owner only
    if is_priced:  # a plan publishes nothing, so that it needs no ledger
        policy = with_channel(policy, settings={**settings, "secret_dp": replace(settings["secret_dp"], ledger=None)})
    sanitizer = draft_designer(policy)
    if not is_priced:
        refuse_noisy(sanitizer, "a plan would make further fits; release, and read the report, or plan without it")
    if not isinstance(source, Source):  # it is read by its own description
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
            except (ColumnError, UselessRelease) as error:
                if advise and not is_priced:
                    unwritten: Any = getattr(error, "report", None)
                    drafts = Drafts(policy, unwritten, 0)
                    remedies = drafts.remedies(first) if isinstance(error, UselessRelease) else ()
                    proposals = remedies or drafts.measured(first, proposals)
                if not proposals:
                    raise
                return Plan(None, proposals=proposals, refusal=error)
            report = prepared.report
            if not advise:
                return Plan(report)
        sizes = sanitizer.channel_.n_inputs, len(sanitizer._joint.sensitive)
        drafts = Drafts(resolve_auto(policy, report), report, *sizes, prepared.release.classes)
        if report.lack is not None:  # curves of a useless release show nothing, so only lines that mend it are given
            lines = drafts.remedies(first)
            said = {(line.table, line.key) for line in lines}
            rest = [one for one in proposals if (one.table, one.key) not in said and (one.is_blank or not lines)]
            lines = (*lines, *drafts.measured(first, rest))
            return Plan(report, proposals=lines, _found=_before_and_after(sanitizer, policy, first))
        if is_priced:
            line = _price(drafts, report, drafts.draft_noiseless(first))
            section = Section("price", "What secret_dp costs", line)
            return Plan(report, proposals=proposals, _others=section, _recommended=(line,))
        drafts.know(getattr(sanitizer, "compared_", {}))
        with progress("designs", len(drafts.places())) as step:
            for name, _ in drafts.design(first):
                step(name)
        changes = drafts.changes(first) + _private_order(drafts, sanitizer, first)
        found = _before_and_after(sanitizer, policy, first)
        better = drafts.better_lines()
        others = drafts.measured(first, [line for line in proposals if line.key not in {one.key for one in better}])
    curves = drafts.curves()
    if curves and not is_joint(drafts.policy) and drafts.mechanism != CLASSES:
        report = report.with_curve(curves[0])
    choice = drafts.choice
    is_said = len(choice.reports) == 1 or policy.channels[0].mechanism == AUTO  # "auto" has a comparison of its own
    comparison = None if is_said else choice.section(" ".join(choice.sentences))
    return Plan(
        report,
        curves,
        (*better, *others),
        changes,
        _found=found,
        _others=comparison,
        _recommended=choice.sentences,
        _taken=choice.taken,
        _chosen=drafts.place_of_own(),
    )


def _price(drafts: Drafts, private: LeakageReport, plain: LeakageReport) -> str:
    """Describe the cost of noise on the counts of sensitive values, from one draw."""
    level, order = private.facts.secret_dp, "rows in order with " if drafts.policy.rows == "keep" else ""
    assert level is not None
    kept, before = (percent(report.summary[drafts.measure]) for report in (private, plain))
    return f"{order}secret_dp {level[0]:g}: keeps {kept} in place of {before}"


def _private_order(drafts: Drafts, sanitizer: Designer, table: TableCounter) -> tuple[Proposal, ...]:
    """Line that makes a release in row order differentially private, with its cost; none if it does not apply."""
    policy = drafts.policy
    if policy.rows != "keep" or is_joint(policy) or drafts.mechanism not in OWNERS["secret_dp"]:
        return ()
    settings, secrets = policy.channels[0].settings, sanitizer._joint.sensitive
    if "confidence" in settings or "record_dp" in settings or (drafts.mechanism == CLASSES and not policy.keep):
        return ()
    orders = sanitizer._release.layout.orders
    levels = dict(zip(secrets.columns, secrets.levels, strict=True))
    values = {name: level.to_pylist() for name, level in levels.items() if name not in orders}
    if not all(isinstance(value, (str, bool, int, float)) for listed in values.values() for value in listed):
        return ()
    with contextlib.suppress(SanitizeError):
        promise = SecretDP(_EPS, _DELTA, values)
        shown = to_toml({"eps": _EPS, "delta": _DELTA, "values": values})
        line = Proposal("channel", "secret_dp", promise, is_open=True, shown=shown)
        designer = draft_designer(with_lines(policy, [line]))
        private = designer.draft(table, policy.rows, classes=drafts.classes)
        return (replace(line, why=_price(drafts, private, drafts.report)),)
    return ()


def _before_and_after(sanitizer: Designer, policy: Policy, table: TableCounter) -> Section | None:
    """Section on how often an attacker finds the one of two people who has a sensitive value; None for few rows."""
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
        "Given a person with a sensitive value and one without, an attacker who learned from other rows picks the "
        "right one so many times in 100; 50 is chance."
    )
    figures = {"from the raw rows": raw, "from the released rows": released, f"from the raw rows, {_DEALT}": dealt}
    lines = tuple((who, round(100 * share, 1)) for who, share in figures.items())
    heads = ("Right guesses", "in 100")
    return Section("guesses", "Guesses of an attacker, before and after", words, heads, lines)


def _budgets_section(curves: tuple[TradeoffCurve, ...]) -> Section:
    """Section with the utility of every mechanism within every budget."""
    utilities = [{point.label: point[curve.measure] for point in reversed(curve.points)} for curve in curves]
    rows = tuple((point.label, *(shares.get(point.label) for shares in utilities)) for point in curves[0].points)
    words = (
        f"The share {WHOLES[curves[0].measure]} that each mechanism keeps within each limit: for a lift, at least and "
        "at most how many times as likely a released value may make a sensitive value; otherwise in nats."
    )
    heads = ("Budget", *(curve.mechanism for curve in curves))
    return Section("budgets", "Within other limits", words, heads, rows)
