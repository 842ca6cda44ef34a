"""Results of all attacks on one scene, with figures, simultaneous intervals and sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sanitize._util.progress import progress
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._cast import Cast
from sanitize.auditing.attack._scene import Scene
from sanitize.auditing.attack._simultaneous import compare
from sanitize.report import AttackResult, attack_sentence


def try_attacks(
    scene: Scene, cast: Cast, attacks: Sequence[Attack], level: float, excess: float
) -> tuple[AttackResult, ...]:
    """Run all attacks that apply and return their results, the strongest first."""
    parts = []
    with progress("attacks", len(attacks)) as step:
        for place, attack in enumerate(attacks):
            is_possible = len(cast.targets) > 1 or attack.figure != "ranking"
            score = attack.score(scene) if is_possible else None
            if score is not None:
                parts += [(place, *part) for part in attack.parts(np.asarray(score, float))]
            step(attack.title)
    differences = None
    if len(cast.targets) > 1:
        values = np.column_stack([part[2] for part in parts])
        differences = compare(values, cast.is_person, level, np.random.default_rng(cast.seed))
    by_attack: dict[int, AttackResult] = {}
    for k, (place, surest, figures) in enumerate(parts):
        attack, people, outsiders, interval, chance = attacks[place], float(figures.mean()), None, None, None
        if differences is not None:
            people, outsiders = float(differences.people[k]), float(differences.outsiders[k])
            if attack.figure == "ranking":  # only the difference is meaningful
                people, outsiders = 0.5 + people - outsiders, 0.5
            interval = max(-1.0, float(differences.low[k])), min(1.0, float(differences.high[k]))
            chance = float(differences.chance[k])
        result = AttackResult(
            title=attack.title,
            question=attack.question,
            claim=attack.claim,
            figure=attack.figure,
            people=people,
            outsiders=outsiders,
            interval=interval,
            chance=chance,
            excess=excess,
            n=len(cast.targets[0]),
            surest=surest,
            sentence=attack_sentence(attack.figure, (attack.people, attack.outsiders), people, outsiders, surest),
            is_strict=attack.is_strict,
        )
        if place not in by_attack or _is_sharper(result, by_attack[place]):
            by_attack[place] = result
    # A reader needs results that refute a promise first, and then those in which most is sure: the largest low ends.
    return tuple(sorted(by_attack.values(), key=lambda result: (result.status != "more", -(result.interval or [0])[0])))


def _is_sharper(accusation: AttackResult, first: AttackResult) -> bool:
    """Return whether a result about accused targets refutes the promise more clearly than the attack's first result."""
    if accusation.status != "more" or accusation.interval is None or first.interval is None:
        return False
    return first.status != "more" or (first.surest is not None and accusation.interval[0] > first.interval[0])
