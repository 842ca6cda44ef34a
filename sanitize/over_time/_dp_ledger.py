"""Ledger of the fits of one table under differential privacy, with a total budget."""

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
# A smaller share of a book's δ that is left over is rounding: fits whose δ sum to it exactly would be refused.
_LEAST_LEFT = 1e-9


class _Fit(Declared, frozen=True):
    """Cost of a fit: its level (ε, δ), and its zero-concentrated level ρ, which holds except with chance ``beside``."""

    eps: NonNegative
    delta: Annotated[float, field_note("below 1", ge=0, lt=1)]
    rho: NonNegative
    beside: Annotated[float, field_note("below 1", ge=0, lt=1)]

    @classmethod
    def from_guarantee(cls, promise: DPGuarantee, whom: Whom) -> _Fit:
        """Return the cost of a fit, for whole rows or for sensitive values."""
        eps, delta = promise.eps, promise.delta
        if whom == "secrets" and promise.keyword == "record_dp":
            eps, delta = 2 * eps, delta * (1 + math.exp(eps))
        rho, extra_delta = eps**2 / 2, 0.0
        if delta > 0 and promise.keyword == "record_dp":
            extra_delta = delta  # the event that a value passes a threshold is not covered by ρ
        elif delta > 0:
            # The kind of noise depends on the number of sensitive values; Gaussian noise has at most 1,000 rows.
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

    def spent(self) -> float:
        """Level ε of all fits together at the book's δ, as the least of several ways to add them up.

        Some fits are added by (ε, δ) and the others by ρ (proof 10 in docs/theory/proofs.md). The fits added by (ε, δ)
        are those that cost most ρ for their ε, from none to all. Equal fits are treated alike, because the sum is
        concave in the number of them that is added by (ε, δ).
        """
        fits = sorted(self.fits, key=lambda fit: (-fit.rho / max(fit.eps, SMALLEST_POSITIVE), fit.delta))
        ends = [n for n in range(len(fits) + 1) if n in (0, len(fits)) or fits[n - 1] != fits[n]]
        return min(self._joint_level(fits[:n], fits[n:]) for n in ends)

    def _joint_level(self, plain: Sequence[_Fit], squares: Sequence[_Fit]) -> float:
        """Level ε of all fits together if ``plain`` fits are added by (ε, δ) and ``squares`` by ρ."""
        left = self.delta - math.fsum([*(fit.delta for fit in plain), *(fit.beside for fit in squares)])
        eps, rho = math.fsum(fit.eps for fit in plain), math.fsum(fit.rho for fit in squares)
        if not squares:
            return eps if left >= -_LEAST_LEFT * self.delta else math.inf
        if left <= _LEAST_LEFT * self.delta:
            return math.inf
        return eps + rho + 2 * math.sqrt(rho * -math.log(left))


class DPLedger:
    """Ledger of the fits of one table with ``secret_dp`` or ``record_dp``, with a total level for all of them.

    Every fit reads the table through fresh noise, so each fit reveals more. A fit whose `SecretDP` or `RecordDP` has
    this ledger is recorded before any result is visible, whether or not it ends in a release. A fit is refused if all
    fits would exceed the total. Levels are added up [DR14 Thm 3.16] or, if there is a δ and this gives less, added by ρ
    of zero-concentrated differential privacy [BunSteinke]: ε²/2 for geometric noise, 1/σ² for discrete Gaussian noise
    on counts between which a row moves [CKS], and ρ + 2√(ρ log 1/δ) for all together. Except with probability δ, a fit
    with its own (ε, δ) is a fit with ε. Such a fit counts ε²/2, with its δ taken from that of the book, or its (ε, δ)
    is added to the others, whichever is less.

    Parameters
    ----------
    path : path
        File of the ledger, one per table. It contains levels and nothing about the table, and is readable by its owner
        only.
    eps : float, optional
        Total level in nats, > 0. Required for a new file; for an existing file it may be omitted, and must otherwise be
        the same.
    delta : float
        Total probability that the level is exceeded.
    whom : {"rows", "secrets"}
        Protected facts. ``rows``: whole rows, in levels of `RecordDP`, so that replacing a row costs 2ε and δ(1 + e^ε)
        of all fits together; ``secret_dp`` does not protect rows. ``secrets``: the sensitive value of each row, for
        which ``record_dp`` costs this amount, because a row with another sensitive value is another row.

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
    ...     print(str(error).partition(", and")[0])
    with this fit, all 2 fits would cost eps 2
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
        current = self._read().__replace__(fits=(), sha256="")
        if current != wanted:
            raise LedgerError(
                f"the ledger {self.path.name!r} has the total {_total(current)}, not {_total(wanted)}; "
                "name another file"
            )

    def _read(self) -> _Form:
        if not self.path.exists():
            words = "make it with sanitize.over_time.DPLedger(path, eps=...), with the total level of all fits"
            raise LedgerError(f"there is no ledger {self.path.name!r}; {words}")
        return read_book(self.path, _Form, lambda form: form, "a ledger of levels")

    def __len__(self) -> int:
        """Number of recorded fits."""
        return len(self._read().fits)

    @property
    def spent(self) -> float:
        """Level ε spent on all fits together, at the total δ."""
        return self._read().spent()

    @property
    def total(self) -> str:
        """Description of the limit on the cost of all fits together."""
        return _total(self._read())

    def book(self, promise: DPGuarantee) -> None:
        """Record a fit that is about to be made; an estimator with this ledger records its fits itself.

        Parameters
        ----------
        promise : SecretDP or RecordDP

        Raises
        ------
        LedgerError
            If the total would be exceeded, the ledger is for rows and the guarantee is not, or the file is absent or
            damaged. Nothing is recorded then.
        """
        with hold_lock(self.path):
            book = self._read()
            if book.whom == "rows" and promise.keyword == "secret_dp":
                words = 'secret_dp protects sensitive values only; use record_dp, or a ledger with whom="secrets"'
                raise LedgerError(f"the ledger {self.path.name!r} counts whole rows, and {words}")
            booked = book.__replace__(fits=(*book.fits, _Fit.from_guarantee(promise, book.whom)))
            if not booked.spent() <= book.eps * (1 + 1e-9):
                clause = (
                    f"with this fit, all {len(booked.fits)} fits would cost eps {booked.spent():.4g}, and the ledger"
                )
                allowed = f"{_total(book)} ({book.spent():.4g} spent)"
                raise LedgerError(f"{clause} {self.path.name!r} allows {allowed}; nothing was fitted")
            write_book(self.path, booked)


def _total(book: _Form) -> str:
    return f"eps {book.eps:g} and delta {book.delta:g} of {book.whom}"
