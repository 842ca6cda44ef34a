"""What an adversary learned from rows, as frozen values and sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from sanitize._formatting import between, figure, percent, plain

Interval = tuple[float, float]


@dataclass(frozen=True)
class GroupInference:
    """What the adversary learns of the rows of one sensitive symbol.

    Attributes
    ----------
    symbol : str
        Label of the sensitive symbol. Internal.
    share : float
        Weight of its rows.
    accuracy, prior_accuracy : float
        Share of its rows guessed right, with and without the release.
    information : float
        Mean gain in log-loss over its rows, in nats.
    interval : tuple of float
        Of the information; all groups' intervals hold together at the confidence stated.
    """

    symbol: str
    share: float
    accuracy: float
    prior_accuracy: float
    information: float
    interval: Interval


@dataclass(frozen=True)
class InferenceAttack:
    """What a trained adversary learns of S from released rows, each judged by rows she did not learn from.

    Attributes
    ----------
    gain : float
        Mean over rows of log-loss of the best constant guess minus log-loss of the adversary, in nats. Negative
        when she would have done better to ignore the release.
    standard_error : float
        Of the gain.
    interval : tuple of float
        Two-sided interval at ``confidence`` of the V-information: what the trained adversaries gain on fresh rows, 0
        when they would lose, because an adversary may always ignore the release.
    accuracy, prior_accuracy : float
        Share of rows guessed right, and by the constant guess.
    accuracy_interval : tuple of float
        Interval at ``confidence`` of the difference of the two.
    log_loss, prior_log_loss : float
        In nats a row.
    groups : tuple of GroupInference
        The same for the rows of each sensitive symbol. Internal.
    adversary : str
        Name of the classifier.
    columns : tuple of str
        Released columns she saw.
    rows : str
        ``shuffle``, or ``keep`` when she also saw the position of each row.
    n_rows, n_effective : int, float
        Rows, and (Σw)² / Σw²: how many rows of equal weight say as much.
    bias : float
        Upper bound (|S|-1) / (2 n_train) on how far the expected gain may exceed I(S;Y), in nats.
    """

    gain: float
    standard_error: float
    interval: Interval
    accuracy: float
    prior_accuracy: float
    accuracy_interval: Interval
    log_loss: float
    prior_log_loss: float
    groups: tuple[GroupInference, ...] = field(repr=False)
    adversary: str
    columns: tuple[str, ...]
    rows: str
    confidence: float
    n_rows: int
    n_effective: float
    bias: float

    @property
    def information(self) -> float:
        """V-information in nats: the gain, 0 where it is negative."""
        return max(0.0, self.gain)

    @property
    def learns(self) -> bool:
        """Whether the release tells her anything: the interval lies above 0."""
        return self.interval[0] > 0

    @property
    def summary(self) -> tuple[str, ...]:
        """The result in sentences that name no symbol."""
        seen = " and the order of the rows" if self.rows == "keep" else ""
        what = f"An adversary ({self.adversary}) who sees the released columns{seen}"
        level = f"{100 * self.confidence:.4g} % interval"
        if not self.learns:
            return (
                f"{what} learned nothing measurable about the sensitive columns: she gains {figure(self.information)} "
                f"nats a row over guessing from their frequencies ({level} {between(self.interval)})",
            )
        return (
            f"{what} guesses the sensitive columns right in {percent(self.accuracy)} of rows she did not learn from, "
            f"against {percent(self.prior_accuracy)} without the release; she gains {figure(self.information)} nats a "
            f"row ({level} {between(self.interval)})",
        )

    def to_text(self) -> str:
        """The sentences of `summary`, and a line for each sensitive symbol's rows, by number."""
        lines = [*self.summary]
        lines += [
            f"  sensitive symbol {i} of {len(self.groups)}: right in {percent(group.accuracy)} of its rows "
            f"({percent(group.prior_accuracy)} without), gain {figure(group.information)} nats "
            f"({between(group.interval)})"
            for i, group in enumerate(self.groups, 1)
        ]
        return "\n".join(lines)

    def to_dict(self, *, audience: Literal["internal", "public"] = "internal") -> dict[str, Any]:
        """Plain values; the public view has no groups and no counts, and four digits of each figure."""
        hidden = {"groups", "n_rows", "n_effective", "bias"} if audience == "public" else set()
        values = {name: value for name, value in vars(self).items() if name not in hidden}
        if "groups" in values:
            values["groups"] = [vars(group) | {"symbol": i} for i, group in enumerate(self.groups)]
        values |= {"attack": "infer", "information": self.information, "summary": list(self.summary)}
        return plain(values, audience)

    def __str__(self) -> str:
        return self.to_text()
