"""Public data sets of the literature, downloaded once and checked, or read from a local copy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sanitize.datasets._originals import (
    read_adult,
    read_bank_marketing,
    read_credit_default,
    read_german_credit,
    read_heart_disease,
)
from sanitize.datasets._registry import SOURCES, PathLike, cache_folder, cached_files, local_files
from sanitize.errors import ColumnError, SourceError

if TYPE_CHECKING:
    import pandas as pd

    from sanitize.datasets._originals import Reader


def _fetch(name: str, reader: Reader, data_home: PathLike | None, local: PathLike | None) -> pd.DataFrame:
    """Rows of the data set `name`, from wherever the arguments say, with its documented columns."""
    source = SOURCES[name]
    columns, path = list(source.columns), None if local is None else Path(local)
    if path is None or not path.is_file():
        folder = cache_folder(data_home) / name
        paths = cached_files(folder, source.files) if path is None else local_files(path, source.files)
        return reader(paths, source.columns)[columns]
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


def fetch_adult(*, data_home: PathLike | None = None, local: PathLike | None = None) -> pd.DataFrame:
    """Adult: 48,842 people of the 1994 census of the United States.

    Usual choice: `income` is sensitive, `education` or `education` with `occupation` is public; or `sex`,
    `race`, `relationship` is sensitive and the rest is public.

    Parameters
    ----------
    data_home : path, optional
        Cache folder; by default the folder named by the environment variable SANITIZE_DATA, or
        ~/.cache/sanitize.
    local : path, optional
        A copy to use instead of the network: a folder with adult.data and adult.test, checked like a
        download, or a Parquet file with the columns below, read as it is.

    Returns
    -------
    pandas.DataFrame
        `age`, `workclass`, `fnlwgt`, `education`, `education_num`, `marital_status`, `occupation`,
        `relationship`, `race`, `sex`, `capital_gain`, `capital_loss`, `hours_per_week`, `native_country`,
        `income` (<=50K, >50K) and `split` (train 32,561 rows, test 16,281). A question mark is missing.

    Raises
    ------
    SourceError
        If a file is absent, cannot be downloaded or cannot be read, or is not the published one; such a download is not
        kept.
    ColumnError
        If the local Parquet file has other columns.

    References
    ----------
    B. Becker, R. Kohavi (1996), Adult, UCI Machine Learning Repository, CC BY 4.0.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES, fetch_adult
    >>> SOURCES["adult"].columns[-2:]
    ('income', 'split')
    >>> people = fetch_adult()  # doctest: +SKIP
    >>> people = fetch_adult(local="folder/with/originals")  # doctest: +SKIP
    """
    return _fetch("adult", read_adult, data_home, local)


def fetch_german_credit(*, data_home: PathLike | None = None, local: PathLike | None = None) -> pd.DataFrame:
    """Statlog German credit: 1,000 applicants of a bank in southern Germany, 1973 to 1975.

    Usual choice: `sex`, `age` or `foreign_worker` is sensitive; `purpose`, `housing`, `job`,
    `employment_since` and `savings_account` are public. The codes of the original are known to be partly
    wrong (Grömping 2019): good for trying methods, not for conclusions about people.

    Parameters
    ----------
    data_home : path, optional
        Cache folder; by default the folder named by the environment variable SANITIZE_DATA, or
        ~/.cache/sanitize.
    local : path, optional
        A copy to use instead of the network: a folder with german.data, checked like a download, or a
        Parquet file with the same columns, read as it is.

    Returns
    -------
    pandas.DataFrame
        The 20 attributes of the original with its codes spelled out, the ninth split into `sex` and
        `marital_status`, and `class_label` (1 good, 0 bad). The names are in `SOURCES["german_credit"]`.

    Raises
    ------
    SourceError
        If the file is absent, cannot be downloaded or cannot be read, or is not the published one; such a download is
        not kept.
    ColumnError
        If the local Parquet file has other columns.

    References
    ----------
    H. Hofmann (1994), Statlog (German Credit Data), UCI Machine Learning Repository, CC BY 4.0. U. Grömping
    (2019), South German Credit Data: Correcting a Widely Used Data Set, Beuth University
    Berlin, report 4/2019.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES, fetch_german_credit
    >>> SOURCES["german_credit"].columns[-3:]
    ('sex', 'marital_status', 'class_label')
    >>> applicants = fetch_german_credit()  # doctest: +SKIP
    """
    return _fetch("german_credit", read_german_credit, data_home, local)


def fetch_bank_marketing(*, data_home: PathLike | None = None, local: PathLike | None = None) -> pd.DataFrame:
    """Bank marketing: 45,211 calls of a Portuguese bank, 2008 to 2010.

    Usual choice: `marital` or `age` is sensitive; `job`, `education`, `housing`, `loan`, `contact` and
    `month` are public.

    Parameters
    ----------
    data_home : path, optional
        Cache folder; by default the folder named by the environment variable SANITIZE_DATA, or
        ~/.cache/sanitize.
    local : path, optional
        A copy to use instead of the network: a folder with bank.zip, checked like a download, or a Parquet
        file with the columns below, read as it is.

    Returns
    -------
    pandas.DataFrame
        `age`, `job`, `marital`, `education`, `default`, `balance`, `housing`, `loan`, `contact`, `day`,
        `month`, `duration`, `campaign`, `pdays`, `previous`, `poutcome` and `y` (no, yes). "unknown" is a
        value, not missing.

    Raises
    ------
    SourceError
        If the file is absent, cannot be downloaded or cannot be read, or is not the published one; such a download is
        not kept.
    ColumnError
        If the local Parquet file has other columns.

    References
    ----------
    S. Moro, P. Cortez, P. Rita (2014), "A Data-Driven Approach to Predict the Success of Bank Telemarketing",
    Decision Support Systems 62, 22-31. UCI Machine Learning Repository, CC BY 4.0.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES, fetch_bank_marketing
    >>> len(SOURCES["bank_marketing"].columns)
    17
    >>> calls = fetch_bank_marketing()  # doctest: +SKIP
    """
    return _fetch("bank_marketing", read_bank_marketing, data_home, local)


def fetch_heart_disease(*, data_home: PathLike | None = None, local: PathLike | None = None) -> pd.DataFrame:
    """Heart disease: 597 patients examined in Cleveland (303) and Budapest (294).

    Usual choice: `num`, the diagnosis, is sensitive; `age`, `sex`, `cp`, `exang`, `chol`, `trestbps` and
    `thalach` are public.

    Parameters
    ----------
    data_home : path, optional
        Cache folder; by default the folder named by the environment variable SANITIZE_DATA, or
        ~/.cache/sanitize.
    local : path, optional
        A copy to use instead of the network: a folder with processed.cleveland.data and
        processed.hungarian.data, checked like a download, or a Parquet file with the columns below, read as
        it is.

    Returns
    -------
    pandas.DataFrame
        `site` (cleveland, hungarian), `age`, `sex` (1 male), `cp`, `trestbps`, `chol`, `fbs`, `restecg`,
        `thalach`, `exang`, `oldpeak`, `slope`, `ca`, `thal`, `num`. A question mark is missing. The published
        file has `num` from 0 to 4 for Cleveland, but 0 or 1 for Budapest.

    Raises
    ------
    SourceError
        If a file is absent, cannot be downloaded or cannot be read, or is not the published one; such a download is not
        kept.
    ColumnError
        If the local Parquet file has other columns.

    References
    ----------
    A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano (1988), Heart Disease, UCI Machine Learning Repository,
    CC BY 4.0.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES, fetch_heart_disease
    >>> SOURCES["heart_disease"].columns[:3]
    ('site', 'age', 'sex')
    >>> patients = fetch_heart_disease()  # doctest: +SKIP
    """
    return _fetch("heart_disease", read_heart_disease, data_home, local)


def fetch_credit_default(*, data_home: PathLike | None = None, local: PathLike | None = None) -> pd.DataFrame:
    """Credit card default: 30,000 card holders of a bank in Taiwan, 2005; numeric codes only.

    Usual choice: `SEX`, `MARRIAGE` or `EDUCATION` is sensitive; `LIMIT_BAL`, `BILL_AMT*` and `PAY_*` are
    public, in bins.

    Parameters
    ----------
    data_home : path, optional
        Cache folder; by default the folder named by the environment variable SANITIZE_DATA, or
        ~/.cache/sanitize.
    local : path, optional
        A copy to use instead of the network: a folder with "default of credit card clients.xls", checked
        like a download, or a Parquet file with the columns below, read as it is.

    Returns
    -------
    pandas.DataFrame
        `LIMIT_BAL`, `SEX` (1 male, 2 female), `EDUCATION`, `MARRIAGE`, `AGE`, `PAY_0` and `PAY_2` to `PAY_6`,
        `BILL_AMT1` to `BILL_AMT6`, `PAY_AMT1` to `PAY_AMT6`, and `default_payment` (1 if the next payment
        was missed). The number of the row in the original is dropped.

    Raises
    ------
    SourceError
        If the file is absent, cannot be downloaded or cannot be read, or is not the published one; such a download is
        not kept.
    ColumnError
        If the local Parquet file has other columns.
    ImportError
        If the package xlrd, which reads the original workbook, is not installed.

    References
    ----------
    I.-C. Yeh, C.-H. Lien (2009), "The Comparisons of Data Mining Techniques for the Predictive Accuracy of
    Probability of Default of Credit Card Clients", Expert Systems with Applications 36, 2473-2480. UCI
    Machine Learning Repository, CC BY 4.0.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES, fetch_credit_default
    >>> SOURCES["credit_default"].columns[:2]
    ('LIMIT_BAL', 'SEX')
    >>> holders = fetch_credit_default()  # doctest: +SKIP
    """
    return _fetch("credit_default", read_credit_default, data_home, local)
