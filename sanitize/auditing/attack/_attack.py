"""Base class of attacks: words for reports, and a method that scores each target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from scipy.stats import rankdata

from sanitize._util.checks import Vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sanitize.auditing.attack._scene import Scene

# Shares of the targets that an attack on membership is surest of, and the fewest targets of one.
_SUREST, _FEWEST = (0.01, 0.05, 0.2), 20


class Attack(ABC):
    """One attack on a released table: a subclass names it and computes scores of targets in `score`.

    The targets are people in the data and people outside it, mixed: nobody tells an attack who is who. So its figures
    are tested exactly, whatever it computes.

    Attributes
    ----------
    title, question : str
        Name of the attack in plain words, and the question that it answers.
    claim : {"promised", "membership"}
        Which of the two verdicts it belongs to: that no row is copied and nothing more is inferred about people in the
        data, or that nobody can tell who is in the data.
    is_strict : bool
        Any difference refutes the claim, however small.
    figure : {"ranking", "share", "secret"}
        How scores are read. ``ranking``: only their order counts, people in the data should come first. ``share``: the
        mean is a share of the targets. ``secret``: the mean is the chance of ranking a secret right.
    people, outsiders : str
        Of shares and secrets: sentences about both kinds of targets, with ``{}`` for the figure out of 100.

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
        """Return a score for each target, larger where the attack finds more; None if the attack does not apply."""

    def parts(self, score: Vector) -> Iterator[tuple[int | None, Vector]]:
        """Yield values whose means are compared, and how many targets an accusation names (None for all).

        The difference of the means of both kinds of targets is the figure less that of chance: for a ranking the
        chance of telling one of each kind apart, and then the share of people among those it is surest of, each less a
        half.
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
    """Weight of each target among the highest scores; targets at the edge count in part."""
    edge = np.partition(ranks, -most)[-most]
    above, on_edge = ranks > edge, ranks == edge
    return above + on_edge * ((most - above.sum()) / on_edge.sum())
