"""What the best input looks like under a large amplitude, to start Newton near it.

The amplitude only decides how many points lie between the two ends: seen from an end, the best inputs of all large
amplitudes are alike, and next to the middle their points are evenly spaced, ever closer the longer the interval. This
is a starting point and proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# From this amplitude on the shape is a better start than a search on a grid, and far quicker.
LARGE = 12.0
# The best input for |X| <= 30, from an end inwards: distances between its points, and masses next to the end's.
_SPACINGS = (
    *(2.7188, 2.1696, 1.9352, 1.7901, 1.6873, 1.6086, 1.5455, 1.4931, 1.4487, 1.4102),
    *(1.3765, 1.3466, 1.3201, 1.2967, 1.2761, 1.2586, 1.2444, 1.2339, 1.2274),
)
_MASSES = (
    *(1.0, 0.6719, 0.5808, 0.5301, 0.4959, 0.4704, 0.4505, 0.4341, 0.4204, 0.4086),
    *(0.3983, 0.3893, 0.3812, 0.3741, 0.3678, 0.3623, 0.3578, 0.3542, 0.3518, 0.3505),
)


def starts_from_shape(amplitude: float) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Points u >= 0, each standing for +-u, and masses near those of the best input; the likeliest count first."""
    closer = 0.993  # further in, each spacing is about this share of the one before
    spacings, masses = list(_SPACINGS), list(_MASSES)
    while sum(spacings) < amplitude + 2:
        spacings.append(spacings[-1] * closer)
        masses.append(masses[-1] * closer)
    depths = np.cumsum([0.0, *spacings])
    # The innermost point is at 0, or half a spacing from it: the counts that need the least shifting.
    ends = np.concatenate([depths[1:], depths[1:] + np.diff(depths) / 2])
    for nearest in np.abs(ends - amplitude).argsort()[:2]:  # counts of points that are tried
        last = int(nearest) % len(spacings) + 1
        yield _shifted(amplitude, depths[: last + 1], np.array(masses[: last + 1]), float(ends[nearest]))


def _shifted(
    amplitude: float, depths: NDArray[np.float64], masses: NDArray[np.float64], end: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shape with its middle, where it ends, moved to that of the interval."""
    edge = 8.0  # closer to the end than this nothing is moved to make room
    reach = np.clip((depths - edge) / (depths[-1] - edge), 0, None) ** 2
    moved = depths + (amplitude - end) * reach
    masses = masses * np.gradient(moved) / np.gradient(depths)
    u = (amplitude - moved)[::-1].copy()
    if end == depths[-1]:
        u[0], masses[-1] = 0.0, masses[-1] / 2
    return u, masses[::-1] / masses.sum()
