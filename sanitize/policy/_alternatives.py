"""Designs of the same rows under other mechanisms and budgets, by the path that a release takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sanitize.errors import SanitizeError
from sanitize.policy._declaration import AUTO, MECHANISMS, OWNERS, TREES
from sanitize.policy._policy import designer_of, is_joint
from sanitize.report import TradeoffCurve
from sanitize.suggestion import KINDS, comparison_section, kinds_for, most_useful, most_useful_so_far, point_of

if TYPE_CHECKING:
    from sanitize._release.first_pass import FirstPass
    from sanitize.policy._policy import Policy
    from sanitize.report import LeakageReport, Section


# Budgets of the curves, as multiples of the one asked for; ascending.
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
# Rows up to which a tree is grown, or a joint release planned, for every budget.
_ROWS_TO_GROW = 200_000

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
    """

    policy: Policy
    report: LeakageReport
    n_symbols: int
    found: dict[Place, LeakageReport] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.found[self.own, 1.0] = self.report

    @property
    def own(self) -> str:
        """The mechanism that the policy asks for; a joint release has a name instead."""
        return "joint release" if is_joint(self.policy) else self.policy.channels[0].mechanism

    @property
    def others(self) -> tuple[str, ...]:
        """Mechanisms that the same columns could be released by within the same budget, the simplest first."""
        if is_joint(self.policy):
            return ()
        notion = self.policy.budget.notion
        kinds = kinds_for(self.n_symbols, self.policy.budget.build())
        family = TREES if self.own in TREES else tuple(kind.name.replace(" ", "-") for kind in kinds)
        if notion not in MECHANISMS[family[0]][1]:
            return ()
        return tuple(name for name in family if name != self.own and self._is_quick(name))

    @property
    def is_of_one_law(self) -> bool:
        """Whether all designs are of the same symbols; every budget grows another tree."""
        return self.own not in TREES

    def rank(self, name: str) -> int:
        """Place of a mechanism among all, the simplest first."""
        simple = [kind.name.replace(" ", "-") for kind in KINDS]
        return simple.index(name) if name in simple else len(simple)

    @property
    def has_curves(self) -> bool:
        """Whether other budgets are tried: trees and joint releases of many rows, and large responses, take long."""
        if self.own in TREES or is_joint(self.policy):
            return (self.report.n_rows or 0) <= _ROWS_TO_GROW
        return self._is_quick(self.own)

    def places(self) -> list[Place]:
        """What is still to be designed, cheapest first."""
        own = [(self.own, multiple) for multiple in self.multiples] if self.has_curves else []
        rest = [(name, multiple) for multiple in self.multiples for name in self.others]
        return [place for place in (*own, *rest) if place not in self.found]

    @property
    def multiples(self) -> tuple[float, ...]:
        """Multiples that give different budgets: an endless bound, and none at all, are what they are."""
        own = self.policy.budget
        return MULTIPLES if own.scaled(2.0).build() != own.build() else (1.0,)

    def know(self, compared: Mapping[str, LeakageReport]) -> None:
        """Take over what "auto" has designed within the budget already, by its names; of trees or else of tuples."""
        named = {name.replace(" ", "-"): report for name, report in compared.items()}
        self.found = {(name, 1.0): named[name] for name in self.others if name in named} | self.found

    def design(self, table: FirstPass) -> Iterator[Place]:
        """Design what is to be designed; what cannot be has no report. Says after each which one it was."""
        for name, multiple in self.places():
            # A mechanism may be unable to keep to the budget here, or the order of the rows tell too much for it.
            with contextlib.suppress(SanitizeError):
                self.found[name, multiple] = designer_of(self.policy_at(name, multiple)).draft(table, self.policy.rows)
            yield name, multiple

    def policy_at(self, name: str, multiple: float) -> Policy:
        """The policy with another mechanism, with those of its settings that it has, and another budget."""
        policy = replace(self.policy, budget=self.policy.budget.scaled(multiple))
        if name == self.own:
            return policy
        policy = with_mechanism(policy, name)
        if not (self._is_robust and name in OWNERS["gap"]):
            return policy
        channel = policy.channels[0]
        # A tenth of what a release spends: the rest would prove how little is missing, which no draft shows.
        settings = {"effort": 40_000_000, **channel.settings}
        return replace(policy, channels=(replace(channel, settings=settings),))

    def curves(self) -> tuple[TradeoffCurve, ...]:
        """Curve of each mechanism that has one, the policy's own first: a looser budget never keeps less.

        What is within a tighter budget is within every looser one, so each point is the best design so far; only the
        point of the policy itself is always what would be released.
        """
        return tuple(curve for name in (self.own, *self.others) if (curve := self._curve(name)) is not None)

    def place_of_own(self) -> int | None:
        """Place of the policy's own budget on the first curve; None without one."""
        there = [multiple for multiple in self.multiples if (self.own, multiple) in self.found]
        return there.index(1.0) if len(there) > 1 else None

    def better(self) -> Place | None:
        """Where more is kept within the budget than the policy's own design keeps; None where it is not.

        None of certified trees either: each is sure by itself, and the one of several that keeps most less so. Designs
        of tuples share one set of laws.
        """
        if self._is_robust and self.own in TREES:
            return None
        own = (self.own, 1.0)
        within = [place for place in self.found if place[1] <= 1]
        # Of equals the policy stays as it is; then the budget does, and then the mechanism is the simplest.
        within.sort(key=lambda place: (place != own, -place[1], self.rank(place[0])))
        best = within[most_useful([self.kept(place) for place in within])]
        return None if best == own else best

    @property
    def within(self) -> list[str]:
        """Mechanisms that were designed within the budget, the simplest first."""
        return sorted((name for name, multiple in self.found if multiple == 1), key=self.rank)

    def best_of(self, names: Sequence[str]) -> str:
        """The one that keeps most within the budget, the first of equals."""
        return names[most_useful([self.kept((name, 1.0)) for name in names])]

    @property
    def of_what(self) -> str:
        """What shares are kept of."""
        return "of each column, in the mean" if self.own in TREES else "of the information in the public columns"

    def kept(self, place: Place) -> float:
        """Share of the information that a design keeps."""
        return float(self.found[place].summary[self._share])

    def comparison(self, names: Sequence[str], words: str) -> Section:
        """Mechanisms side by side, within the budget."""
        return comparison_section([self.found[name, 1.0] for name in names], words, self._share)

    def _curve(self, name: str) -> TradeoffCurve | None:
        places = [(name, multiple) for multiple in self.multiples if (name, multiple) in self.found]
        if len(places) < 2:
            return None
        best = [places[place] for place in most_useful_so_far([self.kept(place) for place in places])]
        shown = [own if own == (self.own, 1.0) else better for own, better in zip(places, best, strict=True)]
        points = tuple(
            point_of(self.policy_at(*place).budget.build(), self._with_share(one))
            for place, one in zip(places, shown, strict=True)
        )
        return TradeoffCurve(name.replace("-", " "), points, self.report.measures)

    @property
    def _share(self) -> str:
        """Measure of what is kept: every budget grows a tree of other cells, so trees are compared by their columns."""
        return "mean_column_utility" if self.own in TREES else "normalized_utility"

    def _with_share(self, place: Place) -> LeakageReport:
        """Report of a design whose share kept is the one that is compared."""
        report = self.found[place]
        if self.own not in TREES:
            return report
        mean = next(measure for measure in report.measures if measure.name == self._share)
        others = tuple(measure for measure in report.measures if measure.name != "normalized_utility")
        return replace(report, measures=(*others, replace(mean, name="normalized_utility")))

    def _is_quick(self, name: str) -> bool:
        if not name.endswith("response") or name in (*TREES, "randomized-response"):
            return True
        # A search that is quick enough to be made for every budget; under a confidence it is over many laws.
        return self.n_symbols <= (20 if self._is_robust else 50)

    @property
    def _is_robust(self) -> bool:
        return "confidence" in self.policy.channels[0].settings


def with_mechanism(policy: Policy, name: str) -> Policy:
    """The policy of one channel with another mechanism, and those of the channel's settings that it has."""
    channel = policy.channels[0]
    settings = {key: value for key, value in channel.settings.items() if name in OWNERS[key]}
    return replace(policy, channels=(replace(channel, mechanism=name, settings=settings),))


def chosen(policy: Policy, report: LeakageReport) -> Policy:
    """The policy with the mechanism that "auto" chose in place of it; the policy itself where it names one."""
    if is_joint(policy) or policy.channels[0].mechanism != AUTO:
        return policy
    return with_mechanism(policy, report.facts.mechanism.replace(" ", "-"))
