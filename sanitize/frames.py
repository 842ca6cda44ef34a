"""Releases of data frames, by functions and by methods of `df.sanitize`."""

from __future__ import annotations

import inspect
import warnings
from os import PathLike
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from sanitize.errors import InvalidParameter, ReleaseWarning, SanitizeError
from sanitize.release.first_pass import RowCounts
from sanitize.release.layout import Layout
from sanitize.report import LeakageReport, report_of
from sanitize.tables.frame import Table
from sanitize.transformers import (
    ExponentialChannel,
    GaussianChannel,
    JointRelease,
    LatentClassRelease,
    OptimalRandomResponse,
    RandomizedResponse,
    SubsetMerging,
    SubsetRandomResponse,
    Watchdog,
    audit_pipeline,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sanitize.transformers import Sanitizer

__all__ = ["audit", "last_report", "release"]

Frame = TypeVar("Frame")
Parameters = ParamSpec("Parameters")


def release(df: Frame, sanitizer: Sanitizer) -> Frame:
    """Release a frame: learn from its rows, design a channel within the budget, and draw every row.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    sanitizer : Sanitizer
        Estimator with its parameters, which is fitted on this frame. To release other rows through the same channel,
        call its ``transform``.

    Returns
    -------
    Frame of the same kind
        Frame with the sanitized public columns and rows in the same order; `last_report` returns its report.

    Raises
    ------
    BudgetExceeded
        If the designed channel leaks more than the budget.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> sanitizer = sz.Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="survived", public=["class", "sex"])
    >>> released = sz.frames.release(df, sanitizer)
    >>> list(released.columns), sz.last_report(released).ok
    (['class', 'sex'], True)
    """
    if not hasattr(sanitizer, "fit") or hasattr(df, "fit"):
        raise InvalidParameter(
            "release needs a data frame and a sanitizer, as in release(df, sanitizer), got "
            f"{type(df).__name__} and {type(sanitizer).__name__}"
        )
    if isinstance(df, (str, PathLike)):
        raise InvalidParameter(f"release needs a DataFrame, got {type(df).__name__}; release files with release_file")
    released: Frame = sanitizer.fit(df).transform(df)
    # Warnings that a user who reads no report would miss.
    cautions = []
    lack = sanitizer.report_.lack
    if sanitizer.report_.useless and lack is not None:
        cautions.append(f"next to nothing is kept of most columns: {lack.advice}")
    index = getattr(released, "index", None)
    if getattr(getattr(index, "dtype", None), "kind", "i") not in "iu":  # row numbers reveal at most the order
        cautions.append(
            "the index of the released frame is that of the raw frame, and may identify rows; remove it with "
            "reset_index(drop=True)"
        )
    for words in cautions:
        warnings.warn(words, ReleaseWarning, stacklevel=2)
    return released


def audit(
    df: Any, sensitive: str | Sequence[str], public: str | Sequence[str] | None = None, *, pipeline: Any = None
) -> LeakageReport:
    """Measure what the public columns of a table, or the output of a pipeline, reveal about the sensitive ones.

    Parameters
    ----------
    df : pandas or polars DataFrame, or pyarrow Table
    sensitive : str or list of str
    public : str or list of str, optional
        All other columns by default.
    pipeline : estimator of scikit-learn, optional
        A fitted Pipeline, ColumnTransformer or FeatureUnion, possibly nested, in place of ``public``. Its whole output
        for these rows is measured jointly. Each sanitizer draws independently, given its own columns, and a column that
        reaches any other step, or the output, counts as released unchanged. Later steps only transform this output and
        reveal no more. Steps before a sanitizer are applied to the rows.

    Returns
    -------
    LeakageReport
        Report without a budget, which only measures. For a pipeline, ``to_frame("parts")`` has the leakage through each
        sanitizer and each column alone.

    Raises
    ------
    ColumnError
        If a column has a different value in most rows, or the columns together have too many combinations.
    InvalidParameter
        If a step of another kind contains a sanitizer, or two sanitizers draw from the same key or seed.

    Examples
    --------
    >>> import sanitize as sz
    >>> report = sz.audit(sz.datasets.load_titanic(), sensitive="survived", public=["class", "sex"])
    >>> round(report.summary["max_log_lift"], 3)
    1.102

    Two sanitizers together reveal more than each of them:

    >>> from sklearn.compose import ColumnTransformer
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget.symmetric(0.3)
    >>> def noisy(x, seed):
    ...     return x, sz.OptimalRandomResponse(budget, sensitive="age", public=x, random_state=seed), ["age", x]
    >>> columns = ColumnTransformer([noisy("class", 1), noisy("sex", 2)]).fit(df)  # without seeds the second one warns
    >>> report = sz.audit(df, sensitive="age", pipeline=columns)
    >>> report.to_frame("parts")["max_log_lift"].round(3).tolist(), round(report.summary["max_log_lift"], 3)
    ([0.3, 0.3], 0.613)
    """
    table = Table.from_native(df)
    secret = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    if pipeline is not None:
        if public is not None:
            raise InvalidParameter("give public or pipeline, not both: the pipeline determines what is released")
        return audit_pipeline(df, secret, pipeline)
    names = [name for name in table.names if name not in secret] if public is None else public
    shown = (names,) if isinstance(names, str) else tuple(names)
    layout = Layout(secret, shown)
    return layout.audit(RowCounts.from_table(layout, table).table)


def last_report(df: Any) -> LeakageReport:
    """Return the report of a frame that this library released; raise an error for other frames, even copies.

    Raises
    ------
    SanitizeError
        If the frame did not come from a release, or is a copy of one that did.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> released = sz.frames.release(df, sz.Watchdog(sz.LiftBudget.symmetric(1.0), sensitive="survived", public="sex"))
    >>> sz.last_report(released)
    LeakageReport(watchdog, holds for these rows only)
    """
    report = report_of(df)
    if report is None:
        raise SanitizeError(
            "this frame has no report: it is a copy, or sanitize did not release it; give the released frame"
        )
    return report


def _releasing(
    estimator: Callable[Parameters, Sanitizer],
) -> Callable[Concatenate[FrameMethods[Frame], Parameters], Frame]:
    """Make a method that releases the frame through an estimator, and give it the estimator's signature."""

    def method(self: FrameMethods[Frame], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Frame:
        return release(self._df, estimator(*args, **kwargs))

    signature = inspect.signature(estimator)
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    vars(method)["__signature__"] = signature.replace(parameters=[me, *signature.parameters.values()])
    method.__doc__ = f"Release this frame through `sanitize.{estimator.__name__}`, which has the same parameters."
    return method


class FrameMethods(Generic[Frame]):
    """Methods of ``df.sanitize``, the same on pandas and polars frames.

    A method named after an estimator takes its parameters and returns `release` of the frame through this estimator.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_titanic()
    >>> budget = sz.LiftBudget.symmetric(1.0)
    >>> released = sz.frames.FrameMethods(df).watchdog(budget, sensitive="survived", public=["class", "sex"])
    >>> sz.last_report(released).ok
    True
    """

    def __init__(self, df: Frame) -> None:
        self._df = df

    watchdog = _releasing(Watchdog)
    subset_merging = _releasing(SubsetMerging)
    optimal_random_response = _releasing(OptimalRandomResponse)
    subset_random_response = _releasing(SubsetRandomResponse)
    randomized_response = _releasing(RandomizedResponse)
    exponential_channel = _releasing(ExponentialChannel)
    gaussian_channel = _releasing(GaussianChannel)
    joint_release = _releasing(JointRelease)
    latent_class_release = _releasing(LatentClassRelease)

    def audit(
        self, sensitive: str | Sequence[str], public: str | Sequence[str] | None = None, *, pipeline: Any = None
    ) -> LeakageReport:
        """Measure the leakage of this frame; see `sanitize.audit`."""
        return audit(self._df, sensitive, public, pipeline=pipeline)

    @property
    def report(self) -> LeakageReport:
        """Return the report of this frame; see `sanitize.last_report`."""
        return last_report(self._df)
