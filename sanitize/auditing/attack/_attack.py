"""Base class of attacks, with sentences for reports and a method that scores each target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from scipy.stats import rankdata

from sanitize._util.checks import Vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sanitize.auditing.attack._scene import Scene

# An average over all targets could hide that a few rows leak, so attacks on membership also accuse only the 1, 5 and 20
# % that they are surest of. Fewer than 20 accusations would say nothing beyond chance.
_SUREST, _FEWEST = (0.01, 0.05, 0.2), 20


class Attack(ABC):
    """Attack on a released table; a subclass sets the title and computes scores of targets in `score`.

    The targets are people in the data and people outside it, mixed, and the attack does not know which is which. So the
    test of its figures is exact, whatever it computes.

    Attributes
    ----------
    title, question : str
        Name of the attack in plain words, and the question that it answers.
    claim : {"promised", "membership"}
        Verdict to which the attack belongs: ``promised``, that no row is copied and nothing more can be inferred about
        people in the data, or ``membership``, that nobody can find out who is in the data.
    is_strict : bool
        True if any difference refutes the claim, however small.
    figure : {"ranking", "share", "secret"}
        Meaning of the scores. ``ranking``: only their order counts, and people in the data should come first.
        ``share``: their mean is a share of the targets. ``secret``: their mean is the chance of ranking a secret right.
    people, outsiders : str
        Sentences about both kinds of targets for shares and secrets, with ``{}`` for the figure out of 100.

    Examples
    --------
    >>> import sanitize as sz
    >>> class FirstColumn(sz.auditing.attack.Attack):
    ...     title = "First column"
    ...     question = "Does the release have more people with a person's first value?"
    ...
    ...     def score(self, scene):
    ...         place, released, targets = scene.combinations(scene.columns[:1])
    ...         return released[place] / targets[place]
    >>> df = sz.datasets.load_framingham()
    >>> given = {"outsiders": df[1::2], "sensitive": "heart_disease", "attacks": [FirstColumn()]}
    >>> found = sz.auditing.attack.judge(df[::2], df[::2], **given)
    >>> "First column" in [result.title for result in found.results]
    True
    """

    title: ClassVar[str]
    question: ClassVar[str]
    claim: ClassVar[Literal["promised", "membership"]] = "membership"
    is_strict: ClassVar[bool] = False
    figure: ClassVar[Literal["ranking", "share", "secret"]] = "ranking"
    people: ClassVar[str] = ""
    outsiders: ClassVar[str] = ""

    @abstractmethod
    def score(self, scene: Scene) -> Vector | None:
        """Return a score for each target, larger if the attack finds more; None if the attack does not apply."""

    def parts(self, score: Vector) -> Iterator[tuple[int | None, Vector]]:
        """Yield one value per target to compare, with the number of targets accused of membership (None for all).

        The difference between the means of both kinds of targets is the attack's figure minus the figure of chance. For
        a ranking, the figures are the chance of ranking a person in the data above a person outside it, and then the
        share of people in the data among the highest scores; chance is one half.
        """
        if self.figure != "ranking":
            yield None, score.astype(float)
            return
        n = len(score)
        ranks = rankdata(score)
        yield None, ranks / n
        for most in sorted({int(share * n) for share in _SUREST}):
            if most >= _FEWEST:
                yield most, n / (4 * most) * _top(ranks, most)


def _top(ranks: Vector, most: int) -> Vector:
    """Weight of each target in the top ``most`` scores: 1 above the lowest of these, 0 below, a fraction for ties."""
    edge = np.partition(ranks, -most)[-most]
    above, on_edge = ranks > edge, ranks == edge
    return above + on_edge * ((most - above.sum()) / on_edge.sum())
