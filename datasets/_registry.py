"""What the fetchers download: addresses, digests and columns, as frozen values.

Each digest was found alike in at least two unrelated public repositories; those of Adult and of the Cleveland
file were also recomputed from the data.
"""

from __future__ import annotations

from dataclasses import dataclass

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set, as its publisher serves it.

    Attributes
    ----------
    name : str
        Its name in the cache and in a local folder.
    url : str
        Where it is downloaded from.
    sha256 : str
        Digest of its bytes, in lower-case hexadecimal.
    n_bytes : int
        Its size; a download is cut off beyond it.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES
    >>> SOURCES["german_credit"].files[0].n_bytes
    79793
    """

    name: str
    url: str
    sha256: str
    n_bytes: int


@dataclass(frozen=True)
class Source:
    """A data set: its files and the columns of the table made of them.

    Attributes
    ----------
    files : tuple of RemoteFile
        The files, all of which are needed.
    columns : tuple of str
        Columns of the table, in order.

    Examples
    --------
    >>> from sanitize.datasets import SOURCES
    >>> [file.name for file in SOURCES["adult"].files]
    ['adult.data', 'adult.test']
    """

    files: tuple[RemoteFile, ...]
    columns: tuple[str, ...]


SOURCES: dict[str, Source] = {
    "adult": Source(
        files=(
            RemoteFile(
                "adult.data",
                f"{UCI}/adult/adult.data",
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                3_974_305,
            ),
            RemoteFile(
                "adult.test",
                f"{UCI}/adult/adult.test",
                "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
                2_003_153,
            ),
        ),
        columns=(
            *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
            *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week"),
            *("native_country", "income", "split"),
        ),
    ),
    "german_credit": Source(
        files=(
            RemoteFile(
                "german.data",
                f"{UCI}/statlog/german/german.data",
                "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
                79_793,
            ),
        ),
        columns=(
            *("checking_account", "duration", "credit_history", "purpose", "credit_amount"),
            *("savings_account", "employment_since", "installment_rate", "other_debtors"),
            *("residence_since", "property", "age", "other_installment", "housing"),
            *("existing_credits", "job"),
            # The slip of the pen is kept: it is the name this column has in the copies that go around.
            *("numner_people_provide_maintenance_for", "telephone", "foreign_worker", "sex"),
            *("marital_status", "class_label"),
        ),
    ),
    "bank_marketing": Source(
        files=(
            RemoteFile(
                "bank.zip",
                f"{UCI}/00222/bank.zip",
                "99d7e8eb12401ed278b793984423915411ea8df099e1795f9fefe254f513fe5e",
                579_043,
            ),
        ),
        columns=(
            *("age", "job", "marital", "education", "default", "balance", "housing", "loan", "contact"),
            *("day", "month", "duration", "campaign", "pdays", "previous", "poutcome", "y"),
        ),
    ),
    "heart_disease": Source(
        files=(
            RemoteFile(
                "processed.cleveland.data",
                f"{UCI}/heart-disease/processed.cleveland.data",
                "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
                18_461,
            ),
            RemoteFile(
                "processed.hungarian.data",
                f"{UCI}/heart-disease/processed.hungarian.data",
                "d1ad108f785768cd3d7e82dc522e6f5a61eea93cccfb3a46ee8076f73fc3d796",
                10_263,
            ),
        ),
        columns=(
            *("site", "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang"),
            *("oldpeak", "slope", "ca", "thal", "num"),
        ),
    ),
    "credit_default": Source(
        files=(
            RemoteFile(
                "default of credit card clients.xls",
                f"{UCI}/00350/default%20of%20credit%20card%20clients.xls",
                "30c6be3abd8dcfd3e6096c828bad8c2f011238620f5369220bd60cfc82700933",
                5_539_328,
            ),
        ),
        columns=(
            *("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
            *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),
            *(f"BILL_AMT{month}" for month in range(1, 7)),
            *(f"PAY_AMT{month}" for month in range(1, 7)),
            "default_payment",
        ),
    ),
}
