"""Exceptions and warnings of the library, with the objects concerned as attributes.

Messages name the column or parameter, the rule and the remedy. They never contain a record or a sensitive symbol,
because a log is a release too; witnesses are attributes. Attributes are typed `Any`, because this file must not
import the others; the docstrings name their classes.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

# Most names that a sentence lists, because a table may have 20,000 columns.
_MOST_NAMED = 10


class SanitizeError(Exception):
    """Base class of all errors that the library raises deliberately.

    Examples
    --------
    >>> import sanitize as sz
    >>> try:
    ...     sz.LiftBudget.symmetric(-1.0)
    ... except sz.SanitizeError as error:
    ...     print(error)
    LiftBudget: lower must be a number >= 0 (inf is allowed), got -1.0
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, exceptions are unpickled by a call with their message, which some of these classes do not take.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InvalidDistribution(SanitizeError, ValueError):
    """A matrix is not a joint distribution: wrong shape, negative entries, a sum other than 1, or an empty margin."""

    @classmethod
    def expected_joint(cls, given: object) -> InvalidDistribution:
        """Make the error for a value that is not the expected distribution."""
        return cls(
            f"expected a JointDistribution, got {type(given).__name__}; make one with JointDistribution.from_matrix "
            "from probabilities (n_s, n_x), or with from_frame from a table"
        )


class InvalidChannel(SanitizeError, ValueError):
    """A matrix is not a row-stochastic channel, or two channels do not fit together."""

    @classmethod
    def no_channel(cls, given: object) -> InvalidChannel:
        """Make the error for a value that is not the expected channel."""
        return cls(
            f"expected a Channel, got {type(given).__name__}; make one with Channel.from_matrix from a matrix "
            "(n_x, n_y), or take channel_ of a fitted sanitizer"
        )


class InvalidBudget(SanitizeError, ValueError):
    """A privacy budget is missing, negative or not a number."""


class InvalidParameter(SanitizeError, ValueError):
    """A parameter is outside its allowed range."""


class PolicyError(SanitizeError, ValueError):
    """A release policy cannot be read, or one of its keys is unknown, missing or out of range.

    Attributes
    ----------
    key : str or None
        Path of the key concerned.
    """

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class InfeasibleTarget(InvalidParameter):
    """No budget meets the stated target.

    Attributes
    ----------
    nearest : Suggestion
        The budget that comes nearest, with its figures.
    """

    def __init__(self, message: str, nearest: Any) -> None:
        super().__init__(message)
        self.nearest = nearest


class ColumnError(SanitizeError, ValueError):
    """A column is missing, ambiguous, or of a kind that cannot be sanitized.

    Attributes
    ----------
    column : str or None
        Column concerned; None if there are several.
    absent_columns : tuple of str
        Columns that the table does not have.
    """

    def __init__(self, message: str, column: str | None = None, absent: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.column = column
        self.absent_columns = tuple(absent)

    @classmethod
    def fault(cls, name: str, words: str) -> ColumnError:
        """Make the error for a fault of one column, in words that follow its name."""
        return cls(f"column {name!r} {words}", name)

    @classmethod
    def absent(cls, absent: Sequence[object], columns: Iterable[object]) -> ColumnError:
        """Make the error for absent columns, with similar names; ``column`` is set if only one column is absent."""
        wanted, names = [str(name) for name in absent], [str(name) for name in columns]
        if len(wanted) == 1:
            near = get_close_matches(wanted[0], names, n=3)
            hint = "did you mean " + " or ".join(repr(name) for name in near) + "?" if near else _has(names)
            return cls(f"no column {wanted[0]!r} in the table; {hint}", wanted[0], wanted)
        nearest = {name: get_close_matches(name, names, n=1) for name in wanted[:_MOST_NAMED]}
        told = [f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name) for name, near in nearest.items()]
        told += ["..."] * (len(wanted) > _MOST_NAMED)
        hint = "" if any(nearest.values()) else f"; {_has(names)}"
        return cls(f"no columns {', '.join(told)} in the table{hint}", None, wanted)


def in_words(names: Sequence[object]) -> str:
    """List the first ten names for a sentence; dots replace the others."""
    return ", ".join([*map(repr, names[:_MOST_NAMED]), *["..."] * (len(names) > _MOST_NAMED)])


def _has(names: Sequence[str]) -> str:
    """Return the end of a sentence that names the first ten columns of a table."""
    return f"the table has {in_words(names) or 'no columns'}."


class UnknownSymbol(SanitizeError, ValueError):
    """Rows have public symbols that did not occur when the channel was fitted.

    Attributes
    ----------
    columns : tuple of str
        The public columns.
    n_rows : int
        Number of rows with an unknown symbol.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        n_rows: int,
        advice: str = "Refit on data that has the value, or use handle_unknown='high_risk'.",
    ) -> None:
        self.columns = columns
        self.n_rows = n_rows
        self.advice = advice
        names = ", ".join(map(repr, columns))
        super().__init__(f"{n_rows} row(s) have a value of {names} that did not occur at fit. {advice}")


class BudgetExceeded(SanitizeError):
    """A channel leaks more than its budget allows, so nothing is released.

    Attributes
    ----------
    report : LeakageReport
        The measurement that failed.
    witness : tuple
        The sensitive and the released symbol where the excess is largest. Internal: do not log it.

    Examples
    --------
    >>> import sanitize as sz
    >>> joint = sz.JointDistribution.from_matrix([[0.4, 0.1], [0.2, 0.3]])
    >>> report = sz.LeakageReport.measure(joint, sz.Channel.identity(2), sz.LDPBudget(0.5))
    >>> try:
    ...     report.require()
    ... except BudgetExceeded as error:
    ...     round(error.excess, 4)
    0.5986
    """

    def __init__(self, report: Any, witness: tuple[Any, Any], excess: float) -> None:
        self.report = report
        self.witness = witness
        self.excess = excess
        super().__init__(
            f"the release exceeds its budget {report.budget!r} by {excess:.4g} nats; nothing was released. "
            "Loosen the budget (the lower bound first when some cells are empty), merge rare values "
            "with min_count, or release fewer columns (drop kept columns first)."
        )


class NothingToProtect(SanitizeError, ValueError):
    """The sensitive columns have the same value in all rows, so there is nothing to protect, and nothing is released.

    Attributes
    ----------
    report : LeakageReport
    """

    def __init__(self, report: Any) -> None:
        self.report = report
        names = " and ".join(map(repr, report.sensitive))
        super().__init__(
            f"NOTHING TO PROTECT: {names} has one class, the same value in all rows, so a limit on it would "
            "mean nothing; nothing was released. Check its bins and joined values (one edge makes two bins), or name "
            "another sensitive column"
        )


class LedgerExceeded(BudgetExceeded):
    """A release exceeds the budget of a ledger together with the releases recorded there.

    Attributes
    ----------
    report : LeakageReport
        Report on all releases together.
    witness : tuple
        The sensitive and the released symbols where the excess is largest. Internal: do not log it.
    budget : Budget
        Budget of the ledger. The report's own budget is smaller if some releases count by a bound.
    n_recorded : int
        Number of recorded releases.
    left : float or None
        Distance, in nats, of the recorded releases from the budget; None if there is only a bound on it.
    """

    def __init__(
        self, report: Any, witness: tuple[Any, Any], excess: float, budget: Any, n_recorded: int, left: float | None
    ) -> None:
        super().__init__(report, witness, excess)
        self.budget = budget
        self.n_recorded = n_recorded
        self.left = left
        room = "" if left is None else f" The recorded releases leave {max(left, 0.0):.4g} nats."
        self.args = (
            f"together with the {n_recorded} recorded release(s) of these rows, the release exceeds the budget "
            f"{budget!r} by {excess:.4g} nats; nothing was released.{room} Design the release within what is left"
            f"{', or hand out copies of a recorded release: they reveal nothing more' * (n_recorded > 0)}.",
        )


class LedgerError(SanitizeError, ValueError):
    """A ledger is missing, damaged, locked, or about other rows or other sensitive columns."""


class RowOrderLeak(SanitizeError):
    """The order of the rows reveals more about S than the budget allows, so the rows must be shuffled.

    Attributes
    ----------
    where : str
        Pattern that reveals S: in blocks of n rows, in every second row, between rows 1 apart, or by both neighbours.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(
            f"the order of the rows reveals the sensitive columns beyond the limit ({where}); nothing was released. "
            "Use rows='shuffle', the default (--rows shuffle)"
        )


class SourceError(SanitizeError, OSError):
    """The input cannot be read, is damaged, or does not fit the request."""


class SourceChanged(SourceError):
    """The input changed between the counting pass and the rewriting pass."""


class TargetError(SanitizeError, OSError):
    """The output cannot be written to the requested place."""


class TargetExists(TargetError):
    """The output exists already and overwriting was not requested."""


class VerificationFailed(SanitizeError):
    """A released file fails a check against its original table and its policy.

    Attributes
    ----------
    verification : Verification
        Results of all checks.
    """

    def __init__(self, verification: Any) -> None:
        self.verification = verification
        failed = ", ".join(check.name for check in verification.checks if not check.ok)
        super().__init__(f"the release fails its verification ({failed}); do not hand it out")


class ReleaseRefuted(SanitizeError):
    """Attacks on a released file find more about people in the data than about people outside it.

    Attributes
    ----------
    judgement : Judgement
        Results of all attacks.
    """

    def __init__(self, judgement: Any) -> None:
        self.judgement = judgement
        super().__init__(f"the release is refuted ({', '.join(judgement.refuted)}); do not hand it out")


class UselessRelease(SanitizeError):
    """A release would show almost nothing about the table, so nothing is written.

    Either each of its columns keeps less than 5 % of its information, or shuffled generated rows keep less than 5 % of
    the relations between columns, on average, or no combination of values has at least ``min_count`` rows.

    Attributes
    ----------
    report : LeakageReport or None
        Report on the release that was not written; None if no combination may be released.
    """

    def __init__(self, report: Any, words: str, advice: str) -> None:
        self.report = report
        super().__init__(f"{words}; nothing was written: {advice}")


class UnseenSymbolWarning(UserWarning):
    """Rows had symbols that did not occur at fit; they were released like rows with the riskiest symbol."""


class ReleaseWarning(UserWarning):
    """A release is less private than it looks, for a reason stated in the report."""


# The public names are all errors and warnings.
_PUBLIC = (SanitizeError, Warning)
__all__ = [name for name, kind in list(globals().items()) if isinstance(kind, type) and issubclass(kind, _PUBLIC)]
