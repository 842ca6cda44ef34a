"""What the position of a row tells about S: a file sorted by S gives it away whatever the channel does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.stats import chi2

from sanitize.errors import InvalidParameter, RowOrderLeak
from sanitize.joint import ContingencyTable
from sanitize.measures import Measure, mutual_information

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sanitize._tables.columns import ArrowColumn
    from sanitize.budgets import Budget
    from sanitize.report import LeakageReport

RowOrder = Literal["shuffle", "keep"]

POSITION = "(position)"

# The chance of calling an order that is independent of S a leak.
FALSE_ALARM = 1e-6
_MOST_BLOCKS = 64
_BLOCK_ROWS = 500


def check_row_order(rows: str) -> None:
    """Refuse what is no order of released rows."""
    if rows not in ("shuffle", "keep"):
        raise InvalidParameter(f"rows must be 'shuffle' or 'keep', got {rows!r}")


@dataclass
class OrderAudit:
    """Counts of S in consecutive blocks of rows, gathered batch by batch.

    Position is cut into up to 64 blocks of at least 500 rows each (at least two blocks). A G-test of
    independence decides whether the order tells anything: 2 n I(S; block) is chi-square distributed with
    (n_s - 1)(n_blocks - 1) degrees of freedom when it does not.
    """

    n_rows: int
    table: ContingencyTable
    seen: int = 0

    @classmethod
    def of(cls, sensitive: Sequence[str], n_rows: int) -> OrderAudit:
        """Audit of a table with this many rows."""
        return cls(n_rows, ContingencyTable.empty(list(sensitive), [POSITION]))

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(np.clip(self.n_rows // _BLOCK_ROWS, 2, _MOST_BLOCKS))

    def count(self, columns: Mapping[str, ArrowColumn], n: int) -> None:
        """Add the next ``n`` rows, given their sensitive columns."""
        rows = np.arange(self.seen, self.seen + n)
        names = self.table.sensitive.columns
        blocks = np.minimum(rows * self.n_blocks // max(self.n_rows, 1), self.n_blocks - 1)
        self.table.count({**{name: columns[name] for name in names}, POSITION: blocks})
        self.seen += n

    def merged(self, other: OrderAudit) -> OrderAudit:
        """Counts of two runs of rows of one table."""
        return OrderAudit(self.n_rows, self.table.merged(other.table), max(self.seen, other.seen))

    def checked(self, report: LeakageReport, budget: Budget) -> LeakageReport:
        """The report of a release that keeps this order; one that tells S too well is refused."""
        verdict = self.verdict(budget)
        if verdict.too_much:
            raise RowOrderLeak(verdict.information)
        told = Measure(
            "position_information", "what row order tells, I(S;block)", "nats", "estimate", None, verdict.information
        )
        if verdict.tells:
            report = report.with_notes(
                ("the rows keep their order, which depends on the sensitive columns (within the budget)",)
            )
        return replace(report, measures=(*report.measures, told))

    def verdict(self, budget: Budget) -> OrderVerdict:
        """Whether the order tells S, and whether it tells more than the budget allows."""
        joint = self.table.to_joint()
        information = mutual_information(joint)
        degrees = (len(joint.sensitive) - 1) * (len(joint.public) - 1)
        p_value = float(chi2.sf(2 * self.table.n * information, degrees)) if degrees else 1.0
        excess = float(budget.excess(joint).max())
        return OrderVerdict(information, p_value, excess)


@dataclass(frozen=True)
class OrderVerdict:
    """What position tells about S.

    Attributes
    ----------
    information : float
        I(S; block of rows) in nats, biased upwards by chance.
    p_value : float
        Of independence.
    excess : float
        Nats above the budget of the worst block, chance included.
    """

    information: float
    p_value: float
    excess: float

    @property
    def tells(self) -> bool:
        """Whether the order depends on S beyond chance."""
        return self.p_value < FALSE_ALARM

    @property
    def too_much(self) -> bool:
        """Whether a block alone exceeds the budget, beyond chance."""
        return self.tells and self.excess > 0
