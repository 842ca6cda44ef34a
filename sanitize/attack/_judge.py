"""A file judged by what attacks find of the people it is of, beside people who were never in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from sanitize._checks import one_of, required, whole_number
from sanitize._tables.frame import Table
from sanitize.attack._adversaries import Secrets, predict, released_anew, threads_for
from sanitize.attack._copies import Measured, find_copies, refuse_insiders, single_out
from sanitize.attack._features import features_of, require_columns
from sanitize.attack._nearest import search
from sanitize.attack._people import PEOPLE, Beside
from sanitize.confidence import check_confidence, clopper_pearson
from sanitize.errors import InvalidParameter
from sanitize.report import Judgement as Judgement
from sanitize.report import Pair as Pair

# Shares of the rows that a group may be, and the fewest rows of one.
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
    excess: float = 0.02,
    at_most: float | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Judgement:
    """Attack a released table as a file, whoever made it: what it gives away of its people, beside outsiders.

    A figure about people means little by itself: a tenth of the rows of a census recur by chance, and who knows five
    columns guesses a secret well with no table at all. So each attack is tried on people of the table and on as many
    outsiders. What it finds of people only is the table's doing.

    Parameters
    ----------
    released : pandas or polars DataFrame, pyarrow Table or two-dimensional array, or a sanitizer
        What is handed out. A sanitizer is fitted anew without the outsiders, and its release of all others is judged: a
        twin of the one that uses all rows. Intervals and sets of values (``[20, 30)``, ``20-29``, ``{A, B}``,
        ``130**``, ``*``) are understood; what cannot be compared is left out, and named.
    source : same kinds
        The rows that the release was made from, and no others.
    outsiders : same kinds, optional
        Rows of the same kind of people that were put aside at random before anything was made. Without them there are
        figures and no verdict, but of a sanitizer: then a tenth of the source's rows is put aside.
    sensitive : str or list of str
        By default the sanitizer's.
    public : list of str, optional
        Columns that are compared; all that the release and the source have by default.
    rows : {"shuffle", "keep"}
        ``keep`` where row i of the release is made from row i of the source: then groups of rows that tell the secret
        are looked for too.
    half : list of str, optional
        Columns that are one of the two halves of linkability, the others being the other; by default columns are dealt
        in turn by how much each tells.
    excess : float
        Difference of people and outsiders, as a share, that is allowed.
    at_most : float, optional
        How many times as likely a group of released rows may make a secret; needs ``rows="keep"``.
    confidence : float
        Of all intervals together.
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
    *Copies*: share of the printed rows that one of the people has (and that one alone has). *Singling out*: share of
    the descriptions by four columns that fit one printed row which fit exactly one person. *Linkability*: two halves of
    a person's columns lead to the same nearest printed row. *Read off*: all other columns of the printed row that is
    nearest in five known ones are the person's. *Secret*: of two people, the one with the secret is ranked first, by
    the secrets printed in the nearest rows; where none are printed the record is completed from the nearest row, and
    the secret guessed from it as it goes with the public columns in rows of the source that are not attacked.
    *Membership*: of a person and an outsider, the person is nearer to a printed row.

    An interval is normal, by what a difference owes to each person and each outsider (the jackknife, whose variance is
    too large rather than too small [ES81]), and widened for figures that few of them make: by z²/2 of the most that one
    of them can change, and by z²/4 of its square in the variance, with z of the level. For shares that is enough at any
    number of rows, by summation over all outcomes. All intervals hold together.

    Examples
    --------
    >>> import sanitize as sz
    >>> df = sz.datasets.load_framingham()
    >>> people, outsiders = df.iloc[::2], df.iloc[1::2]
    >>> judge(people, people, outsiders=outsiders, sensitive="heart_disease").verdict  # the raw rows: many have each
    'not refuted'
    """
    is_twin = hasattr(released, "fit")
    if is_twin:
        sensitive = released.sensitive if sensitive is None else sensitive
        released, source, outsiders = _twin(released, source, outsiders, random_state)
    if sensitive is None:
        raise InvalidParameter("sensitive is missing: name the columns that are secret")
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    confidence = check_confidence(confidence)
    excess = required("excess", excess, "be a share of at least 0 and less than 1", lambda share: 0 <= share < 1)
    one_of("rows", rows, "shuffle", "keep")
    if at_most is not None:
        at_most = required("at_most", at_most, "be a number of times of at least 1", lambda times: times >= 1)
        if rows != "keep":
            raise InvalidParameter("at_most is about rows in the order of the source; say rows='keep', or leave it out")
    beside = Beside.of(released, source, outsiders, names, public)
    if half is not None:
        compared = [column.name for column in beside.columns]
        require_columns(compared, half, "half")
        if not 0 < len(set(half)) < len(compared):
            raise InvalidParameter("half must name some of the columns that are compared, and not all of them")
    n_released, n_people, n_outsiders = beside.n
    if rows == "keep" and n_released != n_people:
        raise InvalidParameter(
            f"rows='keep' is for the rows of the source in their order: it has {n_people}, the release {n_released}"
        )
    if n_outsiders:
        refuse_insiders(beside)
    rng = np.random.default_rng(whole_number("random_state", random_state, 0))
    dealt = [rng.permutation(n) for n in (n_people, n_outsiders) if n]
    equal = [side[: min(map(len, dealt))] for side in dealt]
    copies = find_copies(beside, equal)
    singled = single_out(beside, equal, rng)
    found, known = search(beside, dealt, rng, half)
    level = 1 - confidence if at_most is None else (1 - confidence) / 2
    return Judgement(
        pairs=_pairs([*copies, singled, *found], level, excess),
        excess=excess,
        lift=None if rows != "keep" else _lift_of_groups(released, beside, level, rng),
        at_most=at_most,
        confidence=confidence,
        known=known,
        columns=tuple(column.name for column in beside.columns),
        left_out=tuple(beside.left_out.items()),
        n_released=n_released,
        n_people=n_people,
        n_outsiders=n_outsiders or None,
        is_twin=is_twin,
    )


def _twin(sanitizer: Any, source: Any, outsiders: Any, seed: int) -> tuple[Any, Any, Any]:
    """Release of a sanitizer that has never seen the outsiders, the rows it was made from, and the outsiders."""
    if outsiders is None:
        table = Table.of(source)
        dealt = np.random.default_rng(whole_number("random_state", seed, 0)).permutation(table.n_rows)
        n_apart = max(1, table.n_rows // 10)
        source, outsiders = (table.take(np.sort(rows)).native for rows in (dealt[n_apart:], dealt[:n_apart]))
    return released_anew(sanitizer, source), source, outsiders


def _pairs(measured: Sequence[Measured], level: float, excess: float) -> tuple[Pair, ...]:
    """People beside outsiders, with intervals of the differences that hold together but for probability ``level``."""
    z = NormalDist().inv_cdf(1 - level / (2 * len(measured)))
    pairs = []
    for one in measured:
        interval = None
        if one.outsiders is not None:
            half = z * math.sqrt(one.spread + (z * one.hit / 2) ** 2) + z * z * one.hit / 2
            difference = one.people - one.outsiders
            interval = max(-1.0, difference - half), min(1.0, difference + half)
        pairs.append(Pair(one.name, one.people, one.outsiders, interval, excess, one.n))
    return tuple(pairs)


def _lift_of_groups(released: Any, beside: Beside, level: float, rng: np.random.Generator) -> float | None:
    """How many times as likely some group of released rows makes a secret, at least.

    Groups are the rows with the largest chance of each secret, by what an adversary learned from half of the rows; they
    are bounded on the other half, all together.
    """
    codes = beside.secret[PEOPLE]
    halves = np.array_split(rng.permutation(len(codes)), 2)
    if beside.n_secrets < 2 or len(halves[1]) < _FEWEST:
        return None
    secrets = Secrets(codes.astype(np.int32), None, beside.n_secrets)
    with threads_for(None):
        distribution = predict(None, features_of(Table.of(released), None, with_position=True), secrets, *halves)
    truth = codes[halves[1]]
    sizes = sorted({max(_FEWEST, int(share * len(truth))) for share in _GROUPS})
    tests = beside.n_secrets * len(sizes)
    most = clopper_pearson(np.bincount(truth, minlength=beside.n_secrets), len(truth), level / beside.n_secrets)[1]
    best = 0.0
    for s in range(beside.n_secrets):
        hits = np.cumsum((truth == s)[np.argsort(-distribution[:, s], kind="stable")])[np.array(sizes) - 1]
        best = max(best, float((clopper_pearson(hits, sizes, level / tests)[0] / most[s]).max()))
    return best
