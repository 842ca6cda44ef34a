"""Pictures of distributions on matplotlib axes; those of a release are at `LeakageReport.plot`.

They show the distribution as it is, sensitive symbols by name: they are for the eyes of those who may see the table.
matplotlib comes with ``pip install 'sanitize-tabular[plot]'``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanitize.core.joint import JointDistribution
from sanitize.report import draw_histogram, draw_lift

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

__all__ = ["lift_histogram", "lift_map"]


def lift_map(joint: JointDistribution, ax: Axes | None = None) -> Axes:
    """Heat map of the log-lift i(s, x): orange where x makes s more likely, purple where less, x where impossible.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of (S, X) or (S, Y). Of more than 40 symbols the riskiest 40 are shown.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> joint = JointDistribution.from_matrix([[0.20, 0.05, 0.25], [0.05, 0.20, 0.25]])
    >>> axes = lift_map(joint)
    >>> axes.images[0].get_array().round(2).tolist()
    [[0.47, -0.92, 0.0], [-0.92, 0.47, 0.0]]
    """
    return draw_lift(joint, ax)


def lift_histogram(joints: JointDistribution | Iterable[JointDistribution], ax: Axes | None = None) -> Axes:
    """Histogram of the log max-lift and the log min-lift of the symbols of one or many distributions [ZDS Fig. 1].

    Symbols beside an empty cell have a log min-lift of -inf: they are counted in the legend.

    Parameters
    ----------
    joints : JointDistribution, or several
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import sanitize as sz
    >>> axes = lift_histogram([sz.datasets.make_joint(17, 5, random_state=seed) for seed in range(20)])
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['log min-lift', 'log max-lift']
    """
    return draw_histogram([joints] if isinstance(joints, JointDistribution) else joints, ax)
