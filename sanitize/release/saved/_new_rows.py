"""First pass over new rows for a saved channel: count and identify the rows, and measure leakage if they include S."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.system import ordered_map
from sanitize.core.channel import Channel
from sanitize.core.joint import JointDistribution
from sanitize.core.measures import normalized_utility
from sanitize.errors import InvalidParameter, SourceError, UnknownSymbol
from sanitize.release.design import restrict
from sanitize.release.first_pass import RowCounts
from sanitize.release.recipes.promise import check_order
from sanitize.report import LeakageReport, ReleaseFacts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sanitize.core.budgets import Budget
    from sanitize.release.first_pass import RowOrder, TableCounter
    from sanitize.release.layout import Layout
    from sanitize.tables.files.source import Load


@dataclass(frozen=True)
class NewRows:
    """Counts from one pass over new rows.

    Attributes
    ----------
    channel : Channel
        Channel through which the rows will be released.
    seen : ndarray of int, shape (n_x,)
        Number of rows of each input symbol of the channel.
    digest : str
        SHA-256 of the symbols of all rows in their order, and of the names of their files.
    counts : RowCounts
        Counts of the rows, whose table is empty if sensitive values are absent or not read.
    is_measured : bool
        Whether sensitive values were read.
    """

    channel: Channel
    seen: NDArray[np.int64]
    digest: str
    counts: RowCounts
    is_measured: bool

    @classmethod
    def read(
        cls, table: TableCounter, order: RowOrder, layout: Layout, channel: Channel, *, secrets: bool = True
    ) -> NewRows:
        """Read and count the rows, with or without sensitive values, and refuse symbols unseen at fit."""
        source = table.source
        has_secrets = layout.sensitive == layout.public or set(layout.sensitive) <= set(source.schema.names)
        measured = secrets and has_secrets
        audit = table.order_audit(layout, order)
        if audit is not None and not measured:
            if not secrets:
                check_order(order, "secret_dp and record_dp")
            raise InvalidParameter(
                "rows='keep' needs the sensitive columns in the new file, to measure what its order reveals; use "
                "rows='shuffle', the default"
            )
        names = list(dict.fromkeys((*(layout.sensitive if measured else ()), *layout.read)))
        source.check(names)
        total, seen = RowCounts(layout.empty_table(), audit), np.zeros(channel.n_inputs, np.int64)
        digest, n = hashlib.sha256(), 0

        def read(numbered: tuple[int, Load]) -> tuple[RowCounts, list[NDArray[np.int32]]]:
            before, load = numbered
            part, symbols = total.empty_copy(), []
            for batch in load.batches():
                columns = layout.columns(batch, first=before)
                symbols.append(channel.inputs.encode(columns).astype("<i4", copy=False))
                if measured:
                    part.count(columns, before)
                else:
                    part.clipped.update(columns.clipped)
                before += len(batch[names[0]])
            return part, symbols

        for file in source.files:
            n_before = n
            for part, symbols in ordered_map(read, table.loads([file], names, n), table.workers):
                for codes in symbols:
                    digest.update(codes.data)
                    n += len(codes)
                    seen += np.bincount(codes[codes >= 0], minlength=len(seen))
                total = total.merge(part)
            digest.update(f"end {n - n_before} {source.label(file)}".encode())
        source.check_unchanged()
        if n_unseen := n - int(seen.sum()):
            raise UnknownSymbol(layout.public, n_unseen, "A saved release refuses such rows: fit again on all rows.")
        if not n:
            raise SourceError(f"{source.root.name} has no rows, so there is nothing to release")
        return cls(channel, seen, digest.hexdigest(), total, measured)

    @property
    def utility(self) -> float:
        """Share of the information in these rows that the channel keeps, from the frequency of each symbol."""
        present = np.flatnonzero(self.seen)
        distribution = JointDistribution.from_matrix(self.seen[None, present] / self.seen.sum())
        stages = (self.channel.stages[0].take(present), *self.channel.stages[1:])
        return float(normalized_utility(distribution, Channel(stages, distribution.public, self.channel.outputs)))

    def holdout_report(
        self, mechanism: str, output: str, budget: Budget
    ) -> tuple[LeakageReport | None, tuple[str, ...]]:
        """Measure the leakage of the channel under the frequencies of these rows, if they include S.

        Raises
        ------
        RowOrderLeak
            If the rows keep their order and it reveals S beyond the budget.
        """
        if not self.is_measured:
            return None, ()
        facts, table = ReleaseFacts(mechanism=f"{mechanism}, held out", output=output), self.counts.table
        distribution, channel, seen = restrict(table, self.channel, 0, budget)
        report = LeakageReport.measure(distribution, channel, seen, facts=facts)
        if self.counts.order is not None:
            report = self.counts.order.check_report(report, seen, table)
        if report.ok:
            return report, ()
        return report, (
            f"under the frequencies of the new rows, the release is {report.worst_excess:.4g} nats over the budget; "
            "the new rows are only a sample, but if they differ from the rows of the fit, fit again",
        )
