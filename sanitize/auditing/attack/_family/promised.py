"""Attacks on two promises: that no row is copied, and that nothing more can be inferred about people in the data."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.sparse import csr_array, hstack

from sanitize._util.checks import Vector
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._compared import APART, RELEASED
from sanitize.auditing.attack._scene import OTHERS, TARGETS, Rows, Scene
from sanitize.release.adversaries import Secrets, predict, threads_for
from sanitize.release.features import Features, indicators

# Two equal released rows may both be copies of one person's row; from three on, they count as a group.
_GROUP = 3


class Copies(Attack):
    """Attack that looks for a target's whole row among the released rows."""

    title = "Copies"
    question = "Is the whole row of a person among the released rows?"
    claim = "promised"
    figure = "share"
    people = "The whole row of {} in 100 people in the data is in the release"
    outsiders = "so is that of {} in 100 people outside it"

    def score(self, scene: Scene) -> Vector:
        """Return 1 for targets whose row is released, 0 for others."""
        place, released, _ = scene.combinations((*scene.columns, *scene.secrets))
        return (released > 0)[place].astype(float)


class SingleCopies(Copies):
    """Attack that looks for a row that only one target has and that is released once or twice.

    Any difference between people in the data and people outside it refutes the promise.
    """

    title = "Copies of one person"
    question = "Is a released row a copy of a row that only one person has?"
    is_strict = True
    people = "{} in 100 people in the data have a row that no one else has and that is in the release once or twice"
    outsiders = "{} in 100 people outside it do"

    def score(self, scene: Scene) -> Vector:
        """Return 1 for targets whose row is copied, 0 for others."""
        place, released, targets = scene.combinations((*scene.columns, *scene.secrets))
        return ((released > 0) & (released < _GROUP) & (targets == 1))[place].astype(float)


class Linkability(Attack):
    """Attack that tests whether both halves of a target's columns have the same nearest released row."""

    title = "Linkability"
    question = "Do two halves of a record lead to the same released row?"
    claim = "promised"
    figure = "share"
    people = "For {} in 100 people in the data, each half of their columns leads to the same released row"
    outsiders = "for {} in 100 people outside it"

    def score(self, scene: Scene) -> Vector | None:
        """Return 1 for targets whose halves are linked, 0 for others; None for a single column."""
        return scene.neighbours.linked.astype(float) if len(scene.columns) > 1 else None


class RestOfRecord(Attack):
    """Attack that reads all unknown columns off the released row that is nearest in a few known columns."""

    title = "The rest of a record"
    question = "Do a few known columns reveal all the others?"
    claim = "promised"
    figure = "share"
    people = (
        "For {} in 100 people in the data, the released row nearest to the known columns has all the other values, too"
    )
    outsiders = "for {} in 100 people outside it"

    def score(self, scene: Scene) -> Vector | None:
        """Return 1 for targets whose unknown columns are all guessed right, 0 for others; None if all are known."""
        unknown_columns = [column for j, column in enumerate(scene.columns) if j not in scene.search.side_columns]
        row = scene.neighbours.known_row
        same = [column.codes[RELEASED][row] == column.codes[TARGETS] for column in unknown_columns]
        return np.all(same, axis=0).astype(float) if unknown_columns else None


# A classifier learns nothing from fewer than 20 rows, and 20,000 bound its time. In addition to their ranks, numbers
# get 16 groups, so that a model which is linear in its features can follow a curve.
_FEWEST, _MOST, _CUTS = 20, 20_000, 16


def learn_ranks(scene: Scene, teacher: int, is_known: list[bool], row: Rows | None = None) -> Vector | None:
    """Return, for each target, the chance that classifiers trained on one table rank its secret correctly, or None.

    A target's unknown columns come from its ``row`` of the release, if given. None means that the table has too few
    rows, or that all its rows or all targets have the same secret.
    """
    chosen = scene.rng("learned").permutation(scene.n[teacher])[:_MOST]
    secret = np.concatenate([scene.secret[teacher][chosen], scene.secret[TARGETS]])
    if len(chosen) < _FEWEST or len(np.unique(scene.secret[teacher][chosen])) < 2:
        return None
    parts = []
    for column, is_side in zip(scene.columns, is_known, strict=True):
        pieces = [(teacher, chosen), (TARGETS, slice(None)) if is_side or row is None else (RELEASED, row)]
        if column.ranks is not None:
            ranks = np.concatenate([column.ranks[side][rows] for side, rows in pieces]) / APART
            parts += [ranks[:, None].astype(np.float32), indicators(np.minimum(ranks * _CUTS, _CUTS).astype(np.int64))]
        else:
            usual = column.usual
            parts.append(indicators(np.concatenate([usual[side][rows] for side, rows in pieces])))
    matrix = np.concatenate(parts, axis=1)
    secrets = Secrets(secret.astype(np.int32), None, scene.n_secrets)
    features = Features(matrix, np.zeros(len(matrix), np.int64), ())
    with threads_for(None):
        beliefs = predict(None, features, secrets, *np.split(np.arange(len(matrix)), [len(chosen)]))
    return scene.ranking_chance(beliefs)


class KnownColumns(Attack):
    """Attack that guesses the sensitive value from the released rows nearest in a few known columns."""

    title = "Inference from a few columns"
    question = "Do known raw columns, with the release, reveal more about people in the data than about others?"
    claim = "promised"
    figure = "secret"
    people = (
        "Given two people in the data, the attack finds the one with the sensitive value {} times in 100, where 50 is "
        "chance"
    )
    outsiders = "given two people outside it, {} times"

    def score(self, scene: Scene) -> Vector | None:
        """Return each target's chance of its sensitive value being ranked right; None if a ranking is impossible.

        If no secret is released, the target's record is completed from the nearest released row, and the secret is
        guessed from the public columns by a model of the raw rows that are not targets.
        """
        if scene.is_printed:
            return scene.ranking_chance(_shares(scene.neighbours.known_secrets))
        side_columns, row = scene.search.side_columns, scene.neighbours.known_row
        return learn_ranks(scene, OTHERS, [j in side_columns for j in range(len(scene.columns))], row)


class AllColumns(KnownColumns):
    """Attack that guesses the sensitive value from the released rows nearest in all public columns."""

    title = "Inference from all columns"
    question = "Does everything else about a person reveal the sensitive value?"

    def score(self, scene: Scene) -> Vector | None:
        """Return each target's chance of its sensitive value being ranked right; None if a ranking is impossible."""
        return scene.ranking_chance(_shares(scene.neighbours.secrets)) if scene.is_printed else None


class Classifier(KnownColumns):
    """Attack that guesses the sensitive value with a mixture of classifiers trained on the released rows."""

    title = "Inference by a classifier"
    question = "Does a classifier trained on the release predict people in the data better?"

    def score(self, scene: Scene) -> Vector | None:
        """Return each target's chance of its sensitive value being ranked right; None if a ranking is impossible."""
        return learn_ranks(scene, RELEASED, [True] * len(scene.columns)) if scene.is_printed else None


def _shares(counts: Vector) -> Vector:
    """Share of each sensitive value among equally near rows."""
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


# With 8 groups per column, 1,200 counts have room for all pairs of about six columns, and their normal equations are
# solved within a second; more rows than 100,000 hardly change the counts. The ridge of one row pulls secrets towards
# their frequency where counts determine nothing.
_GROUPS, _MOST_COUNTS, _TABLE_ROWS, _RIDGE = 8, 1200, 100_000, 1.0


class LinearReconstruction(KnownColumns):
    """Attack that finds the sensitive values that best explain the released counts of values and of pairs of values."""

    title = "Inference by reconstruction"
    question = "Do released counts, taken together, reveal the sensitive value of each row?"

    def score(self, scene: Scene) -> Vector | None:
        """Return each target's chance of being ranked right by the most frequent sensitive value; None if not possible.

        The adversary knows the public columns of all people. She looks for secrets s such that the counts A s that they
        imply agree with the counts of the release.
        """
        if not scene.is_printed or scene.n_secrets < 2:
            return None
        rows = [scene.rng(self.title).permutation(n)[:_TABLE_ROWS] for n in (scene.n[RELEASED], scene.n[OTHERS])]
        counts = _indicators(scene, {RELEASED: rows[0], TARGETS: np.arange(scene.n[TARGETS]), OTHERS: rows[1]})
        released, target_counts = counts[: len(rows[0])], counts[len(rows[0]) :]
        secret = (scene.secret[RELEASED][rows[0]] == 0).astype(float)
        # The release counts only people in the data, and nobody knows which targets they are, so the targets of both
        # kinds together get the weight of these people.
        weight = np.where(np.arange(target_counts.shape[0]) < scene.n[TARGETS], scene.n_each / scene.n[TARGETS], 1.0)
        gram = (target_counts.T @ (target_counts * weight[:, None]).tocsr()).toarray()
        wanted = (released.T @ (secret - secret.mean())) * weight.sum() / len(secret)
        belief = target_counts[: scene.n[TARGETS]] @ np.linalg.solve(gram + _RIDGE * np.eye(len(gram)), wanted)
        return scene.ranking_chance(np.column_stack([belief, *[-belief] * (scene.n_secrets - 1)]))


def _indicators(scene: Scene, rows: dict[int, Rows]) -> csr_array:
    """Return indicator columns of each value, and of as many pairs of values as fit, for rows of each table."""
    sides, sizes = zip(*(column.levels(_GROUPS) for column in scene.columns), strict=True)
    codes = [np.concatenate([side[table][selected] for table, selected in rows.items()]) for side in sides]
    pairs = scene.rng("pairs").permutation(list(combinations(range(len(codes)), 2))).tolist()
    parts, n = [], len(codes[0])
    for chosen in [*([j] for j in range(len(codes))), *pairs]:
        shape = [sizes[j] for j in chosen]
        numbers = np.ravel_multi_index([codes[j] for j in chosen], shape)
        parts.append(csr_array((np.ones(n), numbers, np.arange(n + 1)), shape=(n, int(np.prod(shape)))))
        if sum(part.shape[1] for part in parts) > _MOST_COUNTS:
            break
    return csr_array(hstack(parts, format="csr"))
