"""Example tables without download: published contingency tables with one row per person, and random distributions.

The counts are facts from the cited publications. Cells that are zero there are kept in the files, so that structural
zeros (no child among the crew, say) are visible.
"""

from __future__ import annotations

from importlib.resources import files
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from sanitize._util.checks import whole_number
from sanitize.core.joint import JointDistribution

if TYPE_CHECKING:
    import pandas as pd


def _people(name: str) -> pd.DataFrame:
    """Load the rows of a table by name, one row per person, in a fixed random order."""
    import pandas as pd

    path = files("sanitize.datasets") / "tables" / f"{name}.csv"
    with path.open(encoding="utf-8") as stream:
        cells = pd.read_csv(stream, dtype={"count": "int64"}, keep_default_na=False)
    people = cells.loc[cells.index.repeat(cells["count"])].drop(columns="count")
    # Python promises the same `Random.random` for one seed in every version; NumPy's shuffles may change.
    # Rows sorted by the sensitive column would reveal it by position, and examples would not show this fault.
    random = Random(20)
    keys = [random.random() for _ in range(len(people))]
    order = sorted(range(len(people)), key=keys.__getitem__)
    return people.iloc[order].reset_index(drop=True)


def load_titanic() -> pd.DataFrame:
    """Load a table of everyone aboard the Titanic: class, sex, age and survival of 2,201 people.

    Usual choice: `survived` is sensitive, `class`, `sex` and `age` are public. No child was a member of the
    crew and no child of the first or second class died: cells that are zero by nature.

    Returns
    -------
    pandas.DataFrame
        2,201 rows, all columns text: `class` (1st, 2nd, 3rd, Crew), `sex` (Male, Female), `age` (Child,
        Adult), `survived` (No, Yes). The order of the rows is shuffled once and for all.

    References
    ----------
    British Board of Trade (1912), Report on the Loss of the "Titanic" (S.S.). R. J. MacG. Dawson (1995),
    "The Unusual Episode Data Revisited", Journal of Statistics Education 3(3).

    Examples
    --------
    >>> from sanitize.datasets import load_titanic
    >>> people = load_titanic()
    >>> people.shape
    (2201, 4)
    >>> int((people["survived"] == "Yes").sum())
    711
    """
    return _people("titanic")


def load_berkeley() -> pd.DataFrame:
    """Load graduate admissions at Berkeley in autumn 1973: 4,526 applicants to the six largest departments.

    Usual choice: `gender` is sensitive, `department` and `admitted` are public. Over all departments men were
    admitted more often, within most departments women were: the textbook case of Simpson's paradox.

    Returns
    -------
    pandas.DataFrame
        4,526 rows, all columns text: `admitted` (Admitted, Rejected), `gender` (Male, Female), `department`
        (A to F). The order of the rows is shuffled once and for all.

    References
    ----------
    P. J. Bickel, E. A. Hammel, J. W. O'Connell (1975), "Sex Bias in Graduate Admissions: Data from Berkeley",
    Science 187, 398-404. The table by department is from D. Freedman, R. Pisani, R. Purves, Statistics.

    Examples
    --------
    >>> from sanitize.datasets import load_berkeley
    >>> applicants = load_berkeley()
    >>> applicants.shape
    (4526, 3)
    >>> int((applicants["admitted"] == "Admitted").sum())
    1755
    """
    return _people("berkeley")


def load_hair_eye() -> pd.DataFrame:
    """Load hair colour, eye colour and sex of 592 students of statistics at the University of Delaware.

    Usual choice: `eye` is sensitive, `hair` and `sex` are public. Small, without empty cells, and strongly
    dependent: a first example whose lifts are all finite.

    Returns
    -------
    pandas.DataFrame
        592 rows, all columns text: `hair` (Black, Brown, Red, Blond), `eye` (Brown, Blue, Hazel, Green),
        `sex` (Male, Female). The order of the rows is shuffled once and for all.

    References
    ----------
    R. D. Snee (1974), "Graphical Display of Two-Way Contingency Tables", The American Statistician 28, 9-12.
    The split by sex is M. Friendly's (1992), Graphical Methods for Categorical Data, SAS User Group
    International 17, made for teaching: not an observation.

    Examples
    --------
    >>> from sanitize.datasets import load_hair_eye
    >>> students = load_hair_eye()
    >>> students.shape
    (592, 3)
    >>> sorted(students["eye"].unique())
    ['Blue', 'Brown', 'Green', 'Hazel']
    """
    return _people("hair_eye")


def load_framingham() -> pd.DataFrame:
    """Load coronary heart disease, cholesterol and blood pressure of 1,329 men of the Framingham study.

    Usual choice: `heart_disease` is sensitive, `cholesterol` and `blood_pressure` are public (16 symbols
    together). 92 men fell ill within six years; one of the 32 cells is empty, so one pair of public symbols
    has a log-lift of minus infinity.

    Returns
    -------
    pandas.DataFrame
        1,329 rows, all columns text: `cholesterol` in mg/100 cc (<200, 200-219, 220-259, >=260),
        `blood_pressure`, systolic, in mm Hg (<127, 127-146, 147-166, >=167), `heart_disease` (No, Yes). The
        order of the rows is shuffled once and for all.

    References
    ----------
    J. Cornfield (1962), "Joint Dependence of Risk of Coronary Heart Disease on Serum Cholesterol and Systolic
    Blood Pressure: A Discriminant Function Analysis", Federation Proceedings 21(4), supplement 11, 58-61.
    The margin over cholesterol is also in A. Agresti, Categorical Data Analysis.

    Examples
    --------
    >>> from sanitize.datasets import load_framingham
    >>> men = load_framingham()
    >>> men.shape
    (1329, 3)
    >>> int((men["heart_disease"] == "Yes").sum())
    92
    """
    return _people("framingham")


def make_joint(
    n_x: int = 17, n_s: int = 5, *, random_state: int | np.random.Generator | None = None
) -> JointDistribution:
    """Generate a random joint distribution: independent entries, uniform on [0, 1], divided by their sum.

    The papers on lift use this generator. With 17 public and 5 sensitive symbols its largest log-lift lies between
    about 0.02 and 1.64 nats and its smallest between about -12 and -0.06.

    Parameters
    ----------
    n_x : int, default 17
        Number of public symbols.
    n_s : int, default 5
        Number of sensitive symbols.
    random_state : int, numpy.random.Generator or None, default None
        Seed or generator; `None` takes fresh entropy from the operating system.

    Returns
    -------
    JointDistribution
        Distribution whose `pmf` has the shape (n_s, n_x).

    Raises
    ------
    InvalidParameter
        If a number of symbols is below 1.

    References
    ----------
    M. A. Zarrabian, N. Ding, P. Sadeghi (2023), "On the Lift, Related Privacy Measures, and Applications to
    Privacy-Utility Trade-Offs", Entropy 25(4), 679.

    Examples
    --------
    >>> from sanitize.datasets import make_joint
    >>> make_joint(n_x=3, n_s=2, random_state=0).pmf.shape
    (2, 3)
    """
    whole_number("n_x", n_x, 1)
    whole_number("n_s", n_s, 1)
    weights = np.random.default_rng(random_state).random((n_s, n_x))
    return JointDistribution.from_matrix(weights / weights.sum())


def make_table(
    joint: JointDistribution, n_records: int, *, random_state: int | np.random.Generator | None = None
) -> pd.DataFrame:
    """Draw rows independently from a known joint distribution, as integer codes.

    Parameters
    ----------
    joint : JointDistribution
        Distribution of one row.
    n_records : int
        Number of rows.
    random_state : int, numpy.random.Generator or None, default None
        Seed or generator; `None` takes fresh entropy from the operating system.

    Returns
    -------
    pandas.DataFrame
        `n_records` rows; the columns `s` and `x` index the rows and columns of `joint.pmf`. Usual choice: `s` is
        sensitive, `x` is public.

    Raises
    ------
    InvalidParameter
        If `n_records` is negative.

    Examples
    --------
    >>> from sanitize.datasets import make_joint, make_table
    >>> table = make_table(make_joint(random_state=0), 1000, random_state=1)
    >>> table.shape, list(table.columns)
    ((1000, 2), ['s', 'x'])
    """
    import pandas as pd

    whole_number("n_records", n_records, 0)
    cells = np.random.default_rng(random_state).choice(joint.pmf.size, size=n_records, p=joint.pmf.ravel())
    s, x = np.unravel_index(cells, joint.pmf.shape)
    return pd.DataFrame({"s": s.astype(np.int64), "x": x.astype(np.int64)})
