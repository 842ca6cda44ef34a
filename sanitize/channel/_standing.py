"""How good a channel is known to be: what its designer proved, and among what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Status = Literal["optimal", "within", "cut short", "heuristic"]


@dataclass(frozen=True)
class Standing:
    """What is proved of the utility of a designed channel.

    Attributes
    ----------
    status : {"optimal", "within", "cut short", "heuristic"}
        The gap asked for was reached; rounding keeps it open; effort or time was used up; or nothing was proved.
    gap : float or None
        I(X;Y) is at most this many nats below the best that was looked for; None where no bound is known.
    among : str
        What it is the best of, where that is not every channel within the budget, for example ``mergings``.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.20, 0.05, 0.15, 0.10], [0.05, 0.20, 0.15, 0.10]])
    >>> sz.optimal_random_response(joint, 0.3).standing.words
    'optimal'
    >>> sz.subset_merging(joint, 0.3).standing.words
    'optimal among mergings'
    >>> sz.watchdog(joint, 0.3).standing.words
    'a heuristic: how far from the best is not known'
    """

    status: Status
    gap: float | None = None
    among: str = ""

    @property
    def words(self) -> str:
        """The standing in words: optimal, within so many nats of the optimum, cut short, or a heuristic."""
        among = f" among {self.among}" if self.among else ""
        if self.status == "optimal":
            return f"optimal{among}"
        if self.gap is None:
            return f"{'a heuristic' if self.status == 'heuristic' else 'cut short'}: how far from the best is not known"
        # Rounded up, so that the words promise no more than the number.
        nats = float(np.format_float_scientific(self.gap * 1.005, 2))
        within = f"within {nats:.3g} nats of the optimum{among}"
        return within if self.status == "within" else f"cut short, {within}"


HEURISTIC = Standing("heuristic")
BEST = Standing("optimal", 0.0)
