"""Judgement of a released file by attacks on the people in the data, compared with people outside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from sanitize._util.checks import check_choice, check_number, whole_number
from sanitize.auditing.attack._attack import Attack
from sanitize.auditing.attack._cast import Cast
from sanitize.auditing.attack._compared import PEOPLE, ComparedTables
from sanitize.auditing.attack._family import FAMILY
from sanitize.auditing.attack._results import try_attacks
from sanitize.auditing.attack._scene import Scene
from sanitize.core.confidence import check_confidence, clopper_pearson
from sanitize.errors import InvalidParameter
from sanitize.release.adversaries import Secrets, fit_and_release, predict, threads_for
from sanitize.release.features import require_columns, table_features
from sanitize.report import AttackResult as AttackResult
from sanitize.report import ClaimVerdict as ClaimVerdict
from sanitize.report import Judgement as Judgement
from sanitize.tables.frame import Table

# One group of rows with a sure secret refutes a promise, however small its share, so groups from half to a hundredth of
# the rows are tested. Below 20 rows, an interval is too wide to refute anything.
_GROUPS, _FEWEST = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01), 20


def judge(
    released: Any,
    source: Any,
    *,
    outsiders: Any = None,
    sensitive: str | Sequence[str] | None = None,
    public: Sequence[str] | None = None,
    rows: Literal["shuffle", "keep"] = "shuffle",
    half: Sequence[str] | None = None,
    earlier: Any = None,
    releaser: Any = None,
    attacks: Sequence[Attack] = (),
    excess: float = 0.02,
    at_most: float | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Judgement:
    """Attack a released table, whoever made it, and report the strongest of a family of attacks.

    A figure about people means little by itself: a tenth of the rows of a census recur by chance, and an attacker who
    knows five columns guesses a secret well without any release. So each attack is tried on people in the data and on
    as many outsiders, who were never in the data. Only a difference between the two groups is due to the release.

    Parameters
    ----------
    released : pandas or polars DataFrame, pyarrow Table or two-dimensional array, or a sanitizer
        Released table. A sanitizer is fitted anew without the outsiders, and its release of all other rows is judged,
        as a twin of the release that uses all rows. Intervals and sets of values (``[20, 30)``, ``20-29``, ``{A, B}``,
        ``130**``, ``*``) are understood; columns that cannot be compared are left out, and named in the result.
    source : same kinds
        The rows that the release was made from, and no others.
    outsiders : same kinds, optional
        Rows of similar people that were set aside at random before the release was made. Without outsiders there are
        figures but no verdict; for a sanitizer, a tenth of the source's rows is set aside instead.
    sensitive : str or list of str
        Sensitive columns; by default those of the sanitizer.
    public : list of str, optional
        Columns to compare; by default all columns that the release and the source share.
    rows : {"shuffle", "keep"}
        ``keep`` if row i of the release is made from row i of the source; groups of rows that reveal the secret are
        then searched for too.
    half : list of str, optional
        Columns of the first half for the attack on linkability; all others are the second half. By default columns are
        dealt to both halves in turn, in order of entropy.
    earlier : same kinds, optional
        Earlier release of the same table; the difference between both releases is attacked too.
    releaser : sanitizer or callable, optional
        Program that made the release, as a function from a table to a release. It is run 16 times on tables that
        contain half of the attacked people, for the strongest known attack on membership.
    attacks : sequence of Attack
        Your own attacks, which are added to the family.
    excess : float
        Allowed difference between people in the data and outsiders, as a share; a copy of a single row is never
        allowed.
    at_most : float, optional
        Largest number of times as likely that a group of released rows may make a secret; needs ``rows="keep"``.
    confidence : float
        Confidence of all intervals together.
    random_state : int
        Seed of the choices of people, outsiders and columns.

    Returns
    -------
    Judgement

    Raises
    ------
    ColumnError
        If a table has no rows or a column is absent, nested, or of another kind in the outsiders.
    InvalidParameter
        If a parameter is outside its legal set, or the outsiders are rows of the source.

    Notes
    -----
    Attacks do not know who is in the data, because both kinds of targets are mixed. If the release does not depend on
    which of the targets are in the data, the labels are exchangeable, so permuting them 1,999 times gives the
    distribution of the largest studentized difference over the whole family, whatever the attacks compute. All
    intervals are widened by its quantile, so they hold together, and for such a release their lower ends exceed 0 with
    probability at most ``1 - confidence``.

    Distances and densities are calibrated by rows of the same population (the ratio of [DOMIAS]), for which the mixed
    targets themselves are used.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_framingham()
    >>> people, outsiders = df.iloc[::2], df.iloc[1::2]
    >>> found = judge(people, people, outsiders=outsiders, sensitive="heart_disease")  # the raw rows: many have each
    >>> found.promised, found.membership
    ('not refuted', 'not refuted')
    >>> people, outsiders = people.assign(id=range(665)), outsiders.assign(id=range(700, 1364))  # with a number each
    >>> judge(people, people, outsiders=outsiders, sensitive="heart_disease").promised
    'refuted'
    """
    is_twin = hasattr(released, "fit")
    if is_twin:
        sensitive = released.sensitive if sensitive is None else sensitive
        released, source, outsiders = _twin(released, source, outsiders, random_state)
    if sensitive is None:
        raise InvalidParameter("sensitive is missing: name the sensitive columns")
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    confidence = check_confidence(confidence)
    excess = check_number("excess", excess, "be a share of at least 0 and less than 1", lambda share: 0 <= share < 1)
    check_choice("rows", rows, "shuffle", "keep")
    if at_most is not None:
        at_most = check_number("at_most", at_most, "be a number of times of at least 1", lambda times: times >= 1)
        if rows != "keep":
            advice = "give rows='keep' if the release has that order, or leave out at_most"
            raise InvalidParameter(f"at_most needs released rows in the order of the raw rows; {advice}")
    tables = ComparedTables(released, source, outsiders, names, public)
    if half is not None:
        compared = [column.name for column in tables.columns]
        require_columns(compared, half, "half")
        if not 0 < len(set(half)) < len(compared):
            raise InvalidParameter("half must name some of the columns that are compared, and not all of them")
    n_released, n_people, n_outsiders = tables.n
    if rows == "keep" and n_released != n_people:
        raise InvalidParameter(
            "rows='keep' needs as many rows in the release as in the raw table, in the same order: "
            f"the raw table has {n_people}, the release {n_released}"
        )
    if n_outsiders:
        tables.refuse_insiders()
    seed = whole_number("random_state", random_state, 0)
    cast = Cast.choose(tables, seed)

    def make_scene(release: Any, **more: Any) -> Scene:
        return cast.scene(ComparedTables(release, source, outsiders, names, public), half=half, **more)

    before = None if earlier is None else make_scene(earlier)
    release_again = None
    if releaser is not None and n_outsiders:
        release_again = cast.releaser(releaser, source, outsiders, make_scene)
    scene = cast.scene(tables, half=half, earlier=before, release_again=release_again)
    level = 1 - confidence if at_most is None else (1 - confidence) / 2
    return Judgement(
        results=try_attacks(scene, cast, (*FAMILY, *attacks), level, excess),
        excess=excess,
        lift=None if rows != "keep" else _lift_of_groups(released, tables, level, np.random.default_rng(seed)),
        at_most=at_most,
        confidence=confidence,
        side_columns=tuple(scene.columns[j].name for j in scene.search.side_columns),
        columns=tuple(column.name for column in tables.columns),
        left_out=tuple(tables.left_out.items()),
        n_released=n_released,
        n_people=n_people,
        n_outsiders=n_outsiders or None,
        is_twin=is_twin,
    )


def _twin(sanitizer: Any, source: Any, outsiders: Any, seed: int) -> tuple[Any, Any, Any]:
    """Fit a sanitizer without the outsiders; return its release, the rows that it was fitted on, and the outsiders."""
    if outsiders is None:
        table = Table.from_native(source)
        dealt = np.random.default_rng(whole_number("random_state", seed, 0)).permutation(table.n_rows)
        n_apart = max(1, table.n_rows // 10)
        source, outsiders = (table.take(np.sort(rows)).native for rows in (dealt[n_apart:], dealt[:n_apart]))
    return fit_and_release(sanitizer, source), source, outsiders


def _lift_of_groups(released: Any, tables: ComparedTables, level: float, rng: np.random.Generator) -> float | None:
    """Lower bound on the largest lift of a sensitive value in any group of released rows.

    Groups are the rows with the largest chance of each secret according to an adversary trained on half of the rows.
    Their lifts are bounded on the other half, all at once.
    """
    codes = tables.secret[PEOPLE]
    halves = np.array_split(rng.permutation(len(codes)), 2)
    if tables.n_secrets < 2 or len(halves[1]) < _FEWEST:
        return None
    secrets = Secrets(codes.astype(np.int32), None, tables.n_secrets)
    with threads_for(None):
        features = table_features(Table.from_native(released), None, with_position=True)
        distribution = predict(None, features, secrets, *halves)
    truth = codes[halves[1]]
    sizes = sorted({max(_FEWEST, int(share * len(truth))) for share in _GROUPS})
    tests = tables.n_secrets * len(sizes)
    most = clopper_pearson(np.bincount(truth, minlength=tables.n_secrets), len(truth), level / tables.n_secrets)[1]
    best = 0.0
    for s in range(tables.n_secrets):
        hits = np.cumsum((truth == s)[np.argsort(-distribution[:, s], kind="stable")])[np.array(sizes) - 1]
        best = max(best, float((clopper_pearson(hits, sizes, level / tests)[0] / most[s]).max()))
    return best
