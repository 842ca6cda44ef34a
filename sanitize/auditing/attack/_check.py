"""Check of released rows against their report: an attack's gain is compared with the report's exact figures."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import rel_entr

from sanitize._util.checks import Vector, check_number
from sanitize._util.formatting import Told, figure, percent, spell_infinities
from sanitize.auditing.attack._bayes import bayes
from sanitize.auditing.attack._infer import infer
from sanitize.core.binning import is_numeric
from sanitize.core.measures import mutual_information
from sanitize.errors import InvalidParameter
from sanitize.release.features import sensitive_codes
from sanitize.tables.columns import as_arrow
from sanitize.tables.frame import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from sanitize.core.joint import JointDistribution
    from sanitize.report import LeakageReport

Verdict = Literal["consistent", "exceeds", "differs"]


@dataclass(frozen=True)
class Comparison(Told):
    """Result of an attack on released rows, compared with the figures of their report.

    Attributes
    ----------
    verdict : {"consistent", "exceeds", "differs"}
        ``exceeds``: the adversary learned more than the report allows. ``differs``: she did not, but the rows do not
        follow the distribution that the report measured, so its figures do not apply to them.
    false_alarm : float
        Largest chance of a verdict other than ``consistent`` for a release that agrees with its report.
    information, least_information : float
        Her gain, and a lower bound on her gain on fresh rows that fails with at most that chance, in nats.
    reported_information : float
        I(S;Y) of the report, plus the largest ``bias`` of the estimated gain.
    accuracy, reported_accuracy : float
        Share of rows guessed right, and the largest possible share according to the report.
    distribution_excess : float or None
        Evidence against the distribution, in nats beyond what chance allows; above 0, the rows do not follow it. None
        if the released symbols could not be matched with those of the report.
    outside : tuple of str
        Columns that she saw and the report does not measure.
    """

    verdict: Verdict
    false_alarm: float
    information: float
    least_information: float
    reported_information: float
    accuracy: float
    reported_accuracy: float
    distribution_excess: float | None
    outside: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if the release is consistent with its report."""
        return self.verdict == "consistent"

    @property
    def summary(self) -> tuple[str, ...]:
        """Sentences that state the result and name no symbol."""
        comparison = (
            f"an adversary gains {figure(self.information)} nats per row and is right in {percent(self.accuracy)}; the "
            f"report allows {figure(self.reported_information)} nats and {percent(self.reported_accuracy)}"
        )
        unmeasured = f"; she also saw {', '.join(self.outside)}, which the report does not measure"
        head = {
            "consistent": "The released rows are consistent with their report",
            "exceeds": "THE RELEASED ROWS LEAK MORE THAN THEIR REPORT SAYS",
            "differs": "THE RELEASED ROWS DO NOT FOLLOW THE DISTRIBUTION OF THEIR REPORT",
        }[self.verdict]
        return (
            f"{head} (false alarms: at most {self.false_alarm:g}): {comparison}{unmeasured if self.outside else ''}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for the owner of the table."""
        return spell_infinities({"attack": "check", **vars(self), "ok": self.ok, "summary": list(self.summary)})


def check(
    report: LeakageReport,
    released: Any,
    sensitive: Any,
    *,
    false_alarm: float = 1e-3,
    estimator: Any = None,
    columns: Sequence[str] | None = None,
    rows: Literal["shuffle", "keep"] = "shuffle",
    cv: int = 5,
    clusters: ArrayLike | None = None,
    random_state: int = 0,
) -> Comparison:
    """Attack released rows and compare the result with the largest leakage that the report allows.

    Three tests share the false-alarm rate. The gain of the trained adversary must not exceed I(S;Y), nor her accuracy
    that of the Bayes adversary. In the rows of each sensitive symbol, every released symbol must occur about as often
    as under the channel: this finds a sampler that draws from another distribution, even if that distribution leaks no
    more.

    Parameters
    ----------
    report : LeakageReport
        Report of this release for the frequencies of these very rows, neither smoothed nor of other rows.
    released : pandas or polars DataFrame, pyarrow Table or two-dimensional array
        Table that the adversary sees, including columns that were kept unchanged.
    sensitive : array-like of shape (n_rows,), or frame of n_rows
        True S of the same rows, in the same order.
    false_alarm : float
        Accepted chance of a false alarm.
    estimator : scikit-learn classifier, optional
        Classifier of the adversary; by default the mixture of `infer`.
    columns : list of str, optional
        Columns that she uses; by default all columns.
    rows : {"shuffle", "keep"}
        ``keep`` if the release keeps the order of the rows; their positions are then features.
    cv : int
        Number of folds, stratified by S.
    clusters : array-like of shape (n_rows,), optional
        Person of each row, if people have several rows; the rows of a person stay in one fold.
    random_state : int
        Seed of the folds; no noise of a release depends on it.

    Returns
    -------
    Comparison

    Notes
    -----
    The test of the distribution is exact for any number of rows: given S, the count of a released symbol is a sum of
    independent indicators, so a share q instead of p in m rows has probability at most exp(-m KL(q||p)) [HOEF]. All
    cells and both sides are covered by Bonferroni. The accuracy is tested by the same bound as if folds were
    independent, and the gain by a normal limit as in `infer`; both tests hold for many rows. Weights are not supported,
    because rows are drawn one by one.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget.symmetric(0.5)
    >>> sanitizer = sz.Watchdog(budget, sensitive="survived", public=["class", "sex"], random_state=0)
    >>> released = sz.frames.release(df, sanitizer)
    >>> report = sz.last_report(released)
    >>> sz.auditing.attack.check(report, released, df["survived"]).verdict
    'consistent'
    >>> sz.auditing.attack.check(report, df[["class", "sex"]], df["survived"]).verdict  # nothing was sanitized
    'exceeds'
    """
    check_number("false_alarm", false_alarm, "lie between 0 and 1", lambda value: 0 < value < 1)
    table = Table.from_native(released)
    joint = report._after
    symbols, codes = sensitive_codes(sensitive, table.n_rows)
    codes_by_symbol = {symbol: code for code, symbol in enumerate(joint.sensitive.symbols)}
    place = np.array([codes_by_symbol.get(symbol, -1) for symbol in symbols.symbols], np.int32)
    if (place < 0).any():
        raise InvalidParameter(
            "sensitive contains values that are not in the report: give the report's sensitive columns, "
            f"{', '.join(report.sensitive)}, for the rows that the report was made for"
        )
    folds: dict[str, Any] = {"cv": cv, "clusters": clusters, "random_state": random_state}
    attack = infer(table, sensitive, estimator=estimator, columns=columns, rows=rows, **folds)
    share = false_alarm / 3  # for the tests of the gain, the accuracy and the distribution
    excess = _excess(joint, table, place[codes], share)
    best, allowed = bayes(joint).accuracy, mutual_information(joint) + attack.bias
    least = attack.gain - NormalDist().inv_cdf(1 - share) * attack.standard_error
    surprise = attack.n_rows * float(_kl(np.array(attack.accuracy), np.array(min(best, 1.0))))
    verdict: Verdict = "differs" if excess is not None and excess > 0 else "consistent"
    if least > allowed or (attack.accuracy > best and surprise > np.log(1 / share)):
        verdict = "exceeds"
    return Comparison(
        verdict=verdict,
        false_alarm=false_alarm,
        information=attack.information,
        least_information=max(0.0, least),
        reported_information=allowed,
        accuracy=attack.accuracy,
        reported_accuracy=best,
        distribution_excess=excess,
        outside=tuple(name for name in attack.columns if name not in joint.public.columns),
    )


def _excess(joint: JointDistribution, table: Table, sensitive: NDArray[np.int32], false_alarm: float) -> float | None:
    """Largest evidence of a cell against P(y|s), in nats beyond what chance allows; None if symbols do not match."""
    columns = joint.public.columns
    if not set(columns) <= set(table.names):
        return None
    for name, level in zip(columns, joint.public.levels, strict=True):
        if is_numeric(level.type) != is_numeric(as_arrow(table[name], name).type):
            return None  # numbers drawn inside bins are not symbols of the report
    codes = joint.public.encode(table)
    n_s, n_y = joint.pmf.shape
    # Symbols that the channel never releases get a column of their own: one such row refutes the report.
    cells = np.bincount(sensitive * (n_y + 1) + np.where(codes < 0, n_y, codes), minlength=n_s * (n_y + 1))
    counts = cells.reshape(n_s, n_y + 1)
    expected = np.column_stack([joint.pmf / joint.p_s[:, None], np.zeros(n_s)])
    totals = counts.sum(axis=1, keepdims=True)
    evidence = totals * _kl(counts / np.maximum(totals, 1), expected)
    return float(evidence.max() - np.log(2 * counts.size / false_alarm))


def _kl(q: Vector, p: Vector) -> Vector:
    """KL divergence of Bernoulli(q) from Bernoulli(p), in nats; infinite if p excludes an outcome of q."""
    return np.maximum(rel_entr(q, p) + rel_entr(1 - q, 1 - np.minimum(p, 1.0)), 0.0)
