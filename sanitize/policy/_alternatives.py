"""Designs of the same rows under other mechanisms and budgets, by the path that a release takes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sanitize._util.formatting import percent
from sanitize._util.tolerances import SAME_SHARE
from sanitize.errors import SanitizeError
from sanitize.policy._declaration import AUTO, CLASSES, MECHANISMS, OWNERS
from sanitize.policy._policy import designer_of, is_joint
from sanitize.release.choosing import (
    KINDS,
    PRINTED,
    choose_report,
    comparison_section,
    curve_point,
    kinds_for,
    most_useful,
    most_useful_so_far,
    reason,
    room,
)
from sanitize.report import RELATIONS, TradeoffCurve

if TYPE_CHECKING:
    from sanitize.policy._policy import Policy
    from sanitize.release.classes import ClassPartition
    from sanitize.release.first_pass import TableCounter
    from sanitize.report import LeakageReport, Section


# Budgets of the curves, as multiples of the one asked for; ascending.
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
# Rows up to which latent classes are released, or a joint release planned, for every budget.
_ROWS_TO_TRY = 200_000

# Measure by which latent classes are compared with tuples.
_COLUMNS = "mean_column_utility"

Place = tuple[str, float]


@dataclass
class Drafts:
    """Reports of the policy's release and of its alternatives, by mechanism and multiple of the budget.

    Attributes
    ----------
    policy : Policy
        With a mechanism of its own: "auto" is replaced by what it chose.
    report : LeakageReport
        Of the release that the policy asks for.
    n_symbols : int
        Symbols that a mechanism is designed for.
    classes : ClassPartition or None
        Latent classes of the release: they depend on neither the budget nor the sensitive columns.
    reports : dict
    compared : dict
        Designs within the budget that "auto" chose among, by mechanism.
    """

    policy: Policy
    report: LeakageReport
    n_symbols: int
    classes: ClassPartition | None = None
    reports: dict[Place, LeakageReport] = field(default_factory=dict)
    compared: dict[str, LeakageReport] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reports[self.mechanism, 1.0] = self.report

    @property
    def mechanism(self) -> str:
        """The mechanism that the policy asks for; a joint release has a name instead."""
        return "joint release" if is_joint(self.policy) else self.policy.channels[0].mechanism

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Mechanisms that the same columns could be released by within the same budget, the simplest first.

        A limit for those who know columns of a row is kept by the policy's own alone.
        """
        if is_joint(self.policy) or self.mechanism == CLASSES or "side_columns" in self.policy.channels[0].settings:
            return ()
        kinds = kinds_for(self.n_symbols, self.policy.budget.build())
        family = tuple(kind.name.replace(" ", "-") for kind in kinds)
        if self.policy.budget.notion not in MECHANISMS[family[0]][1]:
            return ()
        return tuple(name for name in family if name != self.mechanism and self._is_quick(name))

    def rank(self, name: str) -> int:
        """Place of a mechanism among all, the simplest first."""
        simple = [*(kind.name.replace(" ", "-") for kind in KINDS), CLASSES]
        return simple.index(name) if name in simple else len(simple)

    @property
    def has_curves(self) -> bool:
        """True if other budgets are tried: classes and joint releases of many rows, and large responses, take long."""
        if self.mechanism == CLASSES or is_joint(self.policy):
            return (self.report.n_rows or 0) <= _ROWS_TO_TRY
        return self._is_quick(self.mechanism)

    def places(self) -> list[Place]:
        """Return what is still to be designed, cheapest first."""
        own_places = [(self.mechanism, multiple) for multiple in self.multiples] if self.has_curves else []
        alternative_places = [(name, multiple) for multiple in self.multiples for name in self.alternatives]
        return [place for place in (*own_places, *alternative_places) if place not in self.reports]

    @property
    def multiples(self) -> tuple[float, ...]:
        """Multiples that give different budgets: an endless bound, and none at all, are what they are."""
        budget = self.policy.budget
        return MULTIPLES if budget.scaled(2.0).build() != budget.build() else (1.0,)

    def know(self, compared: Mapping[str, LeakageReport]) -> None:
        """Take over what "auto" has designed within the budget already, by its names."""
        self.compared = {name.replace(" ", "-"): report for name, report in compared.items()}
        self.reports = {
            (name, 1.0): self.compared[name] for name in self.alternatives if name in self.compared
        } | self.reports

    def _choose(self, table: TableCounter) -> None:
        """Let "auto" choose within the budget, among tuples and classes and with a proof, where it has all settings.

        Not of tuples under a confidence where that takes long.
        """
        policy, is_long = self.policy, self._is_robust and self.mechanism != CLASSES and 20 < self.n_symbols <= 60
        if self.compared or is_joint(policy) or is_long or policy.budget.notion not in MECHANISMS[AUTO][1]:
            return
        if all(AUTO in OWNERS[key] for key in policy.channels[0].settings):
            with contextlib.suppress(SanitizeError):
                designer: Any = designer_of(with_mechanism(policy, AUTO))
                designer.draft(table, policy.rows, classes=self.classes)
                self.know(designer.compared_)

    def design(self, table: TableCounter) -> Iterator[Place]:
        """Design what is to be designed; what cannot be has no report. Says after each which one it was."""
        places = self.places()
        self._choose(table)
        for place in places:
            # A mechanism may be unable to keep to the budget here, or the order of the rows tell too much for it.
            with contextlib.suppress(SanitizeError):
                if place not in self.reports:
                    drafted = designer_of(self.policy_at(*place))
                    self.reports[place] = drafted.draft(table, self.policy.rows, classes=self.classes)
            yield place

    def policy_at(self, name: str, multiple: float) -> Policy:
        """The policy with another mechanism, with those of its settings that it has, and another budget."""
        policy = replace(self.policy, budget=self.policy.budget.scaled(multiple))
        if name == self.mechanism:
            return policy
        policy = with_mechanism(policy, name)
        if self._is_robust and name in OWNERS["gap"]:
            # A tenth of what a release spends: the rest would prove how little is missing, which no draft shows.
            return with_channel(policy, settings={"effort": 40_000_000, **policy.channels[0].settings})
        return policy

    def curves(self) -> tuple[TradeoffCurve, ...]:
        """Curve of each mechanism that has one, the policy's own first: a looser budget never keeps less.

        What is within a tighter budget is within every looser one, so each point is the best design so far; only the
        point of the policy itself is always what would be released.
        """
        return tuple(curve for name in (self.mechanism, *self.alternatives) if (curve := self._curve(name)) is not None)

    def place_of_own(self) -> int | None:
        """Place of the policy's own budget on the first curve; None without one."""
        own_multiples = [multiple for multiple in self.multiples if (self.mechanism, multiple) in self.reports]
        return own_multiples.index(1.0) if len(own_multiples) > 1 else None

    def better(self) -> Place | None:
        """Return the place that keeps more within the budget than the policy's own design; None if there is none."""
        if self.pick != self.mechanism:
            return self.pick, 1.0
        # Of equals the budget stays as it is.
        own_places = sorted(
            (place for place in self.reports if place[0] == self.mechanism and place[1] <= 1),
            key=lambda candidate: -candidate[1],
        )
        place = most_useful([self.utility(place) for place in own_places])
        return own_places[place] if place else None

    @property
    def within(self) -> dict[str, LeakageReport]:
        """Designs within the budget, the simplest first: those that "auto" chose among, or else of the family."""
        reports = {name: report for (name, multiple), report in self.reports.items() if multiple == 1}
        if self.compared:
            best, share = self.compared[self.most(self.compared)], self._common_measure(self.compared)
            summary = self.report.summary
            # What the policy is certified for by itself is compared with the choice, where it is not the worse.
            is_own = share in summary and summary[share] >= best.summary[share]
            reports = self.compared | ({self.mechanism: self.report} if is_own else {})
        return dict(sorted(reports.items(), key=lambda item: self.rank(item[0])))

    @property
    def pick(self) -> str:
        """The preferred mechanism; the policy's own where that keeps the same."""
        reports = self.within
        best, shares = (
            self.most(reports),
            {name: report.summary[self._common_measure(reports)] for name, report in reports.items()},
        )
        is_same = abs(shares.get(self.mechanism, math.inf) - shares[best]) <= SAME_SHARE
        return self.mechanism if is_same else best

    def most(self, reports: Mapping[str, LeakageReport]) -> str:
        """The one that is preferred, of some in order, the simplest first."""
        return list(reports)[choose_report(list(reports.values()), self._common_measure(reports))]

    def recommendation(self) -> tuple[str, str]:
        """The mechanism to take, what it keeps and what the next best does, in two sentences."""
        reports, pick = self.within, self.pick
        best, alternatives = pick.replace("-", " "), {name: report for name, report in reports.items() if name != pick}
        utility_sentence = f"It keeps {self._utility_percent(pick)} {self._of_what}"
        if not alternatives:
            return f"Recommended: {best}; no other mechanism fits the policy.", f"{utility_sentence}."
        share = self._common_measure(reports)
        second = max(alternatives, key=lambda name: float(alternatives[name].summary[share]))
        taken, more, runner_up = (
            reports[pick],
            alternatives[second].summary,
            f"{second.replace('-', ' ')}, {self._utility_percent(second)}",
        )
        why, printed = reason(taken, list(reports.values()), share), more.get(PRINTED, 1.0)
        if more[share] <= taken.summary[share] + SAME_SHARE:
            return f"Recommended: {best}, which {why}.", f"{utility_sentence}; the next best, {runner_up}."
        but = "it is less simple"
        if printed < taken.summary.get(PRINTED, 1.0):
            but = f"it never prints the combinations of {percent(1 - printed)} of the rows"
        elif more.get(RELATIONS, 1.0) < taken.summary.get(RELATIONS, 1.0):
            but = "it shows less of what pairs of columns say about each other"
        return f"Recommended: {best}, which {why}.", f"{utility_sentence}; {runner_up}, but {but}."

    @property
    def line(self) -> tuple[str, str]:
        """Mechanism that the policy should name to have the recommended one, and why; "auto" proves that it may."""
        why = f"keeps {self._utility_percent(self.pick)} {self._of_what}"
        share = self._common_measure(self.within)
        own_report = self.report if share in self.report.summary else self.within.get(self.mechanism)
        comparison = ""
        if own_report is not None:
            told = own_report.summary[self._told_of(self.within | {self.mechanism: own_report})]
            comparison = f", in place of {percent(told)}"
        if own_report is not None and own_report.summary[share] > self.within[self.pick].summary[share] + SAME_SHARE:
            comparison += f", and is as good as far as {own_report.n_rows:,} rows tell"
        if self._is_robust and self.compared:
            return AUTO, f"it takes {self.pick.replace('-', ' ')}, certifies the choice and {why}{comparison}"
        return self.pick, f"{why}{comparison}"

    @property
    def _of_what(self) -> str:
        """Name of what the shares are shares of."""
        return {
            RELATIONS: "of what pairs of columns say about each other",
            _COLUMNS: "of each column, in the mean",
        }.get(self._told_of(self.within), "of the information in the public columns")

    def _utility_percent(self, name: str) -> str:
        """Share of the information that a mechanism keeps within the budget, as all that are compared are measured."""
        reports = self.within
        return percent(reports[name].summary[self._told_of(reports)])

    def utility(self, place: Place) -> float:
        """Share of the information that a design keeps."""
        return float(self.reports[place].summary[self._share])

    def utility_with_setting(self, table: TableCounter, key: str, value: int | None) -> float | None:
        """Share that the policy's mechanism keeps with another setting (None: without it), if that is more."""
        own_settings = self.policy.channels[0].settings
        is_known = key in own_settings if value is None else key in OWNERS and self.mechanism in OWNERS[key]
        if is_joint(self.policy) or not is_known or not self._is_quick(self.mechanism):
            return None
        settings = {name: setting for name, setting in {**own_settings, key: value}.items() if setting is not None}
        with contextlib.suppress(SanitizeError):
            changed = designer_of(with_channel(self.policy, settings=settings))
            utility = float(changed.draft(table, self.policy.rows, classes=self.classes).summary[self._share])
            return utility if utility > self.utility((self.mechanism, 1.0)) + room(self.report) else None
        return None

    def report_of(self, table: TableCounter, policy: Policy) -> LeakageReport | None:
        """The report of a changed policy; None where it cannot be released."""
        own, changed = self.policy.channels[0], policy.channels[0]
        is_same = (own.public, own.mechanism, own.settings) == (changed.public, changed.mechanism, changed.settings)
        with contextlib.suppress(SanitizeError):
            return designer_of(policy).draft(table, policy.rows, classes=self.classes if is_same else None)
        return None

    def comparison(self, words: str) -> Section:
        """Mechanisms side by side, within the budget."""
        return comparison_section(list(self.within.values()), words, self._told_of(self.within))

    def _curve(self, name: str) -> TradeoffCurve | None:
        places = [(name, multiple) for multiple in self.multiples if (name, multiple) in self.reports]
        if len(places) < 2:
            return None
        best = [places[place] for place in most_useful_so_far([self.utility(place) for place in places])]
        shown = [
            own_place if own_place == (self.mechanism, 1.0) else better
            for own_place, better in zip(places, best, strict=True)
        ]
        points = []
        for place, best_place in zip(places, shown, strict=True):
            report = self.reports[best_place]
            if self.mechanism == CLASSES:
                mean = next(measure for measure in report.measures if measure.name == self._share)
                measures = (measure for measure in report.measures if measure.name != "normalized_utility")
                report = replace(report, measures=(*measures, replace(mean, name="normalized_utility")))
            points.append(curve_point(self.policy_at(*place).budget.build(), report))
        return TradeoffCurve(name.replace("-", " "), tuple(points), self.report.measures)

    @staticmethod
    def _common_measure(reports: Mapping[str, LeakageReport]) -> str:
        """Measure that all of some designs have: of columns where latent classes are among them."""
        return _COLUMNS if all(_COLUMNS in report.summary for report in reports.values()) else "normalized_utility"

    def _told_of(self, reports: Mapping[str, LeakageReport]) -> str:
        """Measure that designs are told by: of shuffled classes alone, which stand for nobody, of pairs of columns."""
        is_shown = set(reports) == {CLASSES} and RELATIONS in reports[CLASSES].summary
        return RELATIONS if is_shown else self._common_measure(reports)

    @property
    def _share(self) -> str:
        """Measure of what is kept: of pairs of columns where rows are generated and shuffled."""
        return self._told_of({self.mechanism: self.report}) if self.mechanism == CLASSES else "normalized_utility"

    def _is_quick(self, name: str) -> bool:
        if not name.endswith("response") or name == "randomized-response":
            return True
        # A search that is quick enough to be made for every budget; under a confidence it is over many distributions.
        return self.n_symbols <= (20 if self._is_robust else 50)

    @property
    def _is_robust(self) -> bool:
        return "confidence" in self.policy.channels[0].settings


def with_mechanism(policy: Policy, name: str) -> Policy:
    """The policy of one channel with another mechanism, and those of the channel's settings that it has."""
    settings = {key: value for key, value in policy.channels[0].settings.items() if name in OWNERS[key]}
    return with_channel(policy, mechanism=name, settings=settings)


def with_channel(policy: Policy, **changes: Any) -> Policy:
    """The policy with its one channel changed."""
    return replace(policy, channels=(replace(policy.channels[0], **changes),))


def resolve_auto(policy: Policy, report: LeakageReport) -> Policy:
    """The policy with the mechanism that "auto" chose in place of it; the policy itself where it names one."""
    if is_joint(policy) or policy.channels[0].mechanism != AUTO:
        return policy
    return with_mechanism(policy, report.facts.mechanism.replace(" ", "-"))
