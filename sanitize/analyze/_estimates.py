"""Estimates with their errors: what the functions of this room return."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of one analysis, with errors that count both the draw of the rows and the noise of the channel.

    Estimates are unbiased (regressions: consistent), so noise may carry a share below 0 or above 1; cut it for show,
    not for further work.

    Attributes
    ----------
    names : tuple of str
    estimate : ndarray of shape (k,)
    covariance : ndarray of shape (k, k)
        Of the estimates; for differences and other sums of them.
    n_records : int
        Released rows.
    confidence : float
        Of each interval by itself.
    """

    names: tuple[str, ...]
    estimate: NDArray[np.float64]
    covariance: NDArray[np.float64]
    n_records: int
    confidence: float = 0.95

    @cached_property
    def standard_error(self) -> NDArray[np.float64]:
        """Standard error of each estimate, shape (k,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def low(self) -> NDArray[np.float64]:
        """Lower end of each interval, shape (k,)."""
        return self.estimate - self._reach

    @property
    def high(self) -> NDArray[np.float64]:
        """Upper end of each interval, shape (k,)."""
        return self.estimate + self._reach

    @property
    def _reach(self) -> NDArray[np.float64]:
        return ndtri(0.5 + self.confidence / 2) * self.standard_error

    def to_frame(self) -> pd.DataFrame:
        """One row an estimate: ``estimate``, ``standard_error``, ``low``, ``high``."""
        import pandas as pd

        columns = {name: getattr(self, name) for name in ("estimate", "standard_error", "low", "high")}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="name"))

    def __str__(self) -> str:
        width = max([*map(len, self.names), 8])
        head = f"{'':<{width}}  estimate  std. error  {f'{self.confidence:.4g}':>6} interval"
        rows = zip(self.names, self.estimate, self.standard_error, self.low, self.high, strict=True)
        lines = [
            f"{name:<{width}}  {value:>8.4g}  {error:>10.2g}  [{low:.4g}, {high:.4g}]"
            for name, value, error, low, high in rows
        ]
        return "\n".join([head, *lines])
