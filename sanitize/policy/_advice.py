"""Advice on a policy, from designs for the same rows under other mechanisms, budgets and settings.

Each piece of advice is a change of the policy that was tried: lines for the policy, with the utility of the result.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from sanitize._util.formatting import percent
from sanitize._util.limits import TUPLE_ROWS
from sanitize._util.tolerances import SAME_SHARE
from sanitize.errors import SanitizeError
from sanitize.policy._declaration import AUTO, CLASSES, GRID, MECHANISMS, OWNERS
from sanitize.policy._policy import designer_of, is_joint
from sanitize.policy._proposals import N_BINS, Proposal, drop_line, propose_bins
from sanitize.release.choosing import (
    KINDS,
    Choice,
    kept_words,
    kinds_for,
    most_useful,
    most_useful_so_far,
    room,
)
from sanitize.release.survey import ColumnSurvey
from sanitize.report import COLUMNS, RELATIONS, USELESS_BELOW, TradeoffCurve, TradeoffPoint
from sanitize.tables.columns import as_arrow, factorize

if TYPE_CHECKING:
    from sanitize.policy._policy import Policy
    from sanitize.release.classes import ClassPartition
    from sanitize.release.designer import Designer
    from sanitize.release.first_pass import TableCounter
    from sanitize.report import LeakageReport

# Budgets of the curves, as multiples of the policy's budget: from a quarter to four times, beyond which a limit is
# another decision. They ascend, so that a curve can be read from left to right.
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
# Largest number of sensitive values times classes for which a design takes about a second.
_PAIRS = 512
# Most rows for which latent classes, or a joint release, are designed for every budget: five such designs would take
# too long for a plan.
_ROWS_TO_TRY = 200_000

# Effort of a search in a draft: a second at most. A release spends a hundred times as much, mostly on its proof.
_DRAFT_EFFORT = 4_000_000
# Most rows for which classes are fitted again; with more, the rows that a confidence leaves for fitting suffice.
_ROWS_TO_REFIT = 40_000
# A curve of smaller shares would show 0.0 % everywhere.
_NOTHING = 5e-4
# With more public columns, leaving out one of them hardly changes the rest, and each takes a draft.
_DROPS = 6

Place = tuple[str, float]
# A change is offered in words and made by its lines.
_Change = tuple[str, Sequence[Proposal]]


@dataclass
class Drafts:
    """Reports of the policy's release and of its alternatives, by mechanism and multiple of the budget.

    Attributes
    ----------
    policy : Policy
        Policy in which "auto" is replaced by the mechanism that it chose.
    report : LeakageReport
        Report of the release that the policy describes.
    n_symbols : int
        Number of symbols for which a mechanism is designed.
    n_secrets : int
        Number of combinations of sensitive values.
    classes : ClassPartition or None
        Latent classes of the release, which depend neither on the budget nor on the sensitive columns.
    reports : dict
    compared : dict
        Designs within the budget from which "auto" chose, by mechanism.
    """

    policy: Policy
    report: LeakageReport
    n_symbols: int
    n_secrets: int = 2
    classes: ClassPartition | None = None
    reports: dict[Place, LeakageReport] = field(default_factory=dict)
    compared: dict[str, LeakageReport] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reports[self.mechanism, 1.0] = self.report

    @property
    def mechanism(self) -> str:
        """Name of the policy's mechanism, or "joint release"."""
        return "joint release" if is_joint(self.policy) else self.policy.channels[0].mechanism

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Mechanisms that could release the same columns within the same budget, the simplest first.

        Only the policy's own mechanism can meet a limit for readers who know columns of a row.
        """
        if is_joint(self.policy) or self.mechanism == CLASSES or "side_columns" in self.policy.channels[0].settings:
            return ()
        if self._is_robust and self.n_symbols * TUPLE_ROWS > (self.report.n_rows or 0):
            return ()  # no mechanism certifies so many combinations
        kinds = kinds_for(self.n_symbols, self.policy.budget.build())
        family = tuple(kind.name.replace(" ", "-") for kind in kinds)
        if self.policy.budget.notion not in MECHANISMS[family[0]][1]:
            return ()
        return tuple(name for name in family if name != self.mechanism and self._is_quick(name))

    @property
    def has_curves(self) -> bool:
        """True if other budgets are tried, too; this takes too long for some classes, joint releases and responses."""
        is_long = self.mechanism == CLASSES or is_joint(self.policy)
        return self._is_quick(self.mechanism) and not (is_long and (self.report.n_rows or 0) > _ROWS_TO_TRY)

    def places(self) -> list[Place]:
        """Return mechanism and multiple of the budget for each draft to design, the policy's own mechanism first.

        If the policy's own mechanism takes too long for other budgets, the others are not tried under them either.
        """
        multiples = self.multiples[::-1] if self.has_curves else (1.0,)
        named = ((name, multiple) for multiple in multiples for name in self.alternatives)
        own = ((self.mechanism, multiple) for multiple in multiples)
        return [place for place in (*own, *named) if place not in self.reports]

    @property
    def multiples(self) -> tuple[float, ...]:
        """Multiples of the budget to try; only 1 if the other multiples do not change the budget."""
        budget = self.policy.budget
        return MULTIPLES if budget.scaled(2.0).build() != budget.build() else (1.0,)

    def know(self, compared: Mapping[str, LeakageReport]) -> None:
        """Store reports that "auto" has already made within the budget, by mechanism."""
        self.compared = {name.replace(" ", "-"): report for name, report in compared.items()}
        names = [name for name in self.alternatives if name in self.compared]
        self.reports = {(name, 1.0): self.compared[name] for name in names} | self.reports

    def _choose(self, table: TableCounter) -> None:
        """Store the designs that "auto" compares within the budget, if "auto" takes all settings of the policy.

        This is skipped where it takes long: for tuples under a confidence, and for classes that would be fitted again.
        """
        policy, is_long = self.policy, self._is_robust and 20 < self.n_symbols <= 60
        if self.mechanism == CLASSES:
            is_long = not self._is_quick(CLASSES)
        if self.compared or is_joint(policy) or is_long or policy.budget.notion not in MECHANISMS[AUTO][1]:
            return
        if all(AUTO in OWNERS[key] for key in policy.channels[0].settings):
            with contextlib.suppress(SanitizeError):
                designer: Any = designer_of(with_mechanism(policy, AUTO))
                designer.draft(table, policy.rows, classes=self.classes)
                self.know(designer.compared_)

    def design(self, table: TableCounter) -> Iterator[Place]:
        """Design the remaining drafts, yielding each when it is done; an infeasible draft has no report."""
        places, hopeless = self.places(), set[str]()
        self._choose(table)
        for place in places:
            if place not in self.reports and place[0] not in hopeless:  # a tighter budget keeps no more
                # A mechanism may be unable to meet this budget, or the order of the rows may reveal too much for it.
                with contextlib.suppress(SanitizeError):
                    designer = draft_designer(self.policy_at(*place))
                    self.reports[place] = designer.draft(table, self.policy.rows, classes=self.classes)
            if place[1] == self.multiples[-1] and place in self.reports and self.utility(place) < USELESS_BELOW:
                hopeless.add(place[0])
            yield place

    def policy_at(self, name: str, multiple: float) -> Policy:
        """Return the policy with another mechanism, the settings that apply to it, and another budget."""
        policy = replace(self.policy, budget=self.policy.budget.scaled(multiple))
        return policy if name == self.mechanism else with_mechanism(policy, name)

    def curves(self) -> tuple[TradeoffCurve, ...]:
        """Curves of the mechanisms, the policy's own first, on which a looser budget never keeps less.

        A design within a tighter budget is within every looser one, so each point is the best design so far. Only the
        point of the policy itself always shows its own release.
        """
        return tuple(curve for name in (self.mechanism, *self.alternatives) if (curve := self._curve(name)) is not None)

    def place_of_own(self) -> int | None:
        """Position of the policy's own budget on the first curve; None if there is none."""
        own_multiples = [multiple for multiple in self.multiples if (self.mechanism, multiple) in self.reports]
        return own_multiples.index(1.0) if len(own_multiples) > 1 else None

    def better(self) -> Place | None:
        """Return the draft that keeps more within the budget than the policy's own design; None if there is none."""
        if (best := self.choice.best.replace(" ", "-")) != self.mechanism:
            return best, 1.0
        # A tie is no reason to change a budget, so the policy's own comes first.
        own = (place for place in self.reports if place[0] == self.mechanism and place[1] <= 1)
        own_places = sorted(own, key=lambda candidate: -candidate[1])
        place = most_useful([self.utility(place) for place in own_places])
        return own_places[place] if place else None

    @property
    def choice(self) -> Choice:
        """Comparison of the designs within the budget: those that "auto" compared, or those of similar mechanisms."""
        reports, own = {name: report for (name, multiple), report in self.reports.items() if multiple == 1}, self.report
        if self.compared:
            compared = Choice(self.compared)
            # The policy's own certified design replaces that of the choice unless it keeps less.
            is_own = own.summary.get(compared.score, -math.inf) >= compared.taken.summary[compared.score]
            reports = self.compared | ({self.mechanism: own} if is_own else {})
        names = [*(kind.name for kind in KINDS), CLASSES.replace("-", " ")]  # from simple to complex
        named = {name.replace("-", " "): report for name, report in reports.items()}
        ordered = sorted(named, key=lambda name: names.index(name) if name in names else len(names))
        return Choice({name: named[name] for name in ordered}, self.mechanism.replace("-", " "))

    def better_lines(self) -> tuple[Proposal, ...]:
        """Lines that set the mechanism, or the tighter budget, that keeps most within the policy's budget."""
        if (place := self.better()) is None:
            return ()
        name, multiple = place
        if multiple < 1:
            more, current = (percent(self.utility((name, factor))) for factor in (multiple, 1.0))
            bounds = self.policy_at(name, multiple).budget.bounds
            lines = [Proposal("budget", key, value) for key, value in bounds.items()]
            return explained(lines, f"keeps {more} within the same budget, in place of {current}")
        choice = self.choice
        compared = choice.reports.get(self.mechanism.replace("-", " "), self.report)
        own, measure = self.report if choice.score in self.report.summary else compared, choice.measure
        less = own.summary.get(choice.score, 0.0) - choice.taken.summary[choice.score]
        if less > room(own) and RELATIONS in compared.summary:  # the measure by which it was chosen
            own, measure = compared, RELATIONS
        why = f"keeps {kept_words(choice.taken, measure)}"
        if measure in own.summary:
            why += f", in place of {percent(own.summary[measure])}"
        if measure != RELATIONS and less > SAME_SHARE:
            why += f", and is as good as far as {own.n_rows:,} rows show"
        if self._is_robust and self.compared:  # only "auto" certifies its choice
            return (Proposal("channel", "mechanism", AUTO, f"it takes {choice.best}, certifies the choice and {why}"),)
        return (Proposal("channel", "mechanism", name, why),)

    def changes(self, table: TableCounter) -> tuple[Proposal, ...]:
        """Lines for the policy that weaken a claim or limit, or join, bin or leave out columns, and so keep more.

        Each change keeps more by itself.

        Information in a column that is left out counts as lost.
        """
        policy = self.policy
        if is_joint(policy) or self.mechanism == GRID or not self._is_quick(self.mechanism):
            return ()
        margin, current = room(self.report), self.utility((self.mechanism, 1.0))
        columns = table.sample((*policy.sensitive, *policy.public), 100_000)
        found: dict[tuple[str, str], tuple[float, tuple[Proposal, ...]]] = {}
        for what, lines in self._single_changes(columns):
            if (report := self.draft(table, with_lines(policy, lines))) is None:
                continue
            share, key = self._share_of_own(report), (lines[0].table, lines[0].name)
            if share > found.get(key, (current,))[0] + margin:
                why = f"{what}: keeps {percent(share)}, in place of {percent(current)}"
                found[key] = share, explained([replace(line, is_open=True) for line in lines], why)
        return tuple(chain.from_iterable(lines for _, lines in found.values()))

    def _single_changes(self, columns: Mapping[str, Any]) -> Iterator[_Change]:
        """Yield single changes to the policy of a useful release."""
        policy = self.policy
        both = [self.utility(place) for place in self.reports if place[0] == self.mechanism and place[1] >= 2]
        # If loosening both limits keeps no more, loosening one does not, either.
        may_help = not both or max(both) > self.utility((self.mechanism, 1.0)) + room(self.report)
        for key, bound in policy.budget.bounds.items():
            looser = policy.budget.scaled(2.0, key).bounds[key]
            if looser != bound and may_help:
                yield "a looser limit", [Proposal("budget", key, _rounded(looser))]
        if self.mechanism in OWNERS["min_count"]:
            yield "values in fewer rows pooled", [Proposal("channel", "min_count", 50)]
        if self.mechanism != CLASSES or (self.report.n_rows or 0) <= _ROWS_TO_REFIT:
            yield from _no_confidence(policy)
        if self.mechanism == CLASSES:  # the following changes do not affect relations in generated rows
            return
        surveys = {name: ColumnSurvey.from_column(name, column) for name, column in columns.items()}
        yield from _joins(policy, columns, surveys)
        yield from _bins(policy, surveys, policy.sensitive)
        if 1 < len(policy.public) <= _DROPS:
            for name in policy.public:
                yield "one column less", [drop_line([name], "")]

    def remedies(self, table: TableCounter) -> tuple[Proposal, ...]:
        """Lines of the first change that makes a release useful; none if no change helps."""
        policy = self.policy
        if is_joint(policy) or self.mechanism == GRID:
            return ()
        columns = table.sample((*policy.sensitive, *policy.public), 100_000)
        is_useless = self.report is None or self.report.useless  # without a report, nothing may be released
        for what, lines in _rescues(policy, columns):
            changed = with_lines(policy, lines)
            # A release that is useful already keeps its columns.
            is_tried = is_useless or (changed.public, changed.channels[0].mechanism) == (policy.public, self.mechanism)
            report = self.draft(table, changed) if is_tried else None
            if report is not None and report.lack is None:
                shown = RELATIONS if report.relations is not None else "normalized_utility"
                kept = kept_words(report, shown if is_useless else COLUMNS)
                return explained(lines, f"{what}: the release keeps {kept}")
        return ()

    def measured(self, table: TableCounter, lines: Sequence[Proposal]) -> tuple[Proposal, ...]:
        """Return lines with the utility that they give together; leave out lines that do not raise the utility.

        Lines that the owner has to fill in stay unchanged.
        """
        tried = [line for line in lines if not line.is_blank]
        if not tried or is_joint(self.policy) or self.mechanism == GRID:
            return tuple(lines)
        changed = with_lines(self.policy, tried)
        if (report := self.draft(table, changed)) is None:
            return tuple(lines)
        if self.report is None:
            kept = kept_words(report, "normalized_utility" if report.relations is None else RELATIONS)
        elif changed.channels[0].mechanism != self.mechanism:
            kept = f"{kept_words(report, COLUMNS)}, in place of {percent(self.report.summary[COLUMNS])}"
        else:
            share, current = self._share_of_own(report), self.utility((self.mechanism, 1.0))
            if share <= current + room(self.report):
                return tuple(line for line in lines if line not in tried)
            kept = f"{percent(share)}, in place of {percent(current)}"
        together = f"with these {len(tried)} lines, " if len(tried) > 1 else ""
        figure = f"{together}the release keeps {kept}"
        return tuple(replace(line, why=f"{line.why}: {figure}") if line in tried else line for line in lines)

    def draft_noiseless(self, table: TableCounter) -> LeakageReport:
        """Report of the same release without noise on the counts of sensitive values."""
        designer = draft_designer(with_lines(self.policy, [Proposal("channel", "secret_dp", None)]))
        return designer.draft(table, self.policy.rows, classes=self.classes)

    def draft(self, table: TableCounter, policy: Policy) -> LeakageReport | None:
        """Report of a changed policy; None if it allows no release."""
        own, changed = self.policy.channels[0], policy.channels[0]
        is_same = (own.public, own.mechanism, own.settings) == (changed.public, changed.mechanism, changed.settings)
        with contextlib.suppress(SanitizeError):
            return draft_designer(policy).draft(table, policy.rows, classes=self.classes if is_same else None)
        return None

    def utility(self, place: Place) -> float:
        """Share of the information that a design keeps."""
        return float(self.reports[place].summary[self.measure])

    def _share_of_own(self, report: LeakageReport) -> float:
        """Share that a changed release keeps of the information in the policy's own public columns."""
        own = self.report.summary
        if self.mechanism == CLASSES or not own["utility"]:
            return float(report.summary[self.measure])
        return float(report.summary["utility"] * own["normalized_utility"] / own["utility"])

    @property
    def measure(self) -> str:
        """Name of the measure of utility, as in reports, by which designs are compared."""
        if self.mechanism != CLASSES:
            return "normalized_utility"
        return RELATIONS if RELATIONS in self.report.summary else COLUMNS

    def _curve(self, name: str) -> TradeoffCurve | None:
        places = [(name, multiple) for multiple in self.multiples if (name, multiple) in self.reports]
        best = [places[place] for place in most_useful_so_far([self.utility(place) for place in places])]
        if len(places) < 2 or self.utility(best[-1]) < _NOTHING:
            return None
        points = []
        for place, better in zip(places, best, strict=True):
            report = self.reports[place if place == (self.mechanism, 1.0) else better]
            budget = self.policy_at(*place).budget.build()
            points.append(TradeoffPoint(budget, report.measures, len(report.excess)))
        return TradeoffCurve(name.replace("-", " "), tuple(points), self.report.measures, self.measure)

    def _is_quick(self, name: str) -> bool:
        if name == CLASSES:  # the search is over pairs of sensitive value and class; 500 pairs take a second
            return self.n_symbols * self.n_secrets <= _PAIRS
        if not name.endswith("response") or name == "randomized-response":
            return True
        # The search must be fast enough to run for every budget; under a confidence it is over many distributions.
        return self.n_symbols <= (20 if self._is_robust else 50)

    @property
    def _is_robust(self) -> bool:
        return "confidence" in self.policy.channels[0].settings


def explained(lines: Sequence[Proposal], why: str) -> tuple[Proposal, ...]:
    """Return the lines of one change with a common reason."""
    together = f"with these {len(lines)} lines, " if len(lines) > 1 else ""
    return tuple(replace(line, why=together + why) for line in lines)


def with_lines(policy: Policy, lines: Sequence[Proposal]) -> Policy:
    """Return a policy that has one channel, with lines added to it."""
    for line in lines:
        channel = policy.channels[0]
        if line.table == "columns":
            gone = set(line.setting)
            bins = {name: cuts for name, cuts in channel.bins.items() if name not in gone}
            left = tuple(name for name in channel.public if name not in gone)
            policy = replace(with_channel(policy, public=left, bins=bins), drop=(*policy.drop, *line.setting))
        elif line.table == "budget":
            budget = replace(policy.budget, bounds={**policy.budget.bounds, line.name: line.setting})
            policy = replace(policy, budget=budget)
        elif line.table == "join":
            policy = replace(policy, join={**policy.join, line.name: line.setting})
        elif line.table == "channel.bins":
            policy = with_channel(policy, bins={**channel.bins, line.name: line.setting})
        elif line.name == "mechanism":
            policy = with_mechanism(policy, line.setting)
        else:
            settings = {**channel.settings, line.name: line.setting}
            policy = with_channel(policy, settings={key: x for key, x in settings.items() if x is not None})
    return policy


def draft_designer(policy: Policy) -> Designer:
    """Return the designer of a draft, which searches for a response with a hundredth of a release's effort.

    The remaining effort would mostly prove how close the design is to the optimum, which drafts do not show.
    """
    channel = None if is_joint(policy) else policy.channels[0]
    if channel is not None and channel.mechanism in OWNERS["gap"]:
        policy = with_channel(policy, settings={"effort": _DRAFT_EFFORT, **channel.settings})
    return designer_of(policy)


def with_mechanism(policy: Policy, name: str) -> Policy:
    """Return a policy that has one channel, with another mechanism and the settings that apply to it."""
    settings = {key: value for key, value in policy.channels[0].settings.items() if name in OWNERS[key]}
    return with_channel(policy, mechanism=name, settings=settings)


def with_channel(policy: Policy, **changes: Any) -> Policy:
    """Return the policy with its only channel changed."""
    return replace(policy, channels=(replace(policy.channels[0], **changes),))


def resolve_auto(policy: Policy, report: LeakageReport) -> Policy:
    """Return the policy with the mechanism that "auto" chose; the policy itself if it names a mechanism."""
    if is_joint(policy) or policy.channels[0].mechanism != AUTO:
        return policy
    return with_mechanism(policy, report.facts.mechanism.replace(" ", "-"))


def _rescues(policy: Policy, columns: Mapping[str, Any]) -> Iterator[_Change]:
    """Yield changes, least costly first, to a policy that keeps almost no information."""
    surveys = {name: ColumnSurvey.from_column(name, column) for name, column in columns.items()}
    yield from _joins(policy, columns, surveys)
    channel, classes = policy.channels[0], list[_Change]()
    # For one or two columns, mechanisms on their values have all the information.
    if len(policy.public) > 2 and channel.mechanism != CLASSES and policy.budget.notion in MECHANISMS[CLASSES][1]:
        classes = [("rows are generated by latent classes", [Proposal("channel", "mechanism", CLASSES)])]
    columns_of = [(surveys[name], channel.bins.get(name)) for name in policy.public]
    sizes = (N_BINS if survey.is_wide else survey.n_symbols(cuts) for survey, cuts in columns_of)
    # Designs for so many combinations take long, and rarely help, even with numbers in bins.
    is_many = math.prod(sizes) * TUPLE_ROWS > len(columns[policy.sensitive[0]])
    public = policy.public if channel.mechanism != CLASSES else ()
    subsets = filter(None, (policy.sensitive, public, (*policy.sensitive, *public) if public else ()))
    bins = (change for names in subsets for change in _bins(policy, surveys, names))
    yield from chain(classes, bins) if is_many else chain(bins, classes)
    yield from _fewer_columns(policy, surveys)
    yield from _no_confidence(policy)
    for multiple in (2.0, 4.0):
        bounds = policy.budget.scaled(multiple).bounds
        yield "a looser limit", [Proposal("budget", key, _rounded(x), is_open=True) for key, x in bounds.items()]


def _rounded(bound: float) -> float:
    """Round a bound to three digits, as a proposed line shows it."""
    return float(f"{bound:.3g}")


def _no_confidence(policy: Policy) -> Iterator[_Change]:
    """Yield the change that gives up the claim about the population."""
    if (level := policy.channels[0].settings.get("confidence")) is not None:
        line = Proposal("channel", "confidence", None, is_open=True, shown=f"{level:g}")
        yield "left out, if these rows are everybody", [line]


def _joins(policy: Policy, columns: Mapping[str, Any], surveys: Mapping[str, ColumnSurvey]) -> Iterator[_Change]:
    """Yield changes that join rare sensitive values, fewest first; many distinct numbers or dates need bins instead."""
    last: dict[str, Any] = {}
    for share in (0.01, 0.03, 0.1):
        joined = rare_values(policy, {name: columns[name] for name in policy.sensitive}, share)
        joined = {name: groups for name, groups in joined.items() if not surveys[name].is_wide}
        if joined and joined != last:
            lines = [Proposal("join", name, groups) for name, groups in joined.items()]
            yield "the rarest values joined into one", lines
        last = joined


def _bins(policy: Policy, surveys: Mapping[str, ColumnSurvey], names: Sequence[str]) -> Iterator[_Change]:
    """Yield changes that bin numbers and dates of some columns."""
    channel = policy.channels[0]
    is_sure = "confidence" in channel.settings
    wide = [surveys[name] for name in names if surveys[name].is_wide and name not in channel.bins]
    for n_bins in (N_BINS, 2) if wide else ():
        lines = [propose_bins(survey, is_sure=is_sure, n_bins=n_bins) for survey in wide]
        yield f"cut into {n_bins} bins or so{', from knowledge and not from these rows' * is_sure}", lines


def _fewer_columns(policy: Policy, surveys: Mapping[str, ColumnSurvey]) -> Iterator[_Change]:
    """Yield changes that leave out the public columns with the most values, first half of all columns, then more."""
    widest = sorted(policy.public, key=lambda name: -surveys[name].n_values)
    n_left = len(widest) // 2
    while n_left:
        dropped = set(widest[:-n_left])
        yield "fewer columns", [drop_line([name for name in policy.public if name in dropped], "")]
        n_left //= 2


def rare_values(policy: Policy, columns: Mapping[str, Any], share: float) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Return the rare values to join in each sensitive column, so that no value has less than ``share`` of the rows.

    Parameters
    ----------
    policy : Policy
    columns : mapping of name to column
        Sensitive columns of all rows or of a sample.
    share : float
        Least share of rows, also for each combination with values of the other sensitive columns.
    """
    binned = {name for channel in policy.channels for name in channel.bins} | set(policy.join)
    coded = {name: factorize(as_arrow(column, name), name) for name, column in columns.items()}
    joins = {}
    for name in policy.sensitive:
        values, codes = coded[name]
        # A value is as rare as its rarest combination with a value of another sensitive column, which is also
        # protected.
        least = np.bincount(codes[codes >= 0], minlength=len(values)).astype(float)
        for other_name, (other_values, those) in coded.items():
            crosstab = np.zeros((len(values), len(other_values)))
            present = (codes >= 0) & (those >= 0)
            np.add.at(crosstab, (codes[present], those[present]), 1)
            is_wide = other_name != name and len(other_values) <= 5
            least = np.minimum(least, crosstab.min(axis=1, initial=np.inf, where=crosstab > 0)) if is_wide else least
        order, needed = np.argsort(least, kind="stable"), share * len(codes)
        n_rare = int((least < needed).sum())
        while 0 < n_rare < len(values) - 1 and (n_rare < 2 or least[order[:n_rare]].sum() < needed):
            n_rare += 1
        if name in binned or not 0 < n_rare < len(values) or len(values) < 3:
            continue
        plain, titles = values.to_pylist(), chain(("other", "all other"), map("other {}".format, count(2)))
        rare = tuple(plain[place] for place in sorted(order[:n_rare]))
        if all(isinstance(value, (str, bool, int, float)) for value in rare):
            joins[name] = {next(title for title in titles if title not in plain): rare}
    return joins
