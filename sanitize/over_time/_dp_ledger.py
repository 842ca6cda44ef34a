"""Fits of one table under differential privacy, with one total budget for all of them."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from sanitize._util.checks import check_choice, check_number, number
from sanitize._util.declared import Declared, NonNegative, Version1, field_note
from sanitize._util.tolerances import SMALLEST_POSITIVE
from sanitize.core.moved_counts import moved_count_sigma
from sanitize.errors import InvalidParameter, LedgerError
from sanitize.over_time._book import hold_lock, ledger_path, read_book, write_book
from sanitize.release.recipes.promise import DPGuarantee

if TYPE_CHECKING:
    from collections.abc import Sequence

Whom = Literal["rows", "secrets"]
_LEAST_LEFT = 1e-9  # parts of the δ of a book, below which what is left of it is rounding


class _Fit(Declared, frozen=True):
    """Level (ε, δ) of a fit, and its ρ of zero-concentrated DP except with the probability ``beside``."""

    eps: NonNegative
    delta: Annotated[float, field_note("below 1", ge=0, lt=1)]
    rho: NonNegative
    beside: Annotated[float, field_note("below 1", ge=0, lt=1)]

    @classmethod
    def from_guarantee(cls, promise: DPGuarantee, whom: Whom) -> _Fit:
        """Cost of a fit, for whole rows or for sensitive values."""
        eps, delta = promise.eps, promise.delta
        if whom == "secrets" and promise.keyword == "record_dp":
            eps, delta = 2 * eps, delta * (1 + math.exp(eps))
        rho, extra_delta = eps**2 / 2, 0.0
        if delta > 0 and promise.keyword == "record_dp":
            extra_delta = delta  # that a threshold lets a value through is no event of the Gaussian kind
        elif delta > 0:
            # Whichever noise the number of secrets leads to; of more than 1,000 rows there is no Gaussian one.
            with contextlib.suppress(InvalidParameter):
                rho = max(rho, moved_count_sigma(eps, delta) ** -2)
        return cls(eps, delta, rho, extra_delta)


class _Form(Declared, frozen=True):
    format: Literal["sanitize/dp"]
    version: Version1
    whom: Whom
    eps: NonNegative
    delta: Annotated[float, field_note("below 1", ge=0, lt=1)]
    fits: tuple[_Fit, ...]
    sha256: str

    def with_fits(self, fits: tuple[_Fit, ...]) -> _Form:
        """Book with other fits."""
        return _Form(self.format, self.version, self.whom, self.eps, self.delta, fits, "")

    def spent(self) -> float:
        """Level ε of all fits together at the book's δ: the least of several ways to add them up.

        Some fits count by (ε, δ) and the others by ρ (proof 10 in docs/theory/proofs.md): those that cost most ρ for
        their ε first, from none to all. Equal fits count alike: the sum is concave in how many of them count plainly.
        """
        fits = sorted(self.fits, key=lambda fit: (-fit.rho / max(fit.eps, SMALLEST_POSITIVE), fit.delta))
        ends = [n for n in range(len(fits) + 1) if n in (0, len(fits)) or fits[n - 1] != fits[n]]
        return min(self._joint_level(fits[:n], fits[n:]) for n in ends)

    def _joint_level(self, plain: Sequence[_Fit], squares: Sequence[_Fit]) -> float:
        """Level of fits of which some add up plainly and the others by ρ."""
        left = self.delta - math.fsum([*(fit.delta for fit in plain), *(fit.beside for fit in squares)])
        eps, rho = math.fsum(fit.eps for fit in plain), math.fsum(fit.rho for fit in squares)
        if not squares:
            return eps if left >= -_LEAST_LEFT * self.delta else math.inf
        if left <= _LEAST_LEFT * self.delta:
            return math.inf
        return eps + rho + 2 * math.sqrt(rho * -math.log(left))


class DPLedger:
    """Book of the fits of one table with ``secret_dp`` or ``record_dp``, with a total level for all of them.

    Every fit sees the table through noise of its own, so each one tells more. A fit with this ledger in its `SecretDP`
    or `RecordDP` is booked before anything of it is seen, whether or not it ends in a release, and refused where all
    would be beyond the total. Levels are added up [DR14 Thm 3.16], or where δ allows it by ρ of zero-concentrated
    differential privacy if that is less [BunSteinke]: ε²/2 of geometric noise, 1/σ² of discrete Gaussian noise on
    counts between which a row moves [CKS], and ρ + 2√(ρ log 1/δ) of all together. A fit with (ε, δ) of its own is, but
    for a probability of δ, one with ε: it counts ε²/2, and its δ is taken from that of the book, or it adds up plainly
    beside the others, whichever is less.

    Parameters
    ----------
    path : path
        The file; one a table. It holds levels and nothing of the table, and is readable by its owner only.
    eps : float, optional
        Total level in nats, > 0. Needed for a new file; for one that is there it may be left out, and must be the same
        otherwise.
    delta : float
        Total probability of more.
    whom : {"rows", "secrets"}
        What is private: whole rows, which ``secret_dp`` does not make private, in levels as `RecordDP` takes them, so
        that another row in place of one costs 2ε and δ(1 + e^ε) of all fits together; or the secret of each row, of
        which ``record_dp`` costs that much, as the row with another secret is another row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import sanitize as sz
    >>> from sanitize.transformers import RecordDP
    >>> ledger = sz.over_time.DPLedger(pathlib.Path(tempfile.mkdtemp()) / "survey.dp", eps=1.5)
    >>> promise = RecordDP(1.0, {"income": ["<=50K", ">50K"]}, ledger=ledger)  # every fit with it is booked
    >>> ledger.book(promise)
    >>> ledger.spent, len(ledger)
    (1.0, 1)
    >>> try:
    ...     ledger.book(promise)
    ... except sz.errors.LedgerError as error:
    ...     print(str(error).partition(",")[0])
    with this fit all 2 would cost eps 2
    """

    def __init__(
        self, path: str | os.PathLike[str], eps: float | None = None, delta: float = 0.0, whom: Whom = "rows"
    ) -> None:
        self.path: Path = ledger_path(path)
        if eps is None:
            return
        check_choice("whom", whom, "rows", "secrets")
        total = check_number("eps", eps, "be a finite number > 0", lambda value: 0 < value < math.inf)
        wanted = _Form("sanitize/dp", 1, whom, float(total), number("delta", delta, 0.0, 0.5), (), "")
        with hold_lock(self.path):
            if not self.path.exists():
                write_book(self.path, wanted)
        current = self._read().with_fits(())
        if current != wanted:
            raise LedgerError(f"the ledger {self.path.name!r} has the total {_total(current)}, not {_total(wanted)}")

    def _read(self) -> _Form:
        if not self.path.exists():
            raise LedgerError(
                f"there is no ledger {self.path.name!r}; make it with sanitize.over_time.DPLedger(path, eps=...), the "
                "total level of all fits"
            )
        return read_book(self.path, _Form, lambda form: form, "a ledger of levels")

    def __len__(self) -> int:
        """Number of fits booked."""
        return len(self._read().fits)

    @property
    def spent(self) -> float:
        """Level ε of all fits together, at the total δ."""
        return self._read().spent()

    @property
    def total(self) -> str:
        """Limit on the cost of all fits together, in words."""
        return _total(self._read())

    def book(self, promise: DPGuarantee) -> None:
        """Book a fit that is about to be made; a guarantee with this ledger does so by itself.

        Parameters
        ----------
        promise : SecretDP or RecordDP

        Raises
        ------
        LedgerError
            If the total would be exceeded, the ledger is of rows and the promise is not, or the file is absent or
            damaged. Nothing is booked then.
        """
        with hold_lock(self.path):
            book = self._read()
            if book.whom == "rows" and promise.keyword == "secret_dp":
                raise LedgerError(
                    f"the ledger {self.path.name!r} is of rows, and secret_dp protects sensitive values only; use "
                    'record_dp, or a ledger of whom="secrets"'
                )
            booked = book.with_fits((*book.fits, _Fit.from_guarantee(promise, book.whom)))
            if not booked.spent() <= book.eps * (1 + 1e-9):
                clause = f"with this fit all {len(booked.fits)} would cost eps {booked.spent():.4g}"
                raise LedgerError(
                    f"{clause}, and the ledger {self.path.name!r} allows {_total(book)} ({book.spent():.4g} spent); "
                    "nothing was fitted"
                )
            write_book(self.path, booked)


def _total(book: _Form) -> str:
    return f"eps {book.eps:g} and delta {book.delta:g} of {book.whom}"
