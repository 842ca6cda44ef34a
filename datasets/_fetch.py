"""Public data sets of the literature, downloaded once and checked, or read from a local copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sanitize._util.checks import check_choice
from sanitize.datasets._originals import (
    read_adult,
    read_bank_marketing,
    read_credit_default,
    read_german_credit,
    read_heart_disease,
)
from sanitize.datasets._registry import SOURCES, PathLike, cache_folder, fetch_files, local_files
from sanitize.errors import ColumnError, SourceError

if TYPE_CHECKING:
    import pandas as pd

_READERS = {
    "adult": read_adult,
    "bank_marketing": read_bank_marketing,
    "credit_default": read_credit_default,
    "german_credit": read_german_credit,
    "heart_disease": read_heart_disease,
}


def fetch(name: str, *, data_home: PathLike | None = None, local: PathLike | None = None) -> pd.DataFrame:
    """A public data set of the literature, with its documented columns.

    * ``"adult"``: 48,842 people of the 1994 census of the United States [1]. Usual choice: `income` is sensitive,
      `education` or `education` with `occupation` is public; or `sex`, `race`, `relationship` is sensitive and the rest
      is public. `split` is train (32,561 rows) or test (16,281); a question mark is missing.
    * ``"bank_marketing"``: 45,211 calls of a Portuguese bank, 2008 to 2010 [2]. `marital` or `age` is sensitive; `job`,
      `education`, `housing`, `loan`, `contact` and `month` are public. "unknown" is a value, not missing.
    * ``"credit_default"``: 30,000 card holders of a bank in Taiwan, 2005; numeric codes only [3]. `SEX` (1 male,
      2 female), `MARRIAGE` or `EDUCATION` is sensitive; `LIMIT_BAL`, `BILL_AMT*` and `PAY_*` are public, in bins.
      `default_payment` is 1 if the next payment was missed. The number of the row in the original is dropped.
    * ``"german_credit"``: 1,000 applicants of a bank in southern Germany, 1973 to 1975 [4]. `sex`, `age` or
      `foreign_worker` is sensitive; `purpose`, `housing`, `job`, `employment_since` and `savings_account` are public.
      The 20 attributes of the original with its codes spelled out, the ninth split into `sex` and `marital_status`;
      `class_label` is 1 for good. The codes are known to be partly wrong [5]: good for trying methods, not for
      conclusions about people.
    * ``"heart_disease"``: 597 patients examined in Cleveland (303) and Budapest (294) [6]. `num`, the diagnosis, is
      sensitive; `age`, `sex`, `cp`, `exang`, `chol`, `trestbps` and `thalach` are public. A question mark is missing.
      The published file has `num` from 0 to 4 for Cleveland, but 0 or 1 for Budapest.

    Parameters
    ----------
    name : {"adult", "bank_marketing", "credit_default", "german_credit", "heart_disease"}
    data_home : path, optional
        Cache folder; by default the folder named by the environment variable SANITIZE_DATA, or
        ~/.cache/sanitize.
    local : path, optional
        A copy to use instead of the network: a folder with the original files (``SOURCES`` has their names), checked
        like a download, or a Parquet file with the same columns, read as it is.

    Returns
    -------
    pandas.DataFrame
        With the columns in ``SOURCES[name].columns``.

    Raises
    ------
    InvalidParameter
        If there is no data set of this name.
    SourceError
        If a file is absent, cannot be downloaded or cannot be read, or is not the published one; such a download is not
        kept.
    ColumnError
        If the local Parquet file has other columns.
    ImportError
        If the package xlrd, which reads the original workbook of ``credit_default``, is not installed.

    References
    ----------
    All are of the UCI Machine Learning Repository, CC BY 4.0: [1] B. Becker, R. Kohavi (1996), Adult. [2] S. Moro,
    P. Cortez, P. Rita (2014), "A Data-Driven Approach to Predict the Success of Bank Telemarketing", Decision Support
    Systems 62, 22-31. [3] I.-C. Yeh, C.-H. Lien (2009), "The Comparisons of Data Mining Techniques for the Predictive
    Accuracy of Probability of Default of Credit Card Clients", Expert Systems with Applications 36, 2473-2480.
    [4] H. Hofmann (1994), Statlog (German Credit Data). [5] U. Grömping (2019), South German Credit Data: Correcting a
    Widely Used Data Set, Beuth University Berlin, report 4/2019. [6] A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano
    (1988), Heart Disease.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES, fetch
    >>> SOURCES["adult"].columns[-2:]
    ('income', 'split')
    >>> people = fetch("adult")  # doctest: +SKIP
    >>> people = fetch("adult", local="folder/with/originals")  # doctest: +SKIP
    """
    check_choice("name", name, *_READERS)
    source = SOURCES[name]
    columns, path = list(source.columns), None if local is None else Path(local)
    if path is None or not path.is_file():
        folder = cache_folder(data_home) / name
        paths = fetch_files(folder, source.files) if path is None else local_files(path, source.files)
        return _READERS[name](paths, source.columns)[columns]
    import pandas as pd

    try:
        table = pd.read_parquet(path)
    except (ValueError, OSError) as error:
        raise SourceError(
            f"{path} cannot be read as Parquet; `local` is a Parquet file or a folder with the original files"
        ) from error
    missing = [column for column in columns if column not in table.columns]
    extra = [str(column) for column in table.columns if column not in columns]
    if missing or extra:
        raise ColumnError(
            f"{path} is not a copy of {name!r}: it lacks {missing} and has {extra} besides; its columns must "
            f"be {columns}",
            (missing or extra)[0],
        )
    return table  # as it is, with the documented columns in any order
