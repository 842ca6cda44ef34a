"""How well an analyst's model does, trained on a release, as a frozen value and in sentences."""

from __future__ import annotations

from dataclasses import dataclass

from sanitize._formatting import Told


@dataclass(frozen=True)
class Downstream(Told):
    """How well a model predicts a column of raw rows it has not seen, trained on the release and on the raw table.

    Areas under the ROC curve (AUC): the chance that of two rows, one with a value and one without, the model puts the
    right one first; 0.5 is guessing. With more than two values, the mean over values against the rest by their share.

    Attributes
    ----------
    target : str
    question : str
        What is predicted: the value of the target, or whether it is above its median.
    columns : tuple of str
        Columns the models see.
    raw, released, ignoring : float
        AUC of the models trained on the raw table, on the release, and on rows printed without a look at any single
        row, all on raw rows kept from them.
    own, own_interval : float and tuple of float, or None
        AUC of a model that reads a released row and predicts the raw target of its own person; None where nobody knows
        which row is whose.
    difference : float
        released - raw, row by row on the same rows.
    interval : tuple of float
        Of the difference, at ``confidence``.
    confidence : float
    n_rows : int
        Rows the models were tested on.
    model : str
        Name of the classifier.
    """

    target: str
    question: str
    columns: tuple[str, ...]
    raw: float
    released: float
    ignoring: float
    own: float | None
    own_interval: tuple[float, float] | None
    difference: float
    interval: tuple[float, float]
    confidence: float
    n_rows: int
    model: str

    @property
    def kept(self) -> float:
        """Share of what the raw table's model knows beyond guessing that the release's knows; 1 where that is none."""
        return (self.released - 0.5) / (self.raw - 0.5) if self.raw > 0.5 else 1.0

    @property
    def worse(self) -> bool:
        """Whether training on the release does measurable harm: the interval lies below 0."""
        return self.interval[1] < 0

    @property
    def ignores_rows(self) -> bool:
        """Whether released rows are known to say nothing measurable of the person whose place they have."""
        return self.own_interval is not None and self.own_interval[0] <= 0.5

    @property
    def summary(self) -> tuple[str, ...]:
        """The comparison in sentences."""
        low, high = self.interval
        verdict = "worse than" if self.worse else "better than" if low > 0 else "not measurably different from"
        if self.own is None:
            link = "Which row is whose is not known here, so what a row says of its own person is not measured."
        elif self.ignores_rows:
            link = f"A released row says nothing measurable of its own person's {self.target!r} ({self.own:.3f})."
        else:
            link = f"From a released row its own person's {self.target!r} is predicted with {self.own:.3f}."
        return (
            f"Predicting {self.question} for raw rows it has not seen, a model ({self.model}) trained on the raw table "
            f"reaches an AUC of {self.raw:.3f}, on the release {self.released:.3f}, and on rows that ignore every "
            f"single row {self.ignoring:.3f}; 0.5 is guessing.",
            f"The release is {verdict} the raw table: {self.difference:+.3f} ({100 * self.confidence:.4g} % interval "
            f"{low:+.3f} to {high:+.3f}, {self.n_rows} rows).",
            link,
        )
