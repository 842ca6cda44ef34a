"""How well an analyst's model does, trained on a release, as a frozen value and in sentences."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Downstream:
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
    raw, released : float
        AUC of the models trained on the raw table and on the release, both on raw rows kept from them.
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

    def to_text(self) -> str:
        """The comparison in sentences."""
        low, high = self.interval
        verdict = "worse than" if self.worse else "better than" if low > 0 else "not measurably different from"
        return (
            f"Predicting {self.question} for raw rows it has not seen, a model ({self.model}) trained on the release "
            f"reaches an AUC of {self.released:.3f}, one trained on the raw table {self.raw:.3f}; 0.5 is guessing.\n"
            f"The release is {verdict} the raw table: {self.difference:+.3f} ({100 * self.confidence:.4g} % interval "
            f"{low:+.3f} to {high:+.3f}, {self.n_rows} rows)."
        )

    def __str__(self) -> str:
        return self.to_text()
